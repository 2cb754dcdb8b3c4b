"""Search: runs a scenario undisturbed, with single faults and with combinations, and shortens the plans that fail."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from setpoint.simulation.faults.plan import Plan
from setpoint.simulation.oracles.catalog import WEAK, check_switches, rank_of
from setpoint.simulation.oracles.differential import Reference
from setpoint.simulation.oracles.pre_deletion_states import PreDeletionCheck
from setpoint.simulation.report.counterexample import Counterexample, SearchRecord
from setpoint.simulation.report.coverage_report import Report
from setpoint.simulation.scenario.simulation_options import Setup
from setpoint.simulation.search.runner_interface import Confirmed, Runner
from setpoint.simulation.search.virtual_time_runner import VirtualTimeRunner
from setpoint.simulation.trace.result import Finding, Result

Progress = Callable[[Report, str], None]


@dataclass(frozen=True)
class Budget:
    """The limit of a search, in runs and in seconds of real time; None means no limit of that kind.

    The runs without faults come first and are always carried out; they count. With ``Budget(runs=1)`` there are no
    others, so the promises are checked without any fault.
    """

    runs: int | None = None
    seconds: float | None = None


FOUND: Final = "the search ended with a finding"
MORE: Final = 40
"""The runs after a finding that may be the consequence of another one."""
DEFAULT_BUDGET: Final = Budget(seconds=60.0)
BATCH: Final = 50
"""The number of runs after which their suspicious differences are examined."""


class Search:
    """A search for faults under which a controller breaks a promise. `findings` yields the counter-examples, and
    `report` covers the plans tried so far.

    ``budget``, ``seed``, ``workers`` and ``progress`` are as for `check`.

    Raises:
        ValueError: the setup's ``off`` has an unknown name.
    """

    def __init__(
        self,
        subject: Setup | Runner,
        *,
        budget: Budget = DEFAULT_BUDGET,
        seed: int = 0,
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._runs = VirtualTimeRunner(subject, seed=seed, workers=workers) if isinstance(subject, Setup) else subject
        check_switches(dict(self._runs.off))
        self._budget = budget
        self._seed = seed
        self._progress = progress or (lambda _report, _phase: None)
        self._began = time.monotonic()
        self._last_run = 0
        """The number of runs after which the search ends since it has found something; 0 if there is no such limit."""
        self.report = Report(seed=seed, off=self._runs.off, ignore=self._runs.ignore, notes=self._runs.notes)

    # -- results -------------------------------------------------------------------------------------------------------

    def best(self) -> Counterexample | None:
        """The counter-example that most likely shows the cause; None if there is none. If the first one is of an oracle
        whose findings often are consequences of something else (see `RANKS`), the search goes on for `MORE` runs. Of
        every oracle there is at most one counter-example; those that are less likely are in ``others``.

        Raises:
            SetupFailed: the world could not be made.
        """
        counterexamples: list[Counterexample] = []
        for counterexample in self.findings():
            if not any(counterexample.findings[0].oracle == other.findings[0].oracle for other in counterexamples):
                counterexamples.append(counterexample)
            if rank_of(counterexample.findings[0]) < WEAK:
                break
            self._last_run = self._last_run or self._runs.count + MORE
        if not counterexamples:
            return None
        self.report.ended = FOUND
        without_faults = {
            finding.subject
            for counterexample in counterexamples
            if not counterexample.plan.faults
            for finding in counterexample.findings
        }

        def order(counterexample: Counterexample) -> tuple[bool, int]:
            """Those first that are not about what goes wrong without any fault, too: that is the same cause."""
            repeats = any(finding.subject in without_faults for finding in counterexample.findings)
            return bool(counterexample.plan.faults) and repeats, rank_of(counterexample.findings[0])

        likeliest, *others = sorted(counterexamples, key=order)
        likeliest.add(others)
        return likeliest

    def findings(self) -> Iterator[Counterexample]:
        """The counter-examples in the order in which they are found, for as long as the caller iterates and the budget
        lasts.

        Raises:
            SetupFailed: the world could not be made.
        """
        with self._runs:
            reference = self._reference()
            baseline = reference.baseline
            if baseline.findings:
                yield self._counterexample(Confirmed(Plan(seed=self._seed), baseline.findings, baseline))
                if any(
                    finding.oracle in ("hot loop", "scenario", "determinism", "hang") for finding in baseline.findings
                ):
                    return
            generator = self._runs.generator()
            singles = generator.singles()
            self.report.all_singles = len(singles)
            identities: set[tuple[str, str]] = set()
            for plan, result in self._runs.probes():
                self._note(plan, result, "")
                if findings := reference.judge(plan, result):
                    yield from self._confirmed(plan, findings, identities)
                    break
            plans: Iterable[Plan] = (Plan((fault,), seed=self._seed) for fault in singles)
            yield from self._try(plans, "single faults", identities, len(singles))
            if self.report.complete:
                most = len(singles) if self._budget == DEFAULT_BUDGET else None
                yield from self._try(generator.combinations(singles), "combinations", identities, most)

    def replay(self, plan: Plan, *, debug: bool = False) -> Counterexample | None:
        """Runs the scenario without faults, and then the plan again. Returns None if neither run breaks a promise any
        more.

        With ``debug``, the plan is run in this process, which calls ``breakpoint()`` where a fault strikes and where a
        promise is broken.
        """
        with self._runs:
            baseline = self._reference().baseline
            without_faults = Confirmed(Plan(seed=self._seed), baseline.findings, baseline)
            confirmed = self._runs.replay(plan, debug=debug) if plan.faults else None
            # If nothing comes of the faults, all may not be well without them.
            confirmed = confirmed or (without_faults if baseline.findings else None)
            return None if confirmed is None else self._counterexample(confirmed)

    def _reference(self) -> Reference:
        reference = self._runs.reference()
        self._count()
        self.report.covers(reference.baseline.points)
        self.report.masks = reference.masks
        return reference

    # -- with faults ---------------------------------------------------------------------------------------------------

    def _try(
        self, plans: Iterable[Plan], phase: str, identities: set[tuple[str, str]], most: int | None
    ) -> Iterator[Counterexample]:
        """Runs plans until the budget is used up or ``most`` plans have been run. Yields the counter-examples, whose
        plans are shortened once the workers are free.
        """
        reference = self._runs.reference()
        pre_deletion = PreDeletionCheck(reference)
        source = iter(plans)
        tried = 0
        impatient: list[Plan] = []
        suspicious: list[Plan] = []
        while True:
            batch: list[Plan] = []
            failed: list[tuple[Plan, list[Finding]]] = []

            remaining = None if most is None else most - tried
            if pre_deletion.steps:  # the next batch begins when the suspicious differences of this one are examined
                remaining = BATCH if remaining is None else min(remaining, BATCH)

            def next_plans(
                source: Iterator[Plan] = source, batch: list[Plan] = batch, remaining: int | None = remaining
            ) -> Iterator[Plan]:
                while not self._is_over_budget() and (remaining is None or len(batch) < remaining):
                    plan = next(source, None)
                    if plan is None:
                        return
                    batch.append(plan)
                    yield plan

            handled = 0
            for plan, result in self._runs.results(next_plans(), looks=pre_deletion.steps):
                handled += 1
                tried += 1
                if result.early:
                    impatient.append(plan)
                    self.report.cpu += result.seconds  # all else counts once, in the patient run
                    continue
                self._note(plan, result, phase)
                fresh = [finding for finding in reference.judge(plan, result) if finding.identity not in identities]
                if fresh:
                    failed.append((plan, fresh))
                    break
                if (shorter := pre_deletion.about(plan, result)) is not None:
                    suspicious.append(shorter)
            source = itertools.chain(batch[handled:], source)  # those under way when one failed
            if not failed and impatient:
                patient, impatient = impatient, []
                for plan, result in self._runs.results(patient, patient=True):
                    self._note(plan, result, phase)
                    fresh = [finding for finding in reference.judge(plan, result) if finding.identity not in identities]
                    if fresh:
                        failed.append((plan, fresh))
            while suspicious and not failed:
                plan = suspicious.pop(0)
                if fresh := [finding for finding in self._decided(plan) if finding.identity not in identities]:
                    failed.append((plan, fresh))
            for plan, findings in failed:
                yield from self._confirmed(plan, findings, identities)
            if not failed and len(batch) != BATCH:
                return

    def _decided(self, plan: Plan) -> list[Finding]:
        """The findings in a scenario that ends before users delete objects. There are none if that scenario is not a
        good one: for instance, a schedule writes again and again until it is deleted.
        """
        reference = self._runs.reference(plan.stop)
        if any(finding.oracle in ("hot loop", "hang", "error", "quiet") for finding in reference.baseline.findings):
            return []
        return reference.judge(plan, self._runs.run(plan))

    def _confirmed(
        self, plan: Plan, findings: list[Finding], identities: set[tuple[str, str]]
    ) -> Iterator[Counterexample]:
        confirmed = self._runs.confirm(plan, findings)
        if confirmed is not None or not plan.starts_stale:  # other old lists may be the cause of the same deletion
            identities.update(finding.identity for finding in findings)
        if confirmed is not None:
            yield self._counterexample(confirmed)

    def _counterexample(self, confirmed: Confirmed) -> Counterexample:
        self._count()
        runs, plan = self._runs, confirmed.plan
        return Counterexample(
            sorted(confirmed.findings, key=rank_of),
            plan,
            confirmed.result,
            runs.reference(plan.stop).baseline,
            SearchRecord(runs.code, runs.name, self.report.runs, self.report.seconds),
            failure_rate=confirmed.failure_rate,
            replay_command=runs.replay_command,
            contradicting_runs=() if plan.faults else runs.contradicting_runs,
        )

    # -- the budget ----------------------------------------------------------------------------------------------------

    def _note(self, plan: Plan, result: Result, phase: str) -> None:
        if phase == "single faults":
            self.report.singles += 1
        elif phase:
            self.report.combinations += 1
        self.report.add(plan, result)
        self._count()
        self._progress(self.report, phase)

    def _count(self) -> None:
        self.report.runs = self._runs.count
        self.report.seconds = time.monotonic() - self._began

    def _is_over_budget(self) -> bool:
        budget = self._budget
        if self._last_run and self._runs.count >= self._last_run:
            return True
        if budget.runs is not None and self._runs.count >= budget.runs:
            return True
        return budget.seconds is not None and time.monotonic() - self._began >= budget.seconds
