"""No keyword of a schema, and no part of a definition, changes unseen; only documentation may."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from setpoint.crd.diff import compare
from setpoint.meta.model_fields import fields_of
from setpoint.models.apiextensions_v1 import (
    CustomResourceDefinitionSpec,
    CustomResourceDefinitionVersion,
    JSONSchemaProps,
)
from setpoint.schema import copy_json

TEXT = {"type": "string"}
LIST = {"type": "array", "items": {"type": "object", "properties": {"a": TEXT, "b": TEXT}}}
RULE = {"rule": "self.size() > 0", "message": "not empty"}
# keyword: a schema, the keyword's value there (None for none), other values
KEYWORDS: dict[str, tuple[dict[str, Any], Any, tuple[Any, ...]]] = {
    "type": (TEXT, "string", ("integer",)),
    "format": (TEXT, "date", ("byte", None)),
    "pattern": (TEXT, "^a", ("^b", None)),
    "minLength": (TEXT, 1, (0, 2, None)),
    "maxLength": (TEXT, 1, (0, 2, None)),
    "enum": (TEXT, ["a"], (["a", "b"], ["b"], [], None)),
    "default": (TEXT, "a", ("b", None)),
    "nullable": (TEXT, True, (None,)),
    "minimum": ({"type": "integer"}, 1, (0, 2, None)),
    "maximum": ({"type": "integer"}, 1, (0, 2, None)),
    "exclusiveMinimum": ({"type": "integer", "minimum": 1}, True, (None,)),
    "exclusiveMaximum": ({"type": "integer", "maximum": 1}, True, (None,)),
    "multipleOf": ({"type": "integer"}, 2, (3, None)),
    "minItems": (LIST, 1, (0, 2, None)),
    "maxItems": (LIST, 1, (0, 2, None)),
    "uniqueItems": (LIST, False, (True,)),
    "items": ({"type": "array"}, TEXT, ({"type": "string", "maxLength": 3}, {"type": "integer"}, None)),
    "additionalItems": (LIST, False, (True,)),
    "minProperties": ({"type": "object"}, 1, (0, 2, None)),
    "maxProperties": ({"type": "object"}, 1, (0, 2, None)),
    "properties": ({"type": "object"}, {"a": TEXT}, ({}, {"a": {"type": "integer"}}, {"a": TEXT, "b": TEXT})),
    "required": (
        {"type": "object", "properties": {"a": TEXT, "b": TEXT}},
        ["a"],
        (["b"], ["a", "b"], ["a", "c"], None),
    ),
    "additionalProperties": ({"type": "object"}, TEXT, ({"type": "string", "maxLength": 3}, True, None)),
    "patternProperties": ({"type": "object"}, {"^a": TEXT}, ({}, None)),
    "dependencies": ({"type": "object"}, {"a": ["b"]}, ({"a": ["c"]}, None)),
    "definitions": ({"type": "object"}, {"a": TEXT}, (None,)),
    "allOf": ({"type": "object"}, [{"required": ["a"]}], ([{"required": ["b"]}], [{"required": ["a"]}, {}], None)),
    "anyOf": ({"type": "object"}, [{"required": ["a"]}], ([{"required": ["b"]}], [{"required": ["a"]}, {}], None)),
    "oneOf": ({"type": "object"}, [{"required": ["a"]}], ([{"required": ["b"]}], [{"required": ["a"]}, {}], None)),
    "not": ({"type": "object"}, {"required": ["a"]}, ({"required": ["b"]}, None)),
    "$ref": ({"type": "object"}, "#/a", ("#/b", None)),
    "x-kubernetes-embedded-resource": ({"type": "object"}, True, (None,)),
    "x-kubernetes-int-or-string": ({}, True, (None,)),
    "x-kubernetes-preserve-unknown-fields": ({"type": "object"}, True, (None,)),
    "x-kubernetes-list-type": (LIST, "set", ("atomic", None)),
    "x-kubernetes-list-map-keys": ({**LIST, "x-kubernetes-list-type": "map"}, ["a"], (["b"], ["a", "b"])),
    "x-kubernetes-map-type": ({"type": "object"}, "atomic", (None,)),
    "x-kubernetes-validations": (
        TEXT,
        [RULE],
        (
            [RULE | {"rule": "true"}],
            [RULE | {"message": "full"}],
            [RULE | {"optionalOldSelf": True}],
            [RULE | {"reason": "FieldValueInvalid"}],
            [RULE, RULE | {"rule": "true"}],
            None,
        ),
    ),
}
DOCUMENTATION = {"$schema", "id", "title", "description", "example", "externalDocs"}


def definition(schema: dict[str, Any], **root: Any) -> dict[str, Any]:
    whole = {"type": "object", "properties": {**root, "spec": {"type": "object", "properties": {"x": schema}}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Thing", "plural": "things", "singular": "thing", "listKind": "ThingList"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": whole}}],
        },
    }


def with_keyword(schema: dict[str, Any], keyword: str, value: Any) -> dict[str, Any]:
    by_key = {key: item for key, item in schema.items() if key != keyword}
    return by_key if value is None else by_key | {keyword: value}


def test_every_keyword_is_tried() -> None:
    assert {item.encode_name for item in fields_of(JSONSchemaProps)} == {*KEYWORDS} | DOCUMENTATION


@pytest.mark.parametrize("keyword", KEYWORDS)
def test_a_change_of_a_keyword_is_reported_in_both_directions(keyword: str) -> None:
    schema, value, others = KEYWORDS[keyword]
    one = with_keyword(schema, keyword, value)
    assert compare(definition(one), definition(copy_json(one))) == []
    for other in others:
        two = with_keyword(schema, keyword, other)
        for old, new in ((one, two), (two, one)):
            for place in (old, new), ({"type": "array", "items": old}, {"type": "array", "items": new}):
                changes = compare(definition(place[0]), definition(place[1]))
                assert changes, (old, new)
                assert all(change.field.startswith("spec.x") for change in changes)


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf", "not"])
def test_what_alternatives_say_more_of_breaks(keyword: str) -> None:
    part: Any = {"required": ["a"]}
    old, new = ({"type": "object"}, {"type": "object", keyword: part if keyword == "not" else [part]})
    (change,) = compare(definition(old), definition(new))
    assert (change.stored, change.writers, change.code.removesuffix("-added")) == (
        "breaks",
        "breaks",
        {"allOf": "all-of", "anyOf": "any-of", "oneOf": "one-of", "not": "not"}[keyword],
    )
    (change,) = compare(definition(new), definition(old))
    assert (change.severity, change.readers) == ("may", "may")


def test_documentation_is_not_a_change() -> None:
    for keyword in DOCUMENTATION:
        assert compare(definition(TEXT), definition(TEXT | {keyword: "other"})) == []


def test_an_int_or_string_says_the_same_with_and_without_its_types() -> None:
    old = {"x-kubernetes-int-or-string": True}
    assert compare(definition(old), definition(old | {"anyOf": [{"type": "integer"}, {"type": "string"}]})) == []


@pytest.mark.parametrize("name", ["name", "generateName"])
def test_constraints_on_the_name_of_an_object_are_compared(name: str) -> None:
    tight = {"type": "object", "properties": {name: {"type": "string", "maxLength": 10}}}
    (change,) = compare(definition(TEXT), definition(TEXT, metadata=tight))
    assert (change.code, change.field, change.severity) == ("max-length-added", f"metadata.{name}", "breaks")
    (change,) = compare(definition(TEXT, metadata=tight), definition(TEXT, metadata={"type": "object"}))
    assert (change.code, change.severity) == ("max-length-removed", "may")


WEBHOOK = {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://a/"}}
COLUMN = {"name": "A", "type": "string", "jsonPath": ".spec.x"}
SCALE = {"specReplicasPath": ".spec.x", "statusReplicasPath": ".status.x"}
SPEC: dict[str, tuple[Any, ...]] = {
    "group": ("example.com", "example.org"),
    "scope": ("Namespaced", "Cluster"),
    "preserveUnknownFields": (None, True),
    "conversion": (
        {"strategy": "Webhook", "webhook": WEBHOOK},
        {"strategy": "Webhook", "webhook": WEBHOOK | {"clientConfig": {"url": "https://b/"}}},
        {"strategy": "Webhook", "webhook": WEBHOOK | {"conversionReviewVersions": ["v1", "v1beta1"]}},
        None,
    ),
}
NAMES: dict[str, tuple[Any, ...]] = {
    "kind": ("Thing", "Other"),
    "plural": ("things", "others"),
    "singular": ("thing", "other"),
    "listKind": ("ThingList", "OtherList"),
    "shortNames": (["t"], ["t", "th"], None),
    "categories": (["all"], ["all", "some"], None),
}
VERSION: dict[str, tuple[Any, ...]] = {
    "served": (True, False),
    "deprecated": (None, True),
    "deprecationWarning": ("a", "b", None),
    "subresources": (None, {"status": {}}, {"scale": SCALE}, {"scale": SCALE | {"labelSelectorPath": ".status.s"}}),
    "selectableFields": (None, [{"jsonPath": ".spec.x"}], [{"jsonPath": ".spec.y"}]),
    "additionalPrinterColumns": (
        [COLUMN],
        [COLUMN | {"name": "B"}],
        [COLUMN | {"type": "date"}],
        [COLUMN | {"jsonPath": ".spec.y"}],
        [COLUMN | {"priority": 1}],
        [COLUMN | {"format": "byte"}],
        [COLUMN, COLUMN | {"name": "B"}],
        None,
    ),
}


def test_every_part_of_a_definition_is_tried() -> None:
    compared = {"versions", "names"}
    assert {item.encode_name for item in fields_of(CustomResourceDefinitionSpec)} == {*SPEC} | compared
    # a change of the storage version needs two versions, and has tests of its own
    assert {item.encode_name for item in fields_of(CustomResourceDefinitionVersion)} == (
        {*VERSION} | {"name", "schema", "storage"}
    )


@pytest.mark.parametrize(
    ("part", "values", "place"),
    [
        *((part, values, lambda crd: crd["spec"]) for part, values in SPEC.items()),
        *((part, values, lambda crd: crd["spec"]["names"]) for part, values in NAMES.items()),
        *((part, values, lambda crd: crd["spec"]["versions"][0]) for part, values in VERSION.items()),
    ],
)
def test_a_change_of_a_part_of_a_definition_is_reported(
    part: str, values: tuple[Any, ...], place: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    results = []
    for value in values:
        crd = definition(TEXT)
        if part == "deprecationWarning":
            place(crd)["deprecated"] = True
        if value is not None:
            place(crd)[part] = value
        results.append(crd)
    for old in results:
        for new in results:
            assert bool(compare(old, new)) is (old is not new), (old, new)
