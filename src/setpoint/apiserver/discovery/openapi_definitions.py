"""The schemas of kinds, in the form and under the names that OpenAPI documents use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal, Protocol

from setpoint.apiserver.discovery.openapi_details import amended
from setpoint.apiserver.discovery.openapi_operations import list_kind
from setpoint.meta import GroupVersionKind, Resource
from setpoint.models import UnknownKindError, definition_name, schemas
from setpoint.models.history import NEWEST, older_definition

Form = Literal["v2", "v3"]
PREFIX: Final[Mapping[Form, str]] = {"v2": "#/definitions/", "v3": "#/components/schemas/"}
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_GVK: Final = "x-kubernetes-group-version-kind"
METADATA: Final = (f"{_META}ListMeta", f"{_META}ObjectMeta")
_METADATA_DESCRIPTION: Final = (
    "Standard object's metadata. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)
_LIST_METADATA_DESCRIPTION: Final = (
    "Standard list metadata. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
)
# Keywords of version 3 only; in version 2 kubectl would take them for a complete list of the fields.
_ONLY_V3: Final = frozenset({"oneOf", "anyOf", "allOf", "not", "nullable"})


class DescribedResource(Protocol):
    """A served resource, reduced to the attributes that OpenAPI needs."""

    @property
    def resource(self) -> Resource: ...

    @property
    def schema_document(self) -> Mapping[str, Any] | None:
        """The ``openAPIV3Schema`` of a custom resource's version; None for a built-in resource."""
        ...

    @property
    def selectable_fields(self) -> Sequence[str]:
        """The JSONPaths of the version's ``selectableFields``."""
        ...


def schema_name(kind: GroupVersionKind) -> str:
    """The name of a kind's schema: for a built-in kind, the name that upstream uses; for a custom resource, a name that
    begins with the reversed group.
    """
    if kind.group == "meta.k8s.io" or kind.kind in ("Status", "DeleteOptions"):
        return _META + kind.kind
    try:
        return definition_name(kind)
    except UnknownKindError:
        return ".".join((*reversed(kind.group.split(".")), kind.version, kind.kind))


def built_in(
    names: Iterable[str], form: Form, own: tuple[str, str] | None = None, minor: int = NEWEST
) -> dict[str, Any]:
    """The definitions with these names and all definitions that they refer to, by name; unknown names are left out.

    Kinds such as ``DeleteOptions`` are in many group versions: with ``own``, a group and version, only those in it and
    in the core group are listed. They have the fields of that minor version of Kubernetes.
    """
    definitions: dict[str, Any] = {}
    wanted = list(names)
    while wanted:
        name = wanted.pop()
        if name in definitions or (converted := _converted(name, form, minor)) is None:
            continue
        definition, references = converted
        if own is not None and len(kinds := definition.get(_GVK, ())) > 1:
            kinds_of_group = [kind for kind in kinds if not kind["group"] or (kind["group"], kind["version"]) == own]
            definition = {**definition, _GVK: kinds_of_group}
        definitions[name] = definition
        wanted += references
    return dict(sorted(definitions.items()))


@cache
def _converted(name: str, form: Form, minor: int) -> tuple[dict[str, Any], tuple[str, ...]] | None:
    schema = amended(name, schemas().get(name))
    references: list[str] = []
    if schema is not None:
        schema = older_definition(name, schema, minor)
    return None if schema is None else (_convert(schema, form, references.append), tuple(references))


def _convert(node: Mapping[str, Any], form: Form, note: Callable[[str], None]) -> dict[str, Any]:
    converted: dict[str, Any] = {}
    for key, value in node.items():
        if key == "$ref":
            note(value)
            reference = {"$ref": PREFIX[form] + value}
            converted |= {"allOf": [reference]} if form == "v3" and len(node) > 1 else reference
        elif key in ("properties", "patternProperties"):
            converted[key] = {name: _convert(child, form, note) for name, child in value.items()}
        elif key in ("items", "additionalProperties", "not") and isinstance(value, Mapping):
            converted[key] = _convert(value, form, note)
        elif key in ("oneOf", "anyOf", "allOf"):
            converted[key] = [_convert(child, form, note) for child in value]
        elif key != "default" or form == "v3":  # upstream's version 2 has no defaults of built-in kinds
            converted[key] = value
    if form == "v2" and "oneOf" in converted:  # a quantity, or a number or string: version 2 calls both strings
        del converted["oneOf"]
        converted["type"] = "string"
    return converted


# -- custom resources -------------------------------------------------------------------------------------------------


def custom(described: DescribedResource, form: Form) -> dict[str, Any]:
    """The schemas of a custom resource and of its list, by name. They refer to ``METADATA``."""
    resource = described.resource
    document = described.schema_document or {}
    kind = list_kind(resource)
    name = schema_name(resource.gvk)
    return {
        name: _custom_kind(document, resource.gvk, described.selectable_fields, form),
        schema_name(kind): {
            "description": f"{kind.kind} is a list of {resource.kind}",
            "type": "object",
            "required": ["items"],
            "properties": {
                **_type_meta(),
                "items": {
                    "description": f"List of {resource.plural}. More info: "
                    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md",
                    "type": "array",
                    "items": {"$ref": PREFIX[form] + name},
                },
                "metadata": _reference("ListMeta", _LIST_METADATA_DESCRIPTION, form),
            },
            _GVK: [_gvk(kind)],
        },
    }


def _custom_kind(
    document: Mapping[str, Any], kind: GroupVersionKind, selectable: Sequence[str], form: Form
) -> dict[str, Any]:
    result: dict[str, Any] = {"type": "object"}
    # Listing only apiVersion, kind and metadata would tell version 2 readers that nothing else is allowed.
    if document and not (form == "v2" and document.get("x-kubernetes-preserve-unknown-fields")):
        result = _custom_node(document, form)
        result["properties"] = {**result.get("properties", {}), **_object_meta(form)}
    result[_GVK] = [_gvk(kind)]
    if selectable and form == "v3":
        result["x-kubernetes-selectable-fields"] = [{"fieldPath": path.removeprefix(".")} for path in selectable]
    return result


def _custom_node(node: Mapping[str, Any], form: Form) -> dict[str, Any]:
    result = {key: value for key, value in node.items() if form == "v3" or key not in _ONLY_V3}
    for key in ("items", "additionalProperties"):
        if isinstance(result.get(key), Mapping):
            result[key] = _custom_node(result[key], form)
    if "properties" in result:
        result["properties"] = {name: _custom_node(child, form) for name, child in result["properties"].items()}
    unknown = bool(result.get("x-kubernetes-preserve-unknown-fields"))
    if form == "v2":
        if result.get("x-kubernetes-int-or-string"):
            result.pop("type", None)
        if unknown:
            result.pop("properties", None)
    if result.get("x-kubernetes-embedded-resource") and not (form == "v2" and unknown):
        result["properties"] = {**result.get("properties", {}), **_object_meta(form)}
        result["required"] = sorted({*result.get("required", ()), "apiVersion", "kind"})
    return result


def _object_meta(form: Form) -> dict[str, Any]:
    return {**_type_meta(), "metadata": _reference("ObjectMeta", _METADATA_DESCRIPTION, form)}


@cache
def _type_meta() -> dict[str, Any]:
    properties = schemas()[f"{_META}Status"]["properties"]
    return {name: properties[name] for name in ("apiVersion", "kind")}


def _reference(name: str, description: str, form: Form) -> dict[str, Any]:
    reference = {"$ref": PREFIX[form] + _META + name}
    return (
        {"allOf": [reference], "description": description}
        if form == "v3"
        else {**reference, "description": description}
    )


def _gvk(kind: GroupVersionKind) -> dict[str, str]:
    return {"group": kind.group, "kind": kind.kind, "version": kind.version}
