"""Checks of addresses, networks and ports that the rules of several kinds share."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

from setpoint.schema import FieldError
from setpoint.schema.errors import invalid

__all__ = ["CIDR", "PORT", "PROTOCOLS", "address_of", "is_cidr", "special_errors"]

PORT: Final = "must be between 1 and 65535, inclusive"
PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
CIDR: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_SPECIAL: Final = (
    ("is_unspecified", "may not be unspecified (0.0.0.0 or ::)"),
    ("is_loopback", "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
    ("is_link_local", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
    ("is_multicast", "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
)


def address_of(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


def special_errors(text: str, path: str) -> list[FieldError]:
    """The errors for an address that endpoints and services must not have."""
    address = address_of(text)
    return [invalid(path, text, why) for name, why in _SPECIAL if address is not None and getattr(address, name)]


def is_cidr(text: str) -> bool:
    try:
        ip_network(text, strict=False)
    except ValueError:
        return False
    return "/" in text
