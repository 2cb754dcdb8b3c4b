from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from setpoint.schema import Schema, Schemas, to_aggregate_message, to_causes, validate
from setpoint.schema.errors import duplicate, format_value, invalid


def schema(**definition: Any) -> Schema:
    return Schemas({}).parse({"type": "object", "properties": {"spec": definition}})


def texts(value: Any, /, **definition: Any) -> list[str]:
    return [str(error) for error in validate(schema(**definition), {"spec": value})]


TYPED = "spec: Invalid value: "
TABLE: list[tuple[Any, dict[str, Any], list[str]]] = [
    ("x", {"type": "integer"}, [TYPED + '"string": spec in body must be of type integer: "string"']),
    (
        1.5,
        {"type": "integer"},
        [
            TYPED + '"number": spec in body must be of type integer: "number"',
            '<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec',
        ],
    ),
    (1.0, {"type": "integer"}, []),
    (1, {"type": "number"}, []),
    (True, {"type": "integer"}, [TYPED + '"boolean": spec in body must be of type integer: "boolean"']),
    (1, {"type": "boolean"}, [TYPED + '"integer": spec in body must be of type boolean: "integer"']),
    (None, {"type": "string"}, [TYPED + '"null": spec in body must be of type string: "null"']),
    (None, {"type": "string", "nullable": True}, []),
    ([], {"type": "object"}, [TYPED + '"array": spec in body must be of type object: "array"']),
    (
        1.5,
        {"x-kubernetes-int-or-string": True},
        [TYPED + '"number": spec in body must be of type integer,string: "number"'],
    ),
    ("50%", {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}, []),
    (0, {"type": "integer", "minimum": 1}, [TYPED + "0: spec in body should be greater than or equal to 1"]),
    (
        1,
        {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
        [TYPED + "1: spec in body should be greater than 1"],
    ),
    (9, {"type": "integer", "maximum": 8}, [TYPED + "9: spec in body should be less than or equal to 8"]),
    (8, {"type": "number", "maximum": 8, "exclusiveMaximum": True}, [TYPED + "8: spec in body should be less than 8"]),
    (7, {"type": "integer", "multipleOf": 2}, [TYPED + "7: spec in body should be a multiple of 2"]),
    (0.3, {"type": "number", "multipleOf": 0.1}, []),
    (0.35, {"type": "number", "multipleOf": 0.1}, [TYPED + "0.35: spec in body should be a multiple of 0.1"]),
    (
        2**31,
        {"type": "integer", "format": "int32"},
        ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec'],
    ),
    ("abc", {"type": "string", "maxLength": 2}, ["spec: Too long: may not be more than 2 bytes"]),
    ("", {"type": "string", "minLength": 1}, [TYPED + '"": spec in body should be at least 1 chars long']),
    ("A", {"type": "string", "pattern": "^[a-z]+$"}, [TYPED + "\"A\": spec in body should match '^[a-z]+$'"]),
    ("a\n", {"type": "string", "pattern": "^[a-z]+$"}, [TYPED + "\"a\\n\": spec in body should match '^[a-z]+$'"]),
    ("c", {"type": "string", "enum": ["a", "b"]}, ['spec: Unsupported value: "c": supported values: "a", "b"']),
    (3, {"type": "integer", "enum": [1, 2]}, ['spec: Unsupported value: 3: supported values: "1", "2"']),
    (
        [1, 2],
        {"type": "array", "items": {"type": "integer"}, "maxItems": 1},
        ["spec: Too many: 2: must have at most 1 item"],
    ),
    (
        [],
        {"type": "array", "items": {"type": "integer"}, "minItems": 1},
        [TYPED + "0: spec in body should have at least 1 items"],
    ),
    (
        [1, "x"],
        {"type": "array", "items": {"type": "integer"}},
        ['spec[1]: Invalid value: "string": spec[1] in body must be of type integer: "string"'],
    ),
    ({"a": 1}, {"type": "object", "maxProperties": 0}, ["spec: Too many: 1: must have at most 0 items"]),
    ({}, {"type": "object", "minProperties": 1}, [TYPED + "0: spec in body should have at least 1 properties"]),
    ({}, {"type": "object", "required": ["b", "a"]}, ["spec.b: Required value", "spec.a: Required value"]),
    (
        {"k": 1},
        {"type": "object", "additionalProperties": {"type": "string"}},
        ['spec.k: Invalid value: "integer": spec.k in body must be of type string: "integer"'],
    ),
    (
        "never",
        {"type": "string", "format": "date-time"},
        [TYPED + '"never": spec in body must be of type date-time: "never"'],
    ),
    (
        5,
        {"type": "string", "format": "date-time"},
        [TYPED + '"int64": spec in body must be of type date-time: "int64"'],
    ),
    (
        {},
        {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        [
            '<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found none valid',
            "spec.a: Required value",
        ],
    ),
    (
        {"a": 1, "b": 1},
        {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        ['<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found 2 valid alternatives'],
    ),
    (
        {},
        {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        ['<nil>: Invalid value: "": "spec" must validate at least one schema (anyOf)', "spec.a: Required value"],
    ),
    (
        {"a": 1},
        {"type": "object", "allOf": [{"required": ["a"]}, {"required": ["b"]}]},
        ["spec.b: Required value", '<nil>: Invalid value: "": "spec" must validate all the schemas (allOf)'],
    ),
    (
        {"a": 1},
        {"type": "object", "not": {"required": ["a"]}},
        ['<nil>: Invalid value: "": "spec" must not validate the schema (not)'],
    ),
    (
        ["a", "b", "a"],
        {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        ['spec[2]: Duplicate value: "a"'],
    ),
    (
        [{"n": "a", "p": 1}, {"n": "a", "p": 2}, {"n": "a", "p": 1}],
        {
            "type": "array",
            "items": {"type": "object"},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["n", "p"],
        },
        ['spec[2]: Duplicate value: {"n":"a","p":1}'],
    ),
    (
        {},
        {"type": "object", "x-kubernetes-embedded-resource": True},
        ["spec.apiVersion: Required value", "spec.kind: Required value"],
    ),
]


@pytest.mark.parametrize(("value", "definition", "wanted"), TABLE)
def test_errors_are_worded_as_the_server_words_them(value: Any, definition: dict[str, Any], wanted: list[str]) -> None:
    assert texts(value, **definition) == wanted


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date-time", "2024-02-29T12:00:00.5Z", "2023-02-29T12:00:00Z"),
        ("date-time", "2024-02-29t12:00:00+01:00", "2024-02-29 12:00:00"),
        ("date", "2024-02-29", "2024-2-9"),
        ("byte", "aGk=", "a"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123"),
        ("ipv4", "1.2.3.4", "::1"),
        ("ipv6", "::1", "1.2.3.4"),
        ("cidr", "10.0.0.0/8", "10.0.0.0"),
        ("email", "a@example.com", "a.example.com"),
        ("hostname", "a.example.com", "-a"),
        ("mac", "01:23:45:67:89:ab", "01:23"),
        ("uri", "https://example.com/x", "x"),
        ("duration", "1h30m", "soon"),
    ],
)
def test_formats_are_checked(name: str, good: str, bad: str) -> None:
    assert texts(good, type="string", format=name) == []
    assert len(texts(bad, type="string", format=name)) == 1
    assert texts(bad, type="string", format="made-up") == []


@pytest.mark.parametrize("name", ["uint32", "uint64"])
def test_formats_of_integers_that_definitions_can_not_have_are_ignored(name: str) -> None:
    assert not texts(-1, type="integer", format=name)


def test_of_the_length_and_the_pattern_of_a_text_the_first_error_is_named() -> None:
    too_long = "spec: Too long: may not be more than 3 bytes"
    assert texts("ABCDE", type="string", maxLength=3, pattern="^[a-z]*$") == [too_long]
    (error,) = texts("A", type="string", minLength=3, pattern="^[a-z]*$")
    assert error.endswith("should be at least 3 chars long")


def test_a_format_makes_no_text_a_number() -> None:
    wanted = TYPED + '"integer": spec in body must be of type string: "integer"'
    assert texts(5, type="string", format="int-or-string") == [wanted]


def test_what_did_not_change_is_not_held_against_an_update() -> None:
    items = {"type": "object", "properties": {"n": {"type": "string"}, "v": {"type": "string", "maxLength": 1}}}
    definition = schema(
        type="object",
        properties={
            "a": {"type": "string", "maxLength": 1},
            "list": {
                "type": "array",
                "items": items,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["n"],
            },
        },
    )
    old = {"spec": {"a": "long", "list": [{"n": "x", "v": "long"}]}}
    new = {"spec": {"a": "long", "list": [{"n": "y", "v": "also"}, {"n": "x", "v": "long"}]}}
    assert validate(definition, old, old=old) == []
    assert [error.field for error in validate(definition, new, old=old)] == ["spec.list[0].v"]
    assert len(validate(definition, new)) == 3


def test_paths_start_where_they_are_told() -> None:
    result = validate(schema(type="string"), {"spec": 1}, "spec.versions[0].default")
    assert [error.field for error in result] == ["spec.versions[0].default.spec"]


def test_errors_become_causes_and_one_message() -> None:
    errors = validate(schema(type="object", required=["a", "b"]), {"spec": {}})
    assert to_causes(errors[:1]) == [{"reason": "FieldValueRequired", "message": "Required value", "field": "spec.a"}]
    assert to_aggregate_message(errors) == "[spec.a: Required value, spec.b: Required value]"
    assert to_aggregate_message(errors[:1] * 2) == "spec.a: Required value"
    assert to_aggregate_message([]) == ""


def test_thousands_of_errors_that_show_large_values_end_in_a_number() -> None:
    keys = ["k"] * 100_000
    errors = [duplicate(f"spec.keys[{index}]", keys) for index in range(10_000)]
    message = to_aggregate_message(errors)
    assert message.startswith('[spec.keys[0]: Duplicate value: ["k","k",')
    assert message.endswith("and 9997 more errors]")
    assert len(to_causes(errors)) == 3


@given(
    st.recursive(
        st.none()
        | st.text(st.characters())
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ).filter(lambda value: isinstance(value, list | dict))
)
@example([8.1e-05, 1e16, 1e21, -0.0, 2**70, "\ud800", 1.0])
def test_any_value_is_shown_as_sorted_json(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    assert format_value(value) == text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def test_a_value_of_megabytes_is_shown_up_to_a_limit() -> None:
    message = invalid("spec.a", "x" * (3 << 20), "must be short").message
    assert message.startswith('Invalid value: "xxx')
    assert message.endswith("... (2097154 more characters): must be short")
    assert len(message) < (1 << 20) + 100


@given(st.recursive(st.one_of(st.none(), st.integers(), st.text(), st.booleans()), lambda inner: st.lists(inner)))
def test_anything_is_valid_where_nothing_is_said(value: Any) -> None:
    assert texts(value, **{"x-kubernetes-preserve-unknown-fields": True}) == []


MAPS = {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": {"type": "integer"}}}
SETS = {
    "type": "object",
    "additionalProperties": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
}


@pytest.mark.parametrize(
    ("definition", "many"),
    [
        (MAPS, {f"a{number}": "x" for number in range(3_000)}),
        (SETS, [str(number % 3_000) for number in range(6_000)]),
        ({**MAPS, "anyOf": [MAPS]}, {f"a{number}": "x" for number in range(3_000)}),
    ],
)
def test_many_errors_below_a_long_name_take_little_memory_and_are_all_counted(
    definition: dict[str, Any], many: Any
) -> None:
    errors = validate(schema(**definition), {"spec": {"k" * 50_000: many}})
    kept = {(error.field, error.detail) for error in errors}
    assert sum(len(path) + len(detail) for path, detail in kept) < 20_000_000
    assert len(errors) >= 3_000
    assert "more errors" in to_aggregate_message(errors)
