"""CustomResourceDefinitions built from classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from setpoint.crd.conversion import Conversion
from setpoint.crd.custom_resource import Column, CustomResource, Definition
from setpoint.crd.declared_paths import column_type
from setpoint.crd.errors import DefinitionError
from setpoint.crd.schema import schema_of
from setpoint.crd.schema_checks import text_problem
from setpoint.crd.versions import Versions, agree, covered
from setpoint.meta import DecodeError, decode, resource_of


def crd_for(
    *classes: type[CustomResource], conversion_client_config: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The CustomResourceDefinition (``apiextensions.k8s.io/v1``) of one kind's classes, as plain JSON values.

    Several classes of one group and kind become its versions; classes that their ``conversions`` lead to are included.
    Exactly one of them is stored (``storage=False`` for the others).

    For a kind with ``installed_by``, this is the definition that the classes amount to, for tests: its versions need no
    conversions, and the first class is stored if none is.

    ``conversion_client_config`` (``url`` or ``service``, and ``caBundle``) is the address of the conversion webhook. It
    is used if the versions differ in more than their name; without it the definition has no conversion, and its
    installer must add one (see ``Versions.need_webhook``).

    Raises:
        DefinitionError: the classes don't form one definition, a field has no structural schema, or versions differ
            without a conversion between them.
    """
    if not classes:
        raise DefinitionError("crd_for() needs at least one class")
    kinds: list[type[CustomResource]] = []
    for kind in classes:
        kinds += [kind_in_family for kind_in_family in Versions.of(kind).classes if kind_in_family not in kinds]
    agree(kinds)
    first = resource_of(kinds[0])
    installed_by = kinds[0].definition.installed_by
    stored = [kind for kind in kinds if kind.definition.storage]
    if installed_by and not stored:
        stored = kinds[:1]
    if len(stored) != 1:
        stored_names = ", ".join(kind.__name__ for kind in stored) or "none"
        raise DefinitionError(f"{first}: exactly one version must have storage=True, here it is {stored_names}")
    if not installed_by:
        _check_unconverted(kinds)
    versions = [_version(kind, is_stored=kind is stored[0]) for kind in kinds]
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
        entries = {key: value for kind in reversed(classes) for key, value in getattr(kind.definition, part).items()}
        if entries:
            metadata[part] = entries
    spec: dict[str, Any] = {
        "group": first.group,
        "names": names,
        "scope": "Namespaced" if first.namespaced else "Cluster",
        "versions": versions,
    }
    if conversion_client_config is not None and any(Versions.of(kind).need_webhook for kind in kinds):
        webhook = {"clientConfig": dict(conversion_client_config), "conversionReviewVersions": ["v1"]}
        spec["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": spec,
    }
    if problem := text_problem(definition):
        raise DefinitionError(f"{first}: {problem}")
    return definition


def _check_unconverted(kinds: Sequence[type[CustomResource]]) -> None:
    """Checks that the schemas of versions without a conversion are equal, because their objects change only in
    ``apiVersion``.

    Raises:
        DefinitionError: the schemas of two such versions differ.
    """
    newest, *others = kinds
    classes = Versions.of(newest).classes
    for kind in others:
        if kind not in classes:
            try:
                covered(newest, Conversion(kind), schema_of(kind), schema_of(newest))
            except DefinitionError as problem:
                raise DefinitionError(
                    f"{problem}\nGive {newest.__name__} conversions=(Conversion({kind.__name__})...)"
                ) from None


def _version(kind: type[CustomResource], *, is_stored: bool) -> dict[str, Any]:
    definition = kind.definition
    _check_decoding(kind)
    schema = schema_of(kind)
    version: dict[str, Any] = {
        "name": resource_of(kind).version,
        "served": definition.served,
        "storage": is_stored,
        "schema": {"openAPIV3Schema": schema},
    }
    subresources = _subresources(definition)
    if subresources:
        version["subresources"] = subresources
    if definition.columns:
        version["additionalPrinterColumns"] = [_column(column, schema) for column in definition.columns]
    if definition.selectable_fields:
        version["selectableFields"] = [{"jsonPath": path} for path in definition.selectable_fields]
    if definition.deprecated:
        version["deprecated"] = True
        if isinstance(definition.deprecated, str):
            version["deprecationWarning"] = definition.deprecated
    return version


def _check_decoding(kind: type[CustomResource]) -> None:
    """Decodes an empty object, because an invalid bound (``ge`` on a string) causes an error only when an object is
    decoded.
    """
    try:
        decode(kind, b"{}")
    except DecodeError:
        pass  # an empty object need not be valid
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


def _column(column: Column, schema: dict[str, Any]) -> dict[str, Any]:
    path = column.json_path
    document: dict[str, Any] = {"name": column.name, "type": column.type or column_type(schema, path), "jsonPath": path}
    if column.description:
        document["description"] = column.description
    if column.priority:
        document["priority"] = column.priority
    if column.format:
        document["format"] = column.format
    return document
