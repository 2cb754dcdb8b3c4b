"""Paths: the same wishes have to lead to the same state, by whatever way they were come to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from setpoint.simulation.result import Finding, Result
from setpoint.simulation.state import differences

if TYPE_CHECKING:
    from setpoint.simulation.verdict import Reference


def path_findings(baseline: Result, reference: Reference) -> list[Finding]:
    """Steps at whose ends the user wishes for the same things, and there are others: a change that was taken back has
    left a trace."""
    first: dict[str, int] = {}
    wishes = baseline.wishes
    for step, wish in enumerate(wishes):
        if step + 1 < len(wishes) and wishes[step + 1] == wish:
            continue  # the user only waits: what is still under way then is no trace of another wish
        earlier = first.setdefault(wish, step)
        if earlier == step:
            continue
        for each in differences(baseline.rests[earlier], baseline.rests[step], reference.masks):
            return [
                Finding(
                    "paths",
                    each.subject,
                    f"after step {step} the user wishes for what was wished for after step {earlier}, and {each}",
                    each.expected,
                    each.found,
                    step=step,
                )
            ]
    return []


def direct_objects(baseline: Result) -> tuple[dict[str, Any], ...]:
    """What users wish for in the end, if that was not come to directly."""
    if len(set(baseline.wishes)) <= 2 or not baseline.wished:
        return ()
    return tuple(baseline.wished)
