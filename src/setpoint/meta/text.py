"""Text that can be sent: Python's strings may hold what is not Unicode."""

from __future__ import annotations

__all__ = ["unicode_text"]


def unicode_text(text: str) -> str:
    """``text`` with halves of surrogate pairs as escapes (``\\\\udc80``), so that it has a form in UTF-8 and JSON.

    Names of files that are not UTF-8 have such halves (PEP 383), and so has the message of an error that names one.
    """
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()
