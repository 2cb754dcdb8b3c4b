"""The transport over HTTP/1.1."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from urllib.parse import urlsplit

from msgspec.structs import replace

from setpoint.client.config import ClientConfig, redacted
from setpoint.client.connection_pool import Pool
from setpoint.client.deadline_waits import Waits
from setpoint.client.dialer import Dialer, basic_of, line_of
from setpoint.client.errors import ConfigError, CredentialsError, error_from
from setpoint.client.http_connection import Broken, Connection, Late
from setpoint.client.http_exchange import Exchange, HttpResponse, late
from setpoint.client.request_head import RequestHead
from setpoint.client.tls import ClientCertificate
from setpoint.client.transport import Request, Response, Transport, TransportError
from setpoint.client.websocket import WebSocket
from setpoint.concurrency import every
from setpoint.meta.optional_dependencies import needs_extra

logger = logging.getLogger("setpoint.client")

MAX_REFUSAL = 1 << 20
"""The maximum size of the body with which a server refuses a WebSocket, in bytes."""
RELOAD_PERIOD = 10.0
"""Seconds between two checks of the certificate files."""


class HttpTransport(Transport):
    """Sends requests to ``config.server``.

    *Guarantees*

    - Credentials are obtained anew for every request. After a 401 the request is sent once more if the source of the
      credentials says that this may help.
    - When a certificate or CA file changes, or a plugin returns a different certificate, new connections use it; open
      streams continue over the old connections.
    - Redirects are not followed, and cookies are not kept. The environment's proxy settings are ignored; only
      ``config.proxy_url`` counts.
    - `close` ends every connection and stream.

    *Caveats*

    - A transport belongs to one event loop at a time, and its connections end with that loop. Afterwards, and in a
      forked process, it may be used in another loop, with new connections.
    - The protocol is HTTP/1.1, so each stream has a connection of its own. The transport does not limit the number of
      streams.
    - A read that fails because the server has just closed an idle connection is sent again over another connection. A
      write is not, because the client can't know whether the server has received it.
    """

    def __init__(self, config: ClientConfig) -> None:
        self._config = config
        self.address = redacted(config.server)
        self._head = RequestHead(config)
        self._own = basic_of(urlsplit(config.server))
        self._pool: Pool | None = None
        self._old: list[Pool] = []
        self._next_look = float("-inf")
        self._stamp: object = None
        self._waits = Waits()
        self._guard: AsyncGenerator[None, None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._process = 0
        self._https = urlsplit(config.server).scheme == "https"
        if not config.verify and self._https:
            logger.warning(
                "the certificate of %s is not verified (insecure-skip-tls-verify): an attacker can read and "
                "change everything",
                self.address,
            )

    @property
    def config(self) -> ClientConfig:
        return self._config

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        return Exchange(self, request)

    @asynccontextmanager
    async def connect(self, request: Request, protocols: Sequence[str]) -> AsyncIterator[WebSocket]:
        """Opens a WebSocket with this transport's credentials; see `setpoint.client.websocket.WebSocketTransport`."""
        with needs_extra("exec", "a WebSocket to a pod"):
            from setpoint.client.http_websocket import Handshake, HttpSocket  # most programs open none

        handshake = Handshake(protocols)
        upgrade = replace(request, headers={**request.headers, **handshake.headers})
        _, connection, deadline = await self.open(upgrade)
        try:
            if connection.status != 101:
                body = await HttpResponse(self, upgrade, connection, deadline).read(MAX_REFUSAL)
                headers = connection.headers
                raise error_from(connection.status, body, headers=headers, verb="connect", resource=request.path)
            protocol = handshake.accepted(connection.headers, f"{request.method} {request.path}: {self.address}")
        except BaseException:
            connection.abort()
            raise
        socket = HttpSocket(connection, protocol, request, self.address, self._waits)
        try:
            yield socket
        finally:
            await socket.close()

    async def close(self) -> None:
        guard = self._settle()
        self._waits.close()
        await every(guard.aclose(), self._config.credentials.close())

    # -- for the exchange -------------------------------------------------------------------------------------------

    async def open(self, request: Request) -> tuple[Pool, Connection, float | None]:
        """A connection that has received the head of the answer, the connection's pool, and the deadline for the whole
        answer as a loop time.

        ``request.timeout`` starts when the credentials are available; obtaining them has deadlines of its own.
        """
        authorization, pool = self._ready_access() or await self._access()
        again = True
        while True:
            deadline = self._deadline(request)
            connection = await self._attempt(pool, request, authorization, deadline)
            if connection.status != 401 or not again:
                return pool, connection, deadline
            again = False
            try:
                async with self._waits.until(deadline, late(self.address, request)):
                    other = await self._config.credentials.rejected(authorization)
            except BaseException:
                connection.abort()
                raise
            if not other:
                return pool, connection, deadline
            pool.give_back(connection)
            authorization, pool = self._ready_access() or await self._access()

    def _ready_access(self) -> tuple[str, Pool] | None:
        """The value of ``Authorization`` to send, and the pool of connections to use; None if either must be waited
        for.
        """
        if self._loop is not asyncio.get_running_loop():
            self._settle()
        pool = self._pool
        if pool is None or pool.certificate is not None or self._waits.closed or self._look_is_due():
            return None
        ready = self._config.credentials.ready()
        return None if ready is None else (ready or self._own, pool)

    async def _access(self) -> tuple[str, Pool]:
        """As `_ready_access`; this method waits."""
        async with self._waits.until(None, ""):
            authorization = await self._config.credentials.authorization()
            return authorization or self._own, await self._current()

    def _settle(self) -> AsyncGenerator[None, None]:
        """Makes the running loop the transport's own, and returns its guard. The connections of another loop are
        forgotten and never touched: a closed loop can't close them, and those of a parent process are in use there.

        Raises:
            RuntimeError: the transport is in use in another loop.
        """
        loop, process = asyncio.get_running_loop(), os.getpid()
        if self._guard is not None:
            if self._loop is loop:
                return self._guard
            if self._process == process and self._loop is not None and not self._loop.is_closed():
                raise RuntimeError(
                    f"the client of {self.address} belongs to another event loop, which is still open: make a client "
                    "for each loop, or use setpoint.blocking.Client, which several threads may share"
                )
            waits = Waits()
            waits.closed = self._waits.closed
            self._pool, self._old, self._waits, self._next_look = None, [], waits, float("-inf")
        self._loop, self._process, self._guard = loop, process, self._close_at_the_end()
        with suppress(StopIteration):
            self._guard.__anext__().send(None)  # begins it, without a task
        return self._guard

    async def _close_at_the_end(self) -> AsyncGenerator[None, None]:
        """The guard of the connections: it closes them when it is closed itself, which event loops do at their end
        (`asyncio.loop.shutdown_asyncgens`).
        """
        try:
            yield
        finally:
            pools, self._pool, self._old = [*self._old, *filter(None, (self._pool,))], None, []
            await every(*(pool.close("the transport is closed") for pool in pools))

    def _deadline(self, request: Request) -> float | None:
        return None if request.timeout is None else asyncio.get_running_loop().time() + request.timeout

    async def _attempt(self, pool: Pool, request: Request, authorization: str, deadline: float | None) -> Connection:
        head = self._head.bytes_of(request, authorization, pool.dialer)
        # An upgrade is sent once, as a write is: what it begins, such as a command, must not begin twice.
        upgrades = "upgrade" in request.headers
        connection = None if upgrades else pool.take()
        while True:
            if connection is None:
                async with self._waits.until(deadline, late(self.address, request)):
                    connection = await pool.dial()
            try:
                if request.allowed is not None:
                    request.allowed()
                connection.send(head, request.body, bare_head=request.method == "HEAD", upgrades=upgrades)
                await connection.head(deadline, request.idle_timeout)
            except Broken as problem:
                if connection.exchanges > 1 and not connection.has_received and request.method in ("GET", "HEAD"):
                    connection = pool.take()
                    continue
                raise self.explained(problem, request, deadline, idle=request.idle_timeout) from None
            except Late as problem:
                raise self.explained(problem, request, deadline, idle=request.idle_timeout) from None
            except BaseException:
                connection.abort()
                raise
            return connection

    def explained(
        self,
        problem: Broken | Late,
        request: Request,
        deadline: float | None,
        *,
        idle: float | None,
        body: bool = False,
    ) -> TransportError:
        """The error for ``problem``; it names the request and the server. ``idle`` is the idle timeout."""
        line = f"{request.method} {request.path}"
        if isinstance(problem, Late):
            if idle is not None and (deadline is None or asyncio.get_running_loop().time() < deadline - 0.001):
                text = f"{line}: {self.address} sent nothing for {idle:g} s"
            else:
                text = late(self.address, request)
            return TransportError(text, sent=True, timed_out=True)
        if body:
            text = f"{line}: the answer of {self.address} broke off: {line_of(problem)}"
            return TransportError(text, sent=True, reset=True)
        if problem.is_malformed:
            return TransportError(f"{line}: the answer of {self.address} is not HTTP: {line_of(problem)}", sent=True)
        text = f"{line}: the connection to {self.address} broke: {line_of(problem)}"
        return TransportError(text, sent=True, reset=True)

    # -- connections and certificates -------------------------------------------------------------------------------

    async def _current(self) -> Pool:
        """The pool of connections to use. After certificates have changed, it is a new pool."""
        certificate: ClientCertificate | None = None
        if self._https:
            certificate = await self._config.credentials.certificate()
            if self._look_is_due():
                self._next_look = asyncio.get_running_loop().time() + RELOAD_PERIOD
                stamp = self._config.tls.stamp()
                if stamp != self._stamp and None not in stamp and self._reload(certificate):
                    self._stamp = stamp
        if self._pool is None or self._pool.certificate != certificate:
            try:
                pool = self._new_pool(certificate)
            except ConfigError as problem:
                if certificate is None:
                    raise
                raise CredentialsError(str(problem)) from None  # the next call may return a better one
            self._retire()
            self._pool = pool
        return self._pool

    def _look_is_due(self) -> bool:
        return self._https and asyncio.get_running_loop().time() >= self._next_look

    def _reload(self, certificate: ClientCertificate | None) -> bool:
        """Loads changed files; returns whether they are in use now. While the new files are invalid (for example
        because only one of two has been written), the old ones stay in use.
        """
        if self._pool is None:
            return True
        try:
            pool = self._new_pool(certificate)
        except ConfigError as problem:
            logger.warning("the changed certificates are not used yet: %s", problem)
            return False
        self._retire()
        self._pool = pool
        return True

    def _retire(self) -> None:
        """Retires the pool, and drops retired pools that have no connections in use."""
        self._old = [pool for pool in self._old if pool.needed]
        if self._pool is not None:
            self._pool.retire()
            self._old.append(self._pool)
            self._pool = None

    def _new_pool(self, certificate: ClientCertificate | None) -> Pool:
        return Pool(Dialer(self._config, self._config.tls.context(certificate) if self._https else None), certificate)
