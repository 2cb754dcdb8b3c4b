"""Signals: the first signal requests a stop, the second ends the process."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

SIGNALS: Final = (signal.SIGINT, signal.Signals(getattr(signal, "SIGBREAK", signal.SIGTERM)))
"""On Windows, which sends no SIGTERM, Ctrl-C and Ctrl-Break."""
_NAMED: Final = 5


@contextmanager
def stopping_on_signals(
    stop: Callable[[], None],
    *,
    waits_for: Callable[[], Sequence[str]] | None = None,
    kill: Callable[[int], None] = os._exit,
) -> Iterator[None]:
    """Within the block, the first SIGINT or SIGTERM (on Windows, SIGINT or SIGBREAK) calls ``stop()``, and the second
    ends the process with status 1.

    With ``waits_for``, the first signal also prints a line to stderr, with the names of the work that the stop waits
    for.

    Must be called in the main thread, with a running loop.
    """
    loop = asyncio.get_running_loop()
    count = 0

    def on_signal() -> None:
        nonlocal count
        count += 1
        if count > 1:
            kill(1)
            return
        if waits_for is not None:
            with suppress(OSError):  # a terminal that is gone must not keep the program from stopping
                announce(list(waits_for()))
        stop()

    def announce(waits: list[str]) -> None:
        more = f" and {len(waits) - _NAMED} more" if len(waits) > _NAMED else ""
        waiting_for = f", waiting for {', '.join(waits[:_NAMED])}{more}" if waits else ""
        print(f"stopping{waiting_for}; Ctrl-C or SIGTERM again ends the program at once", file=sys.stderr, flush=True)  # noqa: T201

    undo = [_handle(loop, number, on_signal) for number in SIGNALS]
    try:
        yield
    finally:
        for restore in undo:
            restore()


def _handle(loop: asyncio.AbstractEventLoop, number: int, on_signal: Callable[[], None]) -> Callable[[], object]:
    """Lets ``on_signal`` handle a signal, and returns a function that ends this."""
    try:
        loop.add_signal_handler(number, on_signal)
    except NotImplementedError:  # on Windows, where a signal wakes the loop, but the loop handles none
        before = signal.signal(number, lambda _number, _frame: loop.call_soon_threadsafe(on_signal))
        return lambda: signal.signal(number, before)
    return lambda: loop.remove_signal_handler(number)
