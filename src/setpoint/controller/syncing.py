"""Syncing: how long a controller waits for a cache at its start, and what it says when it gives up."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from setpoint.cache import CacheSyncError, Informer
from setpoint.client import Forbidden, NotFound, Unauthorized

REFUSED_GRACE: Final = 10.0
"""Seconds that a server may go on refusing a list (Forbidden, no such resource) before the start is given up."""


async def synced_by(informer: Informer[Any], deadline: float, who: str) -> None:
    """Waits until the cache has synced, at most until the loop's time ``deadline``.

    Raises:
        CacheSyncError: it has not, or the server went on refusing it for `REFUSED_GRACE`; with its last answer.
    """
    loop = asyncio.get_running_loop()
    refused_since: float | None = None
    while not informer.has_synced:
        try:
            async with asyncio.timeout_at(min(deadline, loop.time() + 1.0)):
                await informer.wait_synced()
        except TimeoutError:
            error = informer.last_error
            now = loop.time()
            if not isinstance(error, Forbidden | NotFound | Unauthorized):
                refused_since = None
            elif refused_since is None:
                refused_since = now
            if now >= deadline or (refused_since is not None and now - refused_since >= REFUSED_GRACE):
                raise CacheSyncError(
                    f"{who}: the cache of {informer.resource} did not sync: "
                    f"{error or 'the server has not answered yet'}",
                    resource=informer.resource,
                    last_error=error,
                ) from error
