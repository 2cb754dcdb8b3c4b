"""A small HTTP server for this process's own pages: health, metrics, debugging."""

from __future__ import annotations

import asyncio
import errno
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from setpoint.serving import HttpRequest, HttpService, Listener, Refused, Reply

logger = logging.getLogger("setpoint.manager")


class Answer(NamedTuple):
    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = MappingProxyType({})
    """Additional headers. Answers from child processes have none."""


Handler = Callable[[str, Mapping[str, list[str]], Mapping[str, str]], Answer | Awaitable[Answer]]
"""A function of ``(rest of the path, query, lower-case headers)`` that returns the answer, or an awaitable if it has to
wait.
"""

Access = Callable[[str, Mapping[str, str]], Awaitable[Answer | None]]
"""A function of ``(path, lower-case headers)`` that returns the refusal, or None if the request is allowed."""

_OWN: Final = frozenset(
    (
        *("accept", "accept-encoding", "accept-language", "authorization", "cache-control", "connection"),
        *("content-length", "content-type", "cookie", "dnt", "host", "if-modified-since", "if-none-match", "origin"),
        *("pragma", "priority", "range", "referer", "te", "upgrade-insecure-requests", "user-agent"),
    )
)
"""The headers that browsers and curl send by themselves, beside those that begin with ``sec-``. Proxies add others, of
many names: ``x-forwarded-for``, ``x-forwarded-proto``, ``x-envoy-…``, ``l5d-…``, ``via``.
"""
_TEXT: Final = {"content-type": "text/plain; charset=utf-8"}
GRACE: Final = 1.0
"""Seconds for the answers that are under way when the server ends."""
LOOK_EVERY: Final = 10.0
"""Seconds between two checks of the certificate files."""


def split_address(address: str) -> tuple[str, int] | None:
    """The host and port of a bind address in the usual form, such as ``:8080`` or ``127.0.0.1:8080``; None for ``"0"``
    and ``""``, which switch the server off.

    Raises:
        ValueError: ``address`` has another form.
    """
    if address in ("", "0"):
        return None
    host, colon, port = address.rpartition(":")
    if not colon or not (port.isascii() and port.isdecimal() and len(port) <= 5) or int(port) > 65535:
        raise ValueError(f"bind address {address!r} is not of the form HOST:PORT, :PORT, or 0 for off")
    return host.strip("[]"), int(port)


class HttpServer:
    """Serves handlers by path prefix while `run` runs.

    `ready` is set when the server listens; ``port`` is then the actual port, even if port 0 was requested.

    With ``cert_dir`` the server serves only TLS, with ``tls.crt`` and ``tls.key`` from that folder. New files are
    loaded within `LOOK_EVERY` seconds; unreadable files leave the old certificate in place. ``access``, if given,
    checks all requests except those for public prefixes.
    """

    def __init__(self, address: str, *, name: str, cert_dir: Path | None = None, access: Access | None = None) -> None:
        place = split_address(address)
        if place is None:
            raise ValueError(f"the {name} server is off: its bind address is {address!r}")
        self.name = name
        self.host, self.port = place
        self.ready = asyncio.Event()
        self._cert_dir = cert_dir
        self._access = access
        self._handlers: dict[str, Handler] = {}
        self._guards: dict[str, Access] = {}
        self._public: set[str] = set()
        self._guards_local: set[str] = set()

    def add(
        self,
        prefix: str,
        handler: Handler,
        *,
        guard: Access | None = None,
        guards_local: bool = False,
        public: bool = False,
    ) -> None:
        """Answers GET ``prefix`` and every path below it.

        If the server has no ``access``, ``guard`` checks the requests that don't come from this machine (see
        `is_local`) and, with ``guards_local``, also those that do. ``public`` is for answers without data, and turns
        off all checks: a browser cannot send a token before it has a page that asks for one.

        Raises:
            ValueError: the prefix is taken.
        """
        if prefix in self._handlers:
            raise ValueError(f"the {self.name} server has a handler for {prefix} already")
        self._handlers[prefix] = handler
        if guard is not None:
            self._guards[prefix] = guard
        if guards_local:
            self._guards_local.add(prefix)
        if public:
            self._public.add(prefix)

    async def run(self) -> None:
        """Serves until the call is cancelled.

        Raises:
            OSError: the address cannot be bound, or the certificate cannot be used. The message names the address or
                the files.
        """
        context, loaded = None, b""
        if self._cert_dir is not None:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            loaded = self._load(context, self._cert_dir)
        service = HttpService(_admit, self._answer, _complain)
        listener = Listener(service, name=f"the {self.name} server", host=self.host, port=self.port, context=context)
        try:
            await listener.open()
            self.port = listener.port
            self.ready.set()
            if context is None or self._cert_dir is None:
                await asyncio.Event().wait()
            else:
                await self._follow(context, self._cert_dir, loaded)
        finally:
            listener.close()
            # A request that waits for a profile must not delay the end of the process.
            await service.drain(GRACE)
            await service.cut()

    async def _follow(self, context: ssl.SSLContext, directory: Path, loaded: bytes) -> None:
        """Loads new certificates; open connections keep theirs."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            if _certificate_bytes(directory) == loaded:
                continue
            try:
                # A failed attempt would leave the real context half changed.
                self._load(ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), directory)
                loaded = self._load(context, directory)
            except OSError as problem:  # half written, or missing for a moment
                logger.warning("the old certificate stays in use: %s", problem)

    def _load(self, context: ssl.SSLContext, directory: Path) -> bytes:
        content = _certificate_bytes(directory)
        try:
            context.load_cert_chain(directory / "tls.crt", directory / "tls.key", password=lambda: "")
        except (OSError, ValueError) as problem:
            why = f"the {self.name} server can't use tls.crt and tls.key in {directory}: {problem}"
            raise OSError(getattr(problem, "errno", None) or errno.EINVAL, why) from problem
        return content

    async def _answer(self, request: HttpRequest, body: bytes) -> Reply:
        place, _, parameters = request.target.partition("?")
        path = unquote(place)
        for prefix in sorted(self._handlers, key=len, reverse=True):
            if path == prefix or path.startswith(prefix.rstrip("/") + "/"):
                access = self._access
                if access is None and (prefix in self._guards_local or not is_local(request.peer, request.headers)):
                    access = self._guards.get(prefix)
                if prefix in self._public:
                    access = None
                answer = await access(path, request.headers) if access is not None else None
                if answer is None:
                    query = parse_qs(parameters, keep_blank_values=True)
                    started = self._handlers[prefix](path[len(prefix) :].strip("/"), query, request.headers)
                    answer = started if isinstance(started, Answer) else await started
                return Reply(answer.status, {"content-type": answer.content_type, **answer.headers}, answer.body)
        return _complain(404, f"not found; available: {', '.join(sorted(self._handlers))}")


def _admit(request: HttpRequest) -> int:
    """Refuses a request that is not a GET or HEAD; such requests have no body."""
    if request.method not in ("GET", "HEAD"):
        raise Refused(Reply(405, {"allow": "GET, HEAD", **_TEXT}, f"{request.method} is not allowed\n".encode()))
    return 0


def _complain(status: int, text: str) -> Reply:
    return Reply(status, _TEXT, f"{text}\n".encode())


def is_local(address: str, headers: Mapping[str, str]) -> bool:
    """Whether a request comes from a program on this machine, judging by its address and its lower-case headers.

    A loopback address is not enough. A proxy beside this process (of a service mesh, for example) forwards requests
    from other machines, but adds headers; so a request with any header that local programs do not send by themselves is
    not local. A web page may make its own host name resolve to the loopback address (DNS
    rebinding), but the browser then sends that name.
    """
    if not is_loopback(address) or any(name not in _OWN and not name.startswith("sec-") for name in headers):
        return False
    try:
        name = urlsplit(f"//{headers.get('host', '')}").hostname or ""
    except ValueError:
        return False
    return name == "localhost" or name.endswith(".localhost") or is_loopback(name)


def is_loopback(address: str) -> bool:
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    return (mapped or parsed).is_loopback


def _certificate_bytes(directory: Path) -> bytes:
    """The contents of the certificate's files; ``b""`` if they cannot be read."""
    try:
        return (directory / "tls.crt").read_bytes() + (directory / "tls.key").read_bytes()
    except OSError:
        return b""
