"""Complaints: what the framework only logs, of user functions other than reconciles: mappings, handlers, indexes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from setpoint.simulation.actor import ACTOR


class _Complaints(logging.Handler):
    def __init__(self, raised: Callable[[str, BaseException], None]) -> None:
        super().__init__(logging.ERROR)
        self._raised = raised

    def emit(self, record: logging.LogRecord) -> None:
        problem = record.exc_info[1] if record.exc_info else None
        actor = ACTOR.get()
        if problem is not None and actor is not None and actor.lane == "controller":
            self._raised(record.getMessage(), problem)


@contextmanager
def heard(raised: Callable[[str, BaseException], None]) -> Iterator[None]:
    """Has ``raised`` called with every exception that is logged in a process of controllers. Nothing is printed."""
    logger = logging.getLogger("setpoint")
    handler, propagates, disabled = _Complaints(raised), logger.propagate, logging.root.manager.disable
    logger.addHandler(handler)
    logger.propagate = False
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(disabled)
        logger.propagate = propagates
        logger.removeHandler(handler)
