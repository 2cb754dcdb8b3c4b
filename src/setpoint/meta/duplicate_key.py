"""Keys that occur twice in a document."""

from __future__ import annotations


class RepeatedKey(str):
    """The text about a key that occurs twice in a YAML map, which is shown in another way than one about JSON."""

    __slots__ = ()
