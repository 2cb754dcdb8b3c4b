"""Values in the format of Go's ``%v``, which API servers use in messages."""

from __future__ import annotations

from typing import Any

from setpoint.slices import pace

__all__ = ["go_text"]


def go_text(value: Any) -> str:
    """A JSON value in the format of ``%v``: ``map[a:1 b:[x y]]``."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case dict():
            return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in pace(sorted(value)))}]"
        case list():
            return f"[{' '.join([go_text(item) for item in pace(value)])}]"
        case _:
            return str(value)
