"""Faults hit every watch that a program opens, whether or not a controller declares the kind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest
from tests.simulation.kinds import App

import setpoint as sp
from setpoint.cache import InformerFactory
from setpoint.concurrency import TaskScope
from setpoint.models.core_v1 import ConfigMap, Secret
from setpoint.simulation import Budget, Counterexample, check
from setpoint.simulation.faults.catalog import SWITCHES

NAME = "default/defaults"


class Seen:
    """The value that a program has read by a watch of its own."""

    def __init__(self, image: Callable[[], str]) -> None:
        self.image = image


def of_cache(informer: sp.cache.Informer[ConfigMap]) -> Seen:
    def image() -> str:
        kept = informer.lister.try_get(NAME)
        return kept.data["image"] if kept is not None else "none"

    return Seen(image)


@asynccontextmanager
async def by_the_managers_factory(manager: sp.Manager) -> AsyncGenerator[Seen]:
    yield of_cache(manager.factory.informer(ConfigMap))


@asynccontextmanager
async def by_a_factory_of_its_own(manager: sp.Manager) -> AsyncGenerator[Seen]:
    async with InformerFactory(manager.client) as factory:
        informer = factory.informer(ConfigMap)
        await factory.wait_for_cache_sync()
        yield of_cache(informer)


class Follows:
    """A runnable that reads a watch without any cache."""

    name = "follows"

    def __init__(self, client: sp.Client) -> None:
        self.client = client
        self.images: dict[str, str] = {}

    async def run(self) -> None:
        while True:
            async with self.client.watch(ConfigMap, namespace="default") as events:
                async for event in events:
                    if isinstance(event.object, ConfigMap) and event.type != "DELETED":
                        self.images[event.object.key] = event.object.data.get("image", "none")
            await asyncio.sleep(1)


@asynccontextmanager
async def by_a_runnable(manager: sp.Manager) -> AsyncGenerator[Seen]:
    follows = Follows(manager.client)
    manager.add(follows)
    yield Seen(lambda: follows.images.get(NAME, "none"))


@asynccontextmanager
async def by_a_task(manager: sp.Manager) -> AsyncGenerator[Seen]:
    follows = Follows(manager.client)
    async with TaskScope() as scope:
        scope.start(follows.run())
        yield Seen(lambda: follows.images.get(NAME, "none"))


async def chooses(app: App, ctx: sp.Context) -> None:
    await ctx.apply(Secret.named(f"{app.name}-chosen", string_data={"image": ctx.state(Seen).image()}))


async def defaults_first(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(ConfigMap.named("defaults", "default", data={"image": "store:1"}))
    await cluster.settle()
    await cluster.apply(App.named("main", "default"))
    await cluster.settle()


@pytest.mark.parametrize("opens", [by_the_managers_factory, by_a_factory_of_its_own, by_a_runnable, by_a_task])
def test_a_late_watch_that_no_controller_declares_is_tried(opens: object) -> None:
    others = {name: "not of watches" for name in SWITCHES if name != "lag"}
    with pytest.raises(Counterexample) as caught:
        check(
            defaults_first,
            lambda: [sp.Controller(App, chooses).owns(Secret)],
            lifespan=opens,
            control_plane=False,
            off=others,
            budget=Budget(runs=12),
        )
    assert caught.value.findings[0].subject == "secrets default/main-chosen"
    assert {(fault.kind, fault.at) for fault in caught.value.plan.faults} == {
        ("lag", "ADDED configmaps default/defaults #1")
    }
