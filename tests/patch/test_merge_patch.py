from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from setpoint.patch import merge_patch

# RFC 7386, appendix A
RFC = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]

values = st.recursive(
    st.one_of(st.integers(0, 3), st.booleans(), st.text("ab", max_size=2)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abcd"), inner, max_size=4)),
    max_leaves=12,
)
documents = st.dictionaries(st.sampled_from("abcd"), values, max_size=4)
with_nulls = st.recursive(
    st.one_of(st.none(), st.integers(0, 3)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abcd"), inner, max_size=4)),
    max_leaves=12,
)


@pytest.mark.parametrize(("document", "patch", "result"), RFC)
def test_the_examples_of_the_rfc_hold(document: Any, patch: Any, result: Any) -> None:
    assert merge_patch.apply(document, patch) == result


@settings(deadline=None, max_examples=60)
@given(values, values)
def test_the_patch_between_two_documents_makes_one_of_the_other(original: Any, modified: Any) -> None:
    before = copy.deepcopy((original, modified))
    assert merge_patch.apply(original, merge_patch.diff(original, modified)) == modified
    assert (original, modified) == before


@settings(deadline=None, max_examples=60)
@given(documents)
def test_nothing_changed_is_an_empty_patch(document: dict[str, Any]) -> None:
    assert merge_patch.diff(document, copy.deepcopy(document)) == {}


@settings(deadline=None, max_examples=60)
@given(with_nulls, with_nulls)
@example({"d": {}}, {"d": [{"a": None}]})
def test_applying_again_changes_nothing_more_and_no_input(document: Any, patch: Any) -> None:
    before = copy.deepcopy((document, patch))
    once = merge_patch.apply(document, patch)
    # The nulls of a list that replaced an object go only now, as upstream.
    twice = merge_patch.apply(once, patch)
    assert merge_patch.apply(twice, patch) == twice
    assert (document, patch) == before


def test_a_patch_tells_true_from_one() -> None:
    assert merge_patch.diff({"a": 1}, {"a": True}) == {"a": True}


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        ({}, {"a": [{"b": None, "c": [{"d": None}]}, None]}, {"a": [{"c": [{}]}, None]}),
        ({"a": [1]}, {"a": [{"b": None}]}, {"a": [{}]}),
        ({"a": None}, {"a": [{"b": None}]}, {"a": [{}]}),
        ({"a": {"x": 1}}, {"a": [{"b": None}]}, {"a": [{"b": None}]}),
        ({"a": [1]}, {"a": {"b": [{"c": None}]}}, {"a": {"b": [{}]}}),
    ],
)
def test_nulls_inside_lists_are_dropped_as_by_api_servers(document: Any, patch: Any, result: Any) -> None:
    """Observed answers of gopkg.in/evanphx/json-patch.v4, 4.13."""
    assert merge_patch.apply(document, patch) == result
