"""Reasons: why an object is not in its wanted state, as derived from its status, from the events about it, and from the
objects that cause the state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import msgspec

from setpoint.cluster.object_browser.event_records import Report
from setpoint.cluster.object_browser.inventory import Inventory, InventoryItem
from setpoint.controller.explain.explanation import Removers
from setpoint.meta import GroupResource
from setpoint.meta.condition_messages import message
from setpoint.meta.object_status import URGENCY, State

DEPTH: Final = 5
RANK: Final[dict[str, int]] = {state: rank for rank, state in enumerate(URGENCY)}
_NAMESPACES: Final = GroupResource("", "namespaces")
CLAIMS: Final = "persistentvolumeclaims"
_SLACK: Final = timedelta(seconds=2)
"""The time by which an event may precede the status that it is about: a controller reports the event before it writes
the status, and the times in a status are whole seconds.
"""
_WAITS_FOR_A_POD: Final = frozenset({"WaitForFirstConsumer", "WaitForPodScheduled"})
"""The reasons of events about claims that wait for a pod. The pod does not wait for these claims."""
PATIENCE: Final = timedelta(minutes=10)
"""An object that is not in its wanted state is *stuck* after this time without progress."""
_UNTOUCHED: Final = frozenset({"current", "paused"})
"""The states in which an object does not cause the state of another object."""


class Reason(NamedTuple):
    """The reason for an object's state. ``text`` comes from its status or from the last event about it, ``since`` is
    the time at which the state began (None if unknown), and ``roots`` are the objects that are the cause, the worst
    first.
    """

    state: State
    text: str
    since: datetime | None
    roots: tuple[tuple[str, InventoryItem], ...]


class Reasons:
    """The reasons for the states of an inventory's objects at its last refresh."""

    def __init__(self, inventory: Inventory, removers: Removers, now: datetime) -> None:
        self._inventory = inventory
        self._removers = removers
        self._now = now
        self._states: dict[int, State] = {}
        self._below: dict[str, list[tuple[str, InventoryItem]]] | None = None
        self._reasons: dict[tuple[str, str], Reason] = {}

    def state(self, item: InventoryItem) -> State:
        """The state of an object; `of` returns the same state. An object that is in progress according to its
        `standing` has *failed* if a cause of its state has failed, and is *stuck* if a warning gives the reason, if a
        cause is stuck, or after `PATIENCE` without progress.
        """
        return self._state(item, DEPTH)

    def _state(self, item: InventoryItem, depth: int) -> State:
        cached = self._states.get(id(item))
        if cached is not None:
            return cached
        state = item.standing.state
        self._states[id(item)] = state  # owners can be a circle
        if state == "current" and not item.standing.text and self._warning(item, last=True) is not None:
            state = "warned"
        elif state == "in progress":
            behind = {self._state(cause, depth - 1) for _, cause in self._all_causes(item)} if depth else set()
            if "failed" in behind:
                state = "failed"
            elif "stuck" in behind or self._warning(item) is not None or self._waits_long(item):
                state = "stuck"
        self._states[id(item)] = state
        return state

    def _waits_long(self, item: InventoryItem) -> bool:
        moment = _time(item.progress)
        return moment is not None and self._now - moment >= PATIENCE

    def of(self, name: str, item: InventoryItem) -> Reason:
        """The reason for the state of an object of the resource ``name``."""
        reason = self._reasons.get((name, item.key))
        if reason is None:
            reason = self._reasons[name, item.key] = self._reason(name, item)
        return reason

    def below(self, uid: str) -> Sequence[tuple[str, InventoryItem]]:
        """The objects with an owner reference to the object with that uid."""
        if self._below is None:
            self._below = {}
            for name, entry in self._inventory.all():
                for owner in entry.owners:
                    self._below.setdefault(owner, []).append((name, entry))
        return self._below.get(uid, ())

    def last_word(self, item: InventoryItem, by: str) -> Report | None:
        """The last of the events that the component ``by`` reported about the object, if it is a warning and no older
        than the object's last progress. None otherwise, and always None for an object that is in its desired state.
        """
        if self.state(item) == "current":
            return None
        last = next((report for report in self._inventory.reports(item.uid) if report.by == by), None)
        return last if last is not None and last.warns and self._is_fresh(item, last) else None

    def _reason(self, name: str, item: InventoryItem) -> Reason:
        state, (_, text, start, explained) = self.state(item), item.standing
        if state == "current":
            return Reason(state, text, None, ())
        since = _time(start)
        finalizers = _finalizers(item) if state == "being deleted" else ()
        if finalizers:
            text, explained = self._removers.sentence(item.resource.group_resource, finalizers), True
        roots = self._roots(name, item)
        same = [entry for entry in self.below(item.uid) if explained and entry[1].standing.text == text]
        if same:  # its controller has copied the reason of an object that it owns
            text, explained = item.ready, False
            roots = (same[0], *(root for root in roots if root != same[0]))
        report = self._warning(item)
        if report is not None and not (state == "failed" and explained):
            if message(report.note) not in text:
                text_of_report = _report_text(report)
                text, since = (
                    "; ".join(part for part in (text_of_report, text if explained else "") if part),
                    report.since,
                )
        elif not explained and not roots:
            latest = next((entry for entry in self._inventory.reports(item.uid) if self._is_fresh(item, entry)), None)
            if latest is not None:
                text, since = ": ".join(part for part in (text, _report_text(latest)) if part), latest.since
        return Reason(state, text, since, roots)

    # -- events --------------------------------------------------------------------------------------------------------

    def _warning(self, item: InventoryItem, *, last: bool = False) -> Report | None:
        """The last warning about the object since its last progress; with ``last``, only if it is the last event."""
        for report in self._inventory.reports(item.uid):
            if report.warns:
                return report if self._is_fresh(item, report) else None
            if last:
                return None
        return None

    def _is_fresh(self, item: InventoryItem, report: Report) -> bool:
        moment = _time(item.progress)
        return moment is None or report.at + _SLACK >= moment

    # -- objects behind it ---------------------------------------------------------------------------------------------

    def _roots(self, name: str, item: InventoryItem) -> tuple[tuple[str, InventoryItem], ...]:
        roots = {root[1].uid: root for root in self._ends(name, item, DEPTH, {item.uid})}
        roots.pop(item.uid, None)
        return tuple(sorted(roots.values(), key=lambda root: (RANK[self.state(root[1])], root[0], root[1].key)))

    def _ends(self, name: str, item: InventoryItem, depth: int, met: set[str]) -> Iterator[tuple[str, InventoryItem]]:
        """The objects at the ends of the chains of causes that begin with this one."""
        ends = True
        for cause in self.causes(item) if depth else ():
            ends = False
            if cause[1].uid not in met:
                met.add(cause[1].uid)
                yield from self._ends(*cause, depth - 1, met)
        if ends:
            yield name, item

    def causes(self, item: InventoryItem) -> Iterator[tuple[str, InventoryItem]]:
        """The objects that ``item`` waits for: those that it owns; in the case of a pod without a node, its claims; in
        the case of a namespace that is being deleted, the objects in it that are also being deleted. Empty for an
        object that does not wait.
        """
        if self.state(item) not in ("current", "warned", "paused"):
            yield from self._all_causes(item)

    def _all_causes(self, item: InventoryItem) -> Iterator[tuple[str, InventoryItem]]:
        yield from (entry for entry in self.below(item.uid) if entry[1].standing.state not in _UNTOUCHED)
        if item.resource.group_resource == _NAMESPACES and item.standing.state == "being deleted":
            yield from (entry for entry in self._inventory.all() if _stuck_in(item.record.name, entry[1]))
        for claim in item.claims:
            claim_held = self._inventory.of(CLAIMS).get(claim)
            if claim_held is None or claim_held.standing.state == "current":
                continue
            last = next(iter(self._inventory.reports(claim_held.uid)), None)
            if last is None or last.reason not in _WAITS_FOR_A_POD:
                yield CLAIMS, claim_held


def _stuck_in(namespace: str, item: InventoryItem) -> bool:
    return item.record.namespace == namespace and item.standing.state == "being deleted"


def common(item: InventoryItem, text: str) -> str:
    """The text without the name and uid of the object, so that the texts of objects with the same reason are equal."""
    return text.replace(item.record.name, "").replace(item.uid, "") if item.uid else text


def _report_text(report: Report) -> str:
    """The reason and the note of an event in plain words."""
    return ": ".join(part for part in (report.reason, message(report.note)) if part)


def _decoded(item: InventoryItem) -> dict[str, Any]:
    obj: dict[str, Any] = msgspec.json.decode(item.record.value)
    return obj


def _finalizers(item: InventoryItem) -> tuple[str, ...]:
    return tuple(str(finalizer) for finalizer in _decoded(item)["metadata"].get("finalizers") or ())


def _time(text: str) -> datetime | None:
    try:
        return msgspec.convert(text, datetime) if text else None
    except msgspec.ValidationError:
        return None
