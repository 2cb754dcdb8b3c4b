"""Pipes: the streams of a command or a connection, between a client and the code that serves it."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

FULL: Final = 64
"""The number of unsent parts at which `Output.drain` begins to wait."""


class Input:
    """Bytes from a client, until the client closes the stream. There must be only one reader."""

    def __init__(self) -> None:
        self._parts: deque[bytes] = deque()
        self._changed = asyncio.Event()
        self._ended = False

    def feed(self, data: bytes) -> None:
        """Adds bytes that the client sent; bytes after the end are dropped."""
        if data and not self._ended:
            self._parts.append(data)
            self._changed.set()

    def end(self) -> None:
        """Marks the end: the reader receives the remaining bytes, then ``b""``."""
        self._ended = True
        self._changed.set()

    async def read(self) -> bytes:
        """The next bytes; ``b""`` at the end."""
        while not self._parts:
            if self._ended:
                return b""
            self._changed.clear()
            await self._changed.wait()
        return self._parts.popleft()

    async def read_all(self) -> bytes:
        """All bytes up to the end."""
        parts = []
        while part := await self.read():
            parts.append(part)
        return b"".join(parts)


class Output:
    """Bytes for a client. ``open`` is False if the client did not ask for the stream; all bytes are
    then dropped.
    """

    def __init__(self, *, open: bool = True) -> None:
        self.open = open
        self._parts: deque[bytes] = deque()
        self._changed = asyncio.Event()
        self._room = asyncio.Event()
        self._ended = False

    def write(self, data: bytes | str) -> None:
        """Sends bytes, or text as UTF-8. Data after the end is dropped."""
        if data and self.open and not self._ended:
            self._parts.append(data.encode() if isinstance(data, str) else data)
            self._changed.set()

    async def drain(self) -> None:
        """Waits until fewer than `FULL` parts are unsent, or the stream has ended."""
        while len(self._parts) >= FULL and not self._ended:
            self._room.clear()
            await self._room.wait()

    def end(self) -> None:
        """Ends the stream: no more data may be written."""
        self._ended = True
        self._changed.set()
        self._room.set()

    async def take(self) -> bytes:
        """The next bytes to send; ``b""`` at the end."""
        while not self._parts:
            if self._ended:
                return b""
            self._changed.clear()
            await self._changed.wait()
        self._room.set()
        return self._parts.popleft()
