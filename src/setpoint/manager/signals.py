"""Signals: the first signal requests a stop, the second ends the process."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_NAMED: Final = 5


@contextmanager
def stopping_on_signals(
    stop: Callable[[], None],
    *,
    waits_for: Callable[[], Sequence[str]] | None = None,
    kill: Callable[[int], None] = os._exit,
) -> Iterator[None]:
    """Within the block, the first SIGINT or SIGTERM calls ``stop()``, and the second ends the process with status 1.

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
                tell(list(waits_for()))
        stop()

    def tell(waits: list[str]) -> None:
        more = f" and {len(waits) - _NAMED} more" if len(waits) > _NAMED else ""
        waiting_for = f", waiting for {', '.join(waits[:_NAMED])}{more}" if waits else ""
        print(f"stopping{waiting_for}; Ctrl-C or SIGTERM again ends the program at once", file=sys.stderr, flush=True)  # noqa: T201

    for number in SIGNALS:
        loop.add_signal_handler(number, on_signal)
    try:
        yield
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)
