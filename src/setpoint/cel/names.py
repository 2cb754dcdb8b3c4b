"""Property names escaped as field names: ``my-name`` is written ``self.my__dash__name``.

https://kubernetes.io/docs/reference/using-api/cel/#escaping
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from setpoint.cel.lexer import RESERVED

_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_UNESCAPES: Final = {"underscores": "__", "dot": ".", "dash": "-", "slash": "/"}
_ALLOWED: Final = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*", re.ASCII)


@lru_cache(maxsize=4096)
def escaped(name: str) -> str | None:
    """The escaped name of a property; None if expressions can't name it."""
    if name in RESERVED:
        return f"__{name}__"
    if not _ALLOWED.fullmatch(name):
        return None
    return re.sub(r"__|[-./]", lambda match: _ESCAPES[match[0]], name)


@lru_cache(maxsize=4096)
def unescaped(name: str) -> str | None:
    """The property whose escaped name is ``name``; None if ``name`` contains an invalid escape sequence."""
    wrong = False

    def part(match: re.Match[str]) -> str:
        nonlocal wrong
        inner = match[0][2:-2]
        if inner in _UNESCAPES:
            return _UNESCAPES[inner]
        if inner in RESERVED and len(match[0]) == len(name):
            return inner
        wrong = True
        return ""

    plain = re.sub(r"__[^_]+__", part, name)
    return None if wrong else plain
