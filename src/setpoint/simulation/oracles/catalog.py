"""The oracles by name: what each of them checks, and how likely its findings show a cause."""

from __future__ import annotations

from typing import Final

from setpoint.simulation.faults.catalog import SWITCHES
from setpoint.simulation.trace.result import Finding

ORACLES: Final[dict[str, str]] = {
    "end state": "in the end everything is as it is without faults",
    "counts": "nothing is created or deleted more often than without faults",
    "destroyed": "nothing that should have stayed was deleted",
    "quiet": "when all is as it should be, nothing is written: not by a resync, a restart, or an hour",
    "hot loop": "no object is brought into the same states again and again",
    "stranger": "nothing is deleted by name that the process has never seen, and that was not made for the same owner",
    "error": "no mistake of the program (a TypeError and its like), no task that fails unseen or is left over",
    "predicate": "the user's predicates",
    "scenario": "the scenario's own assertions and waits",
    "paths": "the same wishes lead to the same state, by whatever way",
    "determinism": "two runs of one plan are the same",
    "hang": "every run ends",
}
RANKS: Final = (
    "determinism", "error", "predicate", "stranger", "destroyed", "end state", "scenario",
    "counts", "paths", "quiet", "hot loop", "hang",
)  # fmt: skip
"""The oracles, with those first whose findings most likely show a cause and not its consequences."""
WEAK: Final = RANKS.index("counts")
"""The rank from which on a finding may hide another one."""


def rank_of(finding: Finding) -> int:
    """The place of the finding's oracle in `RANKS`."""
    return RANKS.index(finding.oracle)


def check_switches(off: dict[str, str]) -> None:
    """Raises ValueError if ``off`` has a name that is neither in `SWITCHES` nor in `ORACLES`."""
    for name in off:
        if name not in SWITCHES and name not in ORACLES:
            known = ", ".join([*SWITCHES, *ORACLES])
            raise ValueError(f"there is no fault and no oracle named {name!r}; there are: {known}")
