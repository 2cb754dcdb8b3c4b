"""WebhookServer: `Webhooks` over HTTPS."""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import TYPE_CHECKING, Any, Final

from setpoint.webhook.certificates import CertificateSource
from setpoint.webhook.tls import ServerTls
from setpoint.webhook.webhooks import Reply, Webhooks, failed

if TYPE_CHECKING:
    from aiohttp import web

__all__ = ["WebhookServer"]

logger = logging.getLogger("setpoint.webhook")

MAX_BODY: Final = 7 * 1024 * 1024
"""Bytes; controller-runtime's. A request may hold an object twice, each up to 3 MiB."""
MAX_CONVERSION_BODY: Final = 256 * 1024 * 1024
_TEXT: Final = {"content-type": "text/plain; charset=utf-8"}
_CLOSE: Final = {"connection": "close"}


class WebhookServer:
    """Serves webhooks for as long as `run` runs: in a manager, or by itself.

    ```python
    manager.add(WebhookServer(webhooks, CertificateFiles("/certs")), group="servers")
    ```

    In a manager's group ``servers`` it is up before any cache begins to sync, and must be: caches may need its
    conversions.

    *Stopping* (`stop`, then `run` returns): ``/readyz`` fails at once, and for ``drain_delay`` everything is still
    served, so that endpoints can learn of it; then no connection is accepted any more and what is under way may
    finish, for ``grace`` at most. Answers close their connections meanwhile.

    *Limits*: bodies larger than ``max_body`` are answered with 413 before they are read, whatever is not JSON with
    415, anything but POST with 405. TLS handshakes, the first request's head, and bodies that take longer than
    ``read_timeout`` are cut off; so are connections that are idle for ``idle_timeout``.

    Args:
        webhooks: what to serve.
        certificates: what to show; run by this server. It listens as soon as there is a certificate.
        host: ``""`` is every address.
        port: 0 picks a free one; see ``port`` after ``ready``.
        max_body: bytes for an AdmissionReview. ConversionReviews hold whole lists; ``max_conversion_body`` is theirs.
        drain_delay, grace, read_timeout, idle_timeout: seconds. Idle connections outlast the 90 s for which API
            servers keep theirs, so that none is closed under a request.
        client_ca: PEM; callers must show a certificate of that authority.
    """

    name = "webhooks"
    leader_only = False
    group = "servers"

    def __init__(
        self,
        webhooks: Webhooks,
        certificates: CertificateSource,
        *,
        host: str = "",
        port: int = 9443,
        max_body: int = MAX_BODY,
        max_conversion_body: int = MAX_CONVERSION_BODY,
        drain_delay: float = 0.0,
        grace: float = 20.0,
        read_timeout: float = 10.0,
        idle_timeout: float = 120.0,
        client_ca: bytes = b"",
    ) -> None:
        self.webhooks = webhooks
        self.certificates = certificates
        self.host = host
        self.port = port
        self.max_body = max_body
        self.max_conversion_body = max_conversion_body
        self.drain_delay = drain_delay
        self.grace = grace
        self.read_timeout = read_timeout
        self.idle_timeout = idle_timeout
        self.ready = asyncio.Event()
        """Set when it listens."""
        self._tls = ServerTls(client_ca)
        self._stopping = asyncio.Event()
        self._certified = asyncio.Event()
        self._fresh: dict[Any, asyncio.TimerHandle] = {}
        self._in_flight = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def stop(self) -> None:
        """Asks `run` to drain and return."""
        self._stopping.set()

    def problem(self) -> str:
        """Why it is not ready; ``""`` if it is. For readiness checks."""
        if self._stopping.is_set():
            return "the webhook server is stopping"
        if not self.ready.is_set():
            return "the webhook server does not listen yet" + ("" if self._certified.is_set() else ": no certificate")
        return ""

    async def run(self) -> None:
        """Serves until `stop`, or until it is cancelled (then without draining).

        Raises:
            OSError: the address can't be bound; the message names it.
            CertificateError: there is no usable certificate, and there won't be.
        """
        self.certificates.on_change(self._use)
        if self.certificates.current is not None:
            self._use(self.certificates.current)
        tending = asyncio.ensure_future(self.certificates.run())
        serving = asyncio.ensure_future(self._serve())
        try:
            await asyncio.wait((tending, serving), return_when=asyncio.FIRST_COMPLETED)
            if tending.done() and not tending.cancelled() and tending.exception() is None:
                await serving  # a source may be done with its work
        finally:
            for task in (tending, serving):
                task.cancel()
            await asyncio.gather(tending, serving, return_exceptions=True)
        for task in (tending, serving):
            if not task.cancelled():
                task.result()

    def _use(self, pair: Any) -> None:
        self._tls.use(pair)
        self._certified.set()

    async def _serve(self) -> None:
        waits = [asyncio.ensure_future(event.wait()) for event in (self._certified, self._stopping)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if self._stopping.is_set():
            return
        loop = asyncio.get_running_loop()
        protocols = _protocols(self)
        try:
            listener = await loop.create_server(
                protocols,
                self.host or None,
                self.port,
                ssl=self._tls.context,
                ssl_handshake_timeout=self.read_timeout,
                ssl_shutdown_timeout=1.0,
                backlog=1024,
            )
        except OSError as problem:
            where = f"{self.host}:{self.port}"
            raise OSError(problem.errno, f"the webhook server can't listen on {where}: {problem}") from problem
        try:
            self.port = _port(listener.sockets)
            self.ready.set()
            logger.info("webhooks are served", extra={"fields": {"port": self.port, "paths": self.webhooks.paths}})
            await self._stopping.wait()
            await asyncio.sleep(self.drain_delay)
            listener.close()
            try:
                async with asyncio.timeout(self.grace):
                    await self._idle.wait()
            except TimeoutError:
                logger.warning("requests were cut off", extra={"fields": {"requests": self._in_flight}})
        finally:
            listener.close()
            self.ready.clear()
            for timer in self._fresh.values():
                timer.cancel()
            self._fresh.clear()
            await protocols.shutdown(0.1 if self._in_flight else 1.0)  # else answers are still on their way

    # -- one connection ------------------------------------------------------------------------------------------------

    def connected(self, protocol: Any) -> None:
        """A connection has to say something within the deadline."""
        loop = asyncio.get_running_loop()
        self._fresh[protocol] = loop.call_later(self.read_timeout, self._cut, protocol)

    def disconnected(self, protocol: Any) -> None:
        timer = self._fresh.pop(protocol, None)
        if timer is not None:
            timer.cancel()

    def _cut(self, protocol: Any) -> None:
        self._fresh.pop(protocol, None)
        protocol.force_close()

    async def handle(self, request: web.BaseRequest) -> web.Response:
        """One request over HTTP."""
        from aiohttp import web

        if request.protocol in self._fresh:
            self.disconnected(request.protocol)
        self._in_flight += 1
        self._idle.clear()
        try:
            status, headers, body = await self._answer(request)
        finally:
            self._in_flight -= 1
            if not self._in_flight:
                self._idle.set()
        answer = web.Response(status=status, headers=headers, body=body)
        if self._stopping.is_set() or status in (408, 413):
            answer.headers.update(_CLOSE)
            answer.force_close()
        return answer

    async def _answer(self, request: web.BaseRequest) -> Reply:
        target = request.raw_path
        path = target.partition("?")[0]
        if request.method != "POST":
            return self._get(request.method, path)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            return failed(415, "UnsupportedMediaType", f"content-type is {kind[:100]!r}, want application/json")
        if encoding := request.headers.get("content-encoding"):
            return failed(415, "UnsupportedMediaType", f"content-encoding is {encoding[:100]!r}, want none")
        limit = self.max_conversion_body if path == "/convert" else self.max_body
        content = request.content
        body: bytes | None
        if content.is_eof() and content.total_bytes <= limit:
            body = content.read_nowait()  # it came with the head, as nearly all do
        else:
            try:
                async with asyncio.timeout(self.read_timeout):
                    body = await _read(request, limit)
            except TimeoutError:
                return failed(408, "Timeout", f"the body did not come within {self.read_timeout:g} s")
        if body is None:
            return failed(413, "RequestEntityTooLarge", f"the body is larger than {limit} bytes")
        return await self.webhooks.handle_review(target, body)

    def _get(self, method: str, path: str) -> Reply:
        if path in ("/healthz", "/readyz"):
            if method not in ("GET", "HEAD"):
                return _not_allowed(method, "GET")
            problem = self.problem() if path == "/readyz" else ""
            return Reply(503 if problem else 200, _TEXT, problem.encode() or b"ok")
        if path in self.webhooks.paths:
            return _not_allowed(method, "POST")
        return failed(404, "NotFound", f"there is no webhook at {path[:200]}")


def _not_allowed(method: str, allowed: str) -> Reply:
    reply = failed(405, "MethodNotAllowed", f"{method[:20]} is not allowed here, {allowed} is")
    return Reply(reply.status, {**reply.headers, "allow": allowed}, reply.body)


async def _read(request: web.BaseRequest, limit: int) -> bytes | None:
    """The body; None if it is larger than ``limit``, of which no more is kept."""
    if (request.content_length or 0) > limit:
        return None
    if request.content_length is not None:
        return await request.content.read(-1) if request.content_length else b""
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.content.iter_any():
        size += len(chunk)
        if size > limit:
            return None
        chunks.append(chunk)
    return b"".join(chunks)


def _port(sockets: tuple[socket.socket, ...]) -> int:
    port: int = sockets[0].getsockname()[1]
    return port


def _protocols(server: WebhookServer) -> Any:
    """aiohttp's plain server, which tells of connections."""
    from aiohttp import web

    class Protocols(web.Server):
        def connection_made(self, handler: Any, transport: asyncio.Transport) -> None:
            super().connection_made(handler, transport)
            server.connected(handler)

        def connection_lost(self, handler: Any, exc: BaseException | None = None) -> None:
            super().connection_lost(handler, exc)
            server.disconnected(handler)

    return Protocols(
        server.handle,
        access_log=None,
        auto_decompress=False,
        keepalive_timeout=server.idle_timeout,
        lingering_time=0.0,
    )
