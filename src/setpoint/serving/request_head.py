"""Parses the heads of HTTP/1.1 requests and refuses malformed ones (RFC 9112)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

MAX_HEAD: Final = 16 * 1024
MAX_HEADERS: Final = 100
_REQUEST: Final = re.compile(r"([A-Z][A-Z-]{0,19}) ([!-~]{1,2001}) HTTP/1\.([01])")
_ABSOLUTE: Final = re.compile(r"https?://([^/?#@]+)([/?][^#]*|)", re.IGNORECASE)
_VERSION: Final = re.compile(r"\S+ \S+ HTTP/[02-9]\.[0-9]")
_HEADERS: Final = re.compile(r"(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\x00-\x08\x0a-\x1f\x7f]*\r\n)*")
_SINGLE: Final = ("content-length", "transfer-encoding", "content-type", "host")


class HttpRequest(NamedTuple):
    """The head of a request. ``target`` is the path and query as received, without the scheme and host that a proxy's
    client puts before them; header names are in lower case. ``peer`` is the address from which the connection comes,
    without the port. ``certificate`` is the client certificate, verified in the handshake, as
    ``ssl.SSLSocket.getpeercert`` returns it; None without one.
    """

    method: str
    target: str
    headers: dict[str, str]
    peer: str = ""
    certificate: Mapping[str, Any] | None = None

    def __repr__(self) -> str:
        """The repr leaves out the headers, because they may contain tokens."""
        return f"HttpRequest({self.method} {self.target})"


class Malformed(Exception):
    """The input is malformed, or uses a feature of HTTP that is not supported; ``status`` is the status code of the
    answer.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def parsed(head: str, peer: str = "", certificate: Mapping[str, Any] | None = None) -> tuple[HttpRequest, bool]:
    """The request without its body, and whether its version is HTTP/1.0, in which case the connection is closed after
    the answer. A ``connection`` header has no effect on the second value. Raises `Malformed`.
    """
    line, _, rest = head.partition("\r\n")
    first = _REQUEST.fullmatch(line)
    if first is None:
        if _VERSION.fullmatch(line):
            raise Malformed(505, "only HTTP/1.1 is supported")
        raise Malformed(400, "malformed request line")
    if rest.count("\n") > MAX_HEADERS:
        raise Malformed(431, f"there are more than {MAX_HEADERS} headers")
    if not _HEADERS.fullmatch(rest):
        raise Malformed(400, "malformed header")
    headers: dict[str, str] = {}
    for header in rest.split("\r\n")[:-1]:
        name, _, value = header.partition(":")
        name, value = name.lower(), value.strip(" \t")
        if name in headers:
            if name in _SINGLE:
                raise Malformed(400, f"{name} is repeated")
            value = f"{headers[name]}, {value}"
        headers[name] = value
    is_old = first[3] == "0"
    if "host" not in headers and not is_old:  # RFC 9112, 3.2
        raise Malformed(400, "missing required Host header")
    target = first[2]
    if not target.startswith("/"):
        absolute = _ABSOLUTE.fullmatch(target)
        if absolute is None:
            raise Malformed(400, "malformed request line")
        headers["host"] = absolute[1]  # RFC 9112, 3.2.2
        target = absolute[2] if absolute[2].startswith("/") else f"/{absolute[2]}"
    return HttpRequest(first[1], target, headers, peer, certificate), is_old


def framing(headers: dict[str, str]) -> int:
    """The length of the body in bytes: 0 if there is no body, -1 if the body is chunked. Raises `Malformed`."""
    length, coding = headers.get("content-length"), headers.get("transfer-encoding")
    if coding is not None:
        if length is not None:
            raise Malformed(400, "there are both content-length and transfer-encoding")
        if coding.lower() != "chunked":
            raise Malformed(501, "the only transfer-encoding supported is chunked")
        return -1
    if length is None:
        return 0
    if not (length.isascii() and length.isdigit() and len(length) <= 18):
        raise Malformed(400, "malformed content-length")
    return int(length)
