"""Regular expressions as API servers understand them (RE2), run with Python's engine.

The two languages agree on nearly everything schemas use. Where they differ this file translates (``$`` means the very
end of the text, ``\\z``, ``\\Q...\\E``, POSIX classes, ``\\d`` is ASCII) or refuses (look-around, back-references: RE2
has none).
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import lru_cache
from typing import Final

__all__ = ["PatternError", "compile_pattern"]

_POSIX: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7F",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": r"0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_MAX_REPEAT: Final = 1000


class PatternError(ValueError):
    """Not a regular expression an API server accepts."""


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """``pattern`` for use with ``search``. Raises PatternError, worded as Go words it."""
    try:
        return re.compile(_translate(pattern), re.ASCII)
    except re.error as error:
        raise PatternError(f"error parsing regexp: {_worded(error, pattern)}") from None


def _worded(error: re.error, pattern: str) -> str:
    """Python's complaint in Go's words, where both have the same one."""
    if error.msg.startswith("missing ), unterminated subpattern"):
        return f"missing closing ): `{pattern}`"
    if error.msg == "unbalanced parenthesis":
        return f"unexpected ): `{pattern}`"
    if error.msg == "nothing to repeat" and error.pos is not None:
        return f"missing argument to repetition operator: `{str(error.pattern)[error.pos]}`"
    return str(error)


def _translate(pattern: str) -> str:
    out: list[str] = []
    multiline = False
    position, end = 0, len(pattern)
    in_class = False
    while position < end:
        char = pattern[position]
        if char == "\\":
            text, position = _escape(pattern, position, in_class)
            out.append(text)
            continue
        if in_class:
            if char == "[":
                match = re.match(r"\[:(\^?)([a-z]+):\]", pattern[position:])
                if match and match[2] in _POSIX:
                    if match[1]:
                        raise PatternError(f"error parsing regexp: invalid character class range: `{match[0]}`")
                    out.append(_POSIX[match[2]])
                    position += len(match[0])
                    continue
                out.append("\\[")
            else:
                in_class = char != "]" or out[-1] in ("[", "[^")
                out.append("\\]" if in_class and char == "]" else "\\" + char if char in "&~|" else char)
            position += 1
            continue
        if char == "[":
            in_class = True
            if pattern.startswith("[^", position):
                out.append("[^")
                position += 1
            else:
                out.append("[")
        elif char == "(" and pattern.startswith("(?", position):
            group = re.match(r"\(\?(?:P?<([A-Za-z_]\w*)>|([imsU]*)(?:-([imsU]+))?([:)]))", pattern[position:])
            if group is None:
                raise PatternError(
                    f"error parsing regexp: invalid or unsupported Perl syntax: `{pattern[position : position + 3]}`"
                )
            if group[1]:
                out.append(f"(?P<{group[1]}>")
            elif "U" in (group[2] or "") + (group[3] or ""):
                raise PatternError("error parsing regexp: the flag U (ungreedy) is not supported here")
            else:
                multiline = multiline or "m" in (group[2] or "")
                if group[4] == ")":
                    if position or group[3]:
                        raise PatternError(
                            "error parsing regexp: flags are supported only at the start or as (?flags:...)"
                        )
                    out.append(f"(?{group[2]})" if group[2] else "")
                else:
                    out.append(f"(?{group[2] or ''}{'-' + group[3] if group[3] else ''}:")
            position += len(group[0])
            continue
        elif char == "$" and not multiline:
            out.append("\\Z")
        elif char == "{":
            repeat = re.match(r"\{(\d+)(?:,(\d*))?\}", pattern[position:])
            if repeat is None:
                out.append("\\{")
            else:
                if max(int(repeat[1]), int(repeat[2] or 0)) > _MAX_REPEAT:
                    raise PatternError(f"error parsing regexp: invalid repeat count: `{repeat[0]}`")
                out.append(repeat[0])
                position += len(repeat[0])
                _refuse_double(pattern, position, repeat[0])
                continue
        else:
            out.append(char)
            if char in "*+?":
                _refuse_double(pattern, position + 1, char)
                if pattern.startswith("?", position + 1):
                    out.append("?")
                    position += 1
        position += 1
    if in_class:
        raise PatternError(f"error parsing regexp: missing closing ]: `{pattern[pattern.rfind('[') :]}`")
    return "".join(out)


def _refuse_double(pattern: str, position: int, before: str) -> None:
    if pattern.startswith(("*", "+"), position):  # possessive in Python, an error in RE2
        raise PatternError(f"error parsing regexp: invalid nested repetition operator: `{before}{pattern[position]}`")


def _escape(pattern: str, position: int, in_class: bool) -> tuple[str, int]:
    follow = pattern[position + 1 : position + 2]
    if follow == "":
        raise PatternError("error parsing regexp: trailing backslash at end of expression: ``")
    if follow == "Q" and not in_class:
        stop = pattern.find("\\E", position + 2)
        literal = pattern[position + 2 :] if stop < 0 else pattern[position + 2 : stop]
        return re.escape(literal), len(pattern) if stop < 0 else stop + 2
    if follow in "pP":
        match = re.match(r"\\[pP](?:\{(\^?)(\w+)\}|([A-Z]))", pattern[position:])
        if match is None:
            raise PatternError(
                f"error parsing regexp: invalid character class range: `{pattern[position : position + 3]}`"
            )
        negated = (follow == "P") != bool(match[1])
        ranges = _category(match[2] or match[3], negated)
        return ranges if in_class else f"[{ranges}]", position + len(match[0])
    if follow == "z":
        return "\\Z", position + 2
    if follow == "x":
        match = re.match(r"\\x(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2}))", pattern[position:])
        if match is None:
            raise PatternError(f"error parsing regexp: invalid escape sequence: `{pattern[position : position + 3]}`")
        return re.escape(chr(int(match[1] or match[2], 16))), position + len(match[0])
    if (
        follow == "C"
        or follow in "123456789"
        or follow == "Z"
        or (follow.isalpha() and follow not in "AabBdDfnrsStvwWx")
    ):
        raise PatternError(f"error parsing regexp: invalid escape sequence: `\\{follow}`")
    return ("\\x08" if in_class and follow == "b" else f"\\{follow}"), position + 2


@lru_cache(maxsize=64)
def _category(name: str, negated: bool) -> str:
    """A Unicode general category (``L``, ``Lu``, ``Nd`` ...) as the inside of a character class."""
    if len(name) > 2:
        raise PatternError(
            f"error parsing regexp: the Unicode script {name} is not supported; only general categories are"
        )
    ranges: list[str] = []
    start = -1
    for code in range(sys.maxunicode + 2):
        inside = code <= sys.maxunicode and unicodedata.category(chr(code)).startswith(name) != negated
        if inside and start < 0:
            start = code
        elif not inside and start >= 0:
            ranges.append(f"\\U{start:08X}-\\U{code - 1:08X}")
            start = -1
    if not ranges:
        raise PatternError(f"error parsing regexp: invalid character class range: `\\p{{{name}}}`")
    return "".join(ranges)
