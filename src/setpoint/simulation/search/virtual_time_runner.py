"""Runner in virtual time: for controllers of this framework, in a simulated cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Self

import msgspec

from setpoint.controller import watched_kinds
from setpoint.meta import resource_of
from setpoint.simulation.comparison.timestamped_names import NamePattern, find_name_patterns
from setpoint.simulation.execution.in_process import run_in_process
from setpoint.simulation.execution.worker_handle import SetupFailed
from setpoint.simulation.execution.worker_pool import WorkerPool
from setpoint.simulation.faults.plan import Fault, Plan, fault
from setpoint.simulation.oracles.append_only_logs import AppendOnlyLogs
from setpoint.simulation.oracles.catalog import rank_of
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
from setpoint.simulation.scenario.code_digest import digest_files, name_of_function
from setpoint.simulation.scenario.simulation_options import Setup
from setpoint.simulation.search.plan_generator import PlanGenerator
from setpoint.simulation.search.runner_interface import Confirmed, drop_faults
from setpoint.simulation.search.set_usage import HASH_SEEDS, uses_sets
from setpoint.simulation.trace.result import Finding, Options, Result

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
    "the scheduler may choose any node",
)

STRETCH: Final = 1000.0
"""The seconds that slow users wait after each step, in one of the runs without faults."""
STEP_BY_STEP: Final = "the run of the scenario, step by step"
AT_ONCE: Final = "the run in which the user creates the final objects in one step"


class VirtualTimeRunner:
    """The runs of a search in virtual time, where all runs of one plan are the same."""

    replay_command = ""

    def __init__(self, setup: Setup, *, seed: int, workers: int | None) -> None:
        self._setup = setup
        self._seed = seed
        self.pool = WorkerPool(setup, workers)
        self.code = digest_files(setup)
        self.name = name_of_function(setup.scenario)
        self.off = setup.off
        self.ignore = setup.ignore if setup.nodes == 1 else {**PLACES, **setup.ignore}
        self.notes: list[str] = []
        self._references: dict[int, Reference] = {}
        self._logs = AppendOnlyLogs(setup.externals)
        self._forms: tuple[NamePattern, ...] = ()
        self.contradicting_runs: Sequence[tuple[str, Result]] = ()

    def __enter__(self) -> Self:
        self.pool.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.__exit__()

    @property
    def count(self) -> int:
        return self.pool.runs

    # -- without faults ------------------------------------------------------------------------------------------------

    def reference(self, stop: int = 0) -> Reference:
        """The results of the runs without faults, of the scenario as far as step ``stop`` (0 for the whole of it)."""
        if stop not in self._references:
            self._references[stop] = self._make_reference(stop)
        return self._references[stop]

    def _make_reference(self, stop: int) -> Reference:
        baseline, *others, again = self._run_without_faults(stop)
        if not stop and (forms := find_name_patterns([baseline, *others])):
            self._forms = forms  # with them, the objects of such names are compared as those of generated names are
            baseline, *others, again = self._run_without_faults(stop)
        reference = Reference(baseline, others, self.ignore, self.off, self._logs)
        if stop:
            reference.follow(self._references[0])
            return reference
        findings = [finding for finding in baseline.findings if finding.oracle not in self.off]
        for other in others:
            identities = {finding.identity for finding in findings}
            findings += [finding for finding in other.findings if finding.identity not in identities]
        if "determinism" not in self.off:  # first: whatever else is found may come of it
            findings = find_first_difference(baseline, again) + findings
        if not findings:
            held = "paths" not in self.off
            findings += compare_steps(baseline, reference) if held else []
            findings += compare_speeds(Reference(baseline, others[:1], self.ignore), others[1]) if held else []
            findings += self._directly(reference)
            self.notes += reference.notes
        baseline.findings = [finding for finding in findings if finding.oracle not in self.off]
        return reference

    def _run_without_faults(self, stop: int) -> list[Result]:
        """The results of the runs without faults: an ordinary one, one at another time and with another seed, one with
        slow users, and the first one again.
        """
        seed, forms = self._seed, self._forms
        jobs = [
            (Plan(seed=seed, stop=stop), Options(trace=True, rest_states=True, forms=forms)),
            (Plan(seed=seed + 1, stop=stop), Options(shift=98_765.0, rest_states=True, forms=forms)),
            (Plan(seed=seed, stop=stop), Options(stretch=STRETCH, rest_states=True, forms=forms)),
            (Plan(seed=seed, stop=stop), Options(trace=True, rest_states=True, audit=True, forms=forms)),
        ]
        return [result for _, _, result in self.pool.results(jobs)]

    def _directly(self, reference: Reference) -> list[Finding]:
        """The findings of a comparison with a run in which users ask for the final state in one step.

        Controllers may have deleted objects that users still want: those that had done their work, or those that
        depended on another one, which users have deleted. It is enough if the comparison finds nothing either with or
        without them.
        """
        baseline = reference.baseline
        objects = list_direct_objects(baseline)
        if not objects:
            reference.least = find_first_rest(baseline)
            return []
        if "paths" in self.off:
            allow_paths(baseline, self._direct(objects), reference)
            return []
        direct = self._direct(objects)
        findings_direct = compare_with_direct(baseline, direct, reference)
        remaining = tuple(obj for obj in objects if obj not in baseline.missing_objects)
        if findings_direct and len(remaining) < len(objects):
            direct = self._direct(remaining)
            findings_direct = compare_with_direct(baseline, direct, reference) and findings_direct
        if findings_direct:
            ways = [(STEP_BY_STEP, baseline), (AT_ONCE, direct)]
            if ends_agree(baseline, self._direct(remaining, apart=True), reference, findings_direct[0].subject):
                ways.reverse()
            self.contradicting_runs = tuple(ways)
        return findings_direct

    def _direct(self, objects: tuple[Any, ...], *, apart: bool = False) -> Result:
        """The result of a run in which users ask for the objects in one step. With ``apart``, they wait after each of
        them, and the process is replaced in the end: this decides which of two other runs is the odd one.
        """
        faults = (fault("restart", "step 1"),) if apart else ()
        options = Options(direct=objects, forms=self._forms, apart=apart, trace=not apart)
        return self.pool.run(Plan(faults, seed=self._seed), options)

    # -- with faults ---------------------------------------------------------------------------------------------------

    def generator(self) -> PlanGenerator:
        """Makes the plans that are worth a run."""
        baseline = self.reference().baseline
        controllers = self._setup.controllers()
        declared = [str(resource_of(kind).group_resource) for kind in watched_kinds(controllers)]
        kinds = list(dict.fromkeys([*declared, *baseline.watched]))
        primaries = frozenset(str(controller.resource.group_resource) for controller in controllers)
        return PlanGenerator(
            baseline,
            off=frozenset(self.off),
            seed=self._seed,
            kinds=kinds,
            primaries=primaries,
            several=self._setup.processes > 1,
            fleet=self._setup.fleet,
        )

    def probes(self) -> Iterator[tuple[Plan, Result]]:
        """The undisturbed run again, in processes with different hash seeds, if the user's code uses sets: it differs
        if its result depends on the order of a set.
        """
        if "hash-seed" in self.off or not uses_sets(self._setup):
            return
        for seed in HASH_SEEDS:
            plan = Plan((fault("hash-seed", "run", seed=seed),), seed=self._seed)
            try:
                yield plan, self.run(plan)
            except SetupFailed as problem:
                self.notes.append(f"other orders of sets were not tried: {problem}")
                return

    def options(
        self, plan: Plan, *, trace: bool = False, patient: bool = False, looks: tuple[int, ...] = ()
    ) -> Options:
        baseline = self._references[0].baseline
        since = 0
        if plan.seed == self._seed and not plan.stop and not trace:  # a trace begins at the beginning
            since = min((baseline.step_of(fault.at) for fault in plan.faults), default=0)
        stays = self._references[0].stays
        return Options(
            trace=trace,
            patient=patient,
            looks=looks,
            forms=self._forms,
            expected_counts=stays,
            expected_deletions=baseline.controller_deletions,
            since=since,
        )

    def run(self, plan: Plan, *, trace: bool = False) -> Result:
        result = self.pool.run(plan, self.options(plan, trace=trace))
        if result.early:
            result = self.pool.run(plan, self.options(plan, trace=trace, patient=True))
        return result

    def results(
        self, plans: Iterable[Plan], *, patient: bool = False, looks: tuple[int, ...] = ()
    ) -> Iterator[tuple[Plan, Result]]:
        jobs = ((plan, self.options(plan, patient=patient, looks=looks)) for plan in plans)
        for _, plan, result in self.pool.results(jobs):
            yield plan, result

    # -- findings ------------------------------------------------------------------------------------------------------

    def confirm(self, plan: Plan, findings: list[Finding]) -> Confirmed | None:
        """The fewest faults and the shortest scenario that still lead to the first finding; None if the findings are
        not due to the faults.
        """
        findings = self._of_old_lists(plan, findings) if plan.starts_stale else findings
        if not findings:
            return None
        wanted = min(findings, key=rank_of).identity

        def shows(smaller: Plan) -> bool:
            findings = self.reference(smaller.stop).judge(smaller, self.run(smaller))
            return any(finding.identity == wanted for finding in findings)

        plan = drop_faults(plan, shows)
        for stop in range(1, self.reference().baseline.steps - 2):
            smaller = msgspec.structs.replace(plan, stop=stop)
            if shows(smaller):
                plan = smaller
                break
        result = self.run(plan, trace=True)
        shown_findings = self.reference(plan.stop).judge(plan, result)
        return Confirmed(plan, shown_findings or findings, result)

    def _of_old_lists(self, plan: Plan, findings: list[Finding]) -> list[Finding]:
        """Without the deletions that a new process also makes in the same step if its lists are up to date: a sweep at
        every start does sooner what it does later in the undisturbed run.
        """
        old = self.run(plan).controller_deletions
        up_to_date = (
            Fault(item.kind, item.at, tuple(detail for detail in item.how if detail[0] != "behind"))
            for item in plan.faults
        )
        fresh = self.run(plan.with_(up_to_date)).controller_deletions

        def is_ordinary(subject: str) -> bool:
            steps = {step: counts[subject] for step, counts in old.items() if subject in counts}
            return bool(steps) and all(fresh.get(step, {}).get(subject, 0) >= times for step, times in steps.items())

        return [finding for finding in findings if finding.oracle != "destroyed" or not is_ordinary(finding.subject)]

    def replay(self, plan: Plan, *, debug: bool = False) -> Confirmed | None:
        """The findings of the plan. With ``debug``, the plan is run in this process."""
        reference = self.reference(plan.stop)
        if debug:
            options = self.options(plan, trace=True)
            result = run_in_process(self._setup, plan, msgspec.structs.replace(options, debug=True))
        else:
            result = self.run(plan, trace=True)
        findings = reference.judge(plan, result)
        return Confirmed(plan, findings, result) if findings else None
