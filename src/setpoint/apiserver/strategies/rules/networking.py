"""Rules for ingresses and their classes, network policies, and addresses of Services."""

from __future__ import annotations

import re
from typing import Final

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.addresses import PORT, PROTOCOLS, cidr_errors
from setpoint.apiserver.strategies.pod_fields import port_name_problems
from setpoint.apiserver.strategies.rules.rule_table import (
    IMMUTABLE,
    Place,
    Row,
    immutable,
    longest,
    named,
    needed,
    row,
    selector,
    settled,
    unless_missing,
)
from setpoint.meta.names import dns1123_label, dns1123_subdomain, path_segment
from setpoint.schema import FieldError
from setpoint.schema.addresses import address_of, network_of
from setpoint.schema.errors import forbidden, invalid, not_supported, required

_CLASS: Final = "kubernetes.io/ingress.class"
_PATH_PARTS: Final = ("//", "/./", "/../", "%2f", "%2F")
_PATH_ENDS: Final = ("/..", "/.")


# -- network policies -------------------------------------------------------------------------------------------------


def _policy_port(place: Place) -> list[FieldError]:
    port, path = place.value, place.path
    errors: list[FieldError] = []
    protocol, number, end = port.get("protocol"), port.get("port"), port.get("endPort")
    if protocol is not None and protocol not in PROTOCOLS:
        errors.append(not_supported(f"{path}.protocol", protocol, ("TCP", "UDP", "SCTP")))
    if isinstance(number, int):
        if not 1 <= number <= 65535:
            errors.append(invalid(f"{path}.port", number, PORT))
        if end is not None and end < number:
            errors.append(invalid(f"{path}.endPort", end, "must be greater than or equal to `port`"))
        if end is not None and not 1 <= end <= 65535:
            errors.append(invalid(f"{path}.endPort", end, PORT))
        return errors
    if end is not None:
        text = "specified" if number is None else "non-numeric"
        reason = f"may not be specified when `port` is {'not ' if number is None else ''}{text}"
        errors.append(invalid(f"{path}.endPort", end, reason))
    if number is not None:
        errors += [invalid(f"{path}.port", number, text) for text in port_name_problems(number)]
    return errors


def _peer(place: Place) -> list[FieldError]:
    peer = place.value
    selectors = [name for name in ("podSelector", "namespaceSelector") if peer.get(name) is not None]
    block = peer.get("ipBlock")
    if block is None:
        return [] if selectors else [required(place.path, "must specify a peer")]
    errors = [forbidden(place.path, "may not specify both ipBlock and another peer")] if selectors else []
    path, cidr = f"{place.path}.ipBlock", block.get("cidr", "")
    if not cidr:
        return [*errors, required(f"{path}.cidr")]
    stored = place.of_old(_networks_of)
    errors += cidr_errors(cidr, f"{path}.cidr", stored)
    outer = network_of(cidr)
    if outer is None:
        return errors
    for index, text in enumerate(block.get("except") or ()):
        field_path = f"{path}.except[{index}]"
        errors += cidr_errors(text, field_path, stored)
        inner = network_of(text)
        if inner is None:
            continue
        within = inner.version == outer.version and inner.network_address in outer
        if not within or inner.prefixlen <= outer.prefixlen:
            errors.append(invalid(field_path, text, "must be a strict subset of `cidr`"))
    return errors


def _networks_of(policy: JsonObject) -> set[str]:
    spec = policy.get("spec") or {}
    ways = ((rule, peers) for way, peers in (("ingress", "from"), ("egress", "to")) for rule in spec.get(way) or ())
    blocks = (peer.get("ipBlock") or {} for rule, peers in ways for peer in rule.get(peers) or ())
    return {text for block in blocks for text in (block.get("cidr"), *(block.get("except") or ())) if text}


def _policy_types(place: Place) -> list[FieldError]:
    kinds = place.value or []
    if len(kinds) > 2:
        return [invalid(place.path, kinds, "may not specify more than two policyTypes")]
    return [
        not_supported(f"{place.path}[{index}]", kind, ("Ingress", "Egress"))
        for index, kind in enumerate(kinds)
        if kind not in ("Ingress", "Egress")
    ]


def _direction(name: str, side: str) -> tuple[Row, ...]:
    return (
        row(f"spec.{name}[].ports[]", _policy_port),
        row(f"spec.{name}[].{side}[].podSelector", selector),
        row(f"spec.{name}[].{side}[].namespaceSelector", selector),
        row(f"spec.{name}[].{side}[]", _peer),
    )


# -- ingresses --------------------------------------------------------------------------------------------------------


def _one_class(place: Place) -> list[FieldError]:
    """The error in a new ingress whose annotation names another class than its spec."""
    annotation = (place.obj["metadata"].get("annotations") or {}).get(_CLASS)
    name = (place.value or {}).get("ingressClassName")
    if place.old is not None or annotation is None or name is None or annotation == name:
        return []
    return [invalid(f"annotations.{_CLASS}", annotation, "must match `ingressClassName` when both are specified")]


def _host(place: Place) -> list[FieldError]:
    return _tls_host(place) if place.value else []


def _tls_host(place: Place) -> list[FieldError]:
    host = place.value or ""
    errors: list[FieldError] = []
    if place.path.endswith(".host") and address_of(host) is not None:
        errors.append(invalid(place.path, host, "must be a DNS name, not an IP address"))
    rule = _wildcard if "*" in host else dns1123_subdomain
    return errors + [invalid(place.path, host, text) for text in rule(host)]


def _wildcard(host: str) -> list[str]:
    if host.startswith("*.") and not dns1123_subdomain(host[2:]):
        return []
    return [
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
        "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', "
        r"regex used for validation is '\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    ]


def _backend(place: Place) -> list[FieldError]:
    backend, path = place.value, place.path
    if backend is None:
        if "paths" not in path:
            return []
        backend = {}
    if "paths" in path and place.holder.get("pathType") is None:
        return []  # `_http_path` reports the missing type
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        return [invalid(path, "", "cannot set both resource and service backends")]
    if resource is not None:
        return _reference(resource, f"{path}.resource")
    if service is None:
        return [invalid(path, "", "resource or service backend is required")]
    errors: list[FieldError] = []
    name = service.get("name", "")
    if not name:
        errors.append(required(f"{path}.service.name"))
    else:
        errors += [invalid(f"{path}.service.name", name, text) for text in dns1123_label(name)]
    port = service.get("port") or {}
    port_name, number = port.get("name", ""), port.get("number", 0)
    if port_name and number:
        errors.append(invalid(path, "", "cannot set both port name & port number"))
    elif port_name:
        field_path = f"{path}.service.port.name"
        errors += [invalid(field_path, port_name, text) for text in port_name_problems(port_name)]
    elif not number:
        errors.append(required(path, "port name or number is required"))
    elif not 1 <= number <= 65535:
        errors.append(invalid(f"{path}.service.port.number", number, PORT))
    return errors


def _reference(value: dict[str, str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if value.get("apiGroup") is not None:
        group = value["apiGroup"]
        errors += [invalid(f"{path}.apiGroup", group, text) for text in dns1123_subdomain(group)]
    for field in ("kind", "name"):
        text = value.get(field, "")
        if not text:
            errors.append(required(f"{path}.{field}"))
        errors += [invalid(f"{path}.{field}", text, problem) for problem in path_segment(text)]
    return errors


def _http_path(place: Place) -> list[FieldError]:
    kind, path, text = place.value.get("pathType"), place.path, place.value.get("path", "")
    if kind is None:
        return [required(f"{path}.pathType", "pathType must be specified")]
    if kind not in ("Exact", "ImplementationSpecific", "Prefix"):
        allowed = ("Exact", "ImplementationSpecific", "Prefix")
        return [not_supported(f"{path}.pathType", kind, allowed)]
    field_path = f"{path}.path"
    if not text.startswith("/") and (text or kind != "ImplementationSpecific"):
        return [invalid(field_path, text, "must be an absolute path")]
    if kind == "ImplementationSpecific":
        return []
    errors = [invalid(field_path, text, f"must not contain '{part}'") for part in _PATH_PARTS if part in text]
    return errors + [invalid(field_path, text, f"cannot end with '{end}'") for end in _PATH_ENDS if text.endswith(end)]


def _http(place: Place) -> list[FieldError]:
    empty = place.value is not None and not place.value.get("paths")
    return [required(f"{place.path}.paths")] if empty else []


def _something(place: Place) -> list[FieldError]:
    spec = place.value or {}
    if spec.get("rules") or spec.get("defaultBackend") is not None:
        return []
    return [invalid(place.path, spec.get("rules"), "either `defaultBackend` or `rules` must be specified")]


_PATH: Final = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
_NO_PATH: Final = r"Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')"


def _controller(place: Place) -> list[FieldError]:
    name = place.value or ""
    domain, slash, rest = name.partition("/")
    if not name:
        return []
    if not slash or not domain or not rest:
        return [invalid(place.path, name, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    errors = [invalid(place.path, domain, text) for text in dns1123_subdomain(domain)]
    return errors if _PATH.fullmatch(rest) else [*errors, invalid(place.path, rest, _NO_PATH)]


def _parameters(place: Place) -> list[FieldError]:
    value, path = place.value, place.path
    if value is None:
        return []
    errors = _reference(value, path)
    scope, namespace = value.get("scope"), value.get("namespace")
    if scope is None:
        return [*errors, required(f"{path}.scope")]
    if scope not in ("Cluster", "Namespace"):
        errors.append(not_supported(f"{path}.scope", scope, ("Cluster", "Namespace")))
    elif scope == "Cluster" and namespace is not None:
        errors.append(forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'"))
    elif scope == "Namespace" and namespace is None:
        errors.append(required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'"))
    elif scope == "Namespace":
        errors += [invalid(f"{path}.namespace", namespace, text) for text in dns1123_label(namespace or "")]
    return errors


# -- addresses of Services --------------------------------------------------------------------------------------------


def _parent(place: Place) -> list[FieldError]:
    value, path = place.value, place.path
    if value is None:
        return [required(path)]
    errors = (
        [invalid(f"{path}.group", value["group"], text) for text in dns1123_subdomain(value["group"])]
        if value.get("group")
        else []
    )
    for field in ("resource", "name", "namespace"):
        text = value.get(field, "")
        if not text and field != "namespace":
            errors.append(required(f"{path}.{field}"))
        errors += [invalid(f"{path}.{field}", text, problem) for problem in path_segment(text)]
    return errors


def _cidrs(place: Place) -> list[FieldError]:
    cidrs, before = place.value or [], ((place.old or {}).get("spec") or {}).get("cidrs") or []
    if place.old is not None:
        several = (len(before), len(cidrs)) == (1, 2)
        if len(cidrs) != len(before) and not several:
            return [invalid(place.path, place.value, IMMUTABLE)]
        pairs = enumerate(zip(cidrs, before, strict=False))
        errors = [invalid(f"{place.path}[{i}]", new, IMMUTABLE) for i, (new, old) in pairs if new != old]
        return errors + (_new_cidrs(place.path, cidrs) if several else [])
    return _new_cidrs(place.path, cidrs)


def _new_cidrs(path: str, cidrs: list[str]) -> list[FieldError]:
    if not cidrs:
        return [required(path, "at least one CIDR required")]
    if len(cidrs) > 2:
        return [invalid(path, {"CIDRs": cidrs}, "may only hold up to 2 values")]
    errors: list[FieldError] = []
    networks = [network_of(text) for text in cidrs]
    for index, (text, network) in enumerate(zip(cidrs, networks, strict=True)):
        wrong = cidr_errors(text, f"{path}[{index}]")
        if not wrong and str(network) != text:
            wrong = [invalid(f"{path}[{index}]", text, f'must be in canonical form ("{network}")')]
        errors += wrong
    families = [network.version for network in networks if network is not None]
    if len(families) == 2 and families[0] == families[1]:
        reason = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        errors.append(invalid(path, cidrs, reason))
    return errors


RULES: Final[dict[str, tuple[Row, ...]]] = {
    "services": (),  # in `setpoint.apiserver.strategies.services`
    "networkpolicies.networking.k8s.io": (
        row("spec.podSelector", selector),
        *_direction("ingress", "from"),
        *_direction("egress", "to"),
        row("spec.policyTypes", _policy_types),
    ),
    "ingresses.networking.k8s.io": (
        row("spec", _something),
        row("spec.defaultBackend", _backend),
        row("spec.rules[].host", _host),
        row("spec.rules[].http", _http),
        row("spec.rules[].http.paths[]", _http_path),
        row("spec.rules[].http.paths[].backend", _backend),
        row("spec.tls[].hosts[]", _tls_host),
        row("spec.tls[].secretName", named(dns1123_subdomain)),
        row("spec.ingressClassName", unless_missing(named(dns1123_subdomain, empty=True))),
        row("spec", _one_class),
    ),
    "ingressclasses.networking.k8s.io": (
        row("spec.controller", longest(250), needed(), _controller, immutable),
        row("spec.parameters", _parameters),
    ),
    "ipaddresses.networking.k8s.io": (row("spec.parentRef", _parent, settled),),
    "servicecidrs.networking.k8s.io": (row("spec.cidrs", _cidrs),),
}
