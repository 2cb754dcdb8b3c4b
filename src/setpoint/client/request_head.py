"""The head of a request: the request line and the headers, as bytes."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import quote, urlencode, urlsplit

from setpoint.client.config import ClientConfig
from setpoint.client.dialer import Dialer, host_header
from setpoint.client.transport import Request, TransportError

_PLAIN_PATH = re.compile(r"[A-Za-z0-9/._~:@!$&'()*+,;=-]*")
_SENDS = ("POST", "PUT", "PATCH")


class RequestHead:
    """Builds the heads of requests to one server. The parts that all heads share are built once."""

    def __init__(self, config: ClientConfig) -> None:
        url = urlsplit(config.server)
        self._path = url_of(url.path.rstrip("/"), ())
        self._origin = f"{url.scheme}://{host_header(url)}"
        own = [("user-agent", config.user_agent or "setpoint")]
        own.append(("accept-encoding", "gzip" if config.compression else "identity"))
        if config.impersonate is not None:
            own += config.impersonate.headers()
        self._own = own
        self._constant = _header_bytes([("host", host_header(url)), *own])

    def bytes_of(self, request: Request, authorization: str, dialer: Dialer) -> bytes:
        """The head of ``request``.

        Raises:
            TransportError: a header contains a line break or a NUL byte.
        """
        headers, body = request.headers, request.body
        parts = [
            f"{request.method} {self._origin if dialer.absolute else ''}{self._path}"
            f"{url_of(request.path, request.query)} HTTP/1.1\r\n",
            self._constant,
        ]
        lines = len(self._own) + 2 + len(headers)
        for name, value in headers.items():
            parts.append(f"{name}: {value}\r\n")
        if authorization and "authorization" not in headers:
            parts.append(f"authorization: {authorization}\r\n")
            lines += 1
        if body is not None or request.method in _SENDS:
            parts.append(f"content-length: {len(body or b'')}\r\n")
            lines += 1
        if dialer.absolute:
            parts.append(_header_bytes(dialer.headers))
            lines += len(dialer.headers)
        head = "".join(parts)
        if head.count("\n") != lines or head.count("\r") != lines or "\0" in head:
            line = f"{request.method} {request.path}"
            raise TransportError(f"{line}: a header contains a line break or a zero byte", sent=False)
        return f"{head}\r\n".encode()


def _header_bytes(headers: list[tuple[str, str]] | tuple[tuple[str, str], ...]) -> str:
    return "".join(f"{name}: {value}\r\n" for name, value in headers)


def url_of(path: str, query: tuple[tuple[str, str], ...]) -> str:
    """The path and the query, percent-encoded."""
    if not _PLAIN_PATH.fullmatch(path):
        path = quote(path, safe="/:@!$&'()*+,;=~-._")
    return f"{path}?{_encoded(query)}" if query else path


@lru_cache(maxsize=256)
def _encoded(query: tuple[tuple[str, str], ...]) -> str:
    return urlencode(query)
