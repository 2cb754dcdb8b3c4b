"""Barriers of a controller, which stops while they wait."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from setpoint.cache import ObjectParser, Store
from setpoint.cache.barriers import Barrier, Barriers
from setpoint.controller.memory import Abandoned, WriteBarriers
from setpoint.meta import ObjectKey, resource_of
from setpoint.models.core_v1 import ConfigMap
from setpoint.testing import virtual_time, wait_all_tasks_blocked


def behind() -> Any:
    """An informer whose cache never shows anything."""
    return SimpleNamespace(shared=SimpleNamespace(barriers=Barriers(Store(ObjectParser(resource_of(ConfigMap))))))


@pytest.mark.parametrize("first", ["deadline", "abandon"])
@virtual_time
async def test_a_controller_can_stop_in_the_turn_in_which_a_barrier_is_late(first: str) -> None:
    resource = resource_of(ConfigMap)
    barriers = WriteBarriers({resource.gvr: behind()}, deadline=5.0)
    loop = asyncio.get_running_loop()
    if first == "abandon":
        loop.call_at(5.0, barriers.abandon)
    keys = [ObjectKey("a/early"), ObjectKey("a/late")]
    tasks = []
    for key in keys:
        barriers.note(key, resource.gvr, key, Barrier(7, "7", "uid"))
        tasks.append(asyncio.ensure_future(barriers.wait(key)))
        await asyncio.sleep(1)
    await wait_all_tasks_blocked()
    if first == "deadline":
        loop.call_at(5.0, barriers.abandon)
    await asyncio.wait(tasks)
    assert loop.time() == 5.0
    assert isinstance(tasks[1].exception(), Abandoned)
    with pytest.raises(Abandoned):
        await barriers.wait(keys[1])
