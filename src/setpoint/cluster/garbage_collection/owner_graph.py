"""The graph of owners and dependents, by uid."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from setpoint.meta import GroupVersionResource, ObjectKey


class Node(NamedTuple):
    """One object: its resource and key, its owners, and the owners whose deletion it blocks.

    ``deleting_dependents`` says whether the object's own deletion waits for its dependents (foreground deletion).
    """

    uid: str
    gvr: GroupVersionResource
    key: ObjectKey
    owners: tuple[str, ...]
    blocks: frozenset[str]
    deleting: bool
    deleting_dependents: bool


class Graph:
    """All known objects and their dependents. Dependents may be known before their owner is."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._dependents: dict[str, dict[str, None]] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def get(self, uid: str) -> Node | None:
        return self._nodes.get(uid)

    def put(self, node: Node) -> Node | None:
        """Adds or replaces an object; returns its previous node."""
        before = self._nodes.get(node.uid)
        self._nodes[node.uid] = node
        if before is not None:
            if before.owners == node.owners:
                return before
            self._unlink(before)
        for owner in node.owners:
            self._dependents.setdefault(owner, {})[node.uid] = None
        return before

    def remove(self, uid: str) -> Node | None:
        node = self._nodes.pop(uid, None)
        if node is not None:
            self._unlink(node)
        return node

    def forget(self, gvr: GroupVersionResource) -> list[Node]:
        """Removes all objects of a resource, and returns them."""
        nodes = [node for node in self._nodes.values() if node.gvr == gvr]
        for node in nodes:
            self.remove(node.uid)
        return nodes

    def dependents(self, uid: str) -> list[Node]:
        return [self._nodes[dependent] for dependent in self._dependents.get(uid, ())]

    def has_dependents(self, uid: str) -> bool:
        return bool(self._dependents.get(uid))

    def _unlink(self, node: Node) -> None:
        owners: Iterable[str] = node.owners
        for owner in owners:
            dependents = self._dependents.get(owner)
            if dependents is not None:
                dependents.pop(node.uid, None)
                if not dependents:
                    del self._dependents[owner]
