"""Functions for lists (sums, bounds, order, slices, lists as sets), for optionals, and for insertion into maps."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any, Final

from setpoint.cel.declarations import Library, Overload, function, method
from setpoint.cel.errors import EvaluationError
from setpoint.cel.library.arithmetic import duration, integer, unsigned
from setpoint.cel.types import (  # fmt: skip
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    list_of,
    map_of,
    optional_of,
    parameter,
)
from setpoint.cel.values import (
    LISTS,
    NONE,
    Duration,
    ListValue,
    MapValue,
    Optional,
    PlainMap,
    UInt,
    Value,
    compare,
    contains,
    equal,
    type_of_value,
)

_List = list[Any] | ListValue
_RANGE: Final = 1_000_000
_SUMMABLE: Final[dict[str, tuple[Type, Callable[[list[Any]], Any]]]] = {
    "int": (INT, lambda items: functools.reduce(lambda a, b: integer(a + b), items, 0)),
    "uint": (UINT, lambda items: functools.reduce(lambda a, b: unsigned(int(a) + int(b)), items, UInt(0))),
    "double": (DOUBLE, lambda items: functools.reduce(lambda a, b: a + b, items, 0.0)),
    "duration": (
        DURATION,
        lambda items: functools.reduce(lambda a, b: duration(a.nanoseconds + b.nanoseconds), items, Duration(0)),
    ),
}
_COMPARABLE: Final = {
    "int": INT, "uint": UINT, "double": DOUBLE, "bool": BOOL, "duration": DURATION, "timestamp": TIMESTAMP,
    "string": STRING, "bytes": BYTES,
}  # fmt: skip


def _is_sorted(items: _List) -> bool:
    listed = list(items)
    return all(compare(left, right) <= 0 for left, right in itertools.pairwise(listed))


def _best(name: str, wanted: int) -> Callable[[_List], Value]:
    def best(items: _List) -> Value:
        listed = list(items)
        if not listed:
            raise EvaluationError(f"{name} called on empty list")
        return functools.reduce(lambda a, b: b if compare(a, b) == wanted else a, listed)

    return best


def _index_of(items: _List, item: Value) -> int:
    return next((index for index, element in enumerate(items) if _same(element, item)), -1)


def _last_index_of(items: _List, item: Value) -> int:
    return max((index for index, element in enumerate(items) if _same(element, item)), default=-1)


def _same(left: Value, right: Value) -> bool:
    try:
        return equal(left, right)
    except EvaluationError:
        return False


def _slice(items: _List, start: int, end: int) -> list[Value]:
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvaluationError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if len(items) < end:
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return list(items)[start:end]


def _flatten(items: _List, depth: int = 1) -> list[Value]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    flat: list[Value] = []
    for item in items:
        flat += _flatten(item, depth - 1) if depth and isinstance(item, LISTS) else [item]
    return flat


def _range(count: int) -> list[int]:
    if count > _RANGE:
        raise EvaluationError(f"lists.range({count}) is more than {_RANGE}")
    return list(range(count))


def _distinct(items: _List) -> list[Value]:
    distinct: list[Value] = []
    for item in items:
        if not any(_same(item, previous) for previous in distinct):
            distinct.append(item)
    return distinct


def _sort(items: _List) -> list[Value]:
    return _sort_by(items, items)


def _sort_by(items: _List, keys: _List) -> list[Value]:
    if len(items) != len(keys):
        raise EvaluationError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got "
            f"{len(items)} and {len(keys)} elements respectively"
        )
    pairs: list[tuple[Value, Value]] = list(zip(keys, items, strict=True))
    if any(type_of_value(key) != type_of_value(pairs[0][0]) for key, _ in pairs):
        raise EvaluationError("list elements must have the same type")
    order = functools.cmp_to_key(compare)
    return [item for _, item in sorted(pairs, key=lambda pair: order(pair[0]))]


def _sets_contains(items: _List, wanted: _List) -> bool:
    return all(contains(items, item) for item in wanted)


def _map_insert(entries: MapValue, key: Value, value: Value) -> PlainMap:
    assert isinstance(entries, PlainMap)
    return entries.with_entry(key, value)


def _map_insert_all(entries: MapValue, more: MapValue) -> PlainMap:
    assert isinstance(entries, PlainMap)
    for key in more:
        entries = entries.with_entry(key, more.find(key))
    return entries


def _unwrapped(items: _List) -> list[Value]:
    return [item.value for item in items if isinstance(item, Optional) and item.present]


_A, _T, _V, _K = parameter("A"), parameter("T"), parameter("V"), parameter("K")


def _typed() -> list[Overload]:
    overloads: list[Overload] = []
    for name, kind in _COMPARABLE.items():
        of = list_of(kind)
        overloads += [
            method("isSorted", f"list_{name}_is_sorted_bool", (of,), BOOL, _is_sorted),
            method("max", f"list_{name}_max_{name}", (of,), kind, _best("max", -1)),
            method("min", f"list_{name}_min_{name}", (of,), kind, _best("min", 1)),
            method("sort", f"list_{name}_sort", (of,), of, _sort),
            method(
                "@sortByAssociatedKeys", f"list_{name}_sortByAssociatedKeys", (list_of(_T), of), list_of(_T), _sort_by
            ),
        ]
    for name, (kind, total) in _SUMMABLE.items():
        overloads.append(method("sum", f"list_{name}_sum_{name}", (list_of(kind),), kind, _summed(total)))
    return overloads


def _summed(total: Callable[[list[Any]], Any]) -> Callable[[_List], Any]:
    return lambda items: total(list(items))


LISTS_LIBRARY: Final = Library(
    (
        *_typed(),
        method("indexOf", "list_a_index_of_int", (list_of(_A), _A), INT, _index_of),
        method("lastIndexOf", "list_a_last_index_of_int", (list_of(_A), _A), INT, _last_index_of),
        method("slice", "list_slice", (list_of(_T), INT, INT), list_of(_T), _slice),
        method("flatten", "list_flatten", (list_of(list_of(_T)),), list_of(_T), _flatten),
        method("flatten", "list_flatten_int", (list_of(DYN), INT), list_of(DYN), _flatten),
        function("lists.range", "lists_range", (INT,), list_of(INT), _range),
        method("reverse", "list_reverse", (list_of(_T),), list_of(_T), lambda items: list(items)[::-1]),
        method("distinct", "list_distinct", (list_of(_T),), list_of(_T), _distinct),
        function("sets.contains", "list_sets_contains_list", (list_of(_T), list_of(_T)), BOOL, _sets_contains),
        function("sets.equivalent", "list_sets_equivalent_list", (list_of(_T), list_of(_T)), BOOL, lambda left, right: _sets_contains(left, right) and _sets_contains(right, left)),  # noqa: E501
        function("sets.intersects", "list_sets_intersects_list", (list_of(_T), list_of(_T)), BOOL, lambda left, right: any(contains(right, item) for item in left)),  # noqa: E501
        function("cel.@mapInsert", "@mapInsert_map_key_value", (map_of(_K, _V), _K, _V), map_of(_K, _V), _map_insert),
        function("cel.@mapInsert", "@mapInsert_map_map", (map_of(_K, _V), map_of(_K, _V)), map_of(_K, _V), _map_insert_all),  # noqa: E501
        function("optional.of", "optional_of", (_V,), optional_of(_V), Optional),
        function("optional.none", "optional_none", (), optional_of(_V), lambda: NONE),
        function("optional.ofNonZeroValue", "optional_ofNonZeroValue", (_V,), optional_of(_V), lambda value: NONE if _is_zero(value) else Optional(value)),  # noqa: E501
        method("value", "optional_value", (optional_of(_V),), _V, Optional.get),
        method("hasValue", "optional_hasValue", (optional_of(_V),), BOOL, lambda value: value.present),
        method("or", "optional_or_optional", (optional_of(_V), optional_of(_V)), optional_of(_V), None),
        method("orValue", "optional_orValue_value", (optional_of(_V), _V), _V, None),
        method("first", "list_first", (list_of(_V),), optional_of(_V), lambda items: Optional(items[0]) if len(items) else NONE),  # noqa: E501
        method("last", "list_last", (list_of(_V),), optional_of(_V), lambda items: Optional(items[len(items) - 1]) if len(items) else NONE),  # noqa: E501
        function("optional.unwrap", "optional_unwrap", (list_of(optional_of(_V)),), list_of(_V), _unwrapped),
        method("unwrapOpt", "optional_unwrapOpt", (list_of(optional_of(_V)),), list_of(_V), _unwrapped),
    )
)  # fmt: skip


def _is_zero(value: Value) -> bool:
    if isinstance(value, (*LISTS, MapValue, str, bytes)):
        return len(value) == 0
    if isinstance(value, Duration):
        return value.nanoseconds == 0
    return value is None or (isinstance(value, (int, float)) and not value)
