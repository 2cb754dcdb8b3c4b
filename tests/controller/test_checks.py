"""Defaults and checks inside the reconcile: the fallback where there are no webhooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import setpoint as sp
from setpoint.controller.defaulting_and_validation import Check
from setpoint.meta import find_condition
from setpoint.models.core_v1 import ConfigMap
from setpoint.models.events_v1 import Event
from setpoint.testing import advance, cluster, virtual_time
from setpoint.webhook import Admission, Review

from .world import Widget, Wires, config, widget


def bare(*controllers: sp.Controller[Any], **options: Any) -> Any:
    """A cluster without a control plane."""
    return cluster(*controllers, control_plane=False, **options)


def at_least_three(obj: Widget) -> None:
    obj.spec.size = max(obj.spec.size, 3)


def at_most_nine(obj: Widget, check: Any) -> None:
    if obj.spec.size > 9:
        check.invalid("spec.size", obj.spec.size, "must be at most 9")


@virtual_time
async def test_the_reconciler_sees_defaults_and_the_server_never_does() -> None:
    seen: list[int] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        seen.append(obj.spec.size)
        obj.status.ready = obj.spec.size

    async def clean_up(obj: Widget, ctx: sp.Context) -> None:
        seen.append(-obj.spec.size)

    wires = Wires()
    controller = sp.Controller(Widget, reconcile).finalize(clean_up).defaults(at_least_three)
    async with bare(controller).over(wires) as world:
        await world.create(widget(size=1))
        await world.settle()
        there = await world.get(Widget, "a")
        assert (there.spec.size, there.status.ready, there.metadata.generation) == (1, 3, 1)
        await world.delete(there)
        await world.settle()
        assert seen == [3, -3]
        assert [line for line in wires.wire.writes("widgets") if not line.startswith("PATCH")] == []


@virtual_time
async def test_a_refused_object_waits_for_a_change_and_says_why() -> None:
    seen: list[int] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        seen.append(obj.spec.size)

    async with bare(sp.Controller(Widget, reconcile).validates(at_most_nine)) as world:
        await world.create(widget(size=12))
        await advance(3600)
        refused = await world.get(Widget, "a")
        condition = find_condition(refused.status.conditions, "Reconciled")
        assert condition is not None
        assert (condition.status, condition.reason, condition.observed_generation) == ("False", "InvalidObject", 1)
        assert "spec.size: Invalid value: 12: must be at most 9" in condition.message
        (event,) = (await world.client.list(Event)).items
        assert (event.type, event.reason) == ("Warning", "InvalidObject")
        assert event.note == "spec.size: Invalid value: 12: must be at most 9"
        assert seen == []
        assert world.running("widget").metrics.results["error"] == 1
        refused.spec.size = 9
        await world.client.update(refused)
        await world.settle()
        assert seen == [9]
        assert (await world.get(Widget, "a")).status.conditions == [], "what is fine does not tell of its past"


@virtual_time
async def test_defaults_come_before_checks_in_the_order_of_declaration() -> None:
    calls: list[str] = []

    async def later(obj: Widget, check: Check) -> None:
        config_map = await check.get(ConfigMap, "limits")
        calls.append(f"validate {obj.spec.size} {check.operation} {config_map is not None}")
        obj.spec.size = 100  # ignored

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        calls.append(f"reconcile {obj.spec.size}")

    def doubled(obj: Widget) -> None:
        obj.spec.size *= 2

    controller = sp.Controller(Widget, reconcile).reads(ConfigMap)
    controller.validates(later).defaults(at_least_three).defaults(doubled).validates(at_most_nine)
    async with bare(controller, objects=[config("limits")]) as world:
        await world.create(widget(size=1))
        await world.settle()
        assert calls == ["validate 6 create True", "reconcile 6"]


@virtual_time
async def test_what_is_being_deleted_is_cleaned_up_whatever_its_checks_say() -> None:
    cleaned: list[str] = []
    strict = False

    def check(obj: Widget, check: Check) -> None:
        if strict:
            check.deny("nothing is allowed any more")

    async def reconcile(obj: Widget, ctx: sp.Context) -> None: ...

    async def clean_up(obj: Widget, ctx: sp.Context) -> None:
        cleaned.append(obj.name)

    async with bare(sp.Controller(Widget, reconcile).finalize(clean_up).validates(check)) as world:
        new_widget = await world.create(widget())
        await world.settle()
        strict = True
        await world.delete(new_widget)
        await world.settle()
        assert cleaned == ["a"]
        assert (await world.list(Widget)) == []


@virtual_time
async def test_an_exception_in_a_check_is_a_failure_and_no_verdict() -> None:
    calls: list[int] = []

    def check(obj: Widget) -> None:
        calls.append(1)
        if len(calls) < 3:
            raise LookupError("the catalogue is not there yet")

    async def reconcile(obj: Widget, ctx: sp.Context) -> None: ...

    async with bare(sp.Controller(Widget, reconcile).validates(check)) as world:
        await world.create(widget())
        await world.settle()
        assert len(calls) == 3
        (event,) = (await world.client.list(Event)).items
        assert event.reason == "LookupError"
        assert (event.note or "").startswith("the catalogue is not there yet (test_checks.py:")
        assert event.series is not None
        assert event.series.count == 2


@virtual_time
async def test_warnings_become_events_and_refuse_nothing() -> None:
    seen: list[str] = []

    def check(obj: Widget, check: Check) -> None:
        check.warn("size is going to be replaced")

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        seen.append(obj.name)

    async with bare(sp.Controller(Widget, reconcile).validates(check)) as world:
        await world.create(widget())
        await world.settle()
        assert seen == ["a"]
        (event,) = (await world.client.list(Event)).items
        assert (event.reason, event.note) == ("ValidationWarning", "size is going to be replaced")


@virtual_time
async def test_a_result_of_a_check_is_refused_lest_somebody_believes_in_it() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None: ...

    async with bare(sp.Controller(Widget, reconcile).validates(lambda obj: ["size is wrong"])) as world:
        await world.create(widget())
        await advance(0.001)
        assert "must return None" in (await world.get(Widget, "a")).status.conditions[0].message


def test_webhooks_and_reconcilers_take_the_same_functions() -> None:
    def check(obj: Widget, review: Review[Widget]) -> None:
        if obj.spec.size > 9:
            review.invalid("spec.size", obj.spec.size, "must be at most 9")

    async def reconcile(obj: Widget, ctx: sp.Context) -> None: ...

    admission = Admission(Widget).defaults(at_least_three).validates(check).validates(at_most_nine)
    controller = sp.Controller(Widget, reconcile).defaults(at_least_three).validates(check).validates(at_most_nine)
    assert (len(admission.validators), len(controller.validators)) == (2, 2)


@pytest.mark.parametrize("function", [lambda: None, lambda a, b, c: None, lambda a, *, b: None])
def test_functions_that_take_something_else_are_refused(function: Callable[..., Any]) -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None: ...

    with pytest.raises(TypeError, match="must take the object, or the object and the check"):
        sp.Controller(Widget, reconcile).validates(function)
