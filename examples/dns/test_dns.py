"""The tests of dns.py: its zone is a system outside of the cluster, which fails as such systems do."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from dns import HOSTNAME, Record, Zone, controller

import setpoint as sp
from setpoint.models.core_v1 import LoadBalancerIngress, LoadBalancerStatus, Service, ServicePort, ServiceSpec


class Provider(sp.simulation.External, Zone):
    """The zone, behind a network. A provider that can't read its zone fails; it never says that the zone is empty."""

    @sp.simulation.call
    async def records(self) -> list[Record]:
        return await Zone.records(self)

    @sp.simulation.call
    async def change(self, create: list[Record], replace: list[Record], delete: list[Record]) -> None:
        await Zone.change(self, create, replace, delete)


def using(zone: Zone) -> Any:
    @asynccontextmanager
    async def lifespan(manager: sp.Manager) -> AsyncGenerator[Zone]:
        yield zone

    return lifespan


def running(zone: Zone) -> AbstractAsyncContextManager[sp.testing.Cluster]:
    return sp.testing.cluster(controller, lifespan=using(zone))


async def service(cluster: sp.testing.Cluster, name: str, hostnames: str, *addresses: str, alias: str = "") -> Service:
    """Applies a Service, and says what addresses its load balancer has."""
    spec = ServiceSpec(type="LoadBalancer", ports=[ServicePort(port=80)], selector={"app": name})
    annotations = {HOSTNAME: hostnames} if hostnames else {}
    applied = await cluster.apply(Service.named(name, "default", annotations=annotations, spec=spec))
    ingress = [LoadBalancerIngress(ip=address) for address in addresses] or [LoadBalancerIngress(hostname=alias)]
    applied.status.load_balancer = LoadBalancerStatus(ingress=ingress)
    return await cluster.client.update_status(applied)


def records(zone: Zone) -> dict[str, tuple[str, ...]]:
    """The records without those of ownership."""
    return {place: record.values for place, record in zone.content.items() if record.type != "TXT"}


@sp.testing.virtual_time
async def test_names_follow_the_service_and_go_with_it() -> None:
    zone = Zone()
    async with running(zone) as cluster:
        service_ = await service(cluster, "shop", "shop.example.org, www.example.org.", "192.0.2.7")
        await cluster.settle()
        assert records(zone) == {"A shop.example.org": ("192.0.2.7",), "A www.example.org": ("192.0.2.7",)}
        owner = zone.content["TXT shop.example.org"].values
        assert owner == (f"heritage=dns.example.com,service=default/shop,uid={service_.uid}",)
        await service(cluster, "shop", "shop.example.org", "192.0.2.8")
        await cluster.settle()
        assert records(zone) == {"A shop.example.org": ("192.0.2.8",)}
        await service(cluster, "shop", "shop.example.org", alias="balancer.example.net")
        await cluster.settle()
        assert records(zone) == {"CNAME shop.example.org": ("balancer.example.net",)}
        await cluster.delete(service_)
        await cluster.settle()
        assert zone.content == {}
        assert await cluster.find(Service, "shop") is None


@sp.testing.virtual_time
async def test_a_service_that_asks_no_more_has_no_records() -> None:
    zone = Zone()
    async with running(zone) as cluster:
        await service(cluster, "shop", "shop.example.org", "192.0.2.7")
        await cluster.settle()
        await service(cluster, "shop", "", "192.0.2.7")
        await cluster.settle()
        assert zone.content == {}


@sp.testing.virtual_time
async def test_records_of_others_are_never_touched() -> None:
    by_hand = Record("www.example.org", "A", ("198.51.100.1",))
    zone = Zone(by_hand)
    async with running(zone) as cluster:
        service_ = await service(cluster, "shop", "www.example.org,shop.example.org", "192.0.2.7")
        await cluster.settle()
        assert records(zone) == {"A www.example.org": by_hand.values, "A shop.example.org": ("192.0.2.7",)}
        await cluster.delete(service_)
        await cluster.settle()
        assert zone.content == {"A www.example.org": by_hand}


@sp.testing.virtual_time
async def test_a_name_is_the_firsts_until_it_lets_go() -> None:
    zone = Zone()
    async with running(zone) as cluster:
        first = await service(cluster, "first", "shop.example.org", "192.0.2.1")
        await cluster.settle()
        await service(cluster, "second", "shop.example.org", "192.0.2.2")
        await cluster.settle()
        assert records(zone) == {"A shop.example.org": ("192.0.2.1",)}
        await cluster.delete(first)
        await cluster.settle()
        assert records(zone) == {"A shop.example.org": ("192.0.2.2",)}


async def scenario(cluster: sp.testing.Cluster) -> None:
    await service(cluster, "shop", "shop.example.org,by-hand.example.org", "192.0.2.7")
    await cluster.settle()
    await service(cluster, "shop", "www.example.org", "192.0.2.8")
    await cluster.settle()
    await cluster.delete(await cluster.get(Service, "shop"))
    await cluster.settle()
    await service(cluster, "shop", "shop.example.org", "192.0.2.9")
    await cluster.settle()


def simulated(budget: sp.simulation.Budget, **options: Any) -> sp.simulation.Report:
    """Simulates the scenario under faults; test_survival.py runs it."""
    zone = Provider(Record("by-hand.example.org", "A", ("198.51.100.1",)))
    return sp.simulation.check(
        scenario,
        lambda: [controller],
        control_plane=False,
        lifespan=using(zone),
        externals=[zone],
        budget=budget,
        **options,
    )


OLD_LIST = (
    "sp1-eNodzEEKwjAQheGrhHFbEKoWzboKXYgHKEHSZCTBkoRM1EXI3R1d_o-PV8GAhD3q03FYDkMPHQQeClK520CSDAadfeQ9gazw"
    "0K-1EMi5wtMHyzQz1bkw0IWTCiax43Lxw2yGBd0PdnC9jdNlOo-CML-9QRIW_3dbcjGJTQ9KNdXaFxxiLsg"
)
"""The plan: a restart before the last step, and a first list from before the deletion."""


def test_a_process_that_begins_with_an_old_list_makes_no_records_of_a_service_that_is_gone() -> None:
    simulated(sp.simulation.Budget(), workers=0, replay=OLD_LIST)
