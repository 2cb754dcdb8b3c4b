"""The head of a request: the request line and the headers, as bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from urllib.parse import quote, unquote, urlencode, urlsplit

from setpoint.client.config import ClientConfig
from setpoint.client.dialer import Dialer, host_header
from setpoint.client.transport import Request, TransportError

_PLAIN_PATH = re.compile(r"[A-Za-z0-9/._~:@!$&'()*+,;=-]*")
_BREAK = re.compile(r"[\r\n\0]")
_SENDS = ("POST", "PUT", "PATCH")
_MAX_BLOCKS = 64


class RequestHead:
    """Builds the heads of requests to one server. The parts that all heads share are built once."""

    def __init__(self, config: ClientConfig) -> None:
        url = urlsplit(config.server)
        self._path = url_of(unquote(url.path).rstrip("/"), ())
        self._origin = f"{url.scheme}://{host_header(url)}"
        own = [("user-agent", config.user_agent or "setpoint")]
        own.append(("accept-encoding", "gzip" if config.compression else "identity"))
        if config.impersonate is not None:
            own += config.impersonate.headers()
        self._own = own
        self._constant = _header_lines([("host", host_header(url)), *own])
        self._authorization = ""
        self._blocks: dict[tuple[str, ...], str] = {}
        """The lines after the first one that were made with ``_authorization``, by the request's own headers."""

    def bytes_of(self, request: Request, authorization: str, dialer: Dialer) -> bytes:
        """The head of ``request``.

        Raises:
            TransportError: a header contains a line break or a NUL byte.
        """
        headers, body, method = request.headers, request.body, request.method
        if authorization != self._authorization or len(self._blocks) > _MAX_BLOCKS:
            self._blocks.clear()
            self._authorization = authorization
        key = (method, *headers, *headers.values())
        block = self._blocks.get(key)
        if block is None:
            lines = [*headers.items(), *(dialer.headers if dialer.absolute else ())]
            if authorization and "authorization" not in headers:
                lines.append(("authorization", authorization))
            if _BREAK.search("".join((method, *chain(*self._own, *lines)))):
                line = f"{method} {request.path}"
                raise TransportError(f"{line}: a header contains a line break or a zero byte", sent=False)
            block = self._blocks[key] = f" HTTP/1.1\r\n{self._constant}{_header_lines(lines)}"
        place = f"{self._origin}{self._path}" if dialer.absolute else self._path
        size = "" if body is None and method not in _SENDS else f"content-length: {len(body or b'')}\r\n"
        return f"{method} {place}{url_of(request.path, request.query)}{block}{size}\r\n".encode()


def _header_lines(headers: Iterable[tuple[str, str]]) -> str:
    return "".join(f"{name}: {value}\r\n" for name, value in headers)


def url_of(path: str, query: tuple[tuple[str, str], ...]) -> str:
    """The path and the query, percent-encoded."""
    if not _PLAIN_PATH.fullmatch(path):
        path = quote(path, safe="/:@!$&'()*+,;=~-._")
    return f"{path}?{_encoded(query)}" if query else path


@lru_cache(maxsize=256)
def _encoded(query: tuple[tuple[str, str], ...]) -> str:
    return urlencode(query)
