"""What reaches a container from outside: commands with their streams, and connections to ports."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from setpoint.models.core_v1 import Pod


@dataclass(frozen=True, slots=True)
class TerminalSize:
    """Columns and rows of a client's terminal."""

    columns: int
    rows: int


class Input:
    """Bytes that come from a client, until it closes them."""

    def __init__(self) -> None:
        self._parts: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._ended = False

    def feed(self, data: bytes) -> None:
        """Bytes have come."""
        self._parts.put_nowait(data)

    def end(self) -> None:
        """Nothing more will come."""
        self._parts.put_nowait(None)

    async def read(self) -> bytes:
        """The next bytes; ``b""`` at the end."""
        if self._ended:
            return b""
        part = await self._parts.get()
        if part is None:
            self._ended = True
            return b""
        return part

    async def read_all(self) -> bytes:
        """Everything up to the end."""
        parts = []
        while part := await self.read():
            parts.append(part)
        return b"".join(parts)


class Output:
    """Bytes that go to a client; nobody reads them if the client did not ask for this stream."""

    def __init__(self) -> None:
        self.parts: asyncio.Queue[bytes | None] = asyncio.Queue()

    def write(self, data: bytes | str) -> None:
        """Sends bytes, or text as UTF-8."""
        if data:
            self.parts.put_nowait(data.encode() if isinstance(data, str) else data)

    def end(self) -> None:
        """Nothing more will be written."""
        self.parts.put_nowait(None)


@dataclass(slots=True)
class Command:
    """One `kubectl exec` or `attach`: which pod, which container, the arguments (none for attach) and the streams.

    A function that answers it writes to ``stdout`` and ``stderr``, and returns the exit code (None is 0). With ``tty``
    both are one stream. It is cancelled when the client goes.
    """

    pod: Pod
    container: str
    arguments: Sequence[str]
    tty: bool = False
    stdin: Input = field(default_factory=Input)
    stdout: Output = field(default_factory=Output)
    stderr: Output = field(default_factory=Output)
    sizes: asyncio.Queue[TerminalSize] = field(default_factory=asyncio.Queue)


@dataclass(slots=True)
class Connection:
    """One connection to a port of a pod: `read` what the client sends, `write` what it gets."""

    pod: Pod
    port: int
    received: Input = field(default_factory=Input)
    sent: Output = field(default_factory=Output)

    async def read(self) -> bytes:
        """The next bytes; ``b""`` when the client has closed."""
        return await self.received.read()

    def write(self, data: bytes | str) -> None:
        """Sends bytes, or text as UTF-8."""
        self.sent.write(data)
