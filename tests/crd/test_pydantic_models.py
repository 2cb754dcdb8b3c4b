"""A class made of pydantic models is right in schema, reading and writing, or is refused by name when it is defined."""

from __future__ import annotations

import enum
import math
import uuid
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, TypeVar

import pytest
from pydantic import (
    AliasChoices,
    AnyUrl,
    Base64Bytes,
    Base64Str,
    BaseModel,
    ConfigDict,
    Field,
    Json,
    PlainSerializer,
    PrivateAttr,
    RootModel,
    SecretStr,
    StrictInt,
    computed_field,
    field_serializer,
    field_validator,
    model_serializer,
)
from pydantic.alias_generators import to_camel
from pydantic.dataclasses import dataclass

import setpoint as sp
from setpoint.crd import DefinitionError, crd_for
from setpoint.meta import from_wire, to_wire
from setpoint.schema import structural, validate

T = TypeVar("T")


class Color(enum.Enum):
    RED = "red"


class Inner(BaseModel):
    a_b: int = 0


class Box(BaseModel, Generic[T]):
    item: T


class Scalars(BaseModel):
    pod_cidr: str
    at: datetime
    on: date
    key: uuid.UUID
    raw: bytes
    raws: list[bytes] = []
    raw_map: dict[str, bytes] = {}
    color: Color = Color.RED
    mode: Literal["a", "b"] = "a"
    names: frozenset[str] = frozenset()
    ratio: float = Field(1.5, gt=0)
    size: StrictInt = 1
    _private: int = PrivateAttr(3)


class Nested(BaseModel):
    one: Inner = Inner()
    some: list[Inner] = []
    by_name: dict[str, Inner] = {}
    maybe: Inner | None = None
    number: Box[int]
    boxed: Box[Inner]


class Forbidding(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: int


class Generated(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)
    pod_cidr: str


class Validated(BaseModel):
    name: str

    @field_validator("name")
    @classmethod
    def lower(cls, name: str) -> str:
        return name.lower()


class Alias(BaseModel):
    cidr: str = Field(alias="podCIDR")


class ReadAlias(BaseModel):
    cidr: str = Field(validation_alias="podCIDR")


class WrittenAlias(BaseModel):
    cidr: str = Field(serialization_alias="podCIDR")


class OwnTypes(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    every: sp.Duration
    memory: sp.Quantity


def resource(model: Any) -> type[sp.CustomResource]:
    members = {"__annotations__": {"spec": model}, "__module__": __name__}
    result: type[sp.CustomResource] = type(sp.CustomResource)(
        "Thing", (sp.CustomResource,), members, group="example.com", version="v1"
    )
    return result


@pytest.mark.parametrize(
    ("model", "wire"),
    [
        (
            Scalars,
            {
                "podCidr": "x",
                "at": "2026-01-31T12:00:00Z",
                "on": "2026-01-31",
                "key": "123e4567-e89b-12d3-a456-426614174000",
                "raw": "YQ==",
                "raws": ["YWI="],
                "rawMap": {"k": "YWJj"},
                "color": "red",
                "mode": "b",
                "names": ["x"],
                "ratio": 2.5,
                "size": 7,
            },
        ),
        (
            Nested,
            {
                "one": {"aB": 1},
                "some": [{"aB": 2}],
                "byName": {"k": {"aB": 3}},
                "maybe": {"aB": 4},
                "number": {"item": 5},
                "boxed": {"item": {"aB": 6}},
            },
        ),
        (Forbidding, {"a": 1}),
        (Generated, {"podCidr": "x"}),
        (Validated, {"name": "x"}),
        (Alias, {"podCIDR": "x"}),
        (ReadAlias, {"podCIDR": "x"}),
        (WrittenAlias, {"podCIDR": "x"}),
        (OwnTypes, {"every": "1h30m0s", "memory": "1Gi"}),
    ],
)
def test_the_schema_and_the_class_agree(model: Any, wire: dict[str, Any]) -> None:
    kind = resource(model)
    schema = crd_for(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert set(wire) == set(schema["properties"])
    assert validate(structural.load(schema), wire) == []
    thing = from_wire(kind, {"metadata": {"name": "a"}, "spec": wire})
    assert to_wire(thing)["spec"] == wire


def test_bytes_are_those_that_the_base64_stands_for() -> None:
    wire = {"metadata": {}, "spec": {"podCidr": "", "at": "2026-01-31T12:00:00Z", "on": "2026-01-31"}}
    wire["spec"] |= {"key": "123e4567-e89b-12d3-a456-426614174000", "raw": "YQ==", "raws": ["YWI="]}
    spec = from_wire(resource(Scalars), wire).spec  # type: ignore[attr-defined]
    assert (spec.raw, spec.raws) == (b"a", [b"ab"])


class Root(BaseModel):
    tags: RootModel[list[str]]


class Allowing(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int


class TwoAliases(BaseModel):
    cidr: str = Field(validation_alias="a", serialization_alias="b")


class Choices(BaseModel):
    cidr: str = Field(validation_alias=AliasChoices("a", "b"))


class Computed(BaseModel):
    a: int = 1

    @computed_field  # type: ignore[prop-decorator]
    @property
    def twice(self) -> int:
        return 2 * self.a


class FieldSerialized(BaseModel):
    a: int = 1

    @field_serializer("a")
    def text(self, value: int) -> str:
        return str(value)


class ModelSerialized(BaseModel):
    a: int = 1

    @model_serializer
    def whole(self) -> dict[str, int]:
        return {"b": 1}


class Serialized(BaseModel):
    a: Annotated[int, PlainSerializer(str)] = 1


class SerializedItems(BaseModel):
    a: dict[str, list[Annotated[int, PlainSerializer(str)]]] = {}


class EncodedBytes(BaseModel):
    a: Base64Bytes


class EncodedTexts(BaseModel):
    a: list[Base64Str] | None = None


class Parsed(BaseModel):
    a: Json[list[int]]


class Moment(BaseModel):
    at: datetime = Field(ge=datetime(2020, 1, 1, tzinfo=UTC))


class Changing(BaseModel):
    key: uuid.UUID = Field(default_factory=uuid.uuid4)


class Excluded(BaseModel):
    a: int = Field(1, exclude=True)


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    at: datetime


class StrictField(BaseModel):
    color: Color = Field(strict=True)


class First(BaseModel):
    kind: Literal["a"]


class Second(BaseModel):
    kind: Literal["b"]


class Discriminated(BaseModel):
    either: First | Second = Field(discriminator="kind")


class Amount(BaseModel):
    amount: Decimal


class Secret(BaseModel):
    secret: SecretStr


class Url(BaseModel):
    url: AnyUrl


class Span(BaseModel):
    span: timedelta


class Open(BaseModel):
    box: Box  # type: ignore[type-arg]


class Pair(BaseModel):
    pair: tuple[int, str]


class Infinite(BaseModel):
    ratio: float = math.inf


class InfiniteInside(BaseModel):
    ratios: dict[str, list[float]] = {"a": [1.0, math.nan]}


class InfiniteBound(BaseModel):
    ratio: float = Field(1.0, le=math.inf)


@dataclass
class Data:
    pod_cidr: str = Field(alias="podCIDR")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Root, r"Thing\.spec\.tags: RootModel.* is a RootModel"),
        (Allowing, 'Thing.spec: Allowing has extra="allow"'),
        (TwoAliases, "Thing.spec: TwoAliases.cidr: an object's field has one name on the wire"),
        (Choices, "Thing.spec: Choices.cidr: an object's field has one name on the wire"),
        (Computed, "Thing.spec: Computed has the computed field twice"),
        (FieldSerialized, "Thing.spec: FieldSerialized has a serializer"),
        (ModelSerialized, "Thing.spec: ModelSerialized has a serializer"),
        (Serialized, "Thing.spec: Serialized.a has the encoder PlainSerializer"),
        (SerializedItems, "Thing.spec: SerializedItems.a has the encoder PlainSerializer"),
        (EncodedBytes, "Thing.spec: EncodedBytes.a has the encoder EncodedBytes"),
        (EncodedTexts, "Thing.spec: EncodedTexts.a has the encoder EncodedStr"),
        (Parsed, "Thing.spec: Parsed.a has the encoder Json"),
        (Moment, "Thing.spec.at: `ge` must be an int or float"),
        (Changing, "Thing.spec.key: its default differs from object to object"),
        (Excluded, "Thing.spec: Excluded.a has exclude=True"),
        (Strict, "Thing.spec: Strict.at is strict"),
        (StrictField, "Thing.spec: StrictField.color is strict"),
        (Discriminated, r"Thing\.spec\.either: a union of First \| Second"),
        (Amount, "Thing.spec.amount: Decimal has no JSON form"),
        (Secret, r"Thing\.spec\.secret: .*SecretStr"),
        (Url, r"Thing\.spec\.url: .*AnyUrl"),
        (Span, "Thing.spec.span: timedelta has no JSON form"),
        (Open, "Thing.spec.box.item: ~T has no structural schema"),
        (Pair, "Thing.spec.pair: a list must have one item type"),
        (Infinite, "Thing.spec.ratio: its default contains inf"),
        (InfiniteInside, "Thing.spec.ratios: its default contains nan"),
        (InfiniteBound, "Thing.spec.ratio: .*inf"),
        (Data, "Thing.spec: Data is a dataclass of pydantic"),
    ],
)
def test_a_model_that_is_not_its_json_is_refused_by_name(model: Any, words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        resource(model)


def test_infinite_numbers_of_other_classes_are_refused_by_name_too() -> None:
    class Spec(sp.Model):
        ratio: float = -math.inf

    with pytest.raises(DefinitionError, match=r"Thing\.spec\.ratio: its default contains -inf"):
        resource(Spec)


class ByName(BaseModel):
    model_config = ConfigDict(validate_by_name=True, validate_by_alias=False)
    pod_cidr: str = Field("", alias="podCIDR")


def test_a_model_that_is_validated_by_name_is_read_by_its_alias() -> None:
    kind = resource(ByName)
    assert to_wire(from_wire(kind, {"spec": {"podCIDR": "x"}}))["spec"] == {"podCIDR": "x"}


class Chosen(BaseModel):
    colors: set[str] = {"red", "green", "blue"}


def test_a_set_is_written_in_the_same_order_by_every_process() -> None:
    schema = crd_for(resource(Chosen))["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert schema["properties"]["spec"]["properties"]["colors"]["default"] == ["blue", "green", "red"]
