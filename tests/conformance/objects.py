"""The objects of the scripts."""

from __future__ import annotations

from typing import Any

JsonObject = dict[str, Any]
CORE = "/api/v1/namespaces/{ns}"
MAPS = CORE + "/configmaps"
PODS = CORE + "/pods"
SERVICES = CORE + "/services"
DEPLOYMENTS = "/apis/apps/v1/namespaces/{ns}/deployments"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GIZMOS = "/apis/{ns}.example.com/v1/namespaces/{ns}/gizmos"


def config_map(name: str, data: Any = None, **metadata: Any) -> JsonObject:
    result: JsonObject = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}
    if data is not None:
        result["data"] = data
    return result


def pod(
    name: str, *, metadata: JsonObject | None = None, container: JsonObject | None = None, **spec: Any
) -> JsonObject:
    main = {"name": "main", "image": "registry.example.com/app:1", **(container or {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "x"}, **(metadata or {})},
        "spec": {"containers": [main], "automountServiceAccountToken": False, **spec},
    }


def service(name: str, **spec: Any) -> JsonObject:
    ports = [{"port": 80}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": "x"}, "ports": ports, **spec},
    }


def deployment(name: str, **spec: Any) -> JsonObject:
    template = {
        "metadata": {"labels": {"app": "x"}},
        "spec": {"containers": [{"name": "main", "image": "registry.example.com/app:1"}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "x"}}, "template": template, **spec},
    }


def definition(schema: JsonObject | None = None, *, plural: str = "gizmos", **version: Any) -> JsonObject:
    """A CustomResourceDefinition of Gizmos in a group of the conversation's own."""
    kind = plural[:-1].capitalize()
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{{ns}}.example.com"},
        "spec": {
            "group": "{ns}.example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": plural[:-1], "kind": kind, "shortNames": [plural[:2]]},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema or {"type": "object"}},
                    **version,
                }
            ],
        },
    }


GIZMO_SCHEMA: JsonObject = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 0, "maximum": 10},
                "color": {"type": "string", "enum": ["red", "green"], "default": "red"},
                "name": {"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]*$"},
                "ratio": {"type": "number", "exclusiveMinimum": True, "minimum": 0.5, "multipleOf": 0.25},
                "flags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set", "maxItems": 3},
                "parts": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {
                            "name": {"type": "string"},
                            "count": {"type": "integer", "default": 1},
                            "port": {"x-kubernetes-int-or-string": True},
                        },
                    },
                },
                "options": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 2},
                "anything": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "maybe": {"type": "string", "nullable": True},
                "atomic": {
                    "type": "object",
                    "x-kubernetes-map-type": "atomic",
                    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                },
                "choice": {
                    "type": "object",
                    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                    "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
                },
                "when": {"type": "string", "format": "date-time"},
                "raw": {"type": "string", "format": "byte"},
                "template": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                },
            },
        },
        "status": {
            "type": "object",
            "properties": {
                "ready": {"type": "integer"},
                "replicas": {"type": "integer"},
                "selector": {"type": "string"},
            },
        },
    },
}
