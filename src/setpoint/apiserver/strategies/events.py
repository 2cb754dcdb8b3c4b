"""Events under their two names: ``v1`` and ``events.k8s.io/v1`` say the same in different words."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["convert_event"]

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
    """``obj``, an Event of either group, as the other one has it; changed in place."""
    if obj.get("apiVersion") == api_version:
        return obj
    to_new = api_version == _NEW
    for core, new in _PAIRS:
        source, target = (core, new) if to_new else (new, core)
        if source in obj:
            obj[target] = obj.pop(source)
    obj["apiVersion"] = api_version
    return obj
