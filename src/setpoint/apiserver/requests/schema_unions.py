"""The values in a definition's schemas that Go decodes by hand: a schema or a boolean, a schema or a list."""

from __future__ import annotations

from typing import Any, Final

_BOOLEAN_OR_SCHEMA: Final = ("additionalProperties", "additionalItems")
_MAPS: Final = ("properties", "patternProperties", "definitions", "dependencies")
_LISTS: Final = ("allOf", "anyOf", "oneOf")


def schema_union_problem(definition: dict[str, Any]) -> str:
    """Go's error for a value that is neither a boolean nor a schema; empty if there is none.

    ``items`` that are neither a schema nor a list are removed (in place), since Go's decoder takes them for nothing.
    Values of other wrong types are left for the checks of types.
    """
    spec = definition.get("spec")
    versions = spec.get("versions") if isinstance(spec, dict) else None
    rest: list[Any] = [
        version["schema"].get("openAPIV3Schema")
        for version in (versions if isinstance(versions, list) else ())
        if isinstance(version, dict) and isinstance(version.get("schema"), dict)
    ]
    while rest:
        node = rest.pop()
        if not isinstance(node, dict):
            continue
        for key in _BOOLEAN_OR_SCHEMA:
            value = node.get(key)
            if value is not None and not isinstance(value, bool | dict):
                return "boolean or JSON schema expected"
            rest.append(value)
        items = node.get("items")
        if items is not None and not isinstance(items, dict | list):
            del node["items"]
        rest += items if isinstance(items, list) else [items]
        rest.append(node.get("not"))
        rest += [item for key in _LISTS if isinstance(node.get(key), list) for item in node[key]]
        rest += [item for key in _MAPS if isinstance(node.get(key), dict) for item in node[key].values()]
    return ""
