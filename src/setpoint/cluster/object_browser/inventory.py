"""Inventories: every object of an embedded cluster with its standing, read cheaply enough for frequent queries."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec

from setpoint.apiserver import ApiServer
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.apiserver.storage import Record
from setpoint.cluster.object_browser.event_records import Report, report_of
from setpoint.meta import Resource
from setpoint.meta.object_status import Standing, progress, ready, standing

TURN: Final = 200
"""The number of objects to read before other tasks may run."""


class InventoryItem(NamedTuple):
    """A stored object with the data that can be shown without decoding it again."""

    resource: Resource
    record: Record
    uid: str
    owners: tuple[str, ...]
    standing: Standing
    ready: str = ""
    progress: str = ""
    """The time (RFC 3339) of the object's last recorded step; see `object_status.progress`."""
    claims: tuple[str, ...] = ()
    """The keys of a pod's claims, if the pod has no node yet."""
    report: Report | None = None
    """The content of the object if it is an event; otherwise None."""

    @property
    def key(self) -> str:
        """The key of the object: NAMESPACE/NAME, or NAME if the object does not have a namespace."""
        return key_of(self.record)


class Inventory:
    """The objects of a server's storage.

    An object is decoded once for each of its versions; resources that have not changed since the last query are not
    scanned again. Nothing is done between queries.
    """

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._items: dict[str, tuple[int, dict[str, InventoryItem]]] = {}
        self._reports: dict[str, list[Report]] = {}

    def served(self) -> dict[str, ServedResource]:
        """The stored resources, each in its storage version, by name (PLURAL or PLURAL.GROUP)."""
        resources: dict[str, ServedResource] = {}
        for resource in self._server.registry:
            if resource.stored_as is resource and not resource.computed:
                resources.setdefault(str(resource.group_resource), resource)
        return resources

    async def refresh(self) -> None:
        """Reads the changes since the previous call. Other tasks may run during the call, so the states of two objects
        may be from different moments.
        """
        served = self.served()
        for name in [name for name in self._items if name not in served]:
            del self._items[name]
        storage = self._server.storage
        for name, resource in served.items():
            revision = storage.changed_since(resource.collection)
            last = self._items.get(name)
            if last is not None and last[0] == revision:
                continue
            before = {} if last is None else last[1]
            now: dict[str, InventoryItem] = {}
            looked = 0
            for record in storage.scan(resource.collection):
                key = key_of(record)
                item = before.get(key)
                if item is None or item.record is not record:
                    item = _item(resource.resource, record)
                    looked += 1
                    if not looked % TURN:
                        await asyncio.sleep(0)
                now[key] = item
            self._items[name] = revision, now
            if resource.resource.kind == "Event":
                self._reports = self._all_reports()

    def kinds(self) -> Iterator[tuple[str, ServedResource, int]]:
        """The resources with their names and the number of their objects."""
        for name, resource in self.served().items():
            yield name, resource, len(self.of(name))

    def of(self, name: str) -> dict[str, InventoryItem]:
        """The objects of a resource at the last `refresh`, by their keys."""
        return self._items.get(name, (0, {}))[1]

    def reports(self, uid: str) -> Sequence[Report]:
        """The events about the object with that uid, the newest first."""
        return self._reports.get(uid, ())

    def _all_reports(self) -> dict[str, list[Report]]:
        by_subject: dict[str, dict[str, Report]] = {}
        for _, item in self.all():
            if item.report is not None and item.report.about:
                by_subject.setdefault(item.report.about, {})[item.uid] = item.report
        return {uid: sorted(reports.values(), key=_moment, reverse=True) for uid, reports in by_subject.items()}

    def all(self, names: Iterable[str] = ()) -> Iterator[tuple[str, InventoryItem]]:
        """The objects of the resources ``names`` (by default, of all resources), each with the name of its resource."""
        for name in names or list(self._items):
            for item in list(self.of(name).values()):  # it may be refreshed between two of them
                yield name, item


def _item(resource: Resource, record: Record) -> InventoryItem:
    obj: dict[str, Any] = msgspec.json.decode(record.value)
    metadata = obj.get("metadata", {})
    owners = tuple(str(reference.get("uid", "")) for reference in metadata.get("ownerReferences") or ())
    return InventoryItem(
        resource,
        record,
        metadata.get("uid", ""),
        owners,
        standing(obj),
        ready(obj),
        progress(obj),
        tuple(_claims(resource, record, obj)),
        report_of(resource, obj),
    )


def _claims(resource: Resource, record: Record, obj: Mapping[str, Any]) -> Iterator[str]:
    """The keys of the claims that a pod waits for before it is bound to a node."""
    spec = obj.get("spec")
    if str(resource.group_resource) != "pods" or not isinstance(spec, dict) or spec.get("nodeName"):
        return
    for volume in spec.get("volumes") or ():
        claim = volume.get("persistentVolumeClaim")
        if claim:
            yield f"{record.namespace}/{claim.get('claimName')}"
        elif "ephemeral" in volume:
            yield f"{record.namespace}/{record.name}-{volume.get('name')}"


def _moment(report: Report) -> datetime:
    return report.at


def key_of(record: Record) -> str:
    """The key of a record: NAMESPACE/NAME, or NAME if the record does not have a namespace."""
    return f"{record.namespace}/{record.name}" if record.namespace else record.name
