"""SelectorIndex: the selectors of the objects that a controller has reconciled, to find those that select a pod."""

from __future__ import annotations

from collections.abc import Iterable

from setpoint.cache import Head
from setpoint.meta import ObjectKey, Selector


class SelectorIndex(dict[ObjectKey, Selector]):
    """Selectors by the keys of their objects."""

    def matching(self, head: Head) -> Iterable[ObjectKey]:
        """The keys of the objects in ``head``'s namespace whose selectors match its labels (a mapping function)."""
        return [
            key for key, selector in self.items() if key.namespace == head.namespace and selector.matches(head.labels)
        ]

    def forget_deleted(self, old: Head | None, new: Head | None) -> bool:
        """A predicate that accepts every event, and forgets the selector of an object that is gone."""
        if new is None and old is not None:
            self.pop(old.key, None)
        return True
