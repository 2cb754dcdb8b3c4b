"""The messages between a supervisor and its child processes, and the channel that carries them.

A channel is a stream socket. Each message is a MessagePack value, preceded by its length (four bytes, big-endian).
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

MOST_WAITING: Final = 1_000_000
"""The maximum number of bytes that wait for a process that does not read them. Further messages to it are dropped."""


class Lead(msgspec.Struct, tag=True):
    """The permission for the child process to act, until a time on the machine's monotonic clock."""

    until: float


class Lost(msgspec.Struct, tag=True):
    """The message saying that the supervisor has lost its lease, so all work must end at once."""

    reason: str


class Stop(msgspec.Struct, tag=True):
    """The supervisor's request that the child process stop gracefully."""


class Ask(msgspec.Struct, tag=True):
    """A request for one of the child's own pages."""

    id: int
    path: str
    query: dict[str, list[str]]


class Answered(msgspec.Struct, tag=True):
    """The answer to an `Ask`."""

    id: int
    status: int
    body: bytes
    content_type: str


class State(msgspec.Struct, tag=True):
    """A child's health and work. It is sent every second, as a sign that the child's event loop runs."""

    started: bool
    healthz: dict[str, str]
    readyz: dict[str, str]
    under_way: list[str]


Message: TypeAlias = Lead | Lost | Stop | Ask | Answered | State

_encode = msgspec.msgpack.Encoder().encode
_decode: Callable[[bytes], Message] = msgspec.msgpack.Decoder(Message).decode


class Channel:
    """One end of the connection between a supervisor and a child process."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, end: socket.socket) -> Channel:
        """A channel over a connected socket. The channel closes the socket."""
        return cls(*await asyncio.open_connection(sock=end))

    def send(self, message: Message) -> bool:
        """Queues a message for sending; returns False if it was dropped, because the channel is closing or too many
        messages wait. Even a queued message may not arrive.
        """
        transport: Any = self._writer.transport
        if self._writer.is_closing() or transport.get_write_buffer_size() > MOST_WAITING:
            return False
        data = _encode(message)
        self._writer.write(len(data).to_bytes(4, "big") + data)
        return True

    async def receive(self) -> Message | None:
        """Waits for the next message; None when the other end has closed the channel or its process has ended."""
        try:
            length = int.from_bytes(await self._reader.readexactly(4), "big")
            return _decode(await self._reader.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    def close(self) -> None:
        self._writer.close()
