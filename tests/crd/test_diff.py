"""Each breaking change is reported, and nothing else breaks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from setpoint.crd.definition_change import Change
from setpoint.crd.diff import compare, compare_all
from setpoint.schema import Schemas, copy_json, validate
from setpoint.testing.object_strategies import values_of


def crd(schema: dict[str, Any] | None = None, **version: Any) -> dict[str, Any]:
    root = {"type": "object", "properties": {"spec": schema or {"type": "object"}}}
    first = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": root}} | version
    names = {"kind": "Thing", "plural": "things", "singular": "thing", "listKind": "ThingList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [first]},
    }


def spec(fields: dict[str, Any], required: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(required), **more}


INT: dict[str, Any] = {"type": "integer"}
TEXT: dict[str, Any] = {"type": "string"}


@pytest.mark.parametrize(
    ("old", "new", "what", "field", "hurt"),
    [
        (spec({"a": INT}), spec({}), "field-removed", "spec.a", "bbb"),
        (
            spec({"a": INT}),
            spec({}, **{"x-kubernetes-preserve-unknown-fields": True}),
            "field-undeclared",
            "spec.a",
            "-mm",
        ),
        (spec({}), spec({"a": INT}), "field-added", "spec.a", "---"),
        (spec({}), spec({"a": INT}, ("a",)), "required-field-added", "spec.a", "bb-"),
        (spec({}), spec({"a": INT | {"default": 1}}, ("a",)), "field-added", "spec.a", "---"),
        (spec({"a": INT}), spec({"a": INT}, ("a",)), "required-added", "spec.a", "bb-"),
        (spec({"a": INT}, ("a",)), spec({"a": INT}), "required-removed", "spec.a", "--m"),
        (spec({"a": INT}), spec({"a": TEXT}), "type-changed", "spec.a", "bbb"),
        (spec({"a": INT}), spec({"a": {"type": "number"}}), "type-widened", "spec.a", "--m"),
        (spec({"a": INT}), spec({"a": {"x-kubernetes-int-or-string": True}}), "type-widened", "spec.a", "--m"),
        (spec({"a": INT | {"minimum": 0}}), spec({"a": INT | {"minimum": 1}}), "minimum-raised", "spec.a", "bb-"),
        (spec({"a": INT | {"minimum": 1}}), spec({"a": INT | {"minimum": 0}}), "minimum-lowered", "spec.a", "--m"),
        (
            spec({"a": INT | {"minimum": 1}}),
            spec({"a": INT | {"minimum": 1, "exclusiveMinimum": True}}),
            "minimum-raised",
            "spec.a",
            "bb-",
        ),
        (
            spec({"a": INT | {"maximum": 9, "exclusiveMaximum": True}}),
            spec({"a": INT | {"maximum": 9}}),
            "maximum-raised",
            "spec.a",
            "--m",
        ),
        (spec({"a": INT}), spec({"a": INT | {"maximum": 9}}), "maximum-added", "spec.a", "bb-"),
        (spec({"a": TEXT | {"maxLength": 9}}), spec({"a": TEXT}), "max-length-removed", "spec.a", "--m"),
        (spec({"a": TEXT}), spec({"a": TEXT | {"pattern": "^a"}}), "pattern-added", "spec.a", "bb-"),
        (
            spec({"a": TEXT | {"enum": ["a", "b"]}}),
            spec({"a": TEXT | {"enum": ["a"]}}),
            "enum-value-removed",
            "spec.a",
            "bb-",
        ),
        (
            spec({"a": TEXT | {"enum": ["a"]}}),
            spec({"a": TEXT | {"enum": ["a", "b"]}}),
            "enum-value-added",
            "spec.a",
            "--m",
        ),
        (spec({"a": INT | {"default": 1}}), spec({"a": INT | {"default": 2}}), "default-changed", "spec.a", "mmm"),
        (
            spec({"a": {"type": "array", "items": INT}}),
            spec({"a": {"type": "array", "items": TEXT}}),
            "type-changed",
            "spec.a[]",
            "bbb",
        ),
        (
            spec({"a": {"type": "object", "additionalProperties": INT}}),
            spec({"a": {"type": "object", "additionalProperties": TEXT}}),
            "type-changed",
            "spec.a.*",
            "bbb",
        ),
        (
            spec({"a": {"type": "array", "items": TEXT}}),
            spec({"a": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}}),
            "list-type-changed",
            "spec.a",
            "mm-",
        ),
        (
            spec({}, **{"x-kubernetes-preserve-unknown-fields": True}),
            spec({}),
            "preserve-unknown-removed",
            "spec",
            "bbb",
        ),
        (
            spec({"a": INT}),
            spec({"a": INT | {"x-kubernetes-validations": [{"rule": "self > 1"}]}}),
            "rule-added",
            "spec.a",
            "bb-",
        ),
        (
            spec({"a": INT}),
            spec({"a": INT | {"x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}),
            "rule-added",
            "spec.a",
            "-b-",
        ),
    ],
)
def test_each_change_of_a_schema_says_whom_it_hurts(
    old: dict[str, Any], new: dict[str, Any], what: str, field: str, hurt: str
) -> None:
    change = next(change for change in compare(crd(old), crd(new)) if change.code == what)
    assert (change.field, change.version) == (field, "v1")
    assert (change.stored, change.writers, change.readers) == tuple(
        {"b": "breaks", "m": "may", "-": ""}[x] for x in hurt
    )


@pytest.mark.parametrize(
    ("change", "what", "severity"),
    [
        (lambda c: c["spec"].update(scope="Cluster"), "scope-changed", "breaks"),
        (lambda c: c["spec"]["names"].update(plural="thingies"), "plural-changed", "breaks"),
        (lambda c: c["spec"]["versions"][0].update(served=False), "version-unserved", "breaks"),
        (lambda c: c["spec"]["versions"][0].update(deprecated=True), "version-deprecated", ""),
        (lambda c: c["spec"]["versions"][0].update(subresources={"status": {}}), "status-subresource-added", "breaks"),
        (
            lambda c: c["spec"]["versions"].append(c["spec"]["versions"][0] | {"name": "v2", "storage": False}),
            "version-added",
            "",
        ),
        (lambda c: c["spec"]["versions"][0].update(name="v2"), "stored-version-removed", "breaks"),
    ],
)
def test_each_change_of_a_definition_says_how_bad_it_is(change: Any, what: str, severity: str) -> None:
    new = crd()
    change(new)
    assert (what, severity) in [(result.code, result.severity) for result in compare(crd(), new)]


def test_a_version_that_is_still_stored_can_not_go() -> None:
    old = crd()
    old["spec"]["versions"].append(copy_json(old["spec"]["versions"][0]) | {"name": "v1alpha1", "storage": False})
    (change,) = compare(old, crd())
    assert (change.code, change.stored) == ("version-removed", "")
    old["status"] = {"storedVersions": ["v1alpha1", "v1"]}
    (change,) = compare(old, crd())
    assert (change.code, change.stored) == ("stored-version-removed", "breaks")
    assert "still in status.storedVersions" in change.text
    assert "setpoint crd migrate" in change.text


def test_whole_definitions_come_and_go() -> None:
    assert [(change.code, change.severity) for change in compare_all([crd()], [])] == [("definition-removed", "breaks")]
    assert [(change.code, change.severity) for change in compare_all([], [crd()])] == [("definition-added", "")]
    assert compare_all([crd(spec({"a": INT}))], [crd(spec({"a": INT | {"description": "words"}}))]) == []


def test_what_is_no_definition_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected a CustomResourceDefinition .*, not v1 Pod"):
        compare({"apiVersion": "v1", "kind": "Pod"}, crd())


# -- the model: validation itself --------------------------------------------------------------------------------------

numbers = st.fixed_dictionaries(
    {"type": st.sampled_from(["integer", "number"])},
    optional={
        "minimum": st.integers(-3, 3),
        "maximum": st.integers(4, 9),
        "exclusiveMinimum": st.booleans(),
        "exclusiveMaximum": st.booleans(),
        "multipleOf": st.sampled_from([1, 2]),
    },
)
texts = st.fixed_dictionaries(
    {"type": st.just("string")},
    optional={
        "minLength": st.integers(0, 2),
        "maxLength": st.integers(2, 4),
        "enum": st.lists(st.sampled_from(["aa", "bb", "ab"]), min_size=1, unique=True),
        "pattern": st.sampled_from(["^[a-z]*$", "^a?b*"]),
        "nullable": st.just(True),
    },
)
leaves = numbers | texts
lists = st.fixed_dictionaries(
    {"type": st.just("array"), "items": leaves},
    optional={"minItems": st.integers(0, 1), "maxItems": st.integers(1, 3), "x-kubernetes-list-type": st.just("set")},
)
maps = st.fixed_dictionaries(
    {"type": st.just("object"), "additionalProperties": leaves}, optional={"maxProperties": st.integers(1, 3)}
)
parts = leaves | lists | maps
schemas = st.dictionaries(st.sampled_from("abc"), parts, max_size=3).flatmap(
    lambda fields: st.fixed_dictionaries(
        {
            "type": st.just("object"),
            "properties": st.just(fields),
            "required": st.lists(st.sampled_from(sorted(fields)), unique=True) if fields else st.just([]),
        }
    )
)


@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.filter_too_much),
)
@given(st.data())
def test_what_does_not_break_writers_leaves_every_valid_object_valid(data: st.DataObject) -> None:
    old = data.draw(schemas)
    new = copy_json(old)
    for name in list(old["properties"]):
        if data.draw(st.booleans()):
            new["properties"][name] = data.draw(parts)
    new["required"] = (
        data.draw(st.lists(st.sampled_from(sorted(old["properties"])), unique=True)) if old["properties"] else []
    )
    changes: list[Change] = compare(crd(old), crd(new))
    value = data.draw(values_of(Schemas({}).parse(old)))
    if validate(Schemas({}).parse(new), value):
        assert any(change.writers for change in changes), (old, new, value)
    assert (old == new) == (not changes) or not any(change.writers or change.stored for change in changes)
