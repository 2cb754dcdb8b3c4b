"""Addresses of Services of type LoadBalancer, where a hollow load balancer was asked for."""

from __future__ import annotations

from tests.cluster.crashes import Play, Restartable, played
from tests.cluster.workloads import service

from setpoint.models.core_v1 import LoadBalancerIngress, LoadBalancerStatus, Service
from setpoint.testing import Cluster, advance, cluster, run, virtual_time

LB = ["service-lb"]


def named(name: str, **spec: object) -> Service:
    new_service = service(type="LoadBalancer", **spec)
    new_service.metadata.name = name
    return new_service


async def address(world: Cluster, name: str) -> str | None:
    status = (await world.get(Service, name)).status.load_balancer
    return status.ingress[0].ip if status is not None and status.ingress else None


@virtual_time
async def test_each_load_balancer_has_an_address_of_its_own_until_it_is_none() -> None:
    async with cluster(control_plane=LB, nodes=0) as world:
        for number in range(20):
            await world.create(named(f"web-{number}"))
        await world.settle()
        addresses = [await address(world, f"web-{number}") for number in range(20)]
        assert len({address for address in addresses if address is not None and address.startswith("198.1")}) == 20
        one = await world.get(Service, "web-0")
        one.spec.type = "ClusterIP"
        one.spec.allocate_load_balancer_node_ports = None
        await world.update(one)
        await world.settle()
        assert await address(world, "web-0") is None
        assert await address(world, "web-1") == addresses[1]


@virtual_time
async def test_wishes_and_classes_are_respected_and_what_is_there_stays() -> None:
    async with cluster(control_plane=LB, nodes=0) as world:
        await world.create(named("wish", load_balancer_ip="192.0.2.7"))
        await world.create(named("other", load_balancer_class="example.com/own"))
        await world.create(named("given"))
        await world.settle()
        given = await world.get(Service, "given")
        given.status.load_balancer = LoadBalancerStatus(ingress=[LoadBalancerIngress(ip="192.0.2.9")])
        await world.client.update_status(given)
        await advance(60)
        assert [await address(world, name) for name in ("wish", "other", "given")] == ["192.0.2.7", None, "192.0.2.9"]


@virtual_time
async def test_no_address_is_given_where_no_load_balancer_was_asked_for() -> None:
    async with cluster(nodes=0) as world:
        await world.create(named("web"))
        await advance(60)
        assert await address(world, "web") is None


def test_a_crash_after_any_write_leads_to_the_same_addresses() -> None:
    async def two(plane: Restartable) -> None:
        for name in ("a", "b"):
            await plane.world.create(named(name))
            await plane.settle()

    play = Play(two, LB, (Service,))
    expected, writes = run(played(play))
    assert len(writes) == 2
    assert [run(played(play, crash))[0] for crash in (1, 2)] == [expected, expected]
