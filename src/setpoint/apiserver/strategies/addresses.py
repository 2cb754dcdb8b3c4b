"""Checks of addresses, networks and ports, shared by several kinds.

Addresses and networks that different programs interpret differently are refused, as in upstream since 1.36: numbers
with leading zeros (some read them as octal), IPv4 addresses in the form of IPv6, and networks whose address has bits
set beyond the prefix. Values that an object already has (``stored``) are accepted.
"""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import IPv4Address, IPv4Network, IPv6Address
from typing import Final

from setpoint.schema import FieldError
from setpoint.schema.addresses import address_of, network_of, without_zeros
from setpoint.schema.errors import invalid

PORT: Final = "must be between 1 and 65535, inclusive"
PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_NO_ADDRESS: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_NO_NETWORK: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
LOOPBACK: Final = "may not be in the loopback range (127.0.0.0/8, ::1/128)"
_SPECIAL: Final = (
    ("is_unspecified", "may not be unspecified (0.0.0.0 or ::)"),
    ("is_loopback", LOOPBACK),
    ("is_link_local", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
)
_MULTICAST: Final = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
_LINK_MULTICAST: Final = IPv4Network("224.0.0.0/24")


def address_problem(text: str) -> str:
    """The error in an address, worded for its user; empty if the address is valid."""
    ip = address_of(text)
    if ip is None:
        return _NO_ADDRESS
    if without_zeros(text) != text:
        return "must not have leading 0s"
    mapped = isinstance(ip, IPv6Address) and ip.ipv4_mapped is not None
    return "must not be an IPv4-mapped IPv6 address" if mapped else ""


def address_errors(text: str, path: str, stored: Collection[str] = ()) -> list[FieldError]:
    """The errors in an IP address; empty if the address is in ``stored``."""
    problem = "" if text in stored else address_problem(text)
    return [invalid(path, text, problem)] if problem else []


def cidr_errors(text: str, path: str, stored: Collection[str] = ()) -> list[FieldError]:
    """The errors in a network (an address with a prefix length); empty if the network is in ``stored``."""
    problem = "" if text in stored else _network_problem(text)
    return [invalid(path, text, problem)] if problem else []


def _network_problem(text: str) -> str:
    network = network_of(text)
    if network is None:
        return _NO_NETWORK
    address, _, length = text.partition("/")
    if without_zeros(address) != address or str(int(length)) != length:
        return "must not have leading 0s in IP or prefix length"
    ip = address_of(address)
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped is not None:
        return "must not have an IPv4-mapped IPv6 address"
    return "must not have bits set beyond the prefix length" if ip != network.network_address else ""


def special_errors(text: str, path: str) -> list[FieldError]:
    """The errors in the address of an endpoint or a service, which must not be unspecified, loopback, link-local or
    link-local multicast. Empty if ``text`` is not an address.
    """
    address = address_of(text)
    if isinstance(address, IPv6Address):
        address = address.ipv4_mapped or address  # which are one address to Go
    if address is None:
        return []
    problems = [reason for name, reason in _SPECIAL if getattr(address, name)]
    if _is_link_multicast(address):
        problems.append(_MULTICAST)
    return [invalid(path, text, reason) for reason in problems]


def _is_link_multicast(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv4Address):
        return address in _LINK_MULTICAST
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 2  # the flags before the scope may be any
