"""Small strategies that differ from most in their defaults only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from setpoint.apiserver.strategies.strategy import JsonObject, Strategy

if TYPE_CHECKING:
    from setpoint.apiserver.resources.behaviour import WriteContext

__all__ = [
    "Bindings",
    "ClaimTemplates",
    "EndpointSlices",
    "FlowSchemas",
    "IngressClasses",
    "LimitRanges",
    "NetworkPolicies",
    "PriorityClasses",
    "PriorityLevels",
    "ResourceClaims",
    "TaintRules",
]

_RBAC: Final = "rbac.authorization.k8s.io"


class Bindings(Strategy):
    """Role bindings and cluster role bindings."""

    create_on_update = True

    def default(self, obj: JsonObject) -> None:
        reference = obj.get("roleRef")
        if isinstance(reference, dict):
            reference.setdefault("apiGroup", _RBAC)
        for subject in obj.get("subjects") or ():
            if subject.get("kind") in ("User", "Group"):
                subject.setdefault("apiGroup", _RBAC)


class PriorityLevels(Strategy):
    """Priority levels of priority and fairness."""

    generation = True

    def default(self, obj: JsonObject) -> None:
        spec = obj.get("spec") or {}
        limited, exempt = spec.get("limited"), spec.get("exempt")
        if isinstance(limited, dict):
            limited.setdefault("nominalConcurrencyShares", 30)
            limited.setdefault("lendablePercent", 0)
            queuing = (limited.get("limitResponse") or {}).get("queuing")
            if isinstance(queuing, dict):
                for name, value in (("queues", 64), ("handSize", 8), ("queueLengthLimit", 50)):
                    queuing.setdefault(name, value)
        if isinstance(exempt, dict):
            exempt.setdefault("nominalConcurrencyShares", 0)
            exempt.setdefault("lendablePercent", 0)


class FlowSchemas(Strategy):
    """Flow schemas of priority and fairness."""

    generation = True

    def default(self, obj: JsonObject) -> None:
        if isinstance(obj.get("spec"), dict):
            obj["spec"].setdefault("matchingPrecedence", 1000)


class IngressClasses(Strategy):
    """Ingress classes."""

    generation = True

    def default(self, obj: JsonObject) -> None:
        parameters = (obj.get("spec") or {}).get("parameters")
        if isinstance(parameters, dict):
            parameters.setdefault("scope", "Cluster")


class NetworkPolicies(Strategy):
    """Network policies."""

    generation = True

    def default(self, obj: JsonObject) -> None:
        spec = obj.get("spec")
        if not isinstance(spec, dict):
            return
        for direction in ("ingress", "egress"):
            for rule in spec.get(direction) or ():
                for port in rule.get("ports") or ():
                    port.setdefault("protocol", "TCP")
        if not spec.get("policyTypes"):
            spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


class EndpointSlices(Strategy):
    """Endpoint slices."""

    generation = True

    def default(self, obj: JsonObject) -> None:
        for port in obj.get("ports") or ():
            port.setdefault("name", "")
            port.setdefault("protocol", "TCP")


class PriorityClasses(Strategy):
    """Priority classes."""

    generation = True

    def default(self, obj: JsonObject) -> None:
        obj.setdefault("preemptionPolicy", "PreemptLowerPriority")


class LimitRanges(Strategy):
    """Limit ranges: what a container is given without asking follows from what it may have."""

    create_on_update = True

    def default(self, obj: JsonObject) -> None:
        for limit in (obj.get("spec") or {}).get("limits") or ():
            if limit.get("type") != "Container":
                continue
            default, request = dict(limit.get("default") or {}), dict(limit.get("defaultRequest") or {})
            for name, amount in (limit.get("max") or {}).items():
                default.setdefault(name, amount)
            for name, amount in default.items():
                request.setdefault(name, amount)
            for name, amount in (limit.get("min") or {}).items():
                request.setdefault(name, amount)
            for key, amounts in (("default", default), ("defaultRequest", request)):
                if amounts:
                    limit[key] = amounts


def _default_devices(spec: Any) -> None:
    for request in ((spec or {}).get("devices") or {}).get("requests") or ():
        for part in (request.get("exactly"), *(request.get("firstAvailable") or ())):
            if not isinstance(part, dict):
                continue
            part.setdefault("allocationMode", "ExactCount")
            if part["allocationMode"] == "ExactCount":
                part.setdefault("count", 1)
            for toleration in part.get("tolerations") or ():
                toleration.setdefault("operator", "Equal")


class ResourceClaims(Strategy):
    """Claims of devices."""

    returns_deleted = True

    def default(self, obj: JsonObject) -> None:
        _default_devices(obj.get("spec"))


class ClaimTemplates(Strategy):
    """What claims of devices are made from."""

    returns_deleted = True

    def default(self, obj: JsonObject) -> None:
        _default_devices((obj.get("spec") or {}).get("spec"))


class TaintRules(Strategy):
    """Taints of devices: each says since when."""

    generation = True

    def prepare_create(self, call: WriteContext, obj: JsonObject) -> None:
        taint = (obj.get("spec") or {}).get("taint")
        if isinstance(taint, dict):
            taint.setdefault("timeAdded", call.timestamp())

    def prepare_update(self, call: WriteContext, new: JsonObject, old: JsonObject) -> None:
        self.prepare_create(call, new)
