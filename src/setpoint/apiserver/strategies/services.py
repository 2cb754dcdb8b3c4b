"""Services: defaults, and the addresses and node ports that the server gives out."""

from __future__ import annotations

from ipaddress import IPv4Network, ip_address, ip_network
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct, field

from setpoint.apiserver.errors import invalid as refused
from setpoint.apiserver.strategies.pod_fields import port_name_problems
from setpoint.apiserver.strategies.rules.row import Place, Table, between, named, one_of, qualified, row
from setpoint.apiserver.strategies.strategy import JsonObject, Strategy
from setpoint.meta import GroupKind
from setpoint.meta.names import dns1123_label, dns1123_subdomain, label_value, qualified_name
from setpoint.schema import FieldError
from setpoint.schema.errors import duplicate, forbidden, invalid, not_supported, required

if TYPE_CHECKING:
    from setpoint.apiserver.resources.behaviour import WriteContext

__all__ = ["Services"]

_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_WITH_NODE_PORTS: Final = ("LoadBalancer", "NodePort")
_ADDRESSES: Final = IPv4Network("10.96.0.0/12")
_FIRST: Final = 10
"""The first few addresses are for cluster services that want a known one, such as 10.96.0.1 for the API server."""
_NODE_PORTS: Final = range(30000, 32768)
_ALLOCATED: Final = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")


class _Port(Struct):
    node_port: int = field(name="nodePort", default=0)


class _Spec(Struct):
    cluster_ips: list[str] = field(name="clusterIPs", default=[])
    ports: list[_Port] = []


class _Service(Struct):
    spec: _Spec


_decoder = msgspec.json.Decoder(_Service)


_IP: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_CIDR: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_BALANCED: Final = "may only be used when `type` is 'LoadBalancer'"


def _address(place: Place) -> list[FieldError]:
    try:
        ip_address(place.value or "")
    except ValueError:
        return [invalid(place.path, place.value or "", _IP)]
    return []


def _external_name(place: Place) -> list[FieldError]:
    name = (place.value or "").rstrip(".")
    external = place.holder.get("type") == "ExternalName" and place.value
    return [invalid(place.path, place.value, text) for text in dns1123_subdomain(name)] if external else []


_SPEC: Final = Table(
    (
        row("ports[].name", named(dns1123_label)),
        row("ports[].appProtocol", qualified),
        row("externalIPs[]", _address),
        row("externalName", _external_name),
        row("ipFamilies[]", one_of("IPv4", "IPv6")),
        row("ipFamilyPolicy", one_of("PreferDualStack", "RequireDualStack", "SingleStack")),
        row("internalTrafficPolicy", one_of("Cluster", "Local")),
        row("trafficDistribution", one_of("PreferClose", "PreferSameZone", "PreferSameNode")),
        row(
            "sessionAffinityConfig.clientIP.timeoutSeconds",
            between(1, 86400, "must be greater than 0 and less than 86400"),
        ),
    )
)


def _only_there(spec: JsonObject, kind: str) -> list[FieldError]:
    """Fields of other types than ``kind``."""
    errors: list[FieldError] = []
    if kind != "LoadBalancer":
        if spec.get("loadBalancerSourceRanges"):
            errors.append(forbidden("spec.LoadBalancerSourceRanges", _BALANCED))
        errors += [
            forbidden(f"spec.{name}", _BALANCED)
            for name in ("allocateLoadBalancerNodePorts", "loadBalancerClass")
            if spec.get(name) is not None
        ]
    for index, text in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        try:
            ip_network(text.strip(), strict=False)
        except ValueError:
            errors.append(invalid(f"spec.LoadBalancerSourceRanges[{index}]", text, _CIDR))
        else:
            if "/" not in text:
                errors.append(invalid(f"spec.LoadBalancerSourceRanges[{index}]", text, _CIDR))
    for index, port in enumerate(spec.get("ports") or ()):
        if kind == "ClusterIP" and port.get("nodePort"):
            text = f"may not be used when `type` is '{kind}'"
            errors.append(forbidden(f"spec.ports[{index}].nodePort", text))
    traffic = spec.get("externalTrafficPolicy", "")
    reachable = kind in _WITH_NODE_PORTS or (kind == "ClusterIP" and spec.get("externalIPs"))
    if traffic and not reachable:
        text = "may only be set for externally-accessible services"
        errors.append(invalid("spec.externalTrafficPolicy", traffic, text))
    elif reachable and not traffic:
        errors.append(required("spec.externalTrafficPolicy", "must be set for externally-accessible services"))
    elif traffic and traffic not in ("Cluster", "Local"):
        errors.append(not_supported("spec.externalTrafficPolicy", traffic, ("Cluster", "Local")))
    check = spec.get("healthCheckNodePort", 0)
    if check and not (kind == "LoadBalancer" and traffic == "Local"):
        text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        errors.append(invalid("spec.healthCheckNodePort", check, text))
    return errors


class Services(Strategy):
    """An update that leaves out the address or the node ports keeps them; they are never changed, only released.

    Addresses are 10.96.0.0/12, node ports 30000 to 32767, the lowest free one first. One IP family, version 4.
    """

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
        if kind != "ExternalName":
            spec.setdefault("internalTrafficPolicy", "Cluster")
        if kind in _WITH_NODE_PORTS or (kind == "ClusterIP" and spec.get("externalIPs")):
            spec.setdefault("externalTrafficPolicy", "Cluster")
        if kind == "LoadBalancer":
            spec.setdefault("allocateLoadBalancerNodePorts", True)

    def prepare_create(self, call: WriteContext, obj: JsonObject) -> None:
        obj["status"] = {"loadBalancer": {}}
        _allocate(call, obj, {})

    def prepare_update(self, call: WriteContext, new: JsonObject, old: JsonObject) -> None:
        spec, before = new["spec"], old.get("spec") or {}
        if spec["type"] != "ExternalName" and before.get("type") != "ExternalName":
            for name in _ALLOCATED:
                if not spec.get(name) and name in before:
                    spec[name] = before[name]
        _allocate(call, new, before)

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        spec = obj["spec"]
        kind, address = spec["type"], spec.get("clusterIP", "")
        if kind not in _TYPES:
            return [not_supported("spec.type", kind, _TYPES)]
        errors = _port_errors(spec)
        errors += _SPEC.errors(obj, old, spec, "spec")
        if old is None or (old.get("spec") or {}).get("type") == kind:
            errors += _only_there(spec, kind)
        affinity = spec.get("sessionAffinity")
        if affinity not in ("ClientIP", "None"):
            errors.append(not_supported("spec.sessionAffinity", affinity, ("ClientIP", "None")))
        for key, value in (spec.get("selector") or {}).items():
            errors += [invalid("spec.selector", key, text) for text in qualified_name(key)]
            errors += [invalid("spec.selector", value, text) for text in label_value(value)]
        if kind == "ExternalName":
            return errors + ([] if spec.get("externalName") else [required("spec.externalName")])
        if not spec.get("ports") and address != "None":
            errors.append(required("spec.ports"))
        if address != "None":
            try:
                ip_address(address)
            except ValueError:
                text = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
                errors.append(invalid("spec.clusterIPs[0]", address, text))
        before = (old or {}).get("spec") or {}
        if before.get("type", "ExternalName") != "ExternalName" and before.get("clusterIP", address) != address:
            errors.append(invalid("spec.clusterIPs[0]", spec["clusterIPs"], "may not change once set"))
        return errors


def _port_errors(spec: JsonObject) -> list[FieldError]:
    ports = spec.get("ports") or []
    errors: list[FieldError] = []
    names: set[str] = set()
    places: set[tuple[Any, ...]] = set()
    for index, port in enumerate(ports):
        path = f"spec.ports[{index}]"
        name, number = port.get("name", ""), port.get("port", 0)
        if not name and len(ports) > 1:
            errors.append(required(f"{path}.name"))
        elif name and name in names:
            errors.append(duplicate(f"{path}.name", name))
        names.add(name)
        if not 1 <= number <= 65535:
            errors.append(invalid(f"{path}.port", number, "must be between 1 and 65535, inclusive"))
        target = port.get("targetPort")
        if isinstance(target, int) and not 1 <= target <= 65535:
            errors.append(invalid(f"{path}.targetPort", target, "must be between 1 and 65535, inclusive"))
        elif isinstance(target, str):
            errors += [invalid(f"{path}.targetPort", target, text) for text in port_name_problems(target)]
        if port.get("protocol") not in ("SCTP", "TCP", "UDP"):
            errors.append(not_supported(f"{path}.protocol", port.get("protocol"), ("SCTP", "TCP", "UDP")))
        place = (number, port.get("protocol"))
        if place in places:
            errors.append(duplicate(path, port))
        places.add(place)
    return errors


def _allocate(call: WriteContext, obj: JsonObject, before: JsonObject) -> None:
    """Gives the service the address and the node ports that it is to have and has not; ``before`` is the old spec.

    Raises ApiStatusError: 422 for an address that another service has.
    """
    spec = obj["spec"]
    kind = spec["type"]
    if kind == "ExternalName":
        for name in _ALLOCATED:
            spec.pop(name, None)
        return
    chosen = spec.get("clusterIP") or next(iter(spec.get("clusterIPs") or ()), "")
    new_address = chosen != "None" and chosen != before.get("clusterIP")
    wants_ports = kind == "NodePort" or (kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts"))
    if wants_ports:
        _keep_node_ports(spec, before)
    else:
        _release_node_ports(spec, before)
    missing = [port for port in spec.get("ports") or () if wants_ports and not port.get("nodePort")]
    if new_address or missing:
        others = [_decoder.decode(record.value).spec for record in call.storage.scan("services")]
        used = {address for other in others for address in other.cluster_ips}
        if not chosen:
            addresses = (str(_ADDRESSES[number]) for number in range(_FIRST, _ADDRESSES.num_addresses))
            chosen = next(address for address in addresses if address not in used)
        elif new_address and not before.get("clusterIP") and chosen in used:
            problem = f"failed to allocate IP {chosen}: provided IP is already allocated"
            errors = [invalid("spec.clusterIPs", [chosen], problem)]
            raise refused(GroupKind("", "Service"), obj["metadata"].get("name", ""), errors)
        taken = {port.node_port for other in others for port in other.ports}
        taken |= {port.get("nodePort", 0) for port in spec.get("ports") or ()}
        free = (number for number in _NODE_PORTS if number not in taken)
        for port in missing:
            port["nodePort"] = next(free)
    spec["clusterIP"], spec["clusterIPs"] = chosen, [chosen]
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")


def _same_port(port: JsonObject) -> tuple[Any, ...]:
    return port.get("port"), port.get("protocol")


def _keep_node_ports(spec: JsonObject, before: JsonObject) -> None:
    known = {_same_port(port): port["nodePort"] for port in before.get("ports") or () if port.get("nodePort")}
    for port in spec.get("ports") or ():
        if not port.get("nodePort") and _same_port(port) in known:
            port["nodePort"] = known[_same_port(port)]


def _release_node_ports(spec: JsonObject, before: JsonObject) -> None:
    """A service that no longer wants node ports gives back those that it was given."""
    known = {(_same_port(port), port.get("nodePort")) for port in before.get("ports") or ()}
    for port in spec.get("ports") or ():
        if (_same_port(port), port.get("nodePort")) in known:
            port.pop("nodePort", None)
