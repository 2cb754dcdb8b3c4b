"""Cost estimates of calls, from the largest sizes of their arguments. `runtime_cost` is the counterpart at run time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import msgspec
from msgspec.structs import replace

from setpoint.cel.nodes import Literal, Node
from setpoint.cel.runtime_cost import CHECK_COST, LIST_COST, REGEX_FACTOR, STRUCT_COST, TEXT_FACTOR
from setpoint.cel.span import FREE, ONE, UNBOUNDED, Span
from setpoint.cel.types import Type
from setpoint.cel.values import MAX_UINT


class Operand(msgspec.Struct, frozen=True):
    """An argument of a call, or its receiver."""

    node: Node | None
    type: Type
    path: tuple[str, ...]
    size: Span | None
    sizes: Callable[[tuple[str, ...]], Span | None]

    @property
    def any_size(self) -> Span:
        """The size; unbounded if it is not known."""
        return UNBOUNDED if self.size is None else self.size

    @property
    def item(self) -> Operand | None:
        """An operand that stands for the elements of a list; None if the type has no parameters."""
        if not self.type.parameters:
            return None
        path = (*self.path, "@items")
        size = self.sizes(path) if self.path else None
        return replace(self, node=None, type=self.type.parameters[0], path=path, size=size)

    def integer(self, otherwise: int) -> int:
        """The value of an integer literal, but at least 0; ``otherwise`` for any other node."""
        if isinstance(self.node, Literal) and type(self.node.value) is int:
            return max(self.node.value, 0)
        return otherwise


_Made = tuple[Span, Span | None]
"""The cost of the call without its arguments, and the size of its result if known."""
_Estimate = Callable[[str, Operand | None, list[Operand]], _Made | None]


def _fixed(cost: int) -> _Estimate:
    return lambda overload, target, arguments: (Span(cost, cost), None)


def _first(factor: float) -> _Estimate:
    """The estimate for functions that make one pass over their first argument: ``factor`` times its size."""
    return lambda overload, target, arguments: (arguments[0].any_size.scaled(factor), None) if arguments else None


def _first_kept(overload: str, target: Operand | None, arguments: list[Operand]) -> _Made:
    size = arguments[0].any_size
    return size.scaled(TEXT_FACTOR), size


def _target_kept(overload: str, target: Operand | None, arguments: list[Operand]) -> _Made | None:
    if target is None:
        return None
    return target.any_size.scaled(TEXT_FACTOR), target.any_size


def _target_only(overload: str, target: Operand | None, arguments: list[Operand]) -> _Made | None:
    return None if target is None else (target.any_size.scaled(TEXT_FACTOR), None)


def _to_bytes(overload: str, target: Operand | None, arguments: list[Operand]) -> _Made:
    size = arguments[0].any_size
    return size.scaled(TEXT_FACTOR), Span(size.least, min(size.most * 4, MAX_UINT))


def _from_bytes(overload: str, target: Operand | None, arguments: list[Operand]) -> _Made:
    size = arguments[0].any_size
    return size.scaled(TEXT_FACTOR), Span(size.least // 4, size.most)


def _quoted(overload: str, target: Operand | None, arguments: list[Operand]) -> _Made:
    size = arguments[0].any_size
    return size.scaled(TEXT_FACTOR), Span(size.least + 2, min(size.most * 2 + 2, MAX_UINT))


def _regex(text: Operand, pattern: Operand) -> Span:
    return text.any_size.plus(ONE).scaled(TEXT_FACTOR).times(pattern.any_size.scaled(REGEX_FACTOR))


def _matches(overload: str, target: Operand | None, arguments: list[Operand]) -> _Made | None:
    return None if target is None else (_regex(target, arguments[0]), None)


def _find(overload: str, target: Operand | None, arguments: list[Operand]) -> _Made | None:
    if target is None:
        return None
    return _regex(target, arguments[0]), Span(0, target.any_size.most)


def _contains(overload: str, target: Operand | None, arguments: list[Operand]) -> _Made | None:
    if target is None:
        return None
    return target.any_size.scaled(TEXT_FACTOR).times(arguments[0].any_size.scaled(TEXT_FACTOR)), None


def _compared(overload: str, target: Operand | None, arguments: list[Operand]) -> _Made:
    left, right = arguments
    if left.type == right.type and left.type.name in _CHEAP_TO_COMPARE:
        return ONE, None
    if left.type == right.type and left.type.name == "kubernetes.NamedFormat":
        return Span(1, 64).scaled(TEXT_FACTOR), None
    if left.type == right.type and left.type.name == "kubernetes.URL":
        most = 1 if right.size is None else right.size.most
        return Span(1, most).scaled(TEXT_FACTOR), None
    most = min(left.any_size.most, right.any_size.most)
    return Span(1 if most else 0, most).scaled(TEXT_FACTOR), None


_CHEAP_TO_COMPARE: Final = frozenset(
    {"net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"}
    | {
        f"kubernetes.authorization.{name}"
        for name in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")
    }
)


def _selector(overload: str, target: Operand | None, arguments: list[Operand]) -> _Made:
    length = arguments[0].any_size
    requirements = length.scaled(0.5).scaled(LIST_COST + STRUCT_COST)
    return Span(LIST_COST, LIST_COST).plus(length.scaled(TEXT_FACTOR)).plus(requirements), None


def _traversed(overload: str, target: Operand | None, arguments: list[Operand]) -> _Made | None:
    if target is None:
        return None
    item = target.item
    if item is None:
        return target.any_size.scaled(TEXT_FACTOR), None
    item_cost = ONE
    if item.type.kind in ("string", "bytes"):
        item_cost = item_cost.plus(item.any_size.scaled(TEXT_FACTOR))
    return target.any_size.times(item_cost), None


def _replaced(overload: str, target: Operand | None, arguments: list[Operand]) -> _Made | None:
    if target is None or len(arguments) < 2:
        return None
    size, old, new = target.any_size, arguments[0].any_size, arguments[1].any_size
    if old.least == 0:
        most, kept_most = min(size.most + 1, MAX_UINT), size.most
    elif new.most <= old.least:
        most, kept_most = 0, size.most
    else:
        most, kept_most = math.ceil(size.most / old.least), 0
    if old.most == 0:
        least, kept_least = min(size.least + 1, MAX_UINT), size.least
    elif old.most <= new.least:
        least, kept_least = 0, size.least
    else:
        least, kept_least = math.ceil(size.least / old.most), 0
    result = Span(least, most).times(new).plus(Span(kept_least, kept_most))
    return size.scaled(2 * TEXT_FACTOR), result


def _split(overload: str, target: Operand | None, arguments: list[Operand]) -> _Made | None:
    if target is None:
        return None
    size = target.any_size
    most = size.most
    if len(arguments) > 1:
        node = arguments[1].node
        if isinstance(node, Literal) and type(node.value) is int:
            most = node.value % (MAX_UINT + 1)
    return size.scaled(2 * TEXT_FACTOR), Span(0, most)


def _joined(overload: str, target: Operand | None, arguments: list[Operand]) -> _Made | None:
    if target is None:
        return None
    count = target.any_size
    item = target.item
    size = count.times(item.any_size) if item is not None else FREE
    if arguments:
        separators = Span(max(count.least - 1, 0), max(count.most - 1, 0))
        size = size.plus(arguments[0].any_size.times(separators))
    return size.scaled(TEXT_FACTOR), size


def _contains_ip(overload: str, target: Operand | None, arguments: list[Operand]) -> _Made:
    cost = Span(8, 32).scaled(TEXT_FACTOR)
    if overload == "cidr_contains_ip_string":
        cost = cost.plus(arguments[0].any_size.scaled(TEXT_FACTOR))
    return cost, None


def _contains_cidr(overload: str, target: Operand | None, arguments: list[Operand]) -> _Made:
    cost = Span(8, 32).scaled(TEXT_FACTOR).plus(Span(4, 16).scaled(TEXT_FACTOR)).plus(ONE)
    if overload == "cidr_contains_cidr_string":
        cost = cost.plus(arguments[0].any_size.scaled(TEXT_FACTOR))
    return cost, None


def _ip(overload: str, target: Operand | None, arguments: list[Operand]) -> _Made | None:
    if overload == "cidr_ip":
        return ONE, None
    return (arguments[0].any_size.scaled(TEXT_FACTOR), None) if arguments else None


def _validated(overload: str, target: Operand | None, arguments: list[Operand]) -> _Made:
    return arguments[0].any_size.scaled(TEXT_FACTOR).scaled(128 * REGEX_FACTOR), None


def _made_list(factor: float, size: Span) -> _Made:
    return size.scaled(factor).plus(ONE).plus(Span(LIST_COST, LIST_COST)), size


def _sliced(overload: str, target: Operand | None, arguments: list[Operand]) -> _Made | None:
    if target is None:
        return None
    length = (arguments[1].integer(target.any_size.most) - arguments[0].integer(0)) % (MAX_UINT + 1)
    return _made_list(1, Span(length, length))


def _ranged(overload: str, target: Operand | None, arguments: list[Operand]) -> _Made:
    count = arguments[0].integer(MAX_UINT)
    return _made_list(1, Span(count, count))


def _reversed(overload: str, target: Operand | None, arguments: list[Operand]) -> _Made | None:
    return None if target is None else _made_list(1, target.any_size)


def _flattened(overload: str, target: Operand | None, arguments: list[Operand]) -> _Made | None:
    if target is None:
        return None
    depth = arguments[0].integer(MAX_UINT) if arguments else 1
    return _made_list(depth, target.any_size)


def _distinct(overload: str, target: Operand | None, arguments: list[Operand]) -> _Made | None:
    return None if target is None else _made_list(2, target.any_size.times(target.any_size))


def _sorted(kind: str, by: bool) -> _Estimate:
    factor = 2 + (TEXT_FACTOR if kind in ("string", "bytes") else 0)

    def estimate(overload: str, target: Operand | None, arguments: list[Operand]) -> _Made | None:
        keys = arguments[0] if by else target
        return None if keys is None else _made_list(factor, keys.any_size.times(keys.any_size))

    return estimate


def _sets(factor: float) -> _Estimate:
    def estimate(overload: str, target: Operand | None, arguments: list[Operand]) -> _Made:
        return arguments[0].any_size.times(arguments[1].any_size).scaled(factor).plus(ONE), None

    return estimate


ESTIMATES: Final[dict[str, _Estimate]] = {
    # by overload
    "bytes_to_string": _from_bytes,
    "contains_string": _contains,
    "ends_with_string": _first(TEXT_FACTOR),
    "equals": _compared,
    "in_list": lambda overload, target, arguments: (arguments[1].any_size, None),
    "list_distinct": _distinct,
    "list_flatten": _flattened,
    "list_flatten_int": _flattened,
    "list_reverse": _reversed,
    "list_sets_contains_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
    "list_sets_intersects_list": _sets(1),
    "list_slice": _sliced,
    "lists_range": _ranged,
    "matches_string": _matches,
    "not_equals": _compared,
    "starts_with_string": _first(TEXT_FACTOR),
    "string_format": _target_only,
    "string_to_bytes": _to_bytes,
    "strings_quote": _quoted,
    # by function
    "check()": _fixed(CHECK_COST),
    "containsCIDR()": _contains_cidr,
    "containsIP()": _contains_ip,
    "fieldSelector()": _selector,
    "find()": _find,
    "findAll()": _find,
    "ip()": _ip,
    "ip.isCanonical()": _first(2 * TEXT_FACTOR),
    "join()": _joined,
    "jsonpatch.escapeKey()": _first_kept,
    "labelSelector()": _selector,
    "replace()": _replaced,
    "split()": _split,
    "url()": _first_kept,
    "validate()": _validated,
}
for _name in ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"):
    ESTIMATES[f"{_name}()"] = _traversed
for _name in ("lowerAscii", "upperAscii", "substring", "trim"):
    ESTIMATES[f"{_name}()"] = _target_kept
for _name in ("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"):
    ESTIMATES[f"{_name}()"] = _first(TEXT_FACTOR)
for _kind in ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"):
    ESTIMATES[f"list_{_kind}_sort"] = _sorted(_kind, by=False)
    ESTIMATES[f"list_{_kind}_sortByAssociatedKeys"] = _sorted(_kind, by=True)
for _kind in ("string", "bytes"):
    for _order in ("less", "less_equals", "greater", "greater_equals"):
        ESTIMATES[f"{_order}_{_kind}"] = _compared
