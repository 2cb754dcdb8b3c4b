"""Escapes and cuts text for messages and the wire. Python's strings may contain code points that are not Unicode
characters, and Go's programs quote strings in their own way.
"""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

_encode: Final = msgspec.json.Encoder(enc_hook=str).encode

_QUOTED: Final = {
    ord(character): f"\\{letter}" for character, letter in zip('"\\\a\b\f\n\r\t\v', '"\\abfnrtv', strict=True)
}
_PICTURES: Final = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"},
    0x7F: 0x2421,
    **dict.fromkeys((*range(0x80, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD),
}
"""A visible character for each one that a terminal obeys instead of showing it: C0 and C1 controls, the line
separators of Unicode, and those that change the direction of the text after them.
"""


def quote(text: str) -> str:
    """``text`` in double quotes, escaped as by Go's ``%q``."""
    return f'"{"".join(map(_quoted, text)) if not text.isprintable() else text.translate(_QUOTED)}"'


def _quoted(character: str) -> str:
    code = ord(character)
    if code in _QUOTED or character.isprintable():
        return _QUOTED.get(code, character)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def unicode_text(text: str) -> str:
    """``text`` with halves of surrogate pairs as escapes (``\\\\udc80``), so that it can be encoded as UTF-8 and JSON.

    File names that are not UTF-8 contain such halves (PEP 383), and so do error messages that contain such file names.
    """
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()


def visible(text: str) -> str:
    """``text`` for a terminal or a log: an escape sequence in it is shown instead of being obeyed. Any user of a
    cluster may have written the text of an object. Tabs and line breaks stay; the length does not change.
    """
    return text if text.isprintable() else text.translate(_PICTURES)


def indented(text: str) -> str:
    """As `visible`, and lines after the first are indented, so that a text can't look like several entries of a list
    with an entry on each line.
    """
    return visible(text).replace("\n", "\n    ")


def json_line(value: Any) -> str:
    """``value`` as JSON on one line. Surrogates, which UTF-8 can't represent, and characters that a terminal obeys are
    escaped. A value that is not JSON is written as its text.
    """
    try:
        text = _encode(value).decode()
    except UnicodeEncodeError:
        return json.dumps(value, default=str)  # escapes what is not ASCII
    return text if visible(text) == text else json.dumps(value, default=str, ensure_ascii=True)


def cut(text: str, limit: int) -> str:
    """The longest beginning of ``text`` that takes at most ``limit`` bytes in UTF-8: API servers count bytes. Halves of
    surrogate pairs are written as `unicode_text` writes them.
    """
    if len(text) <= limit and text.isascii():
        return text
    return text.encode(errors="backslashreplace")[:limit].decode(errors="ignore")
