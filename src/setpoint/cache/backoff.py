"""Back-off: the wait before the next attempt."""

from __future__ import annotations

from random import Random


class ReflectorBackoff:
    """Computes waits that double with each failure, with jitter.

    The defaults are client-go's for reflectors: 0.8 s, doubled up to 30 s. Each wait is drawn uniformly from one to two
    times the nominal value, so thousands of clients don't retry at once. After two minutes without use, the waits start
    again at 0.8 s.
    """

    def __init__(
        self,
        random: Random,
        *,
        initial: float = 0.8,
        factor: float = 2.0,
        maximum: float = 30.0,
        jitter: float = 1.0,
        reset_after: float = 120.0,
    ) -> None:
        self._random = random
        self._initial = initial
        self._factor = factor
        self._maximum = maximum
        self._jitter = jitter
        self._reset_after = reset_after
        self._nominal = initial
        self._last_used: float | None = None

    def next(self, now: float) -> float:
        """Returns the seconds to wait now, and doubles the nominal wait for the next call; ``now`` is the event loop's
        time.
        """
        if self._last_used is not None and now - self._last_used > self._reset_after:
            self._nominal = self._initial
        self._last_used = now
        nominal = self._nominal
        self._nominal = min(nominal * self._factor, self._maximum)
        return nominal * (1 + self._jitter * self._random.random())
