"""HTTP for the server's core: sockets, streams, and a graceful end."""

from __future__ import annotations

import asyncio
import base64
import errno
import ssl
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, unquote

from setpoint.apiserver.body import MAX_BODY
from setpoint.apiserver.errors import ApiStatusError, request_entity_too_large
from setpoint.apiserver.http_types import Request, Response
from setpoint.apiserver.representation import respond
from setpoint.apiserver.strangers import refusal

if TYPE_CHECKING:
    from aiohttp import web

    from setpoint.apiserver.server import ApiServer

__all__ = ["HttpFront", "PortTakenError"]

_GZIP_FROM: Final = 128 * 1024
"""Bytes from which on a body is compressed for clients that like it so; as upstream."""
_GRACE: Final = 5.0


class PortTakenError(OSError):
    """Something else listens where the server wants to; the message names host and port."""


class HttpFront:
    """Serves ``server`` over HTTP/1.1 at ``host``:``port``; port 0 takes a free one, see `url`.

        async with ApiServer() as server, HttpFront(server) as front:
            print(front.url)

    ``tls``: a server-side SSL context; without one it is plain HTTP. ``authority``: the PEM file of the CA that the
    kubeconfig tells clients to trust.

    On leaving, no new connection is taken, watches are told to end, and requests under way have ``grace`` seconds. A
    client that goes away ends its watch at once.

    Nobody is authenticated: whoever reaches the address may do everything. Web pages may not (`strangers`).

    Raises:
        PortTakenError: on entering, if the port is in use.
        OSError: on entering, if the host is not one of this machine's, or the port is not for this user.
    """

    def __init__(
        self,
        server: ApiServer,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        tls: ssl.SSLContext | None = None,
        authority: Path | None = None,
        backlog: int = 1024,
        grace: float = _GRACE,
    ) -> None:
        self.server = server
        self.host = host
        self.port = port
        self._tls = tls
        self._authority = authority
        self._backlog = backlog
        self._grace = grace
        self._runner: web.ServerRunner | None = None

    @property
    def url(self) -> str:
        """Where the server is, without a slash at the end. Valid once the front was entered."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}"

    def kubeconfig(self, name: str = "setpoint") -> dict[str, Any]:
        """A kubeconfig document that leads here."""
        cluster: dict[str, Any] = {"server": self.url}
        if self._authority is not None:
            cluster["certificate-authority-data"] = base64.b64encode(self._authority.read_bytes()).decode()
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": name, "user": {}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": "default"}}],
            "current-context": name,
        }

    async def __aenter__(self) -> HttpFront:
        from aiohttp import web

        handler = web.Server(self._handle, access_log=None, handler_cancellation=True)
        runner = web.ServerRunner(handler, shutdown_timeout=self._grace)
        await runner.setup()
        site = web.TCPSite(runner, self.host, self.port, ssl_context=self._tls, backlog=self._backlog)
        try:
            await site.start()
        except OSError as problem:
            await runner.cleanup()
            if problem.errno == errno.EADDRINUSE:
                raise PortTakenError(
                    problem.errno, f"port {self.port} of {self.host} is taken: another program listens there"
                ) from None
            why = problem.strerror or str(problem)
            raise OSError(problem.errno, f"can't listen on port {self.port} of {self.host}: {why}") from problem
        self._runner = runner
        sockets = getattr(getattr(site, "_server", None), "sockets", ())
        if sockets:
            self.port = sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runner is None:
            return
        self.server.stopping = True
        self.server.end_watches()
        await self._runner.cleanup()
        self._runner = None

    async def _handle(self, http: web.BaseRequest) -> web.StreamResponse:
        from aiohttp import web

        response = await self._answer(http)
        headers = response.headers
        body = response.body
        if isinstance(body, bytes):
            if len(body) >= _GZIP_FROM and "gzip" in http.headers.get("Accept-Encoding", ""):
                body = await _compressed(body)
                headers["content-encoding"] = "gzip"
            return web.Response(status=response.status, headers=headers, body=body)
        return await _stream(http, response, body)

    async def _answer(self, http: web.BaseRequest) -> Response:
        if why := refusal(self.host, http.headers.get("Host", ""), http.headers.get("Origin")):
            error = ApiStatusError(403, "Forbidden", why, {})
            return respond(error.status, error.code)
        length = http.content_length
        if length is not None and length > MAX_BODY:
            error = request_entity_too_large(f"limit is {MAX_BODY}")
            return respond(error.status, error.code)
        body = bytearray()
        if http.can_read_body:
            async for chunk in http.content.iter_any():
                body += chunk
                if len(body) > MAX_BODY:
                    break
        target = http.raw_path if hasattr(http, "raw_path") else http.path_qs
        path, _, query = target.partition("?")
        headers = {name.lower(): value for name, value in http.headers.items()}
        return await self.server.handle(
            Request(
                http.method,
                unquote(path),
                tuple(parse_qsl(query, keep_blank_values=True)),
                headers,
                bytes(body) if body else None,
            )
        )


async def _stream(http: web.BaseRequest, response: Response, body: AsyncIterator[bytes]) -> web.StreamResponse:
    from aiohttp import web

    stream = web.StreamResponse(status=response.status, headers=response.headers)
    stream.enable_chunked_encoding()
    try:
        await stream.prepare(http)
        async for chunk in body:
            await stream.write(chunk)
        await stream.write_eof()
    except (TimeoutError, ConnectionError):
        pass  # the client is gone, and there is nobody to tell
    finally:
        close = getattr(body, "aclose", None)
        if close is not None:
            await close()
    return stream


async def _compressed(body: bytes) -> bytes:
    """Level 1, as upstream, in pieces, so that others get their turn in between."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    parts = []
    for start in range(0, len(body), 1 << 20):
        parts.append(packer.compress(body[start : start + (1 << 20)]))
        await asyncio.sleep(0)
    parts.append(packer.flush())
    return b"".join(parts)
