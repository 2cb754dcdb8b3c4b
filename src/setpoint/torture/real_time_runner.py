"""Runner in real time: for a program in any language, several runs at once, repeated where chance may play a part."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Self

import msgspec

from setpoint.cluster.embedded import EmbeddedCluster
from setpoint.models.core_v1 import ConfigMap
from setpoint.simulation.execution.worker_pool import carry_out
from setpoint.simulation.faults.plan import Fault, Plan
from setpoint.simulation.oracles.catalog import rank_of
from setpoint.simulation.oracles.differential import Reference
from setpoint.simulation.search.plan_generator import Injectable, PlanGenerator
from setpoint.simulation.search.runner_interface import Confirmed, drop_faults
from setpoint.simulation.trace.result import Finding, Result
from setpoint.torture.expectations import Expectations
from setpoint.torture.setup import Setup
from setpoint.torture.trial_worker import TrialWorker

REPEAT: Final = 4
"""The number of times that a plan with a finding is tried again."""
_SLOW: Final = 2.0
"""The length in seconds of the longest faults."""
_LEAST, _MOST = 0.4, 15.0
_CALM: Final = 4
"""The maximum number of undisturbed runs that are made at the same time. Fields that differ between them are masked."""
_POSSIBLE: Final = frozenset(
    {
        "conflict", "crash-after", "crash-before", "down", "early", "error-429", "error-500", "expire", "expire-all",
        "hang-up", "lag", "late-write", "lost-answer", "lost-request", "pause", "restart", "slow-answer",
        "slow-request",
    }
)  # fmt: skip
"""The kinds of faults that can be injected from outside of a program."""


class RealTimeRunner:
    """The runs of a search in real time, where two runs of one plan may differ.

    ``workers`` is the number of runs at a time; by default twice the number of cores, since programs wait for most of
    their time. ``repeat`` is the number of times that a plan with a finding is tried again. ``tick`` is called about
    once a second.
    """

    contradicting_runs: Sequence[tuple[str, Result]] = ()

    def __init__(
        self, setup: Setup, *, workers: int | None = None, repeat: int = REPEAT, tick: Callable[[], None] = lambda: None
    ) -> None:
        self._setup = setup
        self._repeat = repeat
        self._tick = tick
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.size = workers or 2 * cores
        self.name = setup.name
        self.code = setup.code()
        self.replay_command = "setpoint torture --replay {token} … -- " + " ".join(setup.command)
        self.off = setup.off
        self.ignore = setup.ignore
        self.notes: list[str] = []
        self.count = 0
        self.expectations = Expectations(quiet_period=setup.quiet_period or Expectations().quiet_period)
        self._workers: list[TrialWorker] = []
        self._reference: Reference | None = None

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="setpoint-torture-"))
        asyncio.run(_load())
        self._workers = [TrialWorker(self._setup, self._folder) for _ in range(self.size)]
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    # -- without faults ------------------------------------------------------------------------------------------------

    def reference(self, stop: int = 0) -> Reference:
        """The results of several undisturbed runs that are made concurrently, as later runs are. They are repeated with
        more patience while the program is slower than expected. ``stop`` has no effect: scenarios are not shortened.
        """
        if self._reference is None:
            self._reference = self._make_reference()
        return self._reference

    def _make_reference(self) -> Reference:
        setup, quiet_period = self._setup, self.expectations.quiet_period
        while True:
            options = Expectations(quiet_period=quiet_period, stay=quiet_period, rest_states=True)
            plans = [Plan()] * min(max(self.size, 2), _CALM)
            results = [result for _, result in self._carry_out(plans, options)]
            longest = max(result.longest_pause for result in results)
            if longest <= 0.7 * quiet_period or quiet_period >= _MOST or setup.quiet_period is not None:
                break
            quiet_period = min(max(2 * quiet_period, 1.5 * longest), _MOST)
        # A finding of some of them only is chance; one of all is not.
        common = set.intersection(*({finding.identity for finding in result.findings} for result in results))
        first = results[0]
        first.findings = [finding for finding in first.findings if finding.identity in common]
        reference = Reference(first, results[1:], self.ignore, self.off)
        self.expectations = Expectations(
            quiet_period=setup.quiet_period or min(max(2 * longest + 0.2, _LEAST), _MOST),
            watched=frozenset.intersection(*(frozenset(result.watched) for result in results)),
            expected_counts=reference.stays,
            expected_deletions=first.controller_deletions,
            expected_rests=tuple(first.rest_states),
            expected_end=first.end,
            masks=reference.masks,
        )
        return reference

    # -- with faults ---------------------------------------------------------------------------------------------------

    def generator(self) -> PlanGenerator:
        """Makes the plans that are worth a run. Crashes come first, since most controllers have never been tested with
        them.
        """
        return PlanGenerator(
            self.reference().baseline,
            off=frozenset(self.off),
            seed=0,
            kinds=sorted(self.expectations.watched),
            primaries=frozenset(),
            injectable=Injectable(slow=_SLOW, late=1.0, can=_is_possible, first=("crash-after", "crash-before")),
        )

    def probes(self) -> Iterable[tuple[Plan, Result]]:
        return ()

    def run(self, plan: Plan) -> Result:
        """The result of one run with the plan."""
        (result,) = [result for _, result in self.results([plan])]
        if result.early:
            (result,) = [result for _, result in self.results([plan], patient=True)]
        return result

    def results(
        self, plans: Iterable[Plan], *, patient: bool = False, looks: tuple[int, ...] = ()
    ) -> Iterator[tuple[Plan, Result]]:
        yield from self._carry_out(plans, msgspec.structs.replace(self.expectations, patient=patient, looks=looks))

    def _carry_out(self, plans: Iterable[Plan], options: Expectations) -> Iterator[tuple[Plan, Result]]:
        jobs = ((plan, options) for plan in plans)
        for _, plan, result in carry_out(self._workers, jobs, on_start=self._count, tick=self._tick):
            yield plan, result

    def _count(self) -> None:
        self.count += 1

    # -- findings ------------------------------------------------------------------------------------------------------

    def confirm(self, plan: Plan, findings: list[Finding]) -> Confirmed | None:
        """Repeats the plan, without those of its faults that it can do without, and beside it a run without faults.
        None if no repetition has the first finding, or if the run without faults has it, too.
        """
        finding = min(findings, key=rank_of)

        def has(plan: Plan, result: Result) -> bool:
            return any(other.identity == finding.identity for other in self.reference().judge(plan, result))

        plan = drop_faults(plan, lambda smaller: has(smaller, self.run(smaller)))
        results = list(self.results([*[plan] * self._repeat, Plan()]))
        _, without_faults = results.pop()
        if has(Plan(), without_faults):
            reference = self.reference()
            self._reference = Reference(reference.baseline, [*reference.others, without_faults], self.ignore, self.off)
            self.notes.append(f"some runs without any fault have it, too: {finding}")
            return None
        showed = [(self.reference().judge(plan, result), result) for _, result in results if has(plan, result)]
        if not showed:
            self.notes.append(f"found once, but not in {self._repeat} repetitions: {finding} ({plan.faults[0]})")
            return None
        return Confirmed(plan, *showed[0], (len(showed) + 1, self._repeat + 1))  # the first time counts, too

    def replay(self, plan: Plan, *, debug: bool = False) -> Confirmed | None:
        """Runs the plan as often as a plan with a finding is repeated. ``debug`` has no effect."""
        results = [(self.reference().judge(plan, result), result) for _, result in self.results([plan] * self._repeat)]
        showed = [outcome for outcome in results if outcome[0]]
        return Confirmed(plan, *showed[0], (len(showed), self._repeat)) if showed else None


def _is_possible(fault: Fault) -> bool:
    """Whether the fault can be injected from outside of a program, and does not make a run much longer."""
    if fault.kind not in _POSSIBLE or fault.get("more") or float(fault.get("seconds", 0.0)) > _SLOW:
        return False
    if fault.kind in ("slow-answer", "slow-request"):
        return not fault.get("until")  # every wait of that step would be as long as waits can be
    return fault.kind != "pause" or bool(fault.get("who") == "controller")


async def _load() -> None:
    """Loads everything that is otherwise loaded on first use, so that runs need not load it."""
    async with EmbeddedCluster() as cluster:
        await cluster.client.list(ConfigMap)
