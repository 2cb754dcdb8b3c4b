"""Runs a program's coroutine until it ends or a signal stops it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Coroutine, Sequence
from types import TracebackType
from typing import Any, Final

from setpoint.apps.error_reports import reported
from setpoint.concurrency import end, stack_of_thread, task_report
from setpoint.manager import stopping_on_signals
from setpoint.meta.text_escaping import visible

LEFT: Final = 5.0
"""Seconds to wait for abandoned tasks and threads to end."""


def run(
    program: str,
    work: Coroutine[Any, Any, None],
    *,
    waits_for: Callable[[], Sequence[str]] | None = None,
    at_once: Callable[[], None] | None = None,
) -> None:
    """Runs ``work`` to its end; a failure that a user can fix is reported as one line (see
    `setpoint.apps.error_reports`).

    The first SIGINT or SIGTERM cancels ``work``, which then cleans up; the process ends with status 0. With
    ``waits_for``, a message names the work that the clean-up waits for. The second signal calls ``at_once`` and ends
    the process with status 1. If ``work`` leaves behind tasks or threads that don't end, a message names them, and the
    process ends with status 1.

    The traceback of any other failure is written by the process's `sys.excepthook`, which escapes what a terminal would
    obey, unless the program has set one of its own.
    """
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _show
    with asyncio.Runner() as runner:
        try:
            with reported(program):
                runner.run(_until_signalled(work, waits_for, at_once))
        finally:
            _leave(program, runner)


def _show(kind: type[BaseException], problem: BaseException, trace: TracebackType | None) -> None:
    """Writes a traceback to standard error. Messages may have the text of an object."""
    sys.stderr.write(visible("".join(traceback.format_exception(kind, problem, trace))))


async def _until_signalled(
    work: Coroutine[Any, Any, None],
    waits_for: Callable[[], Sequence[str]] | None,
    at_once: Callable[[], None] | None,
) -> None:
    task = asyncio.get_running_loop().create_task(work)
    is_stopping = False

    def stop() -> None:
        nonlocal is_stopping
        is_stopping = True
        task.cancel()

    def kill(status: int) -> None:
        if at_once is not None:
            at_once()
        os._exit(status)

    with stopping_on_signals(stop, waits_for=waits_for, kill=kill):
        try:
            await task
        except asyncio.CancelledError:
            if not is_stopping:
                raise


def _leave(program: str, runner: asyncio.Runner) -> None:
    """Ends the process if tasks swallow every cancellation, or if threads, which can't be cancelled, are still running.
    Otherwise Python would wait for them forever.
    """
    before = signal.signal(signal.SIGINT, lambda *_: os._exit(1))  # a second Ctrl-C may as well come now
    loop = runner.get_loop()
    deadline = loop.time() + LEFT
    tasks = asyncio.all_tasks(loop)
    unfinished = [task_report(task) for task in (runner.run(end(tasks, within=LEFT)) if tasks else ())]
    if not unfinished:
        unfinished = _threads_left(runner, deadline)
    signal.signal(signal.SIGINT, before)
    if not unfinished:
        return
    problem = sys.exception()
    if problem is not None and not isinstance(problem, SystemExit):
        _show(type(problem), problem, problem.__traceback__)
    lines = "\n".join(unfinished)
    print(f"{program}: exits, although these have not ended:\n{lines}", file=sys.stderr, flush=True)  # noqa: T201
    sys.stdout.flush()
    logging.shutdown()
    os._exit(1)


def _threads_left(runner: asyncio.Runner, deadline: float) -> list[str]:
    """The threads that Python waits for before it exits and that are still running at the loop time ``deadline``, each
    with its stack.
    """
    loop = runner.get_loop()

    async def idle_ones_end() -> None:
        # Not cancelled when it is late: what it does then is to block the loop.
        ending = loop.create_task(loop.shutdown_default_executor())
        await asyncio.wait((ending,), timeout=max(deadline - loop.time(), 0.0))

    threads = [
        thread for thread in threading.enumerate() if not thread.daemon and thread is not threading.main_thread()
    ]
    if not threads:
        return []
    runner.run(idle_ones_end())
    entries = []
    for thread in threads:
        thread.join(max(deadline - loop.time(), 0.0))
        if thread.is_alive():
            stack = stack_of_thread(thread.ident) if thread.ident is not None else []
            entries.append("\n".join((f"  {thread.name}", *(f"    {line}" for line in stack))))
    return entries
