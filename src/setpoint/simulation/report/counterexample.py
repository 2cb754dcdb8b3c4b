"""Counterexample: a plan under which a controller breaks a promise, and the data that explain why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import yaml

from setpoint.simulation.faults.descriptions import describe_fault
from setpoint.simulation.faults.plan import Plan
from setpoint.simulation.report.trace_text import format_trace
from setpoint.simulation.trace.result import Finding, Line, Result

_MOST: Final = 6
"""The most findings of one oracle that are named after the first."""


class SearchRecord(NamedTuple):
    """The search that found a counter-example: the digest of the code, the name of the scenario, and the runs and
    seconds until then.
    """

    code: str
    scenario: str
    runs: int
    seconds: float


class Counterexample(AssertionError):
    """Raised by `check` when promises are broken. ``findings`` are the broken promises, ``plan`` has the faults that
    break them, and ``token`` is a line that replays the plan. ``trace`` and ``undisturbed`` are the events of the runs
    with and without the faults.
    """

    def __init__(
        self,
        findings: list[Finding],
        plan: Plan,
        result: Result,
        baseline: Result,
        search: SearchRecord,
        *,
        failure_rate: tuple[int, int] | None = None,
        replay_command: str = "",
        contradicting_runs: Sequence[tuple[str, Result]] = (),
    ) -> None:
        self.findings = findings
        identities = {finding.identity for finding in findings}
        self.baseline_findings = [
            finding for finding in baseline.findings if plan.faults and finding.identity not in identities
        ]
        """The promises, other than those in ``findings``, that are broken even without the faults."""
        self.plan = plan
        self.code = search.code
        self.scenario = search.scenario
        self.runs = search.runs
        self.seconds = search.seconds
        self.failure_rate = failure_rate
        """The number of the plan's runs that had the findings, and the total number of its runs; None in a simulation,
        where all runs of one plan are the same.
        """
        self.contradicting_runs = [name for name, _ in contradicting_runs]
        """The names of the two runs without faults that contradict each other; empty if there are no such runs. The
        first one is in ``trace``, the other in ``undisturbed``.
        """
        if contradicting_runs:
            (_, result), (_, baseline) = contradicting_runs
        self.trace: list[Line] = result.trace
        self.undisturbed: list[Line] = baseline.trace
        self.end = result.end
        self.expected = baseline.end
        self.explanation = result.explanation
        self.token = plan.token(search.code, search.scenario)
        self.replay_command = (
            replay_command or "SETPOINT_REPLAY={token} pytest …\n… simulate --replay {token}"
        ).replace("{token}", self.token)
        """The commands that replay the plan."""
        self.files: list[Path] = []
        self.others: list[Counterexample] = []
        """The counter-examples of other oracles that the same search has found, the likeliest first."""
        super().__init__(self.describe())

    def add(self, others: Sequence[Counterexample]) -> None:
        """Adds counter-examples of other oracles to ``others``, and to the text."""
        self.others += others
        self.args = (self.describe(),)

    @property
    def cause(self) -> str:
        """The faults and what came of them, in one sentence."""
        first = self.findings[0]
        faults = " ".join(describe_fault(fault).removesuffix(".") + ";" for fault in self.plan.faults)
        return f"{faults} then: {first.message}." if faults else f"Without any fault: {first.message}."

    def describe(self) -> str:
        """The text for a terminal: findings, faults, the events that led to the findings, and how to replay them."""
        lines = [*_one_each(self.findings), "", *([self.cause, ""] if self.plan.faults else [])]
        if self.plan.faults:
            lines.append("with these faults:")
            lines += [line for fault in self.plan.faults for line in (f"  {describe_fault(fault)}", f"    {fault}")]
        else:
            lines.append("without any fault")
        if self.baseline_findings:
            lines += ["", "and without any fault:", *(f"  {finding}" for finding in self.baseline_findings)]
        lines += ["", *(f"{name}:" for name in self.contradicting_runs[:1]), *format_trace(self.trace), ""]
        for name in self.contradicting_runs[1:]:
            lines += [f"{name}:", *format_trace(self.undisturbed), ""]
        if self.explanation:
            lines += ["at the end:", *(f"  {line}" for line in self.explanation.splitlines()), ""]
        if self.failure_rate is not None:
            lines.append(f"{self.failure_rate[0]} of {self.failure_rate[1]} runs of this plan failed")
        for other in self.others:
            faults = f" with {', '.join(map(str, other.plan.faults))}" if other.plan.faults else ""
            lines += [f"also found: {other.findings[0]}{faults}; replay: {other.token}"]
        lines.append(f"runs until it was found: {self.runs}, in {self.seconds:.1f} s; replay: {self.token}")
        return "\n".join(lines)

    def to_document(self) -> dict[str, Any]:
        """The counter-example as plain values for a file."""
        return {
            "scenario": self.scenario,
            "code": self.code,
            "token": self.token,
            **({"failure_rate": "{} of {} runs".format(*self.failure_rate)} if self.failure_rate is not None else {}),
            "findings": [msgspec.to_builtins(finding) for finding in self.findings],
            "plan": self.plan.to_document(),
            "trace": [msgspec.to_builtins(line) for line in self.trace],
        }

    def to_yaml(self) -> str:
        """The counter-example as YAML, for a file that people can read and that ``--replay`` accepts."""
        return yaml.safe_dump(self.to_document(), sort_keys=False, allow_unicode=True, width=120)


def _one_each(findings: Sequence[Finding]) -> Iterator[str]:
    """The first finding of each oracle, and the subjects of its others, which most likely have the same cause."""
    by_oracle: dict[str, list[Finding]] = {}
    for finding in findings:
        by_oracle.setdefault(finding.oracle, []).append(finding)
    for first, *others in by_oracle.values():
        yield str(first)
        if others:
            more = f" and {len(others) - _MOST} more" if len(others) > _MOST else ""
            yield f"  likewise: {', '.join(finding.subject for finding in others[:_MOST])}{more}"
