from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.regexp import compile_pattern
from setpoint.schema import Schema
from setpoint.testing.object_strategies import values_of
from setpoint.testing.re2_patterns import python_form


@pytest.mark.parametrize(
    "pattern",
    [r"^\d+\z", "^[[:alpha:]x]{2}$", r"^\Qa.b\E$", "(?<y>b)c", r"^\pL\P{Lu}[\pN]$", r"^\x{41}$", "^[]$a]$", "^[[a]$"],
)
def test_texts_are_made_for_patterns_of_re2(pattern: str) -> None:
    @settings(max_examples=10, deadline=None, derandomize=True, database=None)
    @given(st.data())
    def made(data: st.DataObject) -> None:
        assert compile_pattern(pattern).matches(data.draw(values_of(Schema(type="string", pattern=pattern))))

    made()


def test_what_python_can_not_say_is_named() -> None:
    with pytest.raises(ValueError, match=r"no strings can be generated for the pattern"):
        python_form("x(?i)y")
