"""Reconcile functions that are ordinary functions: they run in threads, and the runs are the same all the same."""

from __future__ import annotations

import pytest
from tests.simulation.kinds import App, AppSpec

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap, Secret
from setpoint.simulation import SWITCHES, Budget, Counterexample, External, Setup, call, check
from setpoint.simulation.execution.worker_pool import WorkerPool
from setpoint.simulation.faults.plan import Plan, fault
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
