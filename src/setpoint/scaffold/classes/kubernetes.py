"""Finds the parts of a schema that are Kubernetes' own types, such as a PodTemplateSpec in a spec.

A definition repeats the schema of such a type field by field, as of the version of Kubernetes that its project was
built with, often without descriptions. A part is taken for a type if every field of it is a field of the type, with the
same shape down to the leaves and no rule of its own, and if it has most of the type's fields. Small types look alike (a
key of a Secret, a key of a ConfigMap): only descriptions tell them apart, so without descriptions none is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from setpoint.models._table import DEFINITIONS
from setpoint.models.resources import schemas
from setpoint.schema import builtin_patterns

JSONSchema = Mapping[str, Any]
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
_OBJECT_META: Final = f"{_META}.ObjectMeta"
_SHARED: Final = ("Condition", "LabelSelector", "LabelSelectorRequirement", "OwnerReference")
"""The types of ``meta/v1`` that have a class in `setpoint.meta`."""
_HINTS: Final = frozenset(
    {"type", "properties", "items", "additionalProperties", "required", "description", "title", "format", "default"}
    | {"x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "x-kubernetes-int-or-string"}
    | {"anyOf"}
)
"""Keywords that a copy of a type's schema may have without being stricter than the type."""
_LIMITS: Final = frozenset({"minimum", "maximum", "minLength", "maxLength", "pattern", "enum", "minItems", "maxItems"})
_DEFAULTS: Final = ("", "TCP")
_NUMBER: Final = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
_QUANTITIES: Final = (
    builtin_patterns.QUANTITY,
    rf"^(\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?$",
)
_SPECIAL: Final = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
    f"{_META}.Time": "string",
    f"{_META}.MicroTime": "string",
}
_FEW: Final = 8
"""A type with fewer fields than this, at any depth, is recognised by its descriptions only."""
_MOST: Final = 0.6
_ALMOST_ALL: Final = 0.8
_ALIKE: Final = 0.6


def kubernetes_type(schema: JSONSchema) -> tuple[str, str] | None:
    """The module and the class of the type that this schema of an object is a copy of; None if there is none."""
    properties = schema.get("properties")
    if not properties or not schema.keys() <= _HINTS or schema.get("default"):
        return None
    best: tuple[float, float, str] | None = None
    for name in _candidates(frozenset(properties)):
        source_properties = schemas()[name].get("properties", {})
        share = len(properties) / len(source_properties)
        if share < _MOST or not _fits(schema, name):
            continue
        alike = _alike(properties, source_properties)
        if (alike or 0.0) < _ALIKE and (_size(schema) < _FEW or share < _ALMOST_ALL):
            continue
        rank = (alike or 0.0, share, name)
        if best is not None and rank[:2] == best[:2]:
            rank = min(rank, best, key=lambda entry: (_rank_of_package(entry[2]), entry[2]))
        if best is None or rank > best or rank[:2] == best[:2]:
            best = rank
    return None if best is None else _place(best[2])


def is_quantity(schema: JSONSchema) -> bool:
    """Whether the schema is that of a quantity, as controller-gen or setpoint writes it."""
    return bool(schema.get("x-kubernetes-int-or-string")) and schema.get("pattern") in _QUANTITIES


def fits_object_meta(schema: JSONSchema) -> bool:
    """Whether this schema of an object's ``metadata`` allows only fields that `setpoint.ObjectMeta` has."""
    if schema.get("type") != "object" or schema.get("additionalProperties"):
        return False
    return _fits({name: part for name, part in schema.items() if not name.startswith("x-kubernetes-")}, _OBJECT_META)


@cache
def _types() -> dict[str, frozenset[str]]:
    """The fields of each type that has a class, by the name of its definition."""
    packages = [package for package in DEFINITIONS if package.startswith("io.k8s.api.")]
    names = [name for name in schemas() if name.rpartition(".")[0] in packages]
    names += [f"{_META}.{name}" for name in _SHARED]
    properties = {name: frozenset(schemas()[name].get("properties", ())) for name in names}
    return {name: fields for name, fields in properties.items() if len(fields) > 1 and "apiVersion" not in fields}


def _candidates(fields: frozenset[str]) -> Iterator[str]:
    return (name for name, type_fields in _types().items() if fields <= type_fields)


def _rank_of_package(name: str) -> int:
    """The order in which packages are preferred for a type that several of them have: ``core/v1``, then other stable
    versions.
    """
    if name.startswith("io.k8s.api.core.v1."):
        return 0
    return 1 if re.search(r"\.v\d+\.\w+$", name) else 2


def _place(name: str) -> tuple[str, str]:
    package, _, kind = name.rpartition(".")
    if package == _META:
        return "setpoint.meta", kind
    group, version = package.split(".")[-2:]
    return f"setpoint.models.{group}_{version}", kind


def _size(schema: JSONSchema) -> int:
    """The number of fields of the schema, at any depth."""
    parts = [*schema.get("properties", {}).values()]
    inner = [part for part in (schema.get("items"), schema.get("additionalProperties")) if isinstance(part, Mapping)]
    return len(parts) + sum(map(_size, (*parts, *inner)))


def _alike(properties: JSONSchema, source_properties: JSONSchema) -> float | None:
    """The share of the fields whose descriptions begin as those of the type; None if no field has one."""
    texts = [(part.get("description"), source_properties[name].get("description")) for name, part in properties.items()]
    starts = [(_start(mine), _start(theirs)) for mine, theirs in texts if mine]
    return sum(mine == theirs for mine, theirs in starts) / len(starts) if starts else None


def _start(text: str | None) -> str:
    return re.sub(r"\W+", "", text or "").lower()[:40]


def _fits(schema: JSONSchema, name: str) -> bool:
    """Whether every value that the schema allows can be a value of the type, and the schema has no rules beside."""
    if name == _OBJECT_META and schema.get("type") == "object" and not schema.get("additionalProperties"):
        parts = schema.get("properties", {})
        source_properties = schemas()[name]["properties"]
        return all(part in source_properties and _fits_node(parts[part], source_properties[part]) for part in parts)
    return _fits_node(schema, schemas()[name])


def _fits_node(schema: JSONSchema, source: JSONSchema) -> bool:
    if "$ref" in source:
        name = source["$ref"].rpartition("/")[2]
        if name in _SPECIAL:
            return _fits_special(schema, _SPECIAL[name])
        return _fits(schema, name)
    if not _is_as_wide(schema, source):
        return False
    if "properties" in source:
        return _fits_record(schema, source)
    if schema.get("type") != source.get("type"):
        return False
    if source.get("type") == "array":
        return "items" in schema and _fits_node(schema["items"], source["items"])
    if isinstance(source.get("additionalProperties"), dict):
        values = schema.get("additionalProperties")
        return isinstance(values, dict) and _fits_node(values, source["additionalProperties"])
    return source.get("type") != "object"  # an open object, such as the one of a webhook's raw extension


def _fits_record(schema: JSONSchema, source: JSONSchema) -> bool:
    parts, source_properties = schema.get("properties", {}), source["properties"]
    required = set(source.get("required", ()))
    if (
        schema.get("type") != "object"
        or schema.get("additionalProperties")
        or not parts.keys() <= source_properties.keys()
    ):
        return False
    if not required <= {*schema.get("required", ()), *(name for name, part in parts.items() if "default" in part)}:
        return False
    return all(_fits_node(part, source_properties[name]) for name, part in parts.items())


def _fits_special(schema: JSONSchema, special: str) -> bool:
    if special == "string":
        return schema.get("type") == "string" and schema.get("format") == "date-time"
    if not schema.get("x-kubernetes-int-or-string"):
        return False
    pattern = schema.get("pattern")
    return pattern is None if special == "int-or-string" else pattern is None or is_quantity(schema)


def _is_as_wide(schema: JSONSchema, source: JSONSchema) -> bool:
    extra = schema.keys() - _HINTS
    if source.get("properties", {}).keys() >= {"lastTransitionTime", "observedGeneration"}:
        extra -= {"x-kubernetes-validations"}
    if "default" in schema and schema["default"] not in _DEFAULTS:
        return False
    return not extra or _is_condition(source, extra)


def _is_condition(source: JSONSchema, extra: set[str]) -> bool:
    """Whether the limits are on a field of a Condition, whose limits are in Go's source and in no OpenAPI document."""
    fields = schemas()[f"{_META}.Condition"]["properties"].values()
    return extra <= _LIMITS and any(source is field for field in fields)
