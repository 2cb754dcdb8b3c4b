"""Sink: what a reflector feeds."""

from __future__ import annotations

from typing import Literal, Protocol

EventType = Literal["ADDED", "MODIFIED", "DELETED"]


class Sink(Protocol):
    """Takes a list, and then the changes since; an informer's store and handlers are behind it."""

    def begin(self) -> None:
        """A list begins; what an earlier one left unfinished is void."""

    def item(self, raw: bytes) -> None:
        """An object of the list."""

    def unlisted(self, raw: bytes) -> None:
        """An object that was listed a moment ago was deleted before the list ended (streaming lists only)."""

    def finish(self, resource_version: str) -> None:
        """The list is complete: what it did not name is gone."""

    def event(self, type: EventType, raw: bytes, ordered: bool) -> str:
        """A change; the answer is the object's resource version.

        ``ordered``: all changes up to this one have been given. It is false only for the objects with which a watch
        from version ``0`` begins.
        """
        ...

    def bookmark(self, resource_version: str) -> None:
        """All changes up to this version have been given."""

    def flush(self) -> None:
        """All that came at once has been given: a good moment for what is not urgent."""
