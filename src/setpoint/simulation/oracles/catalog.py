"""The oracles by name: what each of them checks, and how likely its findings show a cause."""

from __future__ import annotations

from typing import Final

from setpoint.simulation.faults.catalog import SWITCHES
from setpoint.simulation.trace.result import Finding

ORACLES: Final[dict[str, str]] = {
    "end state": "the final state is the same as without faults",
    "counts": "nothing is created or deleted more often than without faults",
    "destroyed": "no object is deleted that should exist, and no entry of another controller in a status",
    "quiet": "once the desired state is reached, nothing is written: not by a resync, after a restart, or within an "
    "hour",
    "hot loop": "no object keeps returning to the same states, and no object with a generated name is replaced a "
    "hundred times",
    "blind delete": "no object is deleted by name that the process has never seen, unless it was created for the same "
    "owner",
    "error": "the program raises no TypeError or the like, no task fails unnoticed or is never awaited, and nothing "
    "reaches the real world",
    "predicate": "the user's predicates hold",
    "scenario": "the scenario's own assertions and waits succeed",
    "paths": "the same desired state leads to the same actual state, whatever the user did before",
    "determinism": "two runs of the same plan are identical",
    "hang": "every run ends, and every process of the program starts",
}
RANKS: Final = (
    "determinism", "error", "predicate", "blind delete", "destroyed", "end state", "scenario",
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
            names = ", ".join([*SWITCHES, *ORACLES])
            raise ValueError(f"no fault and no oracle has the name {name!r}; the names are: {names}")
