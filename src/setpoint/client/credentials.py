"""Credentials of a client. They are obtained for every request and are not tied to connections."""

from __future__ import annotations

import asyncio
import base64
from abc import ABC, abstractmethod
from pathlib import Path

from setpoint.client.errors import CredentialsError
from setpoint.client.tls import ClientCertificate


class Credentials(ABC):
    """A source of credentials. It serves any number of requests at once, all in one event loop."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "authorization" in vars(cls) and "ready" not in vars(cls):
            cls.ready = Credentials.ready  # type: ignore[method-assign]  # the inherited one would pass by the new method

    @abstractmethod
    async def authorization(self) -> str:
        """The value of the ``Authorization`` header for a request sent now, or ``""`` for no header.

        Raises:
            CredentialsError: the credentials can't be obtained.
        """

    def ready(self) -> str | None:
        """The result of `authorization` if it is known without waiting and `certificate` returns None; otherwise None.

        Raises:
            CredentialsError: the credentials can't be obtained.
        """
        return None

    async def certificate(self) -> ClientCertificate | None:
        """The client certificate for new connections, or None if this source has none.

        Raises:
            CredentialsError: the certificate can't be obtained.
        """
        return None

    async def rejected(self, authorization: str) -> bool:
        """Notes that the server answered 401 to ``authorization``; returns whether repeating the request with new
        credentials may help.
        """
        return False

    async def close(self) -> None:
        """Closes the source's resources."""
        return


class Anonymous(Credentials):
    """Sends no ``Authorization`` header; a client certificate may still authenticate the client."""

    async def authorization(self) -> str:
        return ""

    def ready(self) -> str:
        return ""

    def __repr__(self) -> str:
        return "Anonymous()"


class StaticToken(Credentials):
    """A bearer token that never changes."""

    def __init__(self, token: str) -> None:
        self.header = f"Bearer {_clean(token, 'token')}"

    async def authorization(self) -> str:
        return self.header

    def ready(self) -> str:
        return self.header

    def __repr__(self) -> str:
        return "StaticToken(…)"


class Basic(Credentials):
    """A user name and a password (RFC 7617). Kubernetes dropped this scheme in 1.19; proxies in front of a server still
    use it.
    """

    def __init__(self, username: str, password: str) -> None:
        self._username = username
        self._header = "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()

    async def authorization(self) -> str:
        return self._header

    def ready(self) -> str:
        return self._header

    def __repr__(self) -> str:
        return f"Basic({self._username!r}, …)"


class TokenFile(Credentials):
    """A bearer token in a file, which is read again from time to time because service-account tokens are rotated.

    The file is read at most once in ``period`` seconds (50 by default: client-go's minute, minus its leeway of 10 s),
    and again at once after a 401. While it can't be read, the last token (at first ``fallback``) stays in use. Without
    one, requests fail with `CredentialsError`, and each of them reads the file, because a pod may start before its
    token is mounted.
    """

    def __init__(self, path: str | Path, *, fallback: str = "", period: float = 50.0) -> None:
        self._path = Path(path)
        self._period = period
        self._header = f"Bearer {_clean(fallback, 'token')}" if fallback else ""
        self._next = float("-inf")

    async def authorization(self) -> str:
        return self.ready()

    def ready(self) -> str:
        now = asyncio.get_running_loop().time()
        if now >= self._next:
            self._read()
            self._next = now + self._period
        return self._header

    async def rejected(self, authorization: str) -> bool:
        if self._header == authorization:
            self._read()
            self._next = asyncio.get_running_loop().time() + self._period
        return self._header != authorization

    def _read(self) -> None:
        try:
            token = self._path.read_text("utf-8").strip()
            if not token:
                raise CredentialsError(f"token file {self._path} is empty")
            self._header = f"Bearer {_clean(token, f'token file {self._path}')}"
        except (OSError, ValueError) as problem:  # not text, or not a valid path
            if not self._header:
                why = getattr(problem, "strerror", None) or str(problem)
                raise CredentialsError(f"token file {self._path} can't be read: {why}") from None
        except CredentialsError:
            if not self._header:
                raise

    def __repr__(self) -> str:
        return f"TokenFile({str(self._path)!r})"


def _clean(token: str, source: str) -> str:
    """``token``. Raises `CredentialsError` if it has characters that a header can't carry, such as a line break."""
    if not token.isprintable() or not token.isascii():
        raise CredentialsError(f"{source} contains characters that an HTTP header can't carry")
    return token
