"""Signals: the first asks to stop, the second doesn't ask."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stopping_on_signals(stop: Callable[[], None], *, kill: Callable[[int], None] = os._exit) -> Iterator[None]:
    """Within the block the first SIGINT or SIGTERM calls ``stop()``, the second ends the process with status 1.

    Needs the main thread's running loop.
    """
    loop = asyncio.get_running_loop()
    seen = 0

    def on_signal() -> None:
        nonlocal seen
        seen += 1
        if seen == 1:
            stop()
        else:
            kill(1)

    for number in SIGNALS:
        loop.add_signal_handler(number, on_signal)
    try:
        yield
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)
