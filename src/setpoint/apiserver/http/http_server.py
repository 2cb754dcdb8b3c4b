"""HTTP for the server's core: sockets, streams, and graceful shutdown."""

from __future__ import annotations

import asyncio
import base64
import errno
import re
import ssl
import zlib
from collections.abc import AsyncIterator
from http import HTTPStatus
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from setpoint.apiserver.errors import ApiStatusError, bad_request, request_entity_too_large, unsupported_encoding
from setpoint.apiserver.http.allowed_hosts import is_loopback, loopback_of, refusal
from setpoint.apiserver.http.body_reader import BodyReader
from setpoint.apiserver.http_types import HungUp, Peer, Request, Response
from setpoint.apiserver.requests.body import MAX_BODY
from setpoint.apiserver.responses.representation import respond
from setpoint.meta.optional_dependencies import needs_extra
from setpoint.meta.user_error import UserError
from setpoint.serving import Listener
from setpoint.serving.body_memory import BodyMemory

if TYPE_CHECKING:
    from aiohttp import web

    from setpoint.apiserver.http.connection import Connections

_GZIP_FROM: Final = 128 * 1024
"""Bodies with at least this many bytes are compressed for clients that accept gzip; as in upstream."""
_AT_ONCE: Final = 16 * 1024
"""The number of bytes that an idle connection accepts without waiting for its client."""
_GRACE: Final = 5.0
_MAX_PARAMETERS: Final = 1000
_NOBODY: Final = Peer()
_WARNING: Final = re.compile(r'299 - "(?:[^"\\]|\\.)*"')


class PortTakenError(UserError, OSError):
    """Another process already listens on the port; the message names host and port."""


class OpenAddressError(UserError, ValueError):
    """Other machines could reach a server without TLS or without authentication; the message says what to do."""


class Answering(Protocol):
    """The methods of a server that a front calls. The server is an `ApiServer`, or a wrapper between it and the
    network.
    """

    async def handle(self, request: Request) -> Response:
        """Answers one request; raises HungUp to break the connection instead."""
        ...

    def drain(self) -> None:
        """Reports the server as not ready, and ends all watches."""
        ...


class HttpFront:
    """Serves ``server`` over HTTP/1.1 at ``host``:``port``; with port 0, the system chooses a free one (see `url`).

        async with ApiServer() as server, HttpFront(server) as front:
            print(front.url)

    ``tls``: a server-side SSL context; without it, the front serves plain HTTP. ``authority``: the certificate (PEM) of
    the CA that the kubeconfig tells clients to trust.

    On exit, the front accepts no new connections, ends watches, and gives requests in progress ``grace`` seconds to
    finish. When a client disconnects, its watch ends immediately.

    ``authenticates``: whether ``server`` authenticates its clients. The address must be a loopback address unless there
    is a ``tls`` context and either ``server`` authenticates its clients or ``tls`` requires client certificates.
    Requests from web pages of other origins are refused (`hosts`). A client has ``head_timeout`` seconds to send the
    head of the first request on a connection, the TLS handshake included, and ``body_timeout`` seconds to send the body
    of a request and to accept a response or a chunk of a stream. The bodies of all requests together and the number of
    connections are limited as `setpoint.serving` says.

    Raises:
        OpenAddressError: the address is not a loopback address, and there is no TLS with authentication of clients.
        PortTakenError: on entering, if the port is in use.
        OSError: on entering, if the host is not an address of this machine, or this user may not use the port.
    """

    def __init__(
        self,
        server: Answering,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        tls: ssl.SSLContext | None = None,
        authority: bytes = b"",
        authenticates: bool = False,
        grace: float = _GRACE,
        head_timeout: float = 32.0,
        body_timeout: float = 60.0,
    ) -> None:
        safe = tls is not None and (authenticates or tls.verify_mode is ssl.CERT_REQUIRED)
        if not safe and not is_loopback(host):
            raise OpenAddressError(
                f"this server authenticates no client, so it can't listen on {host or 'all addresses'}: use a loopback "
                "address (127.0.0.1, ::1, localhost), reached from elsewhere over ssh -L, or authentication "
                "(setpoint server --auth)"
            )
        self.server = server
        self.host = host
        self.port = port
        self._tls = tls
        self._authority = authority
        self._authenticates = authenticates
        self._grace = grace
        self._head_timeout = head_timeout
        self._body_timeout = body_timeout
        self._memory = BodyMemory()
        self._listener: Listener | None = None
        self._connections: Connections | None = None

    @property
    def url(self) -> str:
        """The URL of the server, without a slash at the end. It is valid once the front has been entered. A server that
        listens at all addresses is reached at the loopback one.
        """
        reached = loopback_of(self.host)
        host = f"[{reached}]" if ":" in reached else reached
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}"

    def kubeconfig(self, name: str = "setpoint", *, token: str = "") -> dict[str, Any]:
        """A kubeconfig document for this server, with the bearer ``token`` if it is not empty."""
        cluster: dict[str, Any] = {"server": self.url}
        if self._authority:
            cluster["certificate-authority-data"] = base64.b64encode(self._authority).decode()
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": name, "user": {"token": token} if token else {}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": "default"}}],
            "current-context": name,
        }

    async def __aenter__(self) -> HttpFront:
        with needs_extra("server", "an API server with a port"):
            from setpoint.apiserver.http.connection import Connections

        connections = Connections(
            self._handle, head_timeout=self._head_timeout, body_timeout=self._body_timeout, memory=self._memory
        )
        listener = Listener(connections, name="the server", host=self.host, port=self.port, context=self._tls)
        try:
            await listener.open()
        except OSError as problem:
            if problem.errno == errno.EADDRINUSE:
                raise PortTakenError(
                    problem.errno, f"port {self.port} of {self.host} is in use by another program: choose another port"
                ) from None
            cause = problem.__cause__
            reason = (isinstance(cause, OSError) and cause.strerror) or str(cause)
            raise OSError(problem.errno, f"can't listen on port {self.port} of {self.host}: {reason}") from problem
        self._listener, self._connections = listener, connections
        self.port = listener.port
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._listener is None or self._connections is None:
            return
        self.server.drain()
        self._listener.close()
        await asyncio.sleep(0)  # for connections that are just being accepted
        self._connections.pre_shutdown()
        await self._connections.shutdown(self._grace)
        self._listener = self._connections = None

    async def _handle(self, http: web.BaseRequest) -> web.StreamResponse:
        from aiohttp import web

        try:
            response = await self._answer(http)
        except HungUp:
            _break(http)
            raise
        if response.upgrade is not None:
            from setpoint.apiserver.http.websocket import upgraded

            return await upgraded(http, response.upgrade)
        headers = response.headers | {"server": "setpoint"}
        body = response.body
        if isinstance(body, bytes):
            if len(body) >= _GZIP_FROM and "gzip" in http.headers.get("Accept-Encoding", ""):
                body = await _compressed(body)
                headers["content-encoding"] = "gzip"
            answer = web.Response(status=response.status, headers=_as_sent(headers), body=body)
            if response.status == HTTPStatus.REQUEST_TIMEOUT:
                answer.force_close()
            if len(body) <= _AT_ONCE and http.transport is not None and not http.transport.get_write_buffer_size():
                await answer.prepare(http)  # the socket, or its buffer, takes all of it
                await answer.write_eof()
                return answer
            async with asyncio.timeout(self._body_timeout):  # a client may never read what it asked for
                await answer.prepare(http)
                await answer.write_eof()
            return answer
        if response.status == HTTPStatus.OK:
            from setpoint.apiserver.http.websocket_streams import is_asked_for, streamed

            if is_asked_for(http):
                try:
                    return await streamed(http, headers, body)
                except HungUp:
                    _break(http)
                    raise
        return await _stream(http, response.status, headers, body, self._body_timeout)

    async def _answer(self, http: web.BaseRequest) -> Response:
        if http.version not in ((1, 0), (1, 1)):
            error = ApiStatusError(505, "", "this server supports HTTP/1.1 only")
            return respond(error.status, error.code)
        host = "" if self._authenticates else _destination(http)[0]
        if reason := refusal(self.host, host, http.headers.get("Origin")):
            error = ApiStatusError(403, "Forbidden", reason, {})
            return respond(error.status, error.code)
        if http.headers.get("Content-Encoding", "identity").lower() not in ("", "identity"):
            error = unsupported_encoding(http.headers["Content-Encoding"])
            return respond(error.status, error.code)
        length = http.content_length
        if length is not None and length > MAX_BODY:
            error = request_entity_too_large(f"limit is {MAX_BODY}")
            return respond(error.status, error.code)
        if not http.can_read_body:
            return await self._handled(http, None)
        reading = BodyReader(self._memory, MAX_BODY)
        try:
            return await self._read(http, reading)
        finally:
            reading.close()

    async def _read(self, http: web.BaseRequest, reading: BodyReader) -> Response:
        try:
            if http.content.is_eof():  # all of it has come
                body = await reading.read(http)
            else:
                async with asyncio.timeout(self._body_timeout):
                    body = await reading.read(http)
        except TimeoutError:
            text = f"the body of the request did not arrive in {self._body_timeout:g} s"
            if reading.waits_for_memory:
                text = f"the memory for bodies was used by other requests for {self._body_timeout:g} s"
            error = ApiStatusError(408, "Timeout", text)
            return respond(error.status, error.code)
        except ValueError:
            error = bad_request("the request's body can't be read: it is not well-formed HTTP/1.1")
            return respond(error.status, error.code)
        return await self._handled(http, body)

    async def _handled(self, http: web.BaseRequest, body: bytes | None) -> Response:
        path, _, query = _destination(http)[1].partition("?")
        if ";" in query:  # as in Go, which drops such a parameter
            query = "&".join(part for part in query.split("&") if ";" not in part)
        try:
            parameters = tuple(parse_qsl(query, keep_blank_values=True, max_num_fields=_MAX_PARAMETERS))
        except ValueError:
            error = bad_request(f"a request may have {_MAX_PARAMETERS} query parameters")
            return respond(error.status, error.code)
        request = Request(http.method, unquote(path), parameters, _headers(http), body, peer=_peer(http))
        return await self.server.handle(request)


def _destination(http: web.BaseRequest) -> tuple[str, str]:
    """The host of a request, and its path and query. A target with scheme and host, as clients of proxies send it, has
    precedence over the Host header (RFC 9112, 3.2.2).
    """
    host, target = http.headers.get("Host", ""), http.raw_path
    if target.startswith("/"):
        return host, target
    parts = urlsplit(target)
    return parts.netloc or host, urlunsplit(("", "", parts.path or "/", parts.query, ""))


def _peer(http: web.BaseRequest) -> Peer:
    """The client at the other end, which is the same for all requests of a connection."""
    peer: Peer | None = getattr(http.protocol, "peer", None)
    return _NOBODY if peer is None else peer


def _headers(http: web.BaseRequest) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in http.headers.items():
        name = name.lower()
        if name not in headers:
            headers[name] = value
        elif name.startswith("impersonate-"):
            headers[name] += f"\n{value}"
    return headers


def _as_sent(headers: dict[str, str]) -> dict[str, str] | list[tuple[str, str]]:
    """The headers as they are sent: each warning in a header of its own, as in upstream."""
    if "warning" not in headers:
        return headers
    others = [(name, value) for name, value in headers.items() if name != "warning"]
    return others + [("warning", text) for text in _WARNING.findall(headers["warning"])]


async def _stream(
    http: web.BaseRequest, status: int, headers: dict[str, str], body: AsyncIterator[bytes], patience: float
) -> web.StreamResponse:
    from aiohttp import web

    stream = web.StreamResponse(status=status, headers=_as_sent(headers))
    if http.version >= (1, 1):
        stream.enable_chunked_encoding()
    try:
        await stream.prepare(http)
        async for chunk in body:
            async with asyncio.timeout(patience):
                await stream.write(chunk)
        await stream.write_eof()
    except HungUp:
        _break(http)
        raise
    except (TimeoutError, ConnectionError):
        pass  # the client is gone
    finally:
        close = getattr(body, "aclose", None)
        if close is not None:
            await close()
    return stream


def _break(http: web.BaseRequest) -> None:
    if http.transport is not None:
        http.transport.abort()


async def _compressed(body: bytes) -> bytes:
    """The body as gzip, compressed at level 1, as in upstream. The body is compressed in chunks, so that other tasks
    can run in between.
    """
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    parts = []
    for start in range(0, len(body), 1 << 20):
        parts.append(packer.compress(body[start : start + (1 << 20)]))
        await asyncio.sleep(0)
    parts.append(packer.flush())
    return b"".join(parts)
