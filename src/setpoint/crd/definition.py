"""CustomResourceDefinitions from classes."""

from __future__ import annotations

from typing import Any

from setpoint.crd.custom_resource import Column, CustomResource, Definition
from setpoint.crd.errors import DefinitionError
from setpoint.crd.schema import schema_of
from setpoint.meta import DecodeError, decode, resource_of


def crd_for(*classes: type[CustomResource]) -> dict[str, Any]:
    """The ``apiextensions.k8s.io/v1`` CustomResourceDefinition, as plain JSON values, of one kind's classes.

    Several classes of one group and kind become its versions; exactly one of them is stored (``storage=False`` for
    the others).

    Raises:
        DefinitionError: the classes don't make one definition, or a field has no structural schema.
    """
    if not classes:
        raise DefinitionError("crd_for() needs at least one class")
    first = resource_of(classes[0])
    stored = [kind for kind in classes if kind.definition.storage]
    if len(stored) != 1:
        found = ", ".join(kind.__name__ for kind in stored) or "none"
        raise DefinitionError(f"{first}: exactly one version must have storage=True, here it is {found}")
    versions: list[dict[str, Any]] = []
    for kind in classes:
        other = resource_of(kind)
        for part in ("group", "kind", "plural", "singular", "namespaced"):
            if getattr(other, part) != getattr(first, part):
                raise DefinitionError(
                    f"{kind.__name__} has {part}={getattr(other, part)!r} and {classes[0].__name__} has "
                    f"{getattr(first, part)!r}: versions of one kind must agree on it"
                )
        if other.version in [version["name"] for version in versions]:
            raise DefinitionError(f"{kind.__name__}: version {other.version} of {first} is there twice")
        versions.append(_version(kind))
    names: dict[str, Any] = {
        "kind": first.kind,
        "listKind": first.list_kind,
        "plural": first.plural,
        "singular": first.singular,
    }
    if first.short_names:
        names["shortNames"] = list(first.short_names)
    if first.categories:
        names["categories"] = list(first.categories)
    metadata: dict[str, Any] = {"name": f"{first.plural}.{first.group}"}
    for part in ("labels", "annotations"):
        said = {key: value for kind in reversed(classes) for key, value in getattr(kind.definition, part).items()}
        if said:
            metadata[part] = said
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": first.group,
            "names": names,
            "scope": "Namespaced" if first.namespaced else "Cluster",
            "versions": versions,
        },
    }


def _version(kind: type[CustomResource]) -> dict[str, Any]:
    definition = kind.definition
    _check_decoding(kind)
    version: dict[str, Any] = {
        "name": resource_of(kind).version,
        "served": definition.served,
        "storage": definition.storage,
        "schema": {"openAPIV3Schema": schema_of(kind)},
    }
    subresources = _subresources(definition)
    if subresources:
        version["subresources"] = subresources
    if definition.columns:
        version["additionalPrinterColumns"] = [_column(column) for column in definition.columns]
    if definition.selectable_fields:
        version["selectableFields"] = [{"jsonPath": path} for path in definition.selectable_fields]
    if definition.deprecated:
        version["deprecated"] = True
        if isinstance(definition.deprecated, str):
            version["deprecationWarning"] = definition.deprecated
    return version


def _check_decoding(kind: type[CustomResource]) -> None:
    """A bound on a type that has none (``ge`` on a string) shows when the first object is read; better here."""
    try:
        decode(kind, b"{}")
    except DecodeError:
        pass  # an empty object need not be a valid one
    except TypeError as problem:
        raise DefinitionError(f"{kind.__name__}: its objects can't be decoded: {problem}") from None


def _subresources(definition: Definition) -> dict[str, Any]:
    subresources: dict[str, Any] = {}
    if definition.has_status:
        subresources["status"] = {}
    if definition.scale:
        subresources["scale"] = {
            "specReplicasPath": definition.scale.spec_replicas,
            "statusReplicasPath": definition.scale.status_replicas,
        }
        if definition.scale.label_selector:
            subresources["scale"]["labelSelectorPath"] = definition.scale.label_selector
    return subresources


def _column(column: Column) -> dict[str, Any]:
    document: dict[str, Any] = {"name": column.name, "type": column.type, "jsonPath": column.json_path}
    if column.description:
        document["description"] = column.description
    if column.priority:
        document["priority"] = column.priority
    if column.format:
        document["format"] = column.format
    return document
