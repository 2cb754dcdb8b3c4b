"""Sends the requests of commands to the debug pages of processes, with tokens and certificates, and turns failures into
messages.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final, Self, TypeVar
from urllib.parse import urlsplit

import msgspec

from setpoint.apps.error_reports import UsageError
from setpoint.client import HttpTransport, TransportError
from setpoint.client.config import ClientConfig
from setpoint.client.credentials import Anonymous, StaticToken
from setpoint.client.errors import ConfigError
from setpoint.client.transport import Request
from setpoint.concurrency import every
from setpoint.manager.http_server import is_loopback
from setpoint.meta.text_escaping import indented

T = TypeVar("T")
TIMEOUT: Final = 10.0
MAX_BODY: Final = 64 * 1024 * 1024
"""The maximum size of an answer, in bytes."""
USUAL: Final = "http://127.0.0.1:8080"


class ProcessError(Exception):
    """A process has not answered, or has given an unexpected answer; the message names the process and the reason.
    ``status`` is the answer's status, 0 without an answer.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class DebugClient:
    """Reads the debug pages of the processes at ``addresses``. Use it with ``async with``.

    ```python
    async with DebugClient(["http://127.0.0.1:8080"], token_file=None, ca_file=None) as client:
        summaries = await client.get(client.addresses[0], "/debug/controllers", {}, list[Summary])
    ```

    Raises:
        UsageError: a file can't be used, an address is not a URL, or the token would be sent in plain text.
    """

    def __init__(self, addresses: Sequence[str], *, token_file: Path | None, ca_file: Path | None) -> None:
        self.addresses = addresses
        token = _token(token_file, addresses) if token_file is not None else ""
        credentials = StaticToken(token) if token else Anonymous()
        self._transports: dict[str, HttpTransport] = {}
        for address in addresses:
            server = (address if "://" in address else f"http://{address}").rstrip("/")
            try:
                config = ClientConfig(server, ca_file=ca_file, credentials=credentials)
                config.tls.context()  # a file that can't be used is reported before anything is asked
            except ConfigError as problem:
                subject = f"--ca-file {ca_file} can't be used" if ca_file is not None else address
                raise UsageError(f"{subject}: {problem}") from None
            self._transports[address] = HttpTransport(config)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await every(*(transport.close() for transport in self._transports.values()))

    async def get(self, address: str, path: str, query: Mapping[str, str | Sequence[str]], type: type[T]) -> T:
        """Requests ``path`` with ``query`` from the process at ``address``; returns the answer, decoded as ``type``.
        All texts in it may be printed (see `setpoint.meta.text_escaping.indented`).

        Raises:
            ProcessError: the process has not answered, or has given an unexpected answer.
        """
        pairs = tuple(
            (name, value)
            for name, values in query.items()
            for value in ([values] if isinstance(values, str) else values)
        )
        request = Request("GET", path, pairs, timeout=TIMEOUT)
        try:
            async with self._transports[address].send(request) as response:
                body = await response.read(MAX_BODY)
                status = response.status
        except TransportError as problem:
            reason = f"{address}: no answer within {TIMEOUT:g} s" if problem.timed_out else str(problem)
            raise ProcessError(f"{reason}; is a manager with --metrics-bind-address running there?") from problem
        if status != 200:
            raise ProcessError(f"{address}: {indented(_refusal(body, status))}", status)
        try:
            return msgspec.convert(_indented(msgspec.json.decode(body)), type=type)
        except ValueError as problem:
            raise ProcessError(
                f"{address}: the answer does not come from a manager of this version: {problem}"
            ) from problem


def escape_output() -> None:
    """Makes standard output escape the characters that its encoding lacks, as standard error does, instead of raising
    an error.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _indented(value: Any) -> Any:
    """Plain JSON values with every text as `indented` makes it."""
    if isinstance(value, str):
        return indented(value)
    if isinstance(value, list):
        return [_indented(item) for item in value]
    if isinstance(value, dict):
        return {indented(key): _indented(item) for key, item in value.items()}
    return value


def _token(file: Path, addresses: Sequence[str]) -> str:
    """The bearer token in ``file``. Raises `UsageError` if there is none, or if it would be sent in plain text."""
    try:
        token = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as problem:
        raise UsageError(f"--token-file {file} can't be read: {problem}") from None
    if not token.isascii() or not token.isprintable() or not token:
        raise UsageError(f"--token-file {file} contains no token")
    for address in addresses:
        place = urlsplit(address if "://" in address else f"http://{address}")
        if place.scheme != "https" and not (place.hostname == "localhost" or is_loopback(place.hostname or "")):
            raise UsageError(f"the token would go to {address} in plain text: use https, or kubectl port-forward")
    return token


def _refusal(body: bytes, status: int) -> str:
    if status == 401:
        return "it requires authentication: give it a token that may get /debug/controllers, with --token-file"
    if status in (403, 500):
        return body.decode(errors="replace").strip()
    try:
        return msgspec.json.decode(body, type=dict[str, str])["error"]
    except (msgspec.DecodeError, KeyError):
        return f"it answered {status}, so no manager of this version listens there"
