"""Integers in input text, read as Go's strconv reads them.

Python's ``int`` is too lenient: it accepts spaces, underscores and the digits of every script. It also raises an error
of its own for numbers of several thousand digits.
"""

from __future__ import annotations

from setpoint.meta.text_escaping import quote


class NumberError(ValueError):
    """The text is not an integer, or the integer is out of range; the message is Go's."""


def parse_int(text: str, bits: int = 64) -> int:
    """The value of a decimal integer with or without a sign. Raises `NumberError` if ``text`` has a different form, or
    if the value does not fit into ``bits`` bits.
    """
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdecimal()):
        raise NumberError(_problem("Int", text, "invalid syntax"))
    limit = 1 << (bits - 1)
    number = int(digits) if len(digits) <= 40 else int(digits.lstrip("0")[:40] or "0")
    number = -number if text[0] == "-" else number
    if not -limit <= number < limit:
        raise NumberError(_problem("Int", text, "value out of range"))
    return number


def parse_uint(text: str) -> int:
    """The value of a decimal integer without a sign. Raises `NumberError` if ``text`` has a different form, or if the
    value does not fit into 64 bits.
    """
    if not (text.isascii() and text.isdecimal()):
        raise NumberError(_problem("Uint", text, "invalid syntax"))
    number = int(text) if len(text) <= 40 else int(text.lstrip("0")[:40] or "0")
    if number >= 1 << 64:
        raise NumberError(_problem("Uint", text, "value out of range"))
    return number


def _problem(kind: str, text: str, reason: str) -> str:
    excerpt = text if len(text) <= 100 else f"{text[:100]}..."
    return f"strconv.Parse{kind}: parsing {quote(excerpt)}: {reason}"
