"""Selectors mean what they mean to the API server."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.meta import FieldSelector, LabelSelector, LabelSelectorRequirement, Selector, SelectorError


@pytest.mark.parametrize(
    ("text", "labels", "matches"),
    [
        ("", {}, True),
        ("a=b", {"a": "b"}, True),
        ("a==b", {"a": "b"}, True),
        ("a=b", {}, False),
        ("a!=b", {}, True),
        ("a!=b", {"a": "b"}, False),
        ("a in (x, y)", {"a": "y"}, True),
        ("a in (x,y)", {}, False),
        ("a notin (x,y)", {}, True),
        ("a notin (x,y)", {"a": "x"}, False),
        ("a", {"a": ""}, True),
        ("!a", {"a": ""}, False),
        ("!a", {}, True),
        ("gen>3", {"gen": "4"}, True),
        ("gen<3", {"gen": "x"}, False),
        ("example.com/role=web,tier!=db", {"example.com/role": "web"}, True),
        ("a=", {"a": ""}, True),
    ],
)
def test_a_selector_matches_as_documented(text: str, labels: dict[str, str], matches: bool) -> None:
    assert Selector.parse(text).matches(labels) is matches


@pytest.mark.parametrize("text", [",", "a=b,", "a in", "a in b", "=b", "a=b=c", "a in (x", "-a=b", "a=b c", "a>x"])
def test_what_is_no_selector_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(SelectorError, match="unable to parse requirement"):
        Selector.parse(text)


def test_equal_selectors_are_one_whatever_their_order() -> None:
    assert Selector.parse("b=1,a in (y,x)") == Selector.parse("a in (x,y),b=1")
    assert hash(Selector.parse("b=1,a=2")) == hash(Selector.of({"a": "2", "b": "1"}))


def test_a_label_selector_of_a_spec_is_the_same_selector() -> None:
    selector = LabelSelector(
        match_labels={"app": "web"},
        match_expressions=[
            LabelSelectorRequirement(key="env", operator="NotIn", values=["dev"]),
            LabelSelectorRequirement(key="old", operator="DoesNotExist"),
        ],
    )
    assert Selector.of(selector) == Selector.parse("app=web,env notin (dev),!old")
    with pytest.raises(SelectorError, match="not a valid label selector operator"):
        Selector.of(LabelSelector(match_expressions=[LabelSelectorRequirement(key="a", operator="Near")]))


_words = st.from_regex(r"[a-z][a-z0-9]{0,5}", fullmatch=True)


@given(st.dictionaries(_words, _words, max_size=4), st.dictionaries(_words, _words, max_size=4))
def test_text_and_back_is_the_same_selector(wanted: dict[str, str], labels: dict[str, str]) -> None:
    selector = Selector.of(wanted)
    assert Selector.parse(str(selector)) == selector
    assert selector.matches(labels) is (wanted.items() <= labels.items())


def test_field_selectors_escape_what_separates() -> None:
    selector = FieldSelector.parse(r"metadata.name=a\,b,status.phase!=Running")
    assert selector.matches({"metadata.name": "a,b", "status.phase": "Pending"})
    assert not selector.matches({"metadata.name": "a,b", "status.phase": "Running"})
    assert FieldSelector.parse(str(selector)) == selector
    with pytest.raises(SelectorError, match="invalid field selector"):
        FieldSelector.parse("metadata.name")
