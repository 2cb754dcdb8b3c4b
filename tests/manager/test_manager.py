"""The manager: what starts before what, what ends it, and what it says about itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from random import Random
from typing import Any

import aiohttp
import pytest
from prometheus_client import generate_latest
from tests.programs import DEADLINE
from tests.transports import Checked, Sending, Through

import setpoint as sp
from setpoint.apiserver import ApiServer
from setpoint.client import Client, InProcessTransport, Request, TransportError
from setpoint.cluster import Command, Connection, PodBehaviour
from setpoint.manager import (
    LeaderElection,
    LeadershipLost,
    Manager,
    ManagerOptions,
    ProcessMetrics,
    RunnableEnded,
    Serving,
)
from setpoint.models.coordination_v1 import Lease
from setpoint.models.core_v1 import ConfigMap, Container, Pod, PodSpec, Secret
from setpoint.testing import EPOCH, advance, cluster, virtual_time, wait_all_tasks_blocked


def now() -> datetime:
    return EPOCH + timedelta(seconds=asyncio.get_running_loop().time())


@asynccontextmanager
async def a_client() -> AsyncIterator[Client]:
    async with ApiServer(now=now, random=Random(0)) as server, Client(InProcessTransport(server.handle)) as client:
        yield client


def manager(
    client: Client, *controllers: sp.Controller[Any], shutdown_timeout: float | None = 30.0, **options: Any
) -> Manager:
    settings = ManagerOptions(now=now, random=Random(0), shutdown_timeout=shutdown_timeout)
    return Manager(client, controllers=controllers, options=settings, **options)


async def nothing(obj: Any, ctx: sp.Context) -> None:
    """Nothing to do."""


def election(identity: str) -> LeaderElection:
    return LeaderElection(name="test", identity=identity)


class Part:
    """A runnable that keeps a journal."""

    leader_only = False

    def __init__(self, name: str, journal: list[str]) -> None:
        self.name, self.journal = name, journal

    async def run(self) -> None:
        self.journal.append(f"{self.name} starts")
        try:
            await asyncio.sleep(1e6)
        finally:
            self.journal.append(f"{self.name} ends")


@virtual_time
async def test_groups_start_in_order_and_stop_in_reverse_with_the_lease_last() -> None:
    async with a_client() as client:
        journal: list[str] = []
        new_manager = manager(client, leader_election=election("a"))
        for group in ("leader", "others", "caches", "servers"):
            new_manager.add(Part(group, journal), group=group)  # type: ignore[arg-type]
        async with new_manager:
            await advance(5)
            assert journal == ["servers starts", "caches starts", "others starts", "leader starts"]
            assert new_manager.elected.is_set()
            journal.clear()
        assert journal == ["others ends", "leader ends", "caches ends", "servers ends"]
        spec = (await client.get(Lease, "test")).spec
        assert spec is not None
        assert spec.holder_identity == ""


@virtual_time
async def test_a_standby_has_its_caches_in_sync_and_is_ready_before_it_is_elected() -> None:
    async with a_client() as client:
        seen: list[str] = []

        async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
            seen.append(obj.name)

        await client.create(ConfigMap.named("a"))
        async with manager(client, leader_election=election("a")) as first:
            await wait_all_tasks_blocked()
            standby = manager(client, sp.Controller(ConfigMap, reconcile), leader_election=election("b"))
            async with standby:
                await advance(20)
                assert seen == []
                running = standby.controllers["configmap"]
                assert all(informer.has_synced for informer in running.informers.values())
                assert standby.readyz.problems() == {}
                first.stop()
                await advance(5)
                assert seen == ["a"]


@virtual_time
async def test_what_is_not_for_leaders_only_runs_without_being_elected() -> None:
    async with a_client() as client:
        seen: list[str] = []

        async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
            seen.append(obj.name)

        await client.create(ConfigMap.named("a"))
        async with manager(client, leader_election=election("a")):
            await wait_all_tasks_blocked()
            controller = sp.Controller(ConfigMap, reconcile, leader_only=False)
            async with manager(client, controller, leader_election=election("b")) as standby:
                await advance(5)
                assert seen == ["a"]
                assert not standby.elected.is_set()


@virtual_time
async def test_losing_the_lease_cancels_all_work_and_ends_the_manager() -> None:
    async with ApiServer(now=now, random=Random(0)) as server:
        cable = Failing(InProcessTransport(server.handle))
        cancelled: list[float] = []

        async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                cancelled.append(asyncio.get_running_loop().time())
                raise

        client = Client(cable)
        await client.create(ConfigMap.named("a"))
        new_manager = manager(client, sp.Controller(ConfigMap, reconcile), leader_election=election("a"))
        running = asyncio.ensure_future(new_manager.run())
        await advance(30)
        cable.broken = True
        with pytest.raises(LeadershipLost):
            await running
        assert len(cancelled) == 1
        assert 38 <= cancelled[0] <= 40.1, "ten seconds after the last renewal"


class Failing(Through):
    """A transport whose requests for Leases fail from a moment on."""

    broken = False

    def send(self, request: Request) -> Any:
        if self.broken and "leases" in request.path:
            raise TransportError("connection refused", sent=False)
        return self.inner.send(request)


@virtual_time
async def test_a_reconcile_that_swallows_its_cancellation_does_not_outlive_the_lease() -> None:
    async with ApiServer(now=now, random=Random(0)) as server:
        cable = Failing(InProcessTransport(server.handle))
        began: list[str] = []

        async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
            began.append(obj.name)
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                await asyncio.sleep(3600)  # as one does that takes it for a timeout of its own, and tries again

        client = Client(cable)
        for name in "abc":
            await client.create(ConfigMap.named(name))
        controller = sp.Controller(ConfigMap, reconcile, workers=1)
        new_manager = manager(client, controller, leader_election=election("a"))
        running = asyncio.ensure_future(new_manager.run())
        await advance(30)
        cable.broken = True
        with pytest.raises(LeadershipLost) as lost:
            await running
        assert str(lost.value) == "the lease default/test was not renewed in 10 s: connection refused"
        assert asyncio.get_running_loop().time() < 30 + 15, "when others may take over, nothing works any more"
        assert began == ["a"], "no other key was begun"


@virtual_time
async def test_a_reconcile_that_never_ends_is_named_with_its_stack_and_ends_no_manager_late(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with ApiServer(now=now, random=Random(0)) as server:
        cable = Failing(InProcessTransport(server.handle))
        free = asyncio.Event()

        async def unbending(obj: ConfigMap, ctx: sp.Context) -> None:
            while not free.is_set():
                with suppress(asyncio.CancelledError):
                    await free.wait()

        client = Client(cable)
        await client.create(ConfigMap.named("stuck"))
        new_manager = manager(client, sp.Controller(ConfigMap, unbending), leader_election=election("a"))
        running = asyncio.ensure_future(new_manager.run())
        try:
            await advance(30)
            assert new_manager.under_way() == ["configmap default/stuck (for 30.0 s)"]
            cable.broken = True
            with pytest.raises(LeadershipLost, match=r"does not end: configmap default/stuck$"):
                await running
            assert asyncio.get_running_loop().time() <= 30 + 15
            (record,) = [record for record in caplog.records if "does not end" in record.message]
            assert record.__dict__["fields"] == {"what": "configmap default/stuck"}
            assert "in test_a_reconcile_that_never_ends" in record.message
            assert "unbending" in record.message
        finally:
            free.set()


@pytest.mark.parametrize("answers", ["refused", "nothing"])
@virtual_time
async def test_a_leader_whose_server_is_away_ends_before_others_may_lead(answers: str) -> None:
    """Its reconciles wait for an answer then, for a place among the requests in flight, or for nothing."""
    async with ApiServer(now=now, random=Random(0)) as server:
        inner, away = InProcessTransport(server.handle), False

        @asynccontextmanager
        async def send(request: Request) -> AsyncIterator[Any]:
            if away:
                if answers == "nothing":
                    await asyncio.sleep(request.timeout or 1e6)
                raise TransportError("the server is away", sent=answers == "nothing")
            async with inner.send(request) as response:
                yield response

        async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
            while True:
                try:
                    await asyncio.sleep(1)
                    async with asyncio.TaskGroup() as tasks:
                        for number in range(70):
                            tasks.create_task(ctx.client.list(Secret, namespace=f"n{number}"))
                except (asyncio.CancelledError, ExceptionGroup):
                    if obj.name == "patient":
                        await asyncio.sleep(3600)
                    raise

        client = Client(Sending(send), random=Random(0))
        for name in ("plain", "patient"):
            await client.create(ConfigMap.named(name))
        new_manager = manager(client, sp.Controller(ConfigMap, reconcile), leader_election=election("a"))
        running = asyncio.ensure_future(new_manager.run())
        await advance(5)
        away = True
        with pytest.raises(LeadershipLost, match="was not renewed in 10 s"):
            await running
        assert asyncio.get_running_loop().time() <= 5 + 15


@virtual_time
async def test_a_leaders_reconcile_runs_commands_in_pods_and_talks_to_their_ports() -> None:
    messages: list[Any] = []

    async def succeeds(_command: Command) -> int:
        return 0

    async def echo(connection: Connection) -> None:
        while data := await connection.read():
            connection.write(data.upper())

    async def reconcile(pod: Pod, ctx: sp.Context) -> None:
        if pod.status.phase == "Running" and not messages:
            messages.append((await ctx.client.exec(pod, ["true"])).exit_code)
            async with ctx.client.port_forward(pod, 8080) as stream:
                await stream.write(b"hello")
                messages.append(await stream.read())

    async with cluster(behaviour=lambda _: PodBehaviour(exec=succeeds, ports={8080: echo})) as world:
        async with manager(world.client, sp.Controller(Pod, reconcile), leader_election=election("a")):
            await world.create(Pod.named("a", spec=PodSpec(containers=[Container(name="c", image="i")])))
            await advance(30)
        assert messages == [0, b"HELLO"]


@virtual_time
async def test_a_stop_ends_although_a_reconcile_does_not_and_keeps_the_lease_from_others() -> None:
    async with a_client() as client:
        free = asyncio.Event()

        async def unbending(obj: ConfigMap, ctx: sp.Context) -> None:
            while not free.is_set():
                with suppress(asyncio.CancelledError):
                    await free.wait()

        await client.create(ConfigMap.named("stuck"))
        new_manager = manager(
            client, sp.Controller(ConfigMap, unbending), leader_election=election("a"), shutdown_timeout=5
        )
        async with new_manager:
            await advance(30)
            stopped = asyncio.get_running_loop().time()
        assert asyncio.get_running_loop().time() - stopped <= 5 + 10
        spec = (await client.get(Lease, "test")).spec
        assert spec is not None
        assert spec.holder_identity == "a", "it runs out by itself, as the work may go on"
        free.set()


@virtual_time
async def test_a_lease_lost_while_the_manager_stops_cancels_what_is_under_way() -> None:
    async with ApiServer(now=now, random=Random(0)) as server:
        cable = Failing(InProcessTransport(server.handle))
        cancelled: list[float] = []

        async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                cancelled.append(asyncio.get_running_loop().time())
                raise

        client = Client(cable)
        await client.create(ConfigMap.named("a"))
        controller = sp.Controller(ConfigMap, reconcile)
        new_manager = manager(client, controller, leader_election=election("a"), shutdown_timeout=300)
        running = asyncio.ensure_future(new_manager.run())
        await advance(30)
        cable.broken = True
        new_manager.stop()
        with pytest.raises(LeadershipLost):
            await running
        assert len(cancelled) == 1
        assert 38 <= cancelled[0] <= 40.1


@virtual_time
async def test_a_leaders_part_that_does_not_start_ends_the_manager() -> None:
    class Unstartable:
        name = "unstartable"

        def run(self) -> Any:
            raise OSError("no room")

    async with a_client() as client:
        new_manager = manager(client, leader_election=election("a"))
        new_manager.add(Unstartable())
        with pytest.raises(OSError, match="no room"):
            await new_manager.run()
        spec = (await client.get(Lease, "test")).spec
        assert spec is not None
        assert spec.holder_identity == "", "the lease is given back"


@virtual_time
async def test_a_reconcile_under_way_ends_before_the_lease_is_given_back() -> None:
    async with a_client() as client:
        journal: list[str] = []

        async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
            await asyncio.sleep(5)
            spec = (await ctx.client.get(Lease, "test", namespace="default")).spec
            assert spec is not None
            journal.append(spec.holder_identity or "")
            await ctx.client.patch(ConfigMap, "a", {"data": {"done": "yes"}}, namespace="default")

        await client.create(ConfigMap.named("a"))
        await client.create(ConfigMap.named("b"))
        controller = sp.Controller(ConfigMap, reconcile, workers=1)
        async with manager(client, controller, leader_election=election("me")):
            await advance(1)
        assert journal == ["me"], "one ended, the other was not begun"
        assert (await client.get(ConfigMap, "a")).data == {"done": "yes"}


@virtual_time
async def test_stopping_takes_no_longer_than_the_deadline() -> None:
    async with a_client() as client:

        async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
            await asyncio.sleep(1000)

        await client.create(ConfigMap.named("a"))
        async with manager(client, sp.Controller(ConfigMap, reconcile), shutdown_timeout=7):
            await advance(1)
        assert asyncio.get_running_loop().time() == pytest.approx(8)


@virtual_time
async def test_a_deadline_of_zero_waits_for_nobody_and_none_for_everybody() -> None:
    for timeout, took in ((0.0, 0.0), (None, 500.0)):
        async with a_client() as client:

            async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
                await asyncio.sleep(501)

            await client.create(ConfigMap.named("a"))
            async with manager(client, sp.Controller(ConfigMap, reconcile), shutdown_timeout=timeout):
                await advance(1)
                began = asyncio.get_running_loop().time()
            assert asyncio.get_running_loop().time() - began == pytest.approx(took)


@virtual_time
async def test_events_for_a_server_that_does_not_answer_hold_up_nobody() -> None:
    async with ApiServer(now=now, random=Random(0)) as server:
        inner, hangs = InProcessTransport(server.handle), False

        @asynccontextmanager
        async def send(request: Request) -> AsyncIterator[Any]:
            if hangs:
                await asyncio.sleep(request.timeout or 1e6)
                raise TransportError("no answer", sent=True, timed_out=True)
            async with inner.send(request) as response:
                yield response

        client = Client(Sending(send))
        new_manager = manager(client)
        async with new_manager:
            hangs = True
            for number in range(100):
                new_manager.recorder.event(ConfigMap.named(f"a-{number}"), "Normal", "Told", "something")
            began = asyncio.get_running_loop().time()
        assert asyncio.get_running_loop().time() - began <= 5
        assert new_manager.recorder.dropped == 100


@virtual_time
async def test_cancelling_run_stops_everything_in_order_too() -> None:
    async with a_client() as client:
        journal: list[str] = []
        new_manager = manager(client, leader_election=election("a"))
        for group in ("leader", "others", "servers"):
            new_manager.add(Part(group, journal), group=group)  # type: ignore[arg-type]
        running = asyncio.ensure_future(new_manager.run())
        await advance(5)
        journal.clear()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert journal == ["others ends", "leader ends", "servers ends"]
        spec = (await client.get(Lease, "test")).spec
        assert spec is not None
        assert spec.holder_identity == ""


@virtual_time
async def test_a_standby_that_stops_does_not_become_leader_on_its_way_out() -> None:
    async with a_client() as client:
        first, second = (manager(client, leader_election=election(identity)) for identity in "ab")
        async with first:
            await advance(1)
            async with second:
                await advance(10)
                second.stop()
                first.stop()
            assert not second.elected.is_set()
        spec = (await client.get(Lease, "test")).spec
        assert spec is not None
        assert (spec.holder_identity, spec.lease_transitions) == ("", 0)


@virtual_time
async def test_what_fails_while_stopping_is_raised_and_two_failures_are_both_told() -> None:
    class FailsLate(Part):
        def __init__(self, name: str) -> None:
            super().__init__(name, [])
            self.asked = asyncio.Event()

        async def run(self) -> None:
            await self.asked.wait()
            await asyncio.sleep(2)
            raise OSError(self.name)

        def stop(self) -> None:
            self.asked.set()

    async with a_client() as client:
        new_manager = manager(client)
        new_manager.add(FailsLate("one"))
        new_manager.add(FailsLate("two"), group="caches")
        running = asyncio.ensure_future(new_manager.run())
        await advance(1)
        new_manager.stop()
        with pytest.raises(OSError, match="one") as caught:
            await running
        assert caught.value.__notes__ == ["and afterwards OSError: two"]


@virtual_time
async def test_a_runnable_that_fails_or_ends_unasked_ends_the_manager() -> None:
    class Fails(Part):
        async def run(self) -> None:
            await asyncio.sleep(3)
            raise OSError("broken")

    class Ends(Part):
        async def run(self) -> None:
            await asyncio.sleep(3)

    async with a_client() as client:
        journal: list[str] = []
        new_manager = manager(client)
        new_manager.add(Part("other", journal))
        new_manager.add(Fails("fails", journal))
        with pytest.raises(OSError, match="broken"):
            await new_manager.run()
        assert journal == ["other starts", "other ends"]
        new_manager = manager(client)
        new_manager.add(Ends("ends", journal))
        with pytest.raises(RunnableEnded, match="ends returned"):
            await new_manager.run()
        new_manager = manager(client)
        new_manager.add(Ends("once", journal), may_end=True)
        async with new_manager:
            await advance(10)
        with pytest.raises(TypeError, match="controller 'configmap' can't have may_end"):
            new_manager.add(sp.Controller(ConfigMap, nothing), may_end=True)


@virtual_time
async def test_a_failure_ends_the_block_that_the_manager_runs_in() -> None:
    class Fails(Part):
        async def run(self) -> None:
            await asyncio.sleep(3)
            raise OSError("broken")

    async with a_client() as client:
        new_manager = manager(client)
        new_manager.add(Fails("fails", []))
        with pytest.raises(OSError, match="broken"):
            async with new_manager:
                await asyncio.sleep(1000)
        assert asyncio.get_running_loop().time() == pytest.approx(3)
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0


@virtual_time
async def test_whoever_is_cancelled_while_entering_leaves_no_manager_behind() -> None:
    class Starts(Part):
        group = "servers"

        def __init__(self, name: str, journal: list[str]) -> None:
            super().__init__(name, journal)
            self.ready = asyncio.Event()

    async with a_client() as client:
        journal: list[str] = []
        new_manager = manager(client)
        new_manager.add(Starts("slow", journal))
        entering = asyncio.ensure_future(new_manager.__aenter__())
        await advance(1)
        entering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await entering
        assert journal == ["slow starts", "slow ends"]
        assert [task.get_name() for task in asyncio.all_tasks() if task.get_name() == "manager"] == []


@virtual_time
@pytest.mark.parametrize("how", ["stop", "lost"])
async def test_a_leader_that_never_gets_ready_neither_outlives_the_lease_nor_a_stop(how: str) -> None:
    async with ApiServer(now=now, random=Random(0)) as server:
        broken = False
        inner = InProcessTransport(server.handle)

        def check(request: Request) -> None:
            if broken:
                raise TransportError("cut", sent=False)

        journal: list[str] = []

        class Never(Part):
            leader_only = True
            ready = asyncio.Event()

        new_manager = manager(Client(Checked(inner, check)), leader_election=election("a"))
        new_manager.add(Never("never", journal))
        running = asyncio.ensure_future(new_manager.run())
        await advance(5)
        assert journal == ["never starts"]
        if how == "stop":
            new_manager.stop()
            await running
        else:
            broken = True
            with pytest.raises(LeadershipLost):
                await running
        assert journal == ["never starts", "never ends"]
        assert asyncio.get_running_loop().time() <= 16


@virtual_time
async def test_a_manager_runs_once_and_takes_runnables_while_it_runs() -> None:
    async with a_client() as client:
        journal: list[str] = []
        seen: list[str] = []

        async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
            seen.append(obj.name)

        await client.create(ConfigMap.named("a"))
        new_manager = manager(client)
        async with new_manager:
            new_manager.add(Part("late", journal))
            new_manager.add(sp.Controller(ConfigMap, reconcile))
            await advance(1)
            assert journal == ["late starts"]
            assert seen == ["a"]
        with pytest.raises(RuntimeError, match="has been run before"):
            await new_manager.run()
        with pytest.raises(RuntimeError, match="stopping"):
            new_manager.add(Part("too late", journal))


@virtual_time
async def test_names_are_used_once_in_a_manager_and_again_in_another() -> None:
    async with a_client() as client:
        one = sp.Controller(ConfigMap, nothing)
        with pytest.raises(ValueError, match="two controllers named 'configmap'"):
            manager(client, one, sp.Controller(ConfigMap, nothing))
        manager(client, one, sp.Controller(ConfigMap, nothing, name="other"))
        manager(client, one)


@virtual_time
async def test_one_cache_that_does_not_sync_is_named_and_does_not_hold_up_the_others() -> None:
    async with ApiServer(now=now, random=Random(0)) as server:
        inner = InProcessTransport(server.handle)

        def check(request: Request) -> None:
            if "secrets" in request.path:
                raise TransportError("no route to secrets", sent=False)

        client = Client(Checked(inner, check))
        async with manager(client, sp.Controller(ConfigMap, nothing), sp.Controller(Secret, nothing)) as new_manager:
            await advance(5)
            assert new_manager.controllers["configmap"].state == "running"
            problems = new_manager.readyz.problems()
            assert list(problems) == ["controller-secret"]
            assert "cache of secrets not synced: no route to secrets" in problems["controller-secret"]


@virtual_time
async def test_metrics_have_the_names_that_dashboards_know() -> None:
    async with a_client() as client:

        async def reconcile(obj: ConfigMap, ctx: sp.Context) -> sp.Outcome:
            await asyncio.sleep(0.2)
            if obj.name == "bad":
                raise sp.TerminalError("no")
            return sp.after(100)

        await client.create(ConfigMap.named("good"))
        await client.create(ConfigMap.named("bad"))
        metrics = ProcessMetrics()
        started = now().timestamp()
        async with manager(
            client, sp.Controller(ConfigMap, reconcile), serving=Serving(metrics=metrics), leader_election=election("a")
        ):
            await advance(10)
            text = generate_latest(metrics.registry).decode()
            labels = {"controller": "configmap"}
            assert metrics.registry.get_sample_value("setpoint_controller_start_time_seconds", labels) == started
        for line in (
            'controller_runtime_reconcile_total{controller="configmap",result="success"} 0.0',
            'controller_runtime_reconcile_total{controller="configmap",result="error"} 1.0',
            'controller_runtime_reconcile_total{controller="configmap",result="requeue_after"} 1.0',
            'controller_runtime_reconcile_errors_total{controller="configmap"} 1.0',
            'controller_runtime_terminal_reconcile_errors_total{controller="configmap"} 1.0',
            'controller_runtime_reconcile_panics_total{controller="configmap"} 0.0',
            'controller_runtime_reconcile_timeouts_total{controller="configmap"} 0.0',
            'controller_runtime_max_concurrent_reconciles{controller="configmap"} 8.0',
            'controller_runtime_active_workers{controller="configmap"} 0.0',
            'controller_runtime_reconcile_time_seconds_bucket{controller="configmap",le="0.15"} 0.0',
            'controller_runtime_reconcile_time_seconds_bucket{controller="configmap",le="0.25"} 2.0',
            'controller_runtime_reconcile_time_seconds_count{controller="configmap"} 2.0',
            'workqueue_adds_total{controller="configmap",name="configmap"} 2.0',
            'workqueue_depth{controller="configmap",name="configmap"} 0.0',
            'leader_election_master_status{name="test"} 1.0',
            "informer_objects{",
            'rest_client_requests_total{code="201",host="",method="POST"} ',
            'rest_client_requests_total{code="404",host="",method="GET"} 1.0',
        ):
            assert line in text, f"{line}\n{text}"


async def test_health_and_metrics_over_http() -> None:
    async with ApiServer() as server, Client(InProcessTransport(server.handle)) as client:
        manager = Manager(
            client,
            controllers=[sp.Controller(ConfigMap, nothing)],
            serving=Serving(metrics_bind_address="127.0.0.1:0", health_probe_bind_address="127.0.0.1:0"),
        )
        async with manager, aiohttp.ClientSession() as session:
            assert manager.health_server is not None
            assert manager.metrics_server is not None
            async with asyncio.timeout(DEADLINE):
                while manager.readyz.problems():  # noqa: ASYNC110 - what a kubelet does, too
                    await asyncio.sleep(0.01)
            health = f"http://127.0.0.1:{manager.health_server.port}"
            async with session.get(f"{health}/readyz?verbose") as answer:
                assert await answer.text() == "[+]controller-configmap ok\nreadyz check passed\n"
            async with session.get(f"{health}/healthz") as answer:
                assert (answer.status, await answer.text()) == (200, "ok")
            async with session.get(f"http://127.0.0.1:{manager.metrics_server.port}/metrics") as answer:
                assert "controller_runtime_active_workers" in await answer.text()


async def test_an_address_that_is_taken_fails_the_start_and_names_it() -> None:
    async with (
        ApiServer() as server,
        Client(InProcessTransport(server.handle)) as client,
        Manager(client, serving=Serving(health_probe_bind_address="127.0.0.1:0")) as first,
    ):
        assert first.health_server is not None
        taken = f"127.0.0.1:{first.health_server.port}"
        with pytest.raises(OSError, match=f"the health server can't listen on {taken}"):
            await Manager(client, serving=Serving(health_probe_bind_address=taken)).run()


@virtual_time
async def test_controllers_under_election_work_in_a_test_cluster() -> None:
    seen: list[str] = []

    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        seen.append(obj.name)

    controller = sp.Controller(ConfigMap, reconcile, namespace="default")
    async with (
        cluster(control_plane=False) as world,
        sp.Manager(
            world.client,
            controllers=[controller],
            leader_election=election("a"),
            options=sp.ManagerOptions(now=world.now, random=world.random),
        ) as manager,
    ):
        await manager.elected.wait()
        await world.create(ConfigMap.named("a"))
        await advance(1)
        assert seen == ["a"]
