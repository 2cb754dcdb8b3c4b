"""A counter-example tells which line to mend: what was written and read, by which controller, for which object."""

from __future__ import annotations

import pytest
from tests.simulation.kinds import App, AppSpec

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap, Secret
from setpoint.simulation import Counterexample, Setup, check
from setpoint.simulation.comparison.write_diff_text import describe_diff
from setpoint.simulation.execution.worker_pool import WorkerPool
from setpoint.simulation.faults.descriptions import describe_fault
from setpoint.simulation.faults.plan import Plan, fault
from setpoint.simulation.report.counterexample_page import render_page
from setpoint.simulation.trace.result import Line, Options


async def sizes(app: App, ctx: sp.Context) -> None:
    await ctx.apply(ConfigMap.named(app.name, data={"size": str(app.spec.size)}))


async def keys(app: App, ctx: sp.Context) -> None:
    if await ctx.get(Secret, app.name) is None:
        await ctx.create(Secret.named(app.name, string_data={"key": "x"}))


def both() -> list[sp.Controller[App]]:
    return [sp.Controller(App, sizes, name="sizes").owns(ConfigMap), sp.Controller(App, keys, name="keys").owns(Secret)]


async def grows(cluster: sp.testing.Cluster) -> None:
    for size in (1, 2):
        await cluster.apply(App.named("one", "default", spec=AppSpec(size=size)))
        await cluster.settle()


def writes(setup: Setup, plan: Plan = Plan()) -> list[Line]:  # noqa: B008 - a plan can't be changed
    with WorkerPool(setup, 1) as pool:
        trace = pool.run(plan, Options(trace=True, quiet=False)).trace
    return [line for line in trace if line.kind == "writes" and "status" not in line.text]


def test_a_write_says_what_it_changed_and_by_which_controller_and_what_that_had_read() -> None:
    first, second, third = [line for line in writes(Setup(scenario=grows, factory=both)) if line.change]
    by_actor = {line.actor: line for line in (first, second)}
    assert by_actor["controller/1 sizes"].change == '{"data":{"size":"1"}}'
    assert "key" in by_actor["controller/1 keys"].change
    assert "it had read no Secret from its cache" in by_actor["controller/1 keys"].reads
    assert third.change == "data.size: 1 → 2"


def test_a_write_that_keep_makes_in_a_task_of_its_own_has_the_line_of_the_call() -> None:
    async def helper(app: App, ctx: sp.Context) -> None:
        await ctx.keep(ConfigMap, [ConfigMap.named(f"{app.name}-{number}") for number in range(app.spec.size)])

    async def reconcile(app: App, ctx: sp.Context) -> None:
        await helper(app, ctx)

    lines = writes(Setup(scenario=grows, factory=lambda: [sp.Controller(App, reconcile).owns(ConfigMap)]))
    places = {line.place.rpartition("/")[2] for line in lines if line.lane == "controller"}
    assert places == {f"test_traces.py:{helper.__code__.co_firstlineno + 1}"}


def test_a_write_for_an_earlier_object_of_that_name_says_so() -> None:
    async def comes_again(cluster: sp.testing.Cluster) -> None:
        await cluster.apply(App.named("one", "default"))
        await cluster.settle()
        await cluster.delete(await cluster.get(App, "one"))
        await cluster.apply(App.named("one", "default", spec=AppSpec(size=2)))
        await cluster.settle()

    def factory() -> list[sp.Controller[App]]:
        async def cleans_up(app: App, ctx: sp.Context) -> None:
            await ctx.client.apply(ConfigMap.named("cleaned", "default", data={"size": str(app.spec.size)}))

        async def writes_late(app: App, ctx: sp.Context) -> None:
            await ctx.client.apply(ConfigMap.named("late", "default", data={"size": str(app.spec.size)}))

        return [sp.Controller(App, writes_late).finalize(cleans_up)]

    slow = Plan((fault("slow-request", "apply configmaps default/late #1", until="step"),))
    answer = [line.reads for line in writes(Setup(scenario=comes_again, factory=factory), slow)]
    assert any("it is being deleted" in item for item in answer)


def test_a_broken_silence_names_the_field_its_values_the_controller_and_the_line() -> None:
    def factory() -> list[sp.Controller[App]]:
        started: list[int] = []

        async def counts_starts(app: App, ctx: sp.Context) -> None:
            kept = await ctx.get(ConfigMap, app.name)
            if not started:
                started.append(int(kept.data["starts"]) + 1 if kept is not None else 1)
            await ctx.apply(ConfigMap.named(app.name, data={"starts": str(started[0])}))

        return [sp.Controller(App, counts_starts, name="starter").owns(ConfigMap)]

    with pytest.raises(Counterexample) as caught:
        check(grows, factory, replay=Plan().token())
    (finding,) = caught.value.findings
    assert finding.oracle == "quiet"
    for part in ("controller starter", "test_traces.py:", "(data.starts: 1 → 2)"):
        assert part in finding.message
    assert "data.starts: 1 → 2" in render_page(caught.value)


class Vault(sp.simulation.External):
    """Has what was put there, once."""

    def __init__(self) -> None:
        self.kept: list[str] = []

    @sp.simulation.call
    async def put(self, name: str) -> None:
        if name in self.kept:
            raise ValueError(f"there is {name}")
        self.kept.append(name)


def test_the_exception_of_an_external_system_is_its_answer_and_repeated_attempts_are_told_once() -> None:
    vault = Vault()

    async def puts_once(app: App, ctx: sp.Context) -> sp.Outcome:
        try:
            await vault.put(app.name)
        except ValueError as problem:
            return sp.retry(str(problem), after=60)
        app.status.ready = 1
        return sp.done()

    async def scenario(cluster: sp.testing.Cluster) -> None:
        await cluster.apply(App.named("one", "default"))
        await cluster.settle()

    crash = Plan((fault("crash-after", "call vault.put('one') #1"),))
    with pytest.raises(Counterexample) as caught:
        check(scenario, lambda: [sp.Controller(App, puts_once)], externals=[vault], replay=crash.token())
    text = str(caught.value)
    assert "raised ValueError('there is one')" in text
    assert "more times" in text
    assert text.count("vault.put('one')   (") < 6
    assert any(line.text.startswith("raised") for line in caught.value.trace)


def test_what_users_have_changed_is_told_with_its_values() -> None:
    with WorkerPool(Setup(scenario=grows, factory=both), 1) as pool:
        trace = pool.run(Plan(), Options(trace=True, quiet=False)).trace
    asked = [line.change for line in trace if line.kind == "asks"]
    assert asked == ['{"spec":{"size":1,"feature":false}}', "spec.size: 1 → 2"]


def test_a_write_that_takes_the_last_finalizer_away_says_that_the_object_is_gone() -> None:
    async def comes_and_goes(cluster: sp.testing.Cluster) -> None:
        await cluster.apply(App.named("one", "default"))
        await cluster.settle()
        await cluster.delete(await cluster.get(App, "one"))
        await cluster.settle()

    async def nothing(app: App, ctx: sp.Context) -> None:
        return None

    def factory() -> list[sp.Controller[App]]:
        return [sp.Controller(App, nothing).finalize(nothing)]

    last = [line for line in writes(Setup(scenario=comes_and_goes, factory=factory)) if line.change][-1]
    assert last.change == "the object is gone"


def test_changes_are_told_without_the_fields_of_the_server() -> None:
    before = b'{"kind":"A","metadata":{"name":"a","resourceVersion":"1","labels":{"x":"y"}},"spec":{"n":1,"m":[1]}}'
    after = b'{"kind":"A","metadata":{"name":"a","resourceVersion":"2"},"spec":{"n":2,"m":[1]}}'
    assert describe_diff(before, after) == 'metadata.labels: {"x":"y"} → <absent>; spec.n: 1 → 2'
    assert describe_diff(None, after) == '{"spec":{"n":2,"m":[1]}}'
    assert describe_diff(after, after) == ""


def test_numbers_of_points_are_told_in_words() -> None:
    told = describe_fault(fault("crash-after", "create pods default/a #2", until="step"))
    assert told == (
        "The controller's process was killed right after the second “create pods default/a” had been carried out, "
        "and started again only after the user's next step."
    )
    assert describe_fault(fault("lost-answer", "create pods default/a #1")).startswith("“Create pods") is False
    assert describe_fault(fault("slow-answer", "create pods default/a #11")).startswith(
        "The 11th “create pods default/a” was"
    )
