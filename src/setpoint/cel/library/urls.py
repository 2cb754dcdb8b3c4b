"""URLs, parsed as in API servers: absolute, or a path that begins with a slash."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, quote, unquote

from setpoint.cel.declarations import Library, function, method
from setpoint.cel.errors import EvaluationError
from setpoint.cel.types import BOOL, STRING, Type, list_of, map_of, struct
from setpoint.cel.values import Opaque, PlainMap

__all__ = ["URLS", "BadUrl", "parse_url"]

_URL: Final = struct("kubernetes.URL")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_BAD_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.S)
_HOST: Final = re.compile(r"[^ \x00-\x1f\x7f\"<>\\^`{|}]*")
_SAFE: Final = "$&+,/:;=@!'()*-_.~"


class BadUrl(ValueError):
    """The text is not a URL; the message gives the reason."""


@dataclass(frozen=True, slots=True, eq=False)
class Url(Opaque):
    """A URL, split into its parts."""

    text: str
    scheme: str
    host: str
    """The host with the port."""
    path: str
    query: str

    @property
    def kind(self) -> Type:
        return _URL

    def equals(self, other: Opaque) -> bool:
        return isinstance(other, Url) and self.text == other.text

    def __str__(self) -> str:
        return self.text

    @property
    def hostname(self) -> str:
        if self.host.startswith("["):
            return self.host[1:].partition("]")[0]
        return self.host.rpartition(":")[0] if ":" in self.host else self.host

    @property
    def port(self) -> str:
        after = self.host.rpartition("]")[2] if self.host.startswith("[") else self.host
        return after.rpartition(":")[2] if ":" in after else ""


def parse_url(text: str) -> Url:
    """Parses a URL. Raises BadUrl if it is malformed, or is relative and does not begin with a slash."""

    def bad(why: str) -> BadUrl:
        return BadUrl(f"parse {json.dumps(text, ensure_ascii=False)}: {why}")

    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in text):
        raise bad("net/url: invalid control character in URL")
    if not text:
        raise bad("empty url")
    if text == "*":
        return Url(text, "", "", "*", "")
    rest, _, fragment = text.partition("#")
    head, colon, after = rest.partition(":")
    scheme = ""
    if colon and _SCHEME.fullmatch(head):
        scheme, rest = head.lower(), after
    elif colon and not head:
        raise bad("missing protocol scheme")
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if not scheme:
            raise bad("invalid URI for request")
        return Url(text, scheme, "", "", query)
    host = ""
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        host, slash, path = rest[2:].partition("/")
        rest = slash + path
        host = host.rpartition("@")[2]
        if problem := _host_problem(host):
            raise bad(problem)
        host = unquote(host)
    for part in (rest, fragment):
        if found := _BAD_PERCENT.search(part):
            raise bad(f'invalid URL escape "{found[0]}"')
    return Url(text, scheme, host, rest, query)


def _host_problem(host: str) -> str:
    after = host
    if host.startswith("["):
        inner, bracket, after = host.rpartition("]")
        if not bracket:
            return "missing ']' in host"
        if after and not after.startswith(":"):
            return f'invalid port "{after}" after host'
        if not re.fullmatch(r"\[[0-9A-Fa-f:.%\w-]+", inner):
            return "invalid host"
    elif not _HOST.fullmatch(host):
        found = next(char for char in host if not _HOST.fullmatch(char))
        return f"invalid character {json.dumps(found)} in host name"
    _, colon, port = after.rpartition(":")
    if colon and not re.fullmatch(r"[0-9]*", port):
        return f'invalid port ":{port}" after host'
    return ""


def _url(text: str) -> Url:
    try:
        return parse_url(text)
    except BadUrl as problem:
        raise EvaluationError(f"URL parse error during conversion from string: {problem}") from None


def _is_url(text: str) -> bool:
    try:
        parse_url(text)
    except BadUrl:
        return False
    return True


def _escaped_path(url: Url) -> str:
    if re.fullmatch(r"(?:[A-Za-z0-9$&+,/:;=@!'()*_.~\[\]-]|%[0-9A-Fa-f]{2})*", url.path):
        return url.path
    return quote(unquote(url.path), safe=_SAFE)


def _query(url: Url) -> PlainMap:
    found: dict[str, list[str]] = {}
    for key, value in parse_qsl(url.query, keep_blank_values=True):
        found.setdefault(key, []).append(value)
    made = PlainMap()
    for key, values in found.items():
        made.put(key, values)
    return made


URLS: Final = Library(
    (
        function("url", "string_to_url", (STRING,), _URL, _url),
        function("isURL", "is_url_string", (STRING,), BOOL, _is_url),
        method("getScheme", "url_get_scheme", (_URL,), STRING, lambda url: url.scheme),
        method("getHost", "url_get_host", (_URL,), STRING, lambda url: url.host),
        method("getHostname", "url_get_hostname", (_URL,), STRING, lambda url: url.hostname),
        method("getPort", "url_get_port", (_URL,), STRING, lambda url: url.port),
        method("getEscapedPath", "url_get_escaped_path", (_URL,), STRING, _escaped_path),
        method("getQuery", "url_get_query", (_URL,), map_of(STRING, list_of(STRING)), _query),
    )
)
