"""Chance against a naive controller: lost requests, lost answers, late watches, dying processes."""

from __future__ import annotations

import asyncio
from random import Random

import pytest
from tests.tasks import stop

import setpoint as sp
from setpoint.client import Client, InProcessTransport, Request, TransportError
from setpoint.manager import Manager, ManagerOptions
from setpoint.models.core_v1 import ConfigMap
from setpoint.testing import advance, cluster, virtual_time

from .world import Widget, Wire, lost_answer, widget

WIDGETS = 6


class World:
    """The effects of the controller outside of the cluster, and in it."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.outside: set[str] = set()
        self.faulty = True

    async def reconcile(self, obj: Widget, ctx: sp.Context) -> None:
        """As naive as can be: what is missing is made under a generated name, what is too much goes."""
        self.outside.add(obj.uid)
        children = ctx.owned(ConfigMap)
        for _ in range(obj.spec.size - len(children)):
            child = ConfigMap()
            child.metadata.generate_name = f"{obj.name}-"
            await ctx.create(child)
        for child in children[obj.spec.size :]:
            await ctx.delete(child)
        obj.status.ready = len(children)

    async def clean_up(self, obj: Widget, ctx: sp.Context) -> None:
        self.outside.discard(obj.uid)

    def before(self, request: Request) -> None:
        if self.faulty and request.method != "GET" and self.random.random() < 0.1:
            raise TransportError("lost on the way there", sent=False)

    def after(self, request: Request) -> None:
        if self.faulty and request.method != "GET" and self.random.random() < 0.1:
            lost_answer(request)


@pytest.mark.parametrize("seed", range(8))
def test_a_naive_controller_is_right_in_the_end_whatever_is_lost(seed: int) -> None:
    @virtual_time
    async def run() -> None:
        world = World(seed)
        controller = sp.Controller(Widget, world.reconcile).owns(ConfigMap).finalize(world.clean_up)
        most: dict[str, int] = {}
        # The cluster's own manager runs nothing here: processes come and go below.
        async with cluster(crds=[Widget], nodes=0) as c:

            async def process() -> None:
                wire = Wire(InProcessTransport(c.server.handle))
                wire.before, wire.after = world.before, world.after
                wire.delays = {"configmaps": world.random.random() * 4, "widgets": world.random.random() * 2}
                client = Client(wire, random=Random(seed))
                manager = Manager(
                    client,
                    controllers=[controller],
                    options=ManagerOptions(now=c.now, random=Random(seed), shutdown_timeout=0.0),
                )
                await manager.run()

            running = asyncio.ensure_future(process())
            sizes = {f"w{number}": world.random.randrange(1, 5) for number in range(WIDGETS)}
            for name, size in sizes.items():
                await c.create(widget(name, size))
            for _ in range(4):
                await advance(world.random.random() * 8)
                await stop(running)
                running = asyncio.ensure_future(process())
                name = world.random.choice(sorted(sizes))
                doomed = await c.find(Widget, name)
                if doomed is not None and not doomed.is_deleting:
                    if world.random.random() < 0.5:
                        await c.delete(doomed)
                        del sizes[name]
                    else:
                        sizes[name] = doomed.spec.size = world.random.randrange(1, 5)
                        await c.update(doomed)
                for child in await c.list(ConfigMap, namespace="default"):
                    most[child.name] = 1
            world.faulty = False
            await advance(120)
            await c.settle()
            widgets = {widget.name: widget for widget in await c.list(Widget)}
            assert sorted(widgets) == sorted(sizes)
            children = [config_map for config_map in await c.list(ConfigMap) if config_map.metadata.owner_references]
            for name, size in sizes.items():
                mine = [child for child in children if child.name.startswith(f"{name}-")]
                assert len(mine) == size
                assert widgets[name].status.ready == size
            assert len(children) == sum(sizes.values()), "nothing is left of what was deleted"
            assert world.outside == {widget.uid for widget in widgets.values()}
            await stop(running)

    run()


@virtual_time
async def test_children_are_never_too_many_while_answers_are_lost() -> None:
    world = World(5)
    wires: list[Wire] = []

    def wire(inner: InProcessTransport) -> Wire:
        new_wire = Wire(inner)
        new_wire.after = world.after
        new_wire.delays = {"configmaps": 2.0}
        wires.append(new_wire)
        return new_wire

    controller = sp.Controller(Widget, world.reconcile).owns(ConfigMap)
    async with cluster(controller, control_plane=False).over(wire) as c:  # type: ignore[arg-type]
        for number in range(20):
            await c.create(widget(f"w{number}", 3))
        for _ in range(100):
            await advance(0.5)
            children = await c.list(ConfigMap)
            for number in range(20):
                assert sum(child.name.startswith(f"w{number}-") for child in children) <= 3
        assert len(children) == 60
