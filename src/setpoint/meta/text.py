"""Escapes and cuts text for messages and the wire. Python's strings may contain code points that are not Unicode
characters, and Go's programs quote strings in their own way.
"""

from __future__ import annotations

import json

__all__ = ["cut", "quote", "unicode_text"]


def quote(text: str) -> str:
    """``text`` in double quotes; printable text is escaped as by Go's ``%q``."""
    return json.dumps(text, ensure_ascii=False)


def unicode_text(text: str) -> str:
    """``text`` with halves of surrogate pairs as escapes (``\\\\udc80``), so that it can be encoded as UTF-8 and JSON.

    File names that are not UTF-8 contain such halves (PEP 383), and so do error messages that contain such file names.
    """
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()


def cut(text: str, limit: int) -> str:
    """The longest beginning of ``text`` that takes at most ``limit`` bytes in UTF-8: API servers count bytes. Halves of
    surrogate pairs are written as `unicode_text` writes them.
    """
    if len(text) <= limit and text.isascii():
        return text
    return text.encode(errors="backslashreplace")[:limit].decode(errors="ignore")
