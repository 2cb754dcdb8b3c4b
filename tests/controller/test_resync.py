"""A controller's own periodic resync, filters of all kinds, missed deletions, and caches that hold too much."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

import pytest

import setpoint as sp
from setpoint.controller import predicates
from setpoint.controller.predicates import final_state_unknown, last_known
from setpoint.controller.run.activity_records import JUDGED_AFTER, MANY_SECRETS
from setpoint.meta import Head
from setpoint.models.core_v1 import ConfigMap, Pod, Secret
from setpoint.testing import advance, cluster, virtual_time

from .world import Widget, config, widget


def bare(*controllers: sp.Controller[Any], **options: Any) -> Any:
    return cluster(*controllers, control_plane=False, **options)


@virtual_time
@pytest.mark.parametrize("period", [600, timedelta(minutes=10)])
async def test_every_object_is_reconciled_again_after_each_period_whatever_predicates_of_changes_say(
    period: float | timedelta,
) -> None:
    seen: list[str] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        seen.append(obj.name)

    chosen = [predicates.generation_changed, predicates.objects_where(lambda head: head.name != "other", "mine")]
    async with bare(sp.Controller(Widget, reconcile, resync=period, predicates=chosen)) as world:
        for name in ("a", "b", "other"):
            await world.create(widget(name))
        await advance(599)
        assert sorted(seen) == ["a", "b"]
        await advance(62)
        assert sorted(seen) == ["a", "a", "b", "b"]
        await advance(6600)
        assert len(seen) in (22, 24)
        assert "other" not in seen


@virtual_time
async def test_a_resync_does_not_end_a_back_off() -> None:
    tries = 0

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        nonlocal tries
        tries += 1
        raise ConnectionError("the mill can't be reached")

    async with bare(sp.Controller(Widget, reconcile, resync=2)) as world:
        await world.create(widget())
        await advance(3000)
        assert tries < 25


@virtual_time
async def test_there_is_no_resync_by_default_and_the_managers_period_is_for_all_others() -> None:
    assert sp.Controller(Widget, _nothing).resync is None
    seen: list[str] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        seen.append(ctx.controller)

    async with bare(crds=[Widget]) as world:
        controllers = [
            sp.Controller(Widget, reconcile, name="default", owns_status=False),
            sp.Controller(Widget, reconcile, name="off", resync=0, owns_status=False),
        ]
        options = sp.manager.ManagerOptions(resync=100.0)
        await world.create(widget())
        async with sp.Manager(world.client, controllers=controllers, options=options):
            await advance(350)
    assert (seen.count("default"), seen.count("off")) == (4, 1)


@pytest.mark.parametrize("period", [-1, 0.5, float("nan"), timedelta(milliseconds=3)])
def test_a_period_that_makes_no_sense_is_refused(period: Any) -> None:
    with pytest.raises(ValueError, match="resync must be 0 or at least 1 second"):
        sp.Controller(Widget, _nothing, resync=period)


async def _nothing(obj: Any, ctx: sp.Context) -> None:
    """Nothing to do."""


@virtual_time
async def test_an_event_filter_is_for_all_kinds_beside_the_predicates_of_each() -> None:
    seen: list[str] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        seen.append(obj.name)

    live = predicates.objects_where(lambda head: head.labels.get("tier") != "test", "not_for_tests")
    controller = sp.Controller(Widget, reconcile, event_filter=[live], predicates=[predicates.generation_changed])
    controller.watches(ConfigMap, lambda head: sp.ObjectKey.of("default", "a"))
    async with bare(controller) as world:
        await world.create(widget("a"))
        hidden = widget("b")
        hidden.metadata.labels = {"tier": "test"}
        await world.create(hidden)
        await world.settle()
        assert seen == ["a"]
        quiet = config("quiet")
        quiet.metadata.labels = {"tier": "test"}
        await world.create(quiet)
        await world.settle()
        assert seen == ["a"]
        await world.create(config("loud"))
        await world.settle()
        assert seen == ["a", "a"]


@virtual_time
async def test_a_predicate_sees_whether_the_final_state_of_a_deleted_object_is_known() -> None:
    known = Head(name="a", labels={"x": "y"})
    unknown = last_known(known)
    assert (unknown.name, unknown.labels, unknown.key) == ("a", {"x": "y"}, known.key)
    assert [final_state_unknown(head, None) for head in (known, unknown)] == [False, True]
    assert not final_state_unknown(None, known)
    assert not final_state_unknown(known, known)
    sure = predicates.of_types(delete=True) & ~final_state_unknown
    assert [sure(head, None) for head in (known, unknown)] == [True, False]


@virtual_time
async def test_a_deletion_that_was_missed_by_the_watch_has_an_unknown_final_state() -> None:
    events: list[tuple[str, bool]] = []

    def note(old: Head | None, new: Head | None) -> bool:
        if old is not None and new is None:
            events.append((old.name, final_state_unknown(old, new)))
        return True

    controller = sp.Controller(Widget, _nothing).watches(ConfigMap, lambda head: None, predicates=[note])
    async with bare(controller) as world:
        for name in ("seen", "missed"):
            await world.create(config(name))
        await world.settle()
        await world.delete(await world.get(ConfigMap, "seen"))
        await world.settle()
        (informer,) = (
            informer for gvr, informer in world.running("widget").informers.items() if gvr.resource == "configmaps"
        )
        shared = informer.shared
        shared.begin()  # a list after a gap of the watch, which lacks the other one
        shared.finish("1000000")
        await world.settle()
    assert events == [("seen", False), ("missed", True)]


@virtual_time
async def test_a_controller_that_caches_all_secrets_and_owns_few_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    secrets = [Secret.named(f"s{number}", "default", string_data={"x": "y" * 100}) for number in range(MANY_SECRETS)]
    async with bare(sp.Controller(Widget, _nothing).owns(Secret), objects=secrets) as world:
        await world.settle()
    (text,) = (record.message for record in caplog.records if "caches all" in record.message)
    assert "caches all 200 Secrets of the cluster" in text
    assert 'declare .owns(Secret, selector="...")' in text
    caplog.clear()
    async with bare(sp.Controller(Widget, _nothing).owns(Secret, selector="app=x"), objects=secrets) as world:
        await world.settle()
    async with bare(sp.Controller(Widget, _nothing).owns(Secret), objects=secrets[1:]) as world:
        await world.settle()
    assert not [record for record in caplog.records if "caches all" in record.message]


async def _gets(obj: Widget, ctx: sp.Context) -> None:
    await ctx.get(Secret, "s1")


async def _lists(obj: Widget, ctx: sp.Context) -> None:
    await ctx.list(Secret)


async def _uses_a_lister(obj: Widget, ctx: sp.Context) -> None:
    ctx.lister(Secret).list()


def _all_widgets(secret: Head) -> list[str]:
    return ["default/a", "default/b"]


def _first(secret: Head) -> list[str]:
    return ["default/a"] if secret.name == "s1" else []


@virtual_time
@pytest.mark.parametrize(
    ("controller", "text"),
    [
        (sp.Controller(Widget, _gets).reads(Secret), 'about 2 of them so far: declare .reads(Secret, ..., selector="'),
        (sp.Controller(Widget, _gets).watches(Secret, _first), "about 3 of them so far: declare .watches(Secret, "),
        (sp.Controller(Widget, _gets).watches(Secret, _all_widgets), ""),
        (sp.Controller(Widget, _lists).reads(Secret), ""),
        (sp.Controller(Widget, _uses_a_lister).reads(Secret), ""),
        (sp.Controller(Widget, _gets).reads(Secret, namespace="default"), ""),
        (sp.Controller(Widget, _gets).watches(Secret, _first, field_selector="type=Opaque"), ""),
        (sp.Controller(Widget, _gets).reads(Secret, metadata_only=True), ""),
    ],
)
async def test_a_controller_that_caches_all_secrets_and_reads_few_is_warned_of(
    controller: sp.Controller[Widget], text: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    secrets = [Secret.named(f"s{number}", "default", string_data={"x": "y" * 100}) for number in range(MANY_SECRETS)]
    async with bare(controller, objects=[*secrets, widget("a"), widget("b")]):
        await advance(JUDGED_AFTER - 1)
        assert not [record for record in caplog.records if "caches all" in record.message]
        await advance(2)
    texts = [record.message for record in caplog.records if "caches all" in record.message]
    assert len(texts) == bool(text)
    assert all(text in message for message in texts)


@virtual_time
@pytest.mark.parametrize(("node", "fits"), [("here", True), ("there", False)])
async def test_a_kept_child_outside_the_fields_of_its_cache_is_refused_before_it_is_written(
    node: str, fits: bool
) -> None:
    async def reconcile(obj: Pod, ctx: sp.Context) -> None:
        if obj.name == "mother":
            child = Pod.named("child", spec={"nodeName": node, "containers": [{"name": "c", "image": "i"}]})
            await ctx.keep(Pod, [child])

    controller = sp.Controller(Pod, reconcile, field_selector={"spec.nodeName": "here"}).needs(Pod, "create", "patch")
    async with bare(controller) as world:
        spec = {"nodeName": "here", "containers": [{"name": "c", "image": "i"}]}
        await world.create(Pod.named("mother", "default", spec=spec))
        await world.settle(failing=True)
        assert (await world.find(Pod, "child") is not None) is fits
        last = world.running("pod").timeline.last(sp.ObjectKey("default/mother"))
        assert ("labels or fields are outside" in last.detail) is not fits
