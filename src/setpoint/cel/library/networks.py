"""IP addresses and networks."""

from __future__ import annotations

import ipaddress
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from setpoint.cel.declarations import Library, function, method
from setpoint.cel.errors import EvaluationError
from setpoint.cel.types import BOOL, INT, STRING, Type
from setpoint.cel.values import Opaque

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_IP: Final = Type("opaque", "net.IP")
_CIDR: Final = Type("opaque", "net.CIDR")


@dataclass(frozen=True, slots=True, eq=False)
class Ip(Opaque):
    """One IP address."""

    address: _Address

    @property
    def kind(self) -> Type:
        return _IP

    def equals(self, other: Opaque) -> bool:
        return isinstance(other, Ip) and self.address == other.address

    @property
    def size(self) -> int:
        return self.address.max_prefixlen // 8

    def __str__(self) -> str:
        return str(self.address)


@dataclass(frozen=True, slots=True, eq=False)
class Cidr(Opaque):
    """An address and the length of its network's prefix."""

    address: _Address
    length: int

    @property
    def kind(self) -> Type:
        return _CIDR

    def equals(self, other: Opaque) -> bool:
        return isinstance(other, Cidr) and (self.address, self.length) == (other.address, other.length)

    @property
    def size(self) -> int:
        return math.ceil(self.length / 8)

    def __str__(self) -> str:
        return f"{self.address}/{self.length}"

    @property
    def network(self) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
        return ipaddress.ip_network((self.address, self.length), strict=False)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _address(text: str) -> Ip:
    try:
        ip = ipaddress.ip_address(text)
    except ValueError:
        reason = f"ParseAddr({_quoted(text)}): unable to parse IP"
        raise EvaluationError(
            f"IP Address {_quoted(text)} parse error during conversion from string: {reason}"
        ) from None
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.scope_id:
            raise EvaluationError(f"IP address {_quoted(text)} with zone value is not allowed")
        if ip.ipv4_mapped:
            raise EvaluationError(f"IPv4-mapped IPv6 address {_quoted(text)} is not allowed")
    return Ip(ip)


def _cidr(text: str) -> Cidr:
    before = "network address parse error during conversion from string: "
    address, slash, length = text.rpartition("/")
    try:
        ip = ipaddress.ip_address(address)
        if not slash or not re.fullmatch(r"0|[1-9][0-9]{0,2}", length) or "%" in address:
            raise ValueError
        if int(length) > ip.max_prefixlen:
            raise ValueError
    except ValueError:
        reason = (
            f"netip.ParsePrefix({_quoted(text)}): no '/'" if not slash else f"netip.ParsePrefix({_quoted(text)}): bad"
        )
        raise EvaluationError(f"{before}{before}{reason}") from None
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped:
        raise EvaluationError(f"{before}IPv4-mapped IPv6 address {_quoted(text)} is not allowed")
    return Cidr(ip, int(length))


def _is(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            parse(text)
        except EvaluationError:
            return False
        return True

    return check


def _contains_ip(cidr: Cidr, ip: Ip) -> bool:
    return cidr.address.version == ip.address.version and ip.address in cidr.network


def _contains_cidr(cidr: Cidr, other: Cidr) -> bool:
    if cidr.address.version != other.address.version or cidr.length > other.length:
        return False
    return other.address in cidr.network


def _property(name: str) -> Callable[[Ip], bool]:
    return lambda ip: bool(getattr(ip.address, name))


def _is_link_local_multicast(ip: Ip) -> bool:
    if isinstance(ip.address, ipaddress.IPv4Address):
        return ip.address in ipaddress.IPv4Network("224.0.0.0/24")
    return ip.address.packed[0] == 0xFF and ip.address.packed[1] & 0x0F == 0x02


def _is_global_unicast(ip: Ip) -> bool:
    address = ip.address
    broadcast = isinstance(address, ipaddress.IPv4Address) and address == ipaddress.IPv4Address("255.255.255.255")
    return not (
        address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local or broadcast
    )


NETWORKS: Final = Library(
    (
        function("ip", "string_to_ip", (STRING,), _IP, _address),
        function("isIP", "is_ip", (STRING,), BOOL, _is(_address)),
        function("ip.isCanonical", "ip_is_canonical", (STRING,), BOOL, lambda text: str(_address(text)) == text),
        function("string", "ip_to_string", (_IP,), STRING, str),
        method("family", "ip_family", (_IP,), INT, lambda ip: ip.address.version),
        method("isUnspecified", "ip_is_unspecified", (_IP,), BOOL, _property("is_unspecified")),
        method("isLoopback", "ip_is_loopback", (_IP,), BOOL, _property("is_loopback")),
        method("isLinkLocalMulticast", "ip_is_link_local_multicast", (_IP,), BOOL, _is_link_local_multicast),
        method("isLinkLocalUnicast", "ip_is_link_local_unicast", (_IP,), BOOL, _property("is_link_local")),
        method("isGlobalUnicast", "ip_is_global_unicast", (_IP,), BOOL, _is_global_unicast),
        function("cidr", "string_to_cidr", (STRING,), _CIDR, _cidr),
        function("isCIDR", "is_cidr", (STRING,), BOOL, _is(_cidr)),
        function("string", "cidr_to_string", (_CIDR,), STRING, str),
        method("containsIP", "cidr_contains_ip_string", (_CIDR, STRING), BOOL, lambda cidr, text: _contains_ip(cidr, _address(text))),  # noqa: E501
        method("containsIP", "cidr_contains_ip_ip", (_CIDR, _IP), BOOL, _contains_ip),
        method("containsCIDR", "cidr_contains_cidr_string", (_CIDR, STRING), BOOL, lambda cidr, text: _contains_cidr(cidr, _cidr(text))),  # noqa: E501
        method("containsCIDR", "cidr_contains_cidr", (_CIDR, _CIDR), BOOL, _contains_cidr),
        method("ip", "cidr_ip", (_CIDR,), _IP, lambda cidr: Ip(cidr.address)),
        method("prefixLength", "cidr_prefix_length", (_CIDR,), INT, lambda cidr: cidr.length),
        method("masked", "cidr_masked", (_CIDR,), _CIDR, lambda cidr: Cidr(cidr.network.network_address, cidr.length)),
    ),
    {"net.IP": _IP, "net.CIDR": _CIDR},
)  # fmt: skip
