"""Credentials of the ``oidc`` auth provider: an ID token, refreshed with a refresh token (OpenID Connect Core 1.0)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar
from urllib.parse import parse_qsl, quote_plus, urlencode, urlsplit

import msgspec

from setpoint.client.credentials import Credentials
from setpoint.client.errors import CredentialsError
from setpoint.client.transport import Request, Transport, TransportError
from setpoint.concurrency import Shared

_T = TypeVar("_T")
LEEWAY = 10.0
"""An ID token counts as expired this many seconds before its expiry."""
_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class OidcConfig:
    issuer_url: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    id_token: str = field(default="", repr=False)
    refresh_token: str = field(default="", repr=False)
    source: str = ""


class _Claims(msgspec.Struct):
    exp: float = 0


class _Tokens(msgspec.Struct):
    id_token: str = ""
    refresh_token: str = ""
    error: str = ""
    error_description: str = ""


class _Provider(msgspec.Struct):
    token_endpoint: str = ""


class Oidc(Credentials):
    """An ID token, used as a bearer token. A new one is fetched when the token is about to expire, and after a 401.

    There is only one fetch at a time: all waiting requests share it and its result, even a failure.

    ``connect`` makes a transport to the host of a URL. A new refresh token replaces the old one for the lifetime of
    this object; it is not written back to the kubeconfig.
    """

    def __init__(
        self,
        config: OidcConfig,
        connect: Callable[[str], Transport],
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._config = config
        self._connect = connect
        self._now = now
        self._token = config.id_token
        self._refresh_token = config.refresh_token
        self._expires = _expiry(config.id_token)
        self._refreshed = Shared(self._refresh)

    async def authorization(self) -> str:
        if not self._valid():
            await self._refreshed()
        return f"Bearer {self._token}"

    async def rejected(self, authorization: str) -> bool:
        if authorization == f"Bearer {self._token}":
            if not self._refresh_token:
                return False
            self._expires = 0.0
        return True

    def _valid(self) -> bool:
        return bool(self._token) and self._now().timestamp() < self._expires - LEEWAY

    async def _refresh(self) -> None:
        if not self._refresh_token:
            raise self._failed("the ID token has expired and there is no refresh token: log in again")
        config = self._config
        issuer = config.issuer_url.rstrip("/")
        code, answer = await self._send("GET", f"{issuer}/.well-known/openid-configuration", {}, b"")
        endpoint = self._decoded(answer, _Provider).token_endpoint if code == 200 else ""
        if not endpoint:
            raise self._failed(f"the configuration of {issuer} has no token_endpoint (HTTP {code})")
        grant = {"grant_type": "refresh_token", "refresh_token": self._refresh_token}
        secret = f"{quote_plus(config.client_id)}:{quote_plus(config.client_secret)}"
        basic = "Basic " + base64.b64encode(secret.encode()).decode()
        code, answer = await self._send(
            "POST", endpoint, {"authorization": basic, "content-type": _FORM}, urlencode(grant).encode()
        )
        if code in (400, 401):  # some providers accept the client's secret only in the form (RFC 6749, 2.3.1)
            grant |= {"client_id": config.client_id, "client_secret": config.client_secret}
            code, answer = await self._send("POST", endpoint, {"content-type": _FORM}, urlencode(grant).encode())
        tokens = self._decoded(answer, _Tokens)
        if code != 200 or not tokens.id_token:
            why = " ".join(filter(None, (tokens.error, tokens.error_description))) or "no id_token in the answer"
            raise self._failed(f"the refresh was refused (HTTP {code}): {why}")
        self._token = tokens.id_token
        self._refresh_token = tokens.refresh_token or self._refresh_token
        self._expires = _expiry(tokens.id_token)
        if not self._valid():
            raise self._failed("the ID token of the issuer has expired already: check this machine's clock")

    async def _send(self, method: str, url: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        parts = urlsplit(url)
        transport = self._connect(f"{parts.scheme}://{parts.netloc}")
        request = Request(
            method, parts.path, tuple(parse_qsl(parts.query)), {"accept": "application/json", **headers}, body or None
        )
        try:
            async with transport.send(request) as response:
                return response.status, await response.read(1 << 20)
        except TransportError as problem:
            raise self._failed(str(problem)) from problem
        finally:
            await transport.close()

    def _decoded(self, body: bytes, kind: type[_T]) -> _T:
        try:
            return msgspec.json.decode(body, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            raise self._failed(f"the issuer's answer is not JSON: {problem}") from None

    def _failed(self, why: str) -> CredentialsError:
        source_note = f" of {self._config.source}" if self._config.source else ""
        return CredentialsError(f"OIDC{source_note}, issuer {self._config.issuer_url}: {why}")

    def __repr__(self) -> str:
        return f"Oidc({self._config.issuer_url!r})"


def _expiry(token: str) -> float:
    """The time at which a JWT (RFC 7519) expires, in seconds since the epoch; 0 if the token does not say."""
    parts = token.split(".")
    if len(parts) != 3:
        return 0.0
    try:
        payload = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        return msgspec.json.decode(payload, type=_Claims).exp
    except (binascii.Error, ValueError, msgspec.DecodeError, RecursionError):
        return 0.0
