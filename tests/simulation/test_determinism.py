"""Orders that are not promised, and tasks that are not waited for."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from datetime import datetime
from typing import Any

import pytest
from tests.simulation.kinds import App

import setpoint as sp
from setpoint.client import AlreadyExists
from setpoint.models.core_v1 import ConfigMap
from setpoint.simulation import SWITCHES, Counterexample, check

ONLY_ORDER = {name: "this is about orders" for name in SWITCHES if name != "order"}


async def create_many(cluster: sp.testing.Cluster) -> None:
    for name in ("one", "two", "three", "four"):
        await cluster.apply(App.named(name, "default"))
    await cluster.settle()


def test_what_the_first_of_several_keys_decides_is_found() -> None:
    async def reconcile(app: App, ctx: sp.Context) -> None:
        if await ctx.get(ConfigMap, "shared") is None:
            with suppress(AlreadyExists):
                await ctx.create(ConfigMap.named("shared", data={"first": app.name}), controlled=False)

    with pytest.raises(Counterexample) as caught:
        check(create_many, lambda: sp.Controller(App, reconcile).reads(ConfigMap), off=ONLY_ORDER)
    assert caught.value.plan.faults[0].kind == "shuffle"
    assert caught.value.findings[0].subject == "configmaps default/shared"


def test_keys_that_have_nothing_to_do_with_each_other_come_in_any_order() -> None:
    async def reconcile(app: App, ctx: sp.Context) -> None:
        await ctx.keep(ConfigMap, [ConfigMap.named(f"{app.name}-{letter}") for letter in "ab"])

    report = check(create_many, lambda: sp.Controller(App, reconcile).owns(ConfigMap), off=ONLY_ORDER)
    assert report.faults["order"] >= 4


def test_a_task_that_a_reconcile_leaves_over_is_found() -> None:
    async def wait_for_ever() -> None:
        await asyncio.Event().wait()

    async def reconcile(app: App, ctx: sp.Context) -> None:
        task = asyncio.create_task(wait_for_ever())
        assert not task.done()

    with pytest.raises(Counterexample, match="a reconcile started a task that it never awaited"):
        check(create_many, lambda: sp.Controller(App, reconcile))


def _text_of_now(app: App, ctx: sp.Context) -> None:
    stamp = time.strftime("%H:%M:%S")  # a clock of seconds: two runs within one second would agree
    ctx.apply(ConfigMap.named(app.name, data={"written": stamp}))


async def _text_of_now_in_a_coroutine(app: App, ctx: sp.Context) -> None:
    await ctx.apply(ConfigMap.named(app.name, data={"written": f"{datetime.now():%H:%M:%S}"}))


@pytest.mark.parametrize("reconcile", [_text_of_now, _text_of_now_in_a_coroutine])
def test_a_time_without_fractions_of_a_second_is_found(reconcile: Any) -> None:
    with pytest.raises(Counterexample) as caught:
        check(create_many, lambda: sp.Controller(App, reconcile).owns(ConfigMap), off=ONLY_ORDER)
    assert caught.value.findings[0].oracle == "determinism"
    assert "reads the real clock" in caught.value.findings[0].message
