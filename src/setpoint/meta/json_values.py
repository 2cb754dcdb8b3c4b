"""Small functions on plain JSON values, shared by several files."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable
from decimal import Decimal
from typing import Any, Final, TypeAlias

import msgspec

JSON: TypeAlias = Any
"""A plain JSON value: dict with str keys, list, str, int, float, bool or None."""

MAX_INT64: Final = 2**63 - 1
MIN_INT64: Final = -(2**63)
_encode: Final = msgspec.json.Encoder().encode


def copy_json(value: JSON) -> JSON:
    """A copy that shares nothing mutable with ``value``; several times faster than ``copy.deepcopy``."""
    if isinstance(value, dict):
        return {key: copy_json(item) if isinstance(item, (dict, list)) else item for key, item in value.items()}
    if isinstance(value, list):
        return [copy_json(item) if isinstance(item, (dict, list)) else item for item in value]
    return value


def repeats(values: Collection[Hashable]) -> list[int]:
    """The index of each value that also occurs earlier in ``values``; the indexes are in ascending order."""
    previous: set[Hashable] = set()
    positions: list[int] = []
    for index, value in enumerate(values):
        if value in previous:
            positions.append(index)
        previous.add(value)
    return positions


def json_equal(left: JSON, right: JSON) -> bool:
    """Whether two values are the same JSON: like ``==``, but ``true`` is not 1 (while 1 and 1.0 are the
    same number).
    """
    if left is right:
        return True
    if isinstance(left, (dict, list)):
        try:
            if left != right:
                return False
            encoded = _encode(left)
            if encoded == _encode(right):  # tells true from 1, which == does not
                return True
        except (RecursionError, OverflowError, TypeError, ValueError):  # what the fast encoder does not know
            pass
        return _same_parts(left, right)
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def _same_parts(left: JSON, right: JSON) -> bool:
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and len(left) == len(right)
            and all(key in right and _same_parts(item, right[key]) for key, item in left.items())
        )
    if isinstance(left, list):
        return (
            isinstance(right, list)
            and len(left) == len(right)
            and all(_same_parts(a, b) for a, b in zip(left, right, strict=True))
        )
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def token(value: JSON) -> Hashable:
    """A hashable key, equal for two values if they are the same JSON (`json_equal`)."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return (dict, frozenset((key, token(item)) for key, item in value.items()))
    if isinstance(value, list):
        return (list, *[token(item) for item in value])
    return (bool, value) if isinstance(value, bool) else (float, value)


def nested_over(value: JSON, levels: int) -> bool:
    """Whether objects and lists are nested more than ``levels`` deep; a scalar has depth 0."""
    layer = [value] if isinstance(value, (dict, list)) else []
    for _ in range(levels):
        if not layer:
            return False
        layer = [
            item
            for outer in layer
            for item in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(item, (dict, list))
        ]
    return bool(layer)


def format_json_number(value: float) -> str:
    """The number as Go's encoder writes it: ``1`` for 1.0, ``1e+21``, ``1e-7``. The number must be finite."""
    if isinstance(value, int):
        return str(value)
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value)) if value or math.copysign(1, value) > 0 else "-0"
    if 1e-6 <= abs(value) < 1e21:
        return format(Decimal(repr(value)), "f")
    return repr(value).replace("e-0", "e-")


def whole_numbers(value: JSON) -> None:
    """Replaces (in place, at any depth of an object or list) floats without a fraction by integers, as Go does when it
    writes them: 1.0 becomes 1. Those of more than 64 bits stay floats.
    """
    ahead = [value]
    while ahead:
        part = ahead.pop()
        for key, item in part.items() if isinstance(part, dict) else enumerate(part):
            if isinstance(item, float):
                if item.is_integer() and MIN_INT64 <= item < MAX_INT64:
                    part[key] = int(item)
            elif isinstance(item, (dict, list)):
                ahead.append(item)


def json_type(value: JSON) -> str:
    """The name of a value's type in JSON Schema. Raises TypeError if the value is not a JSON value."""
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "array"
    if value is None:
        return "null"
    raise TypeError(f"{type(value).__name__} is not a JSON value")
