"""A transport that can't write: it refuses every request that is not a GET, before anything is sent."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from setpoint.client.transport import Request, Response, Transport


class ReadOnlyTransport(Transport):
    """Passes GET requests on to ``transport``.

    Raises:
        PermissionError: from `send`, for every other method.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        if request.method != "GET":
            raise PermissionError(f"{request.method} {request.path} would write, and this connection only reads")
        return self._transport.send(request)

    async def close(self) -> None:
        await self._transport.close()
