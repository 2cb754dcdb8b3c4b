"""A transport to a server in the same process: no sockets, no bytes copied, works in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from types import TracebackType
from typing import Protocol

from setpoint.client.transport import Request, Response, too_long
from setpoint.client.waits import Waits

__all__ = ["InProcessTransport"]


class Answer(Protocol):
    """The answer of a handler. A body that is a stream is closed with ``aclose()`` where it has one."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def body(self) -> bytes | AsyncIterator[bytes]: ...


Handler = Callable[[Request], Awaitable[Answer]]


class InProcessTransport:
    """Calls ``handler`` (such as ``ApiServer.handle``) with each request.

    ``user`` is impersonated; with None, requests have no credentials. Deadlines hold here as over HTTP.
    """

    def __init__(self, handler: Handler, *, user: str | None = None) -> None:
        self._handler = handler
        self._headers = {"impersonate-user": user} if user else {}
        self._waits = Waits()

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        if self._headers:
            request = replace(request, headers={**self._headers, **request.headers})
        return _Exchange(self, request)

    async def close(self) -> None:
        self._waits.close()


class _Exchange:
    __slots__ = ("_request", "_response", "_transport")

    def __init__(self, transport: InProcessTransport, request: Request) -> None:
        self._transport = transport
        self._request = request
        self._response: _InProcessResponse | None = None

    async def __aenter__(self) -> Response:
        transport, request = self._transport, self._request
        deadline = None
        if request.timeout is not None:
            deadline = asyncio.get_running_loop().time() + request.timeout
        async with transport._waits.until(deadline, f"no answer to {request.method} {request.path} in time"):
            if request.allowed is not None:
                request.allowed()
            answer = await transport._handler(request)
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
        asked = f"{self._request.method} {self._request.path}"
        waits = self._transport._waits
        while True:
            deadline = self._deadline
            idle = self.idle_timeout
            what = (
                f"{asked}: the answer did not end in time" if idle is None else f"{asked} sent nothing for {idle:g} s"
            )
            if idle is not None:
                deadline = min(deadline or float("inf"), loop.time() + idle)
            try:
                async with waits.until(deadline, what):
                    chunk = await anext(body)
            except StopAsyncIteration:
                return
            yield chunk

    async def aclose(self) -> None:
        close = getattr(self._body, "aclose", None)
        if close is not None:
            await close()
