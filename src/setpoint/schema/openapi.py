"""Schemas of built-in kinds, read on demand from OpenAPI definitions.

Definitions refer to each other (``PodSpec`` is reached from a dozen kinds) and to themselves (``JSONSchemaProps``). A
definition becomes a `Schema` once, when it is first read or referred to; a self-reference becomes a cycle of nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

from msgspec.structs import force_setattr

from setpoint.meta.json_values import JSON

from .object_meta import with_object_meta
from .schema_node import ANYTHING, GO_INT_OR_STRING, UNSET, ListType, MapType, Schema, Type

_EXTENSIONS_V1: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
_PROPS: Final = _EXTENSIONS_V1 + "JSONSchemaProps"
_FREE_FORM: Final = frozenset(
    {
        _EXTENSIONS_V1 + "JSON",
        "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
        "io.k8s.apimachinery.pkg.apis.meta.v1.Patch",
        "io.k8s.apimachinery.pkg.runtime.RawExtension",
    }
)
_RAW: Final = frozenset(
    {"io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1", "io.k8s.apimachinery.pkg.runtime.RawExtension"}
)
"""Definitions that describe objects but whose values Go keeps as bytes, so its decoder accepts any JSON value."""
_INT_OR_STRING: Final = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
# Published schemas often omit defaults; these take part in the identity of list items, so merging needs them.
_KEY_DEFAULTS: Final[Mapping[tuple[str, str], JSON]] = {
    ("io.k8s.api.core.v1.ContainerPort", "protocol"): "TCP",
    ("io.k8s.api.core.v1.ServicePort", "protocol"): "TCP",
    ("io.k8s.api.core.v1.LocalObjectReference", "name"): "",
}
_TYPED: Final = ("io.k8s.api.", "io.k8s.apimachinery.pkg.apis.meta.v1.", _EXTENSIONS_V1)
_ZEROS: Final[Mapping[str, JSON]] = {"string": "", "integer": 0}
_FIELDS: Final = Schema.__struct_fields__
_TYPES: Final = frozenset({"object", "array", "string", "integer", "number", "boolean"})


class Schemas(Mapping[str, Schema]):
    """All definitions of an OpenAPI document by name, as in ``schemas["io.k8s.api.core.v1.Pod"]``.

    ``$ref`` may be a bare name or end in one (``#/definitions/NAME``, ``#/$defs/NAME``, ``#/components/schemas/NAME``).
    A field that has hints beside its reference takes the content of the referenced definition, changed by these hints.
    Raises KeyError for an unknown definition, ValueError for a definition that is not a schema.
    """

    __slots__ = ("_definitions", "_nodes")

    def __init__(self, definitions: Mapping[str, Mapping[str, JSON]]) -> None:
        self._definitions = definitions
        self._nodes: dict[str, Schema] = {}

    def __getitem__(self, name: str) -> Schema:
        node = self._nodes.get(name)
        return self._read(lambda reading: reading.define(name)) if node is None else node

    def __iter__(self) -> Iterator[str]:
        return iter(self._definitions)

    def __len__(self) -> int:
        return len(self._definitions)

    def __contains__(self, name: object) -> bool:
        return name in self._definitions

    def by_kind(self, group: str, version: str, kind: str) -> Schema | None:
        """The schema of a kind, found by ``x-kubernetes-group-version-kind``; None if there is none."""
        wanted = {"group": group, "version": version, "kind": kind}
        for name, definition in self._definitions.items():
            if wanted in definition.get("x-kubernetes-group-version-kind", ()) and "properties" in definition:
                return self[name]
        return None

    def parse(self, definition: Mapping[str, JSON]) -> Schema:
        """The schema for ``definition``, which is not itself one of these definitions, but may refer to them."""
        return self._read(lambda reading: reading.node(definition, ""))

    def _read(self, wanted: Callable[[_Reading], Schema]) -> Schema:
        reading = _Reading(self._definitions, self._nodes)
        node = wanted(reading)
        reading.settle()
        self._nodes = reading.nodes | self._nodes  # other work that ran in between may have read the same definitions
        return node


class _Reading:
    """Reads definitions that are not yet among the ``known`` nodes. Its nodes are incomplete until `settle` returns.
    They stay incomplete if a definition is not valid.
    """

    __slots__ = ("_definitions", "_pending", "_schemas", "nodes")

    def __init__(self, definitions: Mapping[str, Mapping[str, JSON]], schemas: Mapping[str, Schema]) -> None:
        self._definitions = definitions
        self._schemas = schemas
        self.nodes: dict[str, Schema] = {}
        # Nodes that get another node's content once it is known: {id: (node, other node, changes)}.
        self._pending: dict[int, tuple[Schema, Schema, dict[str, Any]]] = {}

    def define(self, name: str) -> Schema:
        """The node of the definition with this name."""
        node = self._schemas.get(name) or self.nodes.get(name)
        if node is not None:
            return node
        try:
            definition = self._definitions[name]
        except KeyError:
            raise KeyError(f"no definition {name!r} in the OpenAPI document") from None
        node = self.nodes[name] = Schema()  # registered before its content is known, so that a cycle ends here
        if name.startswith(_PROPS) and name != _PROPS:  # ...OrArray, ...OrBool, ...OrStringArray
            props = self.define(_PROPS)
            self._derive(
                node, props, {"type": "", "items": props if name.endswith("OrArray") else ANYTHING} | _hints(definition)
            )
        else:
            _fill(node, self._content(definition, name))
        return node

    def _derive(self, node: Schema, other: Schema, changes: dict[str, Any]) -> None:
        self._pending[id(node)] = (node, other, changes)

    def settle(self) -> None:
        """Completes the nodes that derive from others."""
        while self._pending:
            self._settle_one(next(iter(self._pending)))

    def _settle_one(self, key: int) -> None:
        node, other, changes = self._pending.pop(key)
        if id(other) in self._pending:
            self._settle_one(id(other))
        _fill(node, {name: getattr(other, name) for name in _FIELDS} | changes)

    def node(self, definition: Mapping[str, JSON], owner: str) -> Schema:
        """The node of a definition that is part of the definition ``owner``, or of none if that is empty."""
        reference = definition.get("$ref")
        if reference is None and "properties" not in definition and len(definition.get("allOf", ())) == 1:
            reference = definition["allOf"][0].get("$ref")  # OpenAPI v3 wraps references that have siblings
        if reference is None:
            node = Schema(**self._content(definition, owner))
            return with_object_meta(node) if node.embedded_resource else node
        target = self.define(reference.rsplit("/", 1)[-1])
        changes = _hints(definition)
        if not changes:
            return target
        node = Schema()
        self._derive(node, target, changes)
        return node

    def _content(self, definition: Mapping[str, JSON], name: str) -> dict[str, Any]:
        if not isinstance(definition, (dict, Mapping)):  # the first is found sooner
            raise ValueError(f"definition {name!r} is {type(definition).__name__}, not a schema")
        if name == _INT_OR_STRING:
            return {"int_or_string": True, "format": GO_INT_OR_STRING, "description": definition.get("description", "")}
        if name == _QUANTITY:
            alternatives = (Schema(type="string"), Schema(type="number"))
            return {"any_of": alternatives, "description": definition.get("description", "")}
        content = _scalars(definition) | _hints(definition)
        if "properties" in definition:
            content["properties"] = {
                key: self._with_key_default(self.node(value, ""), name, key, key in content.get("required", ()))
                for key, value in definition["properties"].items()
            }
        if "additionalProperties" in definition:
            additional = definition["additionalProperties"]
            if isinstance(additional, Mapping):
                content["additional"] = self.node(additional, "")
            elif additional is True:
                content["preserve_unknown"] = True
        if "items" in definition and isinstance(definition["items"], Mapping):
            content["items"] = self.node(definition["items"], "")
        for attribute, keyword in (("all_of", "allOf"), ("any_of", "anyOf"), ("one_of", "oneOf")):
            if keyword in definition:
                content[attribute] = tuple(self.node(item, "") for item in definition[keyword])
        if "not" in definition and isinstance(definition["not"], Mapping):
            content["not_"] = self.node(definition["not"], "")
        nothing_said = not content.get("type") and not any(
            content.get(key)
            for key in ("properties", "additional", "items", "all_of", "any_of", "one_of", "int_or_string")
        )
        if name in _RAW:
            content.update(type="", map_type="atomic")
        if name in _FREE_FORM or nothing_said:
            content["preserve_unknown"] = True
        return content

    def _with_key_default(self, node: Schema, owner: str, key: str, required: bool) -> Schema:
        default = _KEY_DEFAULTS.get((owner, key), UNSET)
        if required and owner.startswith(_TYPED) and node.type in _ZEROS:
            node = node.replace(zero=_ZEROS[node.type])
        return node if default is UNSET or node.default is not UNSET else node.replace(default=default)


def load_openapi(document: Mapping[str, JSON]) -> Schemas:
    """The definitions of a whole OpenAPI document, version 2 (``definitions``), 3
    (``components.schemas``) or JSON schema (``$defs``).

    Raises:
        ValueError: the document has no definitions in any of these places.
    """
    for part in (document.get("definitions"), document.get("$defs"), document.get("components", {}).get("schemas")):
        if isinstance(part, Mapping):
            return Schemas(cast("Mapping[str, Mapping[str, JSON]]", part))
    raise ValueError("not an OpenAPI document: it has neither definitions nor $defs nor components.schemas")


def _fill(node: Schema, content: Mapping[str, Any]) -> None:
    for key, value in content.items():
        force_setattr(node, key, value)


_PLAIN: Final = {
    "format": "format",
    "description": "description",
    "pattern": "pattern",
    "minimum": "minimum",
    "maximum": "maximum",
    "exclusiveMinimum": "exclusive_minimum",
    "exclusiveMaximum": "exclusive_maximum",
    "multipleOf": "multiple_of",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_items",
    "maxItems": "max_items",
    "uniqueItems": "unique_items",
    "minProperties": "min_properties",
    "maxProperties": "max_properties",
    "nullable": "nullable",
    "default": "default",
    "x-kubernetes-int-or-string": "int_or_string",
    "x-kubernetes-preserve-unknown-fields": "preserve_unknown",
    "x-kubernetes-embedded-resource": "embedded_resource",
}
"""The attributes of `Schema` that hold a keyword's value as it is."""
_HINTS: Final = frozenset(
    {
        *("description", "default", "nullable", "x-kubernetes-patch-strategy", "x-kubernetes-patch-merge-key"),
        *("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"),
    }
)


def _scalars(definition: Mapping[str, JSON]) -> dict[str, Any]:
    content: dict[str, Any] = {"type": _type(definition.get("type", ""))}
    for keyword, value in definition.items():
        if value is not None and (attribute := _PLAIN.get(keyword)) is not None:
            content[attribute] = value
    if definition.get("required"):
        content["required"] = tuple(definition["required"])
    if "enum" in definition:
        content["enum"] = tuple(definition["enum"])
    if definition.get("x-kubernetes-validations"):
        content["validations"] = tuple(definition["x-kubernetes-validations"])
    return content


def _type(value: JSON) -> Type:
    if isinstance(value, str):
        return cast("Type", value) if value in _TYPES else ""
    names = [name for name in value if name != "null"]
    return _type(names[0]) if len(names) == 1 else ""


def _hints(definition: Mapping[str, JSON]) -> dict[str, Any]:
    """The keywords that may stand beside a reference: merge hints, the default, ``nullable`` and the description."""
    if _HINTS.isdisjoint(definition):
        return {}
    content: dict[str, Any] = {}
    for keyword in ("description", "default", "nullable"):
        if definition.get(keyword) is not None:
            content[keyword] = definition[keyword]
    strategy = definition.get("x-kubernetes-patch-strategy", "")
    if strategy:
        content["patch_strategy"] = tuple(strategy.split(","))
    merge_key = definition.get("x-kubernetes-patch-merge-key", "")
    if merge_key:
        content["patch_merge_key"] = merge_key
    list_type: ListType = definition.get("x-kubernetes-list-type", "")
    keys = tuple(definition.get("x-kubernetes-list-map-keys", ()))
    if not list_type and "items" in definition and "merge" in content.get("patch_strategy", ()):
        list_type, keys = ("map", (merge_key,)) if merge_key else ("set", ())  # older definitions have only these hints
    if list_type:
        content["list_type"], content["list_map_keys"] = list_type, keys
    map_type: MapType = definition.get("x-kubernetes-map-type", "")
    if map_type:
        content["map_type"] = map_type
    return content
