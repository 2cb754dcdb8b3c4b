"""IP addresses and networks in the forms that API servers read: an IPv4 address may have leading zeros."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

_LONGEST: Final = 256
"""The maximum length of a text from which leading zeros are removed; no valid address is longer."""
_ZERO: Final = re.compile(r"(?<![0-9])0[0-9]")
_DOTTED: Final = re.compile(r"(?:[0-9]+\.){3}[0-9]+\Z")


def address_of(text: str) -> IPv4Address | IPv6Address | None:
    """The address that ``text`` stands for, with or without leading zeros; None if it is not an address, or has a
    zone.
    """
    try:
        return ip_address("" if "%" in text else without_zeros(text))
    except ValueError:
        return None


def network_of(text: str) -> IPv4Network | IPv6Network | None:
    """The network that ``text``, an address with a prefix length, stands for; None if ``text`` is not valid."""
    address, _, length = text.partition("/")
    if "%" in address or not (length.isascii() and length.isdigit() and len(length) < _LONGEST):
        return None
    try:
        return ip_network(f"{without_zeros(address)}/{int(length)}", strict=False)
    except ValueError:
        return None


def without_zeros(text: str) -> str:
    """An address without the leading zeros of its decimal numbers; any other text is unchanged."""
    match = _DOTTED.search(text) if _ZERO.search(text) and len(text) <= _LONGEST else None
    return text[: match.start()] + ".".join(str(int(part)) for part in match[0].split(".")) if match else text
