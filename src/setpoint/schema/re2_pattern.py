"""Untrusted regular expressions, run by RE2: time and memory stay in proportion to the input for any pattern.

API servers match with Go's ``regexp``, whose language is RE2's. Python's own engine backtracks: for a string of thirty
letters, ``^(a+)+$`` takes hours. Every pattern of a schema or an expression is compiled here. Go and RE2 differ in the
patterns that they refuse and in their messages; this module follows Go in both.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Protocol

__all__ = ["Pattern", "PatternError", "compile_pattern"]

_CACHED: Final = 128
_MEMORY: Final = 1 << 20
_MEMORY_MOST: Final = 8 << 20
"""The memory limit, in bytes, for a pattern: its program and the states of matching. ``_MEMORY``, which is enough for
most patterns, is tried first.
"""
_LONGEST: Final = 8192
"""The maximum length of a pattern, in characters. Go allows longer ones, but real patterns are shorter, and the time to
compile a pattern grows with its length.
"""
_MOST_WORK: Final = 200_000_000
"""The maximum product of a program's instructions and a string's bytes. RE2's slowest engine takes half a second for
it.
"""
_DEEPEST: Final = 1000
_LONG_REPEAT: Final = re.compile(r"\{(?:[0-9]{9,}(?:,[0-9]*)?|[0-9]+,[0-9]{9,})\}")
_WORDS: Final = {
    "bad repetition operator": "invalid nested repetition operator",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "trailing \\": "trailing backslash at end of expression",
}
"""RE2's messages and Go's messages for the same errors."""


class PatternError(ValueError):
    """An API server would not accept the pattern, or the pattern can't be matched because the string is too long or RE2
    is not installed.
    """


class _Match(Protocol):
    def span(self) -> tuple[int, int]: ...


class _Compiled(Protocol):
    @property
    def programsize(self) -> int: ...
    def search(self, text: bytes, pos: int | None = None) -> _Match | None: ...


class Pattern:
    """A compiled regular expression; ``text`` is its source.

    Matching raises PatternError if a string is too long for a pattern of this size.
    """

    __slots__ = ("_compiled", "_most", "text")

    def __init__(self, text: str, compiled: _Compiled) -> None:
        self.text = text
        self._compiled = compiled
        self._most = _MOST_WORK // compiled.programsize

    def matches(self, text: str) -> bool:
        """Whether the pattern matches anywhere in ``text``."""
        return self._compiled.search(self._raw(text)) is not None

    def find(self, text: str) -> str:
        """The first match, or ``""`` if there is none."""
        matches = self.find_all(text, 1)
        return matches[0] if matches else ""

    def find_all(self, text: str, most: int = -1) -> list[str]:
        """The non-overlapping matches, at most ``most`` of them (all of them if ``most`` is negative).

        As in Go, an empty match right after another match does not count.
        """
        raw = self._raw(text)
        matches: list[str] = []
        position, before = 0, -1
        while position <= len(raw) and len(matches) != most:
            match = self._compiled.search(raw, position)
            if match is None:
                break
            start, end = match.span()
            if start == end < len(raw) and _inside(raw[end]):  # ``\\B`` matches there, but not in Go
                position = _next(raw, end)
                continue
            if start < end or start != before:
                matches.append(raw[start:end].decode())
            before = end
            position = end if end > position else _next(raw, position)
        return matches

    def _raw(self, text: str) -> bytes:
        raw = _utf8(text)
        if len(raw) > self._most:
            raise PatternError(f"a string of {len(raw)} bytes is too long to be matched with {self.text[:100]!r}")
        return raw

    def __repr__(self) -> str:
        return f"<Pattern {self.text!r}>"


@lru_cache(maxsize=_CACHED)
def compile_pattern(pattern: str) -> Pattern:
    """Compiles ``pattern`` as API servers understand it. Raises PatternError, with Go's message, if the pattern is
    invalid, and also if RE2 is not installed.
    """
    if len(pattern) > _LONGEST:
        raise _refused("expression too large", f"{pattern[:30]}...")
    try:
        import re2
    except ImportError:
        raise PatternError(
            f"the regular expression {pattern!r} can't be matched in bounded time without RE2, which is not installed "
            "here: pip install google-re2"
        ) from None
    try:
        raw = pattern.encode()
    except UnicodeEncodeError:
        raise _refused("invalid UTF-8", pattern.encode("utf-8", "replace").decode()) from None
    problem = ""
    for memory in (_MEMORY, _MEMORY_MOST):
        options = re2.Options()
        options.max_mem = memory
        options.log_errors = False
        options.never_capture = True  # groups are not used, and without them RE2 needs only its fast engine
        try:
            compiled = re2.compile(raw, options)
            _check(pattern)
            return Pattern(pattern, compiled)
        except re2.error as error:
            problem = error.args[0].decode("utf-8", "replace")
            if not problem.startswith("pattern too large"):
                break
    reason, _, excerpt = problem.partition(": ")
    if reason.startswith("pattern too large"):
        raise _refused("expression too large", pattern)
    raise _refused(_WORDS.get(reason) or reason, excerpt)


def _check(pattern: str) -> None:
    """Refuses patterns that RE2 accepts and Go does not: those with ``\\C``, with nine digits or more in a repeat
    count, or with a thousand levels of nesting.
    """
    depth = position = 0
    in_class = False
    end = len(pattern)
    while position < end:
        char = pattern[position]
        if char == "\\":
            follow = pattern[position + 1 : position + 2]
            if follow == "C":
                raise _refused("invalid escape sequence", "\\C")
            if follow == "Q" and not in_class:
                stop = pattern.find("\\E", position + 2)
                position = end if stop < 0 else stop + 2
            else:
                position += 2
            continue
        if in_class:
            in_class = char != "]"
            if pattern.startswith("[:", position):
                stop = pattern.find(":]", position + 2)
                position = position if stop < 0 else stop + 1
        elif char == "[":
            in_class = True  # a bracket right after it is literal
            position += pattern.startswith("^", position + 1)
            position += pattern.startswith("]", position + 1)
        elif char == "{":
            repeat = _LONG_REPEAT.match(pattern, position)
            if repeat is not None:
                raise _refused("invalid repeat count", repeat[0])
        elif char == "(":
            depth += 1
            if depth >= _DEEPEST:
                raise _refused("expression nests too deeply", pattern)
        elif char == ")":
            depth -= 1
        position += 1


def _refused(reason: str, excerpt: str) -> PatternError:
    return PatternError(f"error parsing regexp: {reason}: `{excerpt}`")


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # a lone surrogate, which Go reads as U+FFFD
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _inside(byte: int) -> bool:
    """Whether the byte continues a character rather than starting one."""
    return byte & 0xC0 == 0x80


def _next(raw: bytes, position: int) -> int:
    """The position of the character after the one at ``position``."""
    position += 1
    while position < len(raw) and _inside(raw[position]):
        position += 1
    return position
