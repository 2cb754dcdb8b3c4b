"""The cost of a call, computed from the sizes of its arguments as in API servers.

One unit is about one step of work. A string costs a tenth of its length for each pass over it; a search with a pattern
multiplies this cost by a quarter of the pattern's length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from setpoint.cel.values import LISTS, ListValue, MapValue, Opaque, Value, size

LIST_COST: Final = 10
MAP_COST: Final = 30
STRUCT_COST: Final = 40
TEXT_FACTOR: Final = 0.1
REGEX_FACTOR: Final = 0.25
CHECK_COST: Final = 350_000
"""The cost of one permission check by the authorizer."""

_Arguments = Sequence[Value]


def call_cost(function: str, overload: str, arguments: _Arguments, result: Value) -> int:
    cost = _BY_OVERLOAD.get(overload) or _BY_FUNCTION.get(function)
    return 1 if cost is None else cost(arguments, result)


def text_cost(length: float) -> int:
    """The cost of one pass over a string."""
    return math.ceil(length * TEXT_FACTOR)


def selector_cost(length: int) -> int:
    """The cost of parsing a label or field selector."""
    return LIST_COST + text_cost(length) + math.ceil(math.ceil(length * 0.5) * (LIST_COST + STRUCT_COST))


def _text(factor: float, which: int = 0) -> Callable[[_Arguments, Value], int]:
    return lambda arguments, _: text_cost(size(arguments[which]) * factor)


def _regex(arguments: _Arguments, _: Value) -> int:
    return text_cost(1 + size(arguments[0])) * math.ceil(size(arguments[1]) * REGEX_FACTOR)


def _smaller(arguments: _Arguments, _: Value) -> int:
    if isinstance(arguments[0], Opaque):
        return 1
    return text_cost(min(size(arguments[0]), size(arguments[1])))


def _within(arguments: _Arguments, _: Value) -> int:
    return text_cost(size(arguments[0])) * text_cost(size(arguments[1]))


def _traversal(value: Value) -> int:
    if isinstance(value, (str, bytes)):
        return int(len(value.encode() if isinstance(value, str) else value) * TEXT_FACTOR)
    if isinstance(value, LISTS):
        return sum(map(_traversal, value))
    if isinstance(value, MapValue):
        return sum(_traversal(key) + _traversal(value.find(key)) for key in value)
    return 1


def _list_made(arguments: _Arguments, result: Value) -> int:
    return size(result) + 1 + LIST_COST


def _flattened(arguments: _Arguments, _: Value) -> int:
    depth = arguments[1] if len(arguments) == 2 else 1
    return int(size(arguments[0]) * depth) + 1 + LIST_COST


def _self_compared(which: int) -> Callable[[_Arguments, Value], int]:
    def cost(arguments: _Arguments, _: Value) -> int:
        items: list[Value] | ListValue = arguments[which]
        factor = 2 + (TEXT_FACTOR if len(items) and isinstance(items[0], (str, bytes)) else 0)
        return int(len(items) ** 2 * factor) + 1 + LIST_COST

    return cost


def _sets(factor: int) -> Callable[[_Arguments, Value], int]:
    return lambda arguments, _: 1 + size(arguments[0]) * size(arguments[1]) * factor


def _contains_network(extra: int, text: bool) -> Callable[[_Arguments, Value], int]:
    def cost(arguments: _Arguments, _: Value) -> int:
        own = size(arguments[0])
        total = text_cost(own + own) + (text_cost(own) + 1 if extra else 0)
        return total + (text_cost(size(arguments[1])) if text else 0)

    return cost


def _format(arguments: _Arguments, _: Value) -> int:
    pattern: int = getattr(arguments[0], "pattern_size", 1)
    return text_cost(1 + size(arguments[1])) * math.ceil(pattern * REGEX_FACTOR)


_BY_OVERLOAD: Final[dict[str, Callable[[_Arguments, Value], int]]] = {
    "add_bytes": lambda arguments, _: text_cost(size(arguments[0]) + size(arguments[1])),
    "add_string": lambda arguments, _: text_cost(size(arguments[0]) + size(arguments[1])),
    "bytes_to_string": _text(1),
    "cidr_contains_cidr": _contains_network(1, text=False),
    "cidr_contains_cidr_string": _contains_network(1, text=True),
    "cidr_contains_ip_ip": _contains_network(0, text=False),
    "cidr_contains_ip_string": _contains_network(0, text=True),
    "contains_string": _within,
    "ends_with_string": _text(1),
    "equals": _smaller,
    "in_list": lambda arguments, _: size(arguments[1]),
    "list_distinct": _self_compared(0),
    "list_flatten": _flattened,
    "list_flatten_int": _flattened,
    "list_reverse": _list_made,
    "list_sets_contains_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
    "list_sets_intersects_list": _sets(1),
    "list_slice": _list_made,
    "lists_range": _list_made,
    "matches": _regex,
    "matches_string": _regex,
    "starts_with_string": _text(1),
    "string_format": _text(1),
    "string_to_bytes": _text(1),
    "string_to_ip": _text(1),
    "strings_quote": _text(1),
}
for _kind in ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"):
    _BY_OVERLOAD[f"list_{_kind}_sort"] = _self_compared(0)
    _BY_OVERLOAD[f"list_{_kind}_sortByAssociatedKeys"] = _self_compared(1)
for _kind in ("string", "bytes"):
    for _order in ("less", "less_equals", "greater", "greater_equals"):
        _BY_OVERLOAD[f"{_order}_{_kind}"] = _smaller

_BY_FUNCTION: Final[dict[str, Callable[[_Arguments, Value], int]]] = {
    **{
        name: lambda arguments, _: _traversal(arguments[0])
        for name in ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf")
    },
    **{
        name: _text(1)
        for name in (
            "url",
            "lowerAscii",
            "upperAscii",
            "substring",
            "trim",
            "jsonpatch.escapeKey",
            "cidr",
            "isIP",
            "isCIDR",
            "quantity",
            "isQuantity",
            "semver",
            "isSemver",
        )
    },
    "replace": _text(2),
    "split": _text(2),
    "ip.isCanonical": _text(2),
    "join": lambda _, result: text_cost(size(result) * 2),
    "find": _regex,
    "findAll": _regex,
    "check": lambda _, __: CHECK_COST,
    "fieldSelector": lambda arguments, _: selector_cost(size(arguments[1])),
    "labelSelector": lambda arguments, _: selector_cost(size(arguments[1])),
    "validate": _format,
}
