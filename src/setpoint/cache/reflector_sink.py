"""Sink: the consumer of the lists and changes that a reflector receives."""

from __future__ import annotations

from typing import Literal, Protocol

EventType = Literal["ADDED", "MODIFIED", "DELETED"]


class Sink(Protocol):
    """Receives a list and then the changes after it. An informer implements this with its store and handlers."""

    def begin(self) -> None:
        """Begins a list; an earlier list that is not finished is discarded."""

    def item(self, raw: bytes) -> bool:
        """Adds an object of the list; returns whether it was not in it before. An unreadable one counts as new."""
        ...

    def unlisted(self, raw: bytes) -> None:
        """Removes an object that was deleted before the end of its list (streamed lists only)."""

    def finish(self, resource_version: str) -> None:
        """Ends the list. Objects that were not in it no longer exist."""

    def event(self, type: EventType, raw: bytes, ordered: bool) -> str:
        """Applies a change; returns the object's resource version, or ``""`` if the change was ignored.

        ``ordered`` says that all changes up to this one have been applied. It is false only in a watch that starts from
        version ``0`` or from no version, for the ADDED events before the first event of a different type.
        """
        ...

    def bookmark(self, resource_version: str) -> None:
        """Notes that all changes up to this version have been applied."""

    def flush(self) -> None:
        """Ends a batch of events; work that is not urgent is done here."""
