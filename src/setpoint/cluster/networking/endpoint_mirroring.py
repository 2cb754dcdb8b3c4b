"""Mirrors Endpoints that users write into EndpointSlices, which is where clients look for addresses."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Final, NamedTuple

from setpoint.cluster.networking.endpoints import SERVICE, SLICES_BY
from setpoint.controller import Context, Controller, Outcome, done
from setpoint.meta import ObjectMeta, to_wire
from setpoint.models.core_v1 import EndpointAddress, Endpoints, EndpointSubset, Service
from setpoint.models.core_v1 import EndpointPort as SubsetPort
from setpoint.models.discovery_v1 import Endpoint, EndpointConditions, EndpointPort, EndpointSlice

MOST: Final = 1000
"""The maximum number of addresses that are mirrored from one set of ports."""
_SKIP: Final = "endpointslice.kubernetes.io/skip-mirror"
_ELECTION: Final = "control-plane.alpha.kubernetes.io/leader"
_NOT_COPIED: Final = frozenset(
    {"endpoints.kubernetes.io/last-change-trigger-time", "kubectl.kubernetes.io/last-applied-configuration"}
)

Address = tuple[str, str]
"""An IP address and the uid of what is there."""


class _Port(NamedTuple):
    name: str
    port: int
    protocol: str
    app_protocol: str | None


class EndpointMirroring:
    """Writes Endpoints into EndpointSlices, one for each set of ports and IP family, if a Service without a selector
    has their name.

    Endpoints with the label ``endpointslice.kubernetes.io/skip-mirror: "true"``, and those in which leaders are
    elected, are not mirrored. Slices that are no longer wanted are deleted; those of deleted Endpoints go with their
    owner. Of more than 1,000 addresses for the same ports, the first 1,000 are mirrored, and an event says so.
    """

    def __init__(self) -> None:
        self.controller = (
            Controller(Endpoints, self._reconcile, name="endpointslicemirroring", leader_only=False)
            .owns(EndpointSlice)
            .watches(Service, lambda head: [head.key])
        )

    async def _reconcile(self, endpoints: Endpoints, ctx: Context) -> Outcome:
        slices = {
            endpoint_slice.name: endpoint_slice
            for endpoint_slice in ctx.owned(EndpointSlice)
            if not endpoint_slice.is_deleting
        }
        if await _is_mirrored(endpoints, ctx):
            for wanted in _slices_of(endpoints):
                existing = slices.pop(wanted.name, None)
                if existing is None or _content(existing) != _content(wanted):
                    await ctx.apply(wanted)
            _report_skipped(endpoints, ctx)
        for surplus in slices.values():
            await ctx.delete(surplus)
        return done()


async def _is_mirrored(endpoints: Endpoints, ctx: Context) -> bool:
    if endpoints.labels.get(_SKIP) == "true" or _ELECTION in endpoints.annotations:
        return False
    service = await ctx.get(Service, endpoints.name)
    return service is not None and not service.spec.selector


def _report_skipped(endpoints: Endpoints, ctx: Context) -> None:
    skipped = sum(max(0, len(addresses) - MOST) for _, addresses in _groups(endpoints.subsets))
    if skipped:
        text = f"A max of {MOST} addresses can be mirrored to EndpointSlices per Endpoints subset. "
        ctx.event("Warning", "TooManyAddressesToMirror", f"{text}{skipped} addresses were skipped")


def _slices_of(endpoints: Endpoints) -> Iterator[EndpointSlice]:
    labels = {**endpoints.labels, SERVICE: endpoints.name, SLICES_BY: "endpointslicemirroring-controller.k8s.io"}
    annotations = {key: value for key, value in endpoints.annotations.items() if key not in _NOT_COPIED}
    for ports, addresses in _groups(endpoints.subsets):
        families: dict[str, list[Endpoint]] = {}
        for address, ready in addresses[:MOST]:
            families.setdefault("IPv6" if ":" in address.ip else "IPv4", []).append(_endpoint(address, ready=ready))
        for family, members in families.items():
            place = (ports, family, endpoints.uid)
            word = blake2b(repr(place).encode(), digest_size=4).hexdigest()
            yield EndpointSlice(
                metadata=ObjectMeta(
                    name=f"{endpoints.name}-{word}", labels=dict(labels), annotations=dict(annotations)
                ),
                address_type=family,
                endpoints=members,
                ports=[
                    EndpointPort(name=item.name, port=item.port, protocol=item.protocol, app_protocol=item.app_protocol)
                    for item in ports
                ],
            )


def _groups(subsets: list[EndpointSubset]) -> list[tuple[tuple[_Port, ...], list[tuple[EndpointAddress, bool]]]]:
    """The addresses, and whether they are ready, by the ports that they share, as upstream repacks subsets: an address
    that is not ready in one of the subsets with a port is not ready there.
    """
    records: dict[Address, EndpointAddress] = {}
    by_port: dict[_Port | None, dict[Address, bool]] = {}
    for subset in subsets:
        ports: list[_Port | None] = [*map(_port, subset.ports)]
        for port in ports or [None]:
            states = by_port.setdefault(port, {})
            for addresses, ready in ((subset.addresses, True), (subset.not_ready_addresses, False)):
                for address in addresses:
                    key = (address.ip, (address.target_ref.uid or "") if address.target_ref is not None else "")
                    records.setdefault(key, address)
                    states[key] = ready and states.get(key, True)
    by_addresses: dict[frozenset[tuple[Address, bool]], tuple[list[_Port], dict[Address, bool]]] = {}
    for shared, states in by_port.items():
        together, _ = by_addresses.setdefault(frozenset(states.items()), ([], states))
        together += [] if shared is None else [shared]
    return [
        (tuple(together), [(records[key], ready) for key, ready in states.items()])
        for together, states in by_addresses.values()
    ]


def _port(port: SubsetPort) -> _Port:
    return _Port(port.name or "", port.port, port.protocol or "TCP", port.app_protocol)


def _endpoint(address: EndpointAddress, *, ready: bool) -> Endpoint:
    return Endpoint(
        addresses=[address.ip],
        conditions=EndpointConditions(ready=ready),
        hostname=address.hostname or None,
        node_name=address.node_name,
        target_ref=address.target_ref,
    )


def _content(endpoint_slice: EndpointSlice) -> object:
    metadata = endpoint_slice.metadata
    return to_wire(endpoint_slice.endpoints), to_wire(endpoint_slice.ports), metadata.labels, metadata.annotations
