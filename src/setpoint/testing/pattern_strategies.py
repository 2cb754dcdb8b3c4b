"""Strings that match one of Go's regular expressions, for hypothesis."""

from __future__ import annotations

import string
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Final

from setpoint.regexp import compile_pattern
from setpoint.regexp.characters import Characters
from setpoint.regexp.syntax import Node, parse

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_ASCII: Final = string.digits + string.ascii_letters + string.punctuation + " \t\n\r\v\f" + "\0\x1b\x7f"


@lru_cache(maxsize=256)
def texts_of(pattern: str) -> SearchStrategy[str]:
    """A hypothesis strategy for strings that match ``pattern``, from its first character to its last. They are of ASCII
    characters as far as the pattern permits. Raises PatternError if the pattern is invalid.
    """
    return _texts(parse(pattern)).filter(compile_pattern(pattern).matches)


def _texts(node: Node) -> SearchStrategy[str]:
    from hypothesis import strategies as st

    match node.kind:
        case "characters":
            assert node.characters is not None
            alphabet = _alphabet(node.characters)
            return st.sampled_from(alphabet) if alphabet else st.nothing()
        case "concat":
            return st.tuples(*map(_texts, node.parts)).map("".join)
        case "alternate":
            return st.one_of(*map(_texts, node.parts))
        case "repeat":
            part, most = node.parts[0], None if node.most < 0 else node.most
            if part.characters is not None and (alphabet := _alphabet(part.characters)):
                return st.text(alphabet, min_size=node.least, max_size=most)
            return st.lists(_texts(part), min_size=node.least, max_size=most).map("".join)
        case _:
            return st.just("")


def _alphabet(characters: Characters) -> list[str]:
    chars = [char for char in _ASCII if characters.has(char)]
    if chars:
        return chars
    others = chain(range(0x80, 0xD7C0), range(0xE000, 0x10FFC0))
    first = next((code for code in others if characters.has(chr(code))), None)
    return [] if first is None else [char for char in map(chr, range(first, first + 0x40)) if characters.has(char)]
