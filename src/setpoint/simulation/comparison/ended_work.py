"""Ended work: Jobs and pods that have run to their end, which no controller can undo."""

from __future__ import annotations

from typing import Final

from setpoint.simulation.comparison.snapshot import JSON, Snapshot

_WORK: Final = ("jobs.batch ", "pods ")
_ENDS: Final = ("Complete", "Failed")


def find_ended_in_one(left: Snapshot, right: Snapshot) -> str:
    """A Job or pod of both states that has run to its end in only one of them; ``""`` if there is none. The
    consequences of its end can't be the same in the other state.
    """
    both = sorted(subject for subject in left.keys() & right.keys() if subject.startswith(_WORK))
    return next((subject for subject in both if _count(left[subject]) != _count(right[subject])), "")


def _count(items: list[JSON]) -> int:
    return sum(map(_has_ended, items))


def _has_ended(item: JSON) -> bool:
    status = item.get("status") or {}
    if item.get("kind") == "Pod":
        return status.get("phase") in ("Succeeded", "Failed")
    conditions = status.get("conditions") or ()
    return any(condition.get("type") in _ENDS and condition.get("status") == "True" for condition in conditions)
