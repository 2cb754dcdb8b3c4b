"""Sets of characters: ranges, the classes of Perl and POSIX, and Unicode's categories and scripts."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Final, NamedTuple


class Characters(NamedTuple):
    """The characters for which ``contains`` is true, or, if ``negated``, all others."""

    contains: Callable[[str], bool]
    negated: bool = False

    def has(self, char: str) -> bool:
        return self.contains(char) != self.negated

    def inverted(self, invert: bool = True) -> Characters:
        return Characters(self.contains, self.negated != invert)


def ranges(*pairs: tuple[int, int]) -> Characters:
    """The characters in one of the ranges of code points, which are in order and don't overlap. Ends are included."""
    if len(pairs) == 1 and pairs[0][0] == pairs[0][1]:
        return Characters(chr(pairs[0][0]).__eq__)
    starts = [first for first, _ in pairs]

    def contains(char: str) -> bool:
        code = ord(char)
        place = bisect_right(starts, code)
        return place > 0 and code <= pairs[place - 1][1]

    return Characters(contains)


def folded(characters: Characters) -> Characters:
    """The characters that differ from one of ``characters`` in their case only."""

    def contains(char: str) -> bool:
        return any(map(characters.has, _orbits().get(char) or char))

    return Characters(contains)


def union(sets: Iterable[Characters]) -> Characters:
    members = tuple(sets)
    return members[0] if len(members) == 1 else Characters(lambda char: any(member.has(char) for member in members))


def unicode_class(name: str) -> Characters | None:
    """The characters of a category or a script, as in ``\\p{Greek}``; None if the name is unknown. Case, spaces, ``_``
    and ``-`` don't matter.
    """
    name = _canonical(name)
    if name == "Any":
        return ANY
    if name == "Ascii":
        return ranges((0, 0x7F))
    if name == "Assigned":
        return _table("Cn").inverted()
    table = _names().get(name)
    return None if table is None else _table(table)


def _canonical(name: str) -> str:
    """Only ASCII letters have their case changed, as in Go."""
    name = "".join(char.lower() if char.isascii() else char for char in name.translate(_NO_SEPARATORS))
    return (name[:1].upper() if name[:1].isascii() else name[:1]) + name[1:]


@cache
def _tables() -> dict[str, Any]:
    from pkgutil import get_data

    packed = get_data("setpoint.regexp", "unicode.json")
    assert packed is not None
    tables: dict[str, Any] = json.loads(packed)
    return tables


@cache
def _orbits() -> dict[str, str]:
    return {char: orbit for orbit in _tables()["orbits"] for char in orbit}


@cache
def _names() -> dict[str, str]:
    """The names of the tables by what patterns call them: Go looks for a category first, then for a script."""
    tables = _tables()
    aliases = {_canonical(alias): category for alias, category in tables["aliases"].items()}
    return aliases | {_canonical(name): name for name in (*tables["scripts"], *tables["categories"])}


@cache
def _table(name: str) -> Characters:
    tables = _tables()
    text: str = tables["categories"].get(name) or tables["scripts"][name]
    return ranges(*map(_range, text.split()))


def _range(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    return int(first, 16), int(last or first, 16)


_NO_SEPARATORS: Final = str.maketrans("", "", "_- ")
ANY: Final = Characters(lambda char: True)
NOT_NEWLINE: Final = Characters("\n".__ne__)
PERL: Final = {
    "d": ranges((0x30, 0x39)),
    "s": Characters("\t\n\f\r ".__contains__),
    "w": ranges((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)),
}
POSIX: Final = {
    "alnum": ranges((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)),
    "alpha": ranges((0x41, 0x5A), (0x61, 0x7A)),
    "ascii": ranges((0, 0x7F)),
    "blank": Characters("\t ".__contains__),
    "cntrl": ranges((0, 0x1F), (0x7F, 0x7F)),
    "digit": ranges((0x30, 0x39)),
    "graph": ranges((0x21, 0x7E)),
    "lower": ranges((0x61, 0x7A)),
    "print": ranges((0x20, 0x7E)),
    "punct": ranges((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": ranges((0x09, 0x0D), (0x20, 0x20)),
    "upper": ranges((0x41, 0x5A)),
    "word": ranges((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)),
    "xdigit": ranges((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}
