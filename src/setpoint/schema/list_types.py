"""Uniqueness in lists of type ``set`` and ``map`` (KEP-1027)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

import msgspec

from setpoint.meta.json_values import JSON

from .errors import LONGEST_PATH, Errors, FieldError, duplicate, invalid, shortened
from .schema_node import Schema

_text: Final = msgspec.json.Encoder(order="deterministic").encode


def list_type_errors(schema: Schema, value: JSON, path: str = "") -> list[FieldError]:
    """A Duplicate error for each repeated value in a set, and for each repeated combination of keys in a map-list. If a
    map-list contains items that are neither objects nor null, its only error is an Invalid error for the first of these
    items.
    """
    errors = Errors()
    _walk(schema, value, path, errors)
    return errors


def _walk(schema: Schema, value: JSON, path: str, errors: list[FieldError]) -> None:
    if len(path) > LONGEST_PATH:
        path = shortened(path)
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, (dict, list)):
                child = schema.properties.get(key)
                if child is not None:
                    _walk(child, item, f"{path}.{key}" if path else key, errors)
                elif schema.additional is not None:
                    _walk(schema.additional, item, f"{path}[{key}]", errors)
    elif isinstance(value, list):
        if schema.list_type == "set":
            errors.extend(duplicate(f"{path}[{index}]", value[index]) for index in _repeated(value))
        elif schema.list_type == "map":
            _map_errors(schema, value, path, errors)
        if schema.items is not None:
            for index, item in enumerate(value):
                if isinstance(item, (dict, list)):
                    _walk(schema.items, item, f"{path}[{index}]", errors)


def _map_errors(schema: Schema, value: list[JSON], path: str, errors: list[FieldError]) -> None:
    for index, item in enumerate(value):
        if item is not None and not isinstance(item, dict):
            errors.append(invalid(f"{path}[{index}]", item, "must be an object for an array of list-type map"))
            return
    keys = [{name: item[name] for name in schema.list_map_keys if name in item} if item else {} for item in value]
    errors.extend(duplicate(f"{path}[{index}]", keys[index]) for index in _repeated(keys))


def _repeated(values: list[JSON]) -> list[int]:
    """The index at which each repeated value occurs for the second time."""
    if len(values) < 2:
        return []
    previous: dict[Hashable, bool] = {}
    positions: list[int] = []
    for index, value in enumerate(values):
        key = value if type(value) is str or type(value) is int else _text(value)
        repeated = previous.get(key)
        if repeated is None:
            previous[key] = False
        elif not repeated:
            previous[key] = True
            positions.append(index)
    return positions
