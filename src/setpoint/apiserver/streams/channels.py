"""Channels in a WebSocket (``channel.k8s.io``): each message begins with the number of its stream."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from setpoint.apiserver.http_types import Socket
from setpoint.apiserver.streams.kubelets import Run, Streams, Talk, TerminalSize
from setpoint.apiserver.streams.pipes import Input, Output
from setpoint.concurrency import TaskScope

COMMAND_PROTOCOLS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io")
PORT_PROTOCOLS: Final = ("v4.channel.k8s.io",)
PIECE: Final = 32 * 1024
"""The maximum number of output bytes in one message, as in upstream."""
_STDIN, _STDOUT, _STDERR, _ERROR, _RESIZE, _CLOSE = 0, 1, 2, 3, 4, 255


class _Size(msgspec.Struct):
    width: int = msgspec.field(name="Width", default=0)
    height: int = msgspec.field(name="Height", default=0)


async def serve_command(socket: Socket, run: Run, streams: Streams) -> None:
    """Runs a command with its streams over the socket, and sends its result. The command is cancelled if the client
    disconnects.
    """
    async with TaskScope() as scope:
        listening = scope.start(_listen(socket, streams))
        working = scope.start(_work(socket, run, streams))
        await scope.first()
        if listening.done() and not working.done():
            return
        await working


async def _listen(socket: Socket, streams: Streams) -> None:
    while (message := await socket.receive()) is not None:
        if not message:
            continue
        channel, data = message[0], message[1:]
        if channel == _STDIN:
            streams.stdin.feed(data)
        elif channel == _RESIZE:
            try:
                size = msgspec.json.decode(data, type=_Size)
            except msgspec.MsgspecError:
                continue  # as upstream: a size that can't be read is not a reason to end a command
            streams.sizes.put_nowait(TerminalSize(size.width, size.height))
        elif channel == _CLOSE and data[:1] == b"\0":
            streams.stdin.end()


async def _work(socket: Socket, run: Run, streams: Streams) -> None:
    async with TaskScope() as scope:
        for channel, output in ((_STDOUT, streams.stdout), (_STDERR, streams.stderr)):
            scope.start(_pump(socket, channel, output))
        status = await _outcome(run, streams)
        streams.stdout.end()
        streams.stderr.end()
        await scope.all()
    await socket.send(bytes((_ERROR,)) + msgspec.json.encode(status))


async def _outcome(run: Run, streams: Streams) -> Mapping[str, Any]:
    """The result of a command as a Status: Success, an exit code, or the error that occurred when running it."""
    failure = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    try:
        code = await run(streams)
    except Exception as problem:  # noqa: BLE001 - whatever went wrong with the command is the client's answer
        message = f"error executing command in container: {type(problem).__name__}: {problem}"
        return failure | {"reason": "InternalError", "message": message, "code": 500}
    if not code:
        return {"metadata": {}, "status": "Success"}
    causes = [{"reason": "ExitCode", "message": str(code)}]
    message = f"command terminated with non-zero exit code: exit status {code}"
    return failure | {"reason": "NonZeroExitCode", "message": message, "details": {"causes": causes}}


async def _pump(socket: Socket, channel: int, output: Output) -> None:
    head = bytes((channel,))
    while data := await output.take():
        for start in range(0, len(data), PIECE):
            await socket.send(head + data[start : start + PIECE])


async def serve_ports(socket: Socket, talks: list[tuple[int, Talk]]) -> None:
    """Serves connections to ports. Each has two channels, for data and for errors, whose first messages name the port.

    Returns when all connections have ended. The input of each connection ends when the client closes the socket.
    """
    inputs = [Input() for _ in talks]
    for number, (port, _) in enumerate(talks):
        for channel in (2 * number, 2 * number + 1):
            await socket.send(bytes((channel,)) + port.to_bytes(2, "little"))
    async with TaskScope() as scope:
        scope.start(_listen_to_ports(socket, inputs))
        async with asyncio.TaskGroup() as group:
            for number, (port, talk) in enumerate(talks):
                group.create_task(_talk(socket, 2 * number, port, talk, inputs[number]))


async def _listen_to_ports(socket: Socket, inputs: list[Input]) -> None:
    while (message := await socket.receive()) is not None:
        if message and message[0] % 2 == 0 and message[0] // 2 < len(inputs):
            inputs[message[0] // 2].feed(message[1:])
    for reader in inputs:
        reader.end()


async def _talk(socket: Socket, channel: int, port: int, talk: Talk, received: Input) -> None:
    output = Output()
    async with TaskScope() as scope:
        pumping = scope.start(_pump(socket, channel, output))
        try:
            await talk(received, output)
        except Exception as problem:  # noqa: BLE001 - what goes wrong with the connection is the client's answer
            message = f"an error occurred forwarding {port}: {type(problem).__name__}: {problem}"
            await socket.send(bytes((channel + 1,)) + message.encode())
        output.end()
        await pumping
