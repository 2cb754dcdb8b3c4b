"""Keys that occur twice in a document."""

from __future__ import annotations

__all__ = ["RepeatedKey"]


class RepeatedKey(str):
    """The message about a key that occurs twice in a YAML map; for JSON, only the path of the field is known."""

    __slots__ = ()
