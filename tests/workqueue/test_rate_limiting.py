"""Rate limiters, and the queue that asks them."""

from __future__ import annotations

import asyncio
import math
from itertools import pairwise
from random import Random

import pytest

from setpoint.testing import advance, virtual_time
from setpoint.workqueue import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    ItemFastSlowRateLimiter,
    JitterRateLimiter,
    MaxOfRateLimiter,
    RateLimiter,
    RateLimitingQueue,
    WithMaxWaitRateLimiter,
    default_controller_rate_limiter,
    default_item_based_rate_limiter,
)


def delays(limiter: RateLimiter[str], key: str, times: int) -> list[float]:
    return [limiter.when(key) for _ in range(times)]


def test_item_exponential_failure_rate_limiter() -> None:
    limiter: ItemExponentialFailureRateLimiter[str] = ItemExponentialFailureRateLimiter(0.001, 1.0)
    assert delays(limiter, "one", 5) == [0.001, 0.002, 0.004, 0.008, 0.016]
    assert limiter.num_requeues("one") == 5
    assert delays(limiter, "two", 2) == [0.001, 0.002]
    assert limiter.num_requeues("two") == 2
    limiter.forget("one")
    assert limiter.num_requeues("one") == 0
    assert limiter.when("one") == 0.001
    limiter.forget("never seen")


@pytest.mark.parametrize("unit", [0.001, 60.0])
def test_item_exponential_failure_rate_limiter_does_not_overflow(unit: float) -> None:
    limiter: ItemExponentialFailureRateLimiter[str] = ItemExponentialFailureRateLimiter(unit, 1_000_000 * unit)
    assert delays(limiter, "one", 6)[-1] == 32 * unit
    assert delays(limiter, "two", 5000)[-1] == 1_000_000 * unit
    assert max(delays(limiter, "three", 100)) == 1_000_000 * unit


def test_item_exponential_failure_rate_limiter_reaches_max_without_exceeding_it() -> None:
    limiter: ItemExponentialFailureRateLimiter[str] = ItemExponentialFailureRateLimiter(1, 8)
    assert delays(limiter, "one", 6) == [1, 2, 4, 8, 8, 8]
    limiter = ItemExponentialFailureRateLimiter(1, 7)
    assert delays(limiter, "one", 5) == [1, 2, 4, 7, 7]


@pytest.mark.parametrize(("base", "limit"), [(0, 1), (-1, 1), (2, 1), (1, math.inf), (math.nan, 1)])
def test_item_exponential_failure_rate_limiter_refuses_nonsense(base: float, limit: float) -> None:
    with pytest.raises(ValueError, match="0 < base <= max"):
        ItemExponentialFailureRateLimiter[str](base, limit)


def test_item_fast_slow_rate_limiter() -> None:
    limiter: ItemFastSlowRateLimiter[str] = ItemFastSlowRateLimiter(0.005, 10, 3)
    assert delays(limiter, "one", 5) == [0.005, 0.005, 0.005, 10, 10]
    assert limiter.num_requeues("one") == 5
    assert delays(limiter, "two", 2) == [0.005, 0.005]
    limiter.forget("one")
    assert limiter.num_requeues("one") == 0
    assert limiter.when("one") == 0.005


def test_max_of_rate_limiter() -> None:
    limiter: MaxOfRateLimiter[str] = MaxOfRateLimiter(
        ItemFastSlowRateLimiter(0.005, 3, 3), ItemExponentialFailureRateLimiter(0.001, 1)
    )
    assert delays(limiter, "one", 5) == [0.005, 0.005, 0.005, 3, 3]
    assert limiter.num_requeues("one") == 5
    assert limiter.num_requeues("two") == 0
    limiter.forget("one")
    assert limiter.num_requeues("one") == 0
    assert limiter.when("one") == 0.005
    with pytest.raises(ValueError, match="at least one"):
        MaxOfRateLimiter[str]()


def test_with_max_wait_rate_limiter() -> None:
    limiter: WithMaxWaitRateLimiter[str] = WithMaxWaitRateLimiter(ItemFastSlowRateLimiter(0.005, 1000, 100), 500)
    assert delays(limiter, "one", 102) == [0.005] * 100 + [500, 500]
    assert limiter.num_requeues("one") == 102
    limiter.forget("one")
    assert limiter.when("one") == 0.005


def test_bucket_rate_limiter_gives_a_burst_and_then_reserves_the_future() -> None:
    time = 1000.0
    limiter: BucketRateLimiter[str] = BucketRateLimiter(10, 3, clock=lambda: time)
    assert delays(limiter, "any", 5) == pytest.approx([0, 0, 0, 0.1, 0.2])
    time += 0.1
    assert limiter.when("other") == pytest.approx(0.2)
    time += 3600
    assert delays(limiter, "any", 4) == pytest.approx([0, 0, 0, 0.1]), "no more than a burst is saved up"
    limiter.forget("any")
    assert limiter.num_requeues("any") == 0
    with pytest.raises(ValueError, match="qps > 0"):
        BucketRateLimiter[str](0, 1)


@virtual_time
async def test_bucket_rate_limiter_lives_in_the_loops_time() -> None:
    limiter: BucketRateLimiter[str] = BucketRateLimiter(1, 1)
    assert delays(limiter, "any", 3) == [0, 1, 2]
    await advance(3)
    assert limiter.when("any") == 0


def test_jitter_rate_limiter_disperses_within_its_factor_and_repeats_with_its_seed() -> None:
    def jittered(seed: int) -> list[float]:
        return delays(JitterRateLimiter(ItemFastSlowRateLimiter(10, 10, 1), 0.5, Random(seed)), "one", 200)

    assert jittered(1) == jittered(1)
    assert jittered(1) != jittered(2)
    assert all(10 <= seconds <= 15 for seconds in jittered(1))
    assert max(jittered(1)) > 14.5
    assert min(jittered(1)) < 10.5
    with pytest.raises(ValueError, match="negative"):
        JitterRateLimiter(ItemFastSlowRateLimiter[str](1, 1, 1), -1, Random(1))


@virtual_time
async def test_default_controller_rate_limiter() -> None:
    limiter = default_controller_rate_limiter()
    assert delays(limiter, "one", 3) == [0.005, 0.01, 0.02]
    for number in range(97):
        assert limiter.when(f"other-{number}") == 0.005
    assert limiter.when("after the burst") == pytest.approx(0.1)
    assert max(delays(limiter, "one", 20)) == 1000


def test_default_item_based_rate_limiter() -> None:
    limiter = default_item_based_rate_limiter()
    assert delays(limiter, "one", 3) == [0.001, 0.002, 0.004]
    assert max(delays(limiter, "one", 30)) == 1000


@virtual_time
async def test_rate_limiting_queue() -> None:
    queue: RateLimitingQueue[str] = RateLimitingQueue(ItemExponentialFailureRateLimiter(0.001, 1))
    loop = asyncio.get_running_loop()

    async def fail(key: str) -> float:
        """The delay that a failure leads to."""
        before = loop.time()
        queue.add_rate_limited(key)
        assert await queue.get() == key
        queue.done(key)
        return round(loop.time() - before, 9)

    assert [await fail("one") for _ in range(3)] == [0.001, 0.002, 0.004]
    assert [await fail("two") for _ in range(2)] == [0.001, 0.002]
    assert queue.num_requeues("one") == 3
    queue.forget("one")
    assert queue.num_requeues("one") == 0
    assert queue.num_requeues("two") == 2
    assert await fail("one") == 0.001


@virtual_time
async def test_forget_leaves_the_queue_as_it_is() -> None:
    queue: RateLimitingQueue[str] = RateLimitingQueue(default_item_based_rate_limiter())
    queue.add_rate_limited("foo")
    queue.forget("foo")
    assert queue.state("foo") == "delayed"


@virtual_time
async def test_the_worker_of_the_example_gives_up_after_five_retries() -> None:
    queue: RateLimitingQueue[str] = RateLimitingQueue(default_controller_rate_limiter())
    queue.add("broken")
    attempts: list[float] = []
    while queue.states():
        async with queue.item() as key:
            attempts.append(asyncio.get_running_loop().time())
            if queue.num_requeues(key) < 5:
                queue.add_rate_limited(key, priority=1)
                assert queue.priority(key) == 1
            else:
                queue.forget(key)
    assert [round(b - a, 9) for a, b in pairwise(attempts)] == [0.005, 0.01, 0.02, 0.04, 0.08]
    assert queue.num_requeues("broken") == 0


@virtual_time
async def test_rate_limited_adds_after_shut_down_count_for_nothing() -> None:
    queue: RateLimitingQueue[str] = RateLimitingQueue(default_item_based_rate_limiter())
    queue.shut_down()
    queue.add_rate_limited("foo")
    assert queue.num_requeues("foo") == 0
    assert queue.states() == {}


def test_what_nobody_said_is_client_go_s() -> None:
    rate_limiter: ItemExponentialFailureRateLimiter[str] = ItemExponentialFailureRateLimiter()
    assert delays(rate_limiter, "one", 2) == [0.005, 0.01]
    assert max(delays(rate_limiter, "one", 30)) == 1000
    together: BucketRateLimiter[str] = BucketRateLimiter(clock=lambda: 0.0)
    assert delays(together, "one", 102) == [*[0.0] * 100, 0.1, 0.2]


def test_a_constant_delay_is_a_limiter_too() -> None:
    limiter: ItemExponentialFailureRateLimiter[str] = ItemExponentialFailureRateLimiter(3, 3)
    assert delays(limiter, "one", 3) == [3, 3, 3]


def test_jitter_knows_the_keys_of_the_limiter_that_it_wraps() -> None:
    inner: ItemExponentialFailureRateLimiter[str] = ItemExponentialFailureRateLimiter(1, 8)
    limiter = JitterRateLimiter(inner, 0.0, Random(1))
    assert delays(limiter, "one", 3) == [1, 2, 4]
    assert delays(limiter, "two", 2) == [1, 2]
    assert (limiter.num_requeues("one"), limiter.num_requeues("two")) == (3, 2)
    limiter.forget("one")
    assert (limiter.num_requeues("one"), limiter.num_requeues("two")) == (0, 2)


def test_a_key_that_never_failed_can_be_forgotten() -> None:
    limiter: ItemFastSlowRateLimiter[str] = ItemFastSlowRateLimiter(1, 2, 1)
    limiter.forget("never seen")
    assert delays(limiter, "never seen", 2) == [1, 2]


@virtual_time
async def test_a_rate_limited_key_comes_with_the_lowest_of_priorities_unless_it_is_told() -> None:
    queue: RateLimitingQueue[str] = RateLimitingQueue(default_item_based_rate_limiter(), ageing=2)
    assert queue.name == ""
    queue.add_rate_limited("foo")
    assert queue.priority("foo") == 0
    queue.add_rate_limited("foo", priority=7)
    assert queue.priority("foo") == 7
    for number in range(3):
        queue.add(f"high-{number}", priority=9)
    await advance(1)
    assert [await queue.get() for _ in range(3)] == ["high-0", "foo", "high-1"], "every second one is a lower one's"


@pytest.mark.parametrize(("qps", "burst"), [(0.0, 1), (-1.0, 1), (math.inf, 1), (math.nan, 1), (1.0, 0)])
def test_a_bucket_that_never_fills_or_is_never_empty_is_refused(qps: float, burst: int) -> None:
    with pytest.raises(ValueError, match=r"^needs qps > 0 and burst >= 1, not "):
        BucketRateLimiter(qps, burst)


def test_the_longest_of_no_delays_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^MaxOfRateLimiter needs at least one limiter$"):
        MaxOfRateLimiter()
