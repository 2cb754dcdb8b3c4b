"""Dialling: opens connections to the server, over TLS and through a proxy if the configuration says so."""

from __future__ import annotations

import asyncio
import base64
import os
import socket
import ssl
from collections.abc import Callable
from http import HTTPStatus
from ipaddress import ip_address
from urllib.parse import SplitResult, unquote, urlsplit

from aiohappyeyeballs import AddrInfoType, start_connection

from setpoint.client.config import ClientConfig, redacted
from setpoint.client.http_connection import Broken, Connection
from setpoint.client.transport import TransportError
from setpoint.trust import client_context

CONNECT_TIMEOUT = 30.0
"""Seconds for one attempt to connect, including the proxy and TLS."""
EYEBALLS = 0.25
"""Seconds after which the next address of a host is tried in parallel (RFC 8305, "Happy Eyeballs")."""
TCP_KEEP_ALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPALIVE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""Socket options: after 30 s of silence the system sends up to three probes, 10 s apart, so a dead connection is
noticed after a minute. (By default, systems send nine probes, 75 s apart.) ``TCP_KEEPALIVE`` is the name of the
first option on macOS.
"""


class Dialer:
    """Opens connections to ``config.server``, with the TLS ``context`` or, if that is None, with plain HTTP.

    ``absolute`` is true if requests go to a proxy that expects the full URL. ``headers`` are the additional headers for
    the proxy; they are empty if there is no proxy.
    """

    def __init__(self, config: ClientConfig, context: ssl.SSLContext | None) -> None:
        self._config = config
        self.context = context
        self._server = urlsplit(config.server)
        self._proxy = urlsplit(config.proxy_url) if config.proxy_url else None
        self.headers: tuple[tuple[str, str], ...] = ()
        if self._proxy is not None and (basic := basic_of(self._proxy)):
            self.headers = (("Proxy-Authorization", basic),)
        self.absolute = self._proxy is not None and context is None

    async def dial(self, on_lost: Callable[[Connection], None]) -> Connection:
        """A new connection.

        Raises:
            TransportError: the connection failed; nothing was sent to the server.
        """
        address = redacted(self._config.server)
        timeout = asyncio.timeout(CONNECT_TIMEOUT)
        try:
            async with timeout:
                if self._proxy is None:
                    name = self._server_name() if self.context is not None else None
                    return await self._connect(self._server, self.context, name, on_lost)
                return await self._through(self._proxy, on_lost)
        except ssl.SSLCertVerificationError as problem:
            why = f"the server's certificate is not trusted: {problem.verify_message or problem}"
        except ssl.SSLError as problem:
            why = f"TLS failed: {os_reason(problem)}"
        except socket.gaierror as problem:
            why = f"no address for that host: {os_reason(problem)}"
        except TimeoutError as problem:
            if timeout.expired():
                text = f"{address}: no connection within {CONNECT_TIMEOUT:g} s"
                raise TransportError(text, sent=False, timed_out=True) from None
            why = f"can't be reached: {os_reason(problem)}"
        except (OSError, UnicodeError) as problem:
            why = f"can't be reached: {os_reason(problem)}"
        colon = "" if why.startswith("can't") else ":"
        raise TransportError(f"{address}{colon} {why}", sent=False)

    async def _connect(
        self,
        url: SplitResult,
        context: ssl.SSLContext | None,
        name: str | None,
        on_lost: Callable[[Connection], None] | None,
    ) -> Connection:
        loop = asyncio.get_running_loop()
        host, port = _address(url)
        addresses = _literal(host, port) or await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        # asyncio's own Happy Eyeballs loses sockets when it is cancelled
        raw = await start_connection(addresses, happy_eyeballs_delay=EYEBALLS, interleave=1, loop=loop)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for word, value in TCP_KEEP_ALIVE.items():
            option = getattr(socket, word, None)
            if option is not None:
                raw.setsockopt(socket.IPPROTO_TCP, option, value)
        _, connection = await loop.create_connection(
            lambda: Connection(loop, on_lost), sock=raw, ssl=context, server_hostname=name
        )
        return connection

    async def _through(self, proxy: SplitResult, on_lost: Callable[[Connection], None]) -> Connection:
        address = redacted(self._config.proxy_url)
        over_tls = proxy.scheme == "https"
        context = (self.context or client_context()) if over_tls else None
        tunnel = self.context is not None
        try:
            connection = await self._connect(
                proxy, context, proxy.hostname if over_tls else None, None if tunnel else on_lost
            )
        except OSError as problem:
            raise TransportError(f"proxy {address} can't be reached: {os_reason(problem)}", sent=False) from None
        if not tunnel:
            return connection
        try:
            await self._open_tunnel(connection, address)
            return await self._start_tls(connection, on_lost)
        except BaseException:
            connection.abort()
            raise

    async def _open_tunnel(self, connection: Connection, address: str) -> None:
        target = _with_port(self._server)
        lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}", *(": ".join(header) for header in self.headers)]
        connection.send(("\r\n".join(lines) + "\r\n\r\n").encode())
        try:
            await connection.head(None, None)
        except Broken as problem:
            failure = "its answer is not HTTP" if problem.is_malformed else "the connection to it broke"
            raise TransportError(f"proxy {address}: {failure}: {line_of(problem)}", sent=False) from None
        if not 200 <= connection.status < 300:
            try:
                phrase = HTTPStatus(connection.status).phrase
            except ValueError:
                phrase = ""
            raise TransportError(f"proxy {address} refused: {connection.status} {phrase}".rstrip(), sent=False)

    async def _start_tls(self, tunnel: Connection, on_lost: Callable[[Connection], None]) -> Connection:
        loop = asyncio.get_running_loop()
        assert self.context is not None
        connection = Connection(loop, on_lost)
        transport = await loop.start_tls(
            tunnel.transport, connection, self.context, server_hostname=self._server_name()
        )
        if transport is None:  # closed in the meantime
            raise ConnectionResetError("the proxy closed the connection")
        connection.connection_made(transport)
        return connection

    def _server_name(self) -> str:
        return self._config.tls_server_name or self._server.hostname or ""


def basic_of(url: SplitResult) -> str:
    """The ``Authorization`` value for the user information of a URL; ``""`` if the URL has none."""
    if url.username is None:
        return ""
    secret = f"{unquote(url.username)}:{unquote(url.password or '')}"
    return "Basic " + base64.b64encode(secret.encode()).decode()


def _with_port(url: SplitResult) -> str:
    """The host and port in the form that ``CONNECT`` requires."""
    host, port = _address(url)
    return f"{_host_text(host)}:{port}"


def host_header(url: SplitResult) -> str:
    """The value of ``Host``: the host, and the port if ``url`` contains one."""
    host, _ = _address(url)
    return _host_text(host) if url.port is None else f"{_host_text(host)}:{url.port}"


def _host_text(host: str) -> str:
    return f"[{host}]" if ":" in host else host.encode("idna").decode() if not host.isascii() else host


def _address(url: SplitResult) -> tuple[str, int]:
    return url.hostname or "", url.port or (443 if url.scheme == "https" else 80)


def _literal(host: str, port: int) -> list[AddrInfoType]:
    """A list with the address in ``host`` if that is an IP address, which needs no look-up; otherwise an empty list."""
    try:
        version = ip_address(host).version
    except ValueError:
        return []
    family, target = (socket.AF_INET, (host, port)) if version == 4 else (socket.AF_INET6, (host, port, 0, 0))
    return [(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", target)]


def os_reason(problem: BaseException) -> str:
    """The system's reason: asyncio puts a text of its own in its place. TLS and name services count their own way."""
    if isinstance(problem, OSError) and problem.errno and not isinstance(problem, ssl.SSLError | socket.gaierror):
        return os.strerror(problem.errno)
    return line_of(getattr(problem, "strerror", None) or problem)


def line_of(problem: object) -> str:
    """The message of ``problem`` on one line, or its type if the message is empty."""
    return " ".join(str(problem).split()) or type(problem).__name__
