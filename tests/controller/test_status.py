"""A controller's changes of a status arrive, or fail with an error, and leave other fields alone."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import setpoint as sp
from setpoint.client import PatchType, Request
from setpoint.client.errors import error_from_status
from setpoint.controller import predicates as p
from setpoint.controller.writes.status_draft import _merged
from setpoint.crd import crd_for
from setpoint.meta import Status, find_condition
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.models.core_v1 import Container, Pod, PodSpec, Service, ServicePort, ServiceSpec
from setpoint.models.events_v1 import Event
from setpoint.testing import advance, cluster, virtual_time

from .world import Widget, WidgetSpec, WidgetStatus, Wires, widget


def bare(*controllers: sp.Controller[Any], **options: Any) -> Any:
    return cluster(*controllers, control_plane=False, **options)


def without_status_subresource() -> dict[str, Any]:
    definition: dict[str, Any] = crd_for(Widget)
    for version in definition["spec"]["versions"]:
        version.pop("subresources")
    return definition


class Plain(sp.CustomResource, group="plain.example.com", version="v1"):
    spec: WidgetSpec = WidgetSpec()
    status: WidgetStatus = WidgetStatus()


class RackStatus(sp.ConditionedStatus):
    ready: int = 0
    machine: str = ""


class Rack(sp.CustomResource, group="rack.example.com", version="v1"):
    spec: WidgetSpec = WidgetSpec()
    status: RackStatus = RackStatus()


class ParentsStatus(sp.Model):
    parents: list[dict[str, str]] = []


class Route(sp.CustomResource, group="route.example.com", version="v1"):
    status: ParentsStatus = ParentsStatus()


BY_HAND = {
    "type": "Ready", "status": "True", "reason": "ByHand", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
}  # fmt: skip


# -- conditions --------------------------------------------------------------------------------------------------------


@virtual_time
async def test_two_controllers_with_a_condition_each_leave_both() -> None:
    def setting(name: str) -> Any:
        async def reconcile(obj: Widget, ctx: sp.Context) -> None:
            await asyncio.sleep(1)
            ctx.set_condition(name, True, "Fine", f"size {obj.spec.size}")

        return sp.Controller(Widget, reconcile, name=name.lower(), predicates=[p.generation_changed])

    async with bare(setting("Ready"), setting("Synced"), setting("Backed")) as world:
        new_widget = await world.create(widget())
        for size in (1, 2, 3):
            new_widget.spec.size = size
            new_widget = await world.update(new_widget)
            await world.settle()
            await advance(60)
            new_widget = await world.get(Widget, "a")
            assert sorted((condition.type, condition.message) for condition in new_widget.status.conditions) == [
                (name, f"size {size}") for name in ("Backed", "Ready", "Synced")
            ]


@virtual_time
async def test_a_condition_that_another_program_set_between_read_and_write_stays_though_its_type_is_unknown() -> None:
    other = {"type": "Strange", "status": "True", "reason": "R", "message": "", "severity": "high"}
    other["lastTransitionTime"] = "2026-01-01T00:00:00Z"

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        if not obj.status.conditions:
            body = {"status": {"conditions": [other]}}
            await world.client.patch(Widget, "a", body, type=PatchType.MERGE, subresource="status")
        ctx.set_condition("Ready", True, "Fine")

    async with bare(sp.Controller(Widget, reconcile)) as world:
        await world.create(widget())
        await world.settle()
        current_widget = await world.get(Widget, "a")
        assert [condition.type for condition in current_widget.status.conditions] == ["Strange", "Ready"]
        assert world.running("widget").metrics.errors == 0


def conditions() -> Any:
    one = st.fixed_dictionaries(
        {"status": st.sampled_from(["True", "False"])}, optional={"reason": st.sampled_from("xyz"), "own": st.just(1)}
    )
    return st.dictionaries(st.sampled_from("ABCD"), one, max_size=4).map(
        lambda named: [{"type": name, **rest} for name, rest in named.items()]
    )


@given(found=conditions(), before=conditions(), after=conditions())
def test_what_was_not_touched_is_as_it_is_there_and_what_was_touched_as_it_was_made(
    found: list[Any], before: list[Any], after: list[Any]
) -> None:
    merged = _merged(found, before, after)
    assert merged is not None
    result = {item["type"]: item for item in merged}
    there, old, new = ({item["type"]: item for item in some} for some in (found, before, after))
    assert len(result) == len(merged)
    for name in "ABCD":
        if old.get(name) == new.get(name):
            assert result.get(name) == there.get(name)
        elif name in new:
            assert result[name]["status"] == new[name]["status"]
        else:
            assert name not in result


@virtual_time
async def test_an_end_state_does_not_tell_whether_there_ever_was_a_failure() -> None:
    async def end_of(failures: int) -> Any:
        calls = 0

        async def reconcile(obj: Widget, ctx: sp.Context) -> None:
            nonlocal calls
            calls += 1
            obj.status.ready = obj.spec.size
            if calls <= failures:
                raise RuntimeError("not yet")

        async with bare(sp.Controller(Widget, reconcile)) as world:
            await world.create(widget())
            await advance(60)
            assert calls >= failures + 1
            path = "/apis/test.example.com/v1/namespaces/default/widgets/a"
            return await world.client.request("GET", path)

    calm, troubled = [msgspec.json.decode(await end_of(failures))["status"] for failures in (0, 3)]
    assert calm == troubled == {"ready": 1, "observedGeneration": 1}


# -- several owners ----------------------------------------------------------------------------------------------------


def told(obj: Any) -> dict[str, str]:
    return {condition.type: condition.message for condition in obj.status.conditions if condition.status == "False"}


@virtual_time
async def test_a_failure_that_one_controller_reports_is_not_taken_away_by_another_one_that_succeeds() -> None:
    broken = {"first", "second"}

    def one(name: str) -> sp.Controller[Any]:
        async def reconcile(obj: Widget, ctx: sp.Context) -> None:
            if name in broken:
                raise RuntimeError(f"{name} is broken")
            obj.status.ready = obj.spec.size

        return sp.Controller(Widget, reconcile, name=name)

    failures = {
        "Reconciled": "RuntimeError: widget is broken",
        "first.test.example.com/Reconciled": "RuntimeError: first is broken",
        "second.test.example.com/Reconciled": "RuntimeError: second is broken",
    }
    async with bare(one("widget"), one("first"), one("second")) as world:
        await world.create(widget())
        for size in (2, 3):
            await world.settle(failing=True)
            new_widget = await world.get(Widget, "a")
            assert told(new_widget) == {name: failures[name] for name in sorted(failures)[1:]}
            new_widget.spec.size = size
            await world.update(new_widget)
        broken.remove("first")
        await advance(2000)
        assert told(await world.get(Widget, "a")) == {name: failures[name] for name in sorted(failures)[2:]}
        broken.add("widget")
        new_widget = await world.get(Widget, "a")
        new_widget.spec.size = 4
        await world.update(new_widget)
        await world.settle(failing=True)
        assert told(await world.get(Widget, "a")) == {name: failures[name] for name in sorted(failures)[::2]}
        broken.clear()
        await advance(2000)
        assert told(await world.get(Widget, "a")) == {}


@virtual_time
async def test_a_failure_stays_when_another_program_takes_over_the_object() -> None:
    async def fail(obj: Widget, ctx: sp.Context) -> None:
        raise RuntimeError("broken")

    async def fine(obj: Widget, ctx: sp.Context) -> None:
        obj.status.ready = 1

    async with bare(sp.Controller(Widget, fail, name="failing")) as world:
        await world.create(widget())
        await world.settle(failing=True)
        before = told(await world.get(Widget, "a"))
        assert list(before) == ["failing.test.example.com/Reconciled"]
        async with sp.Manager(world.client, controllers=[sp.Controller(Widget, fine)]):
            await advance(5)
        current_widget = await world.get(Widget, "a")
        assert (current_widget.status.ready, list(told(current_widget))) == (1, list(before))


def test_the_condition_that_tells_of_failures_has_the_controllers_name_unless_that_is_its_kinds() -> None:
    async def reconcile(obj: Any, ctx: sp.Context) -> None: ...

    named = {
        name: sp.Controller(Widget, reconcile, name=name).failure_condition for name in ("widget", "x.y", "a" * 60)
    }
    assert named["widget"] == "Reconciled"
    assert named["x.y"] == "x.y.test.example.com/Reconciled"
    longest = sp.Controller(Widget, reconcile, name=".".join(["a" * 62] * 4)).failure_condition
    for item in (*named.values(), longest):
        assert len(item) <= 316
        assert re.fullmatch(r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?Reconciled", item)


class Verdict(sp.Model):
    type: str
    status: str
    weight: int


class JudgedStatus(sp.Model):
    observed_generation: int | None = None
    conditions: list[Verdict] = []


class Judged(sp.CustomResource, group="test.example.com", version="v1"):
    status: JudgedStatus = JudgedStatus()


@virtual_time
async def test_conditions_that_are_declared_otherwise_are_not_added_to() -> None:
    """A condition of another class, and those of built-in kinds, which their APIs list."""

    async def fail(obj: Any, ctx: sp.Context) -> None:
        raise RuntimeError("broken")

    owners = [sp.Controller(kind, fail, owns_status=True) for kind in (Judged, Service, Pod)]
    async with bare(*owners) as world:
        result = await world.create(Judged.named("a"))
        await world.create(Service.named("a", spec=ServiceSpec(ports=[ServicePort(port=80)])))
        await world.create(Pod.named("a", spec=PodSpec(containers=[Container(name="c", image="i")])))
        await world.settle(failing=True)
        for kind in (Judged, Service, Pod):
            assert world.running(kind.__name__.lower()).metrics.errors >= 1
            current_obj: Any = await world.get(kind, "a")
            assert list(current_obj.status.conditions or ()) == []
        assert result.metadata.generation == 1


# -- refusals ----------------------------------------------------------------------------------------------------------


def refusing() -> dict[str, Any]:
    definition: dict[str, Any] = crd_for(Widget)
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["status"]["properties"]["ready"]["maximum"] = 5
    return definition


@virtual_time
async def test_a_status_that_the_server_refuses_reaches_the_object_as_the_reason_of_the_failure() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        obj.status.ready = obj.spec.size

    async with bare(sp.Controller(Widget, reconcile), crds=[refusing()]) as world:
        await world.create(widget(size=9))
        await advance(10)
        current_widget = await world.get(Widget, "a")
        condition = find_condition(current_widget.status.conditions, "Reconciled")
        assert condition is not None
        assert (condition.status, condition.reason, condition.observed_generation) == ("False", "Invalid", 1)
        assert "the status was refused: Invalid" in condition.message
        assert "status.ready" in condition.message
        assert (current_widget.status.ready, current_widget.status.observed_generation) == (0, None)
        current_widget.spec.size = 4
        await world.update(current_widget)
        await advance(1)
        healed = await world.get(Widget, "a")
        assert (healed.status.ready, healed.status.conditions) == (4, [])


@virtual_time
async def test_a_failure_whose_message_is_not_unicode_reaches_the_object_with_escapes() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        raise FileNotFoundError(2, "No such file", os.fsdecode(b"caf\xe9"))

    async with bare(sp.Controller(Widget, reconcile)) as world:
        await world.create(widget())
        await world.settle(failing=True)
        condition = find_condition((await world.get(Widget, "a")).status.conditions, "Reconciled")
        assert condition is not None
        assert "caf\\udce9" in condition.message


@virtual_time
async def test_a_failure_is_told_also_when_what_it_left_in_the_status_is_refused() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        obj.status.ready = 12
        raise RuntimeError("the disk is full")

    async with bare(sp.Controller(Widget, reconcile), crds=[refusing()]) as world:
        await world.create(widget())
        await advance(1)
        condition = find_condition((await world.get(Widget, "a")).status.conditions, "Reconciled")
        assert condition is not None
        assert (condition.status, condition.reason) == ("False", "RuntimeError")
        assert condition.message.startswith("RuntimeError: the disk is full (and its status was refused: Invalid")


@virtual_time
async def test_a_status_that_can_not_be_encoded_is_told_as_well() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        obj.status.ready = object()  # type: ignore[assignment]

    async with bare(sp.Controller(Widget, reconcile)) as world:
        await world.create(widget())
        await advance(1)
        condition = find_condition((await world.get(Widget, "a")).status.conditions, "Reconciled")
        assert condition is not None
        assert "the status was refused" in condition.message


# -- no subresource ----------------------------------------------------------------------------------------------------


@virtual_time
async def test_a_status_that_is_no_subresource_of_the_installed_definition_is_missed_loudly(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        obj.status.ready = 3

    with caplog.at_level(logging.ERROR):
        async with bare(sp.Controller(Widget, reconcile), crds=[without_status_subresource()]) as world:
            await world.create(widget())
            await advance(1)
            assert world.running("widget").metrics.errors > 1, "it is tried again: the definition may be mended"
            last = world.running("widget").timeline.of("default/a")[-1]
            assert last.detail.startswith("StatusNotServed: widgets.test.example.com is served in version v1 without")
            assert "manifests | kubectl apply -f -" in last.detail
            await advance(30)
            events = (await world.client.list(Event)).items
            assert {event.reason for event in events} == {"StatusNotServed"}
            await world.client.patch(
                CustomResourceDefinition,
                "widgets.test.example.com",
                {"spec": {"versions": crd_for(Widget)["spec"]["versions"]}},
            )
            await advance(3600)
            assert (await world.get(Widget, "a")).status.ready == 3
    assert any("StatusNotServed" in str(record.__dict__.get("fields", "")) for record in caplog.records)


@virtual_time
async def test_an_object_that_went_while_it_was_reconciled_is_no_failure() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await world.delete(obj)
        obj.status.ready = 3

    async with bare(sp.Controller(Widget, reconcile)) as world:
        await world.create(widget())
        await advance(1)
        assert world.running("widget").metrics.errors == 0


@virtual_time
async def test_a_namesake_created_meanwhile_does_not_get_the_status_of_its_predecessor() -> None:
    calls = 0

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            obj.status.ready = 77
            await world.delete(obj)
            await world.create(widget())

    async with bare(sp.Controller(Widget, reconcile)) as world:
        await world.create(widget())
        await advance(1)
        assert (await world.get(Widget, "a")).status.ready == 0
        assert calls == 2


@virtual_time
async def test_where_the_class_has_no_status_subresource_the_status_is_written_and_comes_to_rest() -> None:
    resource = Plain.resource
    calls = 0

    async def reconcile(obj: Plain, ctx: sp.Context) -> None:
        nonlocal calls
        calls += 1
        obj.status.ready = obj.spec.size
        ctx.set_condition("Ready", True, "Fine")

    definition = crd_for(Plain)
    for version in definition["spec"]["versions"]:
        version.pop("subresources")
    Plain.resource = msgspec.structs.replace(resource, subresources={})
    try:
        async with bare(sp.Controller(Plain, reconcile), crds=[definition]) as world:
            result = await world.create(Plain.named("a"))
            await advance(60)
            assert (await world.get(Plain, "a")).status.ready == 1
            assert calls < 4
            result = await world.get(Plain, "a")
            result.spec.size = 2
            await world.update(result)
            await advance(60)
            assert (await world.get(Plain, "a")).status.ready == 2
            assert calls < 8
    finally:
        Plain.resource = resource


@virtual_time
async def test_a_status_of_an_object_that_never_rests_is_a_conflict_and_tried_again() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        obj.status.ready = 3

    wires = Wires()
    restless = 7

    def change_first(request: Request) -> None:
        nonlocal restless
        if request.method == "PATCH" and request.path.endswith("/status") and restless:
            restless -= 1
            raise error_from_status(Status(status="Failure", reason="Conflict", code=409, message="changed"))

    async with bare(sp.Controller(Widget, reconcile)).over(wires) as world:
        wires.wire.before = change_first
        await world.create(widget())
        await advance(1)
        running = world.running("widget")
        assert (running.metrics.conflicts, running.metrics.errors, restless) == (1, 0, 0)
        assert (await world.get(Widget, "a")).status.ready == 3


@virtual_time
async def test_the_late_status_of_an_earlier_leader_does_not_replace_its_successors() -> None:
    seen: list[tuple[int, int, int | None]] = []

    async def reconcile(obj: Rack, ctx: sp.Context) -> None:
        seen.append((obj.spec.size, obj.status.ready, obj.status.observed_generation))
        if obj.spec.size == 1:
            # Meanwhile the other leader sees another size, and is done with it.
            await world.client.patch(Rack, "a", {"spec": {"size": 2}}, type=PatchType.MERGE)
            status = {"ready": 2, "observedGeneration": 2}
            await world.client.patch(Rack, "a", {"status": status}, type=PatchType.MERGE, subresource="status")
        obj.status.ready = obj.spec.size
        obj.status.machine = "m-1"

    async with bare(sp.Controller(Rack, reconcile)) as world:
        await world.create(Rack.named("a", "default"))
        await world.settle()
        assert seen[:2] == [(1, 0, None), (2, 2, 2)], "no value of the first was ever written onto the second's"
        status = (await world.get(Rack, "a")).status
        assert (status.ready, status.observed_generation, status.machine) == (2, 2, "m-1")
        assert world.running("rack").metrics.errors == 0


@virtual_time
async def test_the_part_of_a_status_that_nobody_else_has_changed_is_written_though_another_part_is_contested() -> None:
    machines: list[str] = []

    async def reconcile(obj: Rack, ctx: sp.Context) -> None:
        if not obj.status.machine:
            machines.append(f"m-{len(machines)}")
            obj.status.machine = machines[-1]
            body = {"status": {"ready": 7, "conditions": [BY_HAND]}}
            await world.client.patch(Rack, "a", body, type=PatchType.MERGE, subresource="status")
            obj.status.ready = 1
            ctx.set_condition("Ready", False, "Beginning")
        else:
            states.append((obj.status.ready, [condition.reason for condition in obj.status.conditions]))

    states: list[tuple[int, list[str]]] = []
    async with bare(sp.Controller(Rack, reconcile)) as world:
        await world.create(Rack.named("a", "default"))
        await world.settle()
        assert machines == ["m-0"], "what was made is remembered"
        assert states[0] == (7, ["ByHand"])


@virtual_time
async def test_a_reconcile_that_writes_its_status_before_the_end_contests_nothing_with_itself() -> None:
    reconciles = 0

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        nonlocal reconciles
        reconciles += 1
        if obj.status.ready == 0:
            await ctx.patch(obj, {"status": {"ready": 1}}, subresource="status")
            obj.status.ready = 2

    async with bare(sp.Controller(Widget, reconcile)) as world:
        await world.create(widget())
        await world.settle()
        assert (await world.get(Widget, "a")).status.ready == 2
        assert world.running("widget").metrics.conflicts == 0


@virtual_time
async def test_a_list_that_a_reconcile_writes_by_itself_is_not_mixed_with_the_one_that_it_has_read() -> None:
    mesh, tunnel = {"gateway": "mesh", "by": "others"}, {"gateway": "tunnel", "by": "us"}

    async def reconcile(obj: Route, ctx: sp.Context) -> None:
        others = [parent for parent in obj.status.parents if parent["by"] != "us"]
        if obj.status.parents != [*others, tunnel]:
            obj.status.parents = [*others, tunnel]
            await ctx.client.update_status(obj)

    async with bare(sp.Controller(Route, reconcile).needs(Route, "patch", subresource="status")) as world:
        route = await world.create(Route.named("a", "default"))
        await world.settle()
        await world.client.patch(Route, "a", {"status": {"parents": [tunnel, mesh]}}, subresource="status")
        await world.settle()
        assert (await world.get(Route, route.name)).status.parents == [mesh, tunnel]


@virtual_time
async def test_the_last_status_of_a_clean_up_is_written_as_long_as_other_finalizers_keep_the_object() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        obj.status.ready = 1

    async def clean_up(obj: Widget, ctx: sp.Context) -> None:
        obj.status.ready = 0

    async with bare(sp.Controller(Widget, reconcile).finalize(clean_up)) as world:
        new_widget = widget()
        new_widget.metadata.finalizers = ["example.com/another"]
        new_widget = await world.create(new_widget)
        await world.settle()
        assert (await world.get(Widget, "a")).status.ready == 1
        await world.delete(new_widget)
        await world.settle()
        left = await world.get(Widget, "a")
        assert (left.status.ready, left.metadata.finalizers) == (0, ["example.com/another"])


@pytest.mark.parametrize("how", ["update_status", "patch of the status", "patch of metadata"])
@virtual_time
async def test_after_a_write_of_the_reconcile_to_its_object_the_status_costs_one_request(how: str) -> None:
    """It is written onto the version that the reconcile has made, without a conflict and a read."""

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        if obj.status.ready:
            return
        obj.status.ready = 3
        if how == "update_status":
            await ctx.client.update_status(obj)
        elif how == "patch of the status":
            await ctx.patch(obj, {"status": {"ready": 3}}, subresource="status")
        else:
            await ctx.patch(obj, {"metadata": {"labels": {"seen": "yes"}}})
        obj.status.ready = 4

    wires = Wires()
    async with cluster(sp.Controller(Widget, reconcile), control_plane=False, rbac=False).over(wires) as world:
        await world.create(widget())
        wires.wire.requests.clear()
        await world.settle()
        requests = [request.method for request in wires.wire.requests if "/widgets/" in request.path]
        assert requests == ["PATCH", "PATCH"]
        assert (await world.get(Widget, "a")).status.ready == 4


@virtual_time
async def test_a_patch_of_the_status_that_names_a_version_is_refused_by_every_other_version() -> None:
    """The object is read with the newest version, and the patch was computed from an older one."""
    problems: list[Exception] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        patch = {"metadata": {"resourceVersion": "1"}, "status": {"ready": 9}}
        try:
            await ctx.patch(obj, patch, subresource="status")
        except sp.Conflict as problem:
            problems.append(problem)

    async with bare(sp.Controller(Widget, reconcile, owns_status=False), objects=[widget()]) as world:
        await world.settle()
        assert problems
        assert (await world.get(Widget, "a")).status.ready == 0


@virtual_time
async def test_a_status_that_another_writer_changed_after_the_reconciles_own_write_is_not_replaced() -> None:
    """The cache shows that newer state by then, which is not the reconcile's own."""
    results: list[int] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        results.append(obj.status.ready)
        if len(results) > 1:
            return
        await ctx.patch(obj, {"metadata": {"labels": {"seen": "yes"}}})
        await world.client.patch(Widget, "a", {"status": {"ready": 7}}, namespace="default", subresource="status")
        await asyncio.sleep(1)
        obj.status.ready = 4

    async with cluster(sp.Controller(Widget, reconcile), control_plane=False, rbac=False) as world:
        await world.create(widget())
        await world.settle()
        assert results[:2] == [0, 7]
        assert (await world.get(Widget, "a")).status.ready == 7
