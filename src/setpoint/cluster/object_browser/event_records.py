"""Reports: the content of stored events that the page shows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec

from setpoint.meta import Resource

_GROUPS: Final = ("", "events.k8s.io")
_REPORTERS: Final = ("reportingComponent", "reportingController")


class Report(NamedTuple):
    """An event about the object with the uid ``about``, reported ``times`` times from ``since`` to ``at`` by the
    component ``by``.
    """

    about: str
    at: datetime
    since: datetime
    type: str
    reason: str
    note: str
    times: int
    by: str

    @property
    def warns(self) -> bool:
        return self.type == "Warning"

    @property
    def text(self) -> str:
        """The reason and the note of the event as one line."""
        return ": ".join(part for part in (self.reason, self.note) if part)


def report_of(resource: Resource, obj: Mapping[str, Any]) -> Report | None:
    """The content of the event ``obj``; None if ``obj`` is not an event, or if its times can't be read."""
    if resource.kind != "Event" or resource.group not in _GROUPS:
        return None
    about = _mapping(obj, "involvedObject") or _mapping(obj, "regarding")
    series, source = _mapping(obj, "series"), _mapping(obj, "source")
    created_at = _mapping(obj, "metadata").get("creationTimestamp")
    last = _first(series.get("lastObservedTime"), obj.get("lastTimestamp"), obj.get("eventTime"), created_at)
    first = _first(obj.get("firstTimestamp"), obj.get("eventTime"), last)
    try:
        at, since = (msgspec.convert(timestamp, datetime) for timestamp in (last, first))
    except msgspec.ValidationError:
        return None
    return Report(
        about=str(about.get("uid") or ""),
        at=at,
        since=since,
        type=str(obj.get("type") or ""),
        reason=str(obj.get("reason") or ""),
        note=str(obj.get("message") or obj.get("note") or ""),
        times=int(series.get("count") or obj.get("count") or obj.get("deprecatedCount") or 1),
        by=str(_first(*(obj.get(name) for name in _REPORTERS), source.get("component")) or ""),
    )


def _first(*values: Any) -> Any:
    return next((value for value in values if value), None)


def _mapping(obj: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = obj.get(name)
    return value if isinstance(value, dict) else {}
