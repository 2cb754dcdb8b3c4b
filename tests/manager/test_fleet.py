"""Several clusters in one manager: none stops another, and they come and go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest
from prometheus_client import generate_latest
from tests.controller.world import Wire

import setpoint as sp
from setpoint.apiserver import ApiServer
from setpoint.cache import Head, UndeclaredRead
from setpoint.client import Client, InProcessTransport, Request, TransportError
from setpoint.controller.explain.explanation import explain
from setpoint.manager import (
    LeaderElection,
    LeadershipLost,
    Manager,
    ManagerOptions,
    ProcessMetrics,
    Serving,
    Sharding,
    WriteRefused,
)
from setpoint.models.core_v1 import ConfigMap, Namespace
from setpoint.models.events_v1 import Event
from setpoint.testing import EPOCH, advance, virtual_time


def now() -> datetime:
    return EPOCH + timedelta(seconds=asyncio.get_running_loop().time())


class World:
    """API servers by name, with ConfigMaps a and b in each; what was reconciled, and where."""

    def __init__(self) -> None:
        self.admin: dict[str, Client] = {}
        self.wires: dict[str, Wire] = {}
        self.clients: dict[str, Client] = {}
        self.seen: list[tuple[str, str, str]] = []

    def outage(self, name: str, *, over: bool = False) -> None:
        def refuse(request: Request) -> None:
            raise TransportError(f"{name} can't be reached", sent=False)

        self.wires[name].before = (lambda request: None) if over else refuse

    async def reconcile(self, obj: ConfigMap, ctx: sp.Context) -> None:
        self.seen.append((ctx.cluster, ctx.key, obj.data.get("x", "")))
        if obj.metadata.annotations.get("seen") != obj.data.get("x", ""):
            await ctx.patch(obj, {"metadata": {"annotations": {"seen": obj.data.get("x", "")}}})
            ctx.event(obj.data.get("type", "Normal"), "Seen", f"in {ctx.cluster}")

    def controller(self, **options: Any) -> sp.Controller[ConfigMap]:
        return sp.Controller(ConfigMap, self.reconcile, name="copy", namespace="default", **options)

    async def mark(self, cluster: str, name: str, x: str) -> None:
        await self.admin[cluster].patch(ConfigMap, name, {"data": {"x": x}}, namespace="default")

    async def marked(self, cluster: str, name: str = "a") -> str:
        config_map = await self.admin[cluster].get(ConfigMap, name, namespace="default")
        return config_map.metadata.annotations.get("seen", "")


@asynccontextmanager
async def world(*names: str) -> AsyncIterator[World]:
    new_world = World()
    async with AsyncExitStack() as stack:
        for name in ("home", *names):
            server = await stack.enter_async_context(ApiServer(now=now, random=Random(name)))
            new_world.admin[name] = Client(InProcessTransport(server.handle))
            new_world.wires[name] = Wire(InProcessTransport(server.handle))
            new_world.clients[name] = Client(new_world.wires[name], random=Random(1))
            for item in ("a", "b"):
                await new_world.admin[name].create(ConfigMap.named(item, "default", data={"x": "1"}))
        yield new_world


def manager(world: World, fleet: sp.Fleet, *, shutdown_timeout: float | None = 30.0, **options: Any) -> Manager:
    settings = ManagerOptions(now=now, random=Random(0), shutdown_timeout=shutdown_timeout)
    return Manager(world.clients["home"], fleet=fleet, options=settings, **options)


@virtual_time
async def test_every_cluster_has_its_own_run_of_the_controller_and_the_same_key_in_two_is_two() -> None:
    async with world("east", "west") as new_world:
        fleet = sp.Fleet(new_world.controller())
        await fleet.engage("east", new_world.clients["east"])
        await fleet.engage("west", new_world.clients["west"])
        async with manager(new_world, fleet) as running:
            await advance(1)
            assert sorted(set(new_world.seen)) == [
                (cluster, f"default/{name}", "1") for cluster in ("east", "west") for name in ("a", "b")
            ]
            await new_world.mark("east", "a", "2")
            await advance(1)
            assert (await new_world.marked("east"), await new_world.marked("west"), await new_world.marked("home")) == (
                "2",
                "1",
                "",
            )
            assert [cluster.name for cluster in fleet] == ["east", "west"]
            assert sorted(fleet.runs()) == ["copy@east", "copy@west"]
            explanation = explain(fleet.runs()["copy@east"], "default/a")
            assert (explanation.controller, explanation.state) == ("copy@east", "idle")
            assert running.readyz.answer("", {"verbose": [""]})[1].splitlines()[:2] == [
                "[+]cluster-east ok",
                "[+]cluster-west ok",
            ]
        (event,) = [event for event in (await new_world.admin["west"].list(Event)).items if event.regarding.name == "a"]
        assert (event.note, event.reporting_controller) == ("in west", "copy")


@virtual_time
async def test_a_cluster_that_can_not_be_reached_stops_no_other_and_is_taken_up_when_it_can() -> None:
    async with world("east", "west") as new_world:
        fleet = sp.Fleet(new_world.controller(sync_timeout=5.0))
        new_world.outage("east")
        for name in ("east", "west"):
            await fleet.engage(name, new_world.clients[name])
        async with manager(new_world, fleet) as running:
            await advance(2)
            assert await new_world.marked("west") == "1"
            assert "east can't be reached" in fleet["east"].problem()
            assert fleet["west"].problem() == ""
            assert running.readyz.answer("", {})[0] == 200, "one cluster of many must not stop a roll-out"
            status, text = running.readyz.answer("cluster-east", {})
            assert (status, "east can't be reached" in text) == (500, True)
            assert "[!]cluster-east failed (ignored): " in running.readyz.answer("", {"verbose": [""]})[1]
            assert explain(fleet.runs()["copy@east"], "default/a").state == "not synced"
            await advance(600)  # its controller has failed and was started again, several times
            new_world.outage("east", over=True)
            await advance(130)
            assert await new_world.marked("east") == "1"
            assert fleet["east"].problem() == ""
            # Nor does one that fails later.
            new_world.outage("west")
            await new_world.mark("east", "a", "2")
            await advance(5)
            assert await new_world.marked("east") == "2"
            assert fleet["west"].problem() == ""  # its watch has not noticed anything


@virtual_time
async def test_a_cluster_that_goes_away_while_it_works_is_told_and_so_is_its_return() -> None:
    async with world("east") as new_world:
        fleet = sp.Fleet(new_world.controller())
        fleet.reads(Namespace)
        await fleet.engage("east", new_world.clients["east"])
        async with manager(new_world, fleet):
            await advance(2)
            assert fleet["east"].problem() == ""
            new_world.outage("east")
            await advance(1200)  # every watch has ended in the meantime
            assert "east can't be reached" in fleet["east"].problem()
            (outdated,) = explain(fleet.runs()["copy@east"], "default/a").caches
            assert "east can't be reached" in outdated
            new_world.outage("east", over=True)
            await advance(130)
            assert fleet["east"].problem() == "", "watches go on where they were: no list is needed for that"
            assert explain(fleet.runs()["copy@east"], "default/a").caches == []


@virtual_time
async def test_clusters_come_and_go_and_nothing_stays_of_those_that_have_gone() -> None:
    async with world("east") as new_world:
        fleet = sp.Fleet(new_world.controller())
        async with manager(new_world, fleet) as running:
            await advance(1)
            assert (new_world.seen, len(fleet)) == ([], 0)
            await fleet.engage("east", new_world.clients["east"])
            await fleet.engage("east", new_world.clients["east"])
            await advance(1)
            assert await new_world.marked("east") == "1"
            await fleet.disengage("east")
            with pytest.raises(KeyError, match="there is no cluster 'east' in the fleet; available: none"):
                fleet["east"]
            assert running.readyz.answer("cluster-east", {})[0] == 404
            await new_world.mark("east", "a", "2")
            before = len(new_world.wires["east"].requests)
            await advance(600)
            assert await new_world.marked("east") == "1"
            assert len(new_world.wires["east"].requests) == before, "no request of it comes any more"
            await fleet.engage("east", new_world.clients["east"])
            await advance(1)
            assert await new_world.marked("east") == "2"
            await fleet.engage("east", new_world.clients["east"].over(new_world.wires["east"]))  # new credentials, say
            await new_world.mark("east", "a", "3")
            await advance(1)
            assert await new_world.marked("east") == "3"
            await fleet.disengage("nowhere")
            await fleet.disengage("east")
            assert not {*fleet._locks} | {*fleet._waiting} | {*fleet._caches}


@virtual_time
async def test_a_cluster_that_leaves_gives_what_is_under_way_some_time() -> None:
    async with world("east") as new_world:
        ended: list[str] = []

        async def slow(obj: ConfigMap, ctx: sp.Context) -> None:
            try:
                await asyncio.sleep(5 if obj.name == "a" else 1000)
                ended.append(obj.name)
            except asyncio.CancelledError:
                ended.append(f"{obj.name} cancelled")
                raise

        fleet = sp.Fleet(sp.Controller(ConfigMap, slow, namespace="default"))
        async with manager(new_world, fleet):
            await fleet.engage("east", new_world.clients["east"])
            await advance(1)
            leaving = asyncio.ensure_future(fleet.disengage("east"))
            await advance(5)
            assert (ended, leaving.done()) == (["a"], False)
            await advance(6)
            assert (ended, leaving.done()) == (["a", "b cancelled"], True)
            await leaving


@virtual_time
async def test_a_controller_at_home_hears_of_what_happens_in_the_others_and_reads_it() -> None:
    async with world("east", "west") as new_world:
        totals: dict[str, int] = {}
        fleet = sp.Fleet()

        def homes(cluster: str, head: Head) -> list[str]:
            return [f"default/{head.name}"]

        async def count(obj: ConfigMap, ctx: sp.Context) -> None:
            assert ctx.cluster == ""
            result = [cluster.lister(ConfigMap).try_get(ctx.key) for cluster in fleet if not cluster.problem()]
            totals[obj.name] = sum(int(item.data["x"]) for item in result if item is not None)

        controller = sp.Controller(ConfigMap, count, name="count", namespace="default")
        controller.source(fleet.events(ConfigMap, homes, namespace="default"))
        async with manager(new_world, fleet, controllers=[controller]):
            for name in ("east", "west"):
                await fleet.engage(name, new_world.clients[name])
            await advance(1)
            assert totals == {"a": 2, "b": 2}
            await new_world.mark("west", "b", "40")
            await advance(1)
            assert totals == {"a": 2, "b": 41}
            await fleet.disengage("west")
            await advance(1)
            assert totals == {"a": 1, "b": 1}, "what was in a cluster that left counts as changed"
            with pytest.raises(UndeclaredRead, match=r"fleet.reads\(Namespace\)"):
                fleet["east"].lister(Namespace)


@virtual_time
async def test_a_manager_that_ends_while_a_cluster_leaves_leaves_nothing_of_it_behind() -> None:
    async def long(obj: ConfigMap, ctx: sp.Context) -> None:
        await asyncio.sleep(3600)

    class ComesAndGoes:
        async def run(self, fleet: sp.Fleet, home: Client) -> None:
            await fleet.engage("east", new_world.clients["east"])
            await asyncio.sleep(2)
            await fleet.disengage("east")

    async with world("east") as new_world:
        before = asyncio.all_tasks()
        controller = sp.Controller(ConfigMap, long, namespace="default")
        fleet = sp.Fleet(controller, provider=ComesAndGoes())
        async with manager(new_world, fleet, shutdown_timeout=1.0):
            await advance(5)
            assert list(fleet) == [], "it is on its way out, and has 10 s for what is under way"
            assert len(fleet._caches) == 1
        assert not fleet._caches
        assert asyncio.all_tasks() == before


@virtual_time
async def test_a_cluster_can_leave_though_the_function_that_maps_its_events_fails() -> None:
    requests: list[str] = []

    def keys_of(cluster: str, head: Head) -> list[str]:
        requests.append(head.key)
        if head.name == "a":
            raise KeyError("there is always one without the label")
        return [head.key]

    async def at_home(obj: ConfigMap, ctx: sp.Context) -> None:
        reconciled.append(ctx.key)

    reconciled: list[str] = []
    async with world("east") as new_world:
        fleet = sp.Fleet()
        controller = sp.Controller(ConfigMap, at_home, name="home", predicates=[lambda old, new: False])
        controller.source(fleet.events(ConfigMap, keys_of, namespace="default"))
        await fleet.engage("east", new_world.clients["east"])
        async with manager(new_world, fleet, controllers=[controller]):
            await advance(2)
            requests.clear()
            reconciled.clear()
            await fleet.disengage("east")
            await advance(2)
            assert requests == ["default/a", "default/b"]
            assert reconciled == ["default/b"]
            assert not fleet._caches
            assert list(fleet) == []


@virtual_time
async def test_only_the_leader_works_in_the_clusters_and_the_next_one_takes_over_there_too() -> None:
    async with world("east") as new_world:
        fleets = [sp.Fleet(new_world.controller()) for _ in range(2)]
        for fleet in fleets:
            await fleet.engage("east", new_world.clients["east"])
        first, second = [
            manager(new_world, fleet, leader_election=LeaderElection(name="x", identity=str(number)))
            for number, fleet in enumerate(fleets)
        ]
        async with second:
            async with first:
                await advance(5)
                leading = 0 if fleets[0].runs()["copy@east"].state == "running" else 1
                assert fleets[1 - leading].runs()["copy@east"].state == "new"
                assert fleets[1 - leading]["east"].informer  # warm: its caches are there
                assert explain(fleets[1 - leading].runs()["copy@east"], "default/a").state == "standby"
                assert await new_world.marked("east") == "1"
                if leading == 1:
                    return
            await new_world.mark("east", "a", "2")
            await advance(5)
            assert await new_world.marked("east") == "2"


@virtual_time
async def test_a_leader_of_a_fleet_becomes_a_standby_and_leads_again_with_fresh_runs_in_every_cluster() -> None:
    async with world("east", "west", "south") as new_world:
        election = LeaderElection(name="x", identity="0", lost_lease="standby")
        fleet, other = sp.Fleet(new_world.controller()), sp.Fleet(new_world.controller())
        for name in ("east", "west"):
            await fleet.engage(name, new_world.clients[name])
            await other.engage(name, new_world.clients[name])
        async with manager(new_world, fleet, leader_election=election) as first:
            await advance(5)
            former = fleet.runs()["copy@east"]
            assert former.state == "running"
            second = manager(new_world, other, leader_election=LeaderElection(name="x", identity="1"))
            async with second:
                first.step_down()
                await advance(6)
                assert (first.elected.is_set(), second.elected.is_set()) == (False, True)
                fresh = fleet.runs()["copy@east"]
                assert (former.state, fresh.state) == ("stopped", "new")
                assert all(informer.has_synced for informer in fresh.informers.values()), "a standby is warm"
                assert all(new is not former.informers[gvr] for gvr, new in fresh.informers.items())
                await fleet.engage("south", new_world.clients["south"])
                await fleet.disengage("west")
                for name in ("east", "west"):
                    await new_world.mark(name, "a", "2")
                await advance(60)
                assert [await new_world.marked(name) for name in ("east", "west", "south")] == ["2", "2", ""]
            await advance(30)
            assert first.elected.is_set()
            assert fleet.runs()["copy@east"] is fresh
            await new_world.mark("east", "a", "3")
            await advance(10)
            assert [await new_world.marked(name) for name in ("east", "west", "south")] == ["3", "2", "1"]


@virtual_time
async def test_a_reconcile_in_a_cluster_that_does_not_end_ends_the_process_that_should_become_a_standby() -> None:
    async with world("east") as new_world:
        gate = asyncio.Event()

        async def stubborn(obj: ConfigMap, ctx: sp.Context) -> None:
            while not gate.is_set():
                with suppress(asyncio.CancelledError):
                    await gate.wait()

        fleet = sp.Fleet(sp.Controller(ConfigMap, stubborn, name="copy", namespace="default"))
        await fleet.engage("east", new_world.clients["east"])
        election = LeaderElection(name="x", identity="0", lost_lease="standby")
        leader = manager(new_world, fleet, leader_election=election, shutdown_timeout=5.0)
        running = asyncio.create_task(leader.run())
        await advance(5)
        leader.step_down()
        await advance(60)
        with pytest.raises(LeadershipLost, match="its work does not end"):
            await running
        gate.set()
        await advance(1)


@virtual_time
async def test_a_leader_at_home_that_does_not_know_yet_writes_in_no_cluster() -> None:
    async with world("east") as new_world:
        fleet = sp.Fleet()
        refused: list[str] = []

        async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
            elector = running.elector
            assert elector is not None
            await fleet["east"].client.create(ConfigMap.named("in-time", "default"))
            elector._renewed_at -= 20  # as in a process that is stopped here for that long
            try:
                await fleet["east"].client.create(ConfigMap.named("too-late", "default"))
            except WriteRefused as problem:
                refused.append(str(problem))
            finally:
                elector._renewed_at += 20

        controller = sp.Controller(ConfigMap, reconcile, field_selector={"metadata.name": "a"})
        election = LeaderElection(name="x", identity="me")
        await fleet.engage("east", new_world.clients["east"])
        running = manager(new_world, fleet, controllers=[controller], leader_election=election)
        async with running:
            await advance(5)
            assert len(refused) == 1
            await fleet["east"].client.create(ConfigMap.named("of-no-reconcile", "default"))
        names = {item.name for item in (await new_world.admin["east"].list(ConfigMap, namespace="default")).items}
        assert names == {"a", "b", "in-time", "of-no-reconcile"}


@virtual_time
async def test_shards_share_the_keys_of_all_clusters() -> None:
    async with world("east", "west") as new_world:
        for number in range(20):
            for name in ("east", "west"):
                await new_world.admin[name].create(ConfigMap.named(f"k{number}", "default", data={"x": "1"}))
        fleets = [sp.Fleet(new_world.controller()) for _ in range(2)]
        for fleet in fleets:
            for name in ("east", "west"):
                await fleet.engage(name, new_world.clients[name])
        managers = [
            manager(new_world, fleet, sharding=Sharding(name="x", identity=f"p{number}"))
            for number, fleet in enumerate(fleets)
        ]
        async with managers[0], managers[1]:
            await advance(30)
            keys = [(run, f"default/k{number}") for run in ("copy@east", "copy@west") for number in range(20)]
            owners = []
            for run, key in keys:
                states = [explain(fleet.runs()[run], key).state for fleet in fleets]
                assert sorted(states) == ["idle", "not in this shard"], (run, key, states)
                owners.append(states.index("idle"))
            assert owners[:20] != owners[20:], "a key's shard depends on its cluster"
            assert await new_world.marked("east", "k3") == "1"


@virtual_time
async def test_a_managers_namespace_and_metrics_are_those_of_its_fleet_too() -> None:
    async with world("east", "west") as new_world:
        for name in ("east", "west"):
            await new_world.admin[name].create(Namespace.named("other"))
            await new_world.admin[name].create(ConfigMap.named("c", "other", data={"x": "1"}))
        fleet = sp.Fleet(sp.Controller(ConfigMap, new_world.reconcile, name="copy"))
        metrics = ProcessMetrics()
        async with manager(new_world, fleet, namespace="other", serving=Serving(metrics=metrics)):
            for name in ("east", "west"):
                await fleet.engage(name, new_world.clients[name])
            await advance(1)
            assert set(new_world.seen) == {("east", "other/c", "1"), ("west", "other/c", "1")}
            text = generate_latest(metrics.registry).decode()
            for line in (
                'setpoint_cluster_ready{cluster="east"} 1.0',
                'controller_runtime_reconcile_total{controller="copy@west",result="success"} ',
                'workqueue_depth{controller="copy@east",name="copy@east"} 0.0',
                'informer_objects{group="",name="east",resource="configmaps",version="v1"} 1.0',
                'informer_objects{group="",name="west",resource="configmaps",version="v1"} 1.0',
            ):
                assert line in text, f"{line}\n{text}"
            await fleet.disengage("east")
            text = generate_latest(metrics.registry).decode()
            assert "east" not in text
            assert "copy@west" in text


@virtual_time
async def test_two_managers_and_their_fleets_share_nothing() -> None:
    async with world("east", "west") as new_world:
        one, two = sp.Fleet(new_world.controller()), sp.Fleet(new_world.controller())
        async with manager(new_world, one), manager(new_world, two):
            await one.engage("c", new_world.clients["east"])
            await two.engage("c", new_world.clients["west"])
            await advance(1)
            assert one["c"].client is not two["c"].client
            await one.disengage("c")
            await new_world.mark("west", "a", "2")
            await advance(1)
            assert (await new_world.marked("west"), len(one), len(two)) == ("2", 0, 1)
        with pytest.raises(ValueError, match="this fleet belongs to another manager"):
            manager(new_world, one)


@virtual_time
async def test_mistakes_are_named() -> None:
    async with world("east") as new_world:
        with pytest.raises(ValueError, match="a fleet has two controllers named 'copy'"):
            sp.Fleet(new_world.controller(), new_world.controller())
        fleet = sp.Fleet(new_world.controller())
        with pytest.raises(ValueError, match="cluster name 'East_1'"):
            await fleet.engage("East_1", new_world.clients["east"])
        fleet.reads(ConfigMap)
        with pytest.raises(ValueError, match="declares ConfigMap twice"):
            fleet.reads(ConfigMap, namespace="x")
        manager(new_world, fleet)
        with pytest.raises(RuntimeError, match="before its manager is created"):
            fleet.reads(Namespace)


@virtual_time
async def test_a_reconcile_that_removes_its_own_cluster_gets_an_error_instead_of_waiting_for_itself() -> None:
    problems: list[str] = []
    async with world("near", "far") as new_world:

        async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
            if ctx.cluster == "far" and not problems:
                try:
                    await fleet.disengage("far")
                except RuntimeError as problem:
                    problems.append(str(problem))
                await fleet.disengage("near")

        fleet = sp.Fleet(sp.Controller(ConfigMap, reconcile, namespace="default"))
        async with manager(new_world, fleet):
            for name in ("near", "far"):
                await fleet.engage(name, new_world.clients[name])
            await advance(60)
            assert len(problems) == 1
            assert "can't remove its own cluster far" in problems[0]
            assert [cluster.name for cluster in fleet] == ["far"]


@virtual_time
async def test_a_reconcile_that_leaves_the_block_of_its_manager_gets_an_error_and_may_stop_it() -> None:
    problems: list[str] = []
    async with world() as new_world:

        async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
            try:
                await running.__aexit__(None, None, None)
            except RuntimeError as problem:
                problems.append(str(problem))
            running.stop()

        controller = sp.Controller(ConfigMap, reconcile, namespace="default")
        running = Manager(
            new_world.clients["home"], controllers=[controller], options=ManagerOptions(now=now, random=Random(0))
        )
        async with running:
            await advance(60)
        assert "can't leave the block of its manager" in problems[0]
        assert asyncio.get_running_loop().time() == 60
