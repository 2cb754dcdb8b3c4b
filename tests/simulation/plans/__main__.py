"""Draws plans for all examples and makes each twice: ``python -m tests.simulation.plans --count N [--record FILE]``.

No plan may come to a finding, and none may be another one the second time: not where the run begins in a process that
has come to the step of the fault already, and, for one plan in twenty, not in an interpreter with another hash seed.

With a record the search can be ended at any time, also with SIGKILL, and goes on where it was. The examples take turns,
so that all have had some of their plans whenever it ends.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec
from tests.simulation.plans.examples import setups
from tests.simulation.plans.record import Made, Record

from setpoint.simulation import Fault, Plan, Setup
from setpoint.simulation.execution.worker_handle import SetupFailed
from setpoint.simulation.search.virtual_time_runner import VirtualTimeRunner
from setpoint.simulation.trace.result import Options, Result

EVERY = 20
"""One plan in so many is also made under another hash seed."""
TURN = 60
"""The number of plans of one example before it is the next one's turn."""


def drawn(runs: VirtualTimeRunner, seed: int) -> Iterator[Plan]:
    """Single faults and combinations in turns, without end."""
    explorer = runs.generator()
    singles: list[Fault] = explorer.singles()
    alone = iter(singles)
    for plan in explorer.combinations(singles):
        if (one := next(alone, None)) is not None:
            yield Plan((one,), seed=seed)
        yield plan


def tried(name: str, setup: Setup, numbers: list[int], seed: int, workers: int | None) -> Iterator[Made]:
    """The plans of these numbers of one example."""
    with VirtualTimeRunner(setup, seed=seed, workers=workers) as runs:
        reference, pool = runs.reference(), runs.pool
        for finding in reference.baseline.findings:
            print(f"{name}: without faults: {finding}", flush=True)
        source = enumerate(islice(drawn(runs, seed), max(numbers) + 1))
        plans = [(number, plan) for number, plan in source if number in numbers]

        def jobs() -> Iterator[tuple[Plan, Options]]:
            for _, plan in plans:
                options = runs.options(plan)
                yield plan, options
                yield plan, msgspec.structs.replace(options, since=0)

        def judged(plan: Plan, result: Result, result_item: Made) -> Made:
            for current_result in [*reference.baseline.findings, *reference.judge(plan, result)]:
                result_item.accused.append(str(current_result))
                print(f"{name}: {current_result} under {', '.join(map(str, plan.faults))} ({plan.token()})", flush=True)
            return result_item

        impatient: list[tuple[Plan, Made]] = []
        results = pool.results(jobs())
        for number, plan in plans:
            (_, _, one), (_, _, again) = next(results), next(results)
            new_result = Made(name, number, seed, injected=len(one.injected), seconds=one.seconds + again.seconds)
            digests = {one.digest, again.digest}
            if number % EVERY == 0 and "hash-seed" not in setup.off:
                try:
                    other = pool._seeded(1)
                    other.send((plan, msgspec.structs.replace(runs.options(plan), since=0)))
                    third = other.receive()
                except SetupFailed as problem:
                    print(f"{name}: it was not made under another hash seed: {problem}", flush=True)
                else:
                    digests.add(third.digest)
                    new_result.seconds += third.seconds
            if "determinism" not in setup.off:
                new_result.same = len(digests) == 1 and one.end == again.end
            if not new_result.same:
                text = ", ".join(map(str, plan.faults))
                print(f"{name}: not the same twice: {text} ({plan.token()})", flush=True)
            if one.early:
                impatient.append((plan, new_result))
            else:
                yield judged(plan, one, new_result)
        for plan, new_result in impatient:  # once no worker is busy
            yield judged(plan, runs.run(plan), new_result)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="plans, for all examples together")
    parser.add_argument("--seconds", type=float, help="ends before, after so long")
    parser.add_argument("--record", type=Path, help="the file that says what was made, to go on with")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int)
    parser.add_argument("names", nargs="*", help="examples; all by default")
    given = parser.parse_args()
    expected = setups()
    names = given.names or list(expected)
    item = -(-given.count // len(names))
    record = Record(given.record)
    began = time.monotonic()
    for start in range(0, item, TURN):
        for name in names:
            numbers = record.missing(name, given.seed, range(start, min(start + TURN, item)))
            if not numbers:
                continue
            if given.seconds is not None and time.monotonic() - began > given.seconds:
                break
            for result in tried(name, expected[name], numbers, given.seed, given.workers):
                record.add(result)
            print(f"{time.strftime('%H:%M:%S')} {name}: to plan {numbers[-1] + 1} of {item}", flush=True)
    print(*record.table(), sep="\n", flush=True)
    return 1 if any(result.accused or not result.same for result in record.made.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
