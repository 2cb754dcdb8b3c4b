"""A logger with fields bound to it: controller, key, reconcile id."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import Any


class BoundLogger(logging.LoggerAdapter[logging.Logger]):
    """Logs with the fields it carries; the record has them as ``record.fields``, which the formatters of
    `setpoint.manager.logging` print.

    ``log.info("scaled", extra={"replicas": 3})`` adds fields to one record, ``log.bind(pod=name)`` to a new logger.
    """

    def __init__(self, logger: logging.Logger, fields: dict[str, Any] | None = None) -> None:
        super().__init__(logger, {})
        self.fields = fields or {}

    def bind(self, **fields: Any) -> BoundLogger:
        """A logger with more fields."""
        return BoundLogger(self.logger, {**self.fields, **fields})

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        kwargs["extra"] = {"fields": {**self.fields, **(kwargs.get("extra") or {})}}
        return msg, kwargs
