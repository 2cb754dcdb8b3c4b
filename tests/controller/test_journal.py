"""The journal of external systems: one thing for each object, wherever an answer is lost."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

import setpoint as sp
from setpoint.controller import Unconfirmed
from setpoint.testing import advance, cluster, virtual_time

from .world import Widget, widget

NAME = "cloud.example.com/bucket"


class Cloud:
    """Things by id, each with its token. New ones are visible after ``lag`` seconds; ``lose`` answers are lost."""

    def __init__(self) -> None:
        self.things: dict[str, tuple[str, float]] = {}
        self.made = 0
        self.lose = 0
        self.lag = 0.0
        self.refuse = 0
        self.finds = 0

    async def create(self, token: str) -> str:
        if self.refuse:
            self.refuse -= 1
            raise PermissionError("quota")
        self.made += 1
        self.things[f"b-{self.made}"] = (token, asyncio.get_running_loop().time() + self.lag)
        if self.lose:
            self.lose -= 1
            raise ConnectionError("no answer")
        return f"b-{self.made}"

    async def find(self, token: str) -> str | None:
        self.finds += 1
        now = asyncio.get_running_loop().time()
        return next((id for id, (item, since) in self.things.items() if item == token and since <= now), None)

    async def delete(self, id: str) -> None:
        self.things.pop(id, None)


def controlled(cloud: Cloud, *, visible_within: float = 30.0, recheck: float = 0.0) -> sp.Controller[Widget]:
    journal = sp.Journal(NAME, visible_within=visible_within, recheck=recheck)

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await journal.ensure(ctx, create=cloud.create, find=cloud.find)
        obj.status.ready = 1

    async def clean_up(obj: Widget, ctx: sp.Context) -> None:
        await journal.remove(ctx, find=cloud.find, delete=cloud.delete)

    return sp.Controller(Widget, reconcile).finalize(clean_up)


def bare(*controllers: sp.Controller[Any], **options: Any) -> Any:
    return cluster(*controllers, control_plane=False, **options)


@virtual_time
async def test_one_thing_is_created_kept_by_its_id_and_deleted_with_the_object() -> None:
    cloud = Cloud()
    async with bare(controlled(cloud)) as world:
        await world.create(widget())
        await world.settle()
        current_widget = await world.get(Widget, "a")
        assert sp.Journal(NAME).id(current_widget) == "b-1"
        assert current_widget.status.ready == 1
        current_widget.spec.size = 5
        await world.update(current_widget)
        await world.settle()
        assert cloud.made == 1
        await world.delete(current_widget)
        await world.settle()
        assert not cloud.things
        assert await world.find(Widget, "a") is None


@virtual_time
async def test_a_thing_whose_answer_was_lost_is_found_again() -> None:
    cloud = Cloud()
    cloud.lose = 1
    async with bare(controlled(cloud)) as world:
        await world.create(widget())
        await world.settle()
        assert list(cloud.things) == ["b-1"]
        assert sp.Journal(NAME).id(await world.get(Widget, "a")) == "b-1"


@virtual_time
async def test_a_thing_that_shows_late_is_waited_for_and_not_made_twice() -> None:
    cloud = Cloud()
    cloud.lose, cloud.lag = 1, 20.0
    async with bare(controlled(cloud)) as world:
        await world.create(widget())
        await world.settle(120)
        assert cloud.made == 1
        current_widget = await world.get(Widget, "a")
        assert sp.Journal(NAME).id(current_widget) == "b-1"
        assert not [condition for condition in current_widget.status.conditions if condition.status == "False"], (
            "waiting is not a failure"
        )
        assert world.running("widget").metrics.errors == 1, "the lost answer"


@virtual_time
async def test_no_object_is_stuck_when_nothing_was_made() -> None:
    cloud = Cloud()
    cloud.refuse = 1
    async with bare(controlled(cloud)) as world:
        await world.create(widget())
        await world.settle(120)
        assert cloud.made == 1
        assert asyncio.get_running_loop().time() >= 29
        assert (await world.get(Widget, "a")).status.ready == 1


@pytest.mark.parametrize("expected", [False, True])
@virtual_time
async def test_an_interrupted_create_is_cleaned_up_and_the_object_goes(expected: bool) -> None:
    cloud = Cloud()
    cloud.lag = 10.0
    if expected:
        cloud.lose = 1
    else:
        cloud.refuse = 1
    async with bare(controlled(cloud)) as world:
        await world.create(widget())
        await advance(1)
        await world.delete(await world.get(Widget, "a"))
        await world.settle(120)
        assert not cloud.things
        assert cloud.made == int(expected)
        assert await world.find(Widget, "a") is None


@virtual_time
async def test_a_journal_that_was_copied_or_written_over_is_looked_up_and_not_trusted() -> None:
    cloud = Cloud()
    async with bare(controlled(cloud, visible_within=5.0)) as world:
        copied = widget("copy")
        copied.metadata.annotations = {NAME: json.dumps({"uid": "another", "id": "b-77"})}
        garbage = widget("garbage")
        garbage.metadata.annotations = {NAME: "{"}
        for item in (copied, garbage):
            await world.create(item)
        await world.settle(60)
        ids = {sp.Journal(NAME).id(widget) for widget in await world.list(Widget)}
        assert ids == {"b-1", "b-2"}
        assert cloud.finds >= 1


@pytest.mark.parametrize("lag", [0.0, 25.0])
def test_a_thing_that_was_deleted_outside_is_created_again_and_one_that_is_not_visible_yet_is_not(lag: float) -> None:
    @virtual_time
    async def check() -> None:
        cloud = Cloud()
        cloud.lag = lag
        async with bare(controlled(cloud)) as world:
            await world.create(widget())
            for size in range(2, 9):  # a reconcile every 3 seconds, with a find that shows nothing at first
                await advance(3)
                current_widget = await world.get(Widget, "a")
                current_widget.spec.size = size
                await world.update(current_widget)
            await world.settle()
            assert list(cloud.things) == ["b-1"]
            await advance(30)
            cloud.things.clear()
            current_widget = await world.get(Widget, "a")
            current_widget.spec.size = 1
            await world.update(current_widget)
            await world.settle()
            assert list(cloud.things) == ["b-2"]
            current_widget = await world.get(Widget, "a")
            assert sp.Journal(NAME).id(current_widget) == "b-2"
            await world.delete(current_widget)
            await world.settle()
            assert not cloud.things

    check()


@virtual_time
async def test_the_answer_to_a_second_create_may_be_lost_too() -> None:
    cloud = Cloud()
    async with bare(controlled(cloud)) as world:
        await world.create(widget())
        await world.settle()
        await advance(60)
        cloud.things.clear()
        cloud.lose = 1
        current_widget = await world.get(Widget, "a")
        current_widget.spec.size = 2
        await world.update(current_widget)
        await world.settle()
        assert list(cloud.things) == ["b-2"]
        assert sp.Journal(NAME).id(await world.get(Widget, "a")) == "b-2"


@virtual_time
async def test_a_journal_of_an_earlier_version_has_no_time_to_wait_for() -> None:
    cloud = Cloud()
    async with bare(controlled(cloud)) as world:
        await world.create(widget())
        await world.settle()
        current_widget = await world.get(Widget, "a")
        current_widget.metadata.annotations = {NAME: json.dumps({"uid": current_widget.uid, "id": "b-1"})}
        await world.update(current_widget)
        await world.settle()
        assert list(cloud.things) == ["b-1"]


@pytest.mark.parametrize("id", ["", "b-1"])
@virtual_time
async def test_times_in_the_future_of_a_clock_that_was_set_back_hold_nothing_up(id: str) -> None:
    cloud = Cloud()
    async with bare(controlled(cloud, recheck=600.0)) as world:
        current_widget = await world.create(widget())
        await world.settle()
        cloud.things.clear()
        times = dict.fromkeys(("begun", "checked"), "2100-01-01T00:00:00Z")
        record = json.dumps({"uid": current_widget.uid, "id": id, **times})
        for size in range(1, 5):
            change: dict[str, Any] = {"spec": {"size": size}}
            if size == 1:
                change["metadata"] = {"annotations": {NAME: record}}
            await world.client.patch(Widget, "a", change, namespace="default")
            await advance(14)
            assert size > 2 or cloud.made == 1, "it may become visible for 30 s"
        assert list(cloud.things) == ["b-2"]


@virtual_time
async def test_with_recheck_a_thing_is_looked_for_only_now_and_then_and_comes_back_all_the_same() -> None:
    cloud = Cloud()
    journal = sp.Journal(NAME, recheck=300)

    async def reconcile(obj: Widget, ctx: sp.Context) -> sp.Outcome:
        obj.status.ready = int((await journal.ensure(ctx, create=cloud.create, find=cloud.find)).removeprefix("b-"))
        return sp.after(60)

    async def clean_up(obj: Widget, ctx: sp.Context) -> None:
        await journal.remove(ctx, find=cloud.find, delete=cloud.delete)

    async with bare(sp.Controller(Widget, reconcile).finalize(clean_up)) as world:
        await world.create(widget())
        await advance(290)
        assert cloud.finds == 0, "it was created less than 300 s ago"
        await advance(20)
        assert cloud.finds == 1
        cloud.things.clear()
        await advance(280)
        assert not cloud.things
        await advance(20)
        assert list(cloud.things) == ["b-2"]
        assert (await world.get(Widget, "a")).status.ready == 2


@pytest.mark.parametrize("is_gone", [True, False])
@virtual_time
async def test_after_forget_the_thing_is_looked_for_and_made_only_if_it_is_gone(is_gone: bool) -> None:
    cloud = Cloud()
    journal = sp.Journal(NAME, recheck=3600)
    ids: list[str] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        id = await journal.ensure(ctx, create=cloud.create, find=cloud.find)
        if id not in cloud.things or (len(ids) == 1 and not is_gone):
            await journal.forget(ctx)
            assert journal.id(obj) == ""
            await journal.forget(ctx)
            id = await journal.ensure(ctx, create=cloud.create, find=cloud.find)
        ids.append(id)

    async def clean_up(obj: Widget, ctx: sp.Context) -> None:
        await journal.remove(ctx, find=cloud.find, delete=cloud.delete)

    async with bare(sp.Controller(Widget, reconcile).finalize(clean_up)) as world:
        await world.create(widget())
        await world.settle()
        await advance(60)
        if is_gone:
            cloud.things.clear()
        obj = await world.get(Widget, "a")
        obj.spec.size = 2
        await world.update(obj)
        await world.settle()
        assert list(cloud.things) == (["b-2"] if is_gone else ["b-1"])
        assert set(ids) == ({"b-1", "b-2"} if is_gone else {"b-1"})


@virtual_time
async def test_a_journal_needs_a_clean_up() -> None:
    cloud = Cloud()
    journal = sp.Journal(NAME)
    problems: list[str] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        with pytest.raises(RuntimeError) as caught:
            await journal.ensure(ctx, create=cloud.create, find=cloud.find)
        problems.append(str(caught.value))

    async with bare(sp.Controller(Widget, reconcile)) as world:
        await world.create(widget())
        await world.settle()
    assert "declare controller 'widget' with .finalize(...)" in problems[0]
    assert cloud.made == 0


def test_a_name_or_a_time_that_can_not_be_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Journal\('not a name'\)"):
        sp.Journal("not a name")
    with pytest.raises(ValueError, match="visible_within must not be negative"):
        sp.Journal(NAME, visible_within=-1)
    with pytest.raises(ValueError, match="recheck must not be negative"):
        sp.Journal(NAME, recheck=-1)
    assert issubclass(Unconfirmed, Exception)
