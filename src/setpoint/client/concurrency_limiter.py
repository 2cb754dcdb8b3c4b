"""A limit on requests in flight that adapts to the server's answers."""

from __future__ import annotations

from collections.abc import Awaitable

from setpoint.concurrency import FairSemaphore


class AdaptiveLimiter:
    """Lets at most ``limit`` requests through at a time; the others wait in the order in which they arrived.

    - A 429 halves the limit, down to ``least``; every other answer raises it by one divided by the limit, up to
      ``most`` (additive increase, multiplicative decrease, as in TCP). If several requests in flight at the same time
      get a 429, only the first one counts.
    - Streams are not counted, and requests for leases do not wait, so leadership does not depend on the other traffic.
    - A waiting request that is cancelled leaves the queue at once.
    """

    __slots__ = ("_epoch", "_places", "least", "limit", "most")

    def __init__(self, *, most: int = 64, least: int = 1) -> None:
        if not 1 <= least <= most:
            raise ValueError(f"need 1 <= least <= most, not least={least}, most={most}")
        self.most = most
        self.least = least
        self.limit = float(most)
        self._epoch = 0
        self._places = FairSemaphore(most)

    @property
    def in_flight(self) -> int:
        """The number of requests in flight."""
        return self._places.held_places

    @property
    def waiting(self) -> int:
        """The number of requests that wait for `enter`."""
        return self._places.waiting

    def enter(self) -> Awaitable[None]:
        """Waits until the request may be sent. Call `leave` once for each `enter` that has returned."""
        return self._places.acquire()

    def leave(self, *, throttled: bool | None) -> None:
        """Notes the end of a request. ``throttled`` says whether the answer was a 429; None means that there was no
        answer.
        """
        places = self._places
        if throttled is None:
            self._epoch -= 1
        elif throttled:
            if self._epoch <= 0:
                self.limit = max(float(self.least), self.limit / 2)
                self._epoch = places.held_places - 1
            else:
                self._epoch -= 1
        else:
            if self._epoch > 0:
                self._epoch -= 1
            if self.limit < self.most:
                self.limit = min(float(self.most), self.limit + 1 / self.limit)
        if places.places != int(self.limit):
            places.resize(int(self.limit))
        places.release()
