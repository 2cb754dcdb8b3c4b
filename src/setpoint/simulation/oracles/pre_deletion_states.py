"""Pre-deletion check: runs that end as they should, although something was not as it should be before users deleted an
object.
"""

from __future__ import annotations

import msgspec

from setpoint.simulation.comparison.differences import find_differences
from setpoint.simulation.comparison.snapshot import add_unchanged
from setpoint.simulation.faults.plan import Plan
from setpoint.simulation.oracles.differential import Reference
from setpoint.simulation.trace.result import Result


class PreDeletionCheck:
    """Compares the states at the ends of the steps after which users delete objects, since a deletion may remove all
    traces of a mistake. A difference is not yet a finding: the fault may not be over, or the controllers may not
    be done. A run of the scenario as far as that step decides, in which the faults end and everything may converge.

    Faults that hide some of the user's changes raise no suspicion: there may be no later change that makes up for it.
    """

    def __init__(self, reference: Reference) -> None:
        self._reference = reference
        self.steps = reference.baseline.before_deletions()
        self._raised: set[tuple[int, tuple[str, ...], tuple[str, ...]]] = set()

    def about(self, plan: Plan, result: Result) -> Plan | None:
        """The plan of the run that decides; None if nothing is suspicious, or if a run was made because of the same
        difference under faults of the same kinds.
        """
        if plan.hides_changes or plan.starts_stale:
            return None
        for step, actual in sorted(result.looks.items()):
            baseline = self._reference.baseline
            expected, object_counts = baseline.rest_states[step], baseline.object_counts[: step + 1]
            differences = find_differences(
                add_unchanged(expected, actual, baseline.initial, object_counts),
                add_unchanged(actual, expected, baseline.initial, result.object_counts[: step + 1]),
                self._reference.masks | self._reference.passing_masks,
            )
            if not differences:
                continue
            kinds = tuple(sorted(fault.kind for fault in plan.faults))
            suspicion = (step, kinds, tuple(map(str, differences)))
            if suspicion not in self._raised:
                self._raised.add(suspicion)
                return msgspec.structs.replace(plan, stop=step)
        return None
