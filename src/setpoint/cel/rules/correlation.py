"""Finds the old part of an object that corresponds to a new part, to see whether the part is unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from setpoint.cel.schema_types import Definition
from setpoint.schema import json_equal

_UNKNOWN: Final = object()


class Correlated:
    """A value, its old value, and their schema. Results are cached."""

    __slots__ = ("_by_key", "_definition", "_equal", "_old", "_value")

    def __init__(self, value: Any, old: Any, definition: Definition) -> None:
        self._value = value
        self._old = old
        self._definition = definition
        self._equal: bool | None = None
        self._by_key: dict[tuple[Any, ...] | None, Any] | None = None

    @property
    def unchanged(self) -> bool:
        """Whether both values are equal; lists with keys may differ in order."""
        if self._equal is None:
            self._equal = self._compare()
        return self._equal

    def _compare(self) -> bool:
        value, old = self._value, self._old
        if isinstance(value, list) and isinstance(old, list):
            if self._definition.get("x-kubernetes-list-type") != "map":
                return json_equal(value, old)
            items = (self.index(position) for position in range(len(value)))
            return len(value) == len(old) and all(item is not None and item.unchanged for item in items)
        if isinstance(value, dict) and isinstance(old, dict):
            fields = (self.key(name) for name in value)
            return len(value) == len(old) and all(child is not None and child.unchanged for child in fields)
        return json_equal(value, old)

    def key(self, name: str) -> Correlated | None:
        """The field ``name`` with its old value; None if the field did not exist before or is not in the schema."""
        value, old = self._value, self._old
        if not isinstance(value, dict) or not isinstance(old, dict) or name not in value or name not in old:
            return None
        child = (self._definition.get("properties") or {}).get(name)
        if child is None:
            child = self._definition.get("additionalProperties")
        return Correlated(value[name], old[name], child) if isinstance(child, Mapping) else None

    def index(self, position: int) -> Correlated | None:
        """The item at ``position`` with the old item that has the same keys; None if there is no such old item."""
        items = self._definition.get("items")
        if not isinstance(self._value, list) or not isinstance(items, Mapping):
            return None
        if self._by_key is None:
            self._by_key = by_keys(self._definition, self._old)
        old_item = self._by_key.get(item_key(self._definition, self._value[position]))
        return None if old_item is None else Correlated(self._value[position], old_item, items)


def item_key(definition: Definition, item: Any) -> tuple[Any, ...] | None:
    """The values of a list item's key fields; None if the item is not an object or lacks one of these fields."""
    if not isinstance(item, dict):
        return None
    parts = []
    for key in definition.get("x-kubernetes-list-map-keys") or ():
        value = item.get(key, _UNKNOWN)
        if value is _UNKNOWN or isinstance(value, (dict, list)):
            return None
        parts.append((type(value).__name__, value))
    return tuple(parts)


def by_keys(definition: Definition, items: Any) -> dict[tuple[Any, ...] | None, Any]:
    """The items of a list by their keys; empty if the list does not have keys."""
    if definition.get("x-kubernetes-list-type") != "map" or not isinstance(items, list):
        return {}
    by_key: dict[tuple[Any, ...] | None, Any] = {}
    for item in items:
        key = item_key(definition, item)
        if key is not None:
            by_key.setdefault(key, item)
    return by_key
