"""The fence: a transport that stops the writes of a process that may have lost its lease or keys without knowing it.

Only a fence stops the first request of a process that was paused for longer than its lease: no other check runs between
the pause and the request.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from setpoint.client import Request, Response, Transport, TransportError, WebSocket, connect_over
from setpoint.controller.context import current
from setpoint.controller.environment import Shard


class WriteRefused(TransportError):
    """A write was not sent, because its object may already belong to another process."""


class FencedTransport:
    """A transport that refuses writes as soon as another process may have taken over. Reads pass.

    The shard is asked when the request is made, and again just before it is sent, because obtaining credentials and a
    connection may have taken longer than the lease. Commands in pods and connections to their ports count as writes.

    With ``reconciles_only``, the shard is asked only for writes of the reconciles that it guards. This is meant for a
    client that other code uses, too.
    """

    def __init__(self, transport: Transport, shard: Shard, *, reconciles_only: bool = False) -> None:
        self._transport = transport
        self._shard = shard
        self._reconciles_only = reconciles_only

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        """Sends the request. Raises `WriteRefused` if another process may have taken over."""
        if request.method not in ("GET", "HEAD", "OPTIONS"):
            request = self._fenced(request)
        return self._transport.send(request)

    def connect(self, request: Request, protocols: Sequence[str]) -> AbstractAsyncContextManager[WebSocket]:
        """Opens the WebSocket. Raises `WriteRefused` if another process may have taken over, and `TransportError` if
        the wrapped transport has no WebSockets.
        """
        return connect_over(self._transport, self._fenced(request), protocols)

    async def close(self) -> None:
        """Does nothing: the wrapped transport has another owner."""

    def _fenced(self, request: Request) -> Request:
        context, shard = current.get(), self._shard
        if self._reconciles_only and (context is None or not context.guarded):
            return request

        work = None if context is None else (context.run_name, context.key)

        def allowed() -> None:
            if not shard.may_act(work):
                raise WriteRefused(
                    f"{request.method} {request.path} refused: another process may have taken over by now", sent=False
                )

        allowed()
        return request.allowed_by(allowed)
