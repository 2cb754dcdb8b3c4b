"""Operators: arithmetic with an error on overflow, ordering, and membership."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from setpoint.cel.declarations import Library, Overload, function
from setpoint.cel.errors import EvaluationError
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
    MAX_INT,
    MAX_SECONDS,
    MAX_UINT,
    MIN_INT,
    MIN_SECONDS,
    Duration,
    ListValue,
    Timestamp,
    UInt,
    Value,
    compare,
    contains,
)

_SECOND: Final = 10**9
_A, _B = parameter("A"), parameter("B")


def integer(value: int) -> int:
    """``value`` as an int. Raises EvaluationError if it does not fit into 64 bits."""
    if not MIN_INT <= value <= MAX_INT:
        raise EvaluationError("integer overflow")
    return value


def unsigned(value: int) -> UInt:
    """``value`` as a uint. Raises EvaluationError if it is negative or does not fit into 64 bits."""
    if not 0 <= value <= MAX_UINT:
        raise EvaluationError("unsigned integer overflow")
    return UInt(value)


def duration(nanoseconds: int) -> Duration:
    """The duration of ``nanoseconds``. Raises EvaluationError if the number does not fit into 64 bits."""
    if not MIN_INT <= nanoseconds <= MAX_INT:
        raise EvaluationError("integer overflow")
    return Duration(nanoseconds)


def timestamp(nanoseconds: int) -> Timestamp:
    """The moment that is ``nanoseconds`` after the Unix epoch. Raises EvaluationError outside the years 1 to 9999."""
    if not MIN_SECONDS <= nanoseconds // _SECOND <= MAX_SECONDS:
        raise EvaluationError("timestamp overflow")
    return Timestamp(nanoseconds)


def _quotient(left: int, right: int, operation: str) -> int:
    """The quotient, rounded towards zero. Raises EvaluationError, which names ``operation``, if ``right`` is 0."""
    if right == 0:
        raise EvaluationError(f"{operation} by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _divided(left: int, right: int) -> int:
    return integer(_quotient(left, right, "division"))


def _remainder(left: int, right: int) -> int:
    return integer(left - integer(_quotient(left, right, "modulus")) * right)


def _double_quotient(left: float, right: float) -> float:
    if right == 0:
        if left == 0 or math.isnan(left):
            return math.nan
        return math.copysign(math.inf, left) * math.copysign(1, right)
    return left / right


def _double(work: Callable[[float, float], float]) -> Callable[[float, float], float]:
    def overload(left: float, right: float) -> float:
        try:
            return work(left, right)
        except OverflowError:
            return math.inf

    return overload


def _concatenated(left: list[Value] | ListValue, right: list[Value] | ListValue) -> Value:
    return left.plus(right) if isinstance(left, ListValue) else [*left, *right]


def _binary(name: str, id_: str, left: Type, right: Type, result: Type, work: Callable[..., Any]) -> Overload:
    return function(name, id_, (left, right), result, work)


def _ordered(name: str, word: str, holds: Callable[[int], bool]) -> list[Overload]:
    def work(left: Value, right: Value) -> bool:
        return holds(compare(left, right))

    same = [("bool", BOOL), ("int64", INT), ("uint64", UINT), ("double", DOUBLE), ("string", STRING), ("bytes", BYTES), ("timestamp", TIMESTAMP), ("duration", DURATION)]  # fmt: skip  # noqa: E501
    numbers = [("int64", INT), ("uint64", UINT), ("double", DOUBLE)]
    overloads = [_binary(name, f"{word}_{kind}", type_, type_, BOOL, work) for kind, type_ in same]
    overloads += [
        _binary(name, f"{word}_{left}_{right}", left_type, right_type, BOOL, work)
        for left, left_type in numbers
        for right, right_type in numbers
        if left != right
    ]
    return overloads


_LIST, _MAP = list_of(_A), map_of(_A, _B)
_V = parameter("V")
_K = parameter("K")
_OPTIONAL: Final = optional_of(_V)

OPERATORS: Final = Library(
    (
        function("_?_:_", "conditional", (BOOL, _A, _A), _A, None),
        function("_&&_", "logical_and", (BOOL, BOOL), BOOL, None),
        function("_||_", "logical_or", (BOOL, BOOL), BOOL, None),
        function("!_", "logical_not", (BOOL,), BOOL, None),
        function("@not_strictly_false", "not_strictly_false", (BOOL,), BOOL, None),
        function("_==_", "equals", (_A, _A), BOOL, None),
        function("_!=_", "not_equals", (_A, _A), BOOL, None),
        function("_[_]", "index_list", (_LIST, INT), _A, None),
        function("_[_]", "index_map", (_MAP, _A), _B, None),
        function("_[_]", "optional_list_index_int", (optional_of(list_of(_V)), INT), _OPTIONAL, None),
        function("_[_]", "optional_map_index_value", (optional_of(map_of(_K, _V)), _K), _OPTIONAL, None),
        function("_?._", "select_optional_field", (DYN, STRING), _OPTIONAL, None),
        function("_[?_]", "list_optindex_optional_int", (list_of(_V), INT), _OPTIONAL, None),
        function("_[?_]", "optional_list_optindex_optional_int", (optional_of(list_of(_V)), INT), _OPTIONAL, None),
        function("_[?_]", "map_optindex_optional_value", (map_of(_K, _V), _K), _OPTIONAL, None),
        function("_[?_]", "optional_map_optindex_optional_value", (optional_of(map_of(_K, _V)), _K), _OPTIONAL, None),
        function("@in", "in_list", (_A, _LIST), BOOL, lambda item, items: contains(items, item)),
        function("@in", "in_map", (_A, _MAP), BOOL, lambda key, entries: contains(entries, key)),
        _binary("_+_", "add_bytes", BYTES, BYTES, BYTES, lambda a, b: a + b),
        _binary("_+_", "add_double", DOUBLE, DOUBLE, DOUBLE, lambda a, b: a + b),
        _binary("_+_", "add_duration_duration", DURATION, DURATION, DURATION, lambda a, b: duration(a.nanoseconds + b.nanoseconds)),  # noqa: E501
        _binary("_+_", "add_duration_timestamp", DURATION, TIMESTAMP, TIMESTAMP, lambda a, b: timestamp(a.nanoseconds + b.nanoseconds)),  # noqa: E501
        _binary("_+_", "add_timestamp_duration", TIMESTAMP, DURATION, TIMESTAMP, lambda a, b: timestamp(a.nanoseconds + b.nanoseconds)),  # noqa: E501
        _binary("_+_", "add_int64", INT, INT, INT, lambda a, b: integer(a + b)),
        _binary("_+_", "add_list", _LIST, _LIST, _LIST, _concatenated),
        _binary("_+_", "add_string", STRING, STRING, STRING, lambda a, b: a + b),
        _binary("_+_", "add_uint64", UINT, UINT, UINT, lambda a, b: unsigned(int(a) + int(b))),
        _binary("_/_", "divide_double", DOUBLE, DOUBLE, DOUBLE, _double_quotient),
        _binary("_/_", "divide_int64", INT, INT, INT, _divided),
        _binary("_/_", "divide_uint64", UINT, UINT, UINT, lambda a, b: unsigned(_quotient(int(a), int(b), "division"))),
        _binary("_%_", "modulo_int64", INT, INT, INT, _remainder),
        _binary("_%_", "modulo_uint64", UINT, UINT, UINT, lambda a, b: unsigned(_remainder_unsigned(int(a), int(b)))),
        _binary("_*_", "multiply_double", DOUBLE, DOUBLE, DOUBLE, _double(lambda a, b: a * b)),
        _binary("_*_", "multiply_int64", INT, INT, INT, lambda a, b: integer(a * b)),
        _binary("_*_", "multiply_uint64", UINT, UINT, UINT, lambda a, b: unsigned(int(a) * int(b))),
        function("-_", "negate_double", (DOUBLE,), DOUBLE, lambda a: -a),
        function("-_", "negate_int64", (INT,), INT, lambda a: integer(-a)),
        _binary("_-_", "subtract_double", DOUBLE, DOUBLE, DOUBLE, lambda a, b: a - b),
        _binary("_-_", "subtract_duration_duration", DURATION, DURATION, DURATION, lambda a, b: duration(a.nanoseconds - b.nanoseconds)),  # noqa: E501
        _binary("_-_", "subtract_int64", INT, INT, INT, lambda a, b: integer(a - b)),
        _binary("_-_", "subtract_timestamp_duration", TIMESTAMP, DURATION, TIMESTAMP, lambda a, b: timestamp(a.nanoseconds - b.nanoseconds)),  # noqa: E501
        _binary("_-_", "subtract_timestamp_timestamp", TIMESTAMP, TIMESTAMP, DURATION, lambda a, b: duration(a.nanoseconds - b.nanoseconds)),  # noqa: E501
        _binary("_-_", "subtract_uint64", UINT, UINT, UINT, lambda a, b: unsigned(int(a) - int(b))),
        *_ordered("_<_", "less", lambda order: order < 0),
        *_ordered("_<=_", "less_equals", lambda order: order <= 0),
        *_ordered("_>_", "greater", lambda order: order > 0),
        *_ordered("_>=_", "greater_equals", lambda order: order >= 0),
    )
)  # fmt: skip


def _remainder_unsigned(left: int, right: int) -> int:
    if right == 0:
        raise EvaluationError("modulus by zero")
    return left % right
