"""Schemas of Kubernetes' own types inside a custom resource (a PodTemplateSpec in a spec).

They come from the same data as the generated models, with merge keys, so that server-side apply merges a template's
containers by name. Descriptions are dropped: a PodTemplateSpec with them is 500 KiB, beyond what an annotation or
etcd takes.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from msgspec import Struct

from setpoint.models.resources import schemas

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


def builtin_schema(kind: type[Struct]) -> JSONSchema | None:
    """The structural schema of a generated model, or None if ``kind`` is not one."""
    package, _, module = kind.__module__.rpartition(".")
    if package != "setpoint.models":
        return None
    name = _names().get((module, kind.__name__))
    return None if name is None else _inline(name, ())


@cache
def _names() -> dict[tuple[str, str], str]:
    names = {}
    for name in schemas():
        *_, group, version, kind = name.split(".")
        names[f"{group}_{version}", kind] = name
    return names


def _inline(name: str, inside: tuple[str, ...]) -> JSONSchema:
    if name in inside:
        # JSONSchemaProps is the one built-in type that contains itself; a structural schema must leave it open.
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return _convert(schemas()[name], (*inside, name))


def _convert(source: JSONSchema, inside: tuple[str, ...]) -> JSONSchema:
    if "$ref" in source:
        return _inline(source["$ref"].rpartition("/")[2], inside)
    schema = {keyword: source[keyword] for keyword in _KEPT if keyword in source}
    if "properties" in source:
        schema["properties"] = {name: _convert(part, inside) for name, part in source["properties"].items()}
    if isinstance(source.get("additionalProperties"), dict):
        schema["additionalProperties"] = _convert(source["additionalProperties"], inside)
    if "items" in source:
        schema["items"] = _convert(source["items"], inside)
    if schema.get("x-kubernetes-list-type") == "map":
        _complete_keys(schema)
    if "type" not in schema and "x-kubernetes-int-or-string" not in schema:
        schema["x-kubernetes-preserve-unknown-fields"] = True
    if schema.get("type") == "object" and len(schema) == 1:
        schema["x-kubernetes-preserve-unknown-fields"] = True
    return schema


def _complete_keys(schema: JSONSchema) -> None:
    """Gives a list's map keys that are optional a default, as structural schemas ask for (``protocol`` is TCP)."""
    items = schema["items"]
    for key in schema["x-kubernetes-list-map-keys"]:
        if key not in items.get("required", ()):
            items["properties"][key]["default"] = "TCP" if key == "protocol" else ""
