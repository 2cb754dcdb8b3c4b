"""Runs webhooks as a separate program: without controllers or a leader, in any number of replicas."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Protocol

from setpoint.cache import InformerFactory
from setpoint.concurrency import TaskScope, until
from setpoint.webhook.server import WebhookServer


class _Runnable(Protocol):
    async def run(self) -> None: ...


async def serve_webhooks(
    server: WebhookServer, *, factory: InformerFactory | None = None, beside: Iterable[_Runnable] = ()
) -> None:
    """Runs ``server``, and ``beside`` alongside it, until ``server.stop()`` is called and the server has drained.

    The server listens before ``factory``, the caches that admissions read, sends any request: the API server may need
    this server's conversions to answer the request.

    Raises the error with which the server, the caches or one of ``beside`` failed, after everything has ended.
    """
    async with TaskScope() as scope:
        tasks = [scope.start(server.run()), *(scope.start(_run_on(runnable)) for runnable in beside)]
        if await until(server.ready, *tasks) and factory is not None:
            scope.start(_entered(factory))
        await scope.first()


async def _run_on(runnable: _Runnable) -> None:
    await runnable.run()
    await asyncio.Event().wait()  # one that returns early does not end the server


async def _entered(factory: InformerFactory) -> None:
    async with factory:
        await asyncio.Event().wait()
