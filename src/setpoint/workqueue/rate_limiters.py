"""Rate limiters: the delays before a key is tried again."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Hashable
from random import Random
from typing import Any, Generic, Protocol, TypeVar

K = TypeVar("K", bound=Hashable)
K_contra = TypeVar("K_contra", bound=Hashable, contravariant=True)


class RateLimiter(Protocol[K_contra]):
    """A limiter that computes delays, and keeps the state of a key until `forget`."""

    def when(self, key: K_contra, /) -> float:
        """Counts one more failure of the key; returns the number of seconds to wait after it."""
        ...

    def forget(self, key: K_contra, /) -> None:
        """Drops the state of a key that succeeded or is not retried."""
        ...

    def num_requeues(self, key: K_contra, /) -> int:
        """The number of failures of the key since it was last forgotten."""
        ...


class ItemExponentialFailureRateLimiter(Generic[K]):
    """A limiter with a delay of ``base * 2**failures`` seconds for each key, at most ``max``.

    Raises:
        ValueError: ``0 < base <= max`` does not hold, or ``max`` is infinite.
    """

    def __init__(self, base: float = 0.005, max: float = 1000.0) -> None:
        if not 0 < base <= max < math.inf:
            raise ValueError(f"needs 0 < base <= max, not base={base}, max={max}")
        self._base = base
        self._max = max
        self._saturated = math.log2(max / base)  # the number of failures that gives max, to prevent overflow
        self._failures: dict[K, int] = {}

    def when(self, key: K, /) -> float:
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        return self._max if failures >= self._saturated else self._base * 2.0**failures

    def forget(self, key: K, /) -> None:
        self._failures.pop(key, None)

    def num_requeues(self, key: K, /) -> int:
        return self._failures.get(key, 0)


class ItemFastSlowRateLimiter(Generic[K]):
    """A limiter with a delay of ``fast`` seconds for the first ``max_fast_attempts`` failures of a key, and of ``slow``
    seconds after that.
    """

    def __init__(self, fast: float, slow: float, max_fast_attempts: int) -> None:
        self._fast = fast
        self._slow = slow
        self._max_fast_attempts = max_fast_attempts
        self._failures: dict[K, int] = {}

    def when(self, key: K, /) -> float:
        self._failures[key] = failures = self._failures.get(key, 0) + 1
        return self._fast if failures <= self._max_fast_attempts else self._slow

    def forget(self, key: K, /) -> None:
        self._failures.pop(key, None)

    def num_requeues(self, key: K, /) -> int:
        return self._failures.get(key, 0)


class BucketRateLimiter(Generic[K]):
    """A token bucket for all keys together: ``burst`` tokens at once, then ``qps`` tokens per second, whatever the key.

    Each call to `when` reserves a token, possibly a future token. ``clock`` returns seconds, by default the running
    loop's time.

    Raises:
        ValueError: ``qps`` is not a positive finite number, or ``burst`` is less than 1.
    """

    def __init__(self, qps: float = 10, burst: int = 100, *, clock: Callable[[], float] | None = None) -> None:
        if not 0 < qps < math.inf or burst < 1:
            raise ValueError(f"needs qps > 0 and burst >= 1, not qps={qps}, burst={burst}")
        self._qps = qps
        self._burst = burst
        self._clock = clock
        self._tokens = float(burst)
        self._at = -math.inf

    def when(self, _key: K, /) -> float:
        now = asyncio.get_running_loop().time() if self._clock is None else self._clock()
        if now > self._at:
            self._tokens = min(self._burst, self._tokens + (now - self._at) * self._qps)
            self._at = now
        self._tokens -= 1
        return max(0.0, -self._tokens / self._qps)

    def forget(self, _key: K, /) -> None:
        """Does nothing: tokens do not belong to keys."""

    def num_requeues(self, _key: K, /) -> int:
        return 0


class MaxOfRateLimiter(Generic[K]):
    """A limiter with the longest delay of several limiters, each of which counts the failure.

    Raises:
        ValueError: there are no limiters.
    """

    def __init__(self, *limiters: RateLimiter[K]) -> None:
        if not limiters:
            raise ValueError("MaxOfRateLimiter needs at least one limiter")
        self._limiters = limiters

    def when(self, key: K, /) -> float:
        return max([limiter.when(key) for limiter in self._limiters])

    def forget(self, key: K, /) -> None:
        for limiter in self._limiters:
            limiter.forget(key)

    def num_requeues(self, key: K, /) -> int:
        return max([limiter.num_requeues(key) for limiter in self._limiters])


class WithMaxWaitRateLimiter(Generic[K]):
    """A limiter with the delays of another limiter, capped at ``max_delay`` seconds."""

    def __init__(self, limiter: RateLimiter[K], max_delay: float) -> None:
        self._limiter = limiter
        self._max_delay = max_delay

    def when(self, key: K, /) -> float:
        return min(self._limiter.when(key), self._max_delay)

    def forget(self, key: K, /) -> None:
        self._limiter.forget(key)

    def num_requeues(self, key: K, /) -> int:
        return self._limiter.num_requeues(key)


class JitterRateLimiter(Generic[K]):
    """A limiter with the delays of another limiter, each increased by a random amount of at most ``factor`` times the
    delay, so retries are spread out.

    Raises:
        ValueError: ``factor`` is negative.
    """

    def __init__(self, limiter: RateLimiter[K], factor: float, random: Random) -> None:
        if factor < 0:
            raise ValueError(f"the jitter's factor must not be negative: {factor}")
        self._limiter = limiter
        self._factor = factor
        self._random = random

    def when(self, key: K, /) -> float:
        return self._limiter.when(key) * (1.0 + self._factor * self._random.random())

    def forget(self, key: K, /) -> None:
        self._limiter.forget(key)

    def num_requeues(self, key: K, /) -> int:
        return self._limiter.num_requeues(key)


def default_controller_rate_limiter() -> RateLimiter[Any]:
    """client-go's default limiter: 5 ms to 1000 s for each key, and for all keys together 10 attempts per second after
    a burst of 100.
    """
    return MaxOfRateLimiter(ItemExponentialFailureRateLimiter(0.005, 1000.0), BucketRateLimiter(10, 100))


def default_item_based_rate_limiter() -> RateLimiter[Any]:
    """client-go's default limiter for single keys: 1 ms to 1000 s for each key, without a limit across keys."""
    return ItemExponentialFailureRateLimiter(0.001, 1000.0)
