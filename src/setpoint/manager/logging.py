"""Log records as text for people or as JSON for machines, with the fields that loggers of this package bind."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Literal, TextIO

from setpoint.meta.text_escaping import indented, json_line

Format = Literal["text", "json"]


def configure(
    format: Format = "text",
    level: int | str = "INFO",
    *,
    stream: TextIO | None = None,
    fields: Mapping[str, Any] = MappingProxyType({}),
) -> logging.Handler:
    """Sends the records of all loggers to ``stream`` (standard error by default), except those below ``level``. The
    ``fields`` are added to each record.

    Returns the handler, so that programs can remove it. In this package, only the commands call this function.

    Raises:
        ValueError: the format or the level does not exist.
    """
    if format not in ("text", "json"):
        raise ValueError(f"log format {format!r} is neither text nor json")
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter(fields) if format == "json" else TextFormatter(fields))
    root = logging.getLogger()
    root.setLevel(level)
    root.addHandler(handler)
    return handler


class _WithFields(logging.Formatter):
    """A formatter for records with fields. Its own ``fields`` are added, and take precedence."""

    def __init__(self, fields: Mapping[str, Any] = MappingProxyType({})) -> None:
        super().__init__()
        self._all = fields

    def _fields(self, record: logging.LogRecord) -> Mapping[str, Any]:
        fields = getattr(record, "fields", None)
        own = fields if isinstance(fields, Mapping) else {}
        trace = _trace_fields()
        return {**own, **trace, **self._all} if self._all or trace else own


def _trace_fields() -> dict[str, str]:
    """The ids of the span in which the record was made, such as that of a reconcile; none without a tracer provider."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return {}
    context = trace.get_current_span().get_span_context()
    return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"} if context.is_valid else {}


class TextFormatter(_WithFields):
    """A formatter for people: ``2026-01-31T12:00:00.000Z INFO    setpoint.controller: scaled controller=mykind``.

    Only the first line of a record begins at the margin, and control characters are made visible (see
    `setpoint.meta.text_escaping.visible`), so that the text of an object can neither forge records nor reach a
    terminal.
    """

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
        line = f"{moment}Z {record.levelname:<7} {record.name}: {record.getMessage()}"
        for name, value in self._fields(record).items():
            if value is None or value == "":
                continue
            text = value if isinstance(value, str) else json_line(value)
            is_bare = not isinstance(value, str) or (text.isprintable() and " " not in text)
            line += f" {name}={text}" if is_bare else f" {name}={text!r}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return indented(line)


class JsonFormatter(_WithFields):
    """A formatter that writes one JSON object per line: ``ts`` (RFC 3339), ``level``, ``logger``, ``msg`` and the
    record's fields.
    """

    def format(self, record: logging.LogRecord) -> str:
        document: dict[str, Any] = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": record.getMessage(),
        }
        for name, value in self._fields(record).items():
            if value is not None and value != "":
                document[name if name not in document else f"{name}_"] = value
        if record.exc_info:
            document["stacktrace"] = self.formatException(record.exc_info)
        return json_line(document)
