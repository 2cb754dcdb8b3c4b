"""Ending tasks in tests, so that what they ended with is looked at."""

from __future__ import annotations

import asyncio
from typing import Any


async def stop(*tasks: asyncio.Future[Any]) -> None:
    """Cancels tasks that would go on forever, and waits until they have ended.

    Raises what one has failed with, before that or because of it. One that returned instead, because it was over
    already or because it swallowed the cancellation, is an AssertionError.
    """
    await drop(*tasks)
    for task in tasks:
        assert task.cancelled(), f"it returned: {task!r}"


async def drop(*tasks: asyncio.Future[Any]) -> None:
    """Cancels tasks, be they over or not, and waits until they have ended. Raises what one has failed with."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.result()
