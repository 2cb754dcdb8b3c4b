"""Warnings about addresses and networks that objects keep from a time in which they were not yet refused."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address, ip_network

from setpoint.meta.text_escaping import quote
from setpoint.schema.addresses import address_of, network_of


def address_warnings(text: str, path: str) -> Iterator[str]:
    """A warning if the address ``text`` is not written in the standard form."""
    address = address_of(text)
    if address is None:
        return
    mapped = getattr(address, "ipv4_mapped", None)
    if mapped is not None or (address.version == 4 and str(address) != text):
        yield f"{path}: non-standard IP address {quote(text)} is invalid: use {quote(str(mapped or address))}"
    elif address.version == 6 and str(address) != text:
        canonical = quote(str(ip_address(text)))
        yield f"{path}: IPv6 address {quote(text)} should be in RFC 5952 canonical format ({canonical})"


def network_warnings(text: str, path: str) -> Iterator[str]:
    """The warnings about the network ``text``: bits beyond its prefix, or a form that is not the standard one."""
    network, ip = network_of(text), address_of(text.partition("/")[0])
    if network is None or ip is None:
        return
    ambiguous = ip != network.network_address
    if ambiguous:
        single = quote(f"{ip}/{network.max_prefixlen}")
        choice = f"(should be {quote(str(network))} or {single}?)"
        yield f"{path}: CIDR value {quote(text)} is ambiguous in this context {choice}"
    address, _, length = text.partition("/")
    standard = getattr(ip, "ipv4_mapped", None) is None and str(int(length)) == length
    if not standard or (ip.version == 4 and str(ip) != address):
        yield f"{path}: non-standard CIDR value {quote(text)} is invalid: use {quote(str(network))}"
    elif not ambiguous and ip.version == 6 and str(network) != text:
        canonical = quote(str(ip_network(text)))
        yield f"{path}: IPv6 CIDR value {quote(text)} should be in RFC 5952 canonical format ({canonical})"
