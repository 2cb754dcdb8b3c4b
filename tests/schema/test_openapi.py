from __future__ import annotations

from typing import Any

import pytest

from setpoint.schema import ANYTHING, UNSET, Schemas, load_openapi

META = "io.k8s.apimachinery.pkg.apis.meta.v1."
PROPS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
DEFINITIONS: dict[str, Any] = {
    "io.k8s.api.core.v1.Pod": {
        "description": "A pod.",
        "type": ["object", "null"],
        "properties": {
            "spec": {"$ref": "#/$defs/io.k8s.api.core.v1.PodSpec", "description": "The desired state."},
            "metadata": {"allOf": [{"$ref": "#/components/schemas/Meta"}], "default": {}},
        },
        "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "Pod"}],
    },
    "Meta": {
        "type": "object",
        "properties": {"labels": {"type": "object", "additionalProperties": {"type": "string"}}},
    },
    "io.k8s.api.core.v1.PodSpec": {
        "type": "object",
        "required": ["containers"],
        "properties": {
            "containers": {
                "type": ["array", "null"],
                "items": {"$ref": "#/definitions/io.k8s.api.core.v1.Container"},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "x-kubernetes-patch-strategy": "merge",
                "x-kubernetes-patch-merge-key": "name",
            },
            "old": {
                "type": "array",
                "items": {"type": "object", "properties": {"ip": {"type": "string"}}},
                "x-kubernetes-patch-strategy": "merge",
                "x-kubernetes-patch-merge-key": "ip",
            },
            "strategy": {"$ref": "Strategy", "x-kubernetes-patch-strategy": "retainKeys"},
            "port": {"$ref": "io.k8s.apimachinery.pkg.util.intstr.IntOrString"},
            "cpu": {"$ref": "io.k8s.apimachinery.pkg.api.resource.Quantity"},
            "raw": {"$ref": "io.k8s.apimachinery.pkg.runtime.RawExtension"},
        },
    },
    "Strategy": {"type": "object", "properties": {"type": {"type": "string"}}},
    "io.k8s.api.core.v1.Container": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "ports": {"type": "array", "items": {"$ref": "io.k8s.api.core.v1.ContainerPort"}},
        },
    },
    "io.k8s.api.core.v1.ContainerPort": {"type": "object", "properties": {"protocol": {"type": ["string", "null"]}}},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "io.k8s.apimachinery.pkg.runtime.RawExtension": {"type": "object"},
    PROPS: {
        "type": "object",
        "properties": {
            "type": {"type": "string"},
            "not": {"$ref": PROPS},
            "items": {"$ref": PROPS + "OrArray", "description": "of a list"},
            "additionalProperties": {"$ref": PROPS + "OrBool"},
            "properties": {"type": "object", "additionalProperties": {"$ref": PROPS}},
        },
    },
    PROPS + "OrArray": {"description": "either"},
    PROPS + "OrBool": {"description": "either"},
}


@pytest.fixture
def schemas() -> Schemas:
    return Schemas(DEFINITIONS)


def test_references_of_every_style_resolve(schemas: Schemas) -> None:
    pod = schemas["io.k8s.api.core.v1.Pod"]
    assert pod.at("spec", "containers", 0, "name") is not None
    assert pod.at("metadata", "labels", "any") is not None
    assert pod.at("spec", "nothing", "deeper") is None


def test_a_definition_is_one_node_however_reached(schemas: Schemas) -> None:
    container = schemas["io.k8s.api.core.v1.Container"]
    assert schemas["io.k8s.api.core.v1.Pod"].at("spec", "containers", 0) is container


def test_hints_beside_a_reference_count_for_that_field_only(schemas: Schemas) -> None:
    strategy = schemas["io.k8s.api.core.v1.PodSpec"].properties["strategy"]
    assert strategy.patch_strategy == ("retainKeys",)
    assert strategy.properties is schemas["Strategy"].properties
    assert schemas["Strategy"].patch_strategy == ()
    assert schemas["io.k8s.api.core.v1.Pod"].properties["spec"].description == "The desired state."
    assert schemas["io.k8s.api.core.v1.Pod"].properties["metadata"].default == {}


def test_lists_with_old_hints_merge_by_their_key(schemas: Schemas) -> None:
    old = schemas["io.k8s.api.core.v1.PodSpec"].properties["old"]
    assert (old.list_type, old.list_map_keys) == ("map", ("ip",))


def test_defaults_that_identify_items_are_known_though_not_published(schemas: Schemas) -> None:
    protocol = schemas["io.k8s.api.core.v1.Container"].at("ports", 0, "protocol")
    assert protocol is not None
    assert protocol.default == "TCP"
    assert schemas["io.k8s.api.core.v1.Container"].properties["name"].default is UNSET


def test_special_types_are_told_by_name(schemas: Schemas) -> None:
    spec = schemas["io.k8s.api.core.v1.PodSpec"].properties
    assert spec["port"].int_or_string
    assert [part.type for part in spec["cpu"].any_of] == ["string", "number"]
    assert spec["raw"].preserve_unknown


def test_schemas_of_schemas_go_round(schemas: Schemas) -> None:
    props = schemas[PROPS]
    assert props.at("not", "not", "not") is props
    items = props.properties["items"]
    assert items.type == ""  # it may be a list
    assert items.items is props
    assert items.description == "of a list"
    assert props.at("items", "properties", "x", "additionalProperties", "type") is props.properties["type"]


def test_kinds_are_found(schemas: Schemas) -> None:
    assert schemas.by_kind("", "v1", "Pod") is schemas["io.k8s.api.core.v1.Pod"]
    assert schemas.by_kind("apps", "v1", "Pod") is None


def test_documents_of_every_version_load() -> None:
    for document in ({"definitions": DEFINITIONS}, {"$defs": DEFINITIONS}, {"components": {"schemas": DEFINITIONS}}):
        assert "Strategy" in load_openapi(document)
    with pytest.raises(ValueError, match="not an OpenAPI document"):
        load_openapi({})
    with pytest.raises(KeyError, match="no definition 'x'"):
        Schemas({})["x"]


def test_a_definition_with_a_dangling_reference_is_an_error_each_time() -> None:
    broken = {"A": {"properties": {"b": {"$ref": "B", "description": "of A"}, "x": {"$ref": "Missing"}}}, "B": {}}
    schemas = Schemas(broken | {"C": {"properties": {"a": {"$ref": "A"}}}})
    for name in ("A", "A", "C", "A"):
        with pytest.raises(KeyError, match="no definition 'Missing'"):
            schemas[name]
    for _ in range(2):
        with pytest.raises(KeyError, match="no definition 'Missing'"):
            schemas.parse({"items": {"$ref": "A"}})
    assert schemas["B"].preserve_unknown


def test_a_schema_can_not_be_changed() -> None:
    with pytest.raises(AttributeError):
        ANYTHING.type = "object"  # type: ignore[misc]
