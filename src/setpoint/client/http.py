"""The transport over HTTP/1.1, with aiohttp underneath. aiohttp is imported when the first request is sent."""

from __future__ import annotations

import asyncio
import base64
import logging
import re
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from setpoint.client.config import ClientConfig, redacted
from setpoint.client.errors import ConfigError, CredentialsError, error_from
from setpoint.client.tls import ClientCertificate
from setpoint.client.transport import MAX_BODY, Request, Response, TransportError, too_long
from setpoint.client.waits import Wait, Waits

if TYPE_CHECKING:
    import aiohttp

__all__ = ["HttpTransport"]

logger = logging.getLogger("setpoint.client")

CONNECT_TIMEOUT = 30.0
"""Seconds for one attempt to connect, TLS included."""
KEEP_ALIVE = 90.0
"""Seconds that an idle connection is kept."""
RELOAD_PERIOD = 10.0
"""Seconds between two looks at the certificates' files."""
HEARTBEAT = 30.0
"""Seconds between pings on a WebSocket; one without a pong has it closed."""
READ_BUFFER = 1 << 18
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/._~:@!$&'()*+,;=-]*")


class HttpTransport:
    """Sends requests to ``config.server``.

    *Guarantees*

    - Credentials are asked for with every request. After a 401 they are asked for once more, if their source says
      that this may help.
    - When a certificate or CA file changes, or a plugin gives another certificate, new connections use it; streams
      that are open go on over the old ones.
    - Redirects are not followed, cookies are not kept, the environment's proxies count only through the config.
    - `close` ends every connection and stream.

    *Caveats*

    - It belongs to the event loop in which it was first used.
    - HTTP/1.1 only: each stream has a connection of its own. The number of connections is not limited here.
    """

    def __init__(self, config: ClientConfig) -> None:
        self._config = config
        self.shown = redacted(config.server)
        self._base = config.server.rstrip("/")
        self._pool: _Pool | None = None
        self._old: list[_Pool] = []
        self._next_look = float("-inf")
        self._stamp: object = None
        self._waits = Waits()
        # Answers that are being read. Held here, so that of a stream that was abandoned its reader is collected first,
        # which closes it, and not the connection under it.
        self._answers: set[aiohttp.ClientResponse] = set()
        self._https = urlsplit(config.server).scheme == "https"
        self._timeouts: dict[float | None, aiohttp.ClientTimeout] = {}
        headers = [("user-agent", config.user_agent or "setpoint")]
        headers.append(("accept-encoding", "gzip" if config.compression else "identity"))
        if config.impersonate is not None:
            headers += config.impersonate.headers()
        self._headers = headers
        if not config.verify and self._https:
            logger.warning(
                "the certificate of %s is not verified (insecure-skip-tls-verify): anyone in between can read and "
                "change everything",
                self.shown,
            )

    @property
    def config(self) -> ClientConfig:
        return self._config

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        return _Exchange(self, request)

    @asynccontextmanager
    async def connect(self, request: Request, protocols: Sequence[str]) -> AsyncIterator[_HttpSocket]:
        """A WebSocket, with this transport's credentials; see `setpoint.client.websocket.WebSocketTransport`."""
        async with self._waits.until(None, _late(self, request)) as wait:
            pool, socket = await self._upgrade(request, protocols, wait)
        try:
            yield _HttpSocket(self, request, socket)
        finally:
            pool.users -= 1
            await socket.close()

    async def _upgrade(
        self, request: Request, protocols: Sequence[str], wait: Wait
    ) -> tuple[_Pool, aiohttp.ClientWebSocketResponse]:
        import aiohttp

        credentials = self._config.credentials
        url = self._base + url_of(request.path, request.query)
        again = True
        while True:
            authorization = await credentials.authorization()
            _begin(wait, request)
            pool = await self._current()
            headers = [*self._headers, *request.headers.items()]
            if authorization:
                headers.append(("authorization", authorization))
            pool.users += 1
            try:
                socket = await pool.session.ws_connect(
                    pool.url(url, encoded=True),
                    protocols=protocols,
                    headers=headers,
                    heartbeat=HEARTBEAT,
                    max_msg_size=0,
                    **pool.options,
                )
            except aiohttp.WSServerHandshakeError as problem:
                pool.users -= 1
                if problem.status == 401 and again and await credentials.rejected(authorization):
                    again = False
                    wait.move(None)
                    continue
                text = problem.message.encode()
                raise error_from(problem.status, text, verb="connect", resource=request.path) from None
            except BaseException as problem:
                pool.users -= 1
                if isinstance(problem, Exception):
                    raise self._explained(problem, request) from problem
                raise
            return pool, socket

    async def close(self) -> None:
        self._waits.close()
        pools, self._pool = [*self._old, *filter(None, (self._pool,))], None
        self._old = []
        while self._answers:
            self._answers.pop().close()
        for pool in pools:
            await pool.session.close()
        await self._config.credentials.close()

    # -- the parts of an exchange -----------------------------------------------------------------------------------

    async def _open(self, request: Request, wait: Wait) -> tuple[_Pool, aiohttp.ClientResponse, float | None]:
        """Credentials have deadlines of their own; ``request.timeout`` begins when they are there."""
        credentials = self._config.credentials
        authorization = await credentials.authorization()
        deadline = _begin(wait, request)
        pool, response = await self._attempt(request, authorization)
        if response.status == 401:
            try:
                if not await credentials.rejected(authorization):
                    return pool, response, deadline
            except BaseException:
                response.close()
                pool.users -= 1
                raise
            response.close()
            pool.users -= 1
            wait.move(None)
            authorization = await credentials.authorization()
            deadline = _begin(wait, request)
            pool, response = await self._attempt(request, authorization)
        return pool, response, deadline

    async def _attempt(self, request: Request, authorization: str) -> tuple[_Pool, aiohttp.ClientResponse]:
        pool = await self._current()
        headers: list[tuple[str, str]] = [*self._headers, *request.headers.items()]
        if authorization and "authorization" not in request.headers:
            headers.append(("authorization", authorization))
        pool.users += 1
        try:
            response = await pool.session.request(
                request.method,
                pool.url(self._base + url_of(request.path, request.query), encoded=True),
                headers=headers,
                data=request.body,
                timeout=self._timeout(request),
                allow_redirects=False,
                **pool.options,
            )
        except BaseException as problem:
            pool.users -= 1
            if isinstance(problem, Exception):
                raise self._explained(problem, request) from problem
            raise
        return pool, response

    def _timeout(self, request: Request) -> aiohttp.ClientTimeout:
        idle = request.idle_timeout
        timeout = self._timeouts.get(idle)
        if timeout is None:
            import aiohttp

            if len(self._timeouts) > 256:
                self._timeouts.clear()
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT, sock_read=idle)
            self._timeouts[idle] = timeout
        return timeout

    async def _current(self) -> _Pool:
        """The pool of connections to use now: a new one when certificates have changed."""
        certificate: ClientCertificate | None = None
        if self._https:
            certificate = await self._config.credentials.certificate()
            now = asyncio.get_running_loop().time()
            if now >= self._next_look:
                self._next_look = now + RELOAD_PERIOD
                stamp = self._config.tls.stamp()
                if stamp != self._stamp and None not in stamp and await self._reload(certificate):
                    self._stamp = stamp
        if self._pool is None or self._pool.certificate != certificate:
            try:
                pool = self._new_pool(certificate)
            except ConfigError as problem:
                if certificate is None:
                    raise
                raise CredentialsError(str(problem)) from None  # it may give a better one the next time
            await self._retire()
            self._pool = pool
        return self._pool

    async def _reload(self, certificate: ClientCertificate | None) -> bool:
        """Takes up changed files; what was good stays in use while they are not, such as between two writes."""
        if self._pool is None:
            return True
        try:
            pool = self._new_pool(certificate)
        except ConfigError as problem:
            logger.warning("the changed certificates are not used yet: %s", problem)
            return False
        await self._retire()
        self._pool = pool
        return True

    async def _retire(self) -> None:
        """Puts the pool aside, and ends those put aside earlier that nobody uses any more."""
        if self._pool is not None:
            self._old.append(self._pool)
            self._pool = None
        unused = [pool for pool in self._old if not pool.users]
        self._old = [pool for pool in self._old if pool.users]
        for pool in unused:
            await pool.session.close()

    def _new_pool(self, certificate: ClientCertificate | None) -> _Pool:
        import aiohttp
        from yarl import URL

        config = self._config
        tls: ssl.SSLContext | bool = config.tls.context(certificate) if self._https else True
        options: dict[str, Any] = {}
        if config.tls_server_name:
            options["server_hostname"] = config.tls_server_name
        if config.proxy_url:
            proxy = URL(config.proxy_url)
            options["proxy"] = proxy.with_user(None)
            if proxy.user is not None:
                secret = base64.b64encode(f"{proxy.user}:{proxy.password or ''}".encode()).decode()
                options["proxy_headers"] = {"Proxy-Authorization": f"Basic {secret}"}
        connector = aiohttp.TCPConnector(ssl=tls, limit=0, keepalive_timeout=KEEP_ALIVE, ttl_dns_cache=30)
        session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=READ_BUFFER,
            max_field_size=1 << 16,
            max_line_size=1 << 16,
        )
        return _Pool(session, certificate, options, URL)

    def _explained(self, problem: Exception, request: Request) -> Exception:
        """``problem`` in this package's words."""
        import aiohttp

        config = self._config
        server = self.shown
        asked = f"{request.method} {request.path}"
        match problem:
            case TransportError() | ConfigError():
                return problem
            case aiohttp.ClientConnectorCertificateError():
                reason = str(getattr(problem, "certificate_error", problem))
                return TransportError(f"{server}: the server's certificate is not trusted: {reason}", sent=False)
            case aiohttp.ClientProxyConnectionError():
                why = _os_reason(problem)
                return TransportError(f"proxy {redacted(config.proxy_url)} can't be reached: {why}", sent=False)
            case aiohttp.ClientHttpProxyError():
                text = f"proxy {redacted(config.proxy_url)} refused: {problem.status} {problem.message}"
                return TransportError(text, sent=False)
            case aiohttp.ClientConnectorDNSError():
                return TransportError(f"{server}: no address for that host: {_os_reason(problem)}", sent=False)
            case aiohttp.ClientConnectorSSLError():
                return TransportError(f"{server}: TLS failed: {_os_reason(problem)}", sent=False)
            case aiohttp.ClientConnectorError():
                return TransportError(f"{server} can't be reached: {_os_reason(problem)}", sent=False)
            case aiohttp.ConnectionTimeoutError():
                return TransportError(
                    f"{server}: no connection within {CONNECT_TIMEOUT:g} s", sent=False, timed_out=True
                )
            case aiohttp.SocketTimeoutError():
                return TransportError(
                    f"{asked}: {server} sent nothing for {request.idle_timeout or 0:g} s", sent=True, timed_out=True
                )
            case aiohttp.ClientPayloadError():
                return TransportError(
                    f"{asked}: the answer of {server} broke off: {_line(problem)}", sent=True, reset=True
                )
            case aiohttp.ServerDisconnectedError() | aiohttp.ClientOSError() | ConnectionError():
                return TransportError(
                    f"{asked}: the connection to {server} broke: {_line(problem)}", sent=True, reset=True
                )
            case aiohttp.ClientResponseError():
                return TransportError(f"{asked}: what {server} sent is no HTTP: {_line(problem.message)}", sent=True)
            case aiohttp.ClientError() | OSError():
                return TransportError(f"{asked}: {server}: {_line(problem)}", sent=True)
            case _:
                return problem


class _Pool:
    """A session, what it was made with, and how many exchanges use it now."""

    __slots__ = ("certificate", "options", "session", "url", "users")

    def __init__(
        self, session: aiohttp.ClientSession, certificate: ClientCertificate | None, options: dict[str, Any], url: Any
    ) -> None:
        self.session = session
        self.certificate = certificate
        self.options = options
        self.url = url
        self.users = 0


class _HttpSocket:
    __slots__ = ("_request", "_socket", "_transport", "protocol")

    def __init__(self, transport: HttpTransport, request: Request, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._transport = transport
        self._request = request
        self._socket = socket
        self.protocol = socket.protocol or ""

    async def send(self, data: bytes) -> None:
        try:
            await self._socket.send_bytes(data)
        except Exception as problem:
            raise self._transport._explained(problem, self._request) from problem

    async def receive(self) -> bytes | None:
        import aiohttp

        asked = f"{self._request.method} {self._request.path}"
        async with self._transport._waits.until(None, asked):
            message = await self._socket.receive()
        match message.type:
            case aiohttp.WSMsgType.BINARY:
                data: bytes = message.data
                return data
            case aiohttp.WSMsgType.TEXT:
                return str(message.data).encode()
            case aiohttp.WSMsgType.ERROR:
                raise TransportError(f"{asked}: the connection broke: {message.data}", sent=True, reset=True)
            case _:
                return None


class _Exchange:
    __slots__ = ("_pool", "_request", "_response", "_transport")

    def __init__(self, transport: HttpTransport, request: Request) -> None:
        self._transport = transport
        self._request = request
        self._pool: _Pool | None = None
        self._response: aiohttp.ClientResponse | None = None

    async def __aenter__(self) -> Response:
        transport, request = self._transport, self._request
        async with transport._waits.until(None, _late(transport, request)) as wait:
            self._pool, self._response, deadline = await transport._open(request, wait)
        transport._answers.add(self._response)
        return _HttpResponse(transport, request, self._response, deadline)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._response is not None:
            self._transport._answers.discard(self._response)
            self._response.close()  # gives the connection back if the body was read to its end
        if self._pool is not None:
            self._pool.users -= 1


class _HttpResponse(Response):
    __slots__ = ("_deadline", "_request", "_response", "_transport", "headers", "status")

    def __init__(
        self,
        transport: HttpTransport,
        request: Request,
        response: aiohttp.ClientResponse,
        deadline: float | None,
    ) -> None:
        self._transport = transport
        self._request = request
        self._response = response
        self._deadline = deadline
        self.status = response.status
        heads: Mapping[str, str] = response.headers
        if len(warnings := response.headers.getall("warning", [])) > 1:  # a header each; a mapping has one for all
            heads = {**{name.lower(): value for name, value in heads.items()}, "warning": ", ".join(warnings)}
        self.headers = heads

    async def read(self, limit: int = MAX_BODY) -> bytes:
        content = self._response.content
        if content.is_eof() and content.total_bytes <= limit:  # it came together with the head, as small ones do
            return content.read_nowait()
        parts: list[bytes] = []
        size = 0
        async with self._transport._waits.until(self._deadline, _late(self._transport, self._request)):
            while chunk := await self._next():
                size += len(chunk)
                if size > limit:
                    raise too_long(limit)
                parts.append(chunk)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def chunks(self) -> AsyncIterator[bytes]:
        waits, late = self._transport._waits, _late(self._transport, self._request)
        while True:
            async with waits.until(self._deadline, late):
                chunk = await self._next()
            if not chunk:
                return
            yield chunk

    async def _next(self) -> bytes:
        try:
            return await self._response.content.readany()
        except Exception as problem:
            raise self._transport._explained(problem, self._request) from problem


def _begin(wait: Wait, request: Request) -> float | None:
    if request.timeout is None:
        return None
    deadline = asyncio.get_running_loop().time() + request.timeout
    wait.move(deadline)
    return deadline


def _late(transport: HttpTransport, request: Request) -> str:
    timeout = request.timeout or 0
    return f"{request.method} {request.path}: no complete answer from {transport.shown} within {timeout:g} s"


def url_of(path: str, query: tuple[tuple[str, str], ...]) -> str:
    """Path and query, percent-encoded."""
    if not _PLAIN_PATH.fullmatch(path):
        path = quote(path, safe="/:@!$&'()*+,;=~-._")
    return f"{path}?{urlencode(query)}" if query else path


def _os_reason(problem: BaseException) -> str:
    inner = getattr(problem, "os_error", None) or problem
    return _line(getattr(inner, "strerror", None) or inner)


def _line(problem: object) -> str:
    """What ``problem`` says, in one line; its type where it says nothing."""
    return " ".join(str(problem).split()) or type(problem).__name__
