"""URLs as Go's ``url.ParseRequestURI`` reads them: absolute, or a path that begins with a slash."""

from __future__ import annotations

import json
import re
from typing import Final, NamedTuple
from urllib.parse import unquote

from .addresses import address_of

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_BAD_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.S)
_NOT_IN_HOST: Final = re.compile(r"[\x00-\x20#/?@\\^`{|}\x7f]")
_BAD_PERCENT_IN_HOST: Final = re.compile(r"%(?!25|[89A-Fa-f][0-9A-Fa-f]).{0,2}", re.S)
_PORT: Final = re.compile(r"(?::[0-9]*)?")
_USER: Final = re.compile(r"[A-Za-z0-9._:~!$&'()*+,;=%@-]*")


class UrlParts(NamedTuple):
    """The parts of a URL, as in the text unless stated otherwise."""

    scheme: str
    """In lower case."""
    host: str
    """The host with the port, without escapes."""
    path: str
    query: str


def split_url(text: str) -> UrlParts:
    """The parts of a URL. Raises ValueError, with Go's message, if it is malformed, or is relative and does not begin
    with a slash.
    """
    try:
        return _split(text)
    except ValueError as problem:
        raise ValueError(f"parse {json.dumps(text, ensure_ascii=False)}: {problem}") from None


def _split(text: str) -> UrlParts:
    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in text):
        raise ValueError("net/url: invalid control character in URL")
    if not text:
        raise ValueError("empty url")
    if text == "*":
        return UrlParts("", "", "*", "")
    head, colon, after = text.partition(":")
    scheme, rest = "", text
    if colon and _SCHEME.fullmatch(head):
        scheme, rest = head.lower(), after
    elif colon and not head:
        raise ValueError("missing protocol scheme")
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if not scheme:
            raise ValueError("invalid URI for request")
        return UrlParts(scheme, "", "", query)
    host = ""
    if scheme and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        user, _, host = authority.rpartition("@")
        host = _host(scheme, host)
        if not _USER.fullmatch(user):
            raise ValueError("net/url: invalid userinfo")
        _check_escapes(_BAD_PERCENT, user)
    _check_escapes(_BAD_PERCENT, rest)
    return UrlParts(scheme, host, rest, query)


def _host(scheme: str, host: str) -> str:
    name, port = host, ""
    if "[" in host[1:]:
        raise ValueError("invalid IP-literal")
    if host.startswith("["):
        name, bracket, port = host.rpartition("]")
        if not bracket:
            raise ValueError("missing ']' in host")
        name = name[1:]
    elif ":" in host:
        cut = host.index(":") if scheme in ("http", "https") else host.rindex(":")
        name, port = host[:cut], host[cut:]
    if not _PORT.fullmatch(port):
        raise ValueError(f"invalid port {json.dumps(port, ensure_ascii=False)} after host")
    address, zone_mark, zone = name.partition("%25") if host.startswith("[") else (name, "", "")
    for part in (address, zone):
        if wrong := _NOT_IN_HOST.search(part):
            raise ValueError(f"invalid character {json.dumps(wrong[0])} in host name")
    _check_escapes(_BAD_PERCENT_IN_HOST, address)
    _check_escapes(_BAD_PERCENT, zone)
    if not host.startswith("["):
        return unquote(host)
    if ":" not in address or address_of(address) is None or (zone_mark and not zone):
        raise ValueError(f'invalid host: ParseAddr("{unquote(name)}"): unable to parse IP')
    return f"[{unquote(name)}]{port}"


def _check_escapes(pattern: re.Pattern[str], text: str) -> None:
    if wrong := pattern.search(text):
        raise ValueError(f'invalid URL escape "{wrong[0]}"')
