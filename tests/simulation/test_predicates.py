"""Predicates: their texts in findings."""

from __future__ import annotations

import pytest
from tests.simulation.apps import controllers
from tests.simulation.kinds import App

import setpoint as sp
from setpoint.simulation import Budget, Counterexample, always, check, eventually, never
from setpoint.simulation.scenario.temporal_properties import Objects, Predicate


def test_a_predicate_without_a_text_is_named_by_the_first_line_of_its_docstring_or_by_its_function() -> None:
    def there_is_a_service(_objects: Objects) -> bool:
        return True

    assert always(there_is_a_service).why == "there is a service"
    there_is_a_service.__doc__ = "  \n  "
    assert always(there_is_a_service).why == "there is a service"
    there_is_a_service.__doc__ = "\n  A service \n  is there."
    assert always(there_is_a_service).why == "A service"
    assert always(lambda _: True).why.startswith(f"the predicate of {__file__}:")


@pytest.mark.parametrize("kind", [always, never, eventually])
def test_a_predicate_that_raises_is_a_finding_with_its_line(kind: type[Predicate]) -> None:
    async def scenario(cluster: sp.testing.Cluster) -> None:
        await cluster.apply(App.named("one", "default"))
        await cluster.settle()

    def is_ready(objects: Objects) -> bool:
        return objects.get(App, "another").status.ready > 0  # type: ignore[union-attr]

    with pytest.raises(Counterexample) as caught:
        check(scenario, controllers, predicates=[kind(is_ready)], budget=Budget(runs=1), workers=1)
    (finding,) = caught.value.findings
    assert finding.oracle == "predicate"
    assert (
        f"is ready (the predicate raised AttributeError: 'NoneType' object has no attribute 'status' at {__file__}:"
        in (finding.message)
    )
