"""Search: carries out undisturbed trials, then tries each fault on its own. Plans with findings are repeated, to learn
how often the findings occur.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from setpoint.simulation.faults.plan import Plan
from setpoint.simulation.oracles.differential import Reference
from setpoint.simulation.report.counterexample import Counterexample
from setpoint.simulation.report.report import Report
from setpoint.simulation.search.search import Budget
from setpoint.simulation.trace.result import Finding
from setpoint.torture.explore import Explorer
from setpoint.torture.lives import ProgramError
from setpoint.torture.outcome import Expected, Outcome
from setpoint.torture.setup import Setup
from setpoint.torture.trial import Trial
from setpoint.torture.workers import Work, Workers

Progress = Callable[[str, "Search"], None]
"""A function that is called about once a second, and after every trial, with a description of the current work and the
search.
"""
REPEAT: Final = 4
"""The number of times that a plan with a finding is tried again."""
SILENCE: Final = 2.0
"""Seconds without a write after which the program counts as idle, until its usual pauses are known."""
_LEAST, _MOST = 0.4, 15.0
_CALM: Final = 4
"""The maximum number of undisturbed trials that run at the same time. Fields that differ between them are masked."""
_LIMIT: Final = 600.0
"""The time in seconds that a trial may take in addition to four times `Setup.converge`. A longer trial is a
`WorkerError`.
"""


class Search:
    """A search for faults under which the program misbehaves. `findings` yields the counter-examples, and `report`
    covers the plans tried so far.
    """

    def __init__(
        self,
        setup: Setup,
        *,
        budget: Budget,
        workers: int | None = None,
        repeat: int = REPEAT,
        progress: Progress | None = None,
    ) -> None:
        self._setup = setup
        self._budget = budget
        self._repeat = repeat
        self._progress = progress or (lambda _what, _search: None)
        self._began = time.monotonic()
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.workers = workers or 2 * cores  # programs wait for most of their time
        self._pool = Workers(self.workers, limit=_LIMIT + 4 * setup.converge)
        self.report = Report(off=setup.off, ignore=setup.ignore)
        self.expected = Expected(setup.silence or SILENCE)
        self.found = 0
        self._what = ""

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    # -- what there is to find -----------------------------------------------------------------------------------------

    def findings(self) -> Iterator[Counterexample]:
        """Yields the counter-examples, confirmed by repetition, for as long as the caller iterates and the budget
        lasts.

        Raises:
            ProgramError: the program can't be tested.
            WorkerError: a trial could not be run.
        """
        with self._pool:
            reference = self._undisturbed()
            baseline = reference.baseline
            if baseline.findings:
                self.found += 1
                yield self._counterexample(baseline.findings, Plan(), Outcome(baseline), 1, 1)
                if any(each.oracle in ("hot loop", "scenario", "error") for each in baseline.findings):
                    return
            singles = Explorer(baseline, hears=self.expected.hears, off=frozenset(self._setup.off)).singles()
            self.report.all_singles = len(singles)
            yield from self._try([Plan((each,)) for each in singles])

    def replay(self, plan: Plan) -> Counterexample | None:
        """Runs a plan as often as the search repeats a plan with a finding; a plan without faults is judged by the
        undisturbed runs. Returns the counter-example, or None if the plan no longer leads to a finding.

        Raises:
            ProgramError: the program can't be tested.
            WorkerError: a trial could not be run.
        """
        with self._pool:
            reference = self._undisturbed()
            if not plan.faults:
                found = reference.baseline.findings
                return self._counterexample(found, plan, Outcome(reference.baseline), 1, 1) if found else None
            return self._repeated(plan, None)

    def _try(self, plans: list[Plan]) -> Iterator[Counterexample]:
        seen: set[tuple[str, str]] = set()
        self._what = "single faults"
        waiting = iter(plans)
        while True:
            suspect: tuple[Plan, Finding] | None = None
            for plan, outcome in self._each(self._affordable(waiting)):
                self.report.singles += 1
                self.report.add(plan, outcome.result)
                fresh = [each for each in self._judge(plan, outcome) if each.identity not in seen]
                if fresh:
                    suspect = plan, fresh[0]
                    self._pool.stop()  # those under way are tried again below, after this has been confirmed
                    break
            if suspect is None:
                return
            plan, finding = suspect
            seen.add(finding.identity)
            self._what = f"{finding.oracle} under {plan.faults[0]}: again"
            confirmed = self._repeated(plan, finding)
            self._what = "single faults"
            if confirmed is not None:
                seen.update(each.identity for each in confirmed.findings)
                self.found += 1
                yield confirmed

    def _affordable(self, plans: Iterator[Plan]) -> Iterator[Plan]:
        while not self._spent():
            plan = next(plans, None)
            if plan is None:
                return
            yield plan

    def _repeated(self, plan: Plan, finding: Finding | None) -> Counterexample | None:
        """Repeats a plan. If a ``finding`` is given, a trial without faults is run, too. Returns None if no repetition
        has the finding (or, if none is given, any finding), or if the trial without faults has it as well.
        """
        runs = [plan] * self._repeat + ([Plan()] if finding is not None else [])
        shown: list[tuple[list[Finding], Outcome]] = []
        calm: list[Outcome] = []
        for which, outcome in self._each(runs):
            if not which.faults:
                calm.append(outcome)
            else:
                found = self._judge(plan, outcome)
                if finding is None or any(each.identity == finding.identity for each in found):
                    shown.append((found, outcome))
        for outcome in calm:
            again = self._judge(Plan(), outcome)
            if finding is not None and any(each.identity == finding.identity for each in again):
                self._reference.others.append(outcome.result)
                self._reference.__post_init__()
                self.report.notes.append(f"without any fault, too, now and then: {finding}")
                return None
        shown = [each for each in shown if each[0]]
        if not shown:
            if finding is not None:
                self.report.notes.append(
                    f"seen once, and not in {self._repeat} repetitions: {finding} ({plan.faults[0]})"
                )
            return None
        findings, outcome = shown[0]
        if finding is not None:  # the first time counts, too
            findings = sorted(findings, key=lambda each: each.identity != finding.identity)
            return self._counterexample(findings, plan, outcome, len(shown) + 1, self._repeat + 1)
        return self._counterexample(findings, plan, outcome, len(shown), self._repeat)

    def _judge(self, plan: Plan, outcome: Outcome) -> list[Finding]:
        if outcome.result.early:
            return []  # the scenario could not wait for the end of a fault that lasts over its step
        return self._reference.judge(plan, outcome.result)

    # -- undisturbed ---------------------------------------------------------------------------------------------------

    def _undisturbed(self) -> Reference:
        """The results of several undisturbed trials that run concurrently, as later trials do. The trials are repeated
        with more patience while the program is slower than expected.
        """
        self._what = "without faults"
        silence = self.expected.silence
        while True:
            plans = [Plan()] * min(max(self.workers, 2), _CALM)
            outcomes = [outcome for _, outcome in self._each(plans, stay=silence)]
            for each in outcomes:
                if each.failed:
                    raise ProgramError(each.failed)
            longest = max(each.longest for each in outcomes)
            if longest <= 0.7 * silence or silence >= _MOST or self._setup.silence is not None:
                break
            silence = min(max(2 * silence, 1.5 * longest), _MOST)
            self.expected = Expected(silence)
        results = [each.result for each in outcomes]
        # A finding of some of them only is chance; one of all is not.
        common = set.intersection(*({each.identity for each in result.findings} for result in results))
        results[0].findings = [each for each in results[0].findings if each.identity in common]
        reference = Reference(results[0], results[1:], self._setup.ignore, self._setup.off)
        self._reference = reference
        self.report.masks = reference.masks
        self.report.covers(results[0].points)
        hears = frozenset.intersection(*(frozenset(each.hears) for each in outcomes))
        self.expected = Expected(
            self._setup.silence or min(max(2 * longest + 0.2, _LEAST), _MOST),
            hears,
            tuple(results[0].rests),
            reference.stays,
            results[0].end,
            reference.masks,
        )
        self._progress("undisturbed", self)
        return reference

    # -- trials --------------------------------------------------------------------------------------------------------

    def _each(self, plans: Iterable[Plan], *, stay: float = 1.0) -> Iterator[tuple[Plan, Outcome]]:
        jobs = ((plan, self._work(plan, stay)) for plan in plans)
        for plan, outcome in self._pool.each(jobs, tick=lambda: self._progress(self._what, self)):
            self.report.runs, self.report.seconds = self._pool.runs, self.seconds
            yield plan, outcome
            self._progress(self._what, self)

    def _work(self, plan: Plan, stay: float) -> Work:
        setup, expected = self._setup, self.expected

        async def work(folder: Path, told: Callable[[int], None]) -> Outcome:
            return await Trial(setup, plan, expected, folder, stay=stay, told=told).run()

        return work

    def _spent(self) -> bool:
        budget = self._budget
        if budget.runs is not None and self._pool.runs >= budget.runs:
            return True
        return budget.seconds is not None and self.seconds >= budget.seconds

    def _counterexample(
        self, findings: list[Finding], plan: Plan, outcome: Outcome, shown: int, tried: int
    ) -> Counterexample:
        self.report.runs, self.report.seconds = self._pool.runs, self.seconds
        return Counterexample(
            findings,
            plan,
            outcome.result,
            self._reference.baseline,
            code=self._setup.code(),
            scenario=self._setup.name,
            runs=self._pool.runs,
            seconds=self.seconds,
            failure_rate=(shown, tried),
            again="setpoint torture --replay {token} … -- " + " ".join(self._setup.command),
        )
