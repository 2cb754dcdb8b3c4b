"""``/debug/kinds``, ``/debug/named``, ``/debug/stored``: the objects of an embedded cluster, as JSON for its page."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from setpoint.apiserver import ApiServer
from setpoint.cluster.looking.history import History, Version
from setpoint.cluster.looking.inventory import Held, Inventory
from setpoint.cluster.looking.standing import URGENCY, differences, standing
from setpoint.controller import RunningController
from setpoint.controller.detail import ConditionTold, EventTold, conditions_of
from setpoint.controller.explain import explain
from setpoint.controller.survey import Listed, Listing
from setpoint.manager.documents import as_yaml
from setpoint.manager.http_server import Answer, Handler
from setpoint.manager.looking import as_json, asked_for, missing
from setpoint.meta import ObjectKey

KINDS: Final = "/debug/kinds"
NAMED: Final = "/debug/named"
STORED: Final = "/debug/stored"
TURN: Final = 500
"""Objects that are looked through before others have their turn."""
DEPTH: Final = 5
OWNED: Final = 200
"""The most objects in a tree."""
EVENTS: Final = 50
_RANK: Final[dict[str, int]] = {state: rank for rank, state in enumerate(URGENCY)}
_EVENTS: Final = ("events", "events.events.k8s.io")
_QUIET: Final = frozenset({*_EVENTS, "leases.coordination.k8s.io"})
"""The resources that change all the time and say nothing by themselves; they are listed only by their name."""


class KindTold(msgspec.Struct, rename="camel", kw_only=True):
    """A stored resource. ``name`` is PLURAL or PLURAL.GROUP, and ``attention`` is the number of its objects that are
    not in their wanted state.
    """

    name: str
    kind: str
    api_version: str
    custom: bool
    objects: int
    attention: int


class Link(msgspec.Struct, rename="camel", kw_only=True):
    """An object in a tree, with the objects that it owns."""

    resource: str
    kind: str
    key: str
    state: str
    text: str
    owns: list[Link]


class By(msgspec.Struct, rename="camel", kw_only=True):
    """A controller of the control plane, and the state that it reports for the object."""

    controller: str
    state: str
    text: str


class Pair(msgspec.Struct, rename="camel", kw_only=True):
    """A field with the wanted value, and the field with the actual one."""

    wanted: str
    is_wanted: Any
    there: str
    is_there: Any
    differs: bool


class StoredTold(msgspec.Struct, rename="camel", kw_only=True):
    """An object as it is stored, with further facts about it. ``hidden`` describes the data that are not shown."""

    resource: str
    kind: str
    api_version: str
    key: str
    revision: int
    state: str
    text: str
    conditions: list[ConditionTold]
    controllers: list[By]
    owners: list[Link]
    owned: list[Link]
    events: list[EventTold]
    pairs: list[Pair]
    yaml: str
    hidden: str
    versions: list[Version]


class ClusterPages:
    """The pages about an embedded cluster's objects; see `setpoint.manager.parts.Browser`.

    - ``/debug/kinds``: the stored resources (`KindTold`);
    - ``/debug/named?find=WORDS&state=STATE&kind=NAME&limit=NUMBER``: a `Listing` of objects, beginning with those
      that are not in the wanted state and ending with those that every cluster has;
    - ``/debug/stored?kind=NAME&key=NAMESPACE/OBJECT``: one object (`StoredTold`), as YAML and with its last versions.

    The data of Secrets are never shown.
    """

    def __init__(self, server: ApiServer) -> None:
        self._inventory = Inventory(server)
        self._server = server
        self._history = History(server.storage)

    def pages(self, controllers: Callable[[], Mapping[str, RunningController[Any]]]) -> dict[str, Handler]:
        """The handlers by their paths."""

        async def stored(_path: str, query: Mapping[str, list[str]], _headers: Mapping[str, str]) -> Answer:
            return await self._stored(query, controllers())

        return {KINDS: self.kinds, NAMED: self.named, STORED: stored}

    async def kinds(self, _path: str, _query: Mapping[str, list[str]], _headers: Mapping[str, str]) -> Answer:
        """The answer of ``/debug/kinds``: the resources that have objects, and all custom resources."""
        await self._inventory.refresh()
        told = [
            KindTold(
                name=name,
                kind=served.resource.kind,
                api_version=served.resource.api_version,
                custom=served.custom,
                objects=number,
                attention=sum(held.standing.state != "current" for held in self._inventory.of(name).values()),
            )
            for name, served, number in self._inventory.kinds()
            if number or served.custom
        ]
        return as_json(sorted(told, key=lambda each: (not each.attention, not each.custom, each.name)))

    async def named(self, _path: str, query: Mapping[str, list[str]], _headers: Mapping[str, str]) -> Answer:
        """The answer of ``/debug/named``."""
        await self._inventory.refresh()
        served = self._inventory.served()
        asked = asked_for(query, kind=("resource", served), state=("state", URGENCY))
        if isinstance(asked, Answer):
            return asked
        kinds, states, limit = query.get("kind", []), query.get("state", []), asked
        words = " ".join(query.get("find", [])).lower().split()
        searched = kinds or [name for name in served if name not in _QUIET]
        counts: dict[str, int] = {}
        found: list[tuple[int, bool, str, str, Held]] = []
        for looked, (name, held) in enumerate(self._inventory.all(searched)):
            if not looked % TURN:
                await asyncio.sleep(0)
            if words and not _has(f"{name}/{held.key}".lower(), words):
                continue
            state = held.standing.state
            counts[state] = counts.get(state, 0) + 1
            if not states or state in states:
                found.append((_RANK[state], _is_the_clusters(held, served[name].custom), name, held.key, held))
        first = heapq.nsmallest(limit, found, key=lambda each: each[:4])
        objects = [
            Listed(
                controller=name,
                kind=held.resource.kind,
                key=held.key,
                state=held.standing.state,
                text=held.standing.text,
                since=None,
                until=None,
                failures=0,
            )
            for _, _, name, _, held in first
        ]
        return as_json(Listing(counts=counts, matched=len(found), objects=objects))

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
        shown = record or last
        obj: dict[str, Any] = msgspec.json.decode(shown.value) if shown is not None else {}
        found = standing(obj)
        uid = str(obj.get("metadata", {}).get("uid", ""))
        state, text = ("unknown", "there is no such object") if shown is None else found
        if record is None and shown is not None:
            state, text = "deleted", "the object is gone; this is its last version"
        resource = served.resource
        shown_yaml, hidden = as_yaml(obj, len(shown.value) if shown is not None else 0)
        told = StoredTold(
            resource=name,
            kind=resource.kind,
            api_version=resource.api_version,
            key=key,
            revision=0 if shown is None else shown.revision,
            state=state,
            text=text,
            conditions=list(conditions_of(obj)),
            controllers=[
                By(controller=run.name, state=each.state, text=each.text)
                for run in controllers.values()
                if run.controller.resource.group_resource == resource.group_resource
                for each in [explain(run, ObjectKey(key))]
                if each.state not in ("unknown", "deleted")
            ],
            owners=self._owners(obj),
            owned=self._owned(uid),
            events=self._events(uid),
            pairs=[
                Pair(wanted=each.wanted, is_wanted=each.is_wanted, there=each.there, is_there=each.is_there,
                     differs=each.differs)
                for each in differences(obj)
            ],
            yaml=shown_yaml if shown is not None else "",
            hidden=hidden,
            versions=versions,
        )  # fmt: skip
        return as_json(told)

    def _owners(self, obj: Mapping[str, Any]) -> list[Link]:
        wanted = {str(each.get("uid")) for each in obj.get("metadata", {}).get("ownerReferences") or ()}
        return [_link(name, held, []) for name, held in self._inventory.all() if held.uid in wanted] if wanted else []

    def _owned(self, uid: str) -> list[Link]:
        """The tree of the objects with an owner reference to the object of that uid, limited to `OWNED` objects."""
        below: dict[str, list[tuple[str, Held]]] = {}
        for name, held in self._inventory.all():
            for owner in held.owners:
                below.setdefault(owner, []).append((name, held))
        met = {uid}

        def links(owner: str, depth: int) -> list[Link]:
            found: list[Link] = []
            for name, held in sorted(below.get(owner, ()), key=lambda each: (each[0], each[1].key)):
                if depth and len(met) <= OWNED and held.uid not in met:
                    met.add(held.uid)
                    found.append(_link(name, held, links(held.uid, depth - 1)))
            return found

        return links(uid, DEPTH) if uid else []

    def _events(self, uid: str) -> list[EventTold]:
        """The stored events about the object of that uid, the newest first."""
        if not uid:
            return []
        about = b'"%s"' % uid.encode()
        found: list[EventTold] = []
        seen: set[str] = set()
        for _, held in self._inventory.all(_EVENTS):
            if held.uid in seen or about not in held.record.value:
                continue
            seen.add(held.uid)
            event = msgspec.json.decode(held.record.value)
            series = event.get("series") or {}
            found.append(
                EventTold(
                    at=_time(event, series),
                    type=str(event.get("type", "")),
                    reason=str(event.get("reason", "")),
                    note=str(event.get("message") or event.get("note") or ""),
                    count=int(series.get("count") or event.get("count") or 1),
                )
            )
        return sorted(found, key=lambda each: each.at, reverse=True)[:EVENTS]


def _has(place: str, words: Iterable[str]) -> bool:
    return all(word in place for word in words)


def _is_the_clusters(held: Held, custom: bool) -> bool:
    """Whether the object is probably one that every cluster has, such as a default role. These objects are listed
    last.
    """
    namespace = held.record.namespace
    return namespace.startswith("kube-") or held.record.name == "kube-root-ca.crt" or not (namespace or custom)


def _time(event: Mapping[str, Any], series: Mapping[str, Any]) -> datetime:
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    said = next((each for each in times if each), event["metadata"]["creationTimestamp"])
    return msgspec.convert(said, datetime)


def _link(name: str, held: Held, owns: list[Link]) -> Link:
    state, text = held.standing
    return Link(resource=name, kind=held.resource.kind, key=held.key, state=state, text=text, owns=owns)
