"""Printers for services, endpoints, ingresses and network policies."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from setpoint.apiserver.responses.printers.cells import (
    Wire,
    age,
    first,
    format_labels,
    format_selector,
    get,
    host_port,
    load_balancer,
    name,
    text,
)
from setpoint.apiserver.responses.printers.printer import AGE, NAME, Column, Printer


def _service(obj: Wire, now: datetime) -> list[Any]:
    addresses = get(obj, "spec", "clusterIPs", default=[])
    return [
        name(obj),
        text(obj, "spec", "type"),
        addresses[0] if addresses else text(obj, "spec", "clusterIP", default="<none>"),
        _external(obj),
        ",".join(_port(port) for port in get(obj, "spec", "ports", default=[])) or "<none>",
        age(obj, now),
        format_labels(get(obj, "spec", "selector")),
    ]


def _external(obj: Wire) -> str:
    external = get(obj, "spec", "externalIPs", default=[])
    match text(obj, "spec", "type"):
        case "ClusterIP" | "NodePort":
            return ",".join(external) or "<none>"
        case "LoadBalancer":
            balancer = load_balancer(obj)
            return ",".join([*([balancer] if balancer else []), *external]) or "<pending>"
        case "ExternalName":
            return text(obj, "spec", "externalName")
        case _:
            return "<unknown>"


def _port(port: Wire) -> str:
    protocol = text(port, "protocol", default="TCP")
    return (
        f"{port.get('port')}:{port['nodePort']}/{protocol}"
        if port.get("nodePort")
        else f"{port.get('port')}/{protocol}"
    )


_SERVICE = "core.v1.ServiceSpec."
SERVICES = Printer(
    (
        NAME,
        Column("Type", _SERVICE + "type"),
        Column("Cluster-IP", _SERVICE + "clusterIP"),
        Column("External-IP", _SERVICE + "externalIPs"),
        Column("Port(s)", _SERVICE + "ports"),
        AGE,
        Column("Selector", _SERVICE + "selector", priority=1),
    ),
    _service,
)


def _endpoints(obj: Wire, now: datetime) -> list[Any]:
    return [name(obj), first(_addresses(obj), empty="<none>"), age(obj, now)]


def _addresses(obj: Wire) -> Iterator[str]:
    for subset in get(obj, "subsets", default=[]):
        addresses = [text(item, "ip") for item in get(subset, "addresses", default=[])]
        ports = get(subset, "ports", default=[])
        if not ports:  # a headless service may have none
            yield from addresses
        for port in ports:
            yield from (host_port(address, port.get("port")) for address in addresses)


ENDPOINTS = Printer((NAME, Column("Endpoints", "core.v1.Endpoints.subsets"), AGE), _endpoints)


def _endpoint_slice(obj: Wire, now: datetime) -> list[Any]:
    ports = (str(port.get("port") or port.get("name") or "*") for port in get(obj, "ports", default=[]))
    addresses = (
        address for item in get(obj, "endpoints", default=[]) for address in get(item, "addresses", default=[])
    )
    return [name(obj), text(obj, "addressType"), first(ports), first(addresses), age(obj, now)]


_SLICE = "discovery.v1.EndpointSlice."
ENDPOINT_SLICES = Printer(
    (
        NAME,
        Column("AddressType", _SLICE + "addressType"),
        Column("Ports", _SLICE + "ports"),
        Column("Endpoints", _SLICE + "endpoints"),
        AGE,
    ),
    _endpoint_slice,
)


def _ingress(obj: Wire, now: datetime) -> list[Any]:
    return [
        name(obj),
        text(obj, "spec", "ingressClassName", default="<none>"),
        _hosts(get(obj, "spec", "rules", default=[])),
        load_balancer(obj),
        "80, 443" if get(obj, "spec", "tls") else "80",
        age(obj, now),
    ]


def _hosts(rules: list[Wire]) -> str:
    hosts = [rule["host"] for rule in rules if rule.get("host")]
    if len(hosts) > 3:
        return f"{','.join(hosts[:3])} + {len(rules) - 3} more..."
    return ",".join(hosts) or "*"


INGRESSES = Printer(
    (
        NAME,
        Column("Class", about="The name of the IngressClass resource that should be used for additional configuration"),
        Column("Hosts", about="Hosts that incoming requests are matched against before the ingress rule"),
        Column("Address", about="Address is a list containing ingress points for the load-balancer"),
        Column("Ports", about="Ports of TLS configurations that open"),
        AGE,
    ),
    _ingress,
)


def _ingress_class(obj: Wire, now: datetime) -> list[Any]:
    parameters = get(obj, "spec", "parameters")
    reference = "<none>"
    if parameters is not None:
        group = parameters.get("apiGroup")
        reference = f"{text(parameters, 'kind')}{f'.{group}' if group is not None else ''}/{text(parameters, 'name')}"
    return [name(obj), text(obj, "spec", "controller"), reference, age(obj, now)]


INGRESS_CLASSES = Printer(
    (
        NAME,
        Column("Controller", about="Controller that is responsible for handling this class"),
        Column("Parameters", about="A reference to a resource with additional parameters"),
        AGE,
    ),
    _ingress_class,
)


def _network_policy(obj: Wire, now: datetime) -> list[Any]:
    return [name(obj), format_selector(get(obj, "spec", "podSelector")), age(obj, now)]


NETWORK_POLICIES = Printer(
    (NAME, Column("Pod-Selector", "networking.v1.NetworkPolicySpec.podSelector"), AGE), _network_policy
)


def _service_cidr(obj: Wire, now: datetime) -> list[Any]:
    return [name(obj), ",".join(get(obj, "spec", "cidrs", default=[])), age(obj, now)]


SERVICE_CIDRS = Printer((NAME, Column("CIDRs", "networking.v1.ServiceCIDRSpec.cidrs"), AGE), _service_cidr)


def _ip_address(obj: Wire, now: datetime) -> list[Any]:
    parent = get(obj, "spec", "parentRef")
    reference = "<none>"
    if parent is not None:
        group, namespace = text(parent, "group"), text(parent, "namespace")
        resource = text(parent, "resource") + (f".{group}" if group else "")
        reference = "/".join([resource.lower(), *([namespace] if namespace else []), text(parent, "name")])
    return [name(obj), reference, age(obj, now)]


IP_ADDRESSES = Printer((NAME, Column("ParentRef", "networking.v1.IPAddressSpec.parentRef")), _ip_address)
"""As in upstream, the age has no column."""
