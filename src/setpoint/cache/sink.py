"""Sink: the consumer of a reflector's lists and changes."""

from __future__ import annotations

from typing import Literal, Protocol

EventType = Literal["ADDED", "MODIFIED", "DELETED"]


class Sink(Protocol):
    """Accepts a list, then the changes after it; an informer implements it with its store and handlers."""

    def begin(self) -> None:
        """Begins a list; an unfinished earlier one is void."""

    def item(self, raw: bytes) -> None:
        """Adds an object of the list."""

    def unlisted(self, raw: bytes) -> None:
        """Removes an object that was deleted before the end of its list (streamed lists only)."""

    def finish(self, resource_version: str) -> None:
        """Ends the list: objects that it did not contain are gone."""

    def event(self, type: EventType, raw: bytes, ordered: bool) -> str:
        """Applies a change; returns the object's resource version.

        ``ordered``: all changes up to this one have been applied. It is false only for the initial objects of a watch
        from version ``0``.
        """
        ...

    def bookmark(self, resource_version: str) -> None:
        """Records that all changes up to this version have been applied."""

    def flush(self) -> None:
        """Ends a batch of events: the moment for work that is not urgent."""
