"""Barriers of a controller, which stops while they wait."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from setpoint.cache import ObjectParser, Store
from setpoint.cache.barriers import Barrier, Barriers
from setpoint.controller.memory import Abandoned, WriteBarriers
from setpoint.meta import ObjectKey, ObjectMeta, resource_of
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


def test_a_cache_tells_of_a_written_object_that_was_gone_before_it_could_show_it_and_of_no_other() -> None:
    store = Store(ObjectParser(resource_of(ConfigMap)))
    barriers = Barriers(store)
    gone: list[str] = []
    barriers.observers.append(gone.append)

    def list_again(version: str, *names: str) -> None:
        for key in list(store):
            store.remove(key)
        for name in names:
            metadata = ObjectMeta(name=name, namespace="default", uid=name, resource_version=version)
            store.add(ConfigMap(metadata=metadata))
        store.last_sync_resource_version = version
        barriers.check_all()

    barriers.note("default/shown", Barrier(2, "2", "shown"))
    barriers.note("default/gone", Barrier(3, "3", "gone"))
    list_again("1")
    assert gone == []
    list_again("3", "shown")
    assert gone == ["default/gone"]
    barriers.note("default/shown", Barrier(4, "4", "shown", deleted=True))
    list_again("4")
    assert gone == ["default/gone"], "its deletion is an event"
