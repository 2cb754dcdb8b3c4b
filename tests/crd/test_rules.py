"""Rules of classes: what an API server would refuse is refused where the class is defined, with its place."""

from __future__ import annotations

from typing import Annotated, ClassVar

import pytest

from setpoint.crd import CustomResource, DefinitionError, Field, ValidationRule, crd_for, immutable, schema_of
from setpoint.meta import Model


def define(spec: type[Model]) -> type[CustomResource]:
    """A kind with this spec."""
    result = type(CustomResource)(
        "Bad", (CustomResource,), {"__annotations__": {"spec": spec}}, group="example.com", version="v1"
    )
    assert issubclass(result, CustomResource)
    return result


class Limits(Model, rules=["self.low <= self.high"]):
    low: int = 0
    high: int = 9


class Named(Model):
    name: Annotated[str, Field(max_length=9, rules=[immutable()])]
    limits: Limits


class Item(Model, rules=["self.size() > 0"]):
    name: str = ""


class Items(Model):
    items: list[Item] = []


class Small(Model):
    a: Annotated[int, Field(rules=[ValidationRule(rule="self < 3", message="too big")])] = 3


class Words(Model):
    a: Annotated[
        list[Annotated[str, Field(max_length=900)]],
        Field(max_length=1000, rules=["self.all(x, self.all(y, x != y))"]),
    ]


def test_good_rules_are_taken() -> None:
    fine = define(Named)
    schema = schema_of(fine)["properties"]["spec"]["properties"]
    assert schema["name"]["x-kubernetes-validations"] == [{"rule": "self == oldSelf", "message": "is immutable"}]
    assert crd_for(fine)["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == schema_of(fine)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (["self.a > 0", "self.nope > 0"], "Bad.spec: rule 2 of 2 ('self.nope > 0'): at 1:5: undefined field 'nope'"),
        (["self.a"], "Bad.spec: rule 1 of 1 ('self.a'): cel expression must evaluate to a bool"),
        (["self.a >"], "Bad.spec: rule 1 of 1 ('self.a >'): at 1:9: Syntax error: mismatched input '<EOF>'"),
        (["self.a == 'x'"], "at 1:8: found no matching overload for '_==_' applied to '(int, string)'"),
        (
            [ValidationRule(rule="self.a > 0", message_expression="self.a")],
            "Bad.spec: rule 1 of 1, messageExpression ('self.a'): messageExpression must evaluate to a string",
        ),
        (
            [ValidationRule(rule="self.a > 0", field_path=".b")],
            "Bad.spec: rule 1 of 1, fieldPath ('.b'): must be a valid path",
        ),
        (
            ["self.words.all(x, self.words.all(y, x == y))"],
            "Bad.spec: rule 1 of 1 ('self.words.all(x, self.words.all(y, x == y))'): estimated rule cost exceeds "
            "budget by factor of more than 100x (try simplifying the rule, or adding maxItems",
        ),
    ],
)
def test_a_bad_rule_names_class_field_and_position(rules: list[str | ValidationRule], message: str) -> None:
    class Spec(Model):
        __rules__: ClassVar = tuple(rules)

        a: int
        words: list[str] = []

    with pytest.raises(DefinitionError) as caught:
        define(Spec)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_rule_on_an_item_names_its_place() -> None:
    text = r"Bad.spec.items.\[\]: rule 1 of 1 \('self.size\(\) > 0'\): at 1:10: found no matching overload for 'size'"
    with pytest.raises(DefinitionError, match=text):
        define(Items)


def test_a_default_that_breaks_a_rule_is_an_error() -> None:
    with pytest.raises(DefinitionError, match="its default breaks its own schema: default: Invalid value: 3: too big"):
        define(Small)


def test_a_rule_that_is_too_expensive_is_an_error_of_the_class() -> None:
    with pytest.raises(DefinitionError, match="estimated rule cost exceeds budget by factor of"):
        define(Words)
