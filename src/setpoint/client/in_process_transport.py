"""A transport to a server in the same process. It uses no sockets, copies no bytes and works in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from msgspec.structs import replace

from setpoint.client.deadline_waits import Waits
from setpoint.client.errors import error_from
from setpoint.client.transport import Request, Response, TransportError, too_long
from setpoint.concurrency import TaskScope

if TYPE_CHECKING:
    from setpoint.client.websocket import WebSocket


class Answer(Protocol):
    """The answer from a handler. A body that is a stream is closed with ``aclose()`` if it has that method."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def body(self) -> bytes | AsyncIterator[bytes]: ...


Handler = Callable[[Request], Awaitable[Answer]]


class InProcessTransport:
    """Passes each request to ``handler`` (such as ``ApiServer.handle``).

    Requests impersonate ``user``; without a ``user``, they have no credentials. Deadlines apply as they do over HTTP,
    except to open WebSockets.
    """

    def __init__(self, handler: Handler, *, user: str | None = None) -> None:
        self._handler = handler
        self._headers = {"impersonate-user": user} if user else {}
        self._waits = Waits()

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        if self._headers:
            request = replace(request, headers={**self._headers, **request.headers})
        return _Exchange(self, request)

    @asynccontextmanager
    async def connect(self, request: Request, protocols: Sequence[str]) -> AsyncIterator[WebSocket]:
        """Opens a WebSocket to the handler; see `setpoint.client.websocket.WebSocketTransport`."""
        handshake = {"upgrade": "websocket", "connection": "Upgrade", "sec-websocket-protocol": ", ".join(protocols)}
        request = replace(request, headers={**self._headers, **request.headers, **handshake})
        answer = await self._answer(request, self._deadline(request))
        upgrade = getattr(answer, "upgrade", None)
        if upgrade is None and answer.status < 300:
            raise TransportError(f"{request.method} {request.path}: this handler has no WebSockets", sent=True)
        if upgrade is None:
            body = answer.body if isinstance(answer.body, bytes) else b""
            raise error_from(answer.status, body, headers=answer.headers, verb="connect", resource=request.path)
        here, peer = _Pair(upgrade.protocol, self._waits), _Pair(upgrade.protocol, Waits())
        here.other, peer.other = peer, here

        async def serve() -> None:
            try:
                await upgrade.serve(peer)
            finally:
                here.close()

        async with TaskScope() as scope:
            scope.start(serve())
            try:
                yield here
            finally:
                peer.close()

    async def close(self) -> None:
        self._waits.close()

    def _deadline(self, request: Request) -> float | None:
        return None if request.timeout is None else asyncio.get_running_loop().time() + request.timeout

    async def _answer(self, request: Request, deadline: float | None) -> Answer:
        """The handler's answer to a request that is allowed.

        Raises:
            TransportError: there was no answer before the deadline, or the transport is closed.
        """
        if self._waits.closed:
            raise TransportError("the transport is closed", sent=False)
        if request.allowed is not None:
            request.allowed()
        # Nearly all answers are there after the first step, which no deadline can interrupt.
        steps = self._handler(request).__await__()
        try:
            step = steps.send(None)
        except StopIteration as end:
            answer: Answer = end.value
            return answer
        async with self._waits.until(deadline, f"no answer to {request.method} {request.path} in time"):
            return await _Started(steps, step)


class _Started:
    """An awaitable whose first step was taken outside, which led to ``step``; awaiting this one takes the others."""

    __slots__ = ("_step", "_steps")

    def __init__(self, steps: Generator[Any, None, Answer], step: Any) -> None:
        self._steps = steps
        self._step = step

    def __await__(self) -> Generator[Any, None, Answer]:
        step = self._step
        while True:
            try:
                try:
                    yield step
                except BaseException as error:  # noqa: BLE001 - as with "yield from", also a cancellation
                    step = self._steps.throw(error)
                else:
                    step = self._steps.send(None)
            except StopIteration as end:
                answer: Answer = end.value
                return answer


class _Pair:
    """One end of a WebSocket within the process; see `setpoint.client.websocket.WebSocket`. It ends with ``waits``."""

    other: _Pair

    def __init__(self, protocol: str, waits: Waits) -> None:
        self.protocol = protocol
        self._waits = waits
        self._messages: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def send(self, data: bytes) -> None:
        async with self._waits.until(None, ""):
            self.other._messages.put_nowait(data)
            await asyncio.sleep(0)

    async def receive(self) -> bytes | None:
        async with self._waits.until(None, ""):
            message = await self._messages.get()
        if message is None:
            self._messages.put_nowait(None)
        return message

    def close(self) -> None:
        """Notes that the peer has closed the socket: after the remaining messages, `receive` returns None."""
        self._messages.put_nowait(None)


class _Exchange:
    __slots__ = ("_request", "_response", "_transport")

    def __init__(self, transport: InProcessTransport, request: Request) -> None:
        self._transport = transport
        self._request = request
        self._response: _InProcessResponse | None = None

    async def __aenter__(self) -> Response:
        transport, request = self._transport, self._request
        deadline = transport._deadline(request)
        answer = await transport._answer(request, deadline)
        self._response = _InProcessResponse(transport, request, answer, deadline)
        return self._response

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._response is not None:
            await self._response.aclose()


class _InProcessResponse(Response):
    def __init__(self, transport: InProcessTransport, request: Request, answer: Answer, deadline: float | None) -> None:
        self._transport = transport
        self._request = request
        self._deadline = deadline
        self.idle_timeout = request.idle_timeout
        self._body: bytes | AsyncIterator[bytes] = answer.body
        self.status = answer.status
        self.headers = answer.headers

    async def read(self, limit: int = 1 << 30) -> bytes:
        body = self._body
        if isinstance(body, bytes):
            if len(body) > limit:
                raise too_long(limit)
            return body
        return await super().read(limit)

    async def chunks(self) -> AsyncIterator[bytes]:
        body = self._body
        if isinstance(body, bytes):
            if body:
                yield body
            return
        loop = asyncio.get_running_loop()
        line = f"{self._request.method} {self._request.path}"
        waits = self._transport._waits
        while True:
            deadline = self._deadline
            idle = self.idle_timeout
            message = (
                f"{line}: the answer did not end in time" if idle is None else f"{line} sent nothing for {idle:g} s"
            )
            if idle is not None:
                deadline = min(deadline or float("inf"), loop.time() + idle)
            try:
                async with waits.until(deadline, message):
                    chunk = await anext(body)
            except StopAsyncIteration:
                return
            yield chunk

    async def aclose(self) -> None:
        close = getattr(self._body, "aclose", None)
        if close is not None:
            await close()
