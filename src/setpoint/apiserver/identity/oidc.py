"""The users of an OpenID Connect provider's identity tokens, configured like the ``--oidc-…`` flags."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from setpoint.apiserver.http_types import UserInfo
from setpoint.apiserver.identity.keys import BadTokenError, check_signature, claims_of
from setpoint.apiserver.identity.provider_keys import ProviderKeys
from setpoint.apiserver.identity.users import CREDENTIAL
from setpoint.meta.text_escaping import quote


class OidcProvider(msgspec.Struct, frozen=True):
    """One provider, which accepts a token if ``issuer`` issued it for ``client_id`` and it is signed with one of
    ``keys``.

    ``username_claim`` and ``groups_claim`` name the claims with the user and the groups. ``username_prefix`` and
    ``groups_prefix`` are prepended to the values of these claims. A ``username_prefix`` of ``-`` means no prefix; None
    means the issuer and ``#``, or no prefix if the claim is ``email``. ``required_claims`` are claims that a token must
    have, with their values. ``algorithms``: the allowed signature algorithms.
    """

    issuer: str
    client_id: str
    keys: ProviderKeys
    username_claim: str = "sub"
    username_prefix: str | None = None
    groups_claim: str = ""
    groups_prefix: str = ""
    required_claims: Mapping[str, str] | None = None
    algorithms: Sequence[str] = ("RS256",)

    def user_of(self, now: datetime, token: str) -> UserInfo | None:
        """The user of a token; None if the token is not a JSON web token or comes from a different issuer.

        Raises:
            BadTokenError: the token is not valid.
            Suspended: the provider's keys have to be fetched first.
        """
        try:
            header, claims = claims_of(token)
        except BadTokenError:
            return None
        if claims.get("iss") != self.issuer:
            return None
        if header.get("alg") not in self.algorithms:
            raise BadTokenError(f"oidc: the token is signed with {header.get('alg')}, which is not accepted")
        self.keys.prepare(now, header.get("kid"))
        check_signature(token, header, self.keys.keys)
        audience = claims.get("aud")
        if self.client_id not in (audience if isinstance(audience, list) else [audience]):
            raise BadTokenError(f"oidc: verify token: oidc: expected audience {quote(self.client_id)} got {audience!r}")
        self._check_times(claims, now)
        name = self._name(claims)
        groups = self._groups(claims)
        for claim, value in (self.required_claims or {}).items():
            if claims.get(claim) != value:
                raise BadTokenError(f"oidc: required claim {claim} not present in ID token, or not {quote(value)}")
        identity = claims.get("jti")
        extra = {CREDENTIAL: (f"JTI={identity}",)} if isinstance(identity, str) and identity else {}
        return UserInfo(name, groups=groups, extra=extra)

    def _check_times(self, claims: Mapping[str, Any], now: datetime) -> None:
        moment = now.timestamp()
        until, since = _seconds(claims, "exp"), _seconds(claims, "nbf")
        if until is None or moment > until:
            raise BadTokenError("oidc: verify token: oidc: token is expired")
        if since is not None and moment + 300 < since:
            raise BadTokenError("oidc: verify token: oidc: the token is not valid yet")

    def _name(self, claims: Mapping[str, Any]) -> str:
        claim = self.username_claim
        name = claims.get(claim)
        if not isinstance(name, str) or not name:
            raise BadTokenError(f"oidc: parse username claims {quote(claim)}: claim not present")
        if claim == "email" and claims.get("email_verified", True) is not True:
            raise BadTokenError("oidc: email not verified")
        prefix = self.username_prefix
        if prefix is None:
            prefix = "" if claim == "email" else f"{self.issuer}#"
        return name if prefix == "-" else f"{prefix}{name}"

    def _groups(self, claims: Mapping[str, Any]) -> tuple[str, ...]:
        groups = claims.get(self.groups_claim) if self.groups_claim else None
        if groups is None:
            return ()
        listed = [groups] if isinstance(groups, str) else groups
        if not isinstance(listed, list) or not all(isinstance(group, str) for group in listed):
            raise BadTokenError(f"oidc: parse groups claim {quote(self.groups_claim)}: not a string or list of strings")
        return tuple(f"{self.groups_prefix}{group}" for group in listed)


def _seconds(claims: Mapping[str, Any], name: str) -> float | None:
    """A time among the claims; None if it is not there. As in go-oidc, the number may be in quotes. Raises
    BadTokenError.
    """
    value = claims.get(name)
    if value is None:
        return None
    try:
        seconds = msgspec.convert(value, float, strict=False)
    except msgspec.ValidationError:
        seconds = math.nan
    if not math.isfinite(seconds):
        raise BadTokenError(f"oidc: verify token: oidc: the claim {quote(name)} is not a number")
    return seconds
