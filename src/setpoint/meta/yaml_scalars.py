"""Plain scalars of YAML as the reader of API servers and kubectl resolves them (sigs.k8s.io/yaml).

It reads YAML 1.1 with exceptions: ``y`` and ``off`` are booleans, integers are those of Go's ``strconv`` (``0777`` and
``0o17`` are octal, ``08`` is 8), floats need no dot (``1e3``), and numbers in base 60 and dates stay texts.
"""

from __future__ import annotations

import math
import re
from typing import Final

_LONGEST: Final = 320
"""The maximum length of a number, in characters; longer numbers stay strings, even those that Go's reader would
parse.
"""
_SPECIAL: Final = frozenset(("", *"+-.0123456789yYnNtTfFoO~"))
_WORDS: Final = {
    "": None,
    **dict.fromkeys(("~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INTEGER: Final = re.compile(
    r"([-+]?)(?:0[xX](?P<hexadecimal>[0-9a-fA-F]+)|0[bB](?P<binary>[01]+)|0[oO]?(?P<octal>[0-7]+)"
    r"|(?P<decimal>0|[1-9][0-9]*))"
)
_BASES: Final = {"hexadecimal": 16, "binary": 2, "octal": 8, "decimal": 10}


def resolve(text: str) -> str | float | bool | None:
    """The value of a plain scalar. A float without a fraction is an integer, as in the JSON that Go makes of it."""
    if text[:1] not in _SPECIAL:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > _LONGEST or text[0].isalpha():
        return text
    if text[0] == ".":
        return _float(text, text)
    plain = text.replace("_", "")
    if match := _INTEGER.fullmatch(plain):
        kind = match.lastgroup or ""
        number = int(match[1] + match[kind], _BASES[kind])
        if -(1 << 63) <= number < (1 << 63 if match[1] else 1 << 64):
            return number
    return _float(plain, text)


def _float(plain: str, text: str) -> str | float:
    number = float(plain) if _FLOAT.fullmatch(plain) else math.inf
    if not math.isfinite(number):
        return text
    return int(number) if number.is_integer() and abs(number) < 1 << 63 else number
