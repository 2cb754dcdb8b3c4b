"""Text that can be sent: Python's strings may contain code points that are not Unicode characters."""

from __future__ import annotations

__all__ = ["unicode_text"]


def unicode_text(text: str) -> str:
    """``text`` with halves of surrogate pairs as escapes (``\\\\udc80``), so that it can be encoded as UTF-8 and JSON.

    File names that are not UTF-8 contain such halves (PEP 383), and so does the message of an error that names one.
    """
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()
