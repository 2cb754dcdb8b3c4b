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


_KEY = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (",", "found ',', expected: !, identifier, or 'end of string'"),
        ("a=b,", "found '', expected: identifier after ','"),
        ("a=b,,c", "found ',', expected: identifier after ','"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("=b", "found '=', expected: !, identifier, or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a=!b", "unable to parse requirement: found '!', expected: identifier"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a in", "unable to parse requirement: found '' expected: '('"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (x", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (x,", "unable to parse requirement: found '', expected: ',', or identifier"),
        ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("-a=b", f'unable to parse requirement: <nil>: Invalid value: "-a": {_KEY}'),
        ("a=-b", f'unable to parse requirement: values[0][a]: Invalid value: "-b": {_VALUE}'),
        ("a in (b,-c)", f'unable to parse requirement: values[0][a]: Invalid value: "-c": {_VALUE}'),
        (
            "a>x",
            'unable to parse requirement: values[0]: Invalid value: "x": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
        ),
    ],
)
def test_what_is_not_a_selector_is_refused_in_the_words_of_api_servers(text: str, words: str) -> None:
    with pytest.raises(SelectorError) as refused:
        Selector.parse(text)
    assert str(refused.value) == words


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a in (x,,y)", "a in (,x,y)"),
        ("a in ()", "a in (,)"),
        ("in in (in, notin)", "in in (in,notin)"),
        ("a!=b\n,\tc", "c,a!=b"),
    ],
)
def test_odd_but_valid_selectors_are_read_as_api_servers_read_them(text: str, same: str) -> None:
    assert Selector.parse(text) == Selector.parse(same)


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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        ("a=b,c", "invalid selector: 'a=b,c'; can't understand 'c'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        (r"a=\b", r"invalid field selector: invalid escape sequence: \b"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_what_is_not_a_field_selector_is_refused_in_the_words_of_api_servers(text: str, words: str) -> None:
    with pytest.raises(SelectorError) as refused:
        FieldSelector.parse(text)
    assert str(refused.value) == words


def test_the_text_of_a_selector_is_in_the_order_of_keys() -> None:
    expressions = [
        LabelSelectorRequirement(key="c", operator="DoesNotExist"),
        LabelSelectorRequirement(key="a", operator="Exists"),
        LabelSelectorRequirement(key="aa", operator="NotIn", values=["q", "b"]),
    ]
    selector = LabelSelector(match_labels={"b": "1", "a": "2"}, match_expressions=expressions)
    assert str(Selector.of(selector)) == "a=2,a,aa notin (b,q),b=1,!c"
