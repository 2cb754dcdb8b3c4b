"""An approximate translation of Go's regular expressions to Python's, for hypothesis.

It is used only to generate test data; the generated strings are then checked with `setpoint.regexp`.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

__all__ = ["python_form"]

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
_TOKEN: Final = re.compile(
    r"\\Q(?P<plain>.*?)(?:\\E|\Z)"
    r"|\\(?P<sign>[pP])(?:\{(?P<not>\^?)(?P<long>\w+)\}|(?P<short>\w))"
    r"|\\x\{(?P<code>[0-9A-Fa-f]+)\}"
    r"|\[:(?P<posix>\w+):\]"
    r"|\\(?P<escaped>.)|(?P<end>\$)|(?P<named>\(\?<)|(?P<open>\[\^?\]?)|.",
    re.DOTALL,
)


def python_form(pattern: str) -> re.Pattern[str]:
    """A Python pattern for ASCII strings that match ``pattern``. Raises ValueError if Python can't express it."""
    inside = False

    def replacement(match: re.Match[str]) -> str:
        nonlocal inside
        text = match[0]
        if match["plain"] is not None:
            return re.escape(match["plain"])
        if match["sign"]:
            chars = _category(match["long"] or match["short"], (match["sign"] == "P") != bool(match["not"]))
            return chars if inside else f"[{chars}]"
        if match["code"]:
            return re.escape(chr(int(match["code"], 16)))
        if match["posix"] and inside:
            return _POSIX[match["posix"]]
        if match["escaped"] == "z" or (match["end"] and not inside):
            return r"\Z"
        if match["named"] and not inside:
            return "(?P<"
        if match["open"] and inside:
            inside = not text.endswith("]")
            return rf"\{text}"
        inside = bool(match["open"]) or (inside and text != "]")  # a bracket right after the first belongs to the class
        return text.replace("]", r"\]") if match["open"] else text

    try:
        return re.compile(_TOKEN.sub(replacement, pattern), re.ASCII)
    except (re.error, KeyError) as problem:
        raise ValueError(f"no strings can be generated for the pattern {pattern!r}: {problem}") from None


def _category(name: str, negated: bool) -> str:
    """The ASCII characters of a general category, as the inside of a character class. For a script, these are all
    letters.
    """
    wanted = name if len(name) <= 2 else "L"
    chars = [chr(code) for code in range(128) if unicodedata.category(chr(code)).startswith(wanted) != negated]
    return "".join(map(re.escape, chars))
