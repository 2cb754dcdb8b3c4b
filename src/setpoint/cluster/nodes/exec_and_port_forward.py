"""Commands in containers and connections to their ports, as the functions of a test receive them."""

from __future__ import annotations

import asyncio

import msgspec

from setpoint.apiserver.streams.kubelets import TerminalSize
from setpoint.apiserver.streams.pipes import Input, Output
from setpoint.models.core_v1 import Pod


class Command(msgspec.Struct, frozen=True):
    """A `kubectl exec` or `attach`: the pod, the container, the arguments (none for attach) and the streams.

    A function that answers it reads ``stdin``, writes to ``stdout`` and ``stderr``, and returns the exit code (None
    means 0). With ``tty`` there is no ``stderr``. The function is cancelled when the client disconnects.
    """

    pod: Pod
    container: str
    arguments: tuple[str, ...]
    tty: bool
    stdin: Input
    stdout: Output
    stderr: Output
    sizes: asyncio.Queue[TerminalSize]
    """The sizes of the client's terminal, as they change."""


class Connection(msgspec.Struct, frozen=True):
    """One connection to a port of a pod. It is closed when the function that answers it returns."""

    pod: Pod
    port: int
    received: Input
    output: Output

    async def read(self) -> bytes:
        """The next bytes; ``b""`` when the client has closed the connection."""
        return await self.received.read()

    def write(self, data: bytes | str) -> None:
        """Sends bytes, or text as UTF-8."""
        self.output.write(data)
