"""Memory: the facts that one run remembers about each key between its reconciles."""

from __future__ import annotations

from setpoint.controller.applied import AppliedChildren
from setpoint.controller.barriers import WriteBarriers
from setpoint.controller.environment import Environment
from setpoint.controller.hotloop import HotLoopDetector, HotLoopLimits
from setpoint.controller.known_children import KnownChildren
from setpoint.controller.orphans import Orphans
from setpoint.meta import GroupVersionResource, ObjectKey


class Memory:
    """The facts about each key: writes that caches do not show yet, applied children, objects in doubt, hot loops.

    The memory does not outlive the process, and correctness does not depend on it: a new process begins with an empty
    one.
    """

    __slots__ = ("_taken_over", "applied", "barriers", "children", "echoes", "hot", "orphans")

    def __init__(self, env: Environment, limits: HotLoopLimits | None) -> None:
        self.barriers = WriteBarriers(env.informers)
        self.applied = AppliedChildren()
        self.children = KnownChildren()
        self.orphans = Orphans()
        self.hot = HotLoopDetector(env.log, env.read_document, limits)
        self.echoes: dict[ObjectKey, tuple[str, ...]] = {}
        """For each key, the versions of its object before and after the writes of the last reconcile. An update from
        one of these versions to another carries no new information.
        """

        self._taken_over: dict[ObjectKey, set[tuple[GroupVersionResource, ObjectKey]]] = {}

    def took_over(self, key: ObjectKey, place: tuple[GroupVersionResource, ObjectKey]) -> None:
        """Notes that a reconcile of ``key`` has taken over the fields of the object at ``place``."""
        self._taken_over.setdefault(key, set()).add(place)

    def has_taken_over(self, key: ObjectKey, place: tuple[GroupVersionResource, ObjectKey]) -> bool:
        """Whether a reconcile of ``key`` has taken over the fields of the object at ``place`` in this process."""
        return place in self._taken_over.get(key, ())

    def forget(self, key: ObjectKey) -> None:
        """Forgets a key whose object is gone, or that belongs to another process."""
        self.barriers.forget(key)
        self.applied.forget(key)
        self.children.forget(key)
        self.orphans.forget(key)
        self.hot.forget(key)
        self.echoes.pop(key, None)
        self._taken_over.pop(key, None)
