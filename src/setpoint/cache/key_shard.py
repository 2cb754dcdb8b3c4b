"""KeyShard: the objects of one resource that the caches of one process hold, because they concern its keys."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from setpoint.meta.object_head import Head

Concerns = Callable[[Head], bool]
"""Whether an object concerns a key of this process."""


class KeyPart:
    """An immutable part of a collection: the objects for which one of the tests returns True. A test may be None, for a
    part that has all objects.
    """

    __slots__ = ("_tests", "is_whole")

    selector = ""
    """No server knows such a part: it sends all objects."""

    def __init__(self, tests: Mapping[str, Concerns | None]) -> None:
        self.is_whole = None in tests.values()
        self._tests = tuple(test for test in tests.values() if test is not None)

    def has(self, head: Head) -> bool:
        if self.is_whole:
            return True
        for test in self._tests:  # noqa: SIM110 - every event of every process comes here, and any() costs more
            if test(head):
                return True
        return False

    def covers(self, namespace: str) -> bool:
        """True: the part leaves out no namespace as such."""
        return True


class KeyShard:
    """The objects of one resource that the caches of one process hold: none at first, then those that the controllers
    of the process claim.

    A cache with such a shard receives the whole collection and drops what the process has no use for. An object
    whose owner changes may leave a cache, or enter it, with its next event. After a claim the cache lists again.
    """

    def __init__(self) -> None:
        self._tests: dict[str, Concerns | None] = {}
        self.part = KeyPart({})
        self.changed = asyncio.Event()
        """Set at the next claim; then another event replaces it."""

    def claim(self, controller: str, test: Concerns | None) -> None:
        """Adds the objects that concern the keys of a controller in this process; all objects if ``test`` is None. The
        claim replaces an earlier one of the same controller.
        """
        self._tests[controller] = test
        self.part = KeyPart(self._tests)
        self.changed.set()
        self.changed = asyncio.Event()
