"""`Context.keep` when the server refuses, is behind, or is not there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from tests.transports import Through

import setpoint as sp
from setpoint.client import Forbidden, Request, Response, Transport, TransportError
from setpoint.client.errors import error_from_status
from setpoint.controller import AdoptionError
from setpoint.controller.memory import MAX_SELECTORS
from setpoint.controller.writes.children import Children, _age, _is_its_own
from setpoint.meta import ObjectKey
from setpoint.meta.status import Status
from setpoint.models.batch_v1 import Job, JobSpec
from setpoint.models.core_v1 import ConfigMap, Container, Namespace, Pod, PodSpec, PodTemplateSpec
from setpoint.testing import EPOCH, advance, cluster, virtual_time

from .world import Widget, Wires, config, lost_answer, widget


def bare(*controllers: sp.Controller[Any], **options: Any) -> Any:
    return cluster(*controllers, control_plane=False, **options)


def generated(prefix: str) -> ConfigMap:
    config_map = ConfigMap(data={"k": "v"})
    config_map.metadata.generate_name = prefix
    return config_map


@virtual_time
async def test_a_live_read_that_fails_is_made_up_for_before_the_cache_is_believed_again() -> None:
    """The answer to a create is lost, and then the server stays away for a while."""

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.keep(ConfigMap, [generated("g-")])

    wires = Wires()
    away_until = 0.0

    def after(request: Request) -> None:
        nonlocal away_until
        if request.method == "PATCH" and "configmaps" in request.path and not away_until:
            away_until = asyncio.get_running_loop().time() + 30
            lost_answer(request)

    def before(request: Request) -> None:
        if away_until > asyncio.get_running_loop().time() and ("watch", "true") not in request.query:
            raise TransportError("connection refused", sent=False)

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)).over(wires) as world:
        wires.wire.delays = {"configmaps": 120.0}
        await world.create(widget())
        wires.wire.after, wires.wire.before = after, before
        clock = asyncio.get_running_loop().time
        for _ in range(100):
            await advance(3)
            assert clock() < away_until or len(await world.list(ConfigMap)) <= 1
        assert away_until
        assert [attempt.result for attempt in world.running("widget").timeline.of("default/a")][-1] == "success"
        assert len(await world.list(ConfigMap)) == 1


class _Overtaken(Through):
    """The first write of a ConfigMap is done five seconds later, when the client has given up."""

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self.done: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def send(self, request: Request) -> AsyncIterator[Response]:
        if self.done is None and request.method == "PATCH" and "configmaps" in request.path:
            self.done = asyncio.ensure_future(self._later(request))
            await asyncio.sleep(3600)
        async with self.inner.send(request) as response:
            yield response

    async def _later(self, request: Request) -> None:
        await asyncio.sleep(5)
        async with self.inner.send(request) as response:
            assert response.status == 200, "it meets what was made in its place"


@virtual_time
async def test_a_write_that_is_done_long_after_it_was_given_up_makes_none_too_many() -> None:
    """It may hang in a webhook while the next attempt reads live, and sees nothing."""

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.keep(ConfigMap, [generated("g-")])

    overtaken: list[_Overtaken] = []

    def transport(inner: Transport) -> Transport:
        overtaken.append(_Overtaken(inner))
        return overtaken[0]

    async with bare(sp.Controller(Widget, reconcile, timeout=1.0).owns(ConfigMap)).over(transport) as world:
        await world.create(widget())
        for _ in range(40):
            await advance(0.5)
            assert len(await world.list(ConfigMap)) <= 1
        done = overtaken[0].done
        assert done is not None
        await done
        assert len(await world.list(ConfigMap)) == 1
        assert not world.running("widget").memory.applied._keys[ObjectKey("default/a")].popitem()[1].drawn


@pytest.mark.parametrize("by", ["create", "keep"])
@virtual_time
async def test_an_answer_that_can_not_be_read_is_as_good_as_none(by: str) -> None:
    """A webhook gave the object a form that its class can't decode: it exists all the same."""

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        if by == "keep":
            await ctx.keep(ConfigMap, [generated("g-")])
        elif not ctx.owned(ConfigMap):
            await ctx.create(generated("g-"))

    def garbled(inner: Transport) -> Transport:
        return _Garbled(wires(inner))

    wires = Wires()
    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)).over(garbled) as world:
        wires.wire.delays = {"configmaps": 20.0}
        await world.create(widget())
        await advance(60)
        assert len(await world.list(ConfigMap)) == 1


class _Garbled(Through):
    """The answer to a write of a ConfigMap can't be read."""

    @asynccontextmanager
    async def send(self, request: Request) -> AsyncIterator[Response]:
        async with self.inner.send(request) as response:
            garbled = request.method in ("POST", "PATCH") and "configmaps" in request.path
            yield _Unreadable(response) if garbled else response


class _Unreadable(Response):
    def __init__(self, inner: Response) -> None:
        self.status, self.headers = inner.status, inner.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        yield b'{"metadata": {"name": []}}'


@pytest.mark.parametrize("bad", ["a", "m", "z"])
@virtual_time
async def test_a_child_that_cant_be_deleted_does_not_keep_the_others(bad: str) -> None:
    names = list("abcdefghijklmnopqrstuvwxyz")

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.keep(ConfigMap, [config(name) for name in names])

    def before(request: Request) -> None:
        if request.method == "DELETE" and request.path.endswith(f"/{bad}"):
            raise Forbidden(Status(status="Failure", code=403, reason="Forbidden", message="a policy says no"))

    wires = Wires()
    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)).over(wires) as world:
        new_widget = await world.create(widget())
        await world.settle()
        wires.wire.before = before
        names = ["new", "newer"]
        new_widget = await world.get(Widget, "a")
        new_widget.spec.size += 1
        await world.update(new_widget)
        await advance(5)
        assert {child.name for child in await world.list(ConfigMap)} == {bad, "new", "newer"}


@pytest.mark.parametrize("bad", ["a", "m", "z"])
@virtual_time
async def test_a_child_that_is_refused_does_not_keep_the_others(bad: str) -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.keep(ConfigMap, [config(name) for name in "abcdefghijklmnopqrstuvwxyz"])

    def before(request: Request) -> None:
        if request.method == "PATCH" and request.path.endswith(f"/configmaps/{bad}"):
            raise Forbidden(Status(status="Failure", code=403, reason="Forbidden", message="a policy says no"))

    wires = Wires()
    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)).over(wires) as world:
        wires.wire.before = before
        await world.create(widget())
        await advance(5)
        assert len(await world.list(ConfigMap)) == 25


@virtual_time
async def test_a_name_that_is_somebody_elses_does_not_keep_the_others() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.keep(ConfigMap, [config(name) for name in "abc"])

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)) as world:
        await world.create(config("b", whose="theirs"))
        await world.create(widget())
        await advance(5)
        children = {child.name: child for child in await world.list(ConfigMap)}
        assert set(children) == {"a", "b", "c"}
        assert children["b"].data == {"whose": "theirs"}
        assert "AdoptionError" in world.running("widget").timeline.of("default/a")[-1].detail


@virtual_time
async def test_what_is_known_of_selectors_that_change_is_bounded() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        number = str(obj.spec.size)
        child = config("child")
        child.metadata.labels = {"number": number}
        await ctx.keep(ConfigMap, [child], selector={"number": number}, adopt=True)

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)) as world:
        await world.create(widget())
        for size in range(2, 100):
            new_widget = await world.get(Widget, "a")
            new_widget.spec.size = size
            await world.update(new_widget)
            await world.settle()
        key = world.running("widget").memory.applied._keys[ObjectKey("default/a")]
        assert len(key) == MAX_SELECTORS


@virtual_time
async def test_a_cluster_scoped_owner_moves_its_unnamed_children_to_another_namespace() -> None:
    space = "default"

    async def reconcile(obj: Namespace, ctx: sp.Context) -> None:
        result = generated("g-")
        result.metadata.namespace = space
        await ctx.keep(ConfigMap, [result])

    controller = sp.Controller(Namespace, reconcile, field_selector={"metadata.name": "owner"}).owns(ConfigMap)
    async with bare(controller) as world:
        owner = await world.client.create(Namespace.named("owner"))
        await world.settle()
        (first,) = await world.list(ConfigMap, namespace="default")
        space = "kube-system"
        await world.client.patch(Namespace, "owner", {"metadata": {"labels": {"moved": "yes"}}})
        await world.settle()
        assert not [
            config_map
            for config_map in await world.list(ConfigMap, namespace="default")
            if config_map.name.startswith("g-")
        ]
        there = await world.list(ConfigMap, namespace="kube-system")
        moved = [item for item in there if item.metadata.controller is not None]
        assert [item.metadata.controller.uid for item in moved] == [owner.uid]
        assert moved[0].name != first.name
        assert {attempt.result for attempt in world.running("namespace").timeline.of("owner")} == {"success"}


@virtual_time
async def test_a_job_that_is_not_wanted_any_more_leaves_no_pods_behind() -> None:
    template = PodTemplateSpec(spec=PodSpec(restart_policy="Never", containers=[Container(name="c", image="i")]))

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        jobs = [Job.named(f"job-{number}", spec=JobSpec(template=template)) for number in range(obj.spec.size)]
        await ctx.keep(Job, jobs)

    async with cluster(sp.Controller(Widget, reconcile).owns(Job)) as world:
        new_widget = await world.create(widget())
        await world.settle()
        assert await world.list(Pod) != []
        new_widget = await world.get(Widget, new_widget.name)
        new_widget.spec.size = 0
        await world.update(new_widget)
        await world.settle()
        assert await world.list(Job) == []
        assert await world.list(Pod) == []


# -- names that were drawn for a write whose end is not known ----------------------------------------------------------


@virtual_time
async def test_a_name_that_was_drawn_for_one_sort_of_children_is_not_given_to_another() -> None:
    prefixes = ["g-", "h-"]

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.keep(ConfigMap, [generated(prefixes[0])])

    wires = Wires()

    def never_arrives(request: Request) -> None:
        if request.method == "PATCH" and "configmaps" in request.path and len(prefixes) == 2:
            del prefixes[0]
            raise TransportError("no answer", sent=True)

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)).over(wires) as world:
        wires.wire.before = never_arrives
        await world.create(widget())
        await advance(120)
        assert prefixes == ["h-"]
        (child,) = await world.list(ConfigMap)
        assert child.name.startswith("h-")
        assert len(child.name) == len("h-") + 5


@virtual_time
async def test_a_name_that_was_drawn_and_is_there_by_now_is_not_drawn_again() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.keep(ConfigMap, [generated("g-") for _ in range(obj.spec.size)])

    wires = Wires()
    lost = False

    def lose_one(request: Request) -> None:
        nonlocal lost
        if request.method == "PATCH" and "configmaps" in request.path and not lost:
            lost = True
            lost_answer(request)

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)).over(wires) as world:
        wires.wire.after = lose_one
        await world.create(widget(size=1))
        await advance(120)
        (first,) = await world.list(ConfigMap)
        new_widget = await world.get(Widget, "a")
        new_widget.spec.size = 2
        await world.update(new_widget)
        await advance(120)
        assert lost
        names = {child.name for child in await world.list(ConfigMap)}
        assert len(names) == 2
        assert first.name in names


@pytest.mark.parametrize(
    ("code", "reason", "own"),
    [(422, "Invalid", True), (403, "Forbidden", True), (429, "TooManyRequests", False), (499, "", True),
     (500, "InternalError", False), (503, "ServiceUnavailable", False)],
)  # fmt: skip
def test_a_refusal_is_a_childs_own_and_trouble_of_the_server_is_everybodys(code: int, reason: str, own: bool) -> None:
    problem = error_from_status(Status(status="Failure", code=code, reason=reason, message="no"))
    assert _is_its_own(problem) is own
    assert _is_its_own(AdoptionError("theirs"))
    assert not _is_its_own(TransportError("no answer", sent=True))


def test_of_children_that_are_alike_the_older_is_the_first_and_then_the_first_by_name() -> None:
    older, younger, unknown = config("z"), config("b"), config("a")
    older.metadata.creation_timestamp = EPOCH
    younger.metadata.creation_timestamp = EPOCH + timedelta(seconds=1)
    same = config("c")
    same.metadata.creation_timestamp = younger.metadata.creation_timestamp
    assert sorted([same, younger, older, unknown], key=_age) == [unknown, older, younger, same]


def test_a_name_that_is_there_is_drawn_again() -> None:
    letters = iter("aaaaabbbbbccccc")
    result: Any = object.__new__(Children)
    result._writer = SimpleNamespace(random=SimpleNamespace(choice=lambda _: next(letters)))
    result._drawn = set()
    result._cached = {ObjectKey.of("default", "g-aaaaa"): config("g-aaaaa")}.get
    taken = {ObjectKey.of("default", "g-bbbbb")}
    assert result._new_name("g-", "default", taken) == "g-ccccc"
    assert ObjectKey.of("default", "g-ccccc") in taken
