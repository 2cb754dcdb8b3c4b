"""A logger with fields bound to it: controller, key, reconcile id."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import Any, Final

_ARGUMENTS: Final = frozenset({"exc_info", "extra", "stack_info", "stacklevel"})
"""The keyword arguments that `logging` takes; any other keyword argument is a field."""


class BoundLogger(logging.LoggerAdapter[logging.Logger]):
    """A logger that adds its fields to every record. The record has them as ``record.fields``, which the formatters of
    `setpoint.manager.logging` print.

    ``log.info("scaled", replicas=3)`` adds fields to one record. ``extra={"replicas": 3}`` does the same, and also
    takes names that are arguments of `logging`, such as ``exc_info``. ``log.bind(pod=name)`` returns a new logger with
    more fields.
    """

    def __init__(self, logger: logging.Logger, fields: dict[str, Any] | None = None) -> None:
        super().__init__(logger, {})
        self.fields = fields or {}

    def bind(self, **fields: Any) -> BoundLogger:
        """A logger with more fields."""
        return BoundLogger(self.logger, {**self.fields, **fields})

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        passed = {name: value for name, value in kwargs.items() if name in _ARGUMENTS}
        own = {name: value for name, value in kwargs.items() if name not in _ARGUMENTS}
        return msg, {**passed, "extra": {"fields": {**self.fields, **own, **(passed.get("extra") or {})}}}
