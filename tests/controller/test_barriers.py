"""Barriers of a controller, which stops while they wait."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from setpoint.controller.memory import Abandoned, WriteBarriers
from setpoint.meta import ObjectKey, resource_of
from setpoint.models.core_v1 import ConfigMap
from setpoint.testing import settle, virtual_time


class Behind:
    """A cache that never shows anything."""

    def has_observed(self, key: str, *args: Any, **options: Any) -> bool:
        return False

    async def observed(self, key: str, *args: Any, **options: Any) -> bool:
        await asyncio.Event().wait()
        return True


@pytest.mark.parametrize("first", ["deadline", "abandon"])
@virtual_time
async def test_a_controller_can_stop_in_the_turn_in_which_a_barrier_is_late(first: str) -> None:
    resource = resource_of(ConfigMap)
    barriers = WriteBarriers({resource.gvr: Behind()}, deadline=5.0)
    loop = asyncio.get_running_loop()
    if first == "abandon":
        loop.call_at(5.0, barriers.abandon)
    keys = [ObjectKey("a/early"), ObjectKey("a/late")]
    tasks = []
    for key in keys:
        barriers.note(key, resource, key, "uid", "7", deletion=False)
        tasks.append(asyncio.ensure_future(barriers.settle(key)))
        await asyncio.sleep(1)
    await settle()
    if first == "deadline":
        loop.call_at(5.0, barriers.abandon)
    await asyncio.wait(tasks)
    assert loop.time() == 5.0
    assert isinstance(tasks[1].exception(), Abandoned)
    with pytest.raises(Abandoned):
        await barriers.settle(keys[1])
