from __future__ import annotations

from typing import Any

import pytest

from setpoint.schema import structural

AT = "spec.versions[0].schema.openAPIV3Schema"


def spec(**definition: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": definition}}


def texts(definition: dict[str, Any], **options: Any) -> list[str]:
    return [str(error).removeprefix(AT).removeprefix(".") for error in structural.check(definition, **options)]


ITEM = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}
KEYED = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
GOOD = [
    spec(
        **{"type": "object", "$schema": "", "x-kubernetes-preserve-unknown-fields": True, "default": {"$schema": "x"}}
    ),
    spec(type="object", properties={"a": {"type": "string"}}),
    spec(**KEYED, items=ITEM),
    spec(**{"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
    spec(**{"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}]}),
    spec(**{"x-kubernetes-preserve-unknown-fields": True}),
    spec(**{"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}),
    spec(
        type="object",
        properties={"a": {"type": "integer"}},
        oneOf=[{"properties": {"a": {"minimum": 1}}}, {"required": ["a"]}],
    ),
    {
        "type": "object",
        "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}}},
    },
    spec(type="object", default={"a": 1}, properties={"a": {"type": "integer", "default": 2}}),
]
P = "properties[spec]"
BAD: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["type: Required value: must not be empty at the root"]),
    ({"type": "array", "items": {"type": "string"}}, ['type: Invalid value: "array": must be object at the root']),
    ({"type": "object", "nullable": True}, ["nullable: Forbidden: nullable cannot be true at the root"]),
    (spec(), [f"{P}.type: Required value: must not be empty for specified object fields"]),
    (spec(type="array"), [f"{P}.items: Required value: must be specified"]),
    (spec(type="array", items={}), [f"{P}.items.type: Required value: must not be empty for specified array items"]),
    (
        spec(type="text"),
        [
            f'{P}.type: Unsupported value: "text": supported values:'
            ' "array", "boolean", "integer", "number", "object", "string"'
        ],
    ),
    (
        spec(type="string", pattern="(?=x)"),
        [f'{P}.pattern: Invalid value: "(?=x)": must be a valid regular expression, but'],
    ),
    (
        spec(type="object", allOf=[{"type": "object"}]),
        [f"{P}.allOf[0].type: Forbidden: must be empty to be structural"],
    ),
    (
        {"type": "object", "anyOf": [{"properties": {"a": {"minimum": 1}}}]},
        [f"properties[a]: Required value: because it is defined in {AT}.anyOf[0].properties[a]"],
    ),
    (
        spec(type="object", properties={"a": {"type": "string"}}, additionalProperties={"type": "string"}),
        [f"{P}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"],
    ),
    (
        {"type": "object", "additionalProperties": {"type": "string"}},
        ["additionalProperties: Forbidden: must not be used at the root"],
    ),
    (
        spec(type="array", uniqueItems=True, items={"type": "string"}),
        [
            f"{P}.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes"
            " quadratic"
        ],
    ),
    (spec(**{"type": "object", "$ref": "x"}), [f"{P}.$ref: Forbidden: $ref is not supported"]),
    (spec(**{"type": "object", "$schema": "x"}), [": Invalid value: \"\": OpenAPIV3Schema 'schema' is not supported"]),
    (
        spec(type="object", properties={"a": {"$schema": "x"}}),
        [": Invalid value: \"\": OpenAPIV3Schema 'schema' is not supported"],
    ),
    (spec(**{"type": "object", "$schema": "x", "$ref": "x"}), [f"{P}.$ref: Forbidden: $ref is not supported"]),
    (spec(type="object", definitions={"x": {}}), [f"{P}.definitions: Forbidden: definitions is not supported"]),
    (
        spec(**{"type": "object", "x-kubernetes-preserve-unknown-fields": False}),
        [f"{P}.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined"],
    ),
    (
        spec(**{"type": "object", "x-kubernetes-embedded-resource": True}),
        [
            f"{P}.properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without"
            " x-kubernetes-preserve-unknown-fields"
        ],
    ),
    (
        {
            "type": "object",
            "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}},
        },
        [
            "properties[metadata]: Forbidden: must not specify anything other than name and generateName, but"
            " metadata is implicitly specified"
        ],
    ),
    (
        spec(**{"type": "array", "x-kubernetes-list-type": "map", "items": ITEM}),
        [f"{P}.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map"],
    ),
    (
        spec(**KEYED, items={**ITEM, "required": []}),
        [
            f"{P}.items.properties[name].default: Required value: this property is in x-kubernetes-list-map-keys, so it"
            " must have a default or be a required property"
        ],
    ),
    (
        spec(**KEYED, items={"type": "object", "properties": {}}),
        [f'{P}.x-kubernetes-list-map-keys: Invalid value: ["name"]: entries must all be names of item properties'],
    ),
    (
        spec(**{"type": "array", "x-kubernetes-list-type": "bag", "items": {"type": "string"}}),
        [f'{P}.x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map"'],
    ),
    (
        spec(**{"type": "object", "x-kubernetes-list-type": "set"}),
        [f'{P}.type: Invalid value: "object": must be array if x-kubernetes-list-type is specified'],
    ),
    (
        spec(**{"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string", "nullable": True}}),
        [f"{P}.items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set"],
    ),
    (
        spec(type="integer", default="x"),
        [f'{P}.default: Invalid value: "string":  in body must be of type integer: "string"'],
    ),
    (
        spec(type="object", default={"b": 1}, properties={"a": {"type": "string"}}),
        [f'{P}.default: Invalid value: {{"b":1}}: must not have unknown fields'],
    ),
    (
        {"type": "object", "properties": {"kind": {"type": "string", "default": "X"}}},
        ["properties[kind].default: Forbidden: must not be set in top-level kind"],
    ),
    (
        spec(**{"type": "string", "x-kubernetes-validations": [{"rule": " "}]}),
        [f"{P}.x-kubernetes-validations[0].rule: Required value: rule is not specified"],
    ),
]


@pytest.mark.parametrize("definition", GOOD)
def test_structural_schemas_are_accepted_and_load(definition: dict[str, Any]) -> None:
    assert texts(definition) == []
    schema = structural.load(definition)
    assert schema.at("metadata", "ownerReferences", 0, "uid") is not None
    assert set(schema.properties) >= {"apiVersion", "kind", "metadata"}


@pytest.mark.parametrize(("definition", "wanted"), BAD)
def test_what_is_not_structural_is_refused_in_the_servers_words(definition: dict[str, Any], wanted: list[str]) -> None:
    current_texts = texts(definition)
    assert len(current_texts) == len(wanted)
    for text, start in zip(current_texts, wanted, strict=True):
        assert text.startswith(start)


def test_the_status_subresource_limits_the_root() -> None:
    assert texts(spec(type="object"), status_subresource=True) == []
    current_texts = texts({**spec(type="object"), "maxProperties": 1}, status_subresource=True)
    assert len(current_texts) == 1
    assert "fields are allowed at the root of the schema if the status subresource is enabled" in current_texts[0]


def test_limits_on_the_name_are_kept() -> None:
    schema = structural.load(GOOD[-2])
    name = schema.at("metadata", "name")
    assert name is not None
    assert name.max_length == 9


@pytest.mark.parametrize(
    ("keyword", "value", "reason"),
    [
        ("$ref", "#/x", "$ref is not supported"),
        ("x-kubernetes-preserve-unknown-fields", False, "must be true or undefined"),
    ],
)
def test_a_keyword_that_no_structural_schema_has_hides_what_else_is_not_structural(
    keyword: str, value: Any, reason: str
) -> None:
    errors = structural.check({"type": "object", "properties": {"a": {keyword: value}}})
    assert [error.detail for error in errors] == [reason]


def test_schemas_in_keywords_that_are_not_supported_are_checked_too() -> None:
    errors = structural.check({"type": "object", "definitions": {"x": {"uniqueItems": True, "patternProperties": {}}}})
    assert [error.field.removeprefix(AT) for error in errors] == [".definitions", ".definitions[x].uniqueItems"]
