"""News of claims: the volume binder tells the scheduler which claims it has processed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from setpoint.meta import ObjectKey


class ClaimNotifications:
    """A queue of the keys of claims that may have changed, because they were bound or because volumes or classes have
    changed.

    It serves one binder and one scheduler of the same control plane. Until the scheduler follows it, nothing is kept:
    the scheduler begins with all pods and their claims.
    """

    def __init__(self) -> None:
        self._queue: asyncio.Queue[ObjectKey] = asyncio.Queue()
        self._followed = False

    def note(self, claim: ObjectKey) -> None:
        """Announces that the binder has processed a claim. The binder calls this method when the server has received
        the binder's writes to the claim and the volume; the claim's status is written afterwards.
        """
        if self._followed:
            self._queue.put_nowait(claim)

    async def changed_claims(self) -> AsyncIterator[ObjectKey]:
        """Yields the key of each claim that is announced from now on."""
        self._followed = True
        while True:
            yield await self._queue.get()
