"""Rules for endpoint slices and endpoints."""

from __future__ import annotations

from typing import Final

from setpoint.apiserver.strategies.addresses import PORT, PROTOCOLS, address_errors, special_errors
from setpoint.apiserver.strategies.rules.rule_table import (
    Check,
    Place,
    Row,
    named,
    needed,
    one_of,
    row,
    settled,
    unless_missing,
)
from setpoint.meta.names import dns1123_label, dns1123_subdomain, label_value, qualified_name
from setpoint.schema import FieldError
from setpoint.schema.addresses import address_of
from setpoint.schema.errors import duplicate, invalid, required, too_many


def _endpoint_addresses(place: Place) -> list[FieldError]:
    addresses, kind = place.value or [], place.obj.get("addressType", "")
    if not addresses:
        return [required(place.path)]
    if len(addresses) > 100:
        return [too_many(place.path, len(addresses), 100)]
    errors: list[FieldError] = []
    for index, text in enumerate(addresses):
        field_path, address = f"{place.path}[{index}]", address_of(text)
        if kind == "FQDN":
            errors += _domain_errors(text.removesuffix("."), field_path)
        elif kind in ("IPv4", "IPv6"):
            wrong = address_errors(text, field_path)
            if not wrong and kind == "IPv6" and str(address) != text:
                wrong = [invalid(field_path, text, f'must be in canonical form ("{address}")')]
            if address is None or wrong:
                errors += wrong
                continue
            if address.version != int(kind[-1]):
                errors.append(invalid(place.path, text, f"must be an {kind} address"))
            errors += special_errors(text, field_path)
    return errors


def _domain_errors(name: str, path: str) -> list[FieldError]:
    """The errors in a fully qualified host name."""
    if not name:
        return [required(path)]
    if problems := dns1123_subdomain(name):
        return [invalid(path, name, ",".join(problems))]
    parts = name.split(".")
    if len(parts) < 2:
        return [invalid(path, name, "should be a domain with at least two segments separated by dots")]
    wrong = ((part, problems) for part in parts if (problems := dns1123_label(part)))
    return [invalid(path, part, ",".join(problems)) for part, problems in wrong][:1]


def _at_most(most: int) -> Check:
    return lambda place: [too_many(place.path, len(place.value), most)] if len(place.value or ()) > most else []


def _unique_names(check: Check) -> Check:
    """A check that applies ``check`` to the name of each item of a list, and that refuses repeated names."""

    def of(place: Place) -> list[FieldError]:
        errors: list[FieldError] = []
        names: set[str] = set()
        for index, item in enumerate(place.value or ()):
            name, field_path = item.get("name", ""), f"{place.path}[{index}].name"
            if name in names:
                errors.append(duplicate(field_path, name))
            names.add(name)
            errors += check(place.inner(name, field_path, item))
        return errors

    return of


def _subset(place: Place) -> list[FieldError]:
    subset = place.value
    errors: list[FieldError] = []
    if not subset.get("addresses") and not subset.get("notReadyAddresses"):
        errors.append(required(place.path, "must specify `addresses` or `notReadyAddresses`"))
    for field in ("addresses", "notReadyAddresses"):
        for index, item in enumerate(subset.get(field) or ()):
            text, field_path = item.get("ip", ""), f"{place.path}.{field}[{index}].ip"
            errors += address_errors(text, field_path)
            if address_of(text) is None:
                errors.append(invalid(field_path, text, "must be a valid IP address"))
            errors += special_errors(text, field_path)
    ports = subset.get("ports") or []
    for index, port in enumerate(ports):
        field_path = f"{place.path}.ports[{index}]"
        if len(ports) > 1 and not port.get("name"):
            errors.append(required(f"{field_path}.name"))
        number = port.get("port", 0)
        if not 1 <= number <= 65535:
            errors.append(invalid(f"{field_path}.port", number, PORT))
    return errors


_HOSTNAMES: Final = tuple(
    item
    for field in ("addresses", "notReadyAddresses")
    for item in (
        row(f"subsets[].{field}[].hostname", named(dns1123_label)),
        row(f"subsets[].{field}[].nodeName", unless_missing(named(dns1123_subdomain, empty=True))),
    )
)

RULES: Final[dict[str, tuple[Row, ...]]] = {
    "endpointslices.discovery.k8s.io": (
        row("ports", _at_most(20000), _unique_names(named(dns1123_label))),
        row("ports[].protocol", unless_missing(one_of(*PROTOCOLS, empty=True))),
        row("ports[].appProtocol", unless_missing(named(qualified_name, empty=True))),
        row("endpoints", _at_most(1000)),
        row("endpoints[].addresses", _endpoint_addresses),
        row("endpoints[].nodeName", unless_missing(named(dns1123_subdomain, empty=True))),
        row("endpoints[].hostname", unless_missing(named(dns1123_label, empty=True))),
        row("endpoints[].hints.forZones", _unique_names(named(label_value))),
        row("endpoints[].hints.forNodes", _unique_names(named(dns1123_subdomain, empty=True))),
        row("addressType", needed(), one_of("FQDN", "IPv4", "IPv6"), settled),
    ),
    "endpoints": (
        row("subsets[]", _subset),
        *_HOSTNAMES,
        row("subsets[].ports[].name", named(dns1123_label)),
        row("subsets[].ports[].protocol", one_of(*PROTOCOLS)),
        row("subsets[].ports[].appProtocol", unless_missing(named(qualified_name, empty=True))),
    ),
}
