"""History: every change to every object, with its author and step, and the names of the points of a run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from setpoint.apiserver.storage import Change, MemoryStorage
from setpoint.simulation.sandbox.actor import author

UNRECORDED = frozenset({"events", "events.events.k8s.io"})
"""Collections that are not part of the state: objects in them only report events."""
FIRST: Final = 5_417_000_000
"""The revision before the first change. It is so high that no number in a user's objects is mistaken for a version."""


_UID: Final = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


class _Owner(msgspec.Struct):
    uid: str = ""


class Meta(msgspec.Struct, rename="camel"):
    """The part of every object's metadata that the simulation reads."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    generate_name: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None
    owner_references: list[_Owner] = []
    finalizers: list[str] = []
    annotations: dict[str, str] | None = None


class Sketch(msgspec.Struct):
    """An object of which only the kind and the metadata are decoded."""

    kind: str = ""
    metadata: Meta = msgspec.field(default_factory=Meta)


sketch = msgspec.json.Decoder(Sketch).decode


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct):
    conditions: list[_Condition] | None = None


class _Conditioned(msgspec.Struct):
    status: _Status | None = None


_conditioned = msgspec.json.Decoder(_Conditioned).decode


class Entry(NamedTuple):
    """One change to one object."""

    revision: int
    at: float
    step: int
    author: str
    lane: str
    collection: str
    namespace: str
    name: str
    label: str
    """``namespace/name``, with ``*`` for the part of the name that the server generated, and with the names of objects
    for their uids.
    """
    type: str
    point: str
    uid: str
    value: bytes
    previous: bytes | None
    orphan: bool
    """Whether the object had owner references at this change, but none of its owners existed any more."""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def label_of(namespace: str, name: str, generate_name: str) -> str:
    """The label of an object in the names of points and in comparisons: its namespace and name, with ``*`` for the part
    of the name that the server generated.
    """
    if generate_name and name.startswith(generate_name):
        name = generate_name + "*"
    return f"{namespace}/{name}" if namespace else name


class History(MemoryStorage):
    """A storage that remembers the author of every change. ``step`` is the scenario's current step, and ``clock`` gives
    the loop's time. ``starred`` replaces the random texts in a name.
    """

    def __init__(self, clock: Callable[[], float], starred: Callable[[str], str] = str) -> None:
        super().__init__(start=FIRST)
        self._starred = starred
        self.entries: list[Entry] = []
        self.by_revision: dict[int, Entry] = {}
        self.clock = clock
        self.step = 0
        self.recording = False
        self.unrecorded = UNRECORDED
        """Collections whose changes are not recorded."""
        self.alive: dict[str, tuple[str, str]] = {}
        """The collection and the label of every existing object, by uid."""
        self.called: dict[str, str] = {}
        """The collection and label of every object that has ever existed, as one text, by uid."""
        self.ended: set[str] = set()
        """Conditions that the control plane has set from True to False, as ``collection label path``."""
        self.watched: set[str] = set()
        """The collections that processes of the program have watched."""
        self.created_count: Counter[str] = Counter()
        """The number of objects that were ever created with each collection and label."""
        self._counts: Counter[str] = Counter()
        self.watchers: list[Callable[[Entry], None]] = []

    def _write(self, changes: Sequence[tuple[str, Change]]) -> None:
        for resource, change in changes:
            self._note(resource, change)

    def _note(self, resource: str, change: Change) -> None:
        record = change.record
        head = sketch(record.value)
        meta = head.metadata
        label = self.named(label_of(record.namespace, record.name, meta.generate_name))
        if change.type == "ADDED":
            self.created_count[f"{resource} {label}"] += 1
        if change.type == "DELETED":
            self.alive.pop(meta.uid, None)
        else:
            self.alive[meta.uid] = (resource, label)
            self.called.setdefault(meta.uid, f"{resource} {label}")
        if not self.recording or resource in self.unrecorded:
            return
        stem = f"{change.type} {resource} {label}"
        self._counts[stem] += 1
        actor = author()
        owners = meta.owner_references
        entry = Entry(
            record.revision,
            self.clock(),
            self.step,
            actor.name if actor is not None else "user",
            actor.lane if actor is not None else "user",
            resource,
            record.namespace,
            record.name,
            label,
            change.type,
            f"{stem} #{self._counts[stem]}",
            meta.uid,
            record.value,
            change.previous.value if change.previous is not None else None,
            bool(owners) and not any(owner.uid in self.alive for owner in owners),
        )
        if entry.lane == "control plane" and entry.previous is not None:
            now_false = _conditions(entry.value, "False") & _conditions(entry.previous, "True")
            self.ended.update(f"{resource} {label} status.conditions.{condition}" for condition in now_false)
        self.entries.append(entry)
        self.by_revision[record.revision] = entry
        for watcher in self.watchers:
            watcher(entry)

    def restart(self, clock: Callable[[], float], skip: int = 0) -> None:
        """Begins to record: earlier changes are not part of the history. The next ``skip`` revisions are never used."""
        self.clock = clock
        self._revision += skip
        self.recording = True

    def named(self, text: str) -> str:
        """The text with uids replaced by the names of their objects, and random texts by ``*``, since they differ
        between seeds.
        """
        return self._starred(
            _UID.sub(lambda match: f"<uid of {self.called[match[0]]}>" if match[0] in self.called else match[0], text)
        )

    def versions(self) -> dict[str, str]:
        """A text for each resource version in the history. The text names the object and says whether the version is
        the object's newest. These texts replace the versions that controllers have written into objects, since the
        versions themselves differ between runs. A version of something that is not recorded, such as an Event about a
        fault, has the text of the one before it: a list has such a version, whatever it is a list of.
        """
        newest = {entry.uid: entry.revision for entry in self.entries}
        ends = [*(entry.revision for entry in self.entries[1:]), self.revision + 1]
        return {
            str(revision): f"{'newest' if newest[entry.uid] == entry.revision else 'earlier'} version of "
            f"{entry.collection} {entry.label}"
            for entry, end in zip(self.entries, ends, strict=False)
            for revision in range(entry.revision, end)
        }

    def documents(self) -> dict[tuple[str, str], dict[str, Any]]:
        """All current objects of the recorded collections, by collection and key."""
        documents: dict[tuple[str, str], dict[str, Any]] = {}
        for name, collection in self._collections.items():
            if name in self.unrecorded:
                continue
            for record in collection.records.values():
                key = f"{record.namespace}/{record.name}" if record.namespace else record.name
                documents[name, key] = msgspec.json.decode(record.value)
        return documents


def _conditions(value: bytes, status: str) -> set[str]:
    fields = _conditioned(value).status
    return {condition.type for condition in (fields and fields.conditions) or () if condition.status == status}


UIDS = re.compile(rb'"uid":"([^"]+)"')
