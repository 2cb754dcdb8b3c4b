from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.schema import apply_defaults, parse_json, prune, structural, unknown_fields

DEFINITION: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "default": {},
            "properties": {
                "n": {"type": "integer", "default": 3},
                "nothing": {"type": "string", "nullable": True, "default": "x"},
                "text": {"type": "string"},
                "map": {
                    "type": "object",
                    "additionalProperties": {"type": "object", "properties": {"a": {"type": "string"}}},
                },
                "list": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"a": {"type": "string", "default": "d"}}},
                },
                "free": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": True,
                    "properties": {"known": {"type": "object", "properties": {"a": {"type": "string"}}}},
                },
                "template": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "properties": {"spec": {"type": "object"}},
                },
                "deep": {"type": "object", "properties": {"d": {"type": "integer", "default": 1}}},
            },
        },
    },
}
SCHEMA = structural.load(DEFINITION)


def test_unknown_fields_are_cut_and_named_once() -> None:
    value = {
        "apiVersion": "a/v1",
        "kind": "K",
        "metadata": {"name": "x", "bogus": 1},
        "zz": {"deep": {"er": 1}},
        "spec": {
            "foo": 1,
            "map": {"k": {"a": "x", "b": 1}},
            "list": [{"a": "x"}, {"b": 1, "a": "y"}],
            "free": {"anything": {"goes": 1}, "known": {"a": "x", "b": 1}},
            "template": {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "p", "bogus": 1},
                "spec": {"x": 1},
                "y": 1,
            },
        },
    }
    wanted = [
        "metadata.bogus",
        "spec.foo",
        "spec.free.known.b",
        "spec.list[1].b",
        "spec.map.k.b",
        "spec.template.metadata.bogus",
        "spec.template.spec.x",
        "spec.template.y",
        "zz",
    ]
    before = copy.deepcopy(value)
    assert unknown_fields(SCHEMA, value) == wanted
    assert value == before
    assert sorted(prune(SCHEMA, value)) == wanted
    assert unknown_fields(SCHEMA, value) == []
    assert value["spec"]["free"] == {"anything": {"goes": 1}, "known": {"a": "x"}}  # type: ignore[index]


def test_defaults_fill_in_and_nulls_count_as_absent() -> None:
    value: dict[str, Any] = {"spec": {"n": None, "nothing": None, "text": None, "list": [{}, {"a": None}], "deep": {}}}
    apply_defaults(SCHEMA, value)
    assert value == {"spec": {"n": 3, "nothing": None, "list": [{"a": "d"}, {"a": "d"}], "deep": {"d": 1}}}


def test_defaults_cascade_but_create_no_parents() -> None:
    value: dict[str, Any] = {}
    apply_defaults(SCHEMA, value)
    assert value == {"spec": {"n": 3, "nothing": "x"}}


def test_defaults_are_nobodys_to_share() -> None:
    one: dict[str, Any] = {}
    two: dict[str, Any] = {}
    apply_defaults(SCHEMA, one)
    one["spec"]["n"] = 9
    apply_defaults(SCHEMA, two)
    assert two["spec"]["n"] == 3


_names = st.sampled_from(
    ["spec", "n", "text", "map", "list", "free", "known", "a", "b", "apiVersion", "template", "deep"]
)
values = st.recursive(
    st.one_of(st.none(), st.integers(0, 2), st.text("ab", max_size=2)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_names, inner, max_size=4)),
    max_leaves=15,
)


@settings(deadline=None, max_examples=80)
@given(st.dictionaries(_names, values, max_size=4), st.dictionaries(_names, values, max_size=4))
def test_pruning_and_defaulting_settle_at_once(value: dict[str, Any], spec: dict[str, Any]) -> None:
    value = {**value, "spec": spec}
    named = unknown_fields(SCHEMA, value)
    assert sorted(prune(SCHEMA, value)) == named
    assert unknown_fields(SCHEMA, value) == []
    apply_defaults(SCHEMA, value)
    once = copy.deepcopy(value)
    apply_defaults(SCHEMA, value)
    assert value == once


def test_fields_given_twice_are_named() -> None:
    value, twice = parse_json(b'{"a":1,"b":{"c":[{"d":1,"d":2,"d":3}]},"a":{"x":1,"x":2}}')
    assert value == {"a": {"x": 2}, "b": {"c": [{"d": 3}]}}
    assert twice == ["a", "a.x", "b.c[0].d"]
    assert parse_json('{"a":[1,{}]}') == ({"a": [1, {}]}, [])


@pytest.mark.parametrize("body", [b"", b"{", b'{"a":NaN}', b"\xff", b"{'a':1}"])
def test_what_is_not_json_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        parse_json(body)


def test_many_unknown_fields_below_a_long_name_take_little_memory_and_are_all_removed() -> None:
    schema = structural.load({"type": "object", "additionalProperties": {"type": "object"}})
    value = {"k" * 50_000: {f"a{number}": 1 for number in range(3_000)}}
    assert 1 <= sum(map(len, prune(schema, value))) < 2_000_000
    assert list(value.values()) == [{}]
