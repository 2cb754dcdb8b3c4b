"""JSON request bodies, decoded so that no field is lost silently."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

from setpoint.slices import pace, spend

from .node import JSON

__all__ = ["go_syntax_error", "has_no_repeats", "parse_json"]

_TEXTS: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_GO_ESCAPES: Final = {"'": "\\'", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\v": "\\v"}
_PART: Final = re.compile(rb'(?:[^"]*+"(?:[^"\\]++|\\.)*+"){1,2048}|[^"]++', re.DOTALL)
"""A run of JSON strings, with the text around them."""
_ESCAPE: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.",
    re.DOTALL,
)


def parse_json(body: bytes | str) -> tuple[JSON, list[str]]:
    """The value in ``body`` and the paths of fields that occur more than once in one object (the last one counts).

    As in Go, an unpaired surrogate escape is read as U+FFFD, and integers over 64 bits as floats.

    Raises ValueError if ``body`` is not JSON (this includes NaN and Infinity), is not UTF-8, or contains a number that
    is too large for a float; RecursionError if it is nested too deeply.
    """
    doubles: dict[int, tuple[dict[str, Any], list[str]]] = {}

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        spend(len(pairs) << 6)
        if len(value) != len(pairs):
            seen: set[str] = set()
            twice = {key: None for key, _ in pairs if key in seen or seen.add(key)}  # type: ignore[func-returns-value]
            doubles[id(value)] = (value, list(twice))
        return value

    if isinstance(body, bytes):
        body = body.decode("utf-8")
    if "\\ud" in body or "\\uD" in body:
        body = _ESCAPE.sub(_whole, body)
    value = json.loads(
        body, object_pairs_hook=collect, parse_constant=_refuse, parse_int=_integer, parse_float=_floating
    )
    paths: list[str] = []
    if doubles:
        _locate(value, "", doubles, paths)
    return value, paths


def has_no_repeats(body: bytes, value: JSON) -> bool:
    """Whether every field occurs at most once in each object of ``body``, whose JSON value is ``value``.

    This counts the colons outside strings. It takes longer than `parse_json`, but other tasks can run in between.
    """
    colons = 0
    for part in _PART.finditer(body):
        spend(len(part[0]))
        colons += _TEXTS.sub(b"", part[0]).count(b":")
    fields, rest = 0, [value]
    while rest:
        one = rest.pop()
        if type(one) is dict:
            fields += len(one)
            rest.extend(item for item in pace(one.values()) if type(item) in (dict, list))
        elif type(one) is list:
            rest.extend(item for item in pace(one) if type(item) in (dict, list))
    return fields == colons


def _whole(escape: re.Match[str]) -> str:
    return "\\ufffd" if escape["half"] else escape[0]


def _integer(text: str) -> float:
    if len(text) < 19:
        return int(text)
    number = int(text) if len(text) <= 20 else 1 << 64
    return number if -(1 << 63) <= number < 1 << 64 else _floating(text)


def _floating(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        shown = text if len(text) <= 100 else f"{text[:100]}..."
        raise ValueError(f"json: cannot unmarshal number {shown} into Go value of type float64")
    return number


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _locate(value: JSON, path: str, doubles: dict[int, tuple[dict[str, Any], list[str]]], paths: list[str]) -> None:
    if isinstance(value, dict):
        dot = f"{path}." if path else ""
        paths.extend(f"{dot}{key}" for key in doubles.get(id(value), ((), ()))[1])
        for key, item in pace(value.items()):
            _locate(item, f"{dot}{key}", doubles, paths)
    elif isinstance(value, list):
        for index, item in enumerate(pace(value)):
            _locate(item, f"{path}[{index}]", doubles, paths)


def _go_char(char: str) -> str:
    """The character in quotes, as Go's decoder shows it."""
    if char in _GO_ESCAPES:
        return f"'{_GO_ESCAPES[char]}'"
    return f"'\\u{ord(char):04x}'" if "\x80" <= char <= "\xff" and not char.isprintable() else repr(char)


def go_syntax_error(error: json.JSONDecodeError, *, place: bool = True) -> str:
    """The message that Go's decoder gives for the error. With ``place``, the line and column, which Go omits, are added
    (but not if the text ends too early).
    """
    text, at = error.doc, error.pos
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    if at >= len(text) or error.msg.startswith("Unterminated"):
        return "unexpected end of JSON input"
    wanted = {
        "Expecting value": "looking for beginning of value",
        "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
        "Expecting ':' delimiter": "after object key",
        "Expecting ',' delimiter": "after object key:value pair or array element",
        "Extra data": "after top-level value",
        "Invalid control character at": "in string literal",
    }.get(error.msg, f"({error.msg})")
    where = f" (line {error.lineno}, column {error.colno})" if place else ""
    return f"invalid character {_go_char(text[at])} {wanted}{where}"
