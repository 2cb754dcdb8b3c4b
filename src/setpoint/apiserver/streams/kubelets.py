"""The server's interface to kubelets, which provide the logs and the usage of containers, and serve
commands and connections.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime
from typing import Any, NamedTuple, Protocol

import msgspec

from setpoint.apiserver.streams.pipes import Input, Output

JsonObject = dict[str, Any]


class TerminalSize(NamedTuple):
    """The columns and rows of a client's terminal."""

    columns: int
    rows: int


class LogRequest(msgspec.Struct, frozen=True):
    """A request for the log of one container, such as one from ``kubectl logs``.

    ``previous``: whether the log is that of the run before the last restart. ``since``: the time of the oldest line.
    ``tail``: the maximum number of lines, counted from the end of the log; None means no limit.
    """

    container: str
    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    since: datetime | None = None
    tail: int | None = None
    limit: int | None = None
    """The maximum length of the log in bytes; None means no limit."""


class CommandRequest(msgspec.Struct, frozen=True):
    """A request to run a command in a container (``kubectl exec``), or to attach to the container (``kubectl attach``)
    if there are no ``arguments``.
    """

    container: str
    arguments: tuple[str, ...] = ()
    tty: bool = False


class Streams(msgspec.Struct):
    """The streams of a command, and the changing sizes of the client's terminal."""

    stdin: Input = msgspec.field(default_factory=Input)
    stdout: Output = msgspec.field(default_factory=Output)
    stderr: Output = msgspec.field(default_factory=Output)
    sizes: asyncio.Queue[TerminalSize] = msgspec.field(default_factory=asyncio.Queue)


Run = Callable[[Streams], Awaitable[int]]
"""A function that runs a command and returns its exit code; it is cancelled when the client disconnects."""
Talk = Callable[[Input, Output], Awaitable[None]]
"""A function that serves one connection to a port; its arguments are the bytes from the client and those to the
client.
"""


class Kubelets(Protocol):
    """The kubelets of a cluster. Each method raises `ApiStatusError` if the pod, container or port does not support the
    request.
    """

    def log(self, pod: JsonObject, request: LogRequest) -> AsyncIterator[bytes]:
        """Yields the log of a container in parts; with ``follow``, until the container ends."""
        ...

    def command(self, pod: JsonObject, request: CommandRequest) -> Run:
        """Returns a function that runs a command in a container, or attaches to it."""
        ...

    def port(self, pod: JsonObject, port: int) -> Talk:
        """Returns a function that serves a connection to a port of a pod."""
        ...

    def usage(self, pod: JsonObject) -> dict[str, dict[str, str]]:
        """The usage of each running container of a pod, by container name, as quantities by resource. The result is
        empty for a pod on an unknown node, and while the node does not respond.
        """
        ...
