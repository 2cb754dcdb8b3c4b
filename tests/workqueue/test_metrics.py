"""The metrics of the queue."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

import setpoint.workqueue
from setpoint.testing import advance, virtual_time
from setpoint.workqueue import (
    LOW_PRIORITY,
    DelayingQueue,
    PrometheusQueueMetrics,
    RateLimitingQueue,
    WorkQueue,
    default_item_based_rate_limiter,
)


class Scrape:
    """The values of one queue."""

    def __init__(self, registry: CollectorRegistry, name: str = "test") -> None:
        self.registry = registry
        self.labels = {"name": name, "controller": name}

    def __getitem__(self, metric: str) -> float | None:
        return self.registry.get_sample_value(f"workqueue_{metric}", self.labels)


@virtual_time
async def test_metrics() -> None:
    registry = CollectorRegistry()
    queue: WorkQueue[str] = WorkQueue(name="test", metrics=PrometheusQueueMetrics(registry))
    scrape = Scrape(registry)
    assert (scrape["depth"], scrape["adds_total"]) == (0, 0)

    queue.add("foo")
    assert (scrape["depth"], scrape["adds_total"]) == (1, 1)
    await advance(50)
    assert await queue.get() == "foo"
    assert scrape["depth"] == 0
    assert (scrape["queue_duration_seconds_count"], scrape["queue_duration_seconds_sum"]) == (1, 50)

    for _ in range(5):
        queue.add("foo")
    assert (scrape["depth"], scrape["adds_total"]) == (1, 2), "five adds while it is processed count once"
    await advance(25)
    queue.done("foo")
    assert (scrape["work_duration_seconds_count"], scrape["work_duration_seconds_sum"]) == (1, 25)
    assert scrape["depth"] == 1

    await advance(10)
    assert await queue.get() == "foo"
    assert scrape["queue_duration_seconds_sum"] == 50 + 35, "counted from the add, not from `done`"
    await advance(3)
    assert (scrape["unfinished_work_seconds"], scrape["longest_running_processor_seconds"]) == (3, 3)
    queue.add("bar")
    await queue.get()
    await advance(2)
    assert (scrape["unfinished_work_seconds"], scrape["longest_running_processor_seconds"]) == (7, 5)
    queue.done("foo")
    queue.done("bar")
    assert (scrape["unfinished_work_seconds"], scrape["longest_running_processor_seconds"]) == (0, 0)
    assert scrape["work_duration_seconds_sum"] == 25 + 5 + 2


@virtual_time
async def test_names_types_labels_and_buckets_are_the_fields() -> None:
    registry = CollectorRegistry()
    queue: WorkQueue[str] = WorkQueue(name="pods", metrics=PrometheusQueueMetrics(registry))
    queue.add("foo")
    await queue.get()
    queue.done("foo")
    lines = generate_latest(registry).decode().splitlines()
    types = {line.split()[2]: line.split()[3] for line in lines if line.startswith("# TYPE") and "created" not in line}
    assert types == {
        "workqueue_adds_total": "counter",
        "workqueue_depth": "gauge",
        "workqueue_longest_running_processor_seconds": "gauge",
        "workqueue_queue_duration_seconds": "histogram",
        "workqueue_retries_total": "counter",
        "workqueue_unfinished_work_seconds": "gauge",
        "workqueue_work_duration_seconds": "histogram",
    }
    helps = {words[2]: words[3] for line in lines if (words := line.split(maxsplit=3))[1] == "HELP"}
    assert {name: text for name, text in helps.items() if not name.endswith("created")} == {
        "workqueue_adds_total": "Total number of adds",
        "workqueue_depth": "Keys that wait to be handed out",
        "workqueue_longest_running_processor_seconds": (
            "Seconds since the key that is in processing for the longest time was handed out"
        ),
        "workqueue_queue_duration_seconds": "Seconds that a key waits before it is handed out",
        "workqueue_retries_total": "Total number of retries",
        "workqueue_unfinished_work_seconds": (
            "Seconds of work in progress that work_duration has not seen yet; grows by the number of stuck workers"
        ),
        "workqueue_work_duration_seconds": "Seconds that a key is in processing",
    }
    assert 'workqueue_depth{controller="pods",name="pods"} 0.0' in lines
    buckets = [line.split('le="')[1].split('"')[0] for line in lines if "work_duration_seconds_bucket" in line]
    assert [float(bucket) for bucket in buckets] == [
        pytest.approx(bound)
        for bound in [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 100, 1000, float("inf")]
    ]


@virtual_time
async def test_durations_fall_into_their_buckets() -> None:
    registry = CollectorRegistry()
    queue: DelayingQueue[int] = DelayingQueue(name="test", metrics=PrometheusQueueMetrics(registry))
    for seconds in (0, 1, 1.5, 10, 5000):
        queue.add(0)
        await queue.get()
        await advance(seconds)
        queue.done(0)

    def bucket(bound: str) -> float | None:
        labels = {"name": "test", "controller": "test", "le": bound}
        return registry.get_sample_value("workqueue_work_duration_seconds_bucket", labels)

    assert [bucket(bound) for bound in ("1e-08", "0.1", "1.0", "10.0", "1000.0", "+Inf")] == [1, 1, 2, 4, 4, 5]


@virtual_time
async def test_keys_that_wait_as_long_are_counted_in_one_bucket_from_when_they_are_ready() -> None:
    registry = CollectorRegistry()
    queue: DelayingQueue[int] = DelayingQueue(name="test", metrics=PrometheusQueueMetrics(registry))
    for number in range(3):
        queue.add_after(number, 60)
    await advance(65)
    for _ in range(3):
        await queue.get()
    labels = {"name": "test", "controller": "test", "le": "10.0"}
    assert registry.get_sample_value("workqueue_queue_duration_seconds_bucket", labels) == 3
    assert Scrape(registry)["queue_duration_seconds_sum"] == 15


def test_a_queue_that_nobody_reports_can_be_removed() -> None:
    registry = CollectorRegistry()
    metrics = PrometheusQueueMetrics(registry)
    metrics.remove("test")
    assert Scrape(registry)["depth"] is None


@virtual_time
async def test_delayed_keys_are_not_counted_until_they_are_ready() -> None:
    registry = CollectorRegistry()
    queue: DelayingQueue[str] = DelayingQueue(name="test", metrics=PrometheusQueueMetrics(registry))
    scrape = Scrape(registry)
    queue.add_after("foo", 60)
    assert (scrape["depth"], scrape["adds_total"], scrape["retries_total"]) == (0, 0, 1)
    await advance(60)
    assert (scrape["depth"], scrape["adds_total"], scrape["retries_total"]) == (1, 1, 1)
    await queue.get()
    assert (scrape["depth"], scrape["queue_duration_seconds_sum"]) == (0, 0)


@virtual_time
async def test_a_key_added_with_a_delay_and_then_without_counts_once() -> None:
    registry = CollectorRegistry()
    queue: DelayingQueue[str] = DelayingQueue(name="test", metrics=PrometheusQueueMetrics(registry))
    scrape = Scrape(registry)
    queue.add_after("foo", 3600)
    queue.add("foo", priority=1)
    assert (scrape["depth"], scrape["adds_total"]) == (1, 1)
    await queue.get()
    assert (scrape["depth"], scrape["adds_total"]) == (0, 1)
    await advance(4000)
    assert (scrape["depth"], scrape["adds_total"]) == (0, 1)


@virtual_time
async def test_retries_count_rate_limited_adds() -> None:
    registry = CollectorRegistry()
    limiter = default_item_based_rate_limiter()
    queue: RateLimitingQueue[str] = RateLimitingQueue(limiter, name="test", metrics=PrometheusQueueMetrics(registry))
    for _ in range(3):
        queue.add_rate_limited("foo")
    assert Scrape(registry)["retries_total"] == 3
    queue.shut_down()
    queue.add_rate_limited("foo")
    assert Scrape(registry)["retries_total"] == 3


@virtual_time
async def test_many_priorities_make_no_more_series() -> None:
    registry = CollectorRegistry()
    queue: WorkQueue[int] = WorkQueue(name="test", metrics=PrometheusQueueMetrics(registry))
    before = len(generate_latest(registry).splitlines())
    for number in range(1000):
        queue.add(number, priority=LOW_PRIORITY + number)
    assert len(generate_latest(registry).splitlines()) == before
    assert Scrape(registry)["depth"] == 1000


def test_adds_before_the_loop_runs_are_counted_without_a_duration() -> None:
    registry = CollectorRegistry()
    queue: WorkQueue[str] = WorkQueue(name="test", metrics=PrometheusQueueMetrics(registry))
    queue.add("foo")

    async def main() -> None:
        async with queue.item():
            pass

    asyncio.run(main())
    scrape = Scrape(registry)
    assert (scrape["adds_total"], scrape["queue_duration_seconds_count"]) == (1, 0)
    assert scrape["work_duration_seconds_count"] == 1


def test_two_queues_share_a_provider_but_no_name() -> None:
    registry = CollectorRegistry()
    provider = PrometheusQueueMetrics(registry)
    one: WorkQueue[str] = WorkQueue(name="one", metrics=provider)
    two: WorkQueue[str] = WorkQueue(name="two", metrics=provider)
    one.add("foo")
    two.add("foo")
    two.add("bar")
    assert (Scrape(registry, "one")["depth"], Scrape(registry, "two")["depth"]) == (1, 2)
    with pytest.raises(ValueError, match="a queue named 'one' already"):
        WorkQueue[str](name="one", metrics=provider)
    provider.remove("one")
    assert Scrape(registry, "one")["depth"] is None
    assert Scrape(registry, "one")["adds_total"] is None
    WorkQueue[str](name="one", metrics=provider)


def test_two_registries_are_two_worlds() -> None:
    for _ in range(2):
        WorkQueue[str](name="same", metrics=PrometheusQueueMetrics(CollectorRegistry()))


def test_a_queue_with_metrics_needs_a_name() -> None:
    with pytest.raises(ValueError, match="needs a name"):
        WorkQueue[str](metrics=PrometheusQueueMetrics(CollectorRegistry()))


def test_the_room_works_alone_and_without_prometheus() -> None:
    code = f"""
import sys, types
package = types.ModuleType("setpoint")
package.__path__ = [{str(Path(setpoint.workqueue.__file__).parents[1])!r}]
sys.modules["setpoint"] = package
sys.modules["prometheus_client"] = None  # importing it fails
from setpoint.workqueue import RateLimitingQueue, default_item_based_rate_limiter
RateLimitingQueue(default_item_based_rate_limiter()).add("foo")
packages = {{name.split(".")[1] for name in sys.modules if name.startswith("setpoint.")}}
assert packages == {{"workqueue"}}, packages
"""
    subprocess.run([sys.executable, "-c", code], check=True)
