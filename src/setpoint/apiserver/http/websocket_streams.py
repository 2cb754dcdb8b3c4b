"""Streams over WebSockets, for clients that ask for an upgrade: watches, with one event in each message, and logs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from aiohttp import ClientConnectionResetError, WSMsgType, web

from setpoint.concurrency import first

if TYPE_CHECKING:
    from collections.abc import Callable


def is_asked_for(http: web.BaseRequest) -> bool:
    """Whether the client asks for a stream over a WebSocket."""
    words = http.headers.get("Connection", "").lower()
    return "upgrade" in words and http.headers.get("Upgrade", "").lower() == "websocket"


async def streamed(http: web.BaseRequest, headers: Mapping[str, str], body: AsyncIterator[bytes]) -> web.StreamResponse:
    """Sends the stream ``body`` over a WebSocket until the stream ends or the client disconnects, and returns the
    response. JSON is sent as text messages, all other content as binary messages.
    """
    answer = web.WebSocketResponse(compress=False)
    answer.headers["server"] = "setpoint"
    kind = headers.get("content-type", "")
    split = _lines if kind.startswith("application/json") else _lengths if "stream=watch" in kind else _whole
    await answer.prepare(http)
    try:
        await first(_hung_up(answer), _send(answer, body, split, text=split is _lines))
    finally:
        close = getattr(body, "aclose", None)
        if close is not None:
            await close()
        await answer.close()
    return answer


async def _hung_up(answer: web.WebSocketResponse) -> None:
    """Waits until the client has disconnected; its messages are ignored."""
    while (await answer.receive()).type in (WSMsgType.TEXT, WSMsgType.BINARY):
        pass


async def _send(
    answer: web.WebSocketResponse,
    body: AsyncIterator[bytes],
    split: Callable[[bytearray], list[bytes]],
    *,
    text: bool,
) -> None:
    rest = bytearray()
    with suppress(ClientConnectionResetError, ConnectionError):
        async for chunk in body:
            rest += chunk
            for message in split(rest):
                if text:
                    await answer.send_str(message.decode())
                else:
                    await answer.send_bytes(message)


def _lines(rest: bytearray) -> list[bytes]:
    """Removes the complete lines from ``rest`` and returns them."""
    end = rest.rfind(b"\n") + 1
    lines = bytes(rest[:end]).splitlines(keepends=True)
    del rest[:end]
    return lines


def _lengths(rest: bytearray) -> list[bytes]:
    """Removes the complete messages from ``rest`` and returns them; each is preceded by its length, in four bytes."""
    lengths = []
    while len(rest) >= 4 and len(rest) - 4 >= (size := int.from_bytes(rest[:4], "big")):
        lengths.append(bytes(rest[4 : 4 + size]))
        del rest[: 4 + size]
    return lengths


def _whole(rest: bytearray) -> list[bytes]:
    whole = [bytes(rest)] if rest else []
    rest.clear()
    return whole
