"""The schemas of Kubernetes' own types that a custom resource contains, such as a PodTemplateSpec in a spec.

They come from the same data as the generated models and include the merge keys, so server-side apply merges a
template's containers by name. With all its descriptions, the schema of a PodTemplateSpec takes 330 KB. That is more
than the 256 KiB that all annotations of an object may take together, and ``kubectl apply`` keeps the whole CRD in one
annotation. So only the first levels have descriptions, each cut to its first sentence. The schema is then smaller than
90 KB and still describes ``image``.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from setpoint.meta import Condition
from setpoint.models._table import DEFINITIONS
from setpoint.models.resources import schemas
from setpoint.schema import builtin_patterns, copy_json

JSONSchema = dict[str, Any]
_KEPT = (
    "type",
    "format",
    "required",
    "enum",
    "anyOf",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields",
)
_SENTENCE = re.compile(r"(.+?[.!?])(?=\s|$)", re.DOTALL)
_LEVELS = 3
"""The number of levels of fields that have descriptions: enough for the fields of a pod template's containers."""
_LONGEST = 160
_STRINGS: JSONSchema = {"type": "object", "additionalProperties": {"type": "string"}}
INT_OR_STRING: JSONSchema = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
QUANTITY: JSONSchema = INT_OR_STRING | {"pattern": builtin_patterns.QUANTITY, "maxLength": 1000}
EMBEDDED_META: JSONSchema = {
    "type": "object",
    "properties": {
        "annotations": _STRINGS,
        "finalizers": {"type": "array", "items": {"type": "string"}},
        "labels": _STRINGS,
        "name": {"type": "string"},
        "namespace": {"type": "string"},
    },
}
"""Metadata inside an object, such as a pod template's: the fields that users may set, as in controller-gen."""

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"

_CONDITION: dict[str, JSONSchema] = {
    "message": {"maxLength": 32768},
    "observedGeneration": {"minimum": 0},
    "reason": {"maxLength": 1024, "minLength": 1, "pattern": builtin_patterns.CONDITION_REASON},
    "status": {"enum": ["True", "False", "Unknown"]},
    "type": {"maxLength": 316, "pattern": builtin_patterns.CONDITION_TYPE},
}
"""The limits of ``metav1.Condition``. They are markers in Go's source that controller-gen writes into definitions; no
OpenAPI document has them.
"""

_KNOWN = {
    ".meta.v1.ObjectMeta": EMBEDDED_META,
    ".api.resource.Quantity": QUANTITY,
    ".util.intstr.IntOrString": INT_OR_STRING,
}


def is_builtin(kind: type) -> bool:
    """Whether ``kind`` is one of the generated models."""
    return kind.__module__.startswith("setpoint.models.")


def builtin_schema(kind: type) -> JSONSchema | None:
    """The structural schema of a built-in type, or None if ``kind`` is not one.

    Built-in types are the generated models, and those in ``setpoint.meta`` (`Condition`, `LabelSelector`).
    """
    shared = kind.__module__.startswith("setpoint.meta.")
    if not (shared or is_builtin(kind)):
        return None
    package = _META if shared else _package(kind.__module__.rpartition(".")[2])
    name = f"{package}.{kind.__name__}"
    if name not in schemas():
        return None
    schema: JSONSchema = copy_json(_inlined(name))
    if kind is Condition:
        # A controller may leave out fields that its framework fills in; the API's own type requires them all.
        schema["required"] = ["status", "type"]
        for field, limits in _CONDITION.items():
            schema["properties"][field] |= limits
    return schema


@cache
def _inlined(name: str) -> JSONSchema:
    return _inline(name, ())


@cache
def _package(module: str) -> str:
    """The package of the definitions of a module of models, such as ``core_v1``."""
    group, _, version = module.rpartition("_")
    return next(package for package in DEFINITIONS if package.endswith(f".{group}.{version}"))


def _inline(name: str, inside: tuple[str, ...], level: int = 0) -> JSONSchema:
    if name in inside:
        # JSONSchemaProps is the one built-in type that contains itself; a structural schema must leave it open.
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    for tail, schema in _KNOWN.items():
        if name.endswith(tail):
            return {**schema}
    return _convert(schemas()[name], (*inside, name), level)


def _convert(source: JSONSchema, inside: tuple[str, ...], level: int) -> JSONSchema:
    if "$ref" in source:
        schema = _inline(source["$ref"].rpartition("/")[2], inside, level)
        return schema | _description(source, level)
    schema = _description(source, level) | {keyword: source[keyword] for keyword in _KEPT if keyword in source}
    if "properties" in source:
        schema["properties"] = {name: _convert(part, inside, level + 1) for name, part in source["properties"].items()}
    if isinstance(source.get("additionalProperties"), dict):
        schema["additionalProperties"] = _convert(source["additionalProperties"], inside, _LEVELS + 1)
    if "items" in source:
        schema["items"] = _convert(source["items"], inside, level)
        schema["items"].pop("description", None)
    if schema.get("x-kubernetes-list-type") == "map":
        _complete_keys(schema)
    if "type" not in schema and "x-kubernetes-int-or-string" not in schema:
        schema["x-kubernetes-preserve-unknown-fields"] = True
    if schema.get("type") == "object" and not schema.keys() & {"properties", "additionalProperties"}:
        schema["x-kubernetes-preserve-unknown-fields"] = True
    return schema


def _description(source: JSONSchema, level: int) -> JSONSchema:
    text = source.get("description", "") if level <= _LEVELS else ""
    first = _SENTENCE.match(text)
    text = " ".join((first[1] if first else text).split())
    if len(text) > _LONGEST:
        text = text[: text.rindex(" ", 0, _LONGEST)] + " …"
    return {"description": text} if text else {}


def _complete_keys(schema: JSONSchema) -> None:
    """Adds a default for each optional map key of a list, as structural schemas require (TCP for ``protocol``)."""
    items = schema["items"]
    for key in schema["x-kubernetes-list-map-keys"]:
        if key not in items.get("required", ()):
            items["properties"][key]["default"] = "TCP" if key == "protocol" else ""
