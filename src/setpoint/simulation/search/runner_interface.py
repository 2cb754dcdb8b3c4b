"""Runner: the interface by which a search carries out its plans, in virtual or in real time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, Self

from setpoint.simulation.faults.plan import Plan
from setpoint.simulation.oracles.differential import Reference
from setpoint.simulation.search.plan_generator import PlanGenerator
from setpoint.simulation.trace.result import Finding, Result


class Confirmed(NamedTuple):
    """Findings, with the plan that leads to them and one of its runs. ``failure_rate`` has the number of the plan's
    runs that had the findings and the number of all its runs; None where all runs of one plan are the same.
    """

    plan: Plan
    findings: list[Finding]
    result: Result
    failure_rate: tuple[int, int] | None = None


class Runner(Protocol):
    """Carries out the runs of a search: in virtual time (`VirtualTimeRunner`), or in real time with a program of any
    language (`setpoint.torture`).

    ``name`` is that of the scenario, ``code`` a digest of what is under test, ``again`` the command that replays a plan
    (with ``{token}``; ``""`` for ``simulate``), ``count`` the number of runs so far. ``notes`` become part of the
    report. ``ways`` are two runs without faults that contradict each other.

    ``reference`` has the results of the runs without faults, of the scenario as far as a step. ``probes`` are runs
    that come before those with single faults. ``each`` carries out plans, several at once; with ``patient``, users
    wait for the end of all faults. ``confirm`` makes sure of a finding, and makes the plan as small as possible; it
    returns None if the finding was chance. ``replay`` returns None if nothing is found any more.
    """

    name: str
    code: str
    replay_command: str
    off: Mapping[str, str]
    ignore: Mapping[str, str]
    notes: list[str]
    contradicting_runs: Sequence[tuple[str, Result]]

    @property
    def count(self) -> int: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *details: object) -> None: ...
    def reference(self, stop: int = 0) -> Reference: ...
    def generator(self) -> PlanGenerator: ...
    def probes(self) -> Iterable[tuple[Plan, Result]]: ...
    def run(self, plan: Plan) -> Result: ...
    def results(
        self, plans: Iterable[Plan], *, patient: bool = False, looks: tuple[int, ...] = ()
    ) -> Iterator[tuple[Plan, Result]]: ...
    def confirm(self, plan: Plan, findings: list[Finding]) -> Confirmed | None: ...
    def replay(self, plan: Plan, *, debug: bool = False) -> Confirmed | None: ...


def drop_faults(plan: Plan, shows: Callable[[Plan], bool]) -> Plan:
    """The plan without the faults that it can do without. ``shows`` says whether a plan still leads to the finding."""
    for fault in plan.faults if len(plan.faults) > 1 else ():
        smaller = plan.with_(other for other in plan.faults if other is not fault)
        if smaller.faults and shows(smaller):
            plan = smaller
    return plan
