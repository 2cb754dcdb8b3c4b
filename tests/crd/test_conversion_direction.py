"""Dataclasses and pydantic models as specs give the CRD that a Model gives, and their instances come and go."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import pydantic
import pytest

from setpoint.crd import CustomResource, DefinitionError, Field, ValidationRule, crd_for, schema_of_type
from setpoint.meta import DecodeError, Model, Quantity, decode, encode, to_wire
from setpoint.models.core_v1 import Container, PodSpec, PodTemplateSpec


class Mode(enum.Enum):
    FAST = "Fast"
    SAFE = "Safe"


class InnerModel(Model):
    """Inside."""

    host_name: Annotated[str, Field(min_length=1)]


class SpecModel(Model, rules=(ValidationRule(rule="self.minPods <= self.maxPods", message="min above max"),)):
    """The desired state."""

    min_pods: Annotated[int, Field(ge=0, description="at least")] = 1
    max_pods: Annotated[int, Field(ge=0, le=100)] = 10
    hosts: Annotated[list[InnerModel], Field(list_map_keys=("hostName",), max_length=5)] = []
    mode: Mode = Mode.SAFE
    memory: Quantity | None = None
    template: PodTemplateSpec | None = None
    labels: dict[str, str] = {}
    inner: InnerModel | None = None


@dataclass
class InnerDataclass:
    """Inside."""

    host_name: Annotated[str, Field(min_length=1)]


@dataclass
class SpecDataclass:
    """The desired state."""

    __rules__: ClassVar = (ValidationRule(rule="self.minPods <= self.maxPods", message="min above max"),)

    min_pods: Annotated[int, Field(ge=0, description="at least")] = 1
    max_pods: Annotated[int, Field(ge=0, le=100)] = 10
    hosts: Annotated[list[InnerDataclass], Field(list_map_keys=("hostName",), max_length=5)] = field(
        default_factory=list
    )
    mode: Mode = Mode.SAFE
    memory: Quantity | None = None
    template: PodTemplateSpec | None = None
    labels: dict[str, str] = field(default_factory=dict)
    inner: InnerDataclass | None = None


class InnerPydantic(pydantic.BaseModel):
    """Inside."""

    host_name: Annotated[str, pydantic.Field(min_length=1)]


class SpecPydantic(pydantic.BaseModel):
    """The desired state."""

    model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
    __rules__: ClassVar = (ValidationRule(rule="self.minPods <= self.maxPods", message="min above max"),)

    min_pods: int = pydantic.Field(1, ge=0, description="at least")
    max_pods: int = pydantic.Field(10, ge=0, le=100, alias="maxPods")
    hosts: Annotated[list[InnerPydantic], Field(list_map_keys=("hostName",))] = pydantic.Field([], max_length=5)
    mode: Mode = Mode.SAFE
    memory: Quantity | None = None
    template: PodTemplateSpec | None = None
    labels: dict[str, str] = {}
    inner: InnerPydantic | None = None

    @pydantic.field_validator("labels")
    @classmethod
    def _no_secrets(cls, labels: dict[str, str]) -> dict[str, str]:
        if "secret" in labels:
            raise ValueError("no secrets in labels")
        return labels


SPECS: list[Any] = [SpecModel, SpecDataclass, SpecPydantic]


def kind_of(spec: Any) -> type[CustomResource]:
    result: Any = type(CustomResource)(
        "Gadget", (CustomResource,), {"__annotations__": {"spec": spec}}, group="example.com", version="v1"
    )
    return result


@pytest.mark.parametrize("spec", SPECS[1:])
def test_any_kind_of_class_gives_the_same_definition(spec: Any) -> None:
    assert crd_for(kind_of(spec)) == crd_for(kind_of(SpecModel))


DOCUMENT = {
    "apiVersion": "example.com/v1",
    "kind": "Gadget",
    "metadata": {"name": "g"},
    "spec": {
        "minPods": 2,
        "maxPods": 3,
        "hosts": [{"hostName": "a"}, {"hostName": "b"}],
        "mode": "Fast",
        "memory": "1Gi",
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "m", "image": "i"}]}},
        "labels": {"x": "y"},
        "inner": {"hostName": "c"},
    },
}


@pytest.mark.parametrize("spec", SPECS)
def test_an_instance_of_the_users_own_class_arrives_and_goes_back_whole(spec: Any) -> None:
    kind = kind_of(spec)
    document: Any = decode(kind, encode(DOCUMENT))
    assert type(document.spec) is spec
    assert (document.spec.min_pods, document.spec.max_pods) == (2, 3)
    assert [host.host_name for host in document.spec.hosts] == ["a", "b"]
    assert document.spec.inner.host_name == "c"
    assert document.spec.memory == Quantity("1Gi")
    assert document.spec.mode is Mode.FAST
    assert document.spec.template == PodTemplateSpec(
        metadata=document.spec.template.metadata, spec=PodSpec(containers=[Container(name="m", image="i")])
    )
    assert to_wire(document) == DOCUMENT


@pytest.mark.parametrize("spec", SPECS)
def test_what_go_accepts_is_accepted(spec: Any) -> None:
    document: Any = decode(
        kind_of(spec), b'{"metadata": null, "spec": {"hosts": null, "labels": null, "memory": null}}'
    )
    assert (document.spec.hosts, document.spec.labels, document.spec.min_pods) == ([], {}, 1)


@pytest.mark.parametrize("spec", SPECS)
def test_bounds_hold_when_an_object_is_read(spec: Any) -> None:
    with pytest.raises(DecodeError):
        decode(kind_of(spec), b'{"spec": {"minPods": -1}}')


def test_pydantics_validators_run() -> None:
    with pytest.raises(DecodeError, match="no secrets in labels"):
        decode(kind_of(SpecPydantic), b'{"spec": {"labels": {"secret": "x"}}}')


def test_a_default_that_is_a_dataclass_is_not_shared() -> None:
    class Gadget(CustomResource, group="example.com", version="v1"):
        spec: Any = None
        status: Any = InnerDataclass("x")

    assert Gadget().status is not Gadget().status
    assert Gadget().status == InnerDataclass("x")


def test_a_field_with_two_names_is_refused() -> None:
    class Twice(pydantic.BaseModel):
        a: int = pydantic.Field(1, validation_alias="b", serialization_alias="c")

    with pytest.raises(DefinitionError, match=r"Twice\.a: an object's field has one name on the wire"):
        schema_of_type(Twice)


def test_a_dataclass_can_name_its_fields() -> None:
    @dataclass
    class Named:
        ip: str = field(default="", metadata={"name": "IP"})

    schema_of_type(Named)
    assert to_wire(Named("1.2.3.4")) == {"IP": "1.2.3.4"}
    assert decode(Named, b'{"IP": "::1"}') == Named("::1")
