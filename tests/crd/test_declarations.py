"""Everything a structural schema can say has its words in a class, and a bad declaration is refused where it stands."""

from __future__ import annotations

import json
import math
import uuid
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, NewType, TypeVar, cast

import msgspec
import pydantic
import pytest
import yaml

from setpoint.crd import (
    Column,
    ConditionedStatus,
    CustomResource,
    DefinitionError,
    Field,
    ScaleSubresource,
    ValidationRule,
    at_least_one_of,
    at_most_one_of,
    crd_for,
    exactly_one_of,
    immutable,
    schema_of,
    schema_of_type,
)
from setpoint.crd.declared_paths import column_type
from setpoint.crd.schema_keywords import apply
from setpoint.meta import Condition, LabelSelector, Model, Object, ObjectMeta, Quantity, decode
from setpoint.models.batch_v1 import JobTemplateSpec
from setpoint.models.core_v1 import PersistentVolumeClaim, PodTemplateSpec, ResourceRequirements
from setpoint.schema import structural

T = TypeVar("T")
Port = NewType("Port", int)


class Reference(Model, Generic[T]):
    name: str
    value: T


class Described(Model):
    """All of it."""

    size: int = 1
    """The size.

    In litres."""
    color: Annotated[str, Field(description="which color")] = "red"
    """Overridden."""
    nothing: int = 0


class Base(Model, rules=("self.a > 0",)):
    a: int = 1


class Derived(Base, rules=[ValidationRule(rule="self.b > self.a", field_path=".b", reason="FieldValueForbidden")]):
    b: int = 2


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (
            Annotated[int, Field(gt=0, lt=9, multiple_of=2)],
            {
                "type": "integer",
                "format": "int64",
                "minimum": 0,
                "exclusiveMinimum": True,
                "maximum": 9,
                "exclusiveMaximum": True,
                "multipleOf": 2,
            },
        ),
        (Annotated[int, Field(format="int32")], {"type": "integer", "format": "int32"}),
        (Annotated[Annotated[int, Field(gt=5)], Field(ge=1)], {"type": "integer", "format": "int64", "minimum": 1}),
        (
            Annotated[str, Field(format="ipv4", title="IP", examples=["1.2.3.4"])],
            {"type": "string", "format": "ipv4", "title": "IP", "example": "1.2.3.4"},
        ),
        (
            Annotated[dict[str, int], Field(min_length=1, max_properties=3)],
            {
                "type": "object",
                "additionalProperties": {"type": "integer", "format": "int64"},
                "minProperties": 1,
                "maxProperties": 3,
            },
        ),
        (
            Annotated[dict[str, str], Field(map_type="atomic")],
            {"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-map-type": "atomic"},
        ),
        (
            Annotated[list[str], Field(list_type="atomic")],
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"},
        ),
        (Annotated[str | None, Field(nullable=True)], {"type": "string", "nullable": True}),
        (
            Annotated[Literal["a", "b"] | None, Field(nullable=True)],
            {"type": "string", "enum": ["a", "b", None], "nullable": True},
        ),
        (list[str | None], {"type": "array", "items": {"type": "string", "nullable": True}}),
        (list[Annotated[str, Field(pattern="^a")]], {"type": "array", "items": {"type": "string", "pattern": "^a"}}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer", "format": "int64"}}),
        (int | float, {"type": "number"}),
        (date, {"type": "string", "format": "date"}),
        (uuid.UUID, {"type": "string", "format": "uuid"}),
        (Port, {"type": "integer", "format": "int64"}),
        (
            Reference[int],
            {
                "type": "object",
                "properties": {"name": {"type": "string"}, "value": {"type": "integer", "format": "int64"}},
                "required": ["name", "value"],
            },
        ),
        (
            Object,
            {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        ),
        (
            Annotated[Base, Field(preserve_unknown_fields=True)],
            {
                "type": "object",
                "properties": {"a": {"type": "integer", "format": "int64", "default": 1}},
                "x-kubernetes-validations": [{"rule": "self.a > 0"}],
                "x-kubernetes-preserve-unknown-fields": True,
            },
        ),
        (
            Annotated[str, Field(rules=[immutable()])],
            {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "is immutable"}]},
        ),
        (
            Annotated[str, Field(extra_schema={"externalDocs": {"url": "https://example.com"}})],
            {"type": "string", "externalDocs": {"url": "https://example.com"}},
        ),
    ],
)
def test_every_word_has_its_keyword(annotation: Any, schema: dict[str, Any]) -> None:
    assert schema_of_type(annotation) == schema


def test_descriptions_come_from_docstrings_of_classes_and_fields() -> None:
    schema = schema_of_type(Described)
    assert schema["description"] == "All of it."
    assert schema["properties"]["size"]["description"] == "The size.\n\nIn litres."
    assert schema["properties"]["color"]["description"] == "which color"
    assert "description" not in schema["properties"]["nothing"]


def test_rules_are_inherited_with_the_fields_they_speak_of() -> None:
    assert schema_of_type(Derived)["x-kubernetes-validations"] == [
        {"rule": "self.a > 0"},
        {"rule": "self.b > self.a", "reason": "FieldValueForbidden", "fieldPath": ".b"},
    ]


def test_one_of_several_fields_is_a_rule() -> None:
    assert exactly_one_of("a", "in") == ValidationRule(
        rule="[has(self.a), has(self.__in__)].filter(set, set).size() == 1", message="exactly one of a, in must be set"
    )
    assert at_most_one_of("a", "b").rule.endswith("<= 1")
    assert at_least_one_of("a", "b").rule.endswith(">= 1")


@pytest.mark.parametrize("kind", [PodTemplateSpec, JobTemplateSpec, PersistentVolumeClaim, ResourceRequirements])
def test_built_in_types_are_structural_and_small(kind: type) -> None:
    schema = schema_of_type(kind)
    assert structural.check({"type": "object", "properties": {"value": schema}}) == []
    assert len(json.dumps(schema, separators=(",", ":"))) < 90_000


def test_a_pod_template_keeps_its_merge_keys_and_says_what_an_image_is() -> None:
    template = schema_of_type(PodTemplateSpec)["properties"]
    containers = template["spec"]["properties"]["containers"]
    assert containers["x-kubernetes-list-map-keys"] == ["name"]
    assert containers["items"]["properties"]["image"]["description"] == "Container image name."
    assert set(template["metadata"]["properties"]) == {"annotations", "finalizers", "labels", "name", "namespace"}
    limits = containers["items"]["properties"]["resources"]["properties"]["limits"]
    assert limits["additionalProperties"] == schema_of_type(Quantity)


def test_an_object_inside_an_object_keeps_its_metadata_and_its_schema() -> None:
    schema = schema_of_type(PersistentVolumeClaim)
    assert schema["x-kubernetes-embedded-resource"] is True
    assert set(schema["properties"]) == {"spec"}
    assert schema_of_type(ObjectMeta)["properties"].keys() == {
        "annotations",
        "finalizers",
        "labels",
        "name",
        "namespace",
    }


def test_a_definition_has_nothing_twice_that_yaml_would_write_as_a_reference() -> None:
    class Gadget(CustomResource, group="example.com", version="v1"):
        spec: PodTemplateSpec
        memory: Quantity | None = None

    assert "&id001" not in yaml.safe_dump(crd_for(Gadget))


def test_labels_and_annotations_of_the_definition() -> None:
    class Gadget(CustomResource, group="example.com", version="v1", labels={"a": "b"}, annotations={"c": "d"}):
        spec: Any = None

    assert crd_for(Gadget)["metadata"] == {
        "name": "gadgets.example.com",
        "labels": {"a": "b"},
        "annotations": {"c": "d"},
    }


class Small(Model):
    size: Annotated[int, Field(ge=1)] = 0


class Nested(Model):
    small: Annotated[Derived, Field(rules=["self.a < 5"])] = Derived(a=-1)


class Unset(Model):
    value: str | None


class Keys(Model):
    by_name: dict[Annotated[str, Field(pattern="^a")], int] = {}


class Bounded(Model):
    value: Annotated[int, Field(ge=1)] | str = 1


class Sets(Model):
    value: set[tuple[str, ...]] = set()
    others: Annotated[list[Base], Field(list_type="set")] = []


class Patterned(Model):
    value: Annotated[str, Field(extra_schema={"pattern": "(?=a)"})] = ""


class ForMsgspec(Model):
    value: Annotated[str, msgspec.Meta(pattern="^(a+)+$")] = ""


class Tagged(Model, tag=True):
    value: int = 1


@dataclass
class Thawed:
    value: int = 1


@dataclass(frozen=True)
class Frozen:
    value: int = 1
    values: tuple[int, ...] = ()


@dataclass
class Both:
    from_: int = 1
    from__: int = 1


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Small, r"Small\.size: its default breaks its own schema: default: Invalid value: 0: should .*; change"),
        (Unset, r"Unset\.value: it is required and may be None, but None is left out on the wire"),
        (Keys, r"Keys\.byName: the keys of a map are plain strings, not .*; restrict them in a rule"),
        (Bounded, r"Bounded\.value: an int-or-string has no bounds of its own"),
        (Sets, r"Sets\.value\.others\.\[\]\.x-kubernetes-map-type: an API server would refuse this: .*must be atomic"),
        (Patterned, r"Patterned\.value: .*error parsing regexp"),
        (ForMsgspec, r"ForMsgspec\.value: .*Python's engine .* use setpoint's Field\(pattern=\.\.\.\)"),
        (Tagged, r"Tagged\.\(itself\): Tagged has tag= or array_like="),
        (Both, r"Both\.from: two fields of Both have this name on the wire"),
        (list, r"a list must have one item type"),
        (timedelta, r"timedelta has no JSON form that API servers accept; use Duration, "),
        (Decimal, r"use Quantity"),
        (set[Any], r"a set of Python can't hold Any, which is not hashable; use list\[\.\.\.\] with Field\(list_type"),
        (set[list[int]], r"can't hold list"),
        (dict[str, frozenset[msgspec.Raw]], r"\*: a set of Python can't hold Raw"),
        (set[Annotated[Thawed, Field(map_type="atomic")]], r"can't hold Thawed"),
        (Literal["a", 1], r"an enum must hold only strings or only integers"),
    ],
)
def test_what_can_not_be_names_class_field_and_what_to_do(kind: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        schema_of_type(kind)


def test_a_set_holds_what_python_can_hash() -> None:
    for item in (int, Quantity, tuple[str, ...], Annotated[Frozen, Field(map_type="atomic")]):
        assert schema_of_type(set[item])["x-kubernetes-list-type"] == "set"  # type: ignore[valid-type]


class Slow(Model):
    value: Annotated[str, Field(pattern="^(a+)+$", max_length=50)] = "a"


def test_what_comes_in_is_never_matched_by_an_engine_that_backtracks() -> None:
    """With Python's engine this would not return."""
    text = "a" * 49 + "!"
    assert schema_of_type(Slow)["properties"]["value"]["pattern"] == "^(a+)+$"
    assert decode(Slow, msgspec.json.encode({"value": text})).value == text


class Spec(Model):
    replicas: int = 1
    color: str = "red"
    many: list[str] = []


class State(Model):
    ready: int = 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"columns": [Column("Ready", ".status.redy")]}, r"Bad: column 'Ready' shows \.status\.redy, which the class"),
        ({"columns": [Column("Ready", "status.ready")]}, r"json_path='status\.ready' must start with a dot"),
        (
            {"scale": ScaleSubresource(spec_replicas=".spec.size", status_replicas=".status.ready")},
            r"spec_replicas='\.spec\.size' names a field",
        ),
        (
            {"scale": ScaleSubresource(spec_replicas=".spec.color", status_replicas=".status.ready")},
            r"must name a field of type integer",
        ),
        (
            {"scale": ScaleSubresource(spec_replicas=".spec.replicas", status_replicas=".spec.replicas")},
            r"below status",
        ),
        ({"selectable_fields": [".spec.many"]}, r"must be a string, an integer or a boolean"),
        ({"selectable_fields": [".spec.colour"]}, r"names '\.spec\.colour', which the class does not have"),
        ({"selectable_fields": [f".spec.x{i}" for i in range(9)]}, r"has 9 fields, and API servers take 8"),
        ({"rules": "self.spec.replicas > 0"}, r"rules= must be a sequence"),
    ],
)
def test_a_declaration_points_at_fields_that_are_there(words: dict[str, Any], message: str) -> None:
    annotations = {"__annotations__": {"spec": Spec, "status": State}}
    with pytest.raises(TypeError, match=message):
        type(CustomResource)("Bad", (CustomResource,), annotations, group="example.com", version="v1", **words)


def test_a_bad_field_is_an_error_where_the_class_is_defined() -> None:
    with pytest.raises(DefinitionError, match=r"Bad\.spec\.size: its default breaks its own schema"):
        type(CustomResource)(
            "Bad", (CustomResource,), {"__annotations__": {"spec": Small}}, group="example.com", version="v1"
        )


def half(kind: str) -> dict[str, Any]:
    result: dict[str, Any] = {
        "default": {"size": str, "default": "a\ud800"},
        "enum": {"size": Literal["a\ud800"]},
        "description": {"size": Annotated[str, Field(description="a\ud800")]},
        "inside": {"size": dict[str, list[Literal["a\ud800"]]]},
    }
    return result[kind]


@pytest.mark.parametrize("kind", ["default", "enum", "description", "inside"])
def test_text_that_is_not_unicode_is_an_error_where_the_class_is_defined(kind: str) -> None:
    words = half(kind)
    body = {"__annotations__": {"size": words["size"]}}
    if "default" in words:
        body["size"] = words["default"]
    inner = type(Model)("Inner", (Model,), body)
    with pytest.raises(DefinitionError, match=r"Bad\.spec\.size.*half of a surrogate pair"):
        type(CustomResource)(
            "Bad", (CustomResource,), {"__annotations__": {"spec": inner}}, group="example.com", version="v1"
        )


def test_text_of_a_declaration_that_is_not_unicode_is_told_when_the_definition_is_made() -> None:
    class Deprecated(CustomResource, group="example.com", version="v1", deprecated="gone\ud800"):
        spec: Spec

    with pytest.raises(DefinitionError, match="half of a surrogate pair"):
        crd_for(Deprecated)


class Incomplete(pydantic.BaseModel):
    size: Absent  # type: ignore[name-defined]  # noqa: F821


def test_a_type_that_comes_later_is_looked_at_when_the_definition_is_made() -> None:
    class Late(CustomResource, group="example.com", version="v1"):
        spec: Missing  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(DefinitionError, match=r"can't be found at run time.*import it outside TYPE_CHECKING"):
        schema_of(Late)

    class Early(CustomResource, group="example.com", version="v1"):
        spec: Incomplete

    with pytest.raises(DefinitionError, match=r"run time \(name 'Absent' is not defined\); import"):
        schema_of(Early)


def test_a_bound_that_its_type_can_not_have_is_found_before_the_first_object() -> None:
    class Strange(CustomResource, group="example.com", version="v1"):
        spec: Annotated[str, Field(ge=1)] = "a"

    with pytest.raises(DefinitionError, match="Strange"):
        crd_for(Strange)


@pytest.mark.parametrize(
    ("base", "words", "says"),
    [
        (
            CustomResource,
            {"group": "a.b", "verison": "v1"},
            "class X: there is no class keyword verison=; did you mean version=",
        ),
        (CustomResource, {"gruop": "a.b"}, "class X: there is no class keyword gruop=; did you mean group="),
        (Model, {"rulez": ()}, "class X: there is no class keyword rulez=; did you mean rules="),
        (Model, {"qqq": 1}, "class X: there is no class keyword qqq="),
    ],
)
def test_a_misspelt_class_keyword_is_named(base: Any, words: dict[str, Any], says: str) -> None:
    with pytest.raises(TypeError, match=says):
        type(base)("X", (base,), {"__annotations__": {}}, **words)


class SelectedSpec(Model):
    selector: LabelSelector
    observed: Condition | None = None


class Selected(CustomResource, group="grp.example.com", version="v1"):
    """Selects something."""

    spec: SelectedSpec
    status: ConditionedStatus = ConditionedStatus()


def test_descriptions_are_the_users_own_words_or_the_apis() -> None:
    schema = schema_of(Selected)
    assert schema["description"] == "Selects something."
    assert "description" not in schema["properties"]["status"]
    condition = schema["properties"]["status"]["properties"]["conditions"]["items"]
    assert condition["description"] == (
        "Condition contains details for one aspect of the current state of this API Resource."
    )
    assert condition["required"] == ["status", "type"]
    assert schema["properties"]["spec"]["properties"]["observed"] == condition
    selector = schema["properties"]["spec"]["properties"]["selector"]
    assert selector["description"] == "A label selector is a label query over a set of resources."
    assert selector["x-kubernetes-map-type"] == "atomic"
    assert "``" not in json.dumps(schema), "that is how our docstrings are written"


def test_a_schema_is_unchanged_by_keywords_that_are_refused() -> None:
    schema = {"type": "string", "maxLength": 5}
    with pytest.raises(ValueError, match="unsupported Perl syntax"):
        apply(schema, [msgspec.Meta(max_length=9), Field(pattern="^(?=a)")])
    assert schema == {"type": "string", "maxLength": 5}


class Part(Model):
    weight: float = 0.0
    seen: datetime | None = None


class CrateSpec(Model):
    count: int = 0
    sealed: bool = False
    size: Quantity = Quantity("1")
    parts: list[Part] = []
    labels: dict[str, int] = {}


class Crate(CustomResource, group="test.example.com", version="v1"):
    spec: CrateSpec = CrateSpec()
    status: ConditionedStatus = ConditionedStatus()


@pytest.mark.parametrize(
    ("path", "type"),
    [
        (".spec.count", "integer"),
        (".spec.sealed", "boolean"),
        (".spec.size", "string"),
        (".spec.parts", "string"),
        (".spec.parts[0].weight", "number"),
        (".spec.parts[*].seen", "date"),
        (".spec.labels.colour", "integer"),
        (".status.observedGeneration", "integer"),
        ('.status.conditions[?(@.type=="Ready")].status', "string"),
        ('.status.conditions[?(@.type=="Ready")].lastTransitionTime', "date"),
        (".metadata.creationTimestamp", "date"),
        (".metadata.name", "string"),
        ("..count", "string"),
    ],
)
def test_a_column_has_the_type_of_its_field(path: str, type: str) -> None:
    assert column_type(schema_of(Crate), path) == type


def test_the_type_of_a_column_is_inferred_unless_it_is_given() -> None:
    class Box(
        Crate,
        group="test.example.com",
        version="v1",
        columns=[
            Column("Count", ".spec.count"),
            Column("As text", ".spec.count", type="string"),
            Column("Size", ".spec.size"),
        ],
    ): ...

    columns = crd_for(Box)["spec"]["versions"][0]["additionalPrinterColumns"]
    assert [column["type"] for column in columns] == ["integer", "string", "string"]


@pytest.mark.parametrize(
    ("constraints", "problem"),
    [
        ({"ge": math.nan}, "its ge is nan"),
        ({"lt": -math.inf}, "its lt is -inf"),
        ({"multiple_of": math.inf}, "its multiple_of is inf"),
        ({"default": math.nan}, "its default contains nan"),
        ({"examples": [math.inf]}, "its example contains inf"),
        ({"extra_schema": {"enum": [1, math.nan]}}, "its enum contains nan"),
    ],
)
def test_numbers_that_are_not_in_json_are_refused_by_class_and_field(constraints: Any, problem: str) -> None:
    spec = type(Model)(
        "Spec", (Model,), {"__annotations__": {"ratio": Annotated[float | None, Field(**constraints)]}, "ratio": None}
    )
    with pytest.raises(DefinitionError, match=rf"^Odd\.spec\.ratio: {problem}, which JSON can't represent"):
        crd_for(
            type(CustomResource)(
                "Odd", (CustomResource,), {"__annotations__": {"spec": spec}}, group="example.com", version="v1"
            )
        )


@pytest.mark.parametrize(
    ("annotation", "default", "odd"),
    [
        (float, math.nan, "nan"),
        (float | None, -math.inf, "-inf"),
        (list[float], [1.0, math.inf], "inf"),
        (dict[str, float], {"a": math.nan}, "nan"),
    ],
    ids=str,
)
def test_a_default_that_is_not_in_json_is_refused_by_class_and_field(annotation: Any, default: Any, odd: str) -> None:
    spec = type(Model)("Spec", (Model,), {"__annotations__": {"ratio": annotation}, "ratio": default})
    with pytest.raises(DefinitionError, match=rf"^Odd\.spec\.ratio: its default contains {odd}, which JSON can't rep"):
        crd_for(
            type(CustomResource)(
                "Odd", (CustomResource,), {"__annotations__": {"spec": spec}}, group="example.com", version="v1"
            )
        )


@pytest.mark.parametrize(
    ("keyword", "name"),
    [("maximum", "le"), ("exclusiveMinimum", "gt"), ("maxLength", "max_length"), ("patern", "pattern")],
)
def test_a_wrong_keyword_of_a_field_names_the_right_one(keyword: str, name: str) -> None:
    with pytest.raises(TypeError, match=f"Field has no keyword {keyword}=; did you mean {name}="):
        cast("Any", Field)(**{keyword: 1})
