"""The lifespan of a manager: an object that a program opens before anything runs, and closes when everything has
ended.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any, Final

from setpoint.concurrency import stack_of
from setpoint.controller import ProgramState

logger = logging.getLogger("setpoint.manager")
REPORT_AFTER: Final = 10.0
"""Seconds after which a lifespan that has not begun or ended is logged, with the line at which it waits."""


@asynccontextmanager
async def opened(
    factory: Callable[[], AbstractAsyncContextManager[Any]] | None, state: ProgramState
) -> AsyncIterator[None]:
    """Enters the lifespan, and makes its object available to reconciles.

    The lifespan is always left as if the block had ended normally. If both the block and leaving the lifespan fail, the
    block's error is raised, with the lifespan's error added as a note.
    """
    if factory is None:
        yield
        return
    lifespan = factory()
    with _log_if_late("begun"):
        entered = await lifespan.__aenter__()
    state.open(entered)
    try:
        yield
    except BaseException as problem:
        # A stop by a signal is a cancellation. It is not a failure of the lifespan, which ends as usual.
        try:
            await _close(lifespan, state)
        except Exception as other:  # noqa: BLE001 - the first failure is the one to raise
            problem.add_note(f"and afterwards {type(other).__name__}: {other}")
        raise
    await _close(lifespan, state)


async def _close(lifespan: AbstractAsyncContextManager[Any], state: ProgramState) -> None:
    state.close()
    with _log_if_late("ended"):
        await lifespan.__aexit__(None, None, None)


@contextmanager
def _log_if_late(participle: str) -> Iterator[None]:
    """Logs where the current task waits if the block takes longer than `REPORT_AFTER`."""
    task = asyncio.current_task()
    assert task is not None
    report = asyncio.get_running_loop().call_later(REPORT_AFTER, _report, task, participle)
    try:
        yield
    finally:
        report.cancel()


def _report(task: asyncio.Task[Any], participle: str) -> None:
    frames = "\n".join(f"  {line}" for line in stack_of(task))
    text = "has not %s within %g s; it is at\n%s"
    logger.warning(text, participle, REPORT_AFTER, frames, extra={"fields": {"what": "lifespan"}})
