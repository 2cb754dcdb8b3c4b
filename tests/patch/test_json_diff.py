"""The patch leads from the one to the other, whatever they are."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from setpoint.meta.json_values import json_equal
from setpoint.patch import json_patch
from setpoint.patch.json_diff import diff

scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b", "1", 1.0, 0.5])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("ab~/-0"), inner, max_size=4),
    max_leaves=12,
)


@given(values, values)
def test_the_patch_makes_the_one_into_the_other(original: Any, modified: Any) -> None:
    original, modified = {"object": original}, {"object": modified}
    operations = diff(original, modified)
    assert json_equal(json_patch.apply(original, operations), modified)
    assert bool(operations) != json_equal(original, modified)


def test_only_what_differs_is_named() -> None:
    original = {"containers": [{"name": "a", "image": "x", "unknown": 1}, {"name": "b"}], "keep": {"deep": [1, 2]}}
    modified = {
        "containers": [{"name": "a", "image": "y", "unknown": 1}, {"name": "b"}, {"name": "c"}],
        "keep": {"deep": [1, 2]},
        "new/member": True,
    }
    assert diff(original, modified) == [
        {"op": "replace", "path": "/containers/0/image", "value": "y"},
        {"op": "add", "path": "/containers/2", "value": {"name": "c"}},
        {"op": "add", "path": "/new~1member", "value": True},
    ]
