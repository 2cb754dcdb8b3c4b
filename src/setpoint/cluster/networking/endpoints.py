"""Endpoints and EndpointSlices: the addresses of a Service's pods."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Final, NamedTuple

from setpoint.client import NotFound
from setpoint.cluster.selector_index import SelectorIndex
from setpoint.controller import Context, Controller, Outcome, after, done
from setpoint.meta import ObjectMeta, Selector, to_wire
from setpoint.models.core_v1 import (
    EndpointAddress,
    Endpoints,
    EndpointSubset,
    ObjectReference,
    Pod,
    Service,
    ServicePort,
)
from setpoint.models.core_v1 import EndpointPort as SubsetPort
from setpoint.models.discovery_v1 import Endpoint, EndpointConditions, EndpointPort, EndpointSlice

SERVICE: Final = "kubernetes.io/service-name"
SLICES_BY: Final = "endpointslice.kubernetes.io/managed-by"
ENDPOINTS_BY: Final = "endpoints.kubernetes.io/managed-by"
HEADLESS: Final = "service.kubernetes.io/headless"
_IPV4: Final = "IPv4"
MOST: Final = 100
"""The maximum number of endpoints in one slice."""
LATE: Final = 5.0
"""Seconds after which Endpoints are checked again if their Service is on the server but not in the cache yet."""


class Port(NamedTuple):
    """A port of a Service as one pod serves it."""

    name: str
    port: int
    protocol: str
    app_protocol: str | None


class ServiceEndpoints:
    """Writes the addresses of a Service's pods into its EndpointSlices and its Endpoints.

    A Service without a selector is left to other controllers. If the Service refers to a port by name, that port is
    left out for pods without a port of that name.
    """

    def __init__(self) -> None:
        self._selectors = SelectorIndex()
        self.controller = (
            Controller(
                Service,
                self._reconcile,
                name="endpoints",
                leader_only=False,
                predicates=[self._selectors.forget_deleted],
            )
            .owns(EndpointSlice)
            .watches(Endpoints, lambda head: [head.key])
            .watches(Pod, self._selectors.matching)
        )

    async def _reconcile(self, service: Service, ctx: Context) -> Outcome:
        if not service.spec.selector or service.spec.type == "ExternalName":
            self._selectors.pop(service.key, None)
            return done()
        selector = self._selectors[service.key] = Selector.of(service.spec.selector)
        pods = [pod for pod in await ctx.list(Pod, selector=selector) if pod.status.pod_ip and not pod.is_finished]
        groups: dict[tuple[Port, ...], list[Pod]] = {}
        for pod in sorted(pods, key=lambda pod: pod.key):
            groups.setdefault(tuple(ports_of(service, pod)), []).append(pod)
        await self._keep_slices(service, groups, ctx)
        await self._keep_endpoints(service, groups, ctx)
        return done()

    async def _keep_slices(self, service: Service, groups: dict[tuple[Port, ...], list[Pod]], ctx: Context) -> None:
        slices = {
            endpoint_slice.name: endpoint_slice
            for endpoint_slice in ctx.owned(EndpointSlice)
            if not endpoint_slice.is_deleting
        }
        for wanted in slices_of(service, groups):
            existing = slices.pop(wanted.name, None)
            if existing is None or _content(existing) != _content(wanted):
                await ctx.apply(wanted)
        for surplus in slices.values():
            await ctx.delete(surplus)

    async def _keep_endpoints(self, service: Service, groups: dict[tuple[Port, ...], list[Pod]], ctx: Context) -> None:
        labels = {**service.labels, ENDPOINTS_BY: "endpoint-controller"}
        if service.spec.cluster_ip == "None":
            labels[HEADLESS] = ""
        wanted = Endpoints(
            metadata=ObjectMeta(name=service.name, labels=labels),
            subsets=list(_subsets(service, groups)),
        )
        existing = await ctx.get(Endpoints, service.name)
        if existing is None or (to_wire(existing.subsets), existing.labels) != (to_wire(wanted.subsets), labels):
            await ctx.apply(wanted, controlled=False)


class StaleEndpoints:
    """Deletes Endpoints whose Service is gone; Endpoints made by other controllers or users stay."""

    def __init__(self) -> None:
        self.controller = Controller(
            Endpoints, self._reconcile, name="stale-endpoints", metadata_only=True, leader_only=False
        ).watches(Service, lambda head: [head.key], metadata_only=True)

    async def _reconcile(self, endpoints: Endpoints, ctx: Context) -> Outcome:
        if ENDPOINTS_BY not in endpoints.labels or await ctx.get(Service, endpoints.name) is not None:
            return done()
        # The cache of whole Services, from which Endpoints are made, may have seen one that this cache has not.
        try:
            await ctx.client.get(Service, endpoints.name, namespace=endpoints.namespace)
        except NotFound:
            await ctx.delete(endpoints)
            return done()
        return after(LATE, "its Service is not in this cache yet")


def slices_of(service: Service, groups: dict[tuple[Port, ...], list[Pod]]) -> Iterator[EndpointSlice]:
    """The slices that a Service should have, in each of its IP families: one or more for each group of pods that have
    an address of the family, or an empty one if there is no such pod.
    """
    labels = {**service.labels, SERVICE: service.name, SLICES_BY: "endpointslice-controller.k8s.io"}
    if service.spec.cluster_ip == "None":
        labels[HEADLESS] = ""
    for family in service.spec.ip_families or (_IPV4,):
        reachable = {ports: [pod for pod in pods if _ips(pod, family)] for ports, pods in groups.items()}
        for ports, pods in ({ports: pods for ports, pods in reachable.items() if pods} or {(): []}).items():
            for first in range(0, max(len(pods), 1), MOST):
                place = (ports, first) if family == _IPV4 else (ports, first, family)
                word = blake2b(repr(place).encode(), digest_size=4).hexdigest()
                yield EndpointSlice(
                    metadata=ObjectMeta(name=f"{service.name}-{word}", labels=dict(labels)),
                    address_type=family,
                    endpoints=[_endpoint(service, pod, family) for pod in pods[first : first + MOST]],
                    ports=[
                        EndpointPort(
                            name=service_port.name,
                            port=service_port.port,
                            protocol=service_port.protocol,
                            app_protocol=service_port.app_protocol,
                        )
                        for service_port in ports
                    ],
                )


def _ips(pod: Pod, family: str) -> list[str]:
    addresses = [item.ip for item in pod.status.pod_ips] or [pod.status.pod_ip or ""]
    return [address for address in addresses if address and (":" in address) == (family != _IPV4)]


def ports_of(service: Service, pod: Pod) -> Iterator[Port]:
    for port in service.spec.ports:
        number = _target(port, pod)
        if number:
            yield Port(port.name or "", number, port.protocol or "TCP", port.app_protocol)


def _target(port: ServicePort, pod: Pod) -> int | None:
    target = port.target_port
    if target in (None, 0, ""):
        return port.port
    if isinstance(target, int):
        return target
    for container in pod.spec.containers:
        for container_port in container.ports:
            if container_port.name == target and (container_port.protocol or "TCP") == (port.protocol or "TCP"):
                return container_port.container_port
    return None


def _endpoint(service: Service, pod: Pod, family: str) -> Endpoint:
    published = bool(service.spec.publish_not_ready_addresses)
    return Endpoint(
        addresses=_ips(pod, family),
        conditions=EndpointConditions(
            ready=published or (pod.is_ready and not pod.is_deleting), serving=pod.is_ready, terminating=pod.is_deleting
        ),
        hostname=_hostname(service, pod),
        node_name=pod.spec.node_name,
        target_ref=_reference(pod),
    )


def _subsets(service: Service, groups: dict[tuple[Port, ...], list[Pod]]) -> Iterator[EndpointSubset]:
    """The subsets of a Service's Endpoints, as kube-controller-manager's endpoints controller writes them.

    Three kinds of pods are left out: terminating pods, unless the Service publishes them; pods that serve none of the
    Service's ports, unless the Service has no ports; and pods without an address of the Service's first IP family.
    """
    published = bool(service.spec.publish_not_ready_addresses)
    family = next(iter(service.spec.ip_families), _IPV4)
    for ports, pods in groups.items():
        alive = [pod for pod in pods if _ips(pod, family) and (published or not pod.is_deleting)]
        if not alive or (service.spec.ports and not ports):
            continue
        ready = [pod for pod in alive if published or pod.is_ready]
        yield EndpointSubset(
            addresses=[_address(service, pod, family) for pod in ready],
            not_ready_addresses=[_address(service, pod, family) for pod in alive if pod not in ready],
            ports=[
                SubsetPort(
                    name=number.name or None,
                    port=number.port,
                    protocol=number.protocol,
                    app_protocol=number.app_protocol,
                )
                for number in ports
            ],
        )


def _address(service: Service, pod: Pod, family: str) -> EndpointAddress:
    return EndpointAddress(
        ip=_ips(pod, family)[0],
        hostname=_hostname(service, pod),
        node_name=pod.spec.node_name,
        target_ref=_reference(pod),
    )


def _hostname(service: Service, pod: Pod) -> str | None:
    return pod.spec.hostname if pod.spec.hostname and pod.spec.subdomain == service.name else None


def _reference(pod: Pod) -> ObjectReference:
    return ObjectReference(kind="Pod", namespace=pod.namespace, name=pod.name, uid=pod.uid)


def _content(endpoint_slice: EndpointSlice) -> object:
    return to_wire(endpoint_slice.endpoints), to_wire(endpoint_slice.ports), endpoint_slice.labels
