"""Requests: the amount of each resource that a pod takes on a node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import ceil
from typing import Final

from setpoint.meta import Quantity
from setpoint.models.core_v1 import Container, PodSpec

Amounts = dict[str, int]
"""Amounts by the name of the resource: CPU in thousandths of a core, everything else in whole units."""
CPU: Final = "cpu"
LEAST: Final = {CPU: 100, "memory": 200 * 1024 * 1024}
"""The amounts assumed for a container without requests when nodes are compared; the same as upstream's."""


@lru_cache(maxsize=4096)
def amount(resource: str, quantity: str) -> int:
    """A quantity as an integer, rounded up (CPU in thousandths); 0 for text that is not a quantity."""
    try:
        value = Quantity(quantity).value
    except ValueError:
        return 0
    return ceil(value * 1000) if resource == CPU else ceil(value)


def amounts(quantities: Mapping[str, str]) -> Amounts:
    return {resource: amount(resource, quantity) for resource, quantity in quantities.items()}


def requests_of(spec: PodSpec, *, least: Mapping[str, int] | None = None) -> Amounts:
    """The sum of the containers' requests or, if larger, the request of an init container, plus the pod's overhead.

    Sidecars (init containers that always restart) are added to all containers that start after them. Requests of the
    pod itself replace the requests of its containers. ``least`` is the amount that counts for a container without a
    request.
    """
    running: Amounts = {}
    beginning: Amounts = {}
    for container in spec.init_containers:
        wanted = _of(container, least)
        if container.restart_policy == "Always":
            _add(running, wanted)
            _raise(beginning, running)
        else:
            _raise(beginning, _sum(running, wanted))
    for container in spec.containers:
        _add(running, _of(container, least))
    _raise(running, beginning)
    if spec.resources is not None:
        running |= amounts(spec.resources.requests)
    _add(running, amounts(spec.overhead))
    return running


def _of(container: Container, least: Mapping[str, int] | None) -> Amounts:
    requests = amounts(container.resources.requests) if container.resources is not None else {}
    return requests if least is None else {**least, **requests}


def _add(into: Amounts, more: Mapping[str, int]) -> None:
    for resource, number in more.items():
        into[resource] = into.get(resource, 0) + number


def _sum(*parts: Mapping[str, int]) -> Amounts:
    total: Amounts = {}
    for part in parts:
        _add(total, part)
    return total


def _raise(into: Amounts, others: Mapping[str, int]) -> None:
    for resource, number in others.items():
        into[resource] = max(into.get(resource, 0), number)


def host_ports(containers: Iterable[Container]) -> frozenset[tuple[str, str, int]]:
    """The host ports that containers use: address, protocol and number."""
    return frozenset(
        (port.host_ip or "0.0.0.0", port.protocol or "TCP", port.host_port)  # noqa: S104 - as upstream calls all
        for container in containers
        for port in container.ports
        if port.host_port
    )


def ports_clash(left: Iterable[tuple[str, str, int]], right: Iterable[tuple[str, str, int]]) -> bool:
    """Whether two sets of host ports have a port in common; an address of zeros means every address."""
    every = "0.0.0.0"  # noqa: S104
    return any(
        (protocol, number) == (used, other_number) and (every in (address, other_address) or address == other_address)
        for address, protocol, number in left
        for other_address, used, other_number in right
    )
