"""Mistakes of controllers that would pass a test unseen make it fail, with their lines."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap
from setpoint.testing import cluster, virtual_time
from setpoint.testing.mistakes import Mistake

HERE = Path(__file__).name


class Lamp(sp.CustomResource, group="test.example.com", version="v1"):
    class Spec(sp.Model):
        watts: int = 5
        colours: list[str] = []

    spec: Spec = Spec()
    status: sp.ConditionedStatus = sp.ConditionedStatus()


async def run(reconcile: Any, *, settles: bool = True) -> None:
    async with cluster(sp.Controller(Lamp, reconcile).owns(ConfigMap), control_plane=False) as world:
        await world.create(Lamp.named("a", "default"))
        if settles:
            await world.settle()
        else:
            await asyncio.sleep(1)


# -- changes that are never written -----------------------------------------------------------------------------------


async def changes_its_spec(lamp: Lamp, ctx: sp.Context) -> None:
    lamp.spec.watts = 7
    lamp.spec.colours.append("red")


def changes_its_spec_in_a_thread(lamp: Lamp, ctx: sp.SyncContext) -> None:
    lamp.spec.watts = 7


async def labels_itself(lamp: Lamp, ctx: sp.Context) -> None:
    lamp.metadata.labels["lit"] = "yes"
    ctx.set_condition("Lit", True, "On")


@pytest.mark.parametrize("settles", [True, False], ids=["settle", "end of the block"])
@pytest.mark.parametrize(
    ("reconcile", "paths"),
    [
        (changes_its_spec, "spec.watts, spec.colours.0"),
        (changes_its_spec_in_a_thread, "spec.watts"),
        (labels_itself, "metadata.labels"),
    ],
)
def test_a_change_that_is_never_written_fails_the_test(reconcile: Any, paths: str, settles: bool) -> None:
    with pytest.raises(Mistake) as caught:
        virtual_time(run)(reconcile, settles=settles)
    line = reconcile.__code__.co_firstlineno
    assert (
        f"lamp: the reconcile of default/a changed {paths} of its object and never wrote the change ({HERE}:{line})"
        in str(caught.value)
    )


async def writes_what_it_changes(lamp: Lamp, ctx: sp.Context) -> None:
    lamp.spec.watts = 7
    await ctx.client.update(lamp)


async def patches_and_follows(lamp: Lamp, ctx: sp.Context) -> None:
    if lamp.spec.watts != 7:
        lamp.spec.watts = 7
        await ctx.patch(lamp, {"spec": {"watts": 7}})


async def sets_its_status_alone(lamp: Lamp, ctx: sp.Context) -> None:
    ctx.set_condition("Lit", True, "On")


async def reads_and_changes_a_copy(lamp: Lamp, ctx: sp.Context) -> None:
    for _ in lamp.metadata.labels or lamp.metadata.annotations or lamp.spec.colours:
        raise AssertionError
    copy = await ctx.get(Lamp, lamp.name)
    assert copy is not None
    copy.spec.watts = 9


async def fails_after_a_change(lamp: Lamp, ctx: sp.Context) -> None:
    lamp.spec.watts += 1
    if ctx.failures < 2:
        raise ConnectionError("away")
    lamp.spec.watts -= 1


@pytest.mark.parametrize(
    "reconcile",
    [
        writes_what_it_changes,
        patches_and_follows,
        sets_its_status_alone,
        reads_and_changes_a_copy,
        fails_after_a_change,
    ],
)
def test_a_written_change_and_a_changed_copy_are_fine(reconcile: Any) -> None:
    virtual_time(run)(reconcile)


@virtual_time
async def test_defaults_are_not_changes_of_the_reconcile() -> None:
    watts: list[int] = []

    def double(lamp: Lamp) -> None:
        lamp.spec.watts *= 2

    async def reconcile(lamp: Lamp, ctx: sp.Context) -> None:
        watts.append(lamp.spec.watts)

    async with cluster(sp.Controller(Lamp, reconcile).defaults(double), control_plane=False) as world:
        await world.create(Lamp.named("a", "default"))
        await world.settle()
    assert watts == [10]


# -- a blocked loop ---------------------------------------------------------------------------------------------------


def sleeps() -> None:
    time.sleep(0.001)


def connects() -> None:
    with socket.socket() as connection:
        connection.settimeout(1)
        connection.connect_ex(("127.0.0.1", 1))


def resolves() -> None:
    socket.getaddrinfo("127.0.0.1", 1)


def starts_a_program() -> None:
    subprocess.run([sys.executable, "-c", ""], check=True)


BLOCKING = [
    (sleeps, "time.sleep(0.001)"),
    (connects, "socket.connect"),
    (resolves, "socket.getaddrinfo"),
    (starts_a_program, "subprocess.Popen"),
]


@pytest.mark.parametrize(("block", "call"), BLOCKING)
def test_a_call_that_blocks_the_loop_fails_the_test_with_its_line(block: Callable[[], None], call: str) -> None:
    async def reconcile(lamp: Lamp, ctx: sp.Context) -> None:
        block()

    with pytest.raises(Mistake) as caught:
        virtual_time(run)(reconcile)
    line = block.__code__.co_firstlineno
    places = [f"{call} at {__file__}:{line + number} blocks the event loop" for number in (1, 3)]
    assert any(place in str(caught.value) for place in places), caught.value


@pytest.mark.parametrize(("block", "call"), BLOCKING)
def test_a_mapping_that_blocks_the_loop_fails_the_test(block: Callable[[], None], call: str) -> None:
    async def reconcile(lamp: Lamp, ctx: sp.Context) -> None: ...

    def map(head: Any) -> list[sp.ObjectKey]:
        block()
        return []

    @virtual_time
    async def check() -> None:
        async with cluster(sp.Controller(Lamp, reconcile).watches(ConfigMap, map), control_plane=False) as world:
            await world.create(ConfigMap.named("a", "default"))
            await world.settle()

    with pytest.raises(Mistake, match=call.replace("(", r"\(").replace(")", r"\)")):
        check()


@pytest.mark.parametrize(("block", "call"), BLOCKING)
def test_a_thread_and_the_test_itself_may_block(block: Callable[[], None], call: str) -> None:
    def reconcile(lamp: Lamp, ctx: sp.SyncContext) -> None:
        block()

    async def reconcile_with_a_thread(lamp: Lamp, ctx: sp.Context) -> None:
        await asyncio.to_thread(block)

    @virtual_time
    async def check(function: Any) -> None:
        async with cluster(sp.Controller(Lamp, function), control_plane=False) as world:
            await world.create(Lamp.named("a", "default"))
            block()
            await world.settle()

    original = time.sleep
    check(reconcile)
    check(reconcile_with_a_thread)
    assert time.sleep is original


@virtual_time
async def test_mistakes_are_added_to_the_tests_own_failure_and_allowed_where_failures_are() -> None:
    with pytest.raises(RuntimeError) as caught:  # noqa: PT012 - the end of the block adds a note
        async with cluster(sp.Controller(Lamp, changes_its_spec), control_plane=False) as world:
            await world.create(Lamp.named("a", "default"))
            await world.settle(failing=True)
            await world.create(Lamp.named("b", "default"))
            await asyncio.sleep(1)
            raise RuntimeError("the test's own")
    notes = "\n".join(caught.value.__notes__)
    assert "the reconcile of default/b changed spec.watts" in notes
    assert "default/a" not in notes


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
@pytest.mark.parametrize("is_plain", [True, False])
def test_a_coroutine_that_is_not_awaited_fails_the_test_with_its_line(is_plain: bool) -> None:
    journal = sp.Journal("test.example.com/thing")

    async def none(token: str) -> None:
        raise AssertionError("nothing is called")

    def forget(ctx: Any) -> None:
        journal.remove(ctx, find=none, delete=none)  # type: ignore[unused-coroutine]

    async def reconcile(obj: Lamp, ctx: sp.Context) -> None:
        forget(ctx)

    def reconcile_in_thread(obj: Lamp, ctx: sp.SyncContext) -> None:
        forget(ctx)

    with pytest.raises(Mistake) as caught:
        virtual_time(run)(reconcile_in_thread if is_plain else reconcile)
    line = forget.__code__.co_firstlineno + 1
    assert f"Journal.remove() at {__file__}:{line} was not awaited, so it did nothing" in str(caught.value)
