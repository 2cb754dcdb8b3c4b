"""WebSockets to pods, for running commands and connecting to ports (KEP-4006)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import msgspec

from setpoint.client.base import ClientBase
from setpoint.client.errors import error_from_status
from setpoint.client.transport import Request, Transport, TransportError
from setpoint.concurrency import TaskScope
from setpoint.meta import ObjectKey, Resource, Status

if TYPE_CHECKING:
    from setpoint.models.core_v1 import Pod

_POD = Resource(group="", version="v1", kind="Pod", plural="pods")
_STDIN, _STDOUT, _STDERR, _ERROR, _RESIZE, _CLOSE = b"\0", 1, 2, 3, b"\4", b"\xff"
_COMMAND_PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
_PIECE = 1 << 15
"""Bytes of standard input in one message."""
_PORT_PROTOCOLS = ("v4.channel.k8s.io",)


class WebSocket(Protocol):
    """An open WebSocket; ``protocol`` is the subprotocol that the server chose."""

    protocol: str

    async def send(self, data: bytes) -> None: ...

    async def receive(self) -> bytes | None:
        """The next message, or None after the peer has closed the socket.

        Raises:
            TransportError: the connection broke.
        """
        ...


@runtime_checkable
class WebSocketTransport(Protocol):
    """A transport that can also open WebSockets."""

    def connect(self, request: Request, protocols: Sequence[str]) -> AbstractAsyncContextManager[WebSocket]:
        """A context that opens a WebSocket, and closes it on leaving.

        Raises:
            ApiError: the server refused the request.
            TransportError: there was no answer.
        """
        ...


def connect_over(
    transport: Transport, request: Request, protocols: Sequence[str]
) -> AbstractAsyncContextManager[WebSocket]:
    """A context that opens a WebSocket over ``transport``; see `WebSocketTransport.connect`.

    Raises:
        TransportError: the transport does not support WebSockets.
    """
    if not isinstance(transport, WebSocketTransport):
        raise TransportError(f"{request.path}: {type(transport).__name__} has no WebSockets", sent=False)
    return transport.connect(request, protocols)


@dataclass(frozen=True, slots=True)
class CommandResult:
    """A command's exit code and output."""

    exit_code: int
    stdout: bytes
    stderr: bytes


class CommandStream:
    """A command that runs in a container. Iterate over it to read its output: ``("stdout" | "stderr", bytes)``.

    When the iteration has ended, `exit_code` is set.

    Raises (while iterating):
        ApiError: the command could not be started.
        TransportError: the connection broke before the command ended.
    """

    def __init__(self, socket: WebSocket, key: ObjectKey) -> None:
        self._socket = socket
        self._key = key
        self.exit_code: int | None = None

    async def __aiter__(self) -> AsyncIterator[tuple[str, bytes]]:
        while self.exit_code is None:
            message = await self._socket.receive()
            if message is None:
                raise TransportError(f"exec {self._key}: the connection ended before the command did", sent=True)
            if not message:
                continue
            channel, data = message[0], message[1:]
            if channel == _ERROR:
                self.exit_code = self._exit_code_of(data)
            elif data and channel in (_STDOUT, _STDERR):
                yield ("stdout" if channel == _STDOUT else "stderr"), data

    async def write(self, data: bytes) -> None:
        """Writes to the command's standard input."""
        await self._socket.send(_STDIN + data)

    async def close_stdin(self) -> None:
        """Ends the command's standard input.

        Raises:
            TransportError: the server speaks version 4 of the protocol (before Kubernetes 1.30), which has no such
                message.
        """
        if self._socket.protocol != _COMMAND_PROTOCOLS[0]:
            raise TransportError(
                "this server can't end a command's standard input; that needs Kubernetes 1.30", sent=True
            )
        await self._socket.send(_CLOSE + _STDIN)

    async def resize(self, columns: int, rows: int) -> None:
        """Sets the size of the terminal, if the command has one."""
        await self._socket.send(_RESIZE + msgspec.json.encode({"Width": columns, "Height": rows}))

    def _exit_code_of(self, data: bytes) -> int:
        try:
            status = msgspec.json.decode(data, type=Status)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            text = data.decode("utf-8", "replace")
            raise TransportError(f"exec {self._key}: {text}", sent=True) from None
        if status.status == "Success":
            return 0
        if status.reason == "NonZeroExitCode" and status.details is not None:
            for cause in status.details.causes:
                if cause.reason == "ExitCode" and re.fullmatch("[0-9]{1,9}", cause.message):
                    return int(cause.message)
        raise error_from_status(status, verb="exec", resource="pods", key=self._key)


class PortStream:
    """A connection to a port in a pod."""

    def __init__(self, socket: WebSocket, key: ObjectKey, port: int) -> None:
        self._socket = socket
        self._name = f"port {port} of pod {key}"
        self._named = [False, False]

    async def read(self) -> bytes:
        """The next bytes that arrive, or ``b""`` at the end.

        Raises:
            TransportError: no process listens on the port, or the connection broke.
        """
        while (message := await self._socket.receive()) is not None:
            if len(message) < 2 or message[0] > 1:
                continue
            channel, data = message[0], message[1:]
            if not self._named[channel]:  # the first message on each channel repeats the port
                self._named[channel] = True
                data = data[2:]
            if data and channel == 1:
                raise TransportError(f"{self._name}: {data.decode('utf-8', 'replace').strip()}", sent=True)
            if data:
                return data
        return b""

    async def write(self, data: bytes) -> None:
        await self._socket.send(b"\0" + data)


class PodConnections(ClientBase):
    """The verbs that run commands in pods and connect to their ports; a part of `setpoint.client.Client`."""

    async def exec(
        self,
        pod: Pod | str,
        command: Sequence[str],
        *,
        namespace: str | None = None,
        container: str = "",
        stdin: bytes | None = None,
        timeout: float | None = 60.0,
    ) -> CommandResult:
        """Runs a command in a container and waits for its end, for at most ``timeout`` seconds.

        Raises:
            ApiError: the pod, the container or the command does not exist, or the user is not allowed to run commands.
            TransportError: the connection broke, or the command took too long; it may still be running.
            ValueError: ``command`` is empty, or a string instead of a list.
        """
        output: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
        limit = asyncio.timeout(timeout)
        try:
            async with (
                limit,
                self.exec_stream(
                    pod, command, namespace=namespace, container=container, stdin=stdin is not None
                ) as running,
            ):
                await self._communicate(running, stdin, output)
        except TimeoutError:
            if not limit.expired():
                raise
            raise TransportError(f"the command took longer than {timeout} s", sent=True, timed_out=True) from None
        assert running.exit_code is not None
        return CommandResult(running.exit_code, b"".join(output["stdout"]), b"".join(output["stderr"]))

    @staticmethod
    async def _communicate(running: CommandStream, stdin: bytes | None, output: dict[str, list[bytes]]) -> None:
        """Writes the input and reads the output concurrently; otherwise a command that writes before it has read all of
        its input would block.
        """

        async def read() -> None:
            async for name, data in running:
                output[name].append(data)

        async def feed() -> None:
            try:
                for start in range(0, len(stdin or b""), _PIECE):
                    await running.write((stdin or b"")[start : start + _PIECE])
                if stdin is not None:
                    await running.close_stdin()
            except TransportError:
                if running.exit_code is None:  # otherwise the command ended, perhaps without reading all input
                    raise

        async with TaskScope() as scope:
            reading, feeding = scope.start(read()), scope.start(feed())
            await scope.first()
            if not reading.done():
                feeding.result()
                await asyncio.wait((reading,))

    @asynccontextmanager
    async def exec_stream(
        self,
        pod: Pod | str,
        command: Sequence[str],
        *,
        namespace: str | None = None,
        container: str = "",
        stdin: bool = False,
        tty: bool = False,
    ) -> AsyncIterator[CommandStream]:
        """Runs a command in a container and gives access to its input and output. Leaving the context ends the
        connection.

        Raises:
            ApiError: the user is not allowed to run commands, or the pod does not exist.
            TransportError: there was no answer.
            ValueError: ``command`` is empty, or a string instead of a list.
        """
        if not command or isinstance(command, str):
            raise ValueError("the command must be a list of arguments, such as ['sh', '-c', 'date']")
        key = self._pod_key(pod, namespace)
        query = [("command", word) for word in command]
        query += [("container", container)] if container else []
        query += [("stdout", "true")] + ([] if tty else [("stderr", "true")])
        query += [(name, "true") for name, wanted in (("stdin", stdin), ("tty", tty)) if wanted]
        async with self._connect(key, "exec", query, _COMMAND_PROTOCOLS) as socket:
            yield CommandStream(socket, key)

    @asynccontextmanager
    async def port_forward(
        self, pod: Pod | str, port: int, *, namespace: str | None = None
    ) -> AsyncIterator[PortStream]:
        """Opens one connection to a port in a pod. Leaving the context closes it.

        Raises:
            ApiError: the user is not allowed to forward ports, or the pod does not exist.
            TransportError: there was no answer.
        """
        key = self._pod_key(pod, namespace)
        async with self._connect(key, "portforward", [("ports", str(port))], _PORT_PROTOCOLS) as socket:
            yield PortStream(socket, key, port)

    def _connect(
        self, key: ObjectKey, subresource: str, query: Sequence[tuple[str, str]], protocols: Sequence[str]
    ) -> AbstractAsyncContextManager[WebSocket]:
        path = _POD.path(namespace=key.namespace, name=key.name, subresource=subresource)
        return connect_over(self.transport, Request("GET", path, tuple(query)), protocols)

    def _pod_key(self, pod: Pod | str, namespace: str | None) -> ObjectKey:
        if isinstance(pod, str):
            return self._key(_POD, namespace, pod)
        return self._key(_POD, namespace or pod.namespace, pod.name)
