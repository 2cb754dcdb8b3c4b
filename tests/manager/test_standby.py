"""A process that loses its lease, or is asked to step down, goes on as a standby, with nothing of its former term."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

import setpoint as sp
from setpoint.apiserver import ApiServer
from setpoint.client import Client, InProcessTransport
from setpoint.controller import RunningController
from setpoint.manager import LeaderElection, LeadershipLost, Manager, ManagerOptions
from setpoint.manager.leader_election.leader_elector import STEP_DOWN
from setpoint.models.coordination_v1 import Lease
from setpoint.models.core_v1 import ConfigMap
from setpoint.testing import advance, cluster, virtual_time

from .simulated import Process, world

STANDBY = {"elects": True, "lost_lease": "standby"}


def run_of(process: Process) -> RunningController[Any]:
    return process.manager.controllers["configmap"]


@virtual_time
async def test_a_leader_whose_network_was_cut_becomes_a_standby_and_leads_again() -> None:
    async with world("a", keys=4, **STANDBY) as new_world:  # its oracle: never two at one key, and none behind the last
        await advance(3)
        (first,) = new_world.processes
        second = new_world.start("b", **STANDBY)
        await advance(3)
        former = run_of(first)
        first.cable.cut = True
        await advance(40)
        assert not first.task.done()
        assert (first.manager.elected.is_set(), second.manager.elected.is_set()) == (False, True)
        for key in new_world.keys:
            await new_world.change(key, "2")
        await advance(20)
        assert await new_world.behind() == {}

        first.cable.cut = False
        await advance(60)
        fresh = run_of(first)
        assert fresh is not former
        assert (former.state, fresh.state) == ("stopped", "new")
        assert (len(former.queue), former.informers.keys()) == (0, fresh.informers.keys())
        assert all(new is not former.informers[gvr] for gvr, new in fresh.informers.items())
        assert all(informer.has_synced for informer in fresh.informers.values()), "a standby is warm"
        assert not fresh.timeline.keys()

        await second.stop()
        await advance(10)
        assert first.manager.elected.is_set()
        for key in new_world.keys:
            await new_world.change(key, "3")
        await advance(20)
        assert await new_world.behind() == {}
        assert {name for _, name, _ in new_world.begins[-4:]} == {"a"}


@virtual_time
async def test_a_process_alone_leads_again_when_the_server_is_back() -> None:
    async with world("a", keys=2, **STANDBY) as new_world:
        await advance(3)
        (process,) = new_world.processes
        for number in range(3):
            process.cable.refuses = True
            await advance(100)
            assert not process.manager.elected.is_set()
            assert process.manager.elector is not None
            assert process.manager.elector.check(20.0) == "", "a standby does not fail its health check"
            process.cable.refuses = False
            await advance(60)
            assert process.manager.elected.is_set()
            for key in new_world.keys:
                await new_world.change(key, f"again {number}")
            await advance(20)
            assert await new_world.behind() == {}
        assert not process.task.done()


@virtual_time
async def test_a_leader_that_is_asked_to_step_down_finishes_its_work_and_leaves_the_lease_to_others() -> None:
    async with world("a", keys=4, **STANDBY) as new_world:
        await advance(3)
        (first,) = new_world.processes
        second = new_world.start("b", **STANDBY)
        await advance(3)
        for key in new_world.keys:
            await new_world.change(key, "2")
        await advance(0.5)
        first.manager.step_down()
        await advance(6)
        assert (first.manager.elected.is_set(), second.manager.elected.is_set()) == (False, True)
        assert not first.task.done()
        await advance(20)
        assert await new_world.behind() == {}
        second.manager.step_down()
        await advance(30)
        assert first.manager.elected.is_set()
        first.manager.step_down()
        await second.stop()
        await advance(60)
        assert first.manager.elected.is_set(), "no other candidate wanted it"


@virtual_time
async def test_an_annotation_of_the_lease_asks_its_holder_to_step_down_once() -> None:
    async with world("a", keys=2, **STANDBY) as new_world:
        await advance(3)
        (first,) = new_world.processes
        second = new_world.start("b", **STANDBY)
        await advance(3)
        patch = {"metadata": {"annotations": {STEP_DOWN: "an upgrade of the node"}}}
        for leader, other in ((first, second), (second, first)):
            for key in new_world.keys:
                await new_world.change(key, leader.name)
            await new_world.client.patch(Lease, "group", patch, namespace="default")
            await advance(6)
            assert (leader.manager.elected.is_set(), other.manager.elected.is_set()) == (False, True)
            assert (
                STEP_DOWN not in (await new_world.client.get(Lease, "group", namespace="default")).metadata.annotations
            )
            await advance(60)
            assert other.manager.elected.is_set(), "the next leader does not step down"
            assert not leader.task.done()
            assert await new_world.behind() == {}


@virtual_time
async def test_a_leader_that_would_end_does_not_step_down() -> None:
    async with world("a", keys=1, elects=True) as new_world:
        await advance(3)
        (process,) = new_world.processes
        patch = {"metadata": {"annotations": {STEP_DOWN: "true"}}}
        await new_world.client.patch(Lease, "group", patch, namespace="default")
        await advance(60)
        assert process.manager.elected.is_set()
        assert not process.task.done()


@virtual_time
async def test_a_holder_that_people_remove_from_the_lease_becomes_a_standby() -> None:
    async with world("a", keys=1, **STANDBY) as new_world:
        await advance(3)
        (first,) = new_world.processes
        second = new_world.start("b", **STANDBY)
        await advance(1)
        patch = {"spec": {"holderIdentity": "b"}}
        await new_world.client.patch(Lease, "group", patch, namespace="default")
        await advance(30)
        assert (first.manager.elected.is_set(), second.manager.elected.is_set()) == (False, True)
        assert not first.task.done()


@virtual_time
async def test_exit_stays_the_default() -> None:
    async with world("a", keys=1, elects=True) as new_world:
        await advance(3)
        (process,) = new_world.processes
        process.cable.cut = True
        await advance(60)
        assert isinstance(process.error, LeadershipLost)
        with pytest.raises(RuntimeError, match="lost_lease='standby'"):
            process.manager.step_down()
        process.error = None  # as it should be


class Stubborn:
    """A runnable of the leader that does not end."""

    def __init__(self) -> None:
        self.terms = 0
        self.stays = False
        self.gate = asyncio.Event()

    async def run(self) -> None:
        self.terms += 1
        while not self.gate.is_set():
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                if not self.stays:
                    raise


@virtual_time
async def test_other_runnables_run_again_in_the_next_term_and_one_that_does_not_end_ends_the_process() -> None:
    async with cluster(control_plane=False) as new_cluster:
        election = LeaderElection(name="x", identity="a", lost_lease="standby")
        manager = Manager(new_cluster.client, leader_election=election)
        stubborn = Stubborn()
        manager.add(stubborn)
        running = asyncio.get_running_loop().create_task(manager.run())
        for term in (1, 2, 3):
            await advance(60)
            assert stubborn.terms == term
            manager.step_down()
        await advance(60)
        stubborn.stays = True
        manager.step_down()
        await advance(120)
        assert isinstance(running.exception(), LeadershipLost)
        assert "cancelled work that does not end" in str(running.exception())
        stubborn.gate.set()
        await advance(1)


async def test_a_thread_that_goes_on_ends_the_process() -> None:
    gate, began = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def reconcile(obj: ConfigMap, ctx: Any) -> None:
        loop.call_soon_threadsafe(began.set)
        gate.wait()

    times = {"lease_duration": 1.05, "renew_deadline": 1.0, "retry_period": 0.1}
    election = LeaderElection(name="x", identity="a", lost_lease="standby", **times)
    controller = sp.Controller(ConfigMap, reconcile)
    async with ApiServer() as server, Client(InProcessTransport(server.handle)) as client:
        await client.create(ConfigMap.named("a", "default"))
        options = ManagerOptions(shutdown_timeout=0.05)
        manager = Manager(client, controllers=[controller], leader_election=election, options=options)
        running = asyncio.create_task(manager.run())
        try:
            await began.wait()
            manager.step_down()
            with pytest.raises(LeadershipLost, match="asked to step down, but its work does not end"):
                await running
        finally:
            gate.set()
