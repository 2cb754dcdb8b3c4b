"""Decides which certificates to renew, from nothing but the current certificates and the time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from setpoint.webhook.certificate_authority import (
    CertificateError,
    Pair,
    facts_of,
    issue,
    make_authority,
    matches,
    signed_by,
)

_RENEW_AT: Final = 2 / 3
"""The fraction of a certificate's lifetime after which it is renewed."""


class CertificateState(msgspec.Struct, frozen=True):
    """The trusted CAs, newest first, and the certificate that is served."""

    authorities: tuple[Pair, ...]
    serving: Pair

    @property
    def bundle(self) -> bytes:
        """The CA bundle that clients must trust, PEM."""
        return b"".join(authority.certificate for authority in self.authorities)


class Rotation(msgspec.Struct, frozen=True, kw_only=True):
    """The lifetimes of the CA and of the serving certificate. Each is renewed when two thirds of its
    lifetime have passed.

    A new CA is trusted for ``overlap`` before any certificate that it signed is served, and an old one for ``overlap``
    after the last certificate that it signed was replaced. Within that time every API server must see the new bundle,
    and every replica the new certificate.

    Renewals are looked for every ``check_every``; `SecretCertificates` also looks for the certificates of other
    replicas then.

    Raises:
        ValueError: ``overlap`` is negative, or a third of a lifetime is not longer than three overlaps.
    """

    authority_lifetime: timedelta = timedelta(days=365)
    serving_lifetime: timedelta = timedelta(days=90)
    overlap: timedelta = timedelta(hours=1)
    check_every: timedelta = timedelta(minutes=1)

    def __post_init__(self) -> None:
        if self.overlap < timedelta(0):
            raise ValueError(f"overlap must not be negative, it is {self.overlap}")
        for name, lifetime in (("authority", self.authority_lifetime), ("serving", self.serving_lifetime)):
            if lifetime * (1 - _RENEW_AT) <= 3 * self.overlap:
                raise ValueError(
                    f"{name}_lifetime of {lifetime} is too short for an overlap of {self.overlap}: it must be "
                    "more than nine times the overlap"
                )


def step(
    state: CertificateState | None,
    names: Sequence[str],
    rotation: Rotation,
    now: datetime,
    *,
    name: str,
    in_force: bool,
) -> CertificateState:
    """The certificates that should exist now; ``state`` itself if nothing has to change.

    ``in_force`` says whether all clients are known to have ``state``'s bundle: a new CA is used only if they do.
    ``name`` is the CAs' common name.

    *Guarantees*: the served certificate is always signed by one of the bundle's CAs, and if possible by one that has
    been in the bundle for at least ``overlap``.
    """
    if state is None or not _sound(state):
        authority = make_authority(name, now=now, lifetime=rotation.authority_lifetime)
        return CertificateState((authority,), issue(authority, names, now=now, lifetime=rotation.serving_lifetime))
    authorities = [authority for authority in state.authorities if facts_of(authority.certificate).not_after > now]
    if not authorities or facts_of(authorities[0].certificate).life_spent(now) >= _RENEW_AT:
        authorities.insert(0, make_authority(name, now=now, lifetime=rotation.authority_lifetime))
        in_force = False
    serving = state.serving
    signer = _signer(authorities, serving, rotation, now, in_force)
    facts = facts_of(serving.certificate)
    if (
        facts.names != frozenset(names)
        or facts.life_spent(now) >= _RENEW_AT
        or not signed_by(serving.certificate, signer.certificate)
    ):
        serving = issue(signer, names, now=now, lifetime=rotation.serving_lifetime)
        facts = facts_of(serving.certificate)
    if now - facts.issued_at >= rotation.overlap:
        newest = authorities.index(signer)
        authorities = authorities[: newest + 1]
    if tuple(authorities) == state.authorities and serving == state.serving:
        return state
    return CertificateState(tuple(authorities), serving)


def _signer(authorities: list[Pair], serving: Pair, rotation: Rotation, now: datetime, in_force: bool) -> Pair:
    """The newest CA that all clients trust; otherwise the CA in use; otherwise the CA that has been trusted for
    longest.
    """
    if in_force:
        for authority in authorities:
            if now - facts_of(authority.certificate).issued_at >= rotation.overlap:
                return authority
    lasting = [
        authority for authority in authorities if facts_of(authority.certificate).not_after - now > rotation.overlap
    ]
    for authority in lasting:
        if signed_by(serving.certificate, authority.certificate):
            return authority
    return lasting[-1]


def _sound(state: CertificateState) -> bool:
    try:
        return (
            bool(state.authorities)
            and all(matches(pair) for pair in (*state.authorities, state.serving))
            and any(signed_by(state.serving.certificate, authority.certificate) for authority in state.authorities)
        )
    except CertificateError:
        return False
