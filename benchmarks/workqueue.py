"""The cost of the work queue: CPU microseconds per item, beside client-go's on the same machine.

    python benchmarks/workqueue.py [--items 1000000] [--no-go]

Prints a table and writes benchmarks/.build/results/queue.json. The peer in benchmarks/peers/go/queue is built when Go
is installed. All figures are CPU time of the whole process, the best of three runs, one worker, keys are strings.
(Not named queue.py: a script's folder comes first on the path, and the standard library has a module of that name.)
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import platform
import shutil
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry
from report import output_options, write
from rich.console import Console
from rich.table import Table

from setpoint.workqueue import (
    LOW_PRIORITY,
    DelayingQueue,
    PrometheusQueueMetrics,
    QueueMetricsProvider,
    WorkQueue,
)

HERE = Path(__file__).parent

TITLES = {
    "steady": "add + get + done, 1000 keys in turn",
    "fill_and_drain": "add all (distinct), then get + done all",
    "squash": "add of a key that is waiting",
    "add_after": "add_after, distinct keys, delays in no order",
    "steady_priorities": "add + get + done above a waiting low priority",
    "steady_waiting": "add to a worker that waits (two tasks), get, done",
    "steady_metrics": "add + get + done with Prometheus metrics",
}


async def steady(keys: list[str], metrics: QueueMetricsProvider | None = None, *, below: int = 0) -> None:
    queue: WorkQueue[str] = WorkQueue(name="benchmark", metrics=metrics, ageing=10**9)
    for number in range(below):
        queue.add(f"below-{number}", priority=LOW_PRIORITY)
    few = keys[:1000]
    for _ in range(len(keys) // len(few)):
        for key in few:
            queue.add(key)
            queue.done(await queue.get())


async def steady_priorities(keys: list[str]) -> None:
    await steady(keys, below=1000)


async def steady_metrics(keys: list[str]) -> None:
    await steady(keys, PrometheusQueueMetrics(CollectorRegistry()))


async def steady_waiting(keys: list[str]) -> None:
    queue: WorkQueue[str] = WorkQueue()

    async def work() -> None:
        for _ in keys:
            queue.done(await queue.get())

    worker = asyncio.create_task(work())
    for key in keys:
        await asyncio.sleep(0)
        queue.add(key)
    await worker


async def fill_and_drain(keys: list[str]) -> None:
    queue: WorkQueue[str] = WorkQueue()
    for key in keys:
        queue.add(key)
    for _ in keys:
        queue.done(await queue.get())


async def squash(keys: list[str]) -> None:
    queue: WorkQueue[str] = WorkQueue()
    few = keys[:1000]
    for _ in range(len(keys) // len(few)):
        for key in few:
            queue.add(key)


async def add_after(keys: list[str]) -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    for number, key in enumerate(keys):
        queue.add_after(key, 1000 + number * 7919 % 1_000_003)
    queue.shut_down()


WORKLOADS: dict[str, Callable[[list[str]], Awaitable[None]]] = {
    "steady": steady,
    "fill_and_drain": fill_and_drain,
    "squash": squash,
    "add_after": add_after,
    "steady_priorities": steady_priorities,
    "steady_waiting": steady_waiting,
    "steady_metrics": steady_metrics,
}


def best(workload: Callable[[list[str]], Awaitable[None]], keys: list[str]) -> float:
    async def measured() -> float:
        before = time.process_time()
        await workload(keys)
        return time.process_time() - before

    times: list[float] = []
    for _ in range(3):
        gc.collect()
        times.append(asyncio.run(measured()))
    return min(times) / len(keys) * 1e6


def measure_go(items: int) -> dict[str, Any] | None:
    if shutil.which("go") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "queue")
        subprocess.run(["go", "build", "-o", program, "."], cwd=HERE / "peers" / "go" / "queue", check=True)
        run = subprocess.run([program, "-n", str(items)], check=True, capture_output=True)
        result: dict[str, Any] = json.loads(run.stdout)
        return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--no-go", action="store_true", help="leave the peer out")
    output_options(parser, "queue")
    options = parser.parse_args()
    keys = [f"default/pod-{number}" for number in range(options.items)]
    ours = {name: best(workload, keys) for name, workload in WORKLOADS.items()}
    go = None if options.no_go else measure_go(options.items)
    theirs: dict[str, float] = go["cpu_us_per_item"] if go else {}

    table = Table(title=f"work queue, CPU µs per item, N = {options.items:,}")
    table.add_column("workload")
    for column in ("setpoint", "client-go", "ratio"):
        table.add_column(column, justify="right")
    for name, spent in ours.items():
        peer = theirs.get(name)
        table.add_row(
            TITLES[name], f"{spent:.2f}", f"{peer:.2f}" if peer else "", f"{spent / peer:.1f} x" if peer else ""
        )
    Console().print(table)

    report = {
        "items": options.items,
        "python": platform.python_version(),
        "cpu_us_per_item": ours,
        "peer": go,
    }
    write(options, "queue", report, lambda report: {*report["cpu_us_per_item"], *(report["peer"] or {})})


if __name__ == "__main__":
    main()
