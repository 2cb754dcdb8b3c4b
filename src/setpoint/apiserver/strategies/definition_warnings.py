"""Warnings about the schemas of CustomResourceDefinitions: formats that are not checked, and sets of objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from setpoint.meta.text_escaping import quote
from setpoint.schema.formats import is_checked

JsonObject = dict[str, Any]
_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf"})
_MAPS: Final = frozenset({"properties", "patternProperties", "definitions"})
_ONES: Final = frozenset({"items", "not", "additionalProperties", "additionalItems"})
_NUMBERS: Final = {"integer": ("int32", "int64"), "number": ("float", "double")}


def definition_warnings(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    """The warnings about a definition, without those that also held for ``old``."""
    before = {*_texts(old)} if old is not None else set()
    return (text for text in _texts(obj) if text not in before)


def _texts(obj: JsonObject) -> Iterator[str]:
    documents: dict[bytes, JsonObject] = {}
    for version in (obj.get("spec") or {}).get("versions") or ():
        document = (version.get("schema") or {}).get("openAPIV3Schema")
        if isinstance(document, dict):
            documents[msgspec.json.encode(document)] = document
    sets: set[str] = set()
    for document in documents.values():
        for schema in _schemas(document):
            kind, format_ = schema.get("type") or "", schema.get("format") or ""
            if format_ and not _is_checked(kind, format_):
                yield f"unrecognized format {quote(format_)}"
            items = (schema.get("items") or {}) if schema.get("x-kubernetes-list-type") == "set" else {}
            if isinstance(items, dict) and items.get("type") in ("object", "array"):
                sets.add(items["type"])
    for kind in sorted(sets):
        text = "is not supported by server-side apply or CEL validation rules"
        yield f"x-kubernetes-list-type: set for items of type {quote(kind)} {text}"


def _is_checked(kind: str, format_: str) -> bool:
    if kind in ("", "string"):
        return is_checked(format_)
    return format_ in _NUMBERS.get(kind, ())


def _schemas(schema: JsonObject) -> Iterator[JsonObject]:
    waiting = [schema]
    while waiting:
        current = waiting.pop()
        yield current
        for keyword, part in current.items():
            if keyword in _MAPS:
                waiting += [item for item in (part or {}).values() if isinstance(item, dict)]
            elif keyword in _LISTS:
                waiting += [item for item in part or () if isinstance(item, dict)]
            elif keyword in _ONES and isinstance(part, dict):
                waiting.append(part)
