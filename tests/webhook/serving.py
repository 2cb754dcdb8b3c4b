"""A webhook server on loopback, and a client that calls it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from setpoint.webhook import MemoryCertificates, Webhooks, WebhookServer

HOST = "127.0.0.1"


def trusting(bundle: bytes) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=bundle.decode())


@asynccontextmanager
async def served(
    webhooks: Webhooks, certificates: Any = None, **options: Any
) -> AsyncIterator[tuple[WebhookServer, aiohttp.ClientSession]]:
    """The server, listening, and a session whose base is its address."""
    source = certificates or MemoryCertificates()
    server = WebhookServer(webhooks, source, host=HOST, port=0, **options)
    task = asyncio.create_task(server.run())
    waiting = asyncio.create_task(server.ready.wait())
    try:
        await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if task.done():
            task.result()
        connector = aiohttp.TCPConnector(ssl=trusting(source.bundle))
        async with aiohttp.ClientSession(f"https://{HOST}:{server.port}", connector=connector) as session:
            yield server, session
    finally:
        server.stop()
        await task
