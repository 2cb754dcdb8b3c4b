"""Strings: search, case, parts, patterns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from setpoint.cel.declarations import Library, function, method
from setpoint.cel.errors import EvaluationError
from setpoint.cel.library.formatting import formatted
from setpoint.cel.types import BOOL, DYN, INT, STRING, list_of
from setpoint.cel.values import ListValue, Value, show
from setpoint.regexp import PatternError, compile_pattern
from setpoint.regexp.pattern import Pattern

_SPACE: Final = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"  # noqa: E501
_QUOTED: Final = str.maketrans(
    {"\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v", "\\": r"\\", '"': r"\""}
)
_LOWER: Final = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_UPPER: Final = {value: key for key, value in _LOWER.items()}


def _out_of_range(index: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if not part:
        return start
    if start < 0:
        raise _out_of_range(start)
    return text.find(part, start)


def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if not part:
        return len(text) if start is None else start
    if start is None:
        return text.rfind(part)
    if start < 0:
        raise _out_of_range(start)
    return text.rfind(part, 0, start + len(part)) if start < len(text) else -1


def _replace(text: str, old: str, new: str, times: int = -1) -> str:
    return text.replace(old, new, times)


def _split(text: str, separator: str, most: int = -1) -> list[str]:
    if most == 0:
        return []
    if not separator:
        parts = list(text)
        return parts if most < 0 or len(parts) <= most else [*parts[: most - 1], "".join(parts[most - 1 :])]
    return text.split(separator, most - 1 if most > 0 else -1)


def _substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if end is not None and start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, stop):
        if not 0 <= index <= len(text):
            raise _out_of_range(index)
    return text[start:stop]


def _join(parts: list[Value] | ListValue, separator: str = "") -> str:
    texts = list(parts)
    for part in texts:
        if not isinstance(part, str):
            raise EvaluationError(f"join: invalid input: {show(part)}")
    return separator.join(texts)


def _pattern(work: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a text and a regular expression as in Go. It calls ``work`` with the compiled pattern and
    the text; an invalid pattern raises EvaluationError.
    """

    def function(text: str, pattern: str, *rest: int) -> Any:
        try:
            return work(compile_pattern(pattern), text, *rest)
        except PatternError as problem:
            raise EvaluationError(str(problem)) from None

    return function


_MATCHES: Final = _pattern(Pattern.matches)

TEXTS: Final = Library(
    (
        method("contains", "contains_string", (STRING, STRING), BOOL, lambda text, part: part in text),
        method("endsWith", "ends_with_string", (STRING, STRING), BOOL, lambda text, part: text.endswith(part)),
        method("startsWith", "starts_with_string", (STRING, STRING), BOOL, lambda text, part: text.startswith(part)),
        function("matches", "matches", (STRING, STRING), BOOL, _MATCHES),
        method("matches", "matches_string", (STRING, STRING), BOOL, _MATCHES),
        method("find", "string_find_string", (STRING, STRING), STRING, _pattern(Pattern.find)),
        method("findAll", "string_find_all_string", (STRING, STRING), list_of(STRING), _pattern(Pattern.find_all)),
        method(
            "findAll", "string_find_all_string_int", (STRING, STRING, INT), list_of(STRING), _pattern(Pattern.find_all)
        ),
        method("charAt", "string_char_at_int", (STRING, INT), STRING, _char_at),
        method("indexOf", "string_index_of_string", (STRING, STRING), INT, _index_of),
        method("indexOf", "string_index_of_string_int", (STRING, STRING, INT), INT, _index_of),
        method("lastIndexOf", "string_last_index_of_string", (STRING, STRING), INT, _last_index_of),
        method("lastIndexOf", "string_last_index_of_string_int", (STRING, STRING, INT), INT, _last_index_of),
        method("lowerAscii", "string_lower_ascii", (STRING,), STRING, lambda text: text.translate(_LOWER)),
        method("upperAscii", "string_upper_ascii", (STRING,), STRING, lambda text: text.translate(_UPPER)),
        method("replace", "string_replace_string_string", (STRING, STRING, STRING), STRING, _replace),
        method("replace", "string_replace_string_string_int", (STRING, STRING, STRING, INT), STRING, _replace),
        method("split", "string_split_string", (STRING, STRING), list_of(STRING), _split),
        method("split", "string_split_string_int", (STRING, STRING, INT), list_of(STRING), _split),
        method("substring", "string_substring_int", (STRING, INT), STRING, _substring),
        method("substring", "string_substring_int_int", (STRING, INT, INT), STRING, _substring),
        method("trim", "string_trim", (STRING,), STRING, lambda text: text.strip(_SPACE)),
        method("join", "list_join", (list_of(STRING),), STRING, _join),
        method("join", "list_join_string", (list_of(STRING), STRING), STRING, _join),
        method("format", "string_format", (STRING, list_of(DYN)), STRING, formatted),
        function("strings.quote", "strings_quote", (STRING,), STRING, lambda text: f'"{text.translate(_QUOTED)}"'),
    )
)

JSON_PATCH: Final = Library(
    (
        function(
            "jsonpatch.escapeKey",
            "string_jsonpatch_escapeKey_string",
            (STRING,),
            STRING,
            lambda text: text.replace("~", "~0").replace("/", "~1"),
        ),
    )
)
"""The functions for policies that make JSON patches."""
