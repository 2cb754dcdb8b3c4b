"""A CRD says the same as its class; a class that a CRD can't express is an error at definition."""

from __future__ import annotations

import enum
from datetime import datetime
from typing import Annotated, Any, Literal

import pytest
from msgspec import UNSET, UnsetType

from setpoint.crd import (
    Column,
    ConditionedStatus,
    CustomResource,
    DefinitionError,
    Field,
    ScaleSubresource,
    ValidationRule,
    crd_for,
    schema_of,
    schema_of_type,
)
from setpoint.meta import IntOrString, Model, Quantity, resource_of
from setpoint.models.core_v1 import Container
from setpoint.regexp import compile_pattern
from setpoint.schema.builtin_patterns import OWN_PATTERNS


class Mode(enum.Enum):
    FAST = "Fast"
    SAFE = "Safe"


class Port(Model):
    """A port."""

    name: str
    number: Annotated[int, Field(ge=1, le=65535)]
    protocol: Literal["TCP", "UDP"] = "TCP"


class GadgetSpec(Model):
    replicas: Annotated[int, Field(ge=0, description="how many")] = 1
    ports: Annotated[list[Port], Field(list_map_keys=("name",), max_length=10)] = []
    mode: Mode = Mode.SAFE
    target_port: IntOrString | None = None
    memory: Quantity | None = None
    tags: set[str] = set()
    labels: dict[str, str] = {}
    free: dict[str, Any] = {}
    anything: Any = None
    until: datetime | None = None
    nothing: str | UnsetType | None = UNSET
    secret: bytes | None = None
    pattern: Annotated[str, Field(pattern="^[a-z]+$", min_length=1)] = "a"


class GadgetStatus(ConditionedStatus):
    ready: int = 0


class Gadget(
    CustomResource,
    group="example.com",
    version="v1",
    short_names=("gd",),
    categories=("all",),
    columns=(Column("Ready", ".status.ready"),),
    scale=ScaleSubresource(spec_replicas=".spec.replicas", status_replicas=".status.ready"),
    rules=(ValidationRule(rule="self.spec.replicas < 100", message="too many"),),
):
    """A gadget."""

    spec: GadgetSpec
    status: GadgetStatus = GadgetStatus()


def test_every_kind_of_field_has_its_schema() -> None:
    properties = schema_of(Gadget)["properties"]["spec"]["properties"]
    assert properties["replicas"] == {
        "type": "integer",
        "format": "int64",
        "minimum": 0,
        "description": "how many",
        "default": 1,
    }
    assert properties["ports"]["x-kubernetes-list-type"] == "map"
    assert properties["ports"]["x-kubernetes-list-map-keys"] == ["name"]
    assert properties["ports"]["maxItems"] == 10
    assert properties["ports"]["items"] == {
        "description": "A port.",
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "number": {"type": "integer", "format": "int64", "minimum": 1, "maximum": 65535},
            "protocol": {"type": "string", "enum": ["TCP", "UDP"], "default": "TCP"},
        },
        "required": ["name", "number"],
    }
    assert properties["mode"] == {"type": "string", "enum": ["Fast", "Safe"], "default": "Safe"}
    assert properties["targetPort"] == {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": True,
    }
    assert properties["memory"]["x-kubernetes-int-or-string"] is True
    assert properties["tags"] == {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}
    assert properties["labels"] == {"type": "object", "additionalProperties": {"type": "string"}}
    assert properties["free"] == {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    assert properties["anything"] == {"x-kubernetes-preserve-unknown-fields": True}
    assert properties["until"] == {"type": "string", "format": "date-time"}
    assert properties["nothing"] == {"type": "string", "nullable": True}
    assert properties["secret"] == {"type": "string", "format": "byte"}
    assert properties["pattern"] == {"type": "string", "pattern": "^[a-z]+$", "minLength": 1, "default": "a"}


def test_a_whole_definition() -> None:
    crd = crd_for(Gadget)
    assert crd["metadata"]["name"] == "gadgets.example.com"
    assert crd["spec"]["names"] == {
        "kind": "Gadget",
        "listKind": "GadgetList",
        "plural": "gadgets",
        "singular": "gadget",
        "shortNames": ["gd"],
        "categories": ["all"],
    }
    (version,) = crd["spec"]["versions"]
    assert version["subresources"] == {
        "status": {},
        "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.ready"},
    }
    assert version["additionalPrinterColumns"] == [{"name": "Ready", "type": "integer", "jsonPath": ".status.ready"}]
    schema = version["schema"]["openAPIV3Schema"]
    assert schema["required"] == ["spec"]
    assert schema["description"] == "A gadget."
    assert schema["x-kubernetes-validations"] == [{"rule": "self.spec.replicas < 100", "message": "too many"}]
    assert "default" not in schema["properties"]["status"]["properties"]["ready"]


def test_a_status_brings_conditions_and_the_observed_generation() -> None:
    status = schema_of(Gadget)["properties"]["status"]["properties"]
    assert set(status) == {"observedGeneration", "conditions", "ready"}
    assert status["conditions"]["x-kubernetes-list-map-keys"] == ["type"]


def test_a_class_knows_its_resource() -> None:
    resource = resource_of(Gadget)
    assert (resource.plural, resource.singular, resource.api_version) == ("gadgets", "gadget", "example.com/v1")
    assert set(resource.subresources) == {"status", "scale"}


def test_several_versions_are_one_definition() -> None:
    class Old(
        CustomResource, group="example.com", version="v1alpha1", kind="Gadget", storage=False, deprecated="use v1"
    ):
        spec: GadgetSpec
        status: GadgetStatus = GadgetStatus()

    versions = crd_for(Gadget, Old)["spec"]["versions"]
    assert [(version["name"], version["storage"]) for version in versions] == [("v1", True), ("v1alpha1", False)]
    assert versions[1]["deprecationWarning"] == "use v1"
    with pytest.raises(DefinitionError, match="exactly one version must have storage=True"):
        crd_for(Old)
    with pytest.raises(DefinitionError, match="is declared twice"):
        crd_for(Gadget, Gadget2)


class Gadget2(CustomResource, group="example.com", version="v1", kind="Gadget", storage=False):
    spec: GadgetSpec


class Node(Model):
    children: list[Node] = []


class Either(Model):
    value: Port | GadgetSpec | None = None


class Keyed(Model):
    items: Annotated[list[Port], Field(list_map_keys=("missing",))] = []


class Strange(Model):
    value: complex = 1j


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Node, r"Node\.children\.\[\]: Node contains itself"),
        (Either, r"Either\.value: a union of Port \| GadgetSpec has no structural schema"),
        (Keyed, r"Keyed\.items: list_map_keys names 'missing', which the list's items don't have"),
        (Strange, r"Strange\.value: <class 'complex'> has no structural schema"),
    ],
)
def test_what_a_structural_schema_cannot_say_names_class_and_field(kind: type, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        schema_of_type(kind)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"group": "nodots", "version": "v1"}, "must be a DNS name with a dot"),
        ({"group": "example.com"}, "version= is missing"),
        ({"group": "example.com", "version": "1.0"}, "is not of the form v1"),
        ({"group": "example.com", "version": "v1", "plural": "Big"}, "DNS-1035"),
        ({"group": "example.com", "version": "v1", "scope": "cluster"}, "must be 'Namespaced' or 'Cluster'"),
        ({"group": "example.com", "version": "v1", "short_names": "gd"}, "must be tuples of strings"),
        ({"version": "v1"}, "without group="),
    ],
)
def test_a_bad_declaration_says_what_to_write(words: dict[str, Any], message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        type(CustomResource)("Bad", (CustomResource,), {}, **words)


class Team(Model):
    containers: Annotated[list[Container], Field(list_map_keys=("name",))] = []


class Teams(CustomResource, group="lists.example.com", version="v1"):
    spec: Team = Team()


def test_lists_of_kubernetes_own_types_may_have_map_keys() -> None:
    schema = schema_of(Teams)["properties"]["spec"]["properties"]["containers"]
    assert schema["x-kubernetes-list-map-keys"] == ["name"]


def test_the_patterns_of_kubernetes_own_types_are_valid() -> None:
    for pattern in OWN_PATTERNS:
        compile_pattern(pattern)
