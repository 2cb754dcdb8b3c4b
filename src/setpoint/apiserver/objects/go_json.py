"""JSON as Go programs write it: the text of a patched object, which upstream quotes if the object is not valid."""

from __future__ import annotations

import json
from typing import Any, Final

from setpoint.apiserver.objects.go_types import go_fields
from setpoint.meta import GroupVersionKind
from setpoint.models import definition_name
from setpoint.schema import UNSET, json_equal

_ESCAPES: Final = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def go_json(value: Any, *, in_order: bool = False) -> str:
    """The text of ``value``, with sorted keys unless ``in_order``."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=not in_order, separators=(",", ":"))
    return text.translate(_ESCAPES)


def patched_json(kind: GroupVersionKind | None, new: Any, old: Any, *, merged: bool) -> str:
    """The text of ``new``, which a patch made of ``old``, an object of a built-in kind; None for a custom one.

    Go writes the fields of a struct in the order of their declaration, and those of an object that a patch has changed
    in alphabetical order. ``merged``: by a merge patch, which sorts what it adds, too.
    """
    if kind is None:
        return go_json(new)
    return go_json(_patched(definition_name(kind), new, old, merged), in_order=True)


def _patched(message: str, new: Any, old: Any, merged: bool) -> Any:
    if old is UNSET:
        return _sorted(new) if merged else new
    if json_equal(new, old):
        return _declared(message, new)
    if isinstance(new, dict) and isinstance(old, dict):
        kinds = _kinds(message)
        return {key: _patched(kinds.get(key, ""), new[key], old.get(key, UNSET), merged) for key in sorted(new)}
    if isinstance(new, list) and isinstance(old, list) and not merged:
        before = [*old, *([UNSET] * len(new))]
        return [_patched(message, item, before[index], merged) for index, item in enumerate(new)]
    return _sorted(new) if merged else new


def _declared(message: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_declared(message, item) for item in value]
    if not isinstance(value, dict):
        return value
    kinds = _kinds(message)
    places = {name: place for place, name in enumerate(kinds)}
    return {
        key: _declared(kinds.get(key, message), value[key])
        for key in sorted(value, key=lambda k: (places.get(k, 99), k))
    }


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _kinds(message: str) -> dict[str, str]:
    """The types of a struct's fields, by name and in order; empty for anything but a struct."""
    kinds: dict[str, str] = {}
    for field in go_fields(message) or ():
        kinds |= {field.name: field.type} if field.name else _kinds(field.type)
    return kinds
