"""certsecrets.py: what a Secret holds, and whether that is what its Certificate asks for; pure functions."""

import hashlib
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec
from certkinds import GROUP, Certificate
from signing import Names, Pair, Unusable, chain, checked, is_signed_by

from setpoint.models.core_v1 import Secret

WANTED = f"{GROUP}/wanted"
"""The digest of the spec that a Secret's certificate was issued for."""
OWNER = f"{GROUP}/certificate-uid"


def pair_in(secret: Secret | None) -> Pair:
    """The pair of a Secret. It may be damaged, or empty."""
    data = secret.data if secret is not None else {}
    return Pair(data.get("tls.key", b""), data.get("tls.crt", b""), data.get("ca.crt", b""))


def is_ours(secret: Secret, certificate: Certificate) -> bool:
    owner = next((condition for condition in secret.metadata.owner_references if condition.controller), None)
    return owner is not None and owner.uid == certificate.uid


def names_of(certificate: Certificate) -> Names:
    spec = certificate.spec
    return Names(spec.common_name, tuple(spec.dns_names), tuple(spec.ip_addresses), spec.is_ca, tuple(spec.usages))


def wanted(certificate: Certificate) -> str:
    """A digest of all that a certificate is issued for."""
    spec = certificate.spec
    parts = [names_of(certificate), spec.issuer_ref.name, str(spec.duration), spec.private_key]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:16]


class Flaw(NamedTuple):
    """A reason for which the Secret does not hold what the Certificate asks for."""

    reason: str
    message: str


def flaw_of(secret: Secret | None, digest: str, authority: Pair | None, now: datetime) -> Flaw | None:
    if secret is None:
        return Flaw("DoesNotExist", "the Secret does not exist")
    try:
        present = checked(pair_in(secret))
    except Unusable as problem:
        return Flaw("InvalidKeyPair", str(problem))
    if present.not_valid_after_utc <= now:
        return Flaw("Expired", f"the certificate has expired at {present.not_valid_after_utc:%Y-%m-%dT%H:%M:%SZ}")
    if secret.annotations.get(WANTED) != digest:
        return Flaw("SpecChanged", "the certificate was issued for another spec, or by another issuer")
    if authority is not None and not is_signed_by(present, chain(authority.certificate)[0]):
        return Flaw("AuthorityChanged", "the certificate is not signed by the issuer's present authority")
    return None


def times(certificate: Certificate, secret: Secret) -> tuple[datetime, datetime, datetime]:
    """The beginning and the end of the certificate in a Secret, and the time from which it is renewed."""
    present = chain(pair_in(secret).certificate)[0]
    begins, ends = present.not_valid_before_utc, present.not_valid_after_utc
    margin = certificate.spec.renew_before
    if margin is None or margin >= ends - begins:  # signers may give less than they are asked for
        return begins, ends, ends - timedelta(seconds=(ends - begins) // timedelta(seconds=3))
    return begins, ends, ends - margin


def due(certificate: Certificate, secret: Secret, authority: Pair | None) -> datetime:
    """The time from which the certificate is renewed. That is its end where its authority ends as well: another one
    would not last longer."""
    _, ends, renewed = times(certificate, secret)
    return ends if authority is not None and ends >= chain(authority.certificate)[0].not_valid_after_utc else renewed
