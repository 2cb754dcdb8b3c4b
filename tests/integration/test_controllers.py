"""Controllers against a whole API server: the loop, clean-up, events, and one leader at a time."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

import setpoint as sp
from setpoint.client import Client, NotFound
from setpoint.manager import LeaderElection, Manager, Sharding
from setpoint.meta import Object
from setpoint.models.coordination_v1 import Lease
from setpoint.models.core_v1 import ConfigMap
from setpoint.models.events_v1 import Event

from .conftest import Target
from .kinds import Gizmos, GizmoSpec, gizmos_in, installed, until


@pytest.fixture
async def gizmo(client: Client, namespace: str) -> AsyncIterator[type[Gizmos]]:
    kind = gizmos_in(f"{namespace}.example.com")
    async with installed(client, kind):
        yield kind
        # A definition goes when its objects do, which the test's controllers may not be there to let go of.
        for obj in await client.list(kind, namespace=namespace):
            await client.patch(kind, obj.name, {"metadata": {"finalizers": None}}, namespace=namespace)


def maps_for(kind: type[Gizmos], cleaned: list[str], name: str = "gizmo") -> sp.Controller[Gizmos]:
    """A controller that keeps as many config maps as a gizmo's size says."""

    async def reconcile(gizmo: Gizmos, ctx: sp.Context) -> None:
        wanted = [
            ConfigMap.named(f"{gizmo.name}-{number}", data={"n": str(number)}) for number in range(gizmo.spec.size)
        ]
        kept = await ctx.keep(ConfigMap, wanted)
        gizmo.status.ready = len(kept)
        ctx.event("Normal", "Kept", f"{len(kept)} config maps are there")

    async def clean(gizmo: Gizmos, ctx: sp.Context) -> None:
        cleaned.append(gizmo.name)

    return sp.Controller(kind, reconcile, name=name).owns(ConfigMap).finalize(clean)


async def test_a_controller_does_its_work_from_the_first_object_to_the_last(
    client: Client, namespace: str, gizmo: type[Gizmos]
) -> None:
    cleaned: list[str] = []
    async with Manager(client, controllers=[maps_for(gizmo, cleaned)], namespace=namespace):
        new_gizmo = await client.create(gizmo.named("g", namespace, spec=GizmoSpec(size=3)))
        await until(lambda: _ready(client, gizmo, namespace, 3))
        assert await _maps(client, namespace) == ["g-0", "g-1", "g-2"]
        (child,) = [
            config_map for config_map in await client.list(ConfigMap, namespace=namespace) if config_map.name == "g-0"
        ]
        assert [(owner.uid, owner.controller) for owner in child.metadata.owner_references] == [(new_gizmo.uid, True)]
        await client.delete(ConfigMap, "g-1", namespace=namespace)
        await client.patch(ConfigMap, "g-2", {"data": {"n": "wrong"}}, namespace=namespace)

        async def healed() -> bool:
            try:
                wrong = await client.get(ConfigMap, "g-2", namespace=namespace)
            except NotFound:
                return False
            return wrong.data == {"n": "2"} and await _maps(client, namespace) == ["g-0", "g-1", "g-2"]

        await until(healed)
        await client.patch_scale(gizmo, "g", 1, namespace=namespace)
        await until(lambda: _ready(client, gizmo, namespace, 1))
        assert await _maps(client, namespace) == ["g-0"]
        await until(lambda: _events(client, namespace))
        await client.delete(gizmo, "g", namespace=namespace)
        await until(lambda: _gone(client, gizmo, "g", namespace))
    assert cleaned == ["g"]


async def _ready(client: Client, kind: type[Gizmos], namespace: str, count: int) -> bool:
    obj = await client.get(kind, "g", namespace=namespace)
    return obj.status.ready == count and obj.status.observed_generation == obj.metadata.generation


async def _maps(client: Client, namespace: str) -> list[str]:
    return sorted(
        config_map.name
        for config_map in await client.list(ConfigMap, namespace=namespace)
        if config_map.name.startswith("g-")
    )


async def _events(client: Client, namespace: str) -> bool:
    return "Kept" in [event.reason for event in await client.list(Event, namespace=namespace)]


async def _gone(client: Client, kind: type[Object], name: str, namespace: str) -> bool:
    try:
        await client.get(kind, name, namespace=namespace)
    except NotFound:
        return True
    return False


async def test_one_leads_at_a_time_and_the_next_takes_over(client: Client, namespace: str, gizmo: type[Gizmos]) -> None:
    election = LeaderElection(
        name="gizmos",
        identity="one",
        namespace=namespace,
        lease_duration=4,
        renew_deadline=3,
        retry_period=0.5,
    )

    def candidate(identity: str) -> Manager:
        mine = dataclasses.replace(election, identity=identity)
        controller = maps_for(gizmo, [], name=f"gizmo-{identity}")
        return Manager(client, controllers=[controller], namespace=namespace, leader_election=mine)

    await client.create(gizmo.named("g", namespace, spec=GizmoSpec(size=1)))
    one, two = candidate("one"), candidate("two")
    async with asyncio.timeout(60):
        async with one:
            await one.elected.wait()
            assert (await client.get(Lease, "gizmos", namespace=namespace)).spec.holder_identity == "one"
            async with two:
                await until(lambda: _ready(client, gizmo, namespace, 1))
                assert not two.elected.is_set()
                one.stop()
                await two.elected.wait()
                assert (await client.get(Lease, "gizmos", namespace=namespace)).spec.holder_identity == "two"
                await client.patch_scale(gizmo, "g", 2, namespace=namespace)
                await until(lambda: _ready(client, gizmo, namespace, 2))


async def test_processes_share_the_objects_and_one_takes_those_of_another_that_ends(
    client: Client, target: Target, namespace: str, gizmo: type[Gizmos]
) -> None:
    workers: dict[str, dict[int, set[str]]] = {}
    names = [f"g{number}" for number in range(12)]

    @asynccontextmanager
    async def member(identity: str) -> AsyncIterator[None]:
        async def reconcile(gizmo: Gizmos, ctx: sp.Context) -> None:
            workers.setdefault(gizmo.name, {}).setdefault(gizmo.spec.size, set()).add(identity)
            gizmo.status.ready = gizmo.spec.size

        controller = sp.Controller(gizmo, reconcile, name="gizmo")  # keys are shared out by this name, too
        sharding = Sharding(
            name="gizmos", identity=identity, namespace=namespace, lease_duration=4, renew_deadline=3, retry_period=0.5
        )
        async with (
            Client(target.make_transport()) as own,
            Manager(own, controllers=[controller], namespace=namespace, sharding=sharding),
        ):
            yield

    async def done(size: int) -> bool:
        for name in names:
            await client.patch(gizmo, name, {"spec": {"size": size}}, namespace=namespace)
        await until(lambda: _all_ready(client, gizmo, namespace, size))
        return True

    def of(size: int) -> set[str]:
        return {worker for sizes in workers.values() for worker in sizes.get(size, ())}

    def shared(size: int) -> bool:
        return of(size) == {"one", "two"} and all(len(sizes[size]) == 1 for sizes in workers.values())

    for name in names:
        await client.create(gizmo.named(name, namespace, spec=GizmoSpec(size=0)))
    async with asyncio.timeout(120):
        async with member("one"):
            await done(1)
            assert of(1) == {"one"}
            async with member("two"):
                size = 2
                while not (await done(size) and shared(size)):  # until they know each other, and keys have moved
                    size = size % 9 + 1
                    workers.clear()
        async with member("three"):
            await done(10)
            assert of(10) == {"three"}


async def _all_ready(client: Client, kind: type[Gizmos], namespace: str, size: int) -> bool:
    return all(obj.status.ready == size for obj in await client.list(kind, namespace=namespace))
