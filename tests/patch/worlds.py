"""A small kind with every way to merge, and random objects of it."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from setpoint.schema import Schema, Schemas

DEFINITIONS: dict[str, Any] = {
    "Thing": {
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"$ref": "Meta"},
            "spec": {"$ref": "Spec"},
            "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
        },
    },
    "Meta": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "uid": {"type": "string"},
            "resourceVersion": {"type": "string"},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
            "managedFields": {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "atomic"},
            "finalizers": {
                "type": "array",
                "items": {"type": "string"},
                "x-kubernetes-list-type": "set",
                "x-kubernetes-patch-strategy": "merge",
            },
        },
    },
    "Spec": {
        "type": "object",
        "properties": {
            "replicas": {"type": "integer"},
            "paused": {"type": "boolean"},
            "args": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"},
            "selector": {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "x-kubernetes-map-type": "atomic",
            },
            "containers": {
                "type": "array",
                "items": {"$ref": "Container"},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "x-kubernetes-patch-strategy": "merge",
                "x-kubernetes-patch-merge-key": "name",
            },
            "volumes": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {name: {"type": "string"} for name in ("name", "secret", "configMap", "disk")},
                },
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "x-kubernetes-patch-strategy": "merge,retainKeys",
                "x-kubernetes-patch-merge-key": "name",
            },
            "strategy": {
                "type": "object",
                "properties": {"type": {"type": "string"}, "surge": {"type": "integer"}},
                "x-kubernetes-patch-strategy": "retainKeys",
            },
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    },
    "Container": {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string"},
            "image": {"type": "string"},
            "args": {"type": "array", "items": {"type": "string"}},
            "ports": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "port": {"type": "integer"},
                        "protocol": {"type": "string", "default": "TCP"},
                        "name": {"type": "string"},
                    },
                },
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["port", "protocol"],
                "x-kubernetes-patch-strategy": "merge",
                "x-kubernetes-patch-merge-key": "port",
            },
        },
    },
}
SCHEMAS = Schemas(DEFINITIONS)
THING: Schema = SCHEMAS["Thing"]

_names = st.sampled_from(["a", "b", "c", "d"])
_texts = st.sampled_from(["x", "y", "z", ""])
_labels = st.dictionaries(_names, _texts, max_size=3)


def _fields(**parts: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=parts)


def _keyed(
    parts: st.SearchStrategy[dict[str, Any]], key: str, values: st.SearchStrategy[Any]
) -> st.SearchStrategy[Any]:
    item = st.builds(lambda value, rest: {key: value, **rest}, values, parts)
    return st.lists(item, max_size=4, unique_by=lambda entry: entry[key])


_ports = _keyed(_fields(protocol=st.just("UDP"), name=_texts), "port", st.integers(1, 4))
_containers = _keyed(_fields(image=_texts, args=st.lists(_texts, max_size=2), ports=_ports), "name", _names)
_volumes = _keyed(_fields(secret=_texts, configMap=_texts, disk=_texts), "name", _names)
_free = st.recursive(
    st.one_of(st.integers(0, 2), st.booleans(), _texts, st.lists(st.integers(0, 2), max_size=2)),
    lambda inner: st.dictionaries(_names, inner, max_size=3),
    max_leaves=4,
)
specs = _fields(
    replicas=st.integers(0, 3),
    paused=st.booleans(),
    args=st.lists(_texts, max_size=3),
    selector=_labels,
    containers=_containers,
    volumes=_volumes,
    strategy=_fields(type=_texts, surge=st.integers(0, 2)),
    free=st.dictionaries(_names, _free, max_size=3),
)
_metas = _fields(labels=_labels, annotations=_labels, finalizers=st.lists(_names, max_size=3, unique=True))


def thing(spec: dict[str, Any], metadata: dict[str, Any] | None = None) -> dict[str, Any]:
    """An object of the kind."""
    return {"apiVersion": "t/v1", "kind": "Thing", "metadata": {"name": "x", **(metadata or {})}, "spec": spec}


things = st.builds(thing, specs, _metas)
"""Whole objects without nulls."""
