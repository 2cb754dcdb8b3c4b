from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.regexp import compile_pattern
from setpoint.schema import Schema
from setpoint.testing.object_strategies import values_of


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            r"^\d+\z",
            "^[[:alpha:]x]{2}$",
            r"^\Qa.b\E$",
            "(?<y>b)c",
            r"^\pL\P{Lu}[\pN]$",
            r"^\x{41}$",
            "^[]$a]$",
            "^[[a]$",
        ),
        *("x(?i)y", "(?U)^a+$", "^漢[é-ü]{3}$", r"^a\b-(b|c*){0}", "^[a-z]{1,1000}$", r"^(\PC|[^\x00-\x{10ffff}])?$"),
        "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",  # Python's engine would take forever
    ],
)
def test_texts_are_made_for_patterns_of_go(pattern: str) -> None:
    @settings(max_examples=50, deadline=None, derandomize=True, database=None)
    @given(st.data())
    def made(data: st.DataObject) -> None:
        assert compile_pattern(pattern).matches(data.draw(values_of(Schema(type="string", pattern=pattern))))

    made()
