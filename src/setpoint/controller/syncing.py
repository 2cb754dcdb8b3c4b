"""Syncing: the wait for caches at the start of a controller, and the error messages when the wait fails."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from setpoint.cache import CacheSyncError, Informer
from setpoint.client import Forbidden, NotFound, Unauthorized
from setpoint.controller.failures import INSTALL
from setpoint.controller.log import BoundLogger

REFUSED_GRACE: Final = 10.0
"""The number of seconds for which a server may refuse a list (Forbidden, NotFound, Unauthorized) before the start
fails.
"""


def why_not(informer: Informer[Any]) -> str:
    """The reason why the cache does not follow the server: the server's last answer, with advice; "" if the last
    attempt succeeded or no attempt has ended.
    """
    error, resource = informer.last_error, informer.resource
    if isinstance(error, NotFound) and "." in resource.group and not resource.group.endswith(".k8s.io"):
        return (
            f"the CustomResourceDefinition {resource.plural}.{resource.group} is not installed, or has no version "
            f"{resource.version}: {INSTALL} installs those of a program ({error})"
        )
    return str(error) if error is not None else ""


async def synced_by(informer: Informer[Any], deadline: float, who: str, log: BoundLogger) -> None:
    """Waits until the cache has synced, but not beyond ``deadline``, a time on the loop's clock.

    Raises:
        CacheSyncError: the cache did not sync in time, or the server kept refusing its requests for `REFUSED_GRACE`
            seconds; the error has the server's last answer.
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
                log.error(
                    "the server refuses a cache that this controller needs",
                    extra={"error": why_not(informer), "gives_up_in": min(REFUSED_GRACE, deadline - now)},
                )
            if now >= deadline or (refused_since is not None and now - refused_since >= REFUSED_GRACE):
                raise CacheSyncError(
                    f"{who}: the cache of {informer.resource} did not sync: "
                    f"{why_not(informer) or 'the server has not answered yet'}",
                    resource=informer.resource,
                    last_error=error,
                ) from error
