"""The addresses of hollow nodes and of the pods on them, in one IP family or in both (dual stack)."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from ipaddress import IPv6Address
from typing import Final

IPV4: Final = (4,)
"""The IP versions of nodes and pods unless the server is dual-stack or has IPv6 only."""
_LOOPBACK: Final = {4: "127.0.0.1", 6: "::1"}
LOOPBACKS: Final = frozenset(_LOOPBACK.values())
"""The addresses of pods that are processes on this machine."""
_PODS: Final = int(IPv6Address("fd00:10:64::"))
"""The network that has those of all nodes' pods."""


def host_ips(number: int, versions: Sequence[int]) -> list[str]:
    """The addresses of the hollow node with that number, one for each IP version."""
    addresses = {4: f"172.18.{number // 250}.{number % 250 + 2}", 6: f"fd00:172:18::{number + 2:x}"}
    return [addresses[version] for version in versions]


def pod_cidrs(number: int, versions: Sequence[int]) -> list[str]:
    """The networks of pods that are in the spec of the hollow node with that number, one for each IP version."""
    networks = {4: f"10.{64 + number // 256}.{number % 256}.0/24", 6: f"{_ipv6(number, 0)}/64"}
    return [networks[version] for version in versions]


def pod_ips(uid: str, versions: Sequence[int], *, is_process: bool = False) -> list[str]:
    """The addresses of the pod with that uid, one for each IP version."""
    if is_process:
        return [_LOOPBACK[version] for version in versions]
    number = int.from_bytes(blake2b(uid.encode(), digest_size=8).digest(), "big")
    addresses = {
        4: f"10.{64 + number % 64}.{number // 64 % 256}.{number // 16384 % 253 + 2}",
        6: _ipv6(number % 64, number // 64 % 2**32 + 2**16),
    }
    return [addresses[version] for version in versions]


def _ipv6(network: int, host: int) -> str:
    """The address of a pod in canonical form (RFC 5952), which servers require."""
    return str(IPv6Address(_PODS | network << 64 | host))
