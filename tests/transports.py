"""Transports over another one, for tests in which something happens to requests."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from setpoint.client import Transport
from setpoint.client.transport import Request, Response


class Through(Transport):
    """Sends every request to ``inner``; subclasses do more."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        return self.inner.send(request)

    async def close(self) -> None:
        await self.inner.close()


class Checked(Through):
    """Calls ``check``, which may raise, before a request is sent."""

    def __init__(self, inner: Transport, check: Callable[[Request], None]) -> None:
        super().__init__(inner)
        self.check = check

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        self.check(request)
        return self.inner.send(request)


class Sending(Transport):
    """Sends requests by a function."""

    def __init__(self, send: Callable[[Request], AbstractAsyncContextManager[Response]]) -> None:
        self.send = send  # type: ignore[method-assign]

    async def close(self) -> None:
        """The server goes on."""
