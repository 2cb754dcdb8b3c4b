"""The tests of clustercopies.py: home and two other clusters, one of which can be cut off."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

from clustercopies import CLUSTERS, HOME, PLACED, program
from copies import TO, controllers

import setpoint as sp
from setpoint.client import InProcessTransport, Request, Response, Transport, TransportError
from setpoint.meta import from_wire
from setpoint.models.core_v1 import Namespace, Secret
from setpoint.models.events_v1 import Event
from setpoint.models.rbac_v1 import ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject
from setpoint.permissions import declared, rules

TEAMS = [Namespace.named("red", "", {"team": "red"}), Namespace.named("blue", "", {"team": "blue"})]
USER = "system:serviceaccount:default:controllers"
"""The program, in each cluster."""


def role() -> list[sp.Object]:
    """The objects that give the program's user in each cluster the permissions that its declarations need."""
    cluster_role = ClusterRole.named("copies")
    cluster_role.rules = [from_wire(PolicyRule, rule_) for rule_ in rules(declared([*controllers, program()[1]]))]
    whose = RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name="copies")
    bound = ClusterRoleBinding.named("copies", role_ref=whose)
    bound.subjects = [Subject(api_group="rbac.authorization.k8s.io", kind="User", name=USER)]
    return [cluster_role, bound]


class Way(Transport):
    """The way to a cluster, which may be closed."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner
        self.is_closed = False

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        return self._send(request)

    @asynccontextmanager
    async def _send(self, request: Request) -> AsyncGenerator[Response]:
        if self.is_closed:
            raise TransportError("no route to host", sent=False)
        async with self.inner.send(request) as response:
            yield response

    async def close(self) -> None:
        await self.inner.close()


class World:
    """Home and the other clusters, by name, and the ways to these."""

    def __init__(self, fleet: sp.Fleet, clusters: dict[str, sp.testing.Cluster]) -> None:
        self.fleet = fleet
        self.clusters = clusters
        self.ways = {
            name: Way(InProcessTransport(server.server.handle, user=USER)) for name, server in clusters.items()
        }
        self.home = clusters["home"]

    async def engage(self, name: str) -> None:
        await self.fleet.engage(name, self.clusters[name].client.over(self.ways[name]))

    async def copies(self) -> dict[str, str]:
        """The values of all Secrets of the name, by cluster and namespace."""
        return {
            f"{name}/{secret.namespace}": secret.data["token"].decode()
            for name, cluster in self.clusters.items()
            for secret in await cluster.list(Secret)
            if secret.name == "pull"
        }


@asynccontextmanager
async def world(*engaged: str) -> AsyncGenerator[World]:
    fleet, controller = program()
    async with AsyncExitStack() as stack:
        clusters = {
            name: sp.testing.cluster(objects=[*TEAMS, *role()], control_plane=False)
            for name in ("home", "east", "west")
        }
        for seed, cluster in enumerate(clusters.values()):
            cluster.server.random.seed(seed)  # else their objects would have the same uids
            await stack.enter_async_context(cluster)
        world_ = World(fleet, clusters)
        for name in engaged:
            await world_.engage(name)
        options = sp.ManagerOptions(now=world_.home.now, random=world_.home.random)
        manager = sp.Manager(
            world_.home.client.over(world_.ways["home"]), controllers=[controller], fleet=fleet, options=options
        )
        await stack.enter_async_context(manager)
        yield world_


def original(value: str, clusters: str = "east,west", to: str = "team=red") -> Secret:
    annotations = {CLUSTERS: clusters, TO: to}
    return Secret.named(
        "pull", "default", annotations={k: v for k, v in annotations.items() if v}, string_data={"token": value}
    )


@sp.testing.virtual_time
async def test_copies_come_into_the_clusters_and_their_namespaces_and_go_with_their_original() -> None:
    async with world("east", "west") as world_:
        await world_.home.apply(original("a"))
        await sp.testing.advance(5)
        copies = {"east/default": "a", "east/red": "a", "west/default": "a", "west/red": "a"}
        assert await world_.copies() == {"home/default": "a"} | copies
        await world_.home.apply(original("b", clusters="west", to="team=blue"))
        await sp.testing.advance(5)
        assert await world_.copies() == {"home/default": "b", "west/default": "b", "west/blue": "b"}
        await world_.home.delete(await world_.home.get(Secret, "pull"))
        await sp.testing.advance(5)
        assert await world_.copies() == {}


@sp.testing.virtual_time
async def test_a_cluster_that_goes_away_stops_no_other_and_has_what_it_missed_when_it_is_back() -> None:
    async with world("east", "west") as world_:
        await world_.home.apply(original("a"))
        await sp.testing.advance(5)
        world_.ways["east"].is_closed = True
        await world_.home.apply(original("b"))
        await sp.testing.advance(600)
        copies = await world_.copies()
        assert (copies["west/red"], copies["east/red"]) == ("b", "a")
        world_.ways["east"].is_closed = False
        await sp.testing.advance(180)
        assert set((await world_.copies()).values()) == {"b"}


@sp.testing.virtual_time
async def test_an_original_waits_for_a_cluster_that_is_away_until_its_copies_there_have_gone() -> None:
    async with world("east", "west") as world_:
        await world_.home.apply(original("a"))
        await sp.testing.advance(5)
        world_.ways["east"].is_closed = True
        await world_.home.delete(await world_.home.get(Secret, "pull"))
        await sp.testing.advance(600)
        assert sorted(await world_.copies()) == ["east/default", "east/red", "home/default"]
        assert (await world_.home.get(Secret, "pull")).annotations[PLACED] == "east"
        world_.ways["east"].is_closed = False
        await sp.testing.advance(180)
        assert await world_.copies() == {}


@sp.testing.virtual_time
async def test_a_cluster_that_has_left_the_fleet_is_not_forgotten() -> None:
    async with world("east", "west") as world_:
        await world_.home.apply(original("a"))
        await sp.testing.advance(5)
        await world_.fleet.disengage("east")
        await world_.home.delete(await world_.home.get(Secret, "pull"))
        await sp.testing.advance(600)
        assert sorted(await world_.copies()) == ["east/default", "east/red", "home/default"]
        notes = {event.note for event in await world_.home.list(Event) if event.reason == "NotInFleet"}
        assert notes == {"cluster east of this Secret is not in the fleet"}
        await world_.engage("east")
        await sp.testing.advance(180)
        assert await world_.copies() == {}


@sp.testing.virtual_time
async def test_an_original_for_all_clusters_gets_those_that_come_later() -> None:
    async with world("west") as world_:
        await world_.home.apply(original("a", clusters="*"))
        await sp.testing.advance(5)
        assert sorted(await world_.copies()) == ["home/default", "west/default", "west/red"]
        await world_.engage("east")
        await sp.testing.advance(90)
        assert sorted(await world_.copies()) == [
            "east/default", "east/red", "home/default", "west/default", "west/red",
        ]  # fmt: skip


@sp.testing.virtual_time
async def test_a_secret_of_others_in_a_cluster_is_not_touched_and_makes_room_when_it_goes() -> None:
    async with world("east", "west") as world_:
        others = await world_.clusters["east"].create(Secret.named("pull", "default", string_data={"token": "theirs"}))
        await world_.home.apply(original("a"))
        await sp.testing.advance(5)
        copies = await world_.copies()
        assert (copies["east/default"], copies["west/default"]) == ("theirs", "a")
        await world_.clusters["east"].delete(others)
        await sp.testing.advance(90)
        assert (await world_.copies())["east/red"] == "a"


@sp.testing.virtual_time
async def test_a_copy_that_is_changed_is_restored() -> None:
    async with world("east") as world_:
        await world_.home.apply(original("a", clusters="east"))
        await sp.testing.advance(5)
        copy = await world_.clusters["east"].get(Secret, "pull")
        assert HOME in copy.annotations
        copy.data = {"token": b"other"}
        await world_.clusters["east"].update(copy)
        await sp.testing.advance(1)
        assert set((await world_.copies()).values()) == {"a"}


async def scenario(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(original("a", clusters="far"))
    await cluster.settle()
    await cluster.apply(original("b", clusters="far,near", to="team=blue"))
    await cluster.settle()
    await cluster.delete(await cluster.get(Secret, "pull"))
    await cluster.settle()
    await cluster.apply(original("c", clusters="far"))
    await cluster.settle()


def simulated(budget: sp.simulation.Budget, **options: Any) -> sp.simulation.Report:
    """Simulates the scenario under faults; test_survival.py runs it."""
    return sp.simulation.check(
        scenario, program, objects=TEAMS, fleet=True, control_plane=False, budget=budget, **options
    )
