"""Bodies of requests, read only while there is memory for them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from aiohttp import web

    from setpoint.serving.body_memory import BodyMemory

_SMALL: Final = 64 * 1024


class BodyReader:
    """Reads one body, and has its bytes counted in ``memory`` until `close`, unless they are few."""

    __slots__ = ("_go_on", "_limit", "_memory", "_reserved")

    def __init__(self, memory: BodyMemory, limit: int) -> None:
        self._memory = memory
        self._limit = limit
        self._reserved = 0
        self._go_on: asyncio.Event | None = None

    @property
    def waits_for_memory(self) -> bool:
        return self._go_on is not None

    async def read(self, http: web.BaseRequest) -> bytes | None:
        """The body, or enough of it to see that it is longer than the limit; None if it is empty. Raises ValueError if
        it is incomplete or malformed.
        """
        from aiohttp import ClientPayloadError
        from aiohttp.web import RequestPayloadError

        body = bytearray()
        try:
            async for chunk in http.content.iter_any():
                body += chunk
                if len(body) > self._limit:
                    break
                if len(body) > _SMALL:
                    await self._take(len(body))
        except (ClientPayloadError, RequestPayloadError) as problem:
            raise ValueError from problem
        return bytes(body) or None

    def read_on(self) -> None:
        """Called by the `BodyMemory`."""
        if self._go_on is not None:
            self._go_on.set()

    def close(self) -> None:
        """Gives the memory back."""
        if self._reserved:
            self._memory.give_back(self)

    async def _take(self, size: int) -> None:
        reserved, self._reserved = self._reserved, size
        if not self._memory.take(self, size - reserved):
            self._go_on = asyncio.Event()
            await self._go_on.wait()
            self._go_on = None
