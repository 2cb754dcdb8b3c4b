"""String formatting: ``"%s is %d".format([...])``."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Final

from setpoint.cel.errors import EvaluationError
from setpoint.cel.library.conversions import format_double
from setpoint.cel.library.times import format_duration, format_timestamp
from setpoint.cel.types import Type
from setpoint.cel.values import (
    LISTS,
    Duration,
    ListValue,
    MapValue,
    Timestamp,
    UInt,
    Value,
    type_of_value,
)

_CLAUSE: Final = re.compile(r"%(%|(?:\.(\d*))?(.?))", re.S)
_PRECISION: Final = 6
_SUPERSCRIPT: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def clauses(form: str) -> list[tuple[str, str, int]]:
    """The clauses of a format: the text before each clause, its letter and its precision. The last entry is the text
    after all clauses, with ``""`` as its letter. Raises EvaluationError for a malformed format.
    """
    parts: list[tuple[str, str, int]] = []
    text, position = "", 0
    for match in _CLAUSE.finditer(form):
        text += form[position : match.start()]
        position = match.end()
        if match[1] == "%":
            text += "%"
            continue
        if match[2] is not None and (not match[2] or not match[3]):
            raise EvaluationError("could not parse formatting clause: error while parsing precision")
        if not match[3]:
            raise EvaluationError("unexpected end of string")
        if match[3] not in _FORMATS:
            raise EvaluationError(f'could not parse formatting clause: unrecognized formatting clause "{match[3]}"')
        parts.append((text, match[3], _PRECISION if match[2] is None else int(match[2])))
        text = ""
    parts.append((text + form[position:], "", 0))
    return parts


def formatted(form: str, arguments: list[Value] | ListValue) -> str:
    """The formatted text. Raises EvaluationError for a malformed format, or an argument that is missing or of the wrong
    type.
    """
    parts: list[str] = []
    for index, (text, letter, precision) in enumerate(clauses(form)):
        parts.append(text)
        if letter:
            if index >= len(arguments):
                raise EvaluationError(f"index {index} out of range")
            try:
                parts.append(_FORMATS[letter](arguments[index], precision))
            except EvaluationError as problem:
                raise EvaluationError(f"error during formatting: {problem}") from None
    return "".join(parts)


def problem_with(letter: str, kind: Type) -> str:
    """The error for an argument of the static type ``kind`` in a clause with this letter; empty if the
    type is allowed.
    """
    if kind.kind in ("dyn", "any") or kind.kind in _KINDS[letter]:
        return ""
    return _WRONG[letter].format(kind.runtime_name)


_KINDS: Final = {
    "s": ("list", "map", "int", "uint", "double", "bool", "string", "timestamp", "bytes", "duration", "type", "null"),
    "d": ("int", "uint"),
    "f": ("double", "string"),
    "e": ("double", "string"),
    "b": ("int", "uint", "bool"),
    "x": ("int", "uint", "string", "bytes"),
    "X": ("int", "uint", "string", "bytes"),
    "o": ("int", "uint"),
}
_HEX: Final = "only integers, byte buffers, and strings can be formatted as hex, was given {}"
_WRONG: Final = {
    "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
    "timestamps, was given {}",
    "d": "decimal clause can only be used on integers, was given {}",
    "f": "fixed-point clause can only be used on doubles, was given {}",
    "e": "scientific clause can only be used on doubles, was given {}",
    "b": "only integers and bools can be formatted as binary, was given {}",
    "x": _HEX,
    "X": _HEX,
    "o": "octal clause can only be used on integers, was given {}",
}


def _wrong(letter: str, value: Value) -> EvaluationError:
    return EvaluationError(_WRONG[letter].format(type_of_value(value).runtime_name))


def _is_int(value: Value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _string(value: Value, _: int = 0) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case float():
            return format_double(value)
        case int():
            return str(int(value))
        case bytes():
            return value.decode(errors="replace")
        case Timestamp():
            return format_timestamp(value)
        case Duration():
            return format_duration(value)
        case Type():
            return value.runtime_name
        case list() | ListValue():
            return f"[{', '.join(map(_inner, value))}]"
        case MapValue():
            return _map(value)
        case _:
            raise _wrong("s", value)


def _map(value: MapValue) -> str:
    entries: list[tuple[str, str]] = []
    for key in value:
        if not isinstance(key, (str, int)):
            kind = type_of_value(key).runtime_name
            raise EvaluationError(f"no formatting function for map key of type {kind}")
        entries.append((_inner(key), _inner(value.find(key))))
    return "{" + ", ".join(f"{key}:{item}" for key, item in sorted(entries)) + "}"


def _inner(value: Value) -> str:
    """Formats a value inside a list or map."""
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False)
        case bytes():
            return "b" + json.dumps(value.decode(errors="replace"), ensure_ascii=False)
        case float():
            if math.isfinite(value):
                return f"{value:.{_PRECISION}f}"
            return f'"{format_double(value)}"'
        case Timestamp():
            return f'timestamp("{format_timestamp(value)}")'
        case Duration():
            return f'duration("{format_duration(value)}")'
        case _ if isinstance(value, (bool, int, UInt, MapValue, Type, *LISTS)) or value is None:
            return _string(value)
        case _:
            raise EvaluationError(f"no formatting function for {type_of_value(value).runtime_name}")


def _decimal(value: Value, _: int) -> str:
    if not _is_int(value):
        raise _wrong("d", value)
    return str(int(value))


def _as_double(value: Value, letter: str) -> float:
    if isinstance(value, float):
        return value
    if value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    raise _wrong(letter, value)


def _not_finite(number: float) -> str:
    return "NaN" if math.isnan(number) else "∞" if number > 0 else "-∞"


def _fixed(value: Value, precision: int) -> str:
    number = _as_double(value, "f")
    return f"{number:,.{precision}f}" if math.isfinite(number) else _not_finite(number)


def _scientific(value: Value, precision: int) -> str:
    number = _as_double(value, "e")
    if not math.isfinite(number):
        return _not_finite(number)
    digits, _, exponent = f"{number:.{precision}e}".partition("e")
    power = f"{int(exponent):03}" if exponent[0] == "-" else f"{int(exponent):02}"
    return f"{digits}\u202f×\u202f10{power.translate(_SUPERSCRIPT)}"


def _binary(value: Value, _: int) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    if not _is_int(value):
        raise _wrong("b", value)
    return f"{int(value):b}"


def _hex(value: Value, _: int) -> str:
    if isinstance(value, (str, bytes)):
        return (value.encode() if isinstance(value, str) else value).hex()
    if not _is_int(value):
        raise _wrong("x", value)
    return f"{int(value):x}"


def _octal(value: Value, _: int) -> str:
    if not _is_int(value):
        raise _wrong("o", value)
    return f"{int(value):o}"


_FORMATS: Final[dict[str, Callable[[Value, int], str]]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hex,
    "X": lambda value, precision: _hex(value, precision).upper(),
    "o": _octal,
}
