"""A cluster in a test: what it costs while nothing happens, and what it says when something is wrong."""

from __future__ import annotations

import asyncio
from typing import Any

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap, Pod
from setpoint.testing import VirtualTimeLoop, cluster, run


class CountingLoop(VirtualTimeLoop):
    """Counts how often the clock moves: how often anything was due."""

    moves = 0

    def _move_to(self, time: float) -> None:
        self.moves += 1
        super()._move_to(time)


def moves_of(main: Any) -> int:
    """How often anything was due while the coroutine slept; it returns the count."""
    moves: int = run(main, loop_factory=CountingLoop)
    return moves


async def idle_hour(world: Any) -> int:
    await world.settle()
    loop = asyncio.get_running_loop()
    assert isinstance(loop, CountingLoop)
    before = loop.moves
    await asyncio.sleep(3600)
    return loop.moves - before


def test_a_control_plane_does_nothing_while_nothing_changes() -> None:
    async def main() -> int:
        async with cluster(nodes=3) as world:
            await world.create(ConfigMap.named("some"))
            return await idle_hour(world)

    assert moves_of(main()) <= 2


def test_a_control_plane_costs_a_controllers_quiet_hour_nothing() -> None:
    async def nothing(obj: Pod, ctx: sp.Context) -> None: ...

    async def main(control_plane: bool) -> int:
        async with cluster(sp.Controller(Pod, nothing), control_plane=control_plane) as world:
            return await idle_hour(world)

    alone, beside = moves_of(main(False)), moves_of(main(True))
    assert beside <= alone + 20  # the controller's own watch ends at other times, drawn by chance
    assert alone < 120
