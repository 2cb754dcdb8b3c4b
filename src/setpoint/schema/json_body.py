"""JSON request bodies, decoded so that no field is lost silently."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

import msgspec

from setpoint.meta.json_values import JSON

_GO_ESCAPES: Final = {"'": "\\'", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\v": "\\v"}
_encode: Final = msgspec.json.Encoder().encode
_check_numbers: Final = msgspec.msgpack.Encoder().encode
"""Raises OverflowError if an integer does not fit into 64 bits; the encoded bytes are not used."""
_NOT_SIMPLE: Final = object()
_ESCAPE: Final = re.compile(
    r"\\(?:u[dD](?:[89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>[89a-fA-F][0-9a-fA-F]{2}))"
    r"|.(?:[^\\]{0,256}+\\(?:[^u]|u(?![dD]))){0,256}+)",
    re.DOTALL,
)
"""A pair of surrogates, half a pair, or some other escapes, with the text between them."""
_MOST_REPEATED: Final = 100
"""Upstream tells of no more strict errors. (Their texts may be long: each has the names of the objects around it.)"""
_LONGEST_REPEATED: Final = 1 << 20


def parse_json(body: bytes | str) -> tuple[JSON, list[str]]:
    """The value in ``body`` and the paths of fields that occur more than once in one object (the last one counts).

    Of many or very long paths, only the first are given. As in Go, an unpaired surrogate escape is read as U+FFFD, and
    integers over 64 bits as floats.

    Raises ValueError if ``body`` is not JSON (this includes NaN and Infinity), is not UTF-8, or contains a number that
    is too large for a float; RecursionError if it is nested too deeply.
    """
    if (value := _simple(body)) is not _NOT_SIMPLE:
        return value, []
    text = body.decode("utf-8") if isinstance(body, bytes) else body
    objects = _Objects()
    value = objects.decode(text)
    return value, objects.repeated(value)


def _simple(text: bytes | str) -> Any:
    """The value of a text that is JSON, says nothing twice, and has no integers of more than 64 bits; else, or if
    escapes may hide colons, `_NOT_SIMPLE`.
    """
    colon, escape = (b":", b"\\u") if isinstance(text, bytes) else (":", "\\u")
    try:
        value = msgspec.json.decode(text)
        _check_numbers(value)
        # A text that says nothing twice has as many colons after a round trip.
        simple = _encode(value).count(b":") == text.count(colon) and escape not in text  # type: ignore[arg-type, operator]
    except (msgspec.DecodeError, UnicodeError, RecursionError, OverflowError):
        return _NOT_SIMPLE  # the other decoder has other limits, better words, and knows what Go makes of a long number
    return value if simple else _NOT_SIMPLE


class _Objects:
    """Makes the objects of a text, and notes which of their fields occur more than once."""

    def __init__(self) -> None:
        self._noted: dict[int, tuple[dict[str, Any], dict[str, None]]] = {}
        """The objects with repeated fields, by id, and the repeated fields of each."""
        self._decode = json.JSONDecoder(
            object_pairs_hook=self._members, parse_constant=_refuse, parse_int=_integer, parse_float=_floating
        ).decode

    def decode(self, text: str) -> Any:
        if "\\ud" in text or "\\uD" in text:
            text = _ESCAPE.sub(_whole, text)
        return self._decode(text)

    def _members(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            self._noted[id(value)] = (value, _repeated(pairs))
        return value

    def repeated(self, value: JSON) -> list[str]:
        """The paths of the repeated fields in ``value``, up to the limits."""
        paths: list[str] = []
        if self._noted:
            self._locate(value, [], paths)
        return paths

    def _locate(self, value: JSON, path: list[str], paths: list[str]) -> bool:
        """Adds the paths of the repeated fields in the value at ``path``. Returns False if there are enough paths."""
        if isinstance(value, dict):
            dot = "." if path else ""
            if noted := self._noted.get(id(value)):
                start = "".join(path) + dot
                for name in noted[1]:
                    paths.append(start + name)
                    if len(paths) == _MOST_REPEATED or sum(map(len, paths)) > _LONGEST_REPEATED:
                        return False
            inside = ((dot + name, item) for name, item in value.items())
        elif isinstance(value, list):
            inside = ((f"[{index}]", item) for index, item in enumerate(value))
        else:
            return True
        for name, item in inside:
            if isinstance(item, (dict, list)):
                path.append(name)
                if not self._locate(item, path, paths):
                    return False
                path.pop()
        return True


def _repeated(pairs: list[tuple[str, Any]]) -> dict[str, None]:
    """The names that occur a second time, each at its first repetition."""
    names: set[str] = set()
    return {name: None for name, _ in pairs if name in names or names.add(name)}  # type: ignore[func-returns-value]


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
        excerpt = text if len(text) <= 100 else f"{text[:100]}..."
        raise ValueError(f"json: cannot unmarshal number {excerpt} into Go value of type float64")
    return number


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


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
    location = f" (line {error.lineno}, column {error.colno})" if place else ""
    return f"invalid character {_go_char(text[at])} {wanted}{location}"
