"""How many requests may be under way at once, as the server's answers say."""

from __future__ import annotations

import asyncio
from collections import deque

__all__ = ["AdaptiveLimiter"]


class AdaptiveLimiter:
    """Lets at most ``limit`` requests through at a time; others wait, first come, first served.

    - A 429 halves the limit, down to ``least``; each answer that is none raises it by one over itself, up to
      ``most`` (additive increase, multiplicative decrease, as in TCP). Of the 429s to requests that were under way
      together only the first counts.
    - Streams are not counted, and leases not made to wait: leadership does not depend on the rest of the traffic.
    - A waiter that is cancelled leaves its place at once.
    """

    __slots__ = ("_epoch", "_waiting", "in_flight", "least", "limit", "most")

    def __init__(self, *, most: int = 64, least: int = 1) -> None:
        if not 1 <= least <= most:
            raise ValueError(f"need 1 <= least <= most, not least={least}, most={most}")
        self.most = most
        self.least = least
        self.limit = float(most)
        self.in_flight = 0
        self._epoch = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        """Waits for a place. Every `enter` that returned needs one `leave`."""
        if self.in_flight < int(self.limit) and not self._waiting:
            self.in_flight += 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except BaseException:
            if place.done() and not place.cancelled():
                self.in_flight -= 1  # the place came together with the cancellation
                self._admit()
            else:
                self._waiting.remove(place)
            raise

    def leave(self, *, throttled: bool | None) -> None:
        """Gives the place back; ``throttled`` says whether the answer was a 429, None that there was none."""
        self.in_flight -= 1
        if throttled is None:
            self._epoch -= 1
        elif throttled:
            if self._epoch <= 0:
                self.limit = max(float(self.least), self.limit / 2)
                self._epoch = self.in_flight
            else:
                self._epoch -= 1
        else:
            if self._epoch > 0:
                self._epoch -= 1
            if self.limit < self.most:
                self.limit = min(float(self.most), self.limit + 1 / self.limit)
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self.in_flight < int(self.limit):
            place = self._waiting.popleft()
            if not place.done():
                self.in_flight += 1
                place.set_result(None)
