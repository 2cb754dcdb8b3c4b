"""Endpoints of Services without selectors are mirrored into EndpointSlices."""

from __future__ import annotations

from typing import Any

from setpoint.models.core_v1 import (
    EndpointAddress,
    EndpointPort,
    Endpoints,
    EndpointSubset,
    Event,
    Service,
    ServicePort,
    ServiceSpec,
)
from setpoint.models.discovery_v1 import EndpointSlice
from setpoint.testing import Cluster, cluster, virtual_time

MANAGED = "endpointslice.kubernetes.io/managed-by"


def service(**spec: Any) -> Service:
    return Service.named("web", "default", spec=ServiceSpec(ports=[ServicePort(port=80)], **spec))


def subset(ips: list[str], *ports: int, late: list[str] | None = None) -> EndpointSubset:
    return EndpointSubset(
        addresses=[EndpointAddress(ip=ip) for ip in ips],
        not_ready_addresses=[EndpointAddress(ip=ip) for ip in late or ()],
        ports=[EndpointPort(name=f"p{port}", port=port) for port in ports],
    )


def endpoints(*subsets: EndpointSubset, **labels: str) -> Endpoints:
    result = Endpoints.named("web", "default", labels, subsets=list(subsets))
    result.metadata.annotations = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "mine": "yes"}
    return result


async def mirrored(world: Cluster) -> list[tuple[str, list[int | None], list[tuple[str, bool | None]]]]:
    """The family, ports, and addresses with their readiness, of each slice."""
    await world.settle()
    return sorted(
        (
            item.address_type,
            [port.port for port in item.ports],
            sorted(
                (address.addresses[0], address.conditions.ready if address.conditions is not None else None)
                for address in item.endpoints
            ),
        )
        for item in await world.list(EndpointSlice, selector={"kubernetes.io/service-name": "web"})
    )


@virtual_time
async def test_endpoints_are_mirrored_when_they_are_made_changed_and_deleted() -> None:
    async with cluster(nodes=0) as world:
        await world.create(service())
        await world.create(endpoints(subset(["10.1.2.3"], 80), tier="front"))
        assert await mirrored(world) == [("IPv4", [80], [("10.1.2.3", True)])]
        (made,) = await world.list(EndpointSlice)
        assert made.labels == {
            "tier": "front",
            "kubernetes.io/service-name": "web",
            MANAGED: "endpointslicemirroring-controller.k8s.io",
        }
        assert made.annotations == {"mine": "yes"}
        assert made.metadata.controller is not None
        assert made.metadata.controller.kind == "Endpoints"
        changed = await world.get(Endpoints, "web")
        changed.subsets = [subset(["10.2.3.4"], 80, late=["10.2.3.5"])]
        await world.update(changed)
        assert await mirrored(world) == [("IPv4", [80], [("10.2.3.4", True), ("10.2.3.5", False)])]
        assert [item.name for item in await world.list(EndpointSlice)] == [made.name], "the same slice"
        await world.delete(changed)
        assert await mirrored(world) == []


@virtual_time
async def test_subsets_are_grouped_by_the_addresses_that_share_ports() -> None:
    """As upstream repacks them before it mirrors them."""
    async with cluster(nodes=0) as world:
        await world.create(service())
        await world.create(endpoints(
            subset(["10.0.0.1"], 80), subset(["10.0.0.1"], 90), subset(["fd00::1", "10.0.0.3"], 60),
            subset(["10.0.0.2"], 70), subset([], 70, late=["10.0.0.2"]),
        ))  # fmt: skip
        assert await mirrored(world) == [
            ("IPv4", [60], [("10.0.0.3", True)]),
            ("IPv4", [70], [("10.0.0.2", False)]),
            ("IPv4", [80, 90], [("10.0.0.1", True)]),
            ("IPv6", [60], [("fd00::1", True)]),
        ]


@virtual_time
async def test_what_is_not_to_be_mirrored_has_no_slices() -> None:
    async with cluster(nodes=0) as world:
        await world.create(endpoints(subset(["10.0.0.1"], 80)))
        assert await mirrored(world) == [], "there is no Service"
        await world.create(service())
        assert len(await mirrored(world)) == 1
        for skip in ("true", "false"):
            body = {"metadata": {"labels": {"endpointslice.kubernetes.io/skip-mirror": skip}}}
            await world.client.patch(Endpoints, "web", body, namespace="default")
            assert len(await mirrored(world)) == (skip == "false")
        await world.delete(await world.get(Service, "web"))
        assert await mirrored(world) == []
        await world.create(service(selector={"app": "web"}))
        await mirrored(world)
        managers = {item.labels[MANAGED] for item in await world.list(EndpointSlice)}
        assert managers == {"endpointslice-controller.k8s.io"}, "a Service with a selector has slices of its pods"


@virtual_time
async def test_more_than_a_thousand_addresses_are_cut_and_an_event_says_so() -> None:
    async with cluster(nodes=0) as world:
        await world.create(service())
        many = [f"10.0.{number // 250}.{number % 250 + 1}" for number in range(1003)]
        await world.create(endpoints(subset(many, 80)))
        ((_, _, addresses),) = await mirrored(world)
        assert len(addresses) == 1000
        (event,) = [item for item in await world.list(Event) if item.reason == "TooManyAddressesToMirror"]
        assert event.message == (
            "A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset. 3 addresses were skipped"
        )
