"""The timeline of a key: how long it waited, how fresh its reads were, what its writes changed."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import setpoint as sp
from setpoint.client import PatchType
from setpoint.client.changed_fields import MAX_FIELDS, changed_fields, sent_fields
from setpoint.controller import Cause
from setpoint.controller.explain.explanation import AttemptEntry, explain
from setpoint.controller.history import (
    MAX_ATTEMPTS,
    MAX_CAUSES,
    MAX_FAILED,
    MAX_WRITES,
    Attempt,
    CauseLog,
    Timeline,
    waited,
)
from setpoint.meta import ObjectKey
from setpoint.models.core_v1 import ConfigMap, Secret
from setpoint.testing import advance, cluster, virtual_time

from .world import Widget, Wires, config, widget


def moments(world: Any, key: str = "default/a", name: str = "widget") -> list[AttemptEntry]:
    return explain(world.running(name), key).timeline


@virtual_time
async def test_how_long_a_key_was_in_the_queue_counts_from_what_led_to_it() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> sp.Outcome | None:
        await asyncio.sleep(10)
        return sp.after(100) if obj.name == "a" else None

    async with cluster(sp.Controller(Widget, reconcile, workers=1), control_plane=False, rbac=False) as world:
        await world.create(widget("a"))
        await advance(1)
        await world.create(widget("b"))
        await advance(30)
        (first,), (second,) = moments(world), moments(world, "default/b")
        assert (first.waited, second.waited) == pytest.approx((0.0, 9.0), abs=0.2)
        # A planned reconcile is queued when it is due; an event while the key is worked on waits for its end.
        await advance(85)
        changed = await world.get(Widget, "a")
        changed.spec.size = 2
        await world.update(changed)
        await advance(30)
        _, third, fourth = moments(world)
        assert third.causes == ["after"]
        assert (third.waited, fourth.waited) == pytest.approx((0.0, 5.0), abs=1.1)


@virtual_time
async def test_how_fresh_its_reads_were_and_what_they_found() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        for name in ("x", "y", "none"):
            await ctx.get(ConfigMap, name)
        await ctx.list(ConfigMap, namespace="*")
        await ctx.get(Secret, "s")

    objects = [config("x"), config("y")]
    for one_obj in objects:
        one_obj.metadata.namespace = "default"
    controller = sp.Controller(Widget, reconcile).reads(ConfigMap)
    async with cluster(controller, objects=objects, control_plane=False, rbac=False) as world:
        await advance(20)
        await world.create(widget("a"))
        await advance(0.1)
        (moment,) = moments(world)
        assert moment.age == pytest.approx(0.0, abs=0.05), "the event has just come"
        cached, live = moment.reads
        # ConfigMaps have been quiet since the start, but for bookmarks.
        assert (cached.kind, cached.reads, cached.objects, cached.cached) == ("ConfigMap", 4, 4, True)
        assert cached.age is not None
        assert 10 < cached.age <= 20.1
        assert (live.kind, live.reads, live.objects, live.cached, live.age) == ("Secret", 1, 0, False, None)


@virtual_time
async def test_what_its_writes_changed_by_field_and_never_by_value() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        size = str(obj.spec.size)
        await ctx.apply(Secret.named("out", data={"password": f"secret {size}".encode(), "user": b"same"}))
        await ctx.client.patch(ConfigMap, "x", {"data": {"size": size}}, namespace="default")
        await ctx.patch(obj, {"metadata": {"labels": {"example.com/size": size}}})
        config_map = await ctx.client.get(ConfigMap, "x", namespace="default")
        config_map.metadata.annotations["size"] = size
        await ctx.client.update(config_map)
        obj.status.ready = obj.spec.size

    present = config("x")
    present.metadata.namespace = "default"
    async with cluster(
        sp.Controller(Widget, reconcile).owns(Secret), objects=[present], control_plane=False, rbac=False
    ) as world:
        await world.create(widget("a"))
        await world.settle()
        changed = await world.get(Widget, "a")
        changed.spec.size = 2
        await world.update(changed)
        await world.settle()
        answer = [
            [(write.verb, write.kind, write.effect or ", ".join(write.fields)) for write in moment.writes]
            for moment in moments(world)
        ]
        first, second = (
            answer[0],
            next(item for item in answer[1:] if any("data.password" in text for _, _, text in item)),
        )
        assert first == [
            ("apply", "Secret", "created"),
            ("patch", "ConfigMap", "data.size"),
            ("patch", "Widget", "metadata.labels[example.com/size]"),
            ("patch", "ConfigMap", "metadata.annotations.size"),
            ("patch", "Widget", "status.observedGeneration, status.ready"),
        ]
        assert second[0] == ("apply", "Secret", "data.password")
        again = answer[-1]
        assert ("apply", "Secret", "no change") in again or again == second
        text = msgspec.json.encode(explain(world.running("widget"), "default/a")).decode()
        assert "c2VjcmV0" not in text, "no value is told, encoded or not"
        assert "secret " not in text.lower().replace("secret default/out", "")


@virtual_time
async def test_a_wait_for_the_caches_is_told_and_so_is_a_read_from_the_server() -> None:
    wires = Wires()

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.apply(config("child", x=str(obj.spec.size)))
        ctx.owned(ConfigMap)

    async with cluster(sp.Controller(Widget, reconcile).owns(ConfigMap), control_plane=False, rbac=False).over(
        wires
    ) as world:
        wires.wire.delays["configmaps"] = 4
        await world.create(widget("a"))
        await advance(1)
        for size in (2, 3):
            changed = await world.get(Widget, "a")
            changed.spec.size = size
            await world.update(changed)
            await advance(6)
        current_moments = moments(world)
        assert any(3 < moment.cache_wait < 4.1 for moment in current_moments), [
            moment.cache_wait for moment in current_moments
        ]
        wires.wire.delays["configmaps"] = 60
        await world.update(await _with_size(world, 4))
        await advance(5)
        await world.update(await _with_size(world, 5))
        await advance(30)
        last = moments(world)[-1]
        assert (last.cache_wait, last.reads[0].cached) == (pytest.approx(10, abs=0.1), False)


async def _with_size(world: Any, size: int) -> Widget:
    widget: Widget = await world.get(Widget, "a")
    widget.spec.size = size
    return widget


@virtual_time
async def test_however_much_a_reconcile_writes_little_of_it_is_remembered() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> sp.Outcome:
        for number in range(MAX_WRITES + 10):
            await ctx.client.create(config(f"{ctx.failures}-{number}-{int(asyncio.get_running_loop().time())}"))
        return sp.after(1)

    async with cluster(sp.Controller(Widget, reconcile), control_plane=False, rbac=False) as world:
        await world.create(widget("a"))
        await advance(30)
        current_moments = moments(world)
        assert len(current_moments) == MAX_ATTEMPTS
        assert {(len(moment.writes), moment.more_writes) for moment in current_moments} == {(MAX_WRITES, 10)}


def test_the_first_cause_is_kept_among_the_newest() -> None:
    log, key = CauseLog(), ObjectKey("default/a")
    for number in range(1, 41):
        log.add(key, Cause("update", "Pod", f"default/{number}", at=float(number)))
    causes = log.take(key)
    assert len(causes) == MAX_CAUSES
    assert [cause.at for cause in causes] == [1.0, *map(float, range(26, 41))]
    assert waited(causes, 50.0) == 49.0
    assert waited((), 50.0) is None


@pytest.mark.parametrize(
    ("kind", "body", "fields"),
    [
        (PatchType.MERGE, {"metadata": {"uid": "u", "resourceVersion": "5"}, "spec": {"a": {"b": 1}}}, ("spec.a.b",)),
        (PatchType.MERGE, {"metadata": {"labels": {"a.b/c": None}}}, ("metadata.labels[a.b/c]",)),
        (PatchType.MERGE, {"spec": [1]}, ("spec",)),
        (PatchType.STRATEGIC, {"spec": {"containers": [{"name": "a"}]}}, ("spec.containers",)),
        (
            PatchType.JSON,
            [
                {"op": "test", "path": "/metadata/resourceVersion", "value": "5"},
                {"op": "replace", "path": "/metadata/annotations/a.b~1c", "value": 1},
                {"op": "add", "path": "/spec/list/-", "value": 1},
            ],
            ("metadata.annotations[a.b/c]", "spec.list.-"),
        ),
        (PatchType.APPLY, {"spec": {"a": 1}}, ()),
    ],
)
def test_patches_name_their_fields(kind: PatchType, body: Any, fields: tuple[str, ...]) -> None:
    assert sent_fields(kind.value, json.dumps(body).encode()) == fields


values = st.recursive(
    st.none() | st.integers() | st.text("ab", max_size=2),
    lambda inner: st.dictionaries(st.text("ab", min_size=1), inner, max_size=3) | st.lists(inner, max_size=2),
    max_leaves=8,
)
documents = st.dictionaries(st.text("ab", min_size=1, max_size=2), values, max_size=4)


@given(documents, documents)
def test_fields_are_told_when_and_only_when_something_differs(before: dict[str, Any], after: dict[str, Any]) -> None:
    one = {"metadata": {"name": "x", "resourceVersion": "1", "generation": 1}, "spec": _without_nulls(before)}
    two = {"metadata": {"name": "x", "resourceVersion": "2", "managedFields": []}, "spec": _without_nulls(after)}
    fields = changed_fields(one, two)
    assert bool(fields) == (one["spec"] != two["spec"])
    assert len(fields) <= MAX_FIELDS
    assert all(field.startswith("spec") for field in fields)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(one_value) for name, one_value in value.items() if one_value is not None}
    return value


def attempt(result: str, next_in: float | None = None) -> Attempt:
    return Attempt(0.0, 0.0, (), "1", 1, (), result, "why", next_in)


def test_what_failed_for_good_is_known_however_much_else_happens() -> None:
    timeline = Timeline(max_keys=3)
    bad, worse = ObjectKey("default/bad"), ObjectKey("default/worse")
    timeline.add(bad, attempt("success"))
    timeline.add(bad, attempt("error"))
    timeline.add(worse, attempt("error"))
    for number in range(10):
        timeline.add(ObjectKey(f"default/{number}"), attempt("error", next_in=1.0))
    assert timeline.of(bad) == [attempt("error")]
    assert timeline.last(worse) == attempt("error")
    assert timeline.keys() == [bad, worse, *(ObjectKey(f"default/{number}") for number in (7, 8, 9))]

    timeline.add(bad, attempt("success"))  # it was mended, and is forgotten like all others
    assert [item.result for item in timeline.of(bad)] == ["error", "success"]
    for number in range(10):
        timeline.add(ObjectKey(f"default/{number}"), attempt("success"))
    assert timeline.last(bad) is None
    assert len(timeline) == 4


def test_what_is_known_of_failures_has_a_bound() -> None:
    timeline = Timeline(max_keys=1)
    for number in range(MAX_FAILED + 10):
        timeline.add(ObjectKey(f"default/{number}"), attempt("error"))
    assert len(timeline) == MAX_FAILED + 1
    assert timeline.last(ObjectKey("default/8")) is None
    assert timeline.last(ObjectKey("default/9")) is not None
