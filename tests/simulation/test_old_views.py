"""Restarts on old lists: only what such a view leads to is held against a controller."""

from __future__ import annotations

from tests.simulation.corpus import PAIRS

from setpoint.simulation import Budget, Fault, Plan


def test_a_deletion_that_the_undisturbed_run_has_in_the_same_step_is_no_loss() -> None:
    """The twin deletes and creates anew when the size grows: before the restart, and with every view."""
    pair = next(each for each in PAIRS if each.name == "a-size-that-was-smaller-once")
    old = (("behind", "MODIFIED stores.strange.example.com default/main #2"),)
    travel = Plan((Fault("restart", "step 3", old),))
    pair.check_correct(Budget(runs=1), replay=travel.token(), workers=0)
