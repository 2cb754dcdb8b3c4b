"""The addresses and node ports that are free for a service, as in upstream's allocators.

Addresses are in the server's networks of services or in those of ServiceCIDRs, and node ports are from 30000 to 32767;
the lowest free one is allocated.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct, field

from setpoint.apiserver.errors import internal_error
from setpoint.apiserver.resources.service_networks import ServiceNetwork
from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.service_ip_addresses import COLLECTION, canonical
from setpoint.schema.addresses import address_of, network_of

if TYPE_CHECKING:
    from setpoint.apiserver.resources.write_context import WriteContext

_FIRST: Final = 10
"""The offset in a network of the first address that is allocated automatically. Lower addresses are for services with a
fixed address, such as the API server's; they are allocated automatically only if all others are taken.
"""
_PORTS: Final = range(30000, 32768)
_OUTSIDE: Final = "provided port is not in the valid range. The range of valid ports is 30000-32767"
_TAKEN: Final = "provided port is already allocated"
_CIDRS: Final = "servicecidrs.networking.k8s.io"
_OUT_OF_RANGE: Final = "the provided IP (%s) is not in the valid range. The range of valid IPs is %s"
_FULL: Final = "range is full"


class _Port(Struct):
    node_port: int = field(name="nodePort", default=0)


class _Spec(Struct):
    cluster_ips: list[str] = field(name="clusterIPs", default=[])
    ports: list[_Port] = []
    health: int = field(name="healthCheckNodePort", default=0)


class _Service(Struct):
    spec: _Spec


class _Range(Struct):
    cidrs: list[str] = []


class _Condition(Struct):
    type: str = ""
    status: str = ""


class _Status(Struct):
    conditions: list[_Condition] = []


class _Metadata(Struct):
    deleted: str | None = field(name="deletionTimestamp", default=None)


class _ServiceCidr(Struct):
    metadata: _Metadata
    spec: _Range
    status: _Status = field(default_factory=_Status)

    @property
    def usable(self) -> bool:
        """Whether addresses may be allocated. A missing condition counts as ready, because it is a controller of the
        cluster that sets it.
        """
        ready = (condition.status == "True" for condition in self.status.conditions if condition.type == "Ready")
        return self.metadata.deleted is None and next(ready, True)


_decoder = msgspec.json.Decoder(_Service)
_ranges = msgspec.json.Decoder(_ServiceCidr)


class Allocator:
    """The allocated addresses and ports during one request. They are collected when they are first needed. ``own`` is
    the old spec of the request's service; None for a new service.
    """

    def __init__(self, call: WriteContext, own: JsonObject | None) -> None:
        self._call = call
        self._own = own or {}
        self._read: tuple[set[str], set[int]] | None = None

    @property
    def addresses(self) -> set[str]:
        return self._all()[0]

    @property
    def ports(self) -> set[int]:
        """The allocated ports, including those allocated by this request."""
        return self._all()[1]

    def _all(self) -> tuple[set[str], set[int]]:
        if self._read is None:
            others = [_decoder.decode(record.value).spec for record in self._call.storage.scan("services")]
            addresses = {canonical(address) for other in others for address in other.cluster_ips}
            addresses |= {record.name for record in self._call.storage.scan(COLLECTION)}
            ports = {port.node_port for other in others for port in other.ports} | {other.health for other in others}
            own = {canonical(address) for address in self._own.get("clusterIPs") or ()}
            self._read = addresses - own, ports - {0}
        return self._read

    @property
    def families(self) -> list[str]:
        """The IP families of which the server has addresses, the default first."""
        return [f"IPv{network.version}" for network in self._call.service_networks]

    def address(self, family: str, service: str) -> str:
        """The lowest free address of the family. Raises ApiStatusError (500), which names the service, if there is
        none.
        """
        all_of = (_addresses(network) for network in self._networks(family))
        free = next((address for address in chain.from_iterable(all_of) if address not in self.addresses), None)
        if free is None:
            raise internal_error(f'failed to allocate a serviceIP for Service "{service}": {_FULL}')
        return free

    def refusal(self, text: str, family: str) -> str:
        """The problem with a requested address of the family; empty if it is free. In a dry run, every address in the
        server's network counts as free, as in upstream.
        """
        if self._call.dry_run:
            network = next(network for network in self._networks(family))
            return "" if _has(network, text) else _OUT_OF_RANGE % (text, network)
        if not any(_has(network, text) for network in self._networks(family)):
            return "the provided network does not match the current range"
        return "provided IP is already allocated" if canonical(text) in self.addresses else ""

    def _networks(self, family: str) -> Iterator[ServiceNetwork]:
        """The networks of the family: the server's, if it has one, and those of ServiceCIDRs."""
        networks: list[ServiceNetwork | None] = [*self._call.service_networks]
        for record in self._call.storage.scan(_CIDRS):
            cidr = _ranges.decode(record.value)
            if cidr.usable:
                networks += map(network_of, cidr.spec.cidrs)
        return (network for network in networks if network is not None and f"IPv{network.version}" == family)

    def port(self, name: str) -> int:
        """The lowest free port, which is allocated to this request. Raises ApiStatusError (500), with ``name`` as the
        name of the port, if there is none.
        """
        number = next((number for number in _PORTS if number not in self.ports), None)
        if number is None:
            raise internal_error(f"failed to allocate a {name}: {_FULL}")
        self.ports.add(number)
        return number

    def reserve(self, number: int) -> str:
        """Allocates the port to this request. Returns the problem with its number; empty if the port was free. In a dry
        run, every port counts as free, as in upstream, and nothing is allocated.
        """
        if self._call.dry_run:
            return ""
        if number not in _PORTS:
            return _OUTSIDE
        if number in self.ports:
            return _TAKEN
        self.ports.add(number)
        return ""


def _addresses(network: ServiceNetwork) -> Iterator[str]:
    """The addresses of the network that services may have, in the order in which they are allocated."""
    end = network.num_addresses - _broadcasts(network)
    return (str(network[number]) for number in chain(range(_FIRST, end), range(1, min(_FIRST, end))))


def _has(network: ServiceNetwork, text: str) -> bool:
    """Whether services may have the address: it is in the network, and neither its first nor a broadcast address."""
    address = address_of(text)
    return address in network and address not in (network[0], network[-1] if _broadcasts(network) else None)


def _broadcasts(network: ServiceNetwork) -> bool:
    """Whether the last address of the network is for broadcasts, which IPv6 does not have."""
    return network.version == 4
