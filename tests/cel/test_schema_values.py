"""JSON as rules see it, by its schema or without one, and back."""

from __future__ import annotations

from typing import Any

import pytest

from setpoint.cel import plain_of, value_of, value_without_schema
from setpoint.cel.errors import EvaluationError
from setpoint.cel.values import MISSING, MapValue, equal

TEXT = {"type": "string"}
INT = {"type": "integer"}
TEXTS = {"type": "array", "items": TEXT}
PORT = {"type": "object", "properties": {"port": INT, "protocol": TEXT, "note": TEXT}}
PORTS = {
    "type": "array",
    "items": PORT,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["port", "protocol"],
}
FREE = {"x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize(
    ("value", "schema", "message"),
    [
        (None, TEXT, "got null for schema with nullable=false"),
        (1.5, {"x-kubernetes-int-or-string": True}, "expected XIntOrString value to be either a string or integer"),
        (True, {"x-kubernetes-int-or-string": True}, "expected XIntOrString"),
        ([], {"type": "object"}, "expected a map for the provided schema with type=object"),
        ({}, TEXTS, "expected an array for the provided schema with type=array"),
        ([], {"type": "array"}, "invalid array type, expected Items with a non-empty Schema"),
        (1, TEXT, "invalid data, expected string"),
        ("1", {"type": "number"}, "invalid data, expected float"),
        (True, {"type": "number"}, "invalid data, expected float"),
        (1.0, INT, "invalid data, expected int"),
        (True, INT, "invalid data, expected int"),
        (1, {"type": "boolean"}, "invalid data, expected bool"),
        (1, {"type": "odd"}, "invalid type, expected object, .* got odd"),
        (1, {}, "invalid type, expected object, .* got $"),
        ("soon", {"type": "string", "format": "duration"}, "Invalid duration soon: unable to parse soon as duration"),
        ("2026-13-01", {"type": "string", "format": "date"}, "Invalid date formatted string 2026-13-01"),
        ("noon", {"type": "string", "format": "date-time"}, "Invalid date-time formatted string noon"),
        ("a", {"type": "string", "format": "byte"}, "Invalid byte formatted string a: "),
        ("ä", {"type": "string", "format": "byte"}, "Invalid byte formatted string ä: "),
    ],
)
def test_what_does_not_fit_its_schema_is_said(value: Any, schema: dict[str, Any], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        value_of(value, schema)


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (None, {"type": "string", "nullable": True}),
        (3, {"x-kubernetes-int-or-string": True}),
        ("3", {"x-kubernetes-int-or-string": True}),
        (3, INT),
        (False, {"type": "boolean"}),
        ("x", TEXT),
        ("eA==", {"type": "string", "format": "byte"}),
        ("1m30s", {"type": "string", "format": "duration"}),
        ("2026-01-31T12:00:00Z", {"type": "string", "format": "date-time"}),
        (["a", "b"], TEXTS),
        ({"port": 1, "note": "n"}, PORT),
        ({"any": [1, 2.5, {"x": None}]}, FREE),
        ([{"port": 1, "protocol": "TCP"}], PORTS),
        ({"a": 1, "b": 2}, {"type": "object", "additionalProperties": INT}),
    ],
)
def test_what_is_read_by_its_schema_goes_back_as_it_came(value: Any, schema: dict[str, Any]) -> None:
    back = plain_of(value_of(value, schema))
    assert back == ("90s" if value == "1m30s" else value)


def test_numbers_are_doubles_where_the_schema_says_so() -> None:
    assert isinstance(value_of(3, {"type": "number"}), float)
    assert isinstance(plain_of(value_of(3, {"type": "number"})), float)


def test_a_day_is_its_midnight() -> None:
    assert plain_of(value_of("2026-01-31", {"type": "string", "format": "date"})) == "2026-01-31T00:00:00Z"
    assert plain_of(value_of("2026-01-31t12:00:00z", {"type": "string", "format": "date-time"})) == (
        "2026-01-31T12:00:00Z"
    )


def test_fields_are_found_by_their_escaped_names_and_unknown_ones_not_at_all() -> None:
    schema = {"type": "object", "properties": {"in": INT, "a-b": INT, "gone": TEXT}}
    result = value_of({"in": 1, "a-b": 2, "gone": None, "unknown": 4}, schema)
    assert isinstance(result, MapValue)
    assert list(result) == ["__in__", "a__dash__b", "gone"]
    assert [result.find(name) for name in ("__in__", "a__dash__b")] == [1, 2]
    assert [result.find(name) for name in ("gone", "unknown", "none")] == [MISSING] * 3
    assert len(result) == 4
    with pytest.raises(EvaluationError):
        result.find(1)


def test_names_of_a_map_are_as_they_are() -> None:
    result = value_of({"in": 1, "a-b": 2}, {"type": "object", "additionalProperties": INT})
    assert isinstance(result, MapValue)
    assert list(result) == ["in", "a-b"]
    assert [result.find(name) for name in ("in", "a-b", "c")] == [1, 2, MISSING]


def test_an_embedded_resource_has_what_every_object_has() -> None:
    result = value_of(
        {"metadata": {"name": "x"}, "kind": "K"}, {"type": "object", "x-kubernetes-embedded-resource": True}
    )
    assert isinstance(result, MapValue)
    metadata = result.find("metadata")
    assert isinstance(metadata, MapValue)
    assert (result.find("kind"), metadata.find("name")) == ("K", "x")


def test_json_without_a_schema_is_a_map_of_whatever() -> None:
    free = value_without_schema({"a": [1, {"b": "x"}], "n": None})
    assert isinstance(free, MapValue)
    assert (len(free), list(free), free.find("c"), free.find(1)) == (2, ["a", "n"], MISSING, MISSING)
    assert free.find("n") is None
    items = free.find("a")
    assert len(items) == 2  # type: ignore[arg-type]
    assert items[1].find("b") == "x"  # type: ignore[index,union-attr]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"port": 1}, {"port": 1}, True),
        ({"port": 1}, {"port": 2}, False),
        ({"port": 1}, {"note": "n"}, False),
        ({"port": 1}, {"port": 1, "note": "n"}, False),
        ({"port": 1, "odd": [1]}, {"port": 1, "odd": [1]}, True),
        ({"port": 1, "odd": [1]}, {"port": 1, "odd": [2]}, False),
    ],
)
def test_objects_are_equal_field_by_field_unknown_ones_included(one: Any, other: Any, same: bool) -> None:
    assert equal(value_of(one, PORT), value_of(other, PORT)) is same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [(["a", "b"], ["b", "a"], True), (["a"], ["b"], False), (["a", "b"], ["a"], False), ([], [], True)],
)
def test_a_set_has_no_order(one: list[str], other: list[str], same: bool) -> None:
    sets = TEXTS | {"x-kubernetes-list-type": "set"}
    assert equal(value_of(one, sets), value_of(other, sets)) is same
    assert equal(value_of(one, TEXTS), value_of(other, TEXTS)) is (one == other)


def test_adding_to_a_set_adds_what_is_not_there() -> None:
    sets = TEXTS | {"x-kubernetes-list-type": "set"}
    total: Any = value_of(["a", "b"], sets)
    assert plain_of(total.plus(value_of(["c", "b"], sets))) == ["a", "b", "c"]


def test_a_list_of_objects_with_keys_has_no_order_and_one_of_a_key() -> None:
    tcp, udp = {"port": 1, "protocol": "TCP"}, {"port": 1, "protocol": "UDP"}
    one: Any = value_of([tcp, udp], PORTS)
    assert equal(one, value_of([udp, tcp], PORTS))
    assert not equal(one, value_of([tcp], PORTS))
    assert not equal(one, value_of([tcp, {"port": 2, "protocol": "UDP"}], PORTS))
    assert not equal(one, value_of([tcp, udp | {"note": "n"}], PORTS))
    added = one.plus(value_of([udp | {"note": "n"}, {"port": 2}], PORTS))
    assert plain_of(added) == [tcp, udp | {"note": "n"}, {"port": 2}]
    assert (len(added), added[2].find("port")) == (3, 2)


def test_a_key_that_is_not_there_is_unlike_one_that_is() -> None:
    assert not equal(value_of([{"port": 1}], PORTS), value_of([{"port": 1, "protocol": "TCP"}], PORTS))
    assert equal(value_of([{"port": 1}], PORTS), value_of([{"port": 1}], PORTS))
