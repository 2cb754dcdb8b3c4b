"""Sends the requests of commands to the debug pages of processes, with tokens and certificates, and turns failures into
messages.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec

from setpoint.apps.failures import UsageError
from setpoint.client.tls import default_context
from setpoint.manager.http_server import is_loopback

if TYPE_CHECKING:
    from aiohttp import ClientSession

T = TypeVar("T")
TIMEOUT: Final = 10.0
USUAL: Final = "http://127.0.0.1:8080"


class Refused(Exception):
    """A process has not answered, or has given an unexpected answer; the message names the process and the reason."""


class Asked(NamedTuple):
    """The addresses of the processes to ask, and the credentials for the requests."""

    addresses: Sequence[str]
    token: str
    trust: ssl.SSLContext

    @classmethod
    def of(cls, addresses: Sequence[str], token_file: Path | None, ca_file: Path | None) -> Asked:
        """The processes at ``addresses``. Raises `UsageError` if a file can't be used, or if the token would be sent in
        plain text.
        """
        token = _token(token_file, addresses) if token_file is not None else ""
        return cls(addresses, token, _trust(ca_file))

    def session(self) -> ClientSession:
        """A session to pass to `get`; use it with ``async with``."""
        import aiohttp

        headers = {"authorization": f"Bearer {self.token}"} if self.token else {}
        return aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIMEOUT), headers=headers)

    async def get(
        self, session: ClientSession, address: str, path: str, query: dict[str, str | list[str]], type: type[T]
    ) -> T:
        """Requests ``path`` with ``query`` from the process at ``address``; returns the answer, decoded as ``type``.

        Raises:
            Refused: the process has not answered, or has given an unexpected answer.
        """
        import aiohttp

        base = address if "://" in address else f"http://{address}"
        asked = urlencode(query, doseq=True)
        try:
            url = f"{base.rstrip('/')}{path}" + (f"?{asked}" if asked else "")
            async with session.get(url, ssl=self.trust) as answer:
                body = await answer.read()
                if answer.status != 200:
                    raise Refused(f"{address}: {_refusal(body, answer.status)}")
                return msgspec.json.decode(body, type=type)
        except (aiohttp.ClientError, TimeoutError, ValueError) as problem:
            reason = str(problem) or f"no answer within {TIMEOUT:g} s"
            if isinstance(problem, aiohttp.ClientConnectorError):  # whose text has an object's address
                reason = f"no connection: {problem.os_error.strerror or problem.os_error}"
            hint = "is a manager with --metrics-bind-address there?"
            raise Refused(f"{address}: {reason}; {hint}") from problem


def _token(file: Path, addresses: Sequence[str]) -> str:
    """The bearer token in ``file``. Raises `UsageError` if there is none, or if it would be sent in plain text."""
    try:
        token = file.read_text().strip()
    except (OSError, UnicodeDecodeError) as problem:
        raise UsageError(f"--token-file {file} can't be read: {problem}") from None
    if not token.isascii() or not token.isprintable() or not token:
        raise UsageError(f"--token-file {file} contains no token")
    for address in addresses:
        place = urlsplit(address if "://" in address else f"http://{address}")
        if place.scheme != "https" and not (place.hostname == "localhost" or is_loopback(place.hostname or "")):
            raise UsageError(f"the token would go to {address} in plain text: use https, or kubectl port-forward")
    return token


def _trust(file: Path | None) -> ssl.SSLContext:
    """The TLS context that trusts the certificates in ``file``. Raises `UsageError` if the file can't be used."""
    try:
        return default_context(cafile=str(file) if file is not None else None)
    except OSError as problem:
        raise UsageError(f"--ca-file {file} can't be used: {problem}") from None


def _refusal(body: bytes, status: int) -> str:
    if status == 401:
        return "it requires authentication: give it a token that may get /debug/controllers, with --token-file"
    if status in (403, 500):
        return body.decode(errors="replace").strip()
    try:
        return msgspec.json.decode(body, type=dict[str, str])["error"]
    except (msgspec.DecodeError, KeyError):
        return f"it answered {status}, so it is not a manager of this version"
