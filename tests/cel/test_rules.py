"""Rules of schemas: the verdicts, texts and costs of API servers."""

from __future__ import annotations

import re
from typing import Any

import pytest

from setpoint.cel.rules import RuleValidator, default_errors, rule_errors

from .observed import observed

COSTS = observed("costs")
OBJECTS = observed("objects")
HINT = " (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"  # noqa: E501
TEXT = {"type": "string"}
INT = {"type": "integer"}


def ruled(schema: dict[str, Any], *rules: str | dict[str, Any]) -> dict[str, Any]:
    """A schema with rules."""
    return schema | {"x-kubernetes-validations": [{"rule": rule} if isinstance(rule, str) else rule for rule in rules]}


def within(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object whose ``spec`` has this one."""
    return {"type": "object", "properties": {"spec": schema}}


def many(rule: str, times: int) -> dict[str, Any]:
    """A schema in which the place of ``rule`` occurs ``times`` times."""
    items = ruled(COSTS["schema"], {"rule": rule, "message": "m"})
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["s"]}
    return within({"type": "array", "maxItems": times, "items": items} | keyed)


@pytest.mark.parametrize("case", COSTS["costs"], ids=lambda case: case["rule"])
def test_a_rule_costs_what_it_costs_on_a_server(case: dict[str, Any]) -> None:
    errors = rule_errors(many(case["rule"], case["times"]), "schema")
    where = "schema.properties[spec].items.x-kubernetes-validations[0].rule"
    text = f"Forbidden: estimated rule cost exceeds budget by factor of {case['factor']}{HINT}"
    assert f"{where}: {text}" in [str(error) for error in errors]


@pytest.mark.parametrize("case", COSTS["refused"], ids=lambda case: case["rule"])
def test_a_rule_that_does_not_compile_is_refused_in_a_servers_words(case: dict[str, Any]) -> None:
    (error,) = rule_errors(many(case["rule"], 1), "schema")
    assert error.detail.splitlines()[0] == case["why"]


def _spec(document: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value["repeat"] * value["times"] if key == "cost" and isinstance(value, dict) else value
        for key, value in document.items()
    }


BY_RULES = [case for case in OBJECTS["created"] if not re.search("Too long|must be of type", " ".join(case["errors"]))]
"""Those of which the schema alone has nothing to say first."""


@pytest.mark.parametrize("case", BY_RULES, ids=lambda case: f"{case['name']} {str(case['spec'])[:60]}")
def test_new_objects_are_judged_as_on_a_server(case: dict[str, Any]) -> None:
    document = {"apiVersion": "example.com/v1", "kind": "Obj", "metadata": {"name": case["name"]}}
    document["spec"] = {"def": 5} | _spec(case["spec"])
    errors, warnings = RuleValidator(OBJECTS["schema"]).validate(document)
    rules_said = [text for text in case["errors"] if "should be less than or equal to" not in text]
    assert sorted(str(error) for error in errors) == rules_said
    assert not warnings


@pytest.mark.parametrize("case", OBJECTS["updated"], ids=lambda case: f"{case['before']} -> {case['after']}")
def test_changed_objects_are_judged_as_on_a_server(case: dict[str, Any]) -> None:
    head = {"apiVersion": "example.com/v1", "kind": "Obj", "metadata": {"name": "u"}}
    old = head | {"spec": {"def": 5} | case["before"]}
    new = head | {"spec": {"def": 5} | case["after"]}
    errors, warnings = RuleValidator(OBJECTS["schema"]).validate(new, old, update=True)
    assert sorted(str(error) for error in errors) == case["errors"]
    assert sorted(warnings) == case["warnings"]


def test_all_rules_of_a_schema_together_may_cost_only_so_much() -> None:
    texts = {"type": "array", "maxItems": 1000, "items": TEXT | {"maxLength": 1000}}
    rule = "self.all(x, self.all(y, x == y))"
    schema = within({"type": "object", "properties": {f"p{index}": ruled(texts, rule) for index in range(3)}})
    errors = [str(error) for error in rule_errors(schema, "schema")]
    assert errors[-1].startswith("schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire")
    assert sum("contributed to estimated rule cost total" in error for error in errors) == 3


def test_old_self_needs_a_place_that_can_be_found_again() -> None:
    items = {"type": "array", "items": ruled(TEXT | {"maxLength": 3}, "self == oldSelf"), "maxItems": 3}
    (error,) = rule_errors(within(items), "schema")
    assert error.detail == "oldSelf cannot be used on the uncorrelatable portion of the schema within " \
        "schema.properties[spec]"  # fmt: skip


def test_old_self_must_be_used_where_it_is_said_to_be_optional() -> None:
    rule = {"rule": "self > 1", "optionalOldSelf": True}
    (error,) = rule_errors(within(ruled(INT, rule)), "schema")
    assert error.field.endswith("[0].optionalOldSelf")
    assert error.detail == "may not be set if oldSelf is not used in rule"


@pytest.mark.parametrize(
    ("path", "right"),
    [(".a", True), (".b", False), (".m['x y']", True), ("['a']", True), ("a", False), (".m.x.y", False), (".", False)],
)
def test_a_field_path_leads_to_a_field(path: str, right: bool) -> None:
    spec = {"type": "object", "properties": {"a": INT, "m": {"type": "object", "additionalProperties": INT}}}
    errors = rule_errors(within(ruled(spec, {"rule": "has(self.a)", "fieldPath": path})), "schema")
    assert [error.detail for error in errors] == ([] if right else ["must be a valid path"])


def test_a_default_must_keep_the_rules_of_its_place() -> None:
    schema = within({"type": "object", "properties": {"a": ruled(INT | {"default": 1}, "self > 1")}})
    (error,) = default_errors(schema, "schema", root=True)
    assert str(error) == "schema.properties[spec].properties[a].default: Invalid value: 1: failed rule: self > 1"


def test_a_rule_on_what_has_no_type_is_an_error() -> None:
    (error,) = rule_errors(within(ruled({"x-kubernetes-preserve-unknown-fields": True}, "self == 1")), "schema")
    assert "unable to convert structural schema to CEL declarations" in error.detail


def test_names_that_are_no_identifiers_are_escaped() -> None:
    names = ["my-name", "a.b", "in", "a__b", "x/y", "namespace"]
    spec = {"type": "object", "properties": dict.fromkeys(names, INT)}
    rules = [f"self.{name} < 5" for name in ("my__dash__name", "a__dot__b", "__in__", "a__underscores__b")]
    rules += ["self.x__slash__y < 5", "self.__namespace__ < 5"]
    schema = within(ruled(spec, *rules))
    assert not rule_errors(schema, "schema")
    errors, _ = RuleValidator(schema).validate({"spec": dict.fromkeys(names, 7)})
    assert [error.detail for error in errors] == [f"failed rule: {rule}" for rule in rules]


def test_evaluation_stops_when_the_budget_is_spent() -> None:
    schema = within(ruled({"type": "array", "items": INT, "maxItems": 99}, "self.all(x, x > 0)", "self.size() < 9"))
    errors, _ = RuleValidator(schema).validate({"spec": list(range(1, 90))}, limit=100)
    assert [error.detail for error in errors] == [
        "validation failed due to running out of cost budget, no further validation rules will be run"
    ]


def test_one_evaluation_costs_no_more_than_on_a_server() -> None:
    rule = "self.all(x, self.all(y, x + y > 0))"
    schema = within(ruled({"type": "array", "items": INT, "maxItems": 99}, rule))
    errors, _ = RuleValidator(schema).validate({"spec": [1] * 450})
    assert [error.detail for error in errors] == [
        "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost "
        f"exceeds limit for rule: {rule}"
    ]


def test_rules_together_may_cost_more_than_one_may_cost() -> None:
    schema = within(
        ruled({"type": "array", "items": INT, "maxItems": 99}, *["self.all(x, self.all(y, x + y > 0))"] * 3)
    )
    assert RuleValidator(schema).validate({"spec": [1] * 300}) == ([], [])


def test_a_long_constant_compiles() -> None:
    text = "a" * 20_000
    schema = within(
        ruled(TEXT | {"maxLength": 9}, f"bytes('{text}').size() == 20000", f"bytes(self) != bytes('{text}')")
    )
    assert not rule_errors(schema, "schema")
    assert RuleValidator(schema).validate({"spec": "a"}) == ([], [])


def test_an_embedded_object_shows_its_kind_and_name_only() -> None:
    pod = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    schema = within(ruled(pod, "self.kind == 'Pod' && self.metadata.name == 'a'"))
    assert not rule_errors(schema, "schema")
    (error,) = rule_errors(within(ruled(pod, "self.metadata.labels == {}")), "schema")
    assert "undefined field 'labels'" in error.detail


def test_what_is_null_is_not_judged() -> None:
    schema = within(ruled(TEXT | {"nullable": True}, "self == 'x'"))
    assert RuleValidator(schema).validate({"spec": None}) == ([], [])
