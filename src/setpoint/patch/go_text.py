"""Values as Go prints them (``%v``): messages of the real server show values in this form."""

from __future__ import annotations

from typing import Any

__all__ = ["go_text"]


def go_text(value: Any) -> str:
    """A JSON value as ``%v`` has it: ``map[a:1 b:[x y]]``."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case dict():
            return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
        case list():
            return f"[{' '.join(map(go_text, value))}]"
        case _:
            return str(value)
