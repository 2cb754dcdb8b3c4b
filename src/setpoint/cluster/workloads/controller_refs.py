"""Claims: the adoption of orphans that match an owner's selector, and the release of children that no longer match
it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from setpoint.cache import Head
from setpoint.client import NotFound
from setpoint.cluster.selector_index import SelectorIndex
from setpoint.controller import Context
from setpoint.controller.writes.ownership import remove_owner_reference, set_controller_reference
from setpoint.meta import LabelSelector, Object, ObjectKey, Selector, resource_of, to_wire

P = TypeVar("P", bound=Object)
C = TypeVar("C", bound=Object)


class Claims(Generic[P, C]):
    """The rules by which workload controllers own their children (``ControllerRefManager`` in Kubernetes).

    - An owner's children have the owner as their controller and match its selector.
    - A child that matches and has no controller is adopted, unless the child or the owner is being deleted. The server
      is asked about the owner first, since a cache may still contain an owner that is gone.
    - A child that has this owner as its controller and no longer matches is released, unless the owner is being
      deleted.

    Each write applies only to the version that was read: a child that has changed in the meantime is processed again.
    """

    def __init__(self, parent: type[P], child: type[C], selector_of: Callable[[P], LabelSelector | None]) -> None:
        self._parent = parent
        self._child = child
        self._selector_of = selector_of
        self._selectors = SelectorIndex()

    def of_orphan(self, head: Head) -> Iterable[ObjectKey]:
        """The keys of the owners that may adopt the object if it does not have a controller (a mapping function)."""
        if head.controller is not None or head.is_deleting:
            return ()
        return self._selectors.matching(head)

    def owners(self) -> list[ObjectKey]:
        """The keys of all owners that this controller has processed."""
        return list(self._selectors)

    def forget_deleted(self, old: Head | None, new: Head | None) -> bool:
        """A predicate that accepts every event, and forgets the selector of an owner that is gone."""
        return self._selectors.forget_deleted(old, new)

    async def claim(self, owner: P, ctx: Context, adoptable: Callable[[C], bool] = lambda child: True) -> list[C]:
        """The owner's current children, including newly adopted ones, ordered by key. Children that no longer match the
        selector are released.
        """
        selector = Selector.of(self._selector_of(owner))
        self._selectors[owner.key] = selector
        mine: list[C] = []
        adopted: C | None
        for child in ctx.owned(self._child):
            controller = child.metadata.controller
            if controller is None or controller.uid != owner.uid:
                continue
            if selector.matches(child.labels) or owner.is_deleting:
                mine.append(child)
            else:
                await self._patch(child, ctx, lambda obj: remove_owner_reference(owner, obj))
        if owner.is_deleting or not selector:
            return mine
        lister = ctx.lister(self._child)
        heads = lister.heads(namespace=owner.namespace, selector=selector)
        free = [lister.try_get(head.key) for head in heads if head.controller is None and not head.is_deleting]
        orphans = [orphan for orphan in free if orphan is not None and adoptable(orphan)]
        if orphans and await self._may_adopt(owner, ctx):
            for orphan in orphans:
                adopted = await self._patch(orphan, ctx, lambda obj: set_controller_reference(owner, obj))
                if adopted is not None:
                    mine.append(adopted)
            mine.sort(key=lambda child: child.key)
        return mine

    async def _may_adopt(self, owner: P, ctx: Context) -> bool:
        try:
            live_owner = await ctx.client.get(self._parent, owner.name, namespace=owner.namespace)
        except NotFound:
            return False
        return live_owner.uid == owner.uid and not live_owner.is_deleting

    async def _patch(self, child: C, ctx: Context, change: Callable[[C], Any]) -> C | None:
        """The child as the server has stored it after ``change``; None if the child is gone."""
        draft = copy.copy(child)
        draft.metadata = copy.copy(child.metadata)
        draft.metadata.owner_references = list(child.metadata.owner_references)
        change(draft)
        metadata = {
            "uid": child.uid,
            "resourceVersion": child.metadata.resource_version,
            "ownerReferences": to_wire(draft.metadata.owner_references) or None,
        }
        ctx.log.info("owner changed", extra={"child": f"{resource_of(self._child).kind} {child.key}"})
        try:
            return await ctx.patch(child, {"metadata": metadata})
        except NotFound:
            return None
