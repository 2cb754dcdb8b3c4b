"""A cluster in a test: what it costs while nothing happens, and what it says when something is wrong."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap, Pod
from setpoint.testing import VirtualTimeLoop, cluster, run, virtual_time


class CountingLoop(VirtualTimeLoop):
    """Counts how often the clock moves: how often anything was due."""

    moves = 0

    def _move_to(self, time: float) -> None:
        self.moves += 1
        super()._move_to(time)


def moves_of(main: Any) -> int:
    """The number of times that anything was due while the coroutine slept, which it returns."""
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


async def refuses(obj: ConfigMap, ctx: sp.Context) -> None:
    raise RuntimeError(f"{obj.name} is not to my taste\nsecond line")


@virtual_time
async def test_settling_tells_of_a_key_that_fails_for_ever_and_with_what() -> None:
    async with cluster(sp.Controller(ConfigMap, refuses), control_plane=False) as world:
        await world.create(ConfigMap.named("some"))
        with pytest.raises(sp.testing.NotSettled) as excinfo:
            await world.settle()
        line = (
            r"configmap: default/some has failed \d+ times in a row, lastly with RuntimeError: some is not to my taste"
        )
        assert re.search(f"{line} second line$", str(excinfo.value), re.M)
        await world.settle(failing=True)


@virtual_time
async def test_a_retry_that_waits_for_something_is_settled() -> None:
    async def waits(obj: ConfigMap, ctx: sp.Context) -> sp.Outcome:
        return sp.retry("it rains")

    async with cluster(sp.Controller(ConfigMap, waits), control_plane=False) as world:
        await world.create(ConfigMap.named("some"))
        await world.settle()


def test_a_failed_test_tells_each_error_of_its_reconciles_once() -> None:
    @virtual_time
    async def fails() -> None:
        async with cluster(sp.Controller(ConfigMap, refuses), control_plane=False) as world:
            await world.create(ConfigMap.named("some"))
            await world.create(ConfigMap.named("other"))
            await world.settle(failing=True)
            raise AssertionError("three pods are wanted")

    with pytest.raises(AssertionError, match="three pods are wanted") as raised:
        fails()
    (note,) = raised.value.__notes__
    assert note.splitlines()[0] == "reconciles that failed:"
    answer = sorted(re.sub(r"\d+", "N", line) for line in note.splitlines()[1:])
    assert answer == [
        "  configmap: default/other: RuntimeError: other is not to my taste second line (N times)",
        "  configmap: default/some: RuntimeError: some is not to my taste second line (N times)",
    ]


@virtual_time
async def test_what_never_comes_is_told_with_the_last_errors() -> None:
    async def gives_up(obj: ConfigMap, ctx: sp.Context) -> None:
        if obj.name == "hopeless":
            raise sp.TerminalError("there is no such flavour")
        await refuses(obj, ctx)

    async with cluster(sp.Controller(ConfigMap, gives_up), control_plane=False) as world:
        await world.create(ConfigMap.named("some"))
        await world.create(ConfigMap.named("hopeless"))
        with pytest.raises(AssertionError) as excinfo:
            await world.eventually(lambda: False, within=5, why="no pods")
        text = str(excinfo.value)
        assert text.startswith("no pods\n")
        assert "default/some: delayed: RuntimeError: some is not to my taste" in text
        assert "default/hopeless: not retried: TerminalError: there is no such flavour" in text


def test_waiting_looks_when_something_is_due_and_not_all_the_time() -> None:
    looks = 0

    def look() -> bool:
        nonlocal looks
        looks += 1
        return asyncio.get_running_loop().time() >= 3600

    async def main() -> None:
        async with cluster() as world:
            await world.eventually(look, within=7200)

    run(main())
    assert looks < 20


async def nothing(config_map: ConfigMap, ctx: sp.Context) -> None:
    """It writes nothing."""


@pytest.mark.parametrize("wrong", [[sp.Controller(ConfigMap, nothing)], ConfigMap], ids=["list", "kind"])
def test_a_cluster_says_that_controllers_are_separate_arguments(wrong: Any) -> None:
    with pytest.raises(TypeError, match="controllers as separate arguments"):
        cluster(wrong)
