"""News of claims: the binder of volumes tells the scheduler which claims it has looked at."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from setpoint.meta import ObjectKey


class ClaimNews:
    """The keys of claims of which something may have changed: they were bound, or there are other volumes or classes.

    For one binder and one scheduler of the same control plane.
    """

    def __init__(self) -> None:
        self._queue: asyncio.Queue[ObjectKey] = asyncio.Queue()

    def tell(self, claim: ObjectKey) -> None:
        """Says that a claim was looked at, when all that the binder has written for it is on the server."""
        self._queue.put_nowait(claim)

    async def told(self) -> AsyncIterator[ObjectKey]:
        """The claims, as they are told of."""
        while True:
            yield await self._queue.get()
