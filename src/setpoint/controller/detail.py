"""Details about an object: its conditions, the objects that it owns, and its events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from setpoint.cache import Informer
from setpoint.cache.indexes import OWNER
from setpoint.controller.events import EventRecorder
from setpoint.controller.explain import Explanation, explain
from setpoint.controller.running import RunningController
from setpoint.meta import ObjectKey

MOST: Final = 200
"""The maximum number of owned objects in one `Detail`."""
DEPTH: Final = 5
_GOOD: Final = ("Ready", "Available", "Complete", "Established", "Bound", "Healthy", "Synced")
"""The types of the conditions that summarize the state of an object, in order of preference."""


class ConditionTold(msgspec.Struct, rename="camel", kw_only=True):
    """A condition of the object, as the cache shows it. A field that the condition does not set is empty."""

    type: str
    status: str
    reason: str
    message: str
    since: str


class Owned(msgspec.Struct, rename="camel", kw_only=True):
    """An owned object in a cache of this process: a summary of its status, and the objects that it owns in turn."""

    kind: str
    key: str
    says: str
    deleting: bool
    owns: list[Owned]


class EventTold(msgspec.Struct, rename="camel", kw_only=True):
    """An event that this process has reported, and how often it was reported."""

    at: datetime
    type: str
    reason: str
    note: str
    count: int


class Detail(msgspec.Struct, rename="camel", kw_only=True):
    """The explanation of an object, with its conditions, owned objects and events."""

    explanation: Explanation
    conditions: list[ConditionTold]
    owned: list[Owned]
    """The owned objects in the caches of this process, at most `MOST`, counting the objects that they own in turn."""
    events: list[EventTold]
    """The events of the last few minutes; see `EventRecorder.about`."""


def detail(
    run: RunningController[Any],
    key: ObjectKey,
    *,
    caches: Iterable[Informer[Any]],
    among: Iterable[RunningController[Any]] | None = None,
    recorder: EventRecorder | None = None,
) -> Detail:
    """The details of an object. The call needs the running loop; it makes no request and changes nothing.

    ``among`` has the same meaning as in `setpoint.controller.explain.explain`.
    """
    informer = run.informers.get(run.controller.resource.gvr)
    document = informer.store.get(key) if informer is not None else None
    uid = ""
    conditions: list[ConditionTold] = []
    if document is not None:
        read = msgspec.json.decode(document)
        uid = read["metadata"].get("uid", "")
        conditions = list(conditions_of(read))
    told = recorder.about(uid) if recorder is not None and uid else []
    return Detail(
        explanation=explain(run, key, among=among),
        conditions=conditions,
        owned=_Tree(caches).below(uid) if uid else [],
        events=[
            EventTold(at=at, type=event.type or "", reason=event.reason or "", note=event.note or "", count=count)
            for event, count, at in told
        ],
    )


class _Tree:
    """The trees of owned objects, from the caches."""

    def __init__(self, caches: Iterable[Informer[Any]]) -> None:
        self._caches = list({id(each.store): each for each in caches}.values())
        self._left = MOST
        self._met: set[str] = set()

    def below(self, uid: str, depth: int = DEPTH) -> list[Owned]:
        found: list[Owned] = []
        if not depth or uid in self._met:
            return found
        self._met.add(uid)
        for informer in self._caches:
            for key in sorted(informer.store.indexed(OWNER, uid)):
                document = informer.store.get(key)
                if document is None or self._left <= 0:
                    continue
                self._left -= 1
                read = msgspec.json.decode(document)
                own = read["metadata"]
                found.append(
                    Owned(
                        kind=informer.resource.kind,
                        key=key,
                        says=_says(read),
                        deleting="deletionTimestamp" in own,
                        owns=self.below(own.get("uid", ""), depth - 1),
                    )
                )
        return found


def conditions_of(read: Mapping[str, Any]) -> Iterator[ConditionTold]:
    """The conditions in the status of ``read``, an object as JSON."""
    status = read.get("status")
    found = status.get("conditions") if isinstance(status, dict) else None
    for each in found if isinstance(found, list) else ():
        if isinstance(each, dict) and "type" in each:
            words = (each.get(name) or "" for name in ("type", "status", "reason", "message", "lastTransitionTime"))
            type_, is_so, reason, message, since = map(str, words)
            yield ConditionTold(type=type_, status=is_so, reason=reason, message=message, since=since)


def _says(read: dict[str, Any]) -> str:
    """A few words from the status of an object that describe its state; ``""`` if the status contains none."""
    status = read.get("status")
    if not isinstance(status, dict):
        return ""
    words = []
    if isinstance(status.get("phase"), str):
        words.append(status["phase"])
    wanted = (read.get("spec") or {}).get("replicas") if isinstance(read.get("spec"), dict) else None
    if isinstance(wanted, int):
        words.append(f"{status.get('readyReplicas', 0)} of {wanted} ready")
    conditions = {each.type: each for each in conditions_of(read)}
    telling = next((conditions[name] for name in _GOOD if name in conditions), None)
    if telling is not None and (telling.status != "True" or not words):
        words.append(f"{telling.type}={telling.status}" + (f" ({telling.reason})" if telling.reason else ""))
    return ", ".join(words)
