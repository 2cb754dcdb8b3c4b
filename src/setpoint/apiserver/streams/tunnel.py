"""Connections to ports, as kubectl makes them: SPDY streams in a single WebSocket (KEP-4006)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from setpoint.apiserver.errors import ApiStatusError
from setpoint.apiserver.http_types import Socket
from setpoint.apiserver.streams.channels import PIECE
from setpoint.apiserver.streams.kubelets import Talk
from setpoint.apiserver.streams.pipes import Input, Output
from setpoint.apiserver.streams.spdy import Data, Frames, Headers, Ping, Reset, SpdyError
from setpoint.concurrency import TaskScope

TUNNEL_PROTOCOLS: Final = ("SPDY/3.1+portforward.k8s.io",)


class PortTunnel:
    """Any number of connections to ports of one pod. Each has two streams: one for data, one for errors.

    ``talk_of`` returns the function that serves connections to a port; an `ApiStatusError` that it raises is sent on
    the connection's error stream, and the other connections continue.
    """

    def __init__(self, socket: Socket, talk_of: Callable[[int], Talk]) -> None:
        self._socket = socket
        self._talk_of = talk_of
        self._frames = Frames()
        self._inputs: dict[int, Input] = {}
        self._errors: dict[str, int] = {}
        """The error streams, by the id that both streams of a connection share."""

    async def serve(self) -> None:
        """Serves connections until the client disconnects or violates SPDY; all connections then end."""
        async with TaskScope() as scope:
            while (message := await self._socket.receive()) is not None:
                try:
                    for event in self._frames.feed(message):
                        await self._take(event, scope)
                except SpdyError:
                    return
            for stream in self._inputs.values():
                stream.end()

    async def _take(self, event: Headers | Data | Reset | Ping, scope: TaskScope) -> None:
        match event:
            case Headers(stream, headers, is_last):
                await self._socket.send(self._frames.reply(stream))
                pair = headers.get("requestid", "")
                if headers.get("streamtype") == "error":
                    self._errors[pair] = stream
                elif headers.get("streamtype") == "data":
                    port = headers.get("port", "")
                    received = self._inputs[stream] = Input()
                    if is_last:
                        received.end()
                    scope.start(self._talk(stream, self._errors.pop(pair, 0), port, received))
            case Data(stream, data, is_last):
                stream_input = self._inputs.get(stream)
                if stream_input is not None:
                    stream_input.feed(data)
                    if is_last:
                        stream_input.end()
            case Reset(stream):
                if stream in self._inputs:
                    self._inputs[stream].end()
            case Ping(number):
                await self._socket.send(self._frames.ping(number))

    async def _talk(self, stream: int, errors: int, port: str, received: Input) -> None:
        output = Output()
        message = ""
        async with TaskScope() as scope:
            pumping = scope.start(self._pump(stream, output))
            try:
                number = int(port) if port.isdecimal() else 0
                await self._talk_of(number)(received, output)
            except ApiStatusError as problem:
                message = str(problem.status.get("message", ""))
            except Exception as problem:  # noqa: BLE001 - what goes wrong with the connection is the client's answer
                message = f"an error occurred forwarding {port}: {type(problem).__name__}: {problem}"
            output.end()
            await pumping
        if errors:
            await self._socket.send(self._frames.data(errors, message.encode(), is_last=True))
        await self._socket.send(self._frames.data(stream, b"", is_last=True))
        self._inputs.pop(stream, None)

    async def _pump(self, stream: int, output: Output) -> None:
        while data := await output.take():
            for start in range(0, len(data), PIECE):
                await self._socket.send(self._frames.data(stream, data[start : start + PIECE]))
