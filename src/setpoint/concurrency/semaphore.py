"""A fair semaphore whose capacity may change."""

from __future__ import annotations

import asyncio


class FairSemaphore:
    """A semaphore with at most ``places`` holders at a time. Other tasks wait and are served in the order of their
    arrival.

    *Guarantees*

    - A waiting task may be cancelled at any moment, alone or together with others: it leaves the queue, and a place
      that it had just been given goes to the next task.
    - A place is never left free while a task waits for one.

    ``places`` must be at least 1. If `resize` leaves fewer places than holders, the holders keep their places.
    """

    __slots__ = ("_places", "_waiting", "held_places")

    def __init__(self, places: int) -> None:
        if places < 1:
            raise ValueError(f"a semaphore needs at least one place, not {places}")
        self._places = places
        self.held_places = 0
        """The number of places that are held."""
        self._waiting: dict[asyncio.Future[None], None] = {}

    @property
    def places(self) -> int:
        return self._places

    @property
    def waiting(self) -> int:
        """The number of tasks that wait for a place."""
        return len(self._waiting)

    async def acquire(self) -> None:
        """Waits for a place. Every `acquire` that has returned needs one `release`."""
        if self.held_places < self._places and not self._waiting:
            self.held_places += 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[place] = None
        try:
            await place
        except BaseException:
            if place.done() and not place.cancelled():
                self.held_places -= 1  # the place came together with the cancellation
            else:
                self._waiting.pop(place, None)
            self._admit()
            raise

    def release(self) -> None:
        """Gives a place back. Raises `RuntimeError` if no place is held."""
        if not self.held_places:
            raise RuntimeError("released more often than acquired")
        self.held_places -= 1
        if self._waiting:
            self._admit()

    def resize(self, places: int) -> None:
        """Sets the number of places. Raises `ValueError` if it is less than 1."""
        if places < 1:
            raise ValueError(f"a semaphore needs at least one place, not {places}")
        self._places = places
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self.held_places < self._places:
            place = next(iter(self._waiting))
            del self._waiting[place]
            if not place.done():
                self.held_places += 1
                place.set_result(None)
