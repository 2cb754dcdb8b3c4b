"""URLs, parsed as in API servers: absolute, or a path that begins with a slash."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, quote, unquote

from setpoint.cel.declarations import Library, function, method
from setpoint.cel.errors import EvaluationError
from setpoint.cel.types import BOOL, STRING, Type, list_of, map_of, struct
from setpoint.cel.values import Opaque, PlainMap
from setpoint.schema.urls import split_url

_URL: Final = struct("kubernetes.URL")
_SAFE: Final = "$&+,/:;=@!'()*-_.~"


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


def _url(text: str) -> Url:
    try:
        return Url(text, *split_url(text))
    except ValueError as problem:
        raise EvaluationError(f"URL parse error during conversion from string: {problem}") from None


def _is_url(text: str) -> bool:
    try:
        split_url(text)
    except ValueError:
        return False
    return True


def _escaped_path(url: Url) -> str:
    if re.fullmatch(r"(?:[A-Za-z0-9$&+,/:;=@!'()*_.~\[\]-]|%[0-9A-Fa-f]{2})*", url.path):
        return url.path
    return quote(unquote(url.path), safe=_SAFE)


def _query(url: Url) -> PlainMap:
    parameters: dict[str, list[str]] = {}
    for key, value in parse_qsl(url.query, keep_blank_values=True):
        parameters.setdefault(key, []).append(value)
    result = PlainMap()
    for key, values in parameters.items():
        result.put(key, values)
    return result


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
