"""A list of ready keys in the order in which they are handed out."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterator
from typing import Final, Generic

from setpoint.workqueue.queue_depths import K

AGEING: Final = 10
"""The default of ``ageing``: while keys of several priorities wait, one of every ten keys that are handed out has a
lower priority than the highest.
"""


class ReadyList(Generic[K]):
    """A list of distinct keys by priority: higher priorities first, FIFO within a priority, with ageing.

    *Ageing.* While keys of several priorities wait, the last of every ``ageing`` pops goes to a lower priority than the
    highest; the lower priorities alternate, from high to low. So a key behind n others of its own priority is popped
    within ``ageing * (n + 1) * (p - 1)`` pops, where p > 1 is the number of waiting priorities: no key starves. The
    highest priority gets all other pops, however many keys wait below it.

    Operations are O(1) while all keys have priority 0, and otherwise O(log p), with a memmove of p pointers when a
    priority comes or goes. A key whose priority is raised leaves a tombstone in its old line, and a line is swept when
    its tombstones outnumber its live keys.
    """

    __slots__ = ("_ageing", "_lines", "_order", "_passed", "_turn", "fifo", "plain")

    def __init__(self, ageing: int = AGEING) -> None:
        if ageing < 2:
            raise ValueError(f"ageing must be at least 2 (every second pop is a lower priority's), not {ageing}")
        self._ageing = ageing
        self._passed = 0  # pops since a lower priority's last turn
        self._turn = 0  # the priority of that turn
        self._lines: dict[int, _Line[K]] = {0: _Line()}
        self._order: list[int] = []  # priorities with live keys, ascending; not updated while `plain`
        self.fifo: Final = self._lines[0].keys
        """The keys of priority 0; always the same deque."""
        self.plain = True
        """True only if all keys have priority 0 and ``fifo`` has no tombstones. Then ``fifo.append`` and
        ``fifo.popleft`` do the same as `push` and `pop`.
        """

    def push(self, key: K, priority: int) -> None:
        """Adds a new key behind all other keys of its priority. The key must not be in the list."""
        if self.plain:
            if not priority:
                self.fifo.append(key)
                return
            self._mix()
        line = self._lines.get(priority)
        if line is None:
            line = self._lines[priority] = _Line()
        if not line:
            insort(self._order, priority)
        line.keys.append(key)

    def move(self, key: K, old: int, new: int) -> None:
        """Moves a key from the line of priority ``old`` to the end of the line of priority ``new``."""
        if self.plain:
            self._mix()
        line = self._lines[old]
        line.bury(key)
        if not line:
            self._close(bisect_left(self._order, old))
        self.push(key, new)

    def pop(self) -> K:
        """Removes and returns the next key. Raises `IndexError` when the list is empty."""
        if self.plain:
            return self.fifo.popleft()
        order = self._order
        place = len(order) - 1
        if place > 0:
            self._passed += 1
            if self._passed >= self._ageing:
                self._passed = 0
                highest = place
                place = bisect_left(order, self._turn, hi=highest) - 1
                if place < 0:
                    place = highest - 1
                self._turn = order[place]
        line = self._lines[order[place]]
        key = line.popleft()
        if not line:
            self._close(place)
        self._simplify()
        return key

    def __iter__(self) -> Iterator[K]:
        """The keys from the highest priority to the lowest, FIFO within a priority. This is the order of pops without
        ageing.
        """
        for priority in sorted(self._lines, reverse=True):
            yield from self._lines[priority].living()

    def _mix(self) -> None:
        self.plain = False
        self._order = [0] if self.fifo else []

    def _close(self, place: int) -> None:
        priority = self._order.pop(place)
        if priority:
            del self._lines[priority]

    def _simplify(self) -> None:
        if len(self._lines) == 1 and not self._lines[0].tombstones:
            self.plain = True


class _Line(Generic[K]):
    """The keys of one priority. The first ``void[key]`` occurrences of a key are tombstones."""

    __slots__ = ("keys", "tombstones", "void")

    def __init__(self) -> None:
        self.keys: deque[K] = deque()
        self.void: dict[K, int] = {}
        self.tombstones = 0

    def __len__(self) -> int:
        return len(self.keys) - self.tombstones

    def bury(self, key: K) -> None:
        self.void[key] = self.void.get(key, 0) + 1
        self.tombstones += 1
        if self.tombstones * 2 > len(self.keys):
            living = list(self.living())
            self.keys.clear()
            self.keys.extend(living)
            self.void.clear()
            self.tombstones = 0

    def popleft(self) -> K:
        while self.tombstones:
            key = self.keys.popleft()
            void = self.void.get(key, 0)
            if not void:
                return key
            self.tombstones -= 1
            if void == 1:
                del self.void[key]
            else:
                self.void[key] = void - 1
        return self.keys.popleft()

    def living(self) -> Iterator[K]:
        void = dict(self.void)
        for key in self.keys:
            if void.get(key, 0):
                void[key] -= 1
            else:
                yield key
