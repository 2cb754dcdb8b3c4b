"""Logged exceptions: exceptions from the user's functions that the framework only logs. They come from mappings,
handlers and indexes, but not from reconciles.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from setpoint.simulation.sandbox.actor import ACTOR
from setpoint.simulation.sandbox.log_suppression import suppress_logs

_LOGGER: Final = logging.getLogger("setpoint")


class _Complaints(logging.Handler):
    def __init__(self, raised: Callable[[str, BaseException], None]) -> None:
        super().__init__(logging.ERROR)
        self._raised = raised
        others = _Complaints.all()
        self.propagated: bool = others[0].propagated if others else _LOGGER.propagate
        """Whether the logger's records went on to the root before the first block began."""

    @staticmethod
    def all() -> list[_Complaints]:
        return [handler for handler in _LOGGER.handlers if isinstance(handler, _Complaints)]

    def emit(self, record: logging.LogRecord) -> None:
        problem = record.exc_info[1] if record.exc_info else None
        actor = ACTOR.get()
        if problem is not None and actor is not None and actor.lane == "controller":
            self._raised(record.getMessage(), problem)


@contextmanager
def report_logged_exceptions(raised: Callable[[str, BaseException], None]) -> Iterator[None]:
    """Calls ``raised`` with the message and the exception whenever, within the block, a controller process logs an
    error with an exception. The framework's log records do not reach the root logger meanwhile.
    """
    handler = _Complaints(raised)
    _LOGGER.addHandler(handler)
    _LOGGER.propagate = False
    try:
        with suppress_logs(logging.WARNING):
            yield
    finally:
        _LOGGER.removeHandler(handler)
        if not _Complaints.all():
            _LOGGER.propagate = handler.propagated
