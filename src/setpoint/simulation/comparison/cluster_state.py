"""Cluster state: the objects of one cluster, as the states of runs are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from setpoint.meta import Object, resource_of
from setpoint.simulation.comparison.snapshot import Snapshot, make_snapshot
from setpoint.simulation.trace.history import History, sketch


class ClusterState:
    """The state of one cluster. ``mark`` follows the collection in the name of each object, so that the objects of
    several clusters can be told apart. ``starred`` replaces the random texts in a value.
    """

    def __init__(self, history: History, starred: Callable[[str], str] = str, mark: str = "") -> None:
        self._history = history
        self._starred = starred
        self._mark = mark
        self._warm_at = 0

    def begin(self) -> None:
        """Notes that the run begins: objects that are never written in it do not count."""
        self._warm_at = self._history.revision

    def is_deleting(self, obj: Object, namespace: str) -> bool:
        """Whether the object with the kind and name of ``obj`` is being deleted. ``namespace`` is that of an object
        which does not name its own.
        """
        resource = resource_of(type(obj))
        space = (obj.namespace or namespace) if resource.namespaced else ""
        record = self._history.get(str(resource.group_resource), space, obj.name)
        return record is not None and sketch(record.value).metadata.deletion_timestamp is not None

    def object_counts(self) -> dict[str, int]:
        """The number of existing objects of each collection and label."""
        counts: dict[str, int] = {}
        for collection, label in self._history.alive.values():
            subject = f"{collection}{self._mark} {label}"
            counts[subject] = counts.get(subject, 0) + 1
        return counts

    def ended(self) -> set[str]:
        """The conditions that the control plane has set from True to False."""
        return {self._marked(condition) for condition in self._history.ended}

    def initial(self) -> Snapshot:
        """All objects, whether or not the run has written them."""
        return self._snapshot(-1)

    def snapshot(self, outside: Mapping[str, Any] | None = None) -> Snapshot:
        """The objects that were written in the run, and the states of external systems (``outside``)."""
        return self._snapshot(self._warm_at, outside)

    def _snapshot(self, since: int, outside: Mapping[str, Any] | None = None) -> Snapshot:
        called = self._history.called | self._history.versions()
        snapshot = make_snapshot(self._history.documents(), called, since=since, outside=outside, starred=self._starred)
        return {self._marked(subject): items for subject, items in snapshot.items()}

    def _marked(self, subject: str) -> str:
        return subject.replace(" ", f"{self._mark} ", 1) if self._mark else subject
