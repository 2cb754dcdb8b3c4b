"""``python -m tests.fuzz --seconds 3600``: requests by the hundred thousand; what is found is printed and, at the end,
a failure: exceptions, 500s, refused requests that changed something, requests that held the loop for over 500 ms."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import gc
import random
import resource
import sys
import time
import traceback
from statistics import median

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from tests.fuzz.judge import SLOW, FoundError, Report, session
from tests.fuzz.raw_http import connections, raw_session
from tests.fuzz.requests import requests
from tests.ports import hold_unreachable_ports

from setpoint.starting import freeze_heap

_ROUND = 50
_MEASURED = 10
"""Rounds between two looks at the memory."""
_GROWTH = 16
"""Mebibytes between the medians of the second and of the last quarter of the run. A leak grows all the time; what the
largest request needed stays with the allocator, whenever that came."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(1 << 32)
    end = time.monotonic() + options.seconds
    report, result = Report(), {}
    rounds, memory = 0, list[int]()
    print(f"seed {seed}", flush=True)
    with contextlib.ExitStack() as stack, asyncio.Runner() as runner:
        for holder in hold_unreachable_ports():
            stack.enter_context(holder)
        while time.monotonic() < end:
            for problem in (
                _in_process(runner, seed + rounds, report, result),
                _over_http(runner, seed + rounds, result),
            ):
                if problem is not None:
                    result[problem.signature] = str(problem)
                    print(f"FOUND {problem.signature}\n  {str(problem)[:1500]}", flush=True)
                    if problem.__cause__ is not None:
                        traceback.print_exception(problem.__cause__, limit=-6)
            # Servers do this once they serve. The heap of hypothesis is larger than theirs, and grows.
            gc.unfreeze()
            gc.collect()
            freeze_heap()
            rounds += 1
            if rounds % _MEASURED == 0:
                memory.append(_memory())
                print(f"{rounds} rounds, {report.requests} requests, {memory[-1]} MiB", flush=True)
    grown = _grown(memory)
    print(f"\n{report.requests} requests, answered {dict(sorted(report.codes.items()))}; grown by {grown:.0f} MiB")
    print("held the loop longest:")
    for seconds, what in report.slowest:
        print(f"  {seconds * 1000:7.1f} ms  {what[:200]}")
    slow = [seconds for seconds, _ in report.slowest if seconds > SLOW]
    print(f"{len(result)} findings, {len(slow)} requests over {SLOW * 1000:.0f} ms")
    return 1 if result or slow or grown > _GROWTH else 0


def _in_process(runner: asyncio.Runner, seed: int, report: Report, values: dict[str, str]) -> FoundError | None:
    @seeded(seed)
    @settings(
        max_examples=_ROUND,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(st.lists(requests(), min_size=1, max_size=6))
    def any_requests(sent: list) -> None:  # type: ignore[type-arg]
        try:
            runner.run(session(sent, report))
        except FoundError as problem:
            if problem.signature not in values:
                raise

    return _tried(any_requests)


def _over_http(runner: asyncio.Runner, seed: int, values: dict[str, str]) -> FoundError | None:
    @seeded(seed)
    @settings(
        max_examples=_ROUND // 10,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(st.lists(connections(), min_size=1, max_size=8))
    def any_bytes(sent: list) -> None:  # type: ignore[type-arg]
        try:
            runner.run(raw_session(sent))
        except FoundError as problem:
            if problem.signature not in values:
                raise

    return _tried(any_bytes)


def _tried(test: object) -> FoundError | None:
    try:
        test()  # type: ignore[operator]
    except FoundError as problem:
        return problem
    return None


def _grown(memory: list[int]) -> float:
    """Zero for a run that was too short to tell."""
    quarter = len(memory) // 4
    if quarter < 2:
        return 0.0
    return median(memory[-quarter:]) - median(memory[quarter : 2 * quarter])


def _memory() -> int:
    """Mebibytes that are resident now, without what the allocator only keeps."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # glibc's
        ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() >> 20


if __name__ == "__main__":
    sys.exit(main())
