"""Events in both groups: ``v1`` and ``events.k8s.io/v1`` name the same fields differently."""

from __future__ import annotations

from typing import Any, Final

from setpoint.apiserver.strategies.go_dump import dump
from setpoint.meta.names import qualified_name
from setpoint.schema import FieldError
from setpoint.schema.errors import invalid, required

_KINDS: Final = {
    "involvedObject": "core.ObjectReference",
    "related": "*core.ObjectReference",
    "source": "core.EventSource",
    "firstTimestamp": "T",
    "lastTimestamp": "T",
    "eventTime": "T",
    "count": "i",
}

_NEW: Final = "events.k8s.io/v1"
# core name, events.k8s.io name
_PAIRS: Final = (
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
)


def convert_event(obj: dict[str, Any], api_version: str) -> dict[str, Any]:
    """``obj``, an Event of either group, converted (in place) to the form of ``api_version``."""
    if obj.get("apiVersion") == api_version:
        return obj
    to_new = api_version == _NEW
    for core, new in _PAIRS:
        source, target = (core, new) if to_new else (new, core)
        if source in obj:
            obj[target] = obj.pop(source)
    obj["apiVersion"] = api_version
    return obj


_LONGEST: Final = {"reportingInstance": 128, "action": 128, "reason": 128, "message": 1024}
_UNSET: Final = ("firstTimestamp", "lastTimestamp", "count", "source")
_KEPT: Final = (
    "involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "type", "eventTime",
    "action", "related", "reportingComponent", "reportingInstance",
)  # fmt: skip


def event_errors(obj: dict[str, Any], old: dict[str, Any] | None) -> list[FieldError]:
    """The errors in an event; ``events.k8s.io`` requires more fields and allows fewer changes."""
    new = obj.get("apiVersion") == _NEW
    event = convert_event(dict(obj), "v1")
    errors = _legacy_errors(event, "reportingController" if new else "reportingComponent")
    if not new:
        return errors
    if old is None:
        return errors + _series_errors(event) + _new_errors(event)
    before = convert_event(dict(old), "v1")
    if event.get("series") != before.get("series"):
        errors += _series_errors(event)
    for name in _KEPT:
        value = event.get(name)
        # This reference is a pointer, so an empty one differs from a missing one.
        same = value == before.get(name) if name == "related" else (value or None) == (before.get(name) or None)
        if not same:
            bad_value = dump(_KINDS.get(name, "s"), value) if name in _KINDS or value is None else value
            field = "reportingController" if name == "reportingComponent" else name
            errors.append(invalid(field, bad_value, "field is immutable"))
    return errors


def _legacy_errors(event: dict[str, Any], controller_field: str) -> list[FieldError]:
    own = event["metadata"].get("namespace", "")
    namespace = (event.get("involvedObject") or {}).get("namespace", "")
    mismatch = invalid("involvedObject.namespace", namespace, "does not match event.namespace")
    if not event.get("eventTime"):
        fits = namespace == own if namespace else own in ("", "default")
        return [] if fits else [mismatch]
    errors = [] if namespace or own in ("default", "kube-system") else [mismatch]
    controller = event.get("reportingComponent", "")
    if not controller:
        errors.append(required(controller_field))
    errors += [invalid(controller_field, controller, text) for text in qualified_name(controller)]
    for name, most in _LONGEST.items():
        value = event.get(name, "")
        if not value and name != "message":
            errors.append(required(name))
        if len(value.encode()) > most:
            errors.append(invalid(name, "", f"can have at most {most} characters"))
    return errors


def _new_errors(event: dict[str, Any]) -> list[FieldError]:
    errors = [] if event.get("eventTime") else [required("eventTime")]
    kind = event.get("type", "")
    if kind not in ("Normal", "Warning"):
        errors.append(invalid("type", "", f"has invalid value: {kind}"))
    return errors + [invalid(name, "", "needs to be unset") for name in _UNSET if event.get(name)]


def _series_errors(event: dict[str, Any]) -> list[FieldError]:
    series = event.get("series")
    if series is None:
        return []
    errors = [] if series.get("count", 0) >= 2 else [invalid("series.count", "", "should be at least 2")]
    return errors if series.get("lastObservedTime") else [*errors, required("series.lastObservedTime")]
