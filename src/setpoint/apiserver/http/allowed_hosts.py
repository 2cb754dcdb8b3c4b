"""The hosts and origins for which a server without authentication answers requests.

A web page in a browser can also send requests to loopback addresses: through a domain name that resolves to such an
address (DNS rebinding), or across origins. ``kubectl proxy`` checks the host for the same reason (``--accept-hosts``).
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

_LOOPBACK_OF: Final = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - names that are replaced


@lru_cache(maxsize=32)
def refusal(listening: str, host: str, origin: str | None) -> str:
    """The reason why a request is refused; ``""`` if it is allowed.

    ``listening`` is the address that the server was told to listen on; ``host`` and ``origin`` are headers of the
    request. If the server listens on a loopback address, ``host`` must be one too, and a request from a web page must
    come from a page of this server. On any other address, requests from web pages are refused, because the page may
    control the name in ``host``.
    """
    if host and is_loopback(listening) and not is_loopback(_name(host)):  # browsers always name one
        return f"this server serves only this machine, under the name of a loopback address, not {host!r}"
    if origin is not None and not (is_loopback(listening) and _same(origin, host)):
        return f"requests from web pages are refused, and this one is from {origin!r}"
    return ""


def is_loopback(name: str) -> bool:
    """Whether ``name`` is ``localhost``, a name that ends with ``.localhost``, or a loopback address."""
    if name == "localhost" or name.endswith(".localhost"):  # RFC 6761, 6.3
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def loopback_of(host: str) -> str:
    """The loopback address at which this machine reaches a server that listens on ``host``, if that means all
    addresses; else ``host``.
    """
    return _LOOPBACK_OF.get(host, host)


def _same(origin: str, host: str) -> bool:
    try:
        return bool(host) and urlsplit(origin).netloc == host
    except ValueError:
        return False


def _name(host: str) -> str:
    """The name or address in a Host header, without port and brackets."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
