"""WebSockets of the HTTP front."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from aiohttp import ClientConnectionResetError, WSMsgType, web

if TYPE_CHECKING:
    from setpoint.apiserver.http_types import Upgrade

MAX_MESSAGE: Final = 16 << 20
"""The maximum size of a message, in bytes."""


async def upgraded(http: web.BaseRequest, upgrade: Upgrade) -> web.StreamResponse:
    """Opens the WebSocket that a request asks for, waits until ``upgrade.serve`` has ended, and closes the WebSocket.
    Returns the response.
    """
    answer = web.WebSocketResponse(protocols=(upgrade.protocol,), compress=False, max_msg_size=MAX_MESSAGE)
    answer.headers["server"] = "setpoint"
    await answer.prepare(http)
    try:
        await upgrade.serve(_Socket(answer))
    finally:
        await answer.close()
    return answer


class _Socket:
    """One open WebSocket; see `setpoint.apiserver.http_types.Socket`."""

    def __init__(self, answer: web.WebSocketResponse) -> None:
        self._answer = answer

    async def send(self, data: bytes) -> None:
        with suppress(ClientConnectionResetError, ConnectionError):  # the client is gone, which `receive` says
            await self._answer.send_bytes(data)

    async def receive(self) -> bytes | None:
        message = await self._answer.receive()
        if message.type is WSMsgType.BINARY:
            data: bytes = message.data
            return data
        return message.data.encode() if message.type is WSMsgType.TEXT else None
