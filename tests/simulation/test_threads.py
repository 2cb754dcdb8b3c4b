"""Reconcile functions that are ordinary functions: they run in threads, and the runs are the same all the same."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import pytest
from tests.simulation.kinds import App, AppSpec

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap, Secret
from setpoint.simulation import SWITCHES, Budget, Counterexample, External, Setup, call, check
from setpoint.simulation.execution.worker_pool import WorkerPool
from setpoint.simulation.faults.plan import Plan, fault
from setpoint.simulation.sandbox.event_loop import SimulationLoop
from setpoint.simulation.trace.result import Options

ONLY_CRASHES = {name: "this is about crashes" for name in SWITCHES if name != "crash"}


def reconcile(app: App, ctx: sp.SyncContext) -> None:
    if ctx.get(Secret, f"{app.name}-a") is None:
        ctx.create(Secret.named(f"{app.name}-a"))
        ctx.create(Secret.named(f"{app.name}-b"))
    ctx.event("Normal", "Secrets", "both are there")
    ctx.apply(ConfigMap.named(app.name, data={"size": str(app.spec.size)}))


def factory() -> list[sp.Controller[App]]:
    return [sp.Controller(App, reconcile).owns(Secret).owns(ConfigMap)]


async def three(cluster: sp.testing.Cluster) -> None:
    for name in ("one", "two", "three"):
        await cluster.apply(App.named(name, "default", spec=AppSpec(size=2)))
    await cluster.settle()


def test_threads_take_turns_in_the_same_order_each_time() -> None:
    with WorkerPool(Setup(scenario=three, factory=factory), 2) as pool:
        digests = {result.digest for _, _, result in pool.results([(Plan(), Options())] * 4)}
    assert len(digests) == 1


def test_a_thread_dies_with_its_process() -> None:
    with pytest.raises(Counterexample) as caught:
        check(three, factory, budget=Budget(runs=100), off=ONLY_CRASHES)
    assert caught.value.findings[0].subject.startswith("secrets default/")
    assert caught.value.plan.faults[0].kind.startswith("crash")


class Dns(External):
    def __init__(self) -> None:
        self.records: dict[str, int] = {}

    @call
    def put(self, name: str, size: int) -> None:
        self.records[name] = size

    @call
    def remove(self, name: str) -> None:
        self.records.pop(name, None)


@pytest.mark.parametrize("kind", ["crash-before", "crash-after"])
@pytest.mark.parametrize("at", ["put('one', 2)", "remove('one')"])
@pytest.mark.parametrize("debug", ["", "1"])
def test_a_process_that_dies_in_a_call_of_a_thread_starts_again(
    kind: str, at: str, debug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONASYNCIODEBUG", debug)
    dns = Dns()

    def put(app: App, ctx: sp.SyncContext) -> None:
        dns.put(app.name, app.spec.size)

    def remove(app: App, ctx: sp.SyncContext) -> None:
        dns.remove(app.name)

    async def come_and_go(cluster: sp.testing.Cluster) -> None:
        await three(cluster)
        assert dns.records == {"one": 2, "two": 2, "three": 2}
        await cluster.delete(await cluster.get(App, "one"))
        await cluster.settle()
        assert await cluster.find(App, "one") is None

    crash = Plan((fault(kind, f"call dns.{at} #1"),))
    result = sp.Controller(App, put).finalize(remove)
    check(come_and_go, lambda: [result], externals=[dns], replay=crash.token(), workers=0)


class EagerThreads(Executor):
    """Goes on only when the job has ended or its thread waits: as where threads are faster than the loop."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        result: Future[Any] = Future()
        result.set_running_or_notify_cancel()
        thread = threading.Thread(target=lambda: result.set_result(fn(*args, **kwargs)), daemon=True)
        thread.start()
        while thread.is_alive() and not waits(thread):
            pass
        return result


def waits(thread: threading.Thread) -> bool:
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None and frame.f_code is not threading.Condition.wait.__code__:
        frame = frame.f_back
    return frame is not None


def test_a_job_begins_only_when_the_loop_has_come_to_wait_for_it() -> None:
    events: list[str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        pool = EagerThreads()
        job = loop.run_in_executor(pool, lambda: 1)
        assert not job.done(), "its result has to come as a callback of the loop, however fast the thread is"
        job.add_done_callback(lambda _: events.append("job"))
        loop.call_soon(events.append, "callback")
        await job

    loop = SimulationLoop()
    loop.run_until_complete(main())
    loop.close()
    assert events == ["callback", "job"]


def test_a_job_that_an_executor_refuses_stops_nothing() -> None:
    async def main() -> int:
        loop = asyncio.get_running_loop()
        pool = ThreadPoolExecutor(1)
        pool.shutdown()
        with pytest.raises(RuntimeError, match="after shutdown"):
            await loop.run_in_executor(pool, len, "")
        return await asyncio.to_thread(lambda: 7)

    loop = SimulationLoop()
    assert loop.run_until_complete(main()) == 7
    loop.close()
