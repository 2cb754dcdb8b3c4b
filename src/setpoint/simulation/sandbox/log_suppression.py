"""Log suppression: suppresses the logs of the program under test while a run lasts."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

_blocks: dict[object, int] = {}
"""The levels of all `suppress_logs` blocks that have not ended, in the order in which they began; the last one is in
effect. The switch of `logging` belongs to the whole process, and blocks may end in any order: a coroutine that a
livelock has left suspended ends only when Python collects it.
"""
_before = logging.NOTSET


@contextmanager
def suppress_logs(level: int = logging.CRITICAL) -> Iterator[None]:
    """Suppresses log records of ``level`` and below, since a simulation causes errors in the program under test on
    purpose.

    When the last of several blocks has ended, logging is as it was before the first.
    """
    global _before
    if not _blocks:
        _before = logging.root.manager.disable
    block = object()
    _blocks[block] = level
    logging.disable(level)
    try:
        yield
    finally:
        del _blocks[block]
        logging.disable(next(reversed(_blocks.values()), _before))
