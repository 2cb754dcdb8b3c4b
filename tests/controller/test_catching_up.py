"""A process that gets keys waits for its caches, and only for what they lack."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import setpoint as sp
from setpoint.apiserver import ApiServer
from setpoint.cache import InformerFactory
from setpoint.client import Client, InProcessTransport
from setpoint.controller.run.shard import ShardGuard
from setpoint.manager.key_partition import WHOLE
from setpoint.meta import resource_of
from setpoint.models.core_v1 import ConfigMap
from setpoint.testing import virtual_time


async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
    """Nothing to do."""


@virtual_time
async def test_an_object_that_is_deleted_and_created_again_meanwhile_is_not_waited_for() -> None:
    async with ApiServer() as server, Client(InProcessTransport(server.handle)) as client:
        for name in ("a", "b"):
            await client.create(ConfigMap.named(name, "default"))
        factory = InformerFactory(client)
        informer = factory.informer(ConfigMap)

        async def pages(*arguments: Any, **options: Any) -> AsyncIterator[Any]:
            await client.delete(ConfigMap, "a", namespace="default")
            listed = [item async for item in client.pages(*arguments, **options)]
            again = await client.create(ConfigMap.named("a", "default"))
            assert await informer.observed(again.key, again.metadata.resource_version)
            for item in listed:
                yield item

        async with factory:
            await informer.wait_synced()
            gvr = resource_of(ConfigMap).gvr
            env: Any = SimpleNamespace(informers={gvr: informer}, client=SimpleNamespace(pages=pages), log=None)
            shard: Any = SimpleNamespace(share=WHOLE)
            ignored: Any = None
            guard = ShardGuard(
                sp.Controller(ConfigMap, reconcile), env, shard, ignored, enqueue=ignored, forget=ignored
            )
            before = asyncio.get_running_loop().time()
            assert await guard._caught_up_with(gvr)
            assert asyncio.get_running_loop().time() - before < 1
