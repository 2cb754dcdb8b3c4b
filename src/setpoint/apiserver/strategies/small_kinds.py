"""Small strategies that differ from the common one mainly in their defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from setpoint.apiserver.objects.metadata import new_uid
from setpoint.apiserver.resources.strategy import METADATA, JsonObject, Strategy
from setpoint.apiserver.strategies.addresses import address_problem
from setpoint.meta.names import path_segment
from setpoint.schema.addresses import address_of

if TYPE_CHECKING:
    from setpoint.apiserver.resources.write_context import WriteContext


class IngressClasses(Strategy):
    """Ingress classes. The default scope of their parameters is ``Cluster``."""

    generation = True

    def default(self, obj: JsonObject) -> None:
        parameters = (obj.get("spec") or {}).get("parameters")
        if isinstance(parameters, dict):
            parameters.setdefault("scope", "Cluster")


class NetworkPolicies(Strategy):
    """Network policies. By default, a policy is of type ``Ingress``, and also ``Egress`` if it has
    egress rules.
    """

    generation = True

    def default(self, obj: JsonObject) -> None:
        spec = obj.setdefault("spec", {})
        for direction in ("ingress", "egress"):
            for rule in spec.get(direction) or ():
                for port in rule.get("ports") or ():
                    port.setdefault("protocol", "TCP")
        if not spec.get("policyTypes"):
            spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


class EndpointSlices(Strategy):
    """Endpoint slices. A change to the labels also increases the generation."""

    generation = True
    counts_dropped = True

    def wants_something_else(self, new: JsonObject, old: JsonObject) -> bool:
        labels = [item["metadata"].get("labels") or {} for item in (new, old)]
        return super().wants_something_else(new, old) or labels[0] != labels[1]

    def default(self, obj: JsonObject) -> None:
        for port in obj.get("ports") or ():
            port.setdefault("name", "")
            port.setdefault("protocol", "TCP")


class Drivers(Strategy):
    """CSI drivers. The generation counts only changes, so a new driver has none."""

    generation = True
    returns_deleted = True

    def default(self, obj: JsonObject) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("attachRequired", True)
        for name in ("podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"):
            spec.setdefault(name, False)
        spec.setdefault("preventPodSchedulingIfMissing", False)
        spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
        if not spec.get("volumeLifecycleModes"):
            spec["volumeLifecycleModes"] = ["Persistent"]

    def prepare_create(self, call: WriteContext, obj: JsonObject) -> None:
        obj["metadata"].pop("generation", None)  # it counts changes only


class StorageClasses(Strategy):
    """Storage classes. The default reclaim policy is ``Delete``, and the default binding mode is ``Immediate``."""

    returns_deleted = True

    def default(self, obj: JsonObject) -> None:
        obj.setdefault("reclaimPolicy", "Delete")
        obj.setdefault("volumeBindingMode", "Immediate")


class ApiServices(Strategy):
    """API services. The default port of the Service behind an API service is 443."""

    status_keeps = METADATA
    name_rule = staticmethod(path_segment)

    def default(self, obj: JsonObject) -> None:
        service = (obj.get("spec") or {}).get("service")
        if isinstance(service, dict):
            service.setdefault("port", 443)

    def prepare_create(self, call: WriteContext, obj: JsonObject) -> None:
        obj["status"] = {}


class Addresses(Strategy):
    """IP addresses of Services; the name of an object is its address."""

    create_on_update = True
    draws_names = False

    @staticmethod
    def name_rule(name: str, /) -> list[str]:
        problem, address = address_problem(name), address_of(name)
        if problem:
            return [problem]
        return [] if str(address) == name else [f'must be in canonical form ("{address}")']


class PodCertificates(Strategy):
    """Certificate requests for pods. The default maximum lifetime of a certificate is 24 hours."""

    status_keeps = METADATA

    def default(self, obj: JsonObject) -> None:
        obj.setdefault("spec", {}).setdefault("maxExpirationSeconds", 86400)


class PriorityClasses(Strategy):
    """Priority classes. No change increases their generation."""

    generation = True

    def wants_something_else(self, new: JsonObject, old: JsonObject) -> bool:
        return False

    def default(self, obj: JsonObject) -> None:
        obj.setdefault("preemptionPolicy", "PreemptLowerPriority")


class LimitRanges(Strategy):
    """Limit ranges. A container's default limit is taken from its maximum, and its default request from the default
    limit or, if there is none, from the minimum.
    """

    create_on_update = True

    def prepare_create(self, call: WriteContext, obj: JsonObject) -> None:
        if not obj["metadata"].get("name"):
            obj["metadata"]["name"] = new_uid(call.random)

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
