"""Report: the runs that were made, and their coverage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from setpoint.simulation.comparison.differences import is_of_object, mask_of_object
from setpoint.simulation.faults.catalog import switch_of
from setpoint.simulation.faults.plan import Plan
from setpoint.simulation.trace.result import Point, Result

_WHERE = {"write": "writes", "read": "live reads", "external": "external calls", "change": "changes", "step": "steps"}


@dataclass
class Report:
    """The report that `check` returns when it has found nothing.

    ``runs`` and ``seconds`` (of real time) are the cost. ``singles`` is the number of single faults that were tried,
    out of ``all_singles``, and ``combinations`` is the number of combinations; ``complete`` says whether the budget
    sufficed for all single faults. ``off`` has the faults and oracles that were switched off, with the reasons.
    ``unreached`` is the number of plans in which some fault did not strike.
    """

    seed: int = 0
    runs: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    """Seconds of processor time that the runs took."""
    singles: int = 0
    all_singles: int = 0
    combinations: int = 0
    unreached: int = 0
    ended: str = "the budget ended"
    """The reason why there were no more runs."""
    off: Mapping[str, str] = field(default_factory=dict)
    ignore: Mapping[str, str] = field(default_factory=dict)
    masks: frozenset[str] = frozenset()
    notes: list[str] = field(default_factory=list)
    points: Counter[str] = field(default_factory=Counter)
    """The number of points of each kind (writes, reads, changes and so on) in the undisturbed run."""
    disturbed: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    """The points that were disturbed, by their kind and by the fault's switch."""
    faults: Counter[str] = field(default_factory=Counter)
    """The number of faults that were injected, by switch."""
    _kinds: dict[str, str] = field(default_factory=dict, init=False, repr=False)

    @property
    def uncompared(self) -> list[str]:
        """The objects whose existence is not compared, since it differs between runs without faults, unless `ignore`
        names them.
        """
        return sorted(mask[:-1] for mask in self.masks if is_of_object(mask) and mask[:-1] not in self.ignore)

    def warnings(self) -> list[str]:
        """Sentences about parts of the world that a reader would take for tried or compared although they were not."""
        messages = []
        if self.all_singles and not self.singles:
            messages.append(f"the budget ended before the first fault: none of {self.all_singles} faults was tried")
        return messages + [
            f"it was not compared whether {subject} exists: {_explain_uncompared(subject)}"
            for subject in self.uncompared
        ]

    @property
    def complete(self) -> bool:
        return self.singles >= self.all_singles

    def covers(self, points: list[Point]) -> None:
        """Notes the points of the undisturbed run. From then on, `add` counts which of them are disturbed."""
        self._kinds = {point.name: point.kind for point in points}
        self.points = Counter(_WHERE[point.kind] for point in points)

    def add(self, plan: Plan, result: Result) -> None:
        """Adds a run's processor time and those faults of its plan that struck, whose points count as disturbed. If not
        all of them struck, the plan counts as ``unreached``.
        """
        self.cpu += result.seconds
        if len(result.injected) < len(plan.faults):
            self.unreached += 1
        for place in result.injected:
            fault = plan.faults[place]
            switch = switch_of(fault.kind, dict(fault.how))
            self.faults[switch] += 1
            kind = self._kinds.get(fault.at)
            if kind is not None:
                self.disturbed.setdefault(_WHERE[kind], {}).setdefault(switch, set()).add(fault.at)

    def __str__(self) -> str:
        lines = [
            f"runs: {self.runs}, in {self.seconds:.1f} s ({self.cpu:.1f} s of processor time): "
            f"{self.singles} of {self.all_singles} single faults, "
            f"{self.combinations} combinations; seed {self.seed}"
        ]
        for point_kind, total in sorted(self.points.items()):
            by_switch = self.disturbed.get(point_kind, {})
            touched = set().union(*by_switch.values()) if by_switch else set()
            counts = ", ".join(f"{switch} {len(names)}" for switch, names in sorted(by_switch.items()))
            lines.append(f"  {point_kind}: {len(touched)} of {total} disturbed" + (f" ({counts})" if counts else ""))
        if not self.complete:
            lines.append(f"  {self.ended} before all single faults were tried")
        if self.unreached:
            lines.append(f"  in {self.unreached} plans, the run ended before a fault was injected")
        for name, why in self.off.items():
            lines.append(f"  off: {name} ({why})")
        for name, why in self.ignore.items():
            lines.append(f"  ignored: {name} ({why})")
        if (
            by_chance := self.masks
            - {*self.ignore, *map(mask_of_object, self.ignore)}
            - {*map(mask_of_object, self.uncompared)}
        ):
            lines.append("  differs between runs without faults: " + ", ".join(sorted(by_chance)))
        lines += [f"  NOT COMPARED: {_explain_uncompared(subject)}" for subject in self.uncompared]
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)


def _explain_uncompared(subject: str) -> str:
    return (
        f"{subject} exists in only some of the runs without faults; if it may, give the reason in "
        f'ignore={{"{subject}": ...}}'
    )
