"""Calls to webhooks, over HTTPS or in this process."""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

import msgspec

from setpoint.apiserver.webhooks.credentials import NO_CREDENTIALS, Credentials, CredentialsError
from setpoint.meta.optional_dependencies import needs_extra
from setpoint.trust import client_context

if TYPE_CHECKING:
    import aiohttp

MAX_ANSWER: Final = 256 * 1024 * 1024
_CONTEXTS: Final = 32


class CallFailed(Exception):
    """A webhook did not return a usable answer. The message gives the reason, worded as on the real server where
    possible.
    """


_SLASHES: Final = re.compile("(?<!:)//+")
"""Repeated slashes in a path, which upstream treats as one."""


class Target(msgspec.Struct, frozen=True):
    """The address of a webhook. ``url`` is complete, with its query. ``service`` is ``(namespace, name, port)`` if the
    configuration names a service, whose name in the cluster is then the URL's host. ``ca_bundle`` is PEM; if it is
    empty, the system's authorities are used. ``credentials`` are those of the calling server.
    """

    url: str
    service: tuple[str, str, int] | None = None
    ca_bundle: bytes = b""
    credentials: Credentials = NO_CREDENTIALS

    @classmethod
    def of(cls, config: Mapping[str, Any], query: str = "") -> Target:
        """The address in a validated ``clientConfig``, with ``query`` appended to the URL."""
        service = config.get("service")
        if service:
            namespace, name, port = service["namespace"], service["name"], service.get("port") or 443
            url = f"https://{name}.{namespace}.svc:{port}{service.get('path') or '/'}"
            address: tuple[str, str, int] | None = (namespace, name, port)
        else:
            url, address = _SLASHES.sub("/", config["url"]), None
        try:
            bundle = base64.b64decode(config.get("caBundle") or "")
        except binascii.Error:
            bundle = b"no certificate"
        return cls(url + (f"?{query}" if query else ""), address, bundle)

    @property
    def address(self) -> tuple[str, int]:
        """The host and port in the URL: for a Service, its name in the cluster."""
        parts = urlsplit(self.url)
        return parts.hostname or "", parts.port or 443


class WebhookCaller(Protocol):
    """Sends reviews to webhooks."""

    async def call(self, target: Target, body: bytes, timeout: float) -> tuple[int, bytes]:
        """The HTTP status and body of the response. ``timeout`` is in seconds.

        Raises:
            CallFailed: the call failed, or no response came in time; the message is the text after ``Post "URL": ``.
        """
        ...

    async def close(self) -> None: ...


class InProcessCaller:
    """Calls functions as webhooks, for tests in virtual time. ``routes`` maps URLs without query to functions.

    A function is called with the URL's path (including the query) and the body. The first item of its result is the
    status, and the last one is the body (so a function may return the reply of ``Webhooks.handle_review``).
    """

    def __init__(self, routes: Mapping[str, Callable[[str, bytes], Awaitable[tuple[Any, ...]]]]) -> None:
        self.routes = dict(routes)

    async def call(self, target: Target, body: bytes, timeout: float) -> tuple[int, bytes]:
        address, mark, query = target.url.partition("?")
        host, slash, path = address.removeprefix("https://").partition("/")
        answer = self.routes.get(address)
        if answer is None:
            if target.service is not None:
                raise CallFailed(f'service "{target.service[1]}" not found')
            raise CallFailed(f"dial tcp {host}: connect: connection refused")
        try:
            async with asyncio.timeout(timeout):
                reply = await answer(slash + path + mark + query, body)
        except TimeoutError:
            raise CallFailed("context deadline exceeded") from None
        return reply[0], reply[-1]

    async def close(self) -> None:
        """Does nothing."""


class HttpCaller:
    """Calls webhooks over HTTPS, on connections that are reused.

    ``resolve`` returns a service's ``host:port``, or None if the service does not exist; it may raise `CallFailed`.
    Without ``resolve``, every service is unknown, because there is no pod network.
    """

    def __init__(self, resolve: Callable[[tuple[str, str, int]], str | None] | None = None) -> None:
        self._resolve = resolve
        self._session: aiohttp.ClientSession | None = None
        self._contexts: dict[tuple[bytes, bytes, bytes], ssl.SSLContext] = {}

    async def call(self, target: Target, body: bytes, timeout: float) -> tuple[int, bytes]:
        with needs_extra("server", "a call to a webhook over HTTPS"):
            import aiohttp
            from yarl import URL

        try:
            url, name = URL(target.url), ""
        except ValueError as problem:  # a host or port that Go's URL parser accepts, and that does not exist
            raise CallFailed(f"dial tcp: {problem}") from None
        if target.service is not None:
            address = self._resolve(target.service) if self._resolve is not None else None
            if address is None:
                raise CallFailed(f'service "{target.service[1]}" not found')
            name = url.host or ""
            host, _, port = address.rpartition(":")
            url = url.with_host(host.strip("[]")).with_port(int(port))
        context = self._context(target)
        if self._session is None:
            self._session = aiohttp.ClientSession(trust_env=False)
        headers = {"content-type": "application/json", "accept": "application/json", "user-agent": "kube-apiserver"}
        if target.credentials.authorization:
            headers["authorization"] = target.credentials.authorization
        if name:
            headers["host"] = name
        try:
            async with (
                asyncio.timeout(timeout),
                self._session.post(
                    url,
                    data=body,
                    headers=headers,
                    ssl=context,
                    server_hostname=name or None,
                    allow_redirects=False,
                    timeout=aiohttp.ClientTimeout(total=None),
                ) as answer,
            ):
                return answer.status, await _read(answer)
        except TimeoutError:
            raise CallFailed("context deadline exceeded") from None
        except (aiohttp.ClientConnectorCertificateError, aiohttp.ClientConnectorSSLError) as problem:
            cause = getattr(problem, "certificate_error", None) or problem
            reason = getattr(cause, "verify_message", "") or str(cause)
            raise CallFailed(f"tls: failed to verify certificate: x509: {reason}") from None
        except aiohttp.ClientConnectorError as problem:
            reason = problem.os_error.strerror or str(problem.os_error)
            if isinstance(problem.os_error, ConnectionRefusedError):
                reason = "connection refused"
            raise CallFailed(f"dial tcp {url.host}:{url.port}: connect: {reason}") from None
        except aiohttp.ServerDisconnectedError:
            raise CallFailed("EOF") from None
        except (aiohttp.ClientError, OSError) as problem:
            raise CallFailed(str(problem) or type(problem).__name__) from None

    async def close(self) -> None:
        """Closes all connections."""
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()

    def _context(self, target: Target) -> ssl.SSLContext:
        credentials = target.credentials
        key = target.ca_bundle, credentials.certificate, credentials.key
        context = self._contexts.get(key)
        if context is None:
            try:
                context = client_context(target.ca_bundle or None)
            except ValueError:
                raise CallFailed("unable to load root certificates: unable to parse bytes as PEM block") from None
            try:
                credentials.load(context)
            except CredentialsError as problem:
                raise CallFailed(f"tls: {problem}") from None
            while len(self._contexts) >= _CONTEXTS:
                self._contexts.pop(next(iter(self._contexts)))
            self._contexts[key] = context
        return context


async def _read(answer: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in answer.content.iter_any():
        body += chunk
        if len(body) > MAX_ANSWER:
            raise CallFailed(f"the answer is larger than {MAX_ANSWER} bytes")
    return bytes(body)
