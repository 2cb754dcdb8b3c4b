"""The lifespan of a manager: an object that a program opens before anything runs, and closes when everything has
ended.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from setpoint.controller import ProgramState


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
    state.open(await lifespan.__aenter__())
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
    await lifespan.__aexit__(None, None, None)
