"""The remains of a loop that has ended are dropped without a message."""

from __future__ import annotations

import asyncio
from contextvars import copy_context

import setpoint as sp
from setpoint.meta import ObjectKey
from setpoint.models.core_v1 import ConfigMap
from setpoint.testing import cluster, virtual_time


@virtual_time
async def test_a_reconcile_that_is_destroyed_in_another_context_is_no_failure() -> None:
    begun: list[str] = []
    hold = asyncio.Event()
    hold.set()

    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        begun.append(obj.name)
        await hold.wait()

    web = ConfigMap.named("web", namespace="default")
    async with cluster(sp.Controller(ConfigMap, reconcile), objects=[web], control_plane=False) as running:
        await running.settle()
        (controller,) = running.manager.controllers.values()
        hold.clear()
        begun.clear()
        attempt = controller.reconciler.handle(ObjectKey.of("default", "web"))
        copy_context().run(attempt.send, None)
        assert begun == ["web"]
        attempt.close()  # as Python does with a task whose loop ended before it
        hold.set()
