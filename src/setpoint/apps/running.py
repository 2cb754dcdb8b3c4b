"""Running a program's coroutine: until it ends, or until somebody asks it to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from setpoint.apps.failures import reported
from setpoint.manager import stopping_on_signals


def run(program: str, work: Coroutine[Any, Any, None]) -> None:
    """Runs ``work`` to its end; failures that a user can mend become one line (`setpoint.apps.failures`).

    The first SIGINT or SIGTERM cancels ``work``, which then cleans up and ends the process with status 0; the second
    ends it at once with status 1.
    """
    with reported(program):
        asyncio.run(_until_signalled(work))


async def _until_signalled(work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.ensure_future(work)
    asked = False

    def stop() -> None:
        nonlocal asked
        asked = True
        task.cancel()

    with stopping_on_signals(stop):
        try:
            await task
        except asyncio.CancelledError:
            if not asked:
                raise
