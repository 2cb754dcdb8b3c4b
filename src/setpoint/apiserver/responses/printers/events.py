"""The printer for events of both API groups, which name the same fields differently."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from setpoint.apiserver.responses.printers.cells import Wire, get, name, since, text
from setpoint.apiserver.responses.printers.printer import NAME, Column, Printer


def _cells(obj: Wire, now: datetime) -> list[Any]:
    target = get(obj, "involvedObject") or get(obj, "regarding", default={})
    source = get(obj, "source") or get(obj, "deprecatedSource", default={})
    began = text(obj, "firstTimestamp") or text(obj, "deprecatedFirstTimestamp") or text(obj, "eventTime")
    ended = text(obj, "lastTimestamp") or text(obj, "deprecatedLastTimestamp") or began
    count = get(obj, "count") or get(obj, "deprecatedCount") or 1
    series = get(obj, "series")
    if series is not None:
        ended, count = text(series, "lastObservedTime"), get(series, "count", default=0)
    component = text(source, "component") or text(obj, "reportingComponent") or text(obj, "reportingController")
    host = text(source, "host") or text(obj, "reportingInstance")
    kind = text(target, "kind").lower()
    return [
        since(ended, now),
        text(obj, "type"),
        text(obj, "reason"),
        f"{kind}/{target['name']}" if target.get("name") else kind,
        text(target, "fieldPath"),
        f"{component}, {host}" if host else component,
        (text(obj, "message") or text(obj, "note")).strip(),
        since(began, now),
        int(count),
        name(obj),
    ]


_EVENT = "core.v1.Event."
EVENTS = Printer(
    (
        Column("Last Seen", _EVENT + "lastTimestamp"),
        Column("Type", _EVENT + "type"),
        Column("Reason", _EVENT + "reason"),
        Column("Object", _EVENT + "involvedObject"),
        Column("Subobject", "core.v1.ObjectReference.fieldPath", priority=1),
        Column("Source", _EVENT + "source", priority=1),
        Column("Message", _EVENT + "message"),
        Column("First Seen", _EVENT + "firstTimestamp", priority=1),
        Column("Count", _EVENT + "count", priority=1),
        Column("Name", NAME.field, format="name", priority=1),
    ),
    _cells,
)
