"""The web page: its files, which are the same for every manager and contain none of its data."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from setpoint.manager.http_server import Answer

__all__ = ["PATH", "assets", "to_the_page"]

PATH: Final = "/ui/"
_TYPES: Final = {
    "index.html": "text/html; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "cluster.js": "text/javascript; charset=utf-8",
    "attempts.js": "text/javascript; charset=utf-8",
    "owners.js": "text/javascript; charset=utf-8",
    "parts.js": "text/javascript; charset=utf-8",
    "timeline.js": "text/javascript; charset=utf-8",
    "words.js": "text/javascript; charset=utf-8",
    "preact.js": "text/javascript; charset=utf-8",
    "style.css": "text/css; charset=utf-8",
}
_HEADERS: Final = MappingProxyType({
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
})  # fmt: skip


def assets(path: str, _query: Mapping[str, list[str]], _headers: Mapping[str, str]) -> Answer:
    """The file at ``path``; the page itself if ``path`` is empty."""
    name = path or "index.html"
    if name not in _TYPES:
        return Answer(404, b"not found\n")
    from importlib.resources import files  # with tempfile and shutil: half a megabyte of every operator

    body = (files(__name__) / "assets" / name).read_bytes()
    return Answer(200, body, _TYPES[name], _HEADERS)


def to_the_page(_path: str, _query: Mapping[str, list[str]], _headers: Mapping[str, str]) -> Answer:
    """A redirect to `PATH`. It is relative, so it also works behind a proxy that adds a prefix to paths."""
    return Answer(308, b"", "text/plain", {"location": "ui/", **_HEADERS})
