"""Services: defaults, and the addresses and node ports that the server allocates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from setpoint.apiserver.resources.strategy import JsonObject, Strategy
from setpoint.apiserver.storage import Record
from setpoint.apiserver.strategies.addresses import address_errors, cidr_errors, special_errors
from setpoint.apiserver.strategies.go_dump import dump
from setpoint.apiserver.strategies.pod_fields import port_name_problems
from setpoint.apiserver.strategies.rules.rule_table import Check, Place, Table, between, row
from setpoint.apiserver.strategies.service_addresses import (
    ALLOCATED,
    allocate,
    family_errors,
    has_address,
    headless,
    needs_health_check,
    with_node_ports,
)
from setpoint.apiserver.strategies.service_ip_addresses import release
from setpoint.meta.names import dns1123_label, dns1123_subdomain, label_value, qualified_name
from setpoint.schema import FieldError
from setpoint.schema.errors import duplicate, forbidden, invalid, not_supported, required

if TYPE_CHECKING:
    from setpoint.apiserver.resources.write_context import WriteContext

_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_INTERNAL: Final = ("Cluster", "Local")
_NODE_PORTS: Final = ("LoadBalancer", "NodePort")
_PORT: Final = "must be between 1 and 65535, inclusive"
_RANGES: Final = "service.beta.kubernetes.io/load-balancer-source-ranges"
_BALANCED: Final = "may only be used when `type` is 'LoadBalancer'"


def _address(place: Place) -> list[FieldError]:
    errors = address_errors(place.value or "", place.path, place.of_old(_external_addresses))
    return errors or special_errors(place.value or "", place.path)


def _external_addresses(obj: JsonObject) -> frozenset[str]:
    return frozenset((obj.get("spec") or {}).get("externalIPs") or ())


def _external_name(place: Place) -> list[FieldError]:
    name = (place.value or "").removesuffix(".")
    external = place.holder.get("type") == "ExternalName" and place.value
    return [invalid(place.path, place.value, text) for text in dns1123_subdomain(name)] if external else []


def _policy(*policies: str) -> Check:
    def check(place: Place) -> list[FieldError]:
        wrong = place.value is not None and place.value not in policies
        return [not_supported(place.path, place.value, policies)] if wrong else []

    return check


_SPEC: Final = Table(
    (
        row("externalIPs[]", _address),
        row("externalName", _external_name),
        row("internalTrafficPolicy", _policy(*_INTERNAL)),
        row("trafficDistribution", _policy("PreferClose", "PreferSameZone", "PreferSameNode")),
        row(
            "sessionAffinityConfig.clientIP.timeoutSeconds",
            between(1, 86400, "must be greater than 0 and less than 86400"),
        ),
    )
)


def _source_errors(obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """The errors in the networks from which a load balancer accepts traffic, given in the spec or else in an
    annotation.
    """
    path, ranges = "spec.LoadBalancerSourceRanges", obj["spec"].get("loadBalancerSourceRanges") or []
    stored = ((old or {}).get("spec") or {}).get("loadBalancerSourceRanges") or ()
    if ranges:
        wrong = obj["spec"]["type"] != "LoadBalancer"
        errors = [forbidden(path, _BALANCED)] if wrong else []
        stored_texts = {text.strip() for text in stored}
        for index, text in enumerate(ranges):
            errors += cidr_errors(text.strip(), f"{path}[{index}]", stored_texts)
        return errors
    annotation = (obj["metadata"].get("annotations") or {}).get(_RANGES)
    if annotation is None:
        return []
    path = f"metadata.annotations[{_RANGES}]"
    errors = [forbidden(path, _BALANCED)] if obj["spec"]["type"] != "LoadBalancer" else []
    before = ((old or {}).get("metadata", {}).get("annotations") or {}).get(_RANGES)
    for text in annotation.split(",") if annotation.strip() and annotation != before else ():
        errors += cidr_errors(text.strip(), path)
    return errors


def _only_there(spec: JsonObject, kind: str) -> list[FieldError]:
    """The errors in fields that only some types of services have: a field that the type ``kind`` lacks must not
    be set, and other fields must be valid.
    """
    errors: list[FieldError] = []
    if kind != "LoadBalancer":
        errors += [
            forbidden(f"spec.{name}", _BALANCED)
            for name in ("allocateLoadBalancerNodePorts", "loadBalancerClass")
            if spec.get(name) is not None
        ]
    elif spec.get("loadBalancerClass") is not None:
        name = spec["loadBalancerClass"]
        errors += [invalid("spec.loadBalancerClass", name, text) for text in qualified_name(name)]
    traffic = spec.get("externalTrafficPolicy", "")
    if traffic and not _reachable(spec):
        text = "may only be set for externally-accessible services"
        errors.append(invalid("spec.externalTrafficPolicy", traffic, text))
    elif _reachable(spec) and not traffic:
        errors.append(required("spec.externalTrafficPolicy"))
    elif traffic and traffic not in ("Cluster", "Local"):
        errors.append(not_supported("spec.externalTrafficPolicy", traffic, ("Cluster", "Local")))
    number = spec.get("healthCheckNodePort", 0)
    if number and not needs_health_check(spec):
        text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        errors.append(invalid("spec.healthCheckNodePort", number, text))
    elif number and not 1 <= number <= 65535:
        errors.append(invalid("spec.healthCheckNodePort", number, _PORT))
    return errors


def _reachable(spec: JsonObject) -> bool:
    return with_node_ports(spec) or (spec.get("type") == "ClusterIP" and bool(spec.get("externalIPs")))


class Services(Strategy):
    """Services. An update that leaves out the address or the node ports keeps them; see `service_addresses`."""

    name_rule = staticmethod(dns1123_label)  # since 1.36 a name may begin with a digit
    create_on_update = True
    returns_deleted = True

    def default(self, obj: JsonObject) -> None:
        spec = obj.setdefault("spec", {})
        kind = spec.setdefault("type", "ClusterIP")
        if spec.get("sessionAffinity", "None") == "None":
            spec.pop("sessionAffinityConfig", None)
        if spec.setdefault("sessionAffinity", "None") == "ClientIP":
            config = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
            config.setdefault("timeoutSeconds", 10800)
        for port in spec.get("ports") or ():
            port.setdefault("protocol", "TCP")
            if not port.get("targetPort"):
                port["targetPort"] = port.get("port", 0)
        if kind == "LoadBalancer":
            for item in ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ():
                if item.get("ip"):
                    item.setdefault("ipMode", "VIP")
        if kind != "ExternalName":
            spec.setdefault("internalTrafficPolicy", "Cluster")
        elif spec.get("internalTrafficPolicy") in _INTERNAL:  # upstream stores it and leaves it out of every answer
            del spec["internalTrafficPolicy"]
        if _reachable(spec):
            spec.setdefault("externalTrafficPolicy", "Cluster")
        if kind == "LoadBalancer":
            spec.setdefault("allocateLoadBalancerNodePorts", True)

    def prepare_create(self, call: WriteContext, obj: JsonObject) -> None:
        obj["status"] = {"loadBalancer": {}}
        allocate(call, obj, None)

    def prepare_update(self, call: WriteContext, new: JsonObject, old: JsonObject) -> None:
        before = old.get("spec") or {}
        allocate(call, new, before)
        _drop(new["spec"], before)

    def after_update(self, call: WriteContext, record: Record, old: JsonObject) -> Record:
        release(call, record, (old.get("spec") or {}).get("clusterIPs") or ())
        return record

    def after_delete(self, call: WriteContext, record: Record) -> None:
        release(call, record, is_deleted=True)

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        spec = obj["spec"]
        kind = spec["type"]
        errors = [] if old is None else _changed(spec, old.get("spec") or {})
        if not spec.get("ports") and not headless(spec) and kind != "ExternalName":
            errors.append(required("spec.ports"))
        if kind in _NODE_PORTS and headless(spec):
            errors.append(invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services"))
        if kind == "ExternalName":
            errors += [
                forbidden(f"spec.{name}", "may not be set for ExternalName services")
                for name in ALLOCATED[1:]
                if spec.get(name) or (name == "ipFamilyPolicy" and spec.get(name) is not None)
            ]
            if not spec.get("externalName", "").removesuffix("."):
                errors.append(required("spec.externalName"))
        errors += _port_errors(spec)
        for key, value in (spec.get("selector") or {}).items():
            errors += [invalid("spec.selector", key, text) for text in qualified_name(key)]
            errors += [invalid("spec.selector", value, text) for text in label_value(value)]
        affinity = spec.get("sessionAffinity")
        if affinity not in ("ClientIP", "None"):
            errors.append(not_supported("spec.sessionAffinity", affinity, ("ClientIP", "None")))
        errors += _SPEC.errors(obj, old, spec, "spec")
        errors += family_errors(spec, ((old or {}).get("spec") or {}).get("clusterIPs") or ())
        if kind not in _TYPES:
            errors.append(not_supported("spec.type", kind, _TYPES))
        return errors + _twice(spec) + _source_errors(obj, old) + _only_there(spec, kind)


def _drop(spec: JsonObject, before: JsonObject) -> None:
    """Drops fields that the new type does not have, unless the request also changed them; fields that it changed are
    refused later.
    """

    def same(name: str) -> bool:
        return (spec.get(name) or None) == (before.get(name) or None)

    if has_address(before) and not has_address(spec):
        if same("clusterIPs"):
            spec.pop("clusterIP", None)
        for name in ALLOCATED[1:]:
            if same(name):
                spec.pop(name, None)
    now, then = ({port.get("nodePort") or 0 for port in part.get("ports") or ()} for part in (spec, before))
    if with_node_ports(before) and not with_node_ports(spec) and now - {0} <= then:
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
    if needs_health_check(before) and not needs_health_check(spec) and same("healthCheckNodePort"):
        spec.pop("healthCheckNodePort", None)
    if before.get("type") == "LoadBalancer" != spec.get("type"):
        for name in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
            if same(name):
                spec.pop(name, None)
    if _reachable(before) and not _reachable(spec) and same("externalTrafficPolicy"):
        spec.pop("externalTrafficPolicy", None)


def _changed(spec: JsonObject, before: JsonObject) -> list[FieldError]:
    errors: list[FieldError] = []
    if "ExternalName" not in (spec.get("type"), before.get("type")):
        if not (headless(spec) and headless(before)):
            errors += _moved(spec, before, "clusterIPs", is_every=True)
        if not headless(spec) and not headless(before):
            errors += _moved(spec, before, "ipFamilies", is_every=False)
    kind, name = "LoadBalancer", spec.get("loadBalancerClass")
    if spec.get("type") == before.get("type") == kind and name != before.get("loadBalancerClass"):
        errors.append(invalid("spec.loadBalancerClass", name, "may not change once set"))
        if name is not None:
            errors += [invalid("spec.loadBalancerClass", name, text) for text in qualified_name(name)]
    numbers = spec.get("healthCheckNodePort", 0), before.get("healthCheckNodePort", 0)
    if needs_health_check(spec) and needs_health_check(before) and numbers[0] != numbers[1]:
        errors.append(forbidden("spec.healthCheckNodePort", "field is immutable"))
    return errors


def _moved(spec: JsonObject, before: JsonObject, name: str, *, is_every: bool) -> list[FieldError]:
    """The errors for changed values of the field ``name``; only a second value may be added or removed."""
    new, old = spec.get(name) or [], before.get(name) or []
    if len(new) == len(old):
        places = [index for index, pair in enumerate(zip(new, old, strict=True)) if pair[0] != pair[1]]
        return [invalid(f"spec.{name}[{index if is_every else 0}]", new, "may not change once set") for index in places]
    if not new:
        return [invalid(f"spec.{name}[0]", new, f"primary {'clusterIP' if is_every else 'ipFamily'} can not be unset")]
    if old and new[0] != old[0]:
        return [invalid(f"spec.{name}[0]", spec.get("clusterIPs") or [], "may not change once set")]
    return []


def _port_errors(spec: JsonObject) -> list[FieldError]:
    ports = spec.get("ports") or []
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        path = f"spec.ports[{index}]"
        name, number = port.get("name", ""), port.get("port", 0)
        if not name and len(ports) > 1:
            errors.append(required(f"{path}.name"))
        elif name:
            errors += [invalid(f"{path}.name", name, text) for text in dns1123_label(name)]
            if name in names:
                errors.append(duplicate(f"{path}.name", name))
        names.add(name)
        if not 1 <= number <= 65535:
            errors.append(invalid(f"{path}.port", number, _PORT))
        if port.get("protocol") not in ("SCTP", "TCP", "UDP"):
            errors.append(not_supported(f"{path}.protocol", port.get("protocol"), ("SCTP", "TCP", "UDP")))
        target = port.get("targetPort")
        if isinstance(target, int) and not 1 <= target <= 65535:
            errors.append(invalid(f"{path}.targetPort", target, _PORT))
        elif isinstance(target, str):
            errors += [invalid(f"{path}.targetPort", target, text) for text in port_name_problems(target)]
        if port.get("appProtocol") is not None:
            protocol = port["appProtocol"]
            errors += [invalid(f"{path}.appProtocol", protocol, text) for text in qualified_name(protocol)]
    return errors


def _twice(spec: JsonObject) -> list[FieldError]:
    """The errors for node ports in a service of type ``ClusterIP``, and for repeated ports and node ports."""
    errors: list[FieldError] = []
    ports = spec.get("ports") or []
    for index, port in enumerate(ports):
        if port.get("nodePort") and spec.get("type") == "ClusterIP":
            text = "may not be used when `type` is 'ClusterIP'"
            errors.append(forbidden(f"spec.ports[{index}].nodePort", text))
    for name, path in (("nodePort", ".nodePort"), ("port", "")):
        previous: set[tuple[Any, ...]] = set()
        for index, port in enumerate(ports):
            key = (port.get(name, 0), port.get("protocol"))
            if name == "nodePort" and not key[0]:
                continue
            if key in previous:
                bad_value = key[0] if path else dump("core.ServicePort", {"port": key[0], "protocol": key[1]})
                errors.append(duplicate(f"spec.ports[{index}]{path}", bad_value))
            previous.add(key)
    return errors
