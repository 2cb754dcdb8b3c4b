"""``metrics.k8s.io``: the usage of pods and nodes, as the metrics-server serves it. It is not stored."""

from __future__ import annotations

from typing import Any, Final

from setpoint.apiserver.resources.registry import CustomParts, ServedResource
from setpoint.apiserver.strategies.custom import CustomStrategy
from setpoint.meta import Resource
from setpoint.schema import structural

_VERBS: Final = ("get", "list")
_USAGE: Final[dict[str, Any]] = {
    "type": "object",
    "description": "The amounts in use, by resource.",
    "additionalProperties": {"type": "string"},
}
_TIMES: Final[dict[str, Any]] = {
    "timestamp": {"type": "string", "format": "date-time", "description": "The end of the window."},
    "window": {"type": "string", "description": "The time that the figures are an average of."},
}
_CONTAINER: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["name", "usage"],
    "properties": {"name": {"type": "string"}, "usage": _USAGE},
}
_CONTAINERS: Final[dict[str, Any]] = {"type": "array", "items": _CONTAINER}


def served_usage() -> list[ServedResource]:
    """The resources ``nodes`` and ``pods`` of ``metrics.k8s.io/v1beta1``."""
    return [
        _served("nodes", "NodeMetrics", {"usage": _USAGE}, namespaced=False),
        _served("pods", "PodMetrics", {"containers": _CONTAINERS}, namespaced=True),
    ]


def _served(plural: str, kind: str, fields: dict[str, Any], *, namespaced: bool) -> ServedResource:
    resource = Resource(
        group="metrics.k8s.io", version="v1beta1", kind=kind, plural=plural, namespaced=namespaced, verbs=_VERBS
    )
    document = {"type": "object", "properties": {**_TIMES, **fields}}
    served = ServedResource(
        resource,
        structural.load(document),
        CustomStrategy(resource, lambda: None),
        custom=CustomParts(document),
    )
    served.computed = True
    return served
