"""Ended work: Jobs and pods that have run to their end, which no controller can undo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from setpoint.simulation.comparison.snapshot import JSON, Snapshot

_JOBS: Final = "jobs.batch "
_WORK: Final = (_JOBS, "pods ")
_ENDS: Final = ("Complete", "Failed")
_PHASES: Final = ("phase", "state")
_END_WORDS: Final = frozenset({"cancelled", "complete", "completed", "done", "finished", "succeeded"})
"""The words by which a status says that work was done once and for all. A failure is not one of them: users change
an object to mend it.
"""


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


def find_changed_after_end(rest_states: Sequence[Snapshot], desired: Sequence[Mapping[str, JSON]]) -> str:
    """An object of users that they have changed after its status said that its work was done, and whose status has
    stayed the same since; ``""`` if there is none. ``desired`` has the objects that users ask for at the ends of the
    steps, by collection and label.
    """
    states = [*zip(rest_states, desired, strict=True)]
    for subject in sorted(desired[-1] if desired else ()):
        statuses, documents = [], []
        for rest, wanted in states:
            items = rest.get(subject) or [{}]
            statuses.append(_without_generations(items[0].get("status") or {}) if subject in wanted else {})
            documents.append(wanted.get(subject))
        since = next((step for step, status in enumerate(statuses) if _says_done(status)), None)
        if since is None or any(status != statuses[since] for status in statuses[since:]):
            continue
        if any(document != documents[since] for document in documents[since:]):
            return subject
    return ""


def _says_done(status: JSON) -> bool:
    words = {str(status.get(name, "")).lower() for name in _PHASES}
    conditions = status.get("conditions") or ()
    words |= {str(condition.get("type")).lower() for condition in conditions if condition.get("status") == "True"}
    return bool(words & _END_WORDS)


def _without_generations(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {name: _without_generations(item) for name, item in value.items() if name != "observedGeneration"}
    return [*map(_without_generations, value)] if isinstance(value, list) else value


def find_work(state: Snapshot) -> set[str]:
    """The Jobs in a state, and the objects that belong to them."""
    return {
        subject
        for subject, items in state.items()
        if subject.startswith(_JOBS)
        or any(
            str(reference.get("uid", "")).startswith(f"<uid of {_JOBS}")
            for item in items
            for reference in item.get("metadata", {}).get("ownerReferences") or ()
        )
    }


def find_unscheduled_ends(state: Snapshot) -> set[str]:
    """The pods that have ended although no scheduler has placed them. Only a scenario that writes the status in place
    of the kubelet can do this, while the control plane is late.
    """
    return {
        subject
        for subject, items in state.items()
        if subject.startswith("pods ")
        and any(_has_ended(item) and not (item.get("spec") or {}).get("nodeName") for item in items)
    }
