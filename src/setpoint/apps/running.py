"""Running a program's coroutine: until it ends, or until somebody asks it to stop."""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from setpoint.apps.failures import reported
from setpoint.concurrency import end, told_of
from setpoint.manager import stopping_on_signals

LEFT: Final = 5.0
"""Seconds that tasks which nobody waits for any more have for their end."""


def run(program: str, work: Coroutine[Any, Any, None], *, waits_for: Callable[[], Sequence[str]] | None = None) -> None:
    """Runs ``work`` to its end; failures that a user can mend become one line (`setpoint.apps.failures`).

    The first SIGINT or SIGTERM cancels ``work``, which then cleans up and ends the process with status 0; where that
    may take a while, it says what it ``waits_for``. The second ends it at once with status 1. Tasks that ``work`` has
    left behind and that don't end are named, and end with the process.
    """
    with asyncio.Runner() as runner:
        try:
            with reported(program):
                runner.run(_until_signalled(work, waits_for))
        finally:
            _leave(program, runner)


async def _until_signalled(work: Coroutine[Any, Any, None], waits_for: Callable[[], Sequence[str]] | None) -> None:
    task = asyncio.ensure_future(work)
    asked = False

    def stop() -> None:
        nonlocal asked
        asked = True
        task.cancel()

    with stopping_on_signals(stop, waits_for=waits_for):
        try:
            await task
        except asyncio.CancelledError:
            if not asked:
                raise


def _leave(program: str, runner: asyncio.Runner) -> None:
    """Ends the process where asyncio would wait for ever: for tasks that swallow every cancellation."""
    tasks = asyncio.all_tasks(runner.get_loop())
    if not tasks or not (left := runner.run(end(tasks, within=LEFT))):
        return
    problem = sys.exception()
    if problem is not None and not isinstance(problem, SystemExit):
        traceback.print_exception(problem)
    told = "\n".join(told_of(task) for task in left)
    print(f"{program}: ends although these do not:\n{told}", file=sys.stderr, flush=True)  # noqa: T201
    sys.stdout.flush()
    os._exit(1)
