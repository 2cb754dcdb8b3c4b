"""A supervisor and its child processes, in virtual time: replacement, leadership, the end; their pages as one."""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
from collections.abc import Mapping
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Counter, Histogram
from tests.tasks import stop

import setpoint as sp
from setpoint.apiserver import ApiServer
from setpoint.client import Client, InProcessTransport
from setpoint.manager import Manager
from setpoint.manager.http_server import Answer
from setpoint.manager.key_partition import Partition
from setpoint.manager.leader_election.leadership import LeadershipLost
from setpoint.manager.processes import ChildFailed, Parent, ParentLease, Supervisor, SupervisorLost
from setpoint.manager.processes.merged_pages import MergedMetrics, MergedPages, exported
from setpoint.manager.processes.messages import Answered, Ask, Channel, Lead, Lost, Message, State, Stop
from setpoint.manager.processes.parent_link import Seat
from setpoint.meta import ObjectKey
from setpoint.models.core_v1 import ConfigMap, Namespace
from setpoint.testing import advance, virtual_time


class FakeChild:
    """A child process that ends when the test wants it to."""

    def __init__(self, index: int, *, started: bool = True) -> None:
        self.index = index
        self.pid = 100 + index
        self.state = None
        self.has_started = started
        self.sent: list[Message] = []
        self.stops = True
        self.end: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def send(self, message: Message) -> bool:
        self.sent.append(message)
        if isinstance(message, Stop) and self.stops and not self.end.done():
            self.end.set_result(0)
        return True

    def kill(self) -> None:
        if not self.end.done():
            self.end.set_result(-9)

    async def run(self) -> int:
        return await self.end


class Launched:
    """Starts fake processes and remembers when."""

    def __init__(self, *, started: bool = True) -> None:
        self.children: list[tuple[float, FakeChild]] = []
        self._started = started

    async def __call__(self, index: int, count: int) -> Any:
        others = [child for _, child in self.children if child.index == index and not child.end.done()]
        assert not others, "two processes would have one partition"
        child = FakeChild(index, started=self._started)
        self.children.append((asyncio.get_running_loop().time(), child))
        return child

    def of(self, index: int) -> list[FakeChild]:
        return [child for _, child in self.children if child.index == index]

    def times(self, index: int) -> list[float]:
        return [at for at, child in self.children if child.index == index]


class FakeLeadership(ParentLease):
    """Leads until the test says otherwise."""

    grace = 5.0


def test_every_key_is_in_exactly_one_partition() -> None:
    partitions = [Partition(index, 3) for index in range(3)]
    for number in range(300):
        key = ObjectKey(f"default/k{number}")
        assert sum(partition.owns("beat", key) for partition in partitions) == 1
    sizes = [sum(partition.owns("beat", ObjectKey(f"default/k{n}")) for n in range(300)) for partition in partitions]
    assert min(sizes) > 70, sizes


@virtual_time
async def test_a_process_that_dies_is_replaced_at_once_and_then_after_growing_pauses() -> None:
    launched = Launched()
    supervisor = Supervisor(2, launched)
    running = asyncio.create_task(supervisor.run())
    await advance(0)
    for _ in range(4):
        launched.of(0)[-1].kill()
        await advance(100)
    begun = launched.times(0)
    assert [round(later - earlier) for earlier, later in itertools.pairwise(begun)] == [0, 100, 100, 100]
    for _ in range(4):
        launched.of(1)[-1].kill()
        await advance(20)
    assert [round(at - launched.times(1)[0]) for at in launched.times(1)] == [0, 400, 421, 442, 464]
    supervisor.stop()
    await running


@virtual_time
async def test_a_process_that_fails_before_it_ever_worked_ends_the_program() -> None:
    launched = Launched(started=False)
    supervisor = Supervisor(2, launched)
    running = asyncio.create_task(supervisor.run())
    await advance(0)
    launched.of(1)[0].end.set_result(1)
    with pytest.raises(ChildFailed, match="process 1 ended with status 1 before it had started"):
        await running


@virtual_time
async def test_processes_are_led_while_the_supervisor_leads_and_killed_before_another_may() -> None:
    launched = Launched()
    supervisor = Supervisor(2, launched)
    leadership = FakeLeadership(Partition())
    supervisor.follow(leadership)
    running = asyncio.create_task(supervisor.run())
    await advance(1)
    assert launched.of(0)[0].sent == []
    leadership.lead(17.0)
    leading = asyncio.create_task(supervisor.leading.run())
    await advance(1)
    assert launched.of(0)[0].sent[-1] == Lead(17.0)
    launched.of(1)[0].kill()
    await advance(1)
    assert launched.of(1)[1].sent[0] == Lead(17.0)
    leading.cancel()
    await asyncio.wait([leading])
    assert isinstance(launched.of(0)[0].sent[-1], Lost)
    await advance(4)
    assert not launched.of(0)[0].end.done()
    await advance(0.6)
    assert launched.of(0)[0].end.result() == -9
    await running


class Rejoining(FakeLeadership):
    """Of a process that goes on as a standby."""

    rejoins = True


@virtual_time
async def test_fresh_processes_are_the_standbys_of_a_supervisor_that_has_lost_its_lease() -> None:
    launched = Launched()
    supervisor = Supervisor(2, launched)
    leadership = Rejoining(Partition())
    supervisor.follow(leadership)
    running = asyncio.create_task(supervisor.run())
    leadership.lead(17.0)
    leading = asyncio.create_task(supervisor.leading.run())
    await advance(1)
    leading.cancel()
    await asyncio.wait([leading])
    first, second = launched.of(0)[0], launched.of(1)[0]
    assert isinstance(first.sent[-1], Lost)
    first.end.set_result(1)  # it has ended as soon as its work has; the other one takes too long
    await advance(4)
    assert (len(launched.of(0)), len(launched.of(1))) == (2, 1)
    await advance(1)
    assert second.end.result() == -9
    assert len(launched.of(1)) == 2, "and no process waits before it is replaced"
    await advance(60)
    assert launched.of(0)[1].sent == launched.of(1)[1].sent == [], "a standby does not act"
    assert not launched.of(0)[1].end.done()
    leading = asyncio.create_task(supervisor.leading.run())
    await advance(1)
    assert launched.of(0)[1].sent[-1] == Lead(17.0)
    supervisor.stop()
    await running
    supervisor.leading.stop()
    await leading


@virtual_time
async def test_the_processes_finish_their_work_before_a_supervisor_that_steps_down_is_done() -> None:
    launched = Launched()
    supervisor = Supervisor(2, launched)
    leadership = Rejoining(Partition())
    supervisor.follow(leadership)
    running = asyncio.create_task(supervisor.run())
    leadership.lead(17.0)
    for term in (0, 1):
        leading = asyncio.create_task(supervisor.leading.run())
        await advance(1)
        slow, quick = launched.of(0)[term], launched.of(1)[term]
        slow.stops = False
        supervisor.leading.stop()
        await advance(10)
        assert quick.end.done()
        assert not leading.done()
        assert len(launched.of(1)) == term + 1, "no other process begins in a term that ends"
        assert slow.sent[-2:] == [Lead(17.0), Lead(17.0)], "it may act until it has ended"
        if term == 0:
            slow.end.set_result(0)
        else:  # the deadline of the stop
            leading.cancel()
        await advance(1)
        assert leading.done()
        assert slow.end.result() == (0 if term == 0 else -9)
        await advance(1)
        assert len(launched.of(0)) == len(launched.of(1)) == term + 2
        assert launched.of(0)[-1].sent == []
    supervisor.stop()
    await running


@virtual_time
async def test_a_child_leads_until_the_supervisor_is_late_and_loses_its_lease_with_it() -> None:
    lease = ParentLease(Partition(0, 2))
    acquiring = asyncio.create_task(lease.acquire())
    await advance(1)
    assert not acquiring.done()
    now = asyncio.get_running_loop().time()
    lease.lead(now + 10)
    await advance(9)
    assert acquiring.done()
    assert lease.may_act()
    await advance(2)
    assert not lease.may_act()
    lease.lead(now + 20)
    assert lease.may_act()
    lease.lose("gone")
    assert not lease.may_act()
    with pytest.raises(LeadershipLost, match="gone"):
        await lease.renew()


async def linked(lease: ParentLease, stopped: list[str]) -> tuple[Channel, asyncio.Task[None]]:
    mine, other = socket.socketpair()
    link = Parent(
        Seat(0, 2, other.detach()),
        lease,
        state=lambda: State(True, {}, {"controller-x": "not synced"}, ["x default/a"]),
        stop=lambda: stopped.append("stopped"),
        pages={"/page": lambda path, query, _: Answer(200, f"{path} {query}".encode())},
    )
    return await Channel.over(mine), asyncio.create_task(link.run())


async def test_a_child_obeys_reports_and_answers_its_supervisor() -> None:
    lease, stopped = ParentLease(Partition(0, 2)), list[str]()
    channel, running = await linked(lease, stopped)
    assert await channel.receive() == State(True, {}, {"controller-x": "not synced"}, ["x default/a"])
    channel.send(Lead(float("inf")))
    channel.send(Ask(7, "/page/rest", {"a": ["b"]}))
    answer = await channel.receive()
    assert answer == Answered(7, 200, b"rest {'a': ['b']}", "text/plain; charset=utf-8")
    assert lease.may_act()
    channel.send(Stop())
    channel.send(Ask(8, "/nothing", {}))
    missing = await channel.receive()
    assert isinstance(missing, Answered)
    assert missing.status == 404
    assert stopped == ["stopped"]
    await stop(running)
    channel.close()


async def test_a_child_whose_supervisor_has_died_gives_up_its_keys_and_ends() -> None:
    lease = ParentLease(Partition(0, 2))
    channel, running = await linked(lease, [])
    channel.send(Lead(float("inf")))
    await lease.acquire()
    channel.close()
    with pytest.raises(ExceptionGroup) as caught:
        await running
    assert caught.group_contains(SupervisorLost)
    assert not lease.may_act()


@virtual_time
async def test_a_manager_in_a_child_reconciles_only_the_keys_of_its_partition() -> None:
    done: dict[int, set[str]] = {0: set(), 1: set()}

    def controller(index: int) -> sp.Controller[ConfigMap]:
        async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
            done[index].add(ctx.key)

        return sp.Controller(ConfigMap, reconcile, name="beat", namespace="work")

    leases = [ParentLease(Partition(index, 2)) for index in (0, 1)]
    for lease in leases:
        lease.lead(float("inf"))
    async with ApiServer() as server, Client(InProcessTransport(server.handle)) as client:
        await client.create(Namespace.named("work"))
        for number in range(20):
            await client.create(ConfigMap.named(f"k{number}", "work"))
        first, second = [
            Manager(client, controllers=[controller(index)], leader_election=lease)
            for index, lease in enumerate(leases)
        ]
        async with first, second:
            await advance(30)
            await client.create(ConfigMap.named("later", "work"))
            await advance(5)
    assert done[0] | done[1] == {f"work/k{number}" for number in range(20)} | {"work/later"}
    assert not done[0] & done[1]
    assert len(done[0]) > 4
    assert len(done[1]) > 4


class Answering:
    """Processes with these answers."""

    def __init__(self, answers: Mapping[int, Answer | None]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    async def ask(
        self, path: str, query: Mapping[str, list[str]], *, within: float, index: int | None = None
    ) -> Mapping[int, Answer | None]:
        self.asked.append(path)
        return {number: answer for number, answer in self.answers.items() if index is None or number == index}


async def test_the_metrics_of_all_processes_are_served_with_their_number() -> None:
    own, registries = CollectorRegistry(), [CollectorRegistry(), CollectorRegistry()]
    Counter("things", "Things.", registry=own).inc(1)
    for number, registry in enumerate(registries):
        Counter("things", "Things.", registry=registry).inc(10 + number)
        Histogram("took_seconds", "Time.", ["controller"], registry=registry).labels("beat").observe(0.3)
    answers = {0: exported(registries[0]), 1: exported(registries[1]), 2: None}
    answer = await MergedMetrics(own, Answering(answers)).answer("", {}, {})
    lines = answer.body.decode().splitlines()
    assert 'things_total{process="supervisor"} 1.0' in lines
    assert 'things_total{process="0"} 10.0' in lines
    assert 'things_total{process="1"} 11.0' in lines
    assert 'took_seconds_count{controller="beat",process="1"} 1.0' in lines
    assert lines.count("# TYPE things_total counter") == 1
    assert [line for line in lines if line.startswith("setpoint_process_up")] == [
        'setpoint_process_up{process="0"} 1.0',
        'setpoint_process_up{process="1"} 1.0',
        'setpoint_process_up{process="2"} 0.0',
    ]


async def test_exemplars_of_the_processes_are_served() -> None:
    registry = CollectorRegistry()
    Histogram("took_seconds", "Time.", registry=registry).observe(0.3, {"trace_id": "ab"})
    headers = {"accept": "application/openmetrics-text; version=1.0.0"}
    answer = await MergedMetrics(CollectorRegistry(), Answering({0: exported(registry)})).answer("", {}, headers)
    (line,) = (line for line in answer.body.decode().splitlines() if " # " in line and line.startswith("took"))
    assert '# {trace_id="ab"} 0.3' in line


async def test_a_key_is_explained_by_the_process_that_has_it() -> None:
    def page(state: str) -> Answer:
        return Answer(200, json.dumps([{"key": "default/a", "state": state}]).encode())

    processes = Answering({0: page("not in this shard"), 1: page("idle"), 2: None})
    pages = MergedPages(processes)
    answer = await pages.controllers("", {"kind": ["pods"], "key": ["default/a"]}, {})
    assert json.loads(answer.body) == [{"key": "default/a", "state": "idle", "process": 1}]
    answer = await pages.controllers("", {}, {})
    assert [item["process"] for item in json.loads(answer.body)] == [0, 1]
    assert (await MergedPages(Answering({0: None})).controllers("", {}, {})).status == 503


async def test_a_profile_is_that_of_the_process_asked_for() -> None:
    processes = Answering({0: Answer(200, b"zero"), 1: Answer(200, b"one")})
    pages = MergedPages(processes)
    assert (await pages.profile("cpu", {}, {})).body == b"zero"
    assert (await pages.profile("cpu", {"process": ["1"]}, {})).body == b"one"
    assert (await pages.profile("cpu", {"process": ["x"]}, {})).status == 404
    assert processes.asked[0] == "/debug/profile/cpu"
