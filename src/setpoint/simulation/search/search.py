"""Search: runs a scenario undisturbed, with single faults and with combinations, and shortens the plans that fail."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from setpoint.controller import watched_kinds
from setpoint.meta import resource_of
from setpoint.simulation.comparison.timestamped_names import NamePattern, find_name_patterns
from setpoint.simulation.execution.in_process import run_in_process
from setpoint.simulation.execution.worker import SetupFailed
from setpoint.simulation.execution.worker_pool import WorkerPool
from setpoint.simulation.faults.plan import Plan, fault
from setpoint.simulation.oracles.append_only_logs import AppendOnlyLogs
from setpoint.simulation.oracles.catalog import WEAK, check_switches, rank_of
from setpoint.simulation.oracles.determinism import find_first_difference
from setpoint.simulation.oracles.differential import Reference
from setpoint.simulation.oracles.path_independence import (
    allow_paths,
    compare_speeds,
    compare_steps,
    compare_with_direct,
    ends_agree,
    find_first_rest,
    list_direct_objects,
)
from setpoint.simulation.oracles.pre_deletion import PreDeletionCheck
from setpoint.simulation.report.counterexample import Counterexample
from setpoint.simulation.report.report import Report
from setpoint.simulation.scenario.setup import Setup
from setpoint.simulation.scenario.source_files import digest_files, name_of_function
from setpoint.simulation.search.plan_generator import PlanGenerator
from setpoint.simulation.search.set_usage import HASH_SEEDS, uses_sets
from setpoint.simulation.trace.result import Finding, Options, Result

Progress = Callable[[Report, str], None]

PLACES: Final = dict.fromkeys(
    (
        "pods metadata.labels.topology.kubernetes.io/region",
        "pods metadata.labels.topology.kubernetes.io/zone",
        "pods spec.nodeName",
        "pods status.hostIP",
        "pods status.hostIPs[]",
        "endpointslices.discovery.k8s.io endpoints[].nodeName",
        "endpoints subsets[].addresses[].nodeName",
        "endpoints subsets[].notReadyAddresses[].nodeName",
    ),
    "pods are placed anywhere",
)


@dataclass(frozen=True)
class Budget:
    """The limit of a search, in runs and in seconds of real time; None means no limit of that kind."""

    runs: int | None = None
    seconds: float | None = None


STRETCH: Final = 1000.0
"""The seconds that slow users wait after each step, in one of the runs without faults."""
STEP_BY_STEP: Final = "the run of the scenario, step by step"
AT_ONCE: Final = "the run in which the user creates the final objects in one step"
FOUND: Final = "the search ended with a finding"
MORE: Final = 40
"""The runs after a finding that may be the consequence of another one."""
DEFAULT_BUDGET: Final = Budget(seconds=60.0)
DOUBTFUL: Final = 50
"""The number of runs after which doubts about them are settled."""


class Search:
    """A search for faults under which a controller breaks a promise. `findings` yields the counter-examples, and
    `report` covers the plans tried so far.

    ``budget``, ``seed``, ``workers`` and ``progress`` are as for `check`.

    Raises:
        ValueError: the setup's ``off`` has an unknown name.
    """

    def __init__(
        self,
        setup: Setup,
        *,
        budget: Budget = DEFAULT_BUDGET,
        seed: int = 0,
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        check_switches(dict(setup.off))
        self._setup = setup
        self._budget = budget
        self._seed = seed
        self._workers = workers
        self._progress = progress or (lambda _report, _what: None)
        self._began = time.monotonic()
        self._code = digest_files(setup)
        self._name = name_of_function(setup.scenario)
        self._references: dict[int, Reference] = {}
        self._ledgers = AppendOnlyLogs(setup.externals)
        self._forms: tuple[NamePattern, ...] = ()
        self._last_run = 0
        """The number of runs after which the search ends since it has found something; 0 if there is no such limit."""
        self._ways: tuple[tuple[str, Result], ...] = ()
        """The two runs without faults that end otherwise though users wish for the same, the odd one first."""
        ignore = setup.ignore if setup.nodes == 1 else {**PLACES, **setup.ignore}
        self.report = Report(seed=seed, off=setup.off, ignore=ignore)

    # -- what there is to find -----------------------------------------------------------------------------------------

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
            self._last_run = self._last_run or self._pool.runs + MORE
        if not counterexamples:
            return None
        self.report.ended = FOUND
        calm = {
            counterexample.findings[0].subject for counterexample in counterexamples if not counterexample.plan.faults
        }

        def order(counterexample: Counterexample) -> tuple[bool, int]:
            """Those first that are not about what goes wrong without any fault, too: that is the same cause."""
            first = counterexample.findings[0]
            return bool(counterexample.plan.faults) and first.subject in calm, rank_of(first)

        likeliest, *others = sorted(counterexamples, key=order)
        likeliest.add(others)
        return likeliest

    def findings(self) -> Iterator[Counterexample]:
        """The counter-examples in the order in which they are found, for as long as the caller iterates and the budget
        lasts.

        Raises:
            SetupFailed: the world could not be made.
        """
        with WorkerPool(self._setup, self._workers) as pool:
            self._pool = pool
            reference = self._undisturbed()
            baseline = reference.baseline
            self._references[0] = reference
            if baseline.findings:
                yield self._counterexample(baseline.findings, Plan(seed=self._seed), baseline)
                if any(
                    finding.oracle in ("hot loop", "scenario", "determinism", "hang") for finding in baseline.findings
                ):
                    return
            controllers = self._setup.controllers()
            declared = [str(resource_of(kind).group_resource) for kind in watched_kinds(controllers)]
            kinds = list(dict.fromkeys([*declared, *baseline.heard]))
            primaries = frozenset(str(controller.resource.group_resource) for controller in controllers)
            off = frozenset(self._setup.off)
            several = self._setup.processes > 1
            fleet = self._setup.fleet
            explorer = PlanGenerator(
                baseline, off=off, seed=self._seed, kinds=kinds, primaries=primaries, several=several, fleet=fleet
            )
            singles = explorer.singles()
            self.report.all_singles = len(singles)
            seen: set[tuple[str, str]] = set()
            yield from self._hashes(seen)
            plans: Iterable[Plan] = (Plan((single,), seed=self._seed) for single in singles)
            yield from self._try(plans, "single faults", seen, len(singles))
            if self.report.complete:
                most = len(singles) if self._budget == DEFAULT_BUDGET else None
                yield from self._try(explorer.combinations(singles), "combinations", seen, most)

    def replay(self, plan: Plan, *, debug: bool = False) -> Counterexample | None:
        """Runs the scenario without faults, and then the plan again. Returns None if neither run breaks a promise any
        more.

        With ``debug``, the plan is run in this process, which calls ``breakpoint()`` where a fault strikes and where a
        promise is broken.
        """
        with WorkerPool(self._setup, self._workers) as pool:
            self._pool = pool
            reference = self._references[0] = self._undisturbed()
            baseline = reference.baseline
            if not plan.faults:
                findings, result = baseline.findings, baseline
            else:
                reference = self._reference(plan.stop)
                if debug:
                    options = self._options(plan, trace=True)
                    result = run_in_process(self._setup, plan, msgspec.structs.replace(options, debug=True))
                else:
                    result = self._run(plan, trace=True)
                findings = reference.judge(plan, result)
                if not findings and baseline.findings:  # nothing comes of the faults, and all is not well without them
                    plan, findings, result = Plan(seed=self._seed), baseline.findings, baseline
            return self._counterexample(findings, plan, result) if findings else None

    # -- undisturbed ---------------------------------------------------------------------------------------------------

    def _undisturbed(self, stop: int = 0) -> Reference:
        baseline, *others, again = self._calm(stop)
        if not stop and (forms := find_name_patterns([baseline, *others])):
            self._forms = forms  # with them, the objects of such names are compared as those of generated names are
            baseline, *others, again = self._calm(stop)
        ignore = self.report.ignore
        reference = Reference(baseline, others, ignore, self._setup.off, self._ledgers)
        if stop:
            reference.follow(self._references[0])
            return reference
        self._count()
        self.report.covers(baseline.points)
        self.report.masks = reference.masks
        findings = [finding for finding in baseline.findings if finding.oracle not in self._setup.off]
        for other in others:
            identities = {finding.identity for finding in findings}
            findings += [finding for finding in other.findings if finding.identity not in identities]
        if "determinism" not in self._setup.off:  # first: whatever else is found may come of it
            findings = find_first_difference(baseline, again) + findings
        if not findings:
            held = "paths" not in self._setup.off
            findings += compare_steps(baseline, reference) if held else []
            findings += compare_speeds(Reference(baseline, others[:1], ignore), others[1]) if held else []
            findings += self._directly(reference)
        baseline.findings = [finding for finding in findings if finding.oracle not in self._setup.off]
        return reference

    def _calm(self, stop: int) -> list[Result]:
        """The results of the runs without faults: an ordinary one, one at another time and with another seed, one with
        slow users, and the first one again.
        """
        seed, forms = self._seed, self._forms
        jobs = [
            (Plan(seed=seed, stop=stop), Options(trace=True, rests=True, forms=forms)),
            (Plan(seed=seed + 1, stop=stop), Options(shift=98_765.0, rests=True, forms=forms)),
            (Plan(seed=seed, stop=stop), Options(stretch=STRETCH, rests=True, forms=forms)),
            (Plan(seed=seed, stop=stop), Options(trace=True, rests=True, audit=True, forms=forms)),
        ]
        return [result for _, _, result in self._pool.each(jobs)]

    def _directly(self, reference: Reference) -> list[Finding]:
        """The findings of a comparison with a run in which users ask for the final state in one step.

        Controllers may have deleted objects that users still wish for: those that had done their work, or those that
        depended on another one, which users have deleted. It is enough if the comparison finds nothing either with or
        without them.
        """
        baseline = reference.baseline
        objects = list_direct_objects(baseline)
        if not objects:
            reference.least = find_first_rest(baseline)
            return []
        if "paths" in self._setup.off:
            allow_paths(baseline, self._direct(objects), reference)
            return []
        direct = self._direct(objects)
        findings = compare_with_direct(baseline, direct, reference)
        left = tuple(obj for obj in objects if obj not in baseline.lost)
        if findings and len(left) < len(objects):
            direct = self._direct(left)
            findings = compare_with_direct(baseline, direct, reference) and findings
        if findings:
            ways = [(STEP_BY_STEP, baseline), (AT_ONCE, direct)]
            if ends_agree(baseline, self._direct(left, apart=True), reference, findings[0].subject):
                ways.reverse()
            self._ways = tuple(ways)
        return findings

    def _direct(self, objects: tuple[Any, ...], *, apart: bool = False) -> Result:
        """The result of a run in which users ask for the objects in one step. With ``apart``, they wait after each of
        them, and the process is replaced in the end: this decides which of two other runs is the odd one.
        """
        faults = (fault("restart", "step 1"),) if apart else ()
        options = Options(direct=objects, forms=self._forms, apart=apart, trace=not apart)
        return self._pool.one(Plan(faults, seed=self._seed), options)

    def _reference(self, stop: int) -> Reference:
        if stop not in self._references:
            self._references[stop] = self._undisturbed(stop)
        return self._references[stop]

    # -- disturbed -----------------------------------------------------------------------------------------------------

    def _try(
        self, plans: Iterable[Plan], what: str, seen: set[tuple[str, str]], most: int | None
    ) -> Iterator[Counterexample]:
        """Runs plans until the budget is used up or ``most`` plans have been run. Yields the counter-examples, whose
        plans are shortened once the workers are free.
        """
        reference = self._references[0]
        doubts = PreDeletionCheck(reference)
        source = iter(plans)
        tried = 0
        impatient: list[Plan] = []
        doubtful: list[Plan] = []
        while True:
            batch: list[Plan] = []
            failed: list[tuple[Plan, list[Finding]]] = []

            left = None if most is None else most - tried
            if doubts.steps:  # the next batch begins when the doubts of this one are settled
                left = DOUBTFUL if left is None else min(left, DOUBTFUL)

            def jobs(batch: list[Plan] = batch, left: int | None = left) -> Iterator[tuple[Plan, Options]]:
                while not self._spent() and (left is None or len(batch) < left):
                    plan = next(source, None)
                    if plan is None:
                        return
                    batch.append(plan)
                    yield plan, self._options(plan, looks=doubts.steps)

            for _, plan, result in self._pool.each(jobs()):
                tried += 1
                if result.early:
                    impatient.append(plan)
                    self.report.cpu += result.seconds  # all else counts once, in the patient run
                    continue
                self._note(plan, result, what)
                fresh = [finding for finding in reference.judge(plan, result) if finding.identity not in seen]
                if fresh:
                    failed.append((plan, fresh))
                    break
                if (shorter := doubts.about(plan, result)) is not None:
                    doubtful.append(shorter)
            if not failed and impatient:
                patient = [(plan, self._options(plan, patient=True)) for plan in impatient]
                impatient = []
                for _, plan, result in self._pool.each(patient):
                    self._note(plan, result, what)
                    fresh = [finding for finding in reference.judge(plan, result) if finding.identity not in seen]
                    if fresh:
                        failed.append((plan, fresh))
            while doubtful and not failed:
                plan = doubtful.pop(0)
                if fresh := [finding for finding in self._decided(plan) if finding.identity not in seen]:
                    failed.append((plan, fresh))
            for plan, findings in failed:
                seen.update(finding.identity for finding in findings)
                yield self._shrunk(plan, findings)
            if not failed and len(batch) != DOUBTFUL:
                return

    def _decided(self, plan: Plan) -> list[Finding]:
        """The findings in a scenario that ends before users delete objects. There are none if that scenario is not a
        good one: for instance, a schedule writes again and again until it is deleted.
        """
        reference = self._reference(plan.stop)
        if any(finding.oracle in ("hot loop", "hang", "error", "quiet") for finding in reference.baseline.findings):
            return []
        return reference.judge(plan, self._run(plan))

    def _hashes(self, seen: set[tuple[str, str]]) -> Iterator[Counterexample]:
        """Repeats the undisturbed run in processes with different hash seeds, if the user's code uses sets. Yields at
        most one counter-example: a run that differs because its result depends on the order of a set.
        """
        if "hash-seed" in self._setup.off or not uses_sets(self._setup):
            return
        for seed in HASH_SEEDS:
            plan = Plan((fault("hash-seed", "run", seed=seed),), seed=self._seed)
            try:
                result = self._run(plan)
            except SetupFailed as problem:
                self.report.notes.append(f"other orders of sets were not tried: {problem}")
                return
            self._note(plan, result, "")
            findings = self._references[0].judge(plan, result)
            if findings:
                seen.update(finding.identity for finding in findings)
                yield self._shrunk(plan, findings)
                return

    def _options(
        self, plan: Plan, *, trace: bool = False, patient: bool = False, looks: tuple[int, ...] = ()
    ) -> Options:
        baseline = self._references[0].baseline
        since = 0
        if plan.seed == self._seed and not plan.stop and not trace:  # a trace begins at the beginning
            since = min((baseline.step_of(planned.at) for planned in plan.faults), default=0)
        stays = self._references[0].stays
        return Options(
            trace=trace,
            patient=patient,
            looks=looks,
            forms=self._forms,
            rests_expected=stays,
            gone_expected=baseline.gone,
            since=since,
        )

    def _run(self, plan: Plan, *, trace: bool = False) -> Result:
        result = self._pool.one(plan, self._options(plan, trace=trace))
        if result.early:
            result = self._pool.one(plan, self._options(plan, trace=trace, patient=True))
        return result

    def _note(self, plan: Plan, result: Result, what: str) -> None:
        if what == "single faults":
            self.report.singles += 1
        elif what:
            self.report.combinations += 1
        self.report.add(plan, result)
        self._count()
        self._progress(self.report, what)

    def _count(self) -> None:
        self.report.runs = self._pool.runs
        self.report.seconds = time.monotonic() - self._began

    def _spent(self) -> bool:
        budget = self._budget
        if self._last_run and self._pool.runs >= self._last_run:
            return True
        if budget.runs is not None and self._pool.runs >= budget.runs:
            return True
        return budget.seconds is not None and time.monotonic() - self._began >= budget.seconds

    # -- what was found ------------------------------------------------------------------------------------------------

    def _shrunk(self, plan: Plan, findings: list[Finding]) -> Counterexample:
        """A counter-example with the fewest faults and the shortest scenario that still led to the first finding."""
        wanted = min(findings, key=rank_of).identity

        def shows(smaller: Plan) -> bool:
            shown = self._reference(smaller.stop).judge(smaller, self._run(smaller))
            return any(finding.identity == wanted for finding in shown)

        if len(plan.faults) > 1:
            for removed in plan.faults:
                smaller = plan.with_(other for other in plan.faults if other is not removed)
                if len(smaller.faults) and shows(smaller):
                    plan = smaller
        for stop in range(1, self._references[0].baseline.steps - 2):
            smaller = msgspec.structs.replace(plan, stop=stop)
            if shows(smaller):
                plan = smaller
                break
        result = self._run(plan, trace=True)
        shown = self._reference(plan.stop).judge(plan, result)
        return self._counterexample(shown or findings, plan, result)

    def _counterexample(self, findings: list[Finding], plan: Plan, result: Result) -> Counterexample:
        self._count()
        return Counterexample(
            sorted(findings, key=rank_of),
            plan,
            result,
            self._references[plan.stop].baseline,
            code=self._code,
            scenario=self._name,
            runs=self.report.runs,
            seconds=self.report.seconds,
            ways=() if plan.faults else self._ways,
        )
