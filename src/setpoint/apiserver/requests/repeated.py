"""Keys that a document has twice."""

from __future__ import annotations

__all__ = ["RepeatedKey"]


class RepeatedKey(str):
    """The sentence about a key that a map of YAML has twice; of JSON only the path of such a field is known."""

    __slots__ = ()
