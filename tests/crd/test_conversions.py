"""Conversions lose nothing, in any direction, and a declaration that forgets a field is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

import pytest

from setpoint.crd import (
    ConditionedStatus,
    Conversion,
    ConversionError,
    CustomResource,
    DefinitionError,
    Field,
    Versions,
    crd_for,
    verify,
)
from setpoint.meta import Model
from setpoint.models.core_v1 import PodTemplateSpec
from setpoint.schema import copy_json
from setpoint.testing import check_conversions

# -- the article's example ---------------------------------------------------------------------------------------------


class MykindStatus(ConditionedStatus):
    ready: int = 0


class MykindV1alpha1Spec(Model):
    numpods: Annotated[int, Field(ge=0)] = 1


class MykindSpec(Model):
    replicas: Annotated[int, Field(ge=0)] = 1
    template: PodTemplateSpec | None = None


class MykindV1alpha1(CustomResource, group="grp.example.com", version="v1alpha1", kind="Mykind", storage=False):
    spec: MykindV1alpha1Spec
    status: MykindStatus = MykindStatus()


class Mykind(
    CustomResource,
    group="grp.example.com",
    version="v1alpha2",
    conversions=(Conversion(MykindV1alpha1).rename("spec.numpods", "spec.replicas").add("spec.template"),),
):
    spec: MykindSpec
    status: MykindStatus = MykindStatus()


MYKIND = Versions.of(Mykind)
OLD = {
    "apiVersion": "grp.example.com/v1alpha1",
    "kind": "Mykind",
    "metadata": {"name": "mykind-sample", "namespace": "default"},
    "spec": {"numpods": 3},
}
TEMPLATE = {"metadata": {"labels": {"mylabel": "x"}}, "spec": {"containers": [{"name": "busybox", "image": "busybox"}]}}
NEW = {
    "apiVersion": "grp.example.com/v1alpha2",
    "kind": "Mykind",
    "metadata": {"name": "mykind-sample", "namespace": "default", "annotations": {"mine": "x"}},
    "spec": {"replicas": 3, "template": TEMPLATE},
}


def test_numpods_become_replicas_and_back() -> None:
    there = MYKIND.convert(OLD, "v1alpha2")
    assert there == {**OLD, "apiVersion": "grp.example.com/v1alpha2", "spec": {"replicas": 3}}
    assert MYKIND.convert(there, "v1alpha1") == OLD


def test_a_template_that_the_old_version_can_not_hold_comes_back() -> None:
    given = copy_json(NEW)
    old = MYKIND.convert(given, "v1alpha1")
    assert given == NEW
    assert old["spec"] == {"numpods": 3}
    assert set(old["metadata"]["annotations"]) == {"mine", MYKIND.annotation}
    assert MYKIND.convert(old, "v1alpha2") == NEW


def test_what_was_changed_in_the_old_version_counts_and_the_rest_comes_back() -> None:
    old = copy_json(MYKIND.convert(NEW, "v1alpha1"))
    old["spec"]["numpods"] = 7
    assert MYKIND.convert(old, "v1alpha2")["spec"] == {"replicas": 7, "template": TEMPLATE}


def test_unknown_fields_stay_where_they_are() -> None:
    there = MYKIND.convert({**OLD, "spec": {"numpods": 1, "later": {"a": 1}}, "extra": True}, "v1alpha2")
    assert (there["spec"], there["extra"]) == ({"replicas": 1, "later": {"a": 1}}, True)


@pytest.mark.parametrize(
    "broken", ["{", "[]", '{"v1alpha2":3}', '{"v1alpha2":{"f":{"spec":{"i":[[1]]}}}}', '{"v1alpha2":{"f":3}}']
)
def test_a_broken_annotation_does_not_make_an_object_unreadable(broken: str) -> None:
    document = {**OLD, "metadata": {"name": "x", "annotations": {MYKIND.annotation: broken}}}
    assert MYKIND.convert(document, "v1alpha2")["spec"] == {"replicas": 3}


def test_instances_of_the_classes_are_converted_too() -> None:
    result = MYKIND.convert_object(MykindV1alpha1.named("a", "b", spec=MykindV1alpha1Spec(numpods=4)), Mykind)
    assert isinstance(result, Mykind)
    assert (result.spec.replicas, result.name) == (4, "a")


def test_one_class_brings_all_versions_into_the_definition() -> None:
    spec = crd_for(Mykind)["spec"]
    assert [(version["name"], version["storage"]) for version in spec["versions"]] == [
        ("v1alpha2", True),
        ("v1alpha1", False),
    ]
    assert "conversion" not in spec
    webhook = crd_for(Mykind, conversion_client_config={"url": "https://x"})["spec"]["conversion"]
    assert webhook == {
        "strategy": "Webhook",
        "webhook": {"clientConfig": {"url": "https://x"}, "conversionReviewVersions": ["v1"]},
    }


def test_the_articles_conversion_is_proven() -> None:
    check_conversions(Mykind, samples=[OLD, NEW, Mykind.named("x", spec=MykindSpec())], max_examples=8)


# -- everything at once, over three versions ---------------------------------------------------------------------------


class PortA(Model):
    number: Annotated[int, Field(ge=1, le=65535)]
    proto: str = "TCP"


class SpecA(Model):
    timeout_seconds: Annotated[int, Field(ge=0, le=10**6)] = 30
    ports: list[PortA] = []
    owner: str = ""
    team: str = ""
    limits: dict[str, int] = {}
    legacy: dict[str, str] = {}
    host: Annotated[str, Field(pattern="^[a-z]+$")] = "a"
    address: Annotated[str, Field(pattern="^[0-9]+$")] = "1"
    sizes: list[int] = []


class PortB(Model):
    name: str = ""
    port: Annotated[int, Field(ge=1, le=65535)]
    proto: str = "TCP"


class Contact(Model):
    owner: str = ""
    team: str = ""
    mail: str | None = None


class PartB(Model):
    name: str
    size: int = 1


class SpecB(Model):
    timeout_millis: Annotated[int, Field(ge=0, le=10**9)] = 30000
    endpoints: list[PortB] = []
    contact: Contact = Contact()
    limits: dict[str, str] = {}
    location: Annotated[str, Field(pattern="^[a-z]+:[0-9]+$")] = "a:1"
    mode: str
    sizes: list[str] = []
    parts: Annotated[list[PartB], Field(list_map_keys=("name",))] = []


class PartC(PartB):
    weight: Annotated[int, Field(ge=0)] | None = None


class SpecC(Model):
    timeout_millis: Annotated[int, Field(ge=0, le=10**9)] = 30000
    endpoints: list[PortB] = []
    parts: Annotated[list[PartC], Field(list_map_keys=("name",))] = []
    contact: Contact = Contact()
    location: Annotated[str, Field(pattern="^[a-z]+:[0-9]+$")] = "a:1"
    mode: str
    sizes: list[str] = []


class StateA(Model):
    seen: int = 0


class A(CustomResource, group="example.com", version="v1alpha1", kind="Thing", storage=False):
    spec: SpecA
    status: StateA = StateA()


def join(source: dict[str, Any], target: dict[str, Any]) -> None:
    spec = source.get("spec", {})
    if "host" in spec or "address" in spec:
        target["spec"]["location"] = f"{spec.get('host', 'a')}:{spec.get('address', '1')}"


def split(source: dict[str, Any], target: dict[str, Any]) -> None:
    location = source.get("spec", {}).get("location")
    if location:
        target["spec"]["host"], target["spec"]["address"] = location.split(":")


def to_number(text: str) -> int:
    digits = text.removesuffix("m")
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 18 else 0


class B(
    CustomResource,
    group="example.com",
    version="v1beta1",
    kind="Thing",
    storage=False,
    conversions=[
        Conversion(A)
        .scale("spec.timeoutSeconds", "spec.timeoutMillis", by=1000)
        .rename("spec.ports", "spec.endpoints")
        .rename("spec.ports[].number", "spec.endpoints[].port")
        .add("spec.endpoints[].name")
        .rename("spec.owner", "spec.contact.owner")
        .rename("spec.team", "spec.contact.team")
        .add("spec.contact.mail")
        .change("spec.limits.*", "spec.limits.*", up=lambda number: f"{number}m", down=to_number)
        .change("spec.sizes[]", "spec.sizes[]", up=str, down=to_number)
        .drop("spec.legacy")
        .add("spec.mode", default="plain")
        .add("spec.parts")
        .function(up=join, down=split, old=["spec.host", "spec.address"], new=["spec.location"]),
    ],
):  # fmt: skip
    spec: Annotated[SpecB, Field(rules=["true"])]
    status: StateA = StateA()


class C(
    CustomResource,
    group="example.com",
    version="v1",
    kind="Thing",
    conversions=[Conversion(B).drop("spec.limits").add("spec.parts[].weight")],
):
    spec: SpecC
    status: StateA = StateA()


THING = Versions.of(C)


def thing(version: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"example.com/{version}", "kind": "Thing", "metadata": {"name": "x"}, "spec": spec}


def test_every_kind_of_change() -> None:
    old = thing(
        "v1alpha1",
        timeoutSeconds=5,
        ports=[{"number": 80}, {"number": 90, "proto": "UDP"}],
        owner="me",
        legacy={"a": "b"},
        host="h",
        address="9",
        sizes=[1, 2],
    )
    new = THING.convert(old, "v1")
    assert new["spec"] == {
        "timeoutMillis": 5000,
        "endpoints": [{"port": 80}, {"port": 90, "proto": "UDP"}],
        "contact": {"owner": "me"},
        "location": "h:9",
        "mode": "plain",
        "sizes": ["1", "2"],
    }
    assert THING.convert(new, "v1alpha1") == old


def test_an_exact_value_is_kept_until_somebody_changes_it() -> None:
    new = thing("v1beta1", timeoutMillis=1500, mode="m")
    old = THING.convert(new, "v1alpha1")
    assert old["spec"] == {"timeoutSeconds": 2}
    assert THING.convert(old, "v1beta1") == new
    old["spec"]["timeoutSeconds"] = 4
    assert THING.convert(old, "v1beta1")["spec"] == {"timeoutMillis": 4000, "mode": "m"}


def test_items_find_what_was_theirs_after_others_came_and_went() -> None:
    parts = [{"name": "a", "size": 1, "weight": 10}, {"name": "b", "size": 2}, {"name": "c", "size": 3, "weight": 30}]
    beta = copy_json(THING.convert(thing("v1", mode="m", parts=parts), "v1beta1"))
    a, _, c = beta["spec"]["parts"]
    assert (a, c) == ({"name": "a", "size": 1}, {"name": "c", "size": 3})
    a["size"] = 11  # keys say who is who, even when the rest has changed
    beta["spec"]["parts"] = [c, {"name": "d", "size": 4}, a]
    assert THING.convert(beta, "v1")["spec"]["parts"] == [
        {"name": "c", "size": 3, "weight": 30},
        {"name": "d", "size": 4},
        {"name": "a", "size": 11, "weight": 10},
    ]


def test_items_without_keys_are_known_by_what_is_left_of_them() -> None:
    named = [{"name": "a", "port": 1}, {"name": "b", "port": 2}]
    old = copy_json(THING.convert(thing("v1beta1", mode="m", endpoints=named), "v1alpha1"))
    assert old["spec"]["ports"] == [{"number": 1}, {"number": 2}]
    old["spec"]["ports"] = [{"number": 3}, {"number": 2}]
    assert THING.convert(old, "v1beta1")["spec"]["endpoints"] == [{"port": 3}, {"name": "b", "port": 2}]


def test_an_object_that_only_one_version_has_is_made_again_for_what_was_in_it() -> None:
    old = copy_json(THING.convert(thing("v1beta1", mode="m", contact={"owner": "me", "mail": "m@x"}), "v1alpha1"))
    assert old["spec"] == {"owner": "me"}
    del old["spec"]["owner"]
    assert THING.convert(old, "v1beta1")["spec"] == {"mode": "m", "contact": {"mail": "m@x"}}


def test_any_version_survives_the_way_through_every_other() -> None:
    check_conversions(C, max_examples=60)


def test_versions_that_differ_in_their_name_alone_need_no_webhook() -> None:
    class Same(CustomResource, group="example.com", version="v2", kind="Thing", conversions=[Conversion(A)]):
        spec: SpecA
        status: StateA = StateA()

    assert not Versions.of(Same).need_webhook
    assert THING.need_webhook
    assert Versions.of(Same).convert(thing("v2", owner="x"), "v1alpha1") == thing("v1alpha1", owner="x")


# -- what is refused ---------------------------------------------------------------------------------------------------


class Small(Model):
    numpods: int = 1
    port: int = 1
    many: list[PortA] = []


class Small2(Model):
    replicas: int = 1
    port: str = ""
    many: list[PortA] = []


class V1(CustomResource, group="example.com", version="v1", kind="Small", storage=False):
    spec: Small


PORT = Conversion(V1).change("spec.port", "spec.port", up=str, down=to_number)
RIGHT = PORT.rename("spec.numpods", "spec.replicas")


def define(conversion: Conversion) -> Any:
    return type(CustomResource)(
        "V2",
        (CustomResource,),
        {"__annotations__": {"spec": Small2}},
        group="example.com",
        version="v2",
        kind="Small",
        conversions=[conversion],
    )


@pytest.mark.parametrize(
    ("conversion", "message"),
    [
        (PORT, r"V2: conversion from V1: spec\.numpods of v1 has no counterpart in v2: .*\.drop\('spec\.numpods'\)"),
        (PORT.drop("spec.numpods"), r"spec\.replicas of v2 has no counterpart in v1: .*\.add\('spec\.replicas'\)"),
        (
            Conversion(V1).rename("spec.numpods", "spec.replicas"),
            r"spec\.port is an integer in v1 and a string in v2: declare the change of its values with \.change\('spec",
        ),
        (RIGHT.drop("spec.numpod"), r"v1 has no field spec\.numpod; did you mean 'numpods'\?"),
        (RIGHT.drop("spec.many.number"), r"spec\.many is a list, write spec\.many\[\]"),
        (RIGHT.drop("spec.numpods"), r"spec\.numpods of v1 is declared twice"),
        (RIGHT.rename("spec.many[]", "spec.many[]"), r"name the list or map itself"),
    ],
)
def test_a_conversion_that_forgets_a_field_is_an_error_where_the_class_is_defined(
    conversion: Conversion, message: str
) -> None:
    with pytest.raises(DefinitionError, match=message):
        define(conversion)


def test_metadata_is_not_for_conversions() -> None:
    with pytest.raises(ValueError, match="metadata can't be changed by conversions"):
        Conversion(V1).rename("metadata.labels", "spec.labels")
    with pytest.raises(ValueError, match="inside different numbers of lists"):
        Conversion(V1).rename("spec.many[].number", "spec.replicas")


def test_versions_that_differ_without_a_conversion_are_refused() -> None:
    class V3(CustomResource, group="example.com", version="v3", kind="Small"):
        spec: Small2

    with pytest.raises(
        DefinitionError, match=r"numpods of v1 has no counterpart in v3.*\n.*\nGive V3 conversions=|Give V3"
    ):
        crd_for(V3, V1)


def test_a_function_that_loses_a_field_is_found_by_the_samples() -> None:
    verify(Versions.of(define(RIGHT)))
    wrong = Conversion(V1).change("spec.port", "spec.port", up=str, down=lambda text: int(text or 0))
    kind = define(wrong.rename("spec.numpods", "spec.replicas"))
    with pytest.raises(ConversionError, match=r"v2 to v1: spec\.port: 'http': ValueError: invalid literal"):
        verify(Versions.of(kind), [{"apiVersion": "example.com/v2", "kind": "Small", "spec": {"port": "http"}}])
    with pytest.raises(AssertionError, match=r"(?s)spec\.port: .*the object was"):
        check_conversions(kind, max_examples=20)


def test_a_function_that_touches_metadata_is_found() -> None:
    def rude(source: dict[str, Any], target: dict[str, Any]) -> None:
        target["metadata"]["name"] = "other"

    kind = define(RIGHT.function(up=rude, down=rude, old=[], new=[]))
    with pytest.raises(ConversionError, match=r"rude\(\) changed metadata.name; only labels and annotations may"):
        verify(Versions.of(kind))


def test_a_function_may_move_a_label_to_an_annotation_and_back() -> None:
    def moving(one: str, other: str) -> Callable[[dict[str, Any], dict[str, Any]], None]:
        def move(source: dict[str, Any], target: dict[str, Any]) -> None:
            metadata = source.get("metadata", {})
            if "tier" in metadata.get(one, {}):
                rest = {key: value for key, value in metadata[one].items() if key != "tier"}
                there = {**metadata.get(other, {}), "tier": metadata[one]["tier"]}
                target["metadata"] |= {one: rest, other: there}

        return move

    kind = define(
        RIGHT.function(up=moving("labels", "annotations"), down=moving("annotations", "labels"), old=[], new=[])
    )
    sample = {"apiVersion": "example.com/v1", "kind": "Small", "spec": {}}
    both = {"labels": {"tier": "web", "app": "a"}, "annotations": {"note": "b"}}
    verify(Versions.of(kind), [{**sample, "metadata": {"name": "a", **both}}])
    one_way = define(RIGHT.function(up=moving("labels", "annotations"), down=lambda _, __: None, old=[], new=[]))
    with pytest.raises(ConversionError, match=r"v1 to v2 and back: metadata\.annotations\.tier was added"):
        verify(Versions.of(one_way), [{**sample, "metadata": {"name": "a", **both}}])


def test_a_result_that_is_not_valid_is_found() -> None:
    class Strict(Model):
        replicas: Annotated[int, Field(le=3)] = 1
        port: str = ""
        many: list[PortA] = []

    kind = type(CustomResource)(
        "V2", (CustomResource,), {"__annotations__": {"spec": Strict}}, group="example.com", version="v2", kind="Small",
        conversions=[RIGHT],
    )  # fmt: skip
    with pytest.raises(ConversionError, match=r"v1 to v2: the result is not valid: spec\.replicas: Invalid"):
        verify(Versions.of(kind))


@pytest.mark.parametrize(
    ("document", "to", "message"),
    [
        ({**OLD, "kind": "Other"}, "v1alpha2", "Other of grp.example.com/v1alpha1 is not a"),
        ({**OLD, "apiVersion": "other.com/v1"}, "v1alpha2", "is not a"),
        (OLD, "v9", "there is no version 'v9' of .*Mykind.*, only v1alpha1, v1alpha2"),
        ({}, "v1alpha1", "None of None is not a"),
    ],
)
def test_what_can_not_be_converted_is_refused(document: dict[str, Any], to: str, message: str) -> None:
    with pytest.raises(ConversionError, match=message):
        MYKIND.convert(document, to)


def test_the_annotation_can_be_read_by_people() -> None:
    kept = MYKIND.convert(NEW, "v1alpha1")["metadata"]["annotations"][MYKIND.annotation]
    assert json.loads(kept) == {"v1alpha2": {"f": {"spec": {"f": {"template": {"v": TEMPLATE}}}}}}


class LargeV1Spec(Model):
    n: int = 0


class LargeV1(CustomResource, group="large.example.com", version="v1", kind="Large", storage=False):
    spec: LargeV1Spec = LargeV1Spec()


class LargeSpec(Model):
    n: int = 0
    small: str = ""
    big: str = ""


class Large(
    CustomResource,
    group="large.example.com",
    version="v2",
    conversions=(Conversion(LargeV1).add("spec.small").add("spec.big"),),
):
    spec: LargeSpec = LargeSpec()


def test_kept_values_that_exceed_the_annotations_of_an_object_are_refused_with_their_field() -> None:
    document = {
        "apiVersion": "large.example.com/v2",
        "kind": "Large",
        "metadata": {"name": "a", "namespace": "b", "annotations": {"own": "x" * 1000}},
        "spec": {"small": "x", "big": "x" * 260_000},
    }
    versions = Versions.of(Large)
    old = versions.convert(document, "v1")
    assert versions.convert(old, "v2") == document
    document["metadata"]["annotations"]["own"] = "x" * 3000
    with pytest.raises(ConversionError, match=r"b/a: v2 to v1: spec\.big of v2 would be kept in .* allow 262144"):
        versions.convert(document, "v1")
