"""``/debug/kinds``, ``/debug/named``, ``/debug/stored``: the objects of an embedded cluster, as JSON for its page."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from setpoint.apiserver import ApiServer
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.cluster.object_browser.affected_objects import affected_by
from setpoint.cluster.object_browser.event_records import Report
from setpoint.cluster.object_browser.finalizer_owners import removers
from setpoint.cluster.object_browser.inventory import Inventory, InventoryItem
from setpoint.cluster.object_browser.object_history import History
from setpoint.cluster.object_browser.problem_causes import RANK, Reason, Reasons, common
from setpoint.cluster.object_browser.problem_groups import Problem, problems
from setpoint.cluster.object_browser.response_schemas import By, Cause, KindSummary, Pair, Row, StoredObject, With
from setpoint.cluster.object_browser.text_links import Mentions, Part
from setpoint.controller import RunningController
from setpoint.controller.explain.explanation import explain
from setpoint.controller.explain.object_listing import EventEntry, Listing, conditions_of
from setpoint.manager.debug_pages.manager_page import as_json, asked_for, missing
from setpoint.manager.debug_pages.yaml_page import as_yaml
from setpoint.manager.http_server import Answer, Handler
from setpoint.meta import ObjectKey
from setpoint.meta.object_status import URGENCY, differences, ready
from setpoint.meta.owner_tree import (
    References,
    TreeNode,
    owned_tree,
    owners_above,
    references_of,
    unresolved,
)

KINDS: Final = "/debug/kinds"
NAMED: Final = "/debug/named"
STORED: Final = "/debug/stored"
TURN: Final = 500
"""The number of objects to examine before other tasks may run."""
SEEN: Final = 2
"""The maximum number of causes that are named for one object's state."""
OTHERS: Final = 20
"""The maximum number of other objects that are listed as having the same problem, and of objects that are listed as
held up by one object.
"""
EVENTS: Final = 50
_GONE: Final = ("deleted", "the object is gone; this is its last version")
_EVENTS: Final = ("events", "events.events.k8s.io")
_QUIET: Final = frozenset({*_EVENTS, "leases.coordination.k8s.io"})
"""Resources that change constantly and carry no information of their own; a search finds their objects only if it names
the kind.
"""


class ClusterPages:
    """The pages about an embedded cluster's objects; see `setpoint.manager.options.Browser`.

    - ``/debug/kinds``: the stored resources (`KindSummary`);
    - ``/debug/named?find=WORDS&state=STATE&kind=NAME&limit=NUMBER``: a `Listing` of problems (`Row`), followed by the
      objects in the wanted state; objects that exist in every cluster come last. Matching objects with the same problem
      share one row, whose state is that of its first object. If no object has the words in its name, objects that have
      them in their reason are listed;
    - ``/debug/stored?kind=NAME&key=NAMESPACE/OBJECT``: one object (`StoredObject`), as YAML and with its last versions.

    The data of Secrets are never shown.
    """

    def __init__(self, server: ApiServer, *, others: Collection[str] = ()) -> None:
        """``others`` are the names of running controllers that have no queue."""
        self._inventory = Inventory(server)
        self._server = server
        self._others = others
        self._history = History(server.storage)

    def pages(self, controllers: Callable[[], Mapping[str, RunningController[Any]]]) -> dict[str, Handler]:
        async def named(_path: str, query: Mapping[str, list[str]], _headers: Mapping[str, str]) -> Answer:
            return await self._named(query, controllers())

        async def stored(_path: str, query: Mapping[str, list[str]], _headers: Mapping[str, str]) -> Answer:
            return await self._stored(query, controllers())

        return {KINDS: self.kinds, NAMED: named, STORED: stored}

    async def kinds(self, _path: str, _query: Mapping[str, list[str]], _headers: Mapping[str, str]) -> Answer:
        """The answer to ``/debug/kinds``: the resources that have objects, and all custom resources."""
        await self._inventory.refresh()
        reasons = self._reasons({})
        rows = [
            KindSummary(
                name=name,
                kind=served.resource.kind,
                api_version=served.resource.api_version,
                custom=served.custom,
                objects=number,
                attention=sum(
                    reasons.state(item) not in ("current", "paused") for item in self._inventory.of(name).values()
                ),
            )
            for name, served, number in self._inventory.kinds()
            if number or served.custom
        ]
        return as_json(sorted(rows, key=lambda row: (not row.attention, not row.custom, row.name)))

    def _reasons(self, controllers: Mapping[str, RunningController[Any]]) -> Reasons:
        return Reasons(self._inventory, removers(controllers, self._others), self._server.state.now())

    async def _named(self, query: Mapping[str, list[str]], controllers: Mapping[str, RunningController[Any]]) -> Answer:
        await self._inventory.refresh()
        reasons = self._reasons(controllers)
        served = self._inventory.served()
        limit_or_answer = asked_for(query, kind=("resource", served), state=("state", URGENCY))
        if isinstance(limit_or_answer, Answer):
            return limit_or_answer
        kinds, states, limit = query.get("kind", []), query.get("state", []), limit_or_answer
        words = " ".join(query.get("find", [])).lower().split()
        searched = kinds or [name for name in served if name not in _QUIET]
        counts: dict[str, int] = {}
        rows: list[Problem] = []
        wanting: list[tuple[str, InventoryItem]] = []
        mentioning: list[tuple[str, InventoryItem]] = []
        for looked, (name, item) in enumerate(self._inventory.all(searched)):
            if not looked % TURN:
                await asyncio.sleep(0)
            if words and not _has(f"{name}/{item.key}".lower(), words):
                if reasons.state(item) != "current" and _has(reasons.of(name, item).text.lower(), words):
                    mentioning.append((name, item))
            elif reasons.state(item) == "current":
                rows.append(Problem((name, item), ()))
            else:
                wanting.append((name, item))
        if not rows and not wanting:
            wanting = mentioning
        entries: list[tuple[int, bool, str, str, Problem]] = []
        first_of: dict[tuple[str, ...], str] = {}
        for problem in [*problems(wanting, reasons), *rows]:
            name, item = problem.head
            state = reasons.state(item)
            counts[state] = counts.get(state, 0) + 1
            if not states or state in states:
                entries.append((RANK[state], _is_the_clusters(item, served[name].custom), name, item.key, problem))
                alike = _alike(name, item)
                first_of[alike] = min(first_of.get(alike, item.key), item.key)

        def order(row: tuple[int, bool, str, str, Problem]) -> tuple[Any, ...]:
            rank, clusters, name, key, problem = row
            # Further objects of one owner with the same reason are after all others.
            return rank, clusters, first_of[_alike(name, problem.head[1])] != key, name, key

        mentions = Mentions(self._inventory)
        objects = [_row(problem, reasons, mentions) for *_, problem in heapq.nsmallest(limit, entries, key=order)]
        return as_json(Listing(counts=counts, matched=len(entries), objects=[*objects]))

    async def _stored(
        self, query: Mapping[str, list[str]], controllers: Mapping[str, RunningController[Any]]
    ) -> Answer:
        await self._inventory.refresh()
        name, key = (next(iter(query.get(word, ())), "") for word in ("kind", "key"))
        served = self._inventory.served().get(name)
        if served is None:
            return missing(f"there is no resource {name!r}", self._inventory.served())
        namespace, _, own = key.rpartition("/")
        versions, last = await self._history.of(served.collection, namespace, own)
        record = self._server.storage.get(served.collection, namespace, own)
        newest = record or last
        obj: dict[str, Any] = msgspec.json.decode(newest.value) if newest is not None else {}
        uid = str(obj.get("metadata", {}).get("uid", ""))
        reasons, item = self._reasons(controllers), self._inventory.of(name).get(key)
        mentions = Mentions(self._inventory)
        owned, more_owned = owned_tree(uid, partial(_owned, reasons))
        reason = None if item is None or record is None else reasons.of(name, item)
        state, text = ("unknown", self._absent(served, key, namespace)) if newest is None else _GONE
        if reason is not None:
            state, text = reason.state, reason.text
        resource = served.resource
        waiting = await affected_by(name, key, self._inventory, reasons, mentions)
        shown_yaml, hidden = as_yaml(obj, len(newest.value) if newest is not None else 0)
        description = StoredObject(
            resource=name,
            kind=resource.kind,
            api_version=resource.api_version,
            key=key,
            revision=0 if newest is None else newest.revision,
            state=state,
            text=text,
            parts=[Part(text=text)] if newest is None else mentions.parts(text, namespace),
            since=None if reason is None else reason.since,
            ready=ready(obj),
            see=[] if reason is None else _causes(reasons, reason, mentions),
            holds_up=[_node(*entry, reasons) for entry in waiting[:OTHERS]],
            more=max(len(waiting) - OTHERS, 0),
            conditions=list(conditions_of(obj)),
            controllers=[
                entry
                for run in controllers.values()
                if run.controller.resource.group_resource == resource.group_resource
                for entry in [_by(run, key, None if item is None else reasons.last_word(item, run.name))]
                if entry.state not in ("unknown", "deleted")
            ],
            owners=owners_above(references_of(obj), partial(self._owners, namespace, reasons)),
            owned=owned,
            more_owned=more_owned,
            events=self._events(uid),
            pairs=[
                Pair(
                    wanted=difference.wanted,
                    wanted_value=difference.wanted_value,
                    actual=difference.actual,
                    actual_value=difference.actual_value,
                    differs=difference.differs,
                )
                for difference in differences(obj)
            ],
            yaml=shown_yaml if newest is not None else "",
            hidden=hidden,
            versions=versions,
        )  # fmt: skip
        return as_json(description)

    def _absent(self, served: ServedResource, key: str, namespace: str) -> str:
        """The message that an object does not exist. If its namespace does not exist, the message says that, too."""
        text = f"{served.resource.kind} {key} does not exist"
        if served.resource.namespaced and namespace not in self._inventory.of("namespaces"):
            return f"{text}, and there is no Namespace {namespace}"
        return text

    def _owners(
        self, namespace: str, reasons: Reasons, references: References
    ) -> Iterator[tuple[TreeNode, References]]:
        """The owners of an object in that namespace, each with its own references."""
        wanted = {str(reference.get("uid")) for reference in references}
        entries = {item.uid: (name, item) for name, item in self._inventory.all() if item.uid in wanted}
        for reference in references:
            entry = entries.get(str(reference.get("uid")))
            if entry is None:
                yield unresolved(reference, namespace), ()
            else:
                yield _node(*entry, reasons), references_of(msgspec.json.decode(entry[1].record.value))

    def _events(self, uid: str) -> list[EventEntry]:
        """The stored events about the object with that uid, the newest first."""
        return [
            EventEntry(at=report.at, type=report.type, reason=report.reason, note=report.note, count=report.times)
            for report in self._inventory.reports(uid)[:EVENTS]
        ]


def _row(problem: Problem, reasons: Reasons, mentions: Mentions) -> Row:
    name, item = problem.head
    reason = reasons.of(name, item)
    return Row(
        controller=name,
        kind=item.resource.kind,
        key=item.key,
        state=reason.state,
        text=reason.text,
        parts=mentions.parts(reason.text, item.record.namespace),
        since=reason.since,
        until=None,
        failures=0,
        ready=item.ready,
        see=_causes(reasons, reason, mentions),
        others=[
            With(resource=resource, kind=other.resource.kind, key=other.key, state=reasons.state(other))
            for resource, other in problem.others[:OTHERS]
        ],
        more=max(len(problem.others) - OTHERS, 0),
    )


def _has(place: str, words: Iterable[str]) -> bool:
    return all(word in place for word in words)


def _is_the_clusters(item: InventoryItem, custom: bool) -> bool:
    """Whether the object is probably one that every cluster has, such as a default role. These objects are listed
    last.
    """
    namespace = item.record.namespace
    return namespace.startswith("kube-") or item.record.name == "kube-root-ca.crt" or not (namespace or custom)


def _alike(name: str, item: InventoryItem) -> tuple[str, ...]:
    """A key that is equal for objects with the same owner and the same reason for not being in their wanted state."""
    if item.standing.state == "current" or not item.owners:
        return name, item.key
    return name, *item.owners, item.standing.state, common(item, item.standing.text)


def _owned(reasons: Reasons, uid: str) -> Iterator[tuple[str, TreeNode]]:
    """The objects with an owner reference to the object with that uid, each with its uid."""
    for name, item in sorted(reasons.below(uid), key=lambda entry: (entry[0], entry[1].key)):
        yield item.uid, _node(name, item, reasons)


def _node(name: str, item: InventoryItem, reasons: Reasons) -> TreeNode:
    reason = reasons.of(name, item)
    return TreeNode(
        resource=name,
        kind=item.resource.kind,
        key=item.key,
        state=reason.state,
        text=reason.text,
        ready=item.ready,
        owns=[],
    )


def _causes(reasons: Reasons, reason: Reason, mentions: Mentions) -> list[Cause]:
    """The causes of a state: one object for each distinct reason, and at most `SEEN` objects."""
    by_state: dict[str, Cause] = {}
    for name, item in reason.roots:
        own = reasons.of(name, item)
        same = common(item, own.text)
        group = by_state.get(same)
        if group is not None:
            group.more += 1
            continue
        parts = mentions.parts(own.text, item.record.namespace)
        kind = item.resource.kind
        by_state[same] = Cause(
            resource=name, kind=kind, key=item.key, state=own.state, text=own.text, parts=parts, more=0
        )
    return list(by_state.values())[:SEEN]


def _by(run: RunningController[Any], key: str, last: Report | None) -> By:
    explanation = explain(run, ObjectKey(key))
    state, text = explanation.state, explanation.text
    if last is not None and last.text not in text:
        is_idle = state in ("idle", "filtered", "not ready") and explanation.until is None
        state, text = ("warned", "no retry is planned before something changes") if is_idle else (state, text)
        text = f"{last.text}; {text}"
    return By(controller=run.name, state=state, text=text, timeline=explanation.timeline)
