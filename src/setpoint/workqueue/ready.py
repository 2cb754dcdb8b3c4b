"""The order in which ready keys are handed out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from heapq import heapify, heappop, heappush, heapreplace
from typing import Generic

from .entry import Entry, K


class ReadyList(Generic[K]):
    """Entries by priority, higher first, FIFO within one priority, with ageing.

    *Ageing.* Of every ``ageing`` pops made while entries of several priorities wait, the last takes the one that has
    been ready longest, whatever its priority. So an entry that n others preceded when it became ready is popped
    within ``ageing * (n + 1)`` pops: nothing starves; and the highest priority gets all the other pops, however
    many wait below it.

    All operations take O(1) while only priority 0 is in use, and amortized O(log p) with p priorities waiting. Memory
    is bounded: a raised entry leaves a tombstone in its old level, and a level is swept when tombstones outnumber the
    living.
    """

    __slots__ = ("_ageing", "_by_age", "_by_priority", "_fifo", "_levels", "_mixed", "_since_oldest", "_ticket")

    def __init__(self, ageing: int) -> None:
        if ageing < 2:
            raise ValueError(f"ageing must be at least 2 (every second pop takes the oldest), not {ageing}")
        self._ageing = ageing
        self._since_oldest = 0
        self._ticket = 0
        # While every entry has priority 0 (nearly always) there is only the FIFO; otherwise, `_mixed`, only levels.
        self._mixed = False
        self._fifo: deque[Entry[K]] = deque()
        self._levels: dict[int, _Level[K]] = {}
        # Heaps of (-priority, ticket, level) and (ticket of the level's head, level): levels that died stay until they
        # surface or a sweep; a level's head may have become younger since it was pushed, never older.
        self._by_priority: list[tuple[int, int, _Level[K]]] = []
        self._by_age: list[tuple[int, _Level[K]]] = []

    def push(self, entry: Entry[K]) -> None:
        """Put the entry behind all others of its priority."""
        self._ticket = entry.ticket = self._ticket + 1
        if not self._mixed:
            if entry.priority == 0:
                self._fifo.append(entry)
                return
            self._mix()
        level = self._levels.get(entry.priority)
        if level is None:
            self._open(_Level(entry.priority, deque((entry,))))
        else:
            level.entries.append(entry)
            level.alive += 1

    def bury(self, entry: Entry[K]) -> None:
        """Take a pushed entry out of the order. The entry is dead after this and can't be pushed again."""
        entry.alive = False
        if not self._mixed:
            self._mix()
        level = self._levels[entry.priority]
        level.alive -= 1
        if level.alive == 0:
            self._close(level)
        elif len(level.entries) > 2 * level.alive:
            level.entries = deque(entry for entry in level.entries if entry.alive)

    def pop(self) -> Entry[K]:
        """The next entry. Raises `IndexError` when there is none."""
        if not self._mixed:
            return self._fifo.popleft()
        if len(self._levels) > 1:
            self._since_oldest += 1
            if self._since_oldest >= self._ageing:
                self._since_oldest = 0
                level = self._oldest()
            else:
                level = self._highest()
        else:
            level = self._highest()
        level.skip_dead()
        entry = level.entries.popleft()
        level.alive -= 1
        if level.alive == 0:
            self._close(level)
        return entry

    def __iter__(self) -> Iterator[Entry[K]]:
        """The entries from the highest priority to the lowest, each FIFO: the order of pops but for ageing."""
        if not self._mixed:
            yield from self._fifo
        for priority in sorted(self._levels, reverse=True):
            yield from (entry for entry in self._levels[priority].entries if entry.alive)

    def _highest(self) -> _Level[K]:
        while not self._by_priority[0][2].alive:
            heappop(self._by_priority)
        return self._by_priority[0][2]

    def _oldest(self) -> _Level[K]:
        heap = self._by_age
        while True:
            ticket, level = heap[0]
            if not level.alive:
                heappop(heap)
                continue
            level.skip_dead()
            head = level.entries[0].ticket
            if head == ticket:
                return level
            heapreplace(heap, (head, level))

    def _mix(self) -> None:
        self._mixed = True
        if self._fifo:
            self._open(_Level(0, self._fifo))
            self._fifo = deque()

    def _open(self, level: _Level[K]) -> None:
        """``level`` has entries, none of them dead."""
        if len(self._by_age) + len(self._by_priority) > 4 * len(self._levels) + 16:
            self._by_priority = [item for item in self._by_priority if item[2].alive]
            self._by_age = [item for item in self._by_age if item[1].alive]
            heapify(self._by_priority)
            heapify(self._by_age)
        self._levels[level.priority] = level
        head = level.entries[0].ticket  # no two levels ever begin with the same, so no two levels are compared
        heappush(self._by_priority, (-level.priority, head, level))
        heappush(self._by_age, (head, level))

    def _close(self, level: _Level[K]) -> None:
        """``level`` has no living entry any more."""
        del self._levels[level.priority]
        level.entries.clear()
        if self._levels:
            if len(self._levels) > 1 or 0 not in self._levels:
                return
            rest = self._levels[0]
            if len(rest.entries) != rest.alive:
                return  # tombstones: the FIFO has none
            self._fifo = rest.entries
            self._levels = {}
        self._mixed = False
        self._by_priority = []
        self._by_age = []


class _Level(Generic[K]):
    """The entries of one priority; discarded for good when the last one goes."""

    __slots__ = ("alive", "entries", "priority")

    def __init__(self, priority: int, entries: deque[Entry[K]]) -> None:
        self.priority = priority
        self.entries = entries
        self.alive = len(entries)

    def skip_dead(self) -> None:
        while not self.entries[0].alive:
            self.entries.popleft()
