"""A lifespan is opened before anything is started, handed to reconciles, and closed when everything has ended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

import setpoint as sp
from setpoint.apiserver import ApiServer
from setpoint.client import Client, InProcessTransport
from setpoint.models.core_v1 import ConfigMap, Secret
from setpoint.testing import advance, cluster, virtual_time


class App:
    def __init__(self) -> None:
        self.is_open = True
        self.used = 0


class Lifespan:
    """Notes what is opened and closed, with the number of what a manager runs at that time."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.app: App | None = None

    @asynccontextmanager
    async def __call__(self, manager: sp.Manager) -> AsyncIterator[App]:
        self.log.append(f"open, {'started' if manager.started.is_set() else 'not started'}")
        self.app = App()
        try:
            yield self.app
        finally:
            self.app.is_open = False
            self.log.append(f"close, {[controller.state for controller in manager.controllers.values()]}")


async def use(obj: ConfigMap, ctx: sp.Context) -> None:
    app = ctx.state(App)
    assert app.is_open
    app.used += 1


@virtual_time
async def test_reconciles_get_by_its_class_what_the_lifespan_has_opened_and_it_is_closed_after_them() -> None:
    lifespan = Lifespan()
    async with cluster(sp.Controller(ConfigMap, use), lifespan=lifespan, objects=[ConfigMap.named("a")]) as world:
        await world.settle()
        assert lifespan.app is not None
        assert lifespan.app.used >= 1
        assert lifespan.log == ["open, not started"]
    assert lifespan.log == ["open, not started", "close, ['stopped']"]


@virtual_time
async def test_functions_in_threads_get_it_too() -> None:
    lifespan = Lifespan()

    def plain(obj: ConfigMap, ctx: sp.SyncContext) -> None:
        ctx.state(App).used += 1

    async with cluster(sp.Controller(ConfigMap, plain), lifespan=lifespan, objects=[ConfigMap.named("a")]) as world:
        await world.settle()
        assert lifespan.app is not None
        assert lifespan.app.used >= 1


@pytest.mark.parametrize("given", [False, True])
@virtual_time
async def test_what_is_not_there_or_of_another_class_is_said_by_name(given: bool) -> None:
    messages: list[str] = []

    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        with pytest.raises((LookupError, TypeError)) as caught:
            ctx.state(dict)
        messages.append(str(caught.value))

    lifespan = Lifespan() if given else None
    async with cluster(sp.Controller(ConfigMap, reconcile), lifespan=lifespan, objects=[ConfigMap.named("a")]) as world:
        await world.settle()
    if given:
        assert messages[0] == "the program's lifespan yields a App, not a dict"
    else:
        assert messages[0].startswith("there is no dict for reconciles: give the program a lifespan that yields one")


@virtual_time
async def test_it_is_closed_when_something_fails_and_the_failure_is_what_run_raises() -> None:
    lifespan = Lifespan()

    class Failing:
        leader_only = False

        async def run(self) -> None:
            await asyncio.sleep(1)
            raise ZeroDivisionError("by zero")

    async with ApiServer() as server, Client(InProcessTransport(server.handle)) as client:
        manager = sp.Manager(client, lifespan=lifespan)
        manager.add(Failing())
        with pytest.raises(ZeroDivisionError):
            await manager.run()
    assert lifespan.log == ["open, not started", "close, []"]


@virtual_time
async def test_when_it_can_not_be_opened_nothing_starts() -> None:
    @asynccontextmanager
    async def refuses(manager: sp.Manager) -> AsyncIterator[None]:
        raise ConnectionError("no database")
        yield

    started: list[str] = []

    class Runs:
        leader_only = False

        async def run(self) -> None:
            started.append("it")

    async with ApiServer() as server, Client(InProcessTransport(server.handle)) as client:
        manager = sp.Manager(client, lifespan=refuses)
        manager.add(Runs())
        with pytest.raises(ConnectionError, match="no database"):
            await manager.run()
        assert not started
        assert not manager.started.is_set()


@virtual_time
async def test_what_a_lifespan_adds_runs_with_everything_else() -> None:
    ran: list[Any] = []

    class Runs:
        leader_only = False

        async def run(self) -> None:
            ran.append("runnable")
            await asyncio.Event().wait()

    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        ran.append(ctx.key)

    @asynccontextmanager
    async def lifespan(manager: sp.Manager) -> AsyncIterator[None]:
        manager.add(Runs())
        manager.add(sp.Controller(ConfigMap, reconcile))
        yield

    async with cluster(lifespan=lifespan, objects=[ConfigMap.named("a")], control_plane=False, rbac=False):
        await advance(1)
        assert "runnable" in ran
        assert "default/a" in ran


@virtual_time
async def test_it_is_there_in_every_cluster_of_a_fleet() -> None:
    lifespan = Lifespan()
    async with ApiServer() as home, ApiServer() as east:
        client = Client(InProcessTransport(home.handle))
        there = Client(InProcessTransport(east.handle), namespace="default")
        async with client, there:
            await there.create(ConfigMap.named("a"))
            fleet = sp.Fleet(sp.Controller(ConfigMap, use))
            async with sp.Manager(client, fleet=fleet, lifespan=lifespan):
                await fleet.engage("east", there)
                await advance(5)
                assert lifespan.app is not None
                assert lifespan.app.used == 1


@pytest.mark.parametrize("ending", ["stop", "cancel", "failure"])
@virtual_time
async def test_it_is_left_in_the_same_way_however_the_manager_ends(ending: str) -> None:
    log: list[str] = []

    @asynccontextmanager
    async def lifespan(manager: sp.Manager) -> AsyncIterator[None]:
        yield
        await asyncio.sleep(1)
        log.append("closed")
        raise ConnectionError("while closing")

    class Fails:
        leader_only = False

        async def run(self) -> None:
            await asyncio.sleep(2)
            raise ZeroDivisionError

    async with ApiServer() as server, Client(InProcessTransport(server.handle)) as client:
        manager = sp.Manager(client, lifespan=lifespan)
        if ending == "failure":
            manager.add(Fails())
        running = asyncio.get_running_loop().create_task(manager.run())
        await advance(1)
        if ending == "stop":
            manager.stop()
        elif ending == "cancel":
            running.cancel()
        expected: Any = asyncio.CancelledError if ending == "cancel" else ConnectionError
        with pytest.raises(expected) as caught:
            await running
        assert log == ["closed"]
        notes = getattr(caught.value, "__notes__", [])
        if ending == "cancel":
            assert notes == ["and afterwards ConnectionError: while closing"]
        elif ending == "failure":
            assert notes == ["and afterwards ZeroDivisionError: "]


@pytest.mark.parametrize("late", ["begun", "ended"])
@virtual_time
async def test_one_that_takes_long_is_logged_with_the_line_at_which_it_waits(
    late: str, caplog: pytest.LogCaptureFixture
) -> None:
    @asynccontextmanager
    async def slow(manager: sp.Manager) -> AsyncIterator[App]:
        if late == "begun":
            await asyncio.sleep(60)
        yield App()
        if late == "ended":
            await asyncio.sleep(60)

    with caplog.at_level(logging.WARNING, "setpoint.manager"):
        async with cluster(sp.Controller(ConfigMap, use), lifespan=slow, objects=[ConfigMap.named("a")]) as world:
            await advance(70)
            await world.settle()
    (record,) = caplog.records
    assert record.getMessage().startswith(f"has not {late} within 10 s; it is at\n")
    assert "slow" in record.getMessage()
    assert record.fields["what"] == "lifespan"  # type: ignore[attr-defined]


async def _source() -> AsyncIterator[sp.ObjectKey]:
    await _stubborn()
    yield sp.ObjectKey("default/a")


async def _mapping(head: sp.Head) -> list[sp.ObjectKey]:
    await _stubborn()
    return []


async def _stubborn() -> None:
    loop = asyncio.get_running_loop()
    while loop.time() < 8:
        try:
            await asyncio.sleep(8 - loop.time())
        except asyncio.CancelledError:
            """As programs do that must not be interrupted."""


@pytest.mark.parametrize("part", ["_source", "_mapping"])
@virtual_time
async def test_a_source_or_a_mapping_that_does_not_end_is_logged_with_its_line(
    part: str, caplog: pytest.LogCaptureFixture
) -> None:
    controller = sp.Controller(ConfigMap, use)
    if part == "_source":
        controller.source(_source)
    else:
        controller.watches(Secret, _mapping)
    options = sp.ManagerOptions(shutdown_timeout=5.0)
    async with ApiServer() as server, Client(InProcessTransport(server.handle)) as client:
        await client.create(Secret.named("s"))
        with caplog.at_level(logging.WARNING, "setpoint.manager"):
            async with sp.Manager(client, controllers=[controller], options=options):
                await advance(1)
    first = caplog.records[0]
    assert first.getMessage().startswith("has not ended within 5 s and is being cancelled; it is at\n")
    assert f"in {part}\n" in first.getMessage()
    assert first.fields["what"] == "configmap"  # type: ignore[attr-defined]
