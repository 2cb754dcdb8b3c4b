"""Servers that say what a test wants, byte by byte."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from setpoint.client import Client, ClientConfig, HttpTransport, RetryPolicy

Talk: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def talking(talk: Talk, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """The URL of a server that serves each connection with ``talk``."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await talk(reader, writer)
        except (OSError, EOFError, asyncio.CancelledError):
            pass
        finally:
            tasks.discard(task)
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks)


def once(url: str, **config: Any) -> Client:
    """A client that tries nothing again."""
    return Client(HttpTransport(ClientConfig(server=url, **config)), retry=RetryPolicy(attempts=0))
