"""A small HTTP server for what a process says about itself: health, metrics, debugging. aiohttp, loaded when used."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from aiohttp import web


class Answer(NamedTuple):
    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"


Handler = Callable[[str, Mapping[str, list[str]], Mapping[str, str]], Answer]
"""``(rest of the path, query, lower-case headers)``; must not wait."""


def split_address(address: str) -> tuple[str, int] | None:
    """Host and port of a bind address in the field's form: ``:8080``, ``127.0.0.1:8080``; None for ``"0"`` (off).

    Raises:
        ValueError: it is none.
    """
    if address in ("", "0"):
        return None
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"bind address {address!r} is not of the form HOST:PORT, :PORT, or 0 for off")
    return host.strip("[]"), int(port)


class HttpServer:
    """Serves handlers by path prefix, for as long as `run` runs.

    `ready` is set when it listens; ``port`` is the real one then, also if it was asked for port 0.
    """

    def __init__(self, address: str, *, name: str) -> None:
        place = split_address(address)
        if place is None:
            raise ValueError(f"the {name} server is off: its bind address is {address!r}")
        self.name = name
        self.host, self.port = place
        self.ready = asyncio.Event()
        self._handlers: dict[str, Handler] = {}

    def add(self, prefix: str, handler: Handler) -> None:
        """Answers GET ``prefix`` and everything below it. Raises `ValueError` for a prefix that is taken."""
        if prefix in self._handlers:
            raise ValueError(f"the {self.name} server has a handler for {prefix} already")
        self._handlers[prefix] = handler

    async def run(self) -> None:
        """Serves until it is cancelled.

        Raises:
            OSError: the address can't be bound; the message names it.
        """
        from aiohttp import web

        app = web.Application()
        app.router.add_route("GET", "/{tail:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None, handle_signals=False)
        await runner.setup()
        try:
            site = web.TCPSite(runner, self.host or None, self.port)
            try:
                await site.start()
            except OSError as problem:
                where = f"{self.host}:{self.port}"
                raise OSError(problem.errno, f"the {self.name} server can't listen on {where}: {problem}") from problem
            self.port = runner.addresses[0][1]
            self.ready.set()
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.Response:
        from aiohttp import web

        path = request.path
        for prefix in sorted(self._handlers, key=len, reverse=True):
            if path == prefix or path.startswith(prefix.rstrip("/") + "/"):
                query = {name: request.query.getall(name) for name in request.query}
                headers = {name.lower(): value for name, value in request.headers.items()}
                answer = self._handlers[prefix](path[len(prefix) :].strip("/"), query, headers)
                return web.Response(
                    status=answer.status, body=answer.body, headers={"content-type": answer.content_type}
                )
        return web.Response(status=404, text=f"not found; there is: {', '.join(sorted(self._handlers))}\n")
