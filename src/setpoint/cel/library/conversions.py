"""Conversions between types, and the functions ``size`` and ``type``."""

from __future__ import annotations

import math
import re
from typing import Final

from setpoint.cel.declarations import Library, function, method
from setpoint.cel.errors import EvaluationError
from setpoint.cel.library.arithmetic import integer, timestamp, unsigned
from setpoint.cel.library.times import format_duration, format_timestamp, parse_duration, parse_timestamp
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
    list_of,
    map_of,
    parameter,
    type_of,
)
from setpoint.cel.values import MAX_INT, MAX_UINT, MIN_INT, Duration, Timestamp, UInt, Value, type_of_value
from setpoint.meta.go_integers import NumberError, parse_int, parse_uint

_TRUE: Final = ("1", "t", "T", "TRUE", "true", "True")
_FALSE: Final = ("0", "f", "F", "FALSE", "false", "False")
_DOUBLE: Final = re.compile(
    r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:inf|infinity)|nan", re.I
)
_A, _B = parameter("A"), parameter("B")


def _failed(wanted: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from 'string' to '{wanted}'")


def _to_bool(text: str) -> bool:
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise _failed("bool")


def _to_int(text: str) -> int:
    try:
        return parse_int(text)
    except NumberError:
        raise _failed("int") from None


def _to_uint(text: str) -> UInt:
    try:
        return UInt(parse_uint(text))
    except NumberError:
        raise _failed("uint") from None


def _to_double(text: str) -> float:
    if _DOUBLE.fullmatch(text):
        value = float(text)
        if math.isfinite(value) or not text.lstrip("+-")[0].isdigit():
            return value
    raise _failed("double")


def _to_duration(text: str) -> Duration:
    duration = parse_duration(text)
    if duration is None:
        raise _failed("google.protobuf.Duration")
    return duration


def _to_timestamp(text: str) -> Timestamp:
    timestamp = parse_timestamp(text)
    if timestamp is None:
        raise _failed("google.protobuf.Timestamp")
    return timestamp


def _truncated(value: float) -> int:
    if not math.isfinite(value) or value <= MIN_INT or value >= MAX_INT:
        raise EvaluationError("integer overflow")
    return int(value)


def _truncated_unsigned(value: float) -> UInt:
    if not math.isfinite(value) or value < 0 or value >= MAX_UINT:
        raise EvaluationError("unsigned integer overflow")
    return UInt(value)


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def format_double(value: float) -> str:
    """The shortest form of the number, in exponent notation if its absolute value is below 1e-4 (but not 0) or at least
    1e21.
    """
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    digits, _, exponent = f"{value:.16e}".partition("e")
    short = repr(value)
    mantissa, _, power = short.partition("e")
    plain = mantissa.replace("-", "").replace(".", "").lstrip("0").rstrip("0") or "0"
    order = int(exponent)
    if float(digits) and -4 <= order < 21:
        if value.is_integer():
            return str(int(value))
        return f"{value:.{len(plain) - 1 - order}f}" if power else short
    mantissa = plain[0] + ("." + plain[1:] if len(plain) > 1 else "")
    return f"{'-' if value < 0 else ''}{mantissa}e{'-' if order < 0 else '+'}{abs(order):02}"


def _same(value: Value) -> Value:
    return value


CONVERSIONS: Final = Library(
    (
        function("size", "size_bytes", (BYTES,), INT, len),
        method("size", "bytes_size", (BYTES,), INT, len),
        function("size", "size_list", (list_of(_A),), INT, len),
        method("size", "list_size", (list_of(_A),), INT, len),
        function("size", "size_map", (map_of(_A, _B),), INT, len),
        method("size", "map_size", (map_of(_A, _B),), INT, len),
        function("size", "size_string", (STRING,), INT, len),
        method("size", "string_size", (STRING,), INT, len),
        function("type", "type", (_A,), type_of(_A), type_of_value),
        function("dyn", "to_dyn", (_A,), DYN, _same),
        function("bool", "bool_to_bool", (BOOL,), BOOL, _same),
        function("bool", "string_to_bool", (STRING,), BOOL, _to_bool),
        function("bytes", "bytes_to_bytes", (BYTES,), BYTES, _same),
        function("bytes", "string_to_bytes", (STRING,), BYTES, str.encode),
        function("double", "double_to_double", (DOUBLE,), DOUBLE, _same),
        function("double", "int64_to_double", (INT,), DOUBLE, float),
        function("double", "string_to_double", (STRING,), DOUBLE, _to_double),
        function("double", "uint64_to_double", (UINT,), DOUBLE, float),
        function("duration", "duration_to_duration", (DURATION,), DURATION, _same),
        function("duration", "int64_to_duration", (INT,), DURATION, Duration),
        function("duration", "string_to_duration", (STRING,), DURATION, _to_duration),
        function("int", "int64_to_int64", (INT,), INT, _same),
        function("int", "double_to_int64", (DOUBLE,), INT, _truncated),
        function("int", "duration_to_int64", (DURATION,), INT, lambda value: value.nanoseconds),
        function("int", "string_to_int64", (STRING,), INT, _to_int),
        function("int", "timestamp_to_int64", (TIMESTAMP,), INT, lambda value: value.nanoseconds // 10**9),
        function("int", "uint64_to_int64", (UINT,), INT, lambda value: integer(int(value))),
        function("string", "string_to_string", (STRING,), STRING, _same),
        function("string", "bool_to_string", (BOOL,), STRING, lambda value: "true" if value else "false"),
        function("string", "bytes_to_string", (BYTES,), STRING, _text),
        function("string", "double_to_string", (DOUBLE,), STRING, format_double),
        function("string", "duration_to_string", (DURATION,), STRING, format_duration),
        function("string", "int64_to_string", (INT,), STRING, str),
        function("string", "timestamp_to_string", (TIMESTAMP,), STRING, format_timestamp),
        function("string", "uint64_to_string", (UINT,), STRING, lambda value: str(int(value))),
        function("timestamp", "timestamp_to_timestamp", (TIMESTAMP,), TIMESTAMP, _same),
        function("timestamp", "int64_to_timestamp", (INT,), TIMESTAMP, lambda value: timestamp(value * 10**9)),
        function("timestamp", "string_to_timestamp", (STRING,), TIMESTAMP, _to_timestamp),
        function("uint", "uint64_to_uint64", (UINT,), UINT, _same),
        function("uint", "double_to_uint64", (DOUBLE,), UINT, _truncated_unsigned),
        function("uint", "int64_to_uint64", (INT,), UINT, unsigned),
        function("uint", "string_to_uint", (STRING,), UINT, _to_uint),
    )
)
