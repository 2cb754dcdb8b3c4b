"""Predicates: their texts in findings."""

from __future__ import annotations

from setpoint.simulation import always
from setpoint.simulation.scenario.temporal_properties import Objects


def test_a_predicate_without_a_text_is_named_by_the_first_line_of_its_docstring_or_by_its_function() -> None:
    def there_is_a_service(_objects: Objects) -> bool:
        return True

    assert always(there_is_a_service).why == "there is a service"
    there_is_a_service.__doc__ = "  \n  "
    assert always(there_is_a_service).why == "there is a service"
    there_is_a_service.__doc__ = "\n  A service \n  is there."
    assert always(there_is_a_service).why == "A service"
    assert always(lambda _: True).why.startswith(f"the predicate of {__file__}:")
