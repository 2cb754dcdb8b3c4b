"""Users make an object anew when its predecessor has gone, however long its clean-up takes."""

from __future__ import annotations

from tests.simulation.test_elections import controllers, lifecycle

from setpoint.simulation import Plan, Setup
from setpoint.simulation.execution.in_process import run_in_process
from setpoint.simulation.faults.plan import fault
from setpoint.simulation.trace.result import Options


def test_a_successor_waits_for_a_predecessor_whose_clean_up_is_interrupted() -> None:
    """Else it would be merged with what is about to go: no controller could help that."""
    plan = Plan(
        (
            fault("early", "step 3", writes=0),
            fault("crash-after", "delete secrets default/of-one #1", until="step"),
        )
    )
    result = run_in_process(Setup(scenario=lifecycle, factory=controllers), plan, Options(quiet=False))
    assert len(result.injected) == 2
    assert "apps.test.example.com default/one" in result.end
