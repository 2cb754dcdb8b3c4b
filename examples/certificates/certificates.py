"""certificates.py: certificates in Secrets, renewed in time: a small cert-manager.

A Certificate says which names, from which Issuer, into which Secret. The Issuer signs with its own key (`selfSigned`),
with an authority in a Secret (`ca`), or asks a signer of the cluster (`signer`, by a CertificateSigningRequest). All
that is remembered is in the Secret: a certificate is issued when it is missing, damaged, of another spec, or due.

python examples/certificates/certificates.py run --embedded
"""

import hashlib
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec
from certkinds import GROUP, Certificate, Issuer
from signing import (
    Names,
    Pair,
    Unusable,
    chain,
    checked,
    checked_authority,
    fits,
    is_for,
    is_signed_by,
    new_key,
    request,
    root_of,
    sign,
)

import setpoint as sp
from setpoint.models.certificates_v1 import CertificateSigningRequest, CertificateSigningRequestSpec
from setpoint.models.core_v1 import Secret

WANTED = f"{GROUP}/wanted"
"""The digest of the spec that a Secret's certificate was issued for."""
REVISION = f"{GROUP}/revision"
OWNER = f"{GROUP}/certificate-uid"
LOOK = 12 * 3600.0
"""Seconds after which every certificate is looked at again, whatever the clock said before."""
OF = f"{GROUP}/certificate"
"""The key of the Certificate that a CertificateSigningRequest, which has no namespace, belongs to."""


class NotYet(Exception):
    """A certificate can't be issued now; another look is of use when something has changed."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


# -- what is there -----------------------------------------------------------------------------------------------------


def pair_in(secret: Secret | None) -> Pair:
    """The pair of a Secret. It may be damaged, or empty."""
    data = secret.data if secret is not None else {}
    return Pair(data.get("tls.key", b""), data.get("tls.crt", b""), data.get("ca.crt", b""))


def names_of(certificate: Certificate) -> Names:
    spec = certificate.spec
    return Names(spec.common_name, tuple(spec.dns_names), tuple(spec.ip_addresses), spec.is_ca, tuple(spec.usages))


def wanted(certificate: Certificate) -> str:
    """A digest of all that a certificate is issued for."""
    spec = certificate.spec
    parts = [names_of(certificate), spec.issuer_ref.name, str(spec.duration), spec.private_key]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:16]


async def authority_of(issuer: Issuer, ctx: sp.Context) -> Pair | None:
    """The authority of an issuer that has one. Raises `Unusable`."""
    if issuer.spec.ca is None:
        return None
    name = issuer.spec.ca.secret_name
    pair = pair_in(await ctx.get(Secret, name))
    try:
        checked_authority(pair, ctx.now())
    except Unusable as problem:
        raise Unusable(f"Secret {name}: {problem}") from None
    return pair


class Flaw(NamedTuple):
    """A reason for which the Secret does not hold what the Certificate asks for."""

    reason: str
    message: str


def flaw_of(secret: Secret | None, digest: str, authority: Pair | None, now: datetime) -> Flaw | None:
    if secret is None:
        return Flaw("DoesNotExist", "there is no certificate yet")
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
    asked = certificate.spec.renew_before
    if asked is None or asked >= ends - begins:  # signers may give less than they are asked for
        return begins, ends, ends - timedelta(seconds=(ends - begins) // timedelta(seconds=3))
    return begins, ends, ends - asked


# -- issuing -----------------------------------------------------------------------------------------------------------


async def issued(certificate: Certificate, issuer: Issuer, secret: Secret | None, ctx: sp.Context) -> Pair:
    """A new certificate. Raises `NotYet`, `Unusable`."""
    spec, key = certificate.spec, pair_in(secret).key
    form = spec.private_key
    reuse = form.rotation_policy == "Never" and fits(key, form.algorithm, form.size)
    if issuer.spec.signer is not None:
        key = key if reuse else await next_key(certificate, ctx)
        return await asked(certificate, issuer.spec.signer.name, key, ctx)
    authority = await authority_of(issuer, ctx)
    key = key if reuse else new_key(form.algorithm, form.size)
    return sign(key, names_of(certificate), authority, ctx.now(), spec.duration)


def next_key_name(certificate: Certificate) -> str:
    return f"{certificate.name[:200]}-next-{certificate.uid[:8]}"


async def next_key(certificate: Certificate, ctx: sp.Context) -> bytes:
    """The key of the next certificate, which waits in a Secret of its own until a signer has signed it."""
    form, name = certificate.spec.private_key, next_key_name(certificate)
    found = await ctx.get(Secret, name)
    if found is None:
        key = new_key(form.algorithm, form.size)
        found = await ctx.create(Secret.named(name, labels={OWNER: certificate.uid}, data={"tls.key": key}))
    elif not is_ours(found, certificate):
        raise NotYet("SecretTaken", f"there is another Secret {name}")
    elif not fits(found.data.get("tls.key", b""), form.algorithm, form.size):
        await ctx.delete(found)
        raise NotYet("Pending", "the key of another form makes room")
    return found.data["tls.key"]


async def asked(certificate: Certificate, signer: str, key: bytes, ctx: sp.Context) -> Pair:
    """The certificate that a signer of the cluster has made. Raises `NotYet` until then."""
    name, digest = f"certificate-{certificate.uid}", wanted(certificate)
    found = await ctx.get(CertificateSigningRequest, name)
    if found is None:
        spec = CertificateSigningRequestSpec(
            request=request(key, names_of(certificate)),
            signer_name=signer,
            usages=[*certificate.spec.usages],
            expiration_seconds=int(certificate.spec.duration.total_seconds()),
        )
        labels, annotations = {OWNER: certificate.uid}, {OF: certificate.key, WANTED: digest}
        made = CertificateSigningRequest.named(name, "", labels, annotations, spec=spec)
        await ctx.create(made, controlled=False)
        raise NotYet("Pending", f"waiting for kubectl certificate approve {name}")
    if (
        found.annotations.get(WANTED) != digest
        or found.spec.signer_name != signer
        or not is_for(found.spec.request, key)
    ):
        await ctx.delete(found)
        raise NotYet("Pending", f"CertificateSigningRequest {name}, which was for another certificate, makes room")
    for condition in found.status.conditions:
        if condition.type in ("Denied", "Failed") and condition.status != "False":
            message = f"CertificateSigningRequest {name}: {condition.message or condition.reason or ''}"
            raise NotYet(condition.type, f"{message}; there is another one when the cluster has removed it")
    if not found.status.certificate:
        approved = any(each.type == "Approved" for each in found.status.conditions)
        raise NotYet("Pending", f"waiting for {signer if approved else f'kubectl certificate approve {name}'}")
    pair = Pair(key, found.status.certificate)
    checked(pair)
    return pair


def is_ours(secret: Secret, certificate: Certificate) -> bool:
    owner = next((each for each in secret.metadata.owner_references if each.controller), None)
    return owner is not None and owner.uid == certificate.uid


async def store(certificate: Certificate, pair: Pair, digest: str, secret: Secret | None, ctx: sp.Context) -> Secret:
    """Writes key and certificate together; exactly the Secret that was looked at."""
    revision = int(secret.annotations.get(REVISION, "0")) + 1 if secret is not None else 1
    data = {"tls.key": pair.key, "tls.crt": pair.certificate, **({"ca.crt": pair.root} if pair.root else {})}
    notes, labels = {WANTED: digest, REVISION: str(revision)}, {OWNER: certificate.uid}
    if secret is None:
        name, form = certificate.spec.secret_name, "kubernetes.io/tls"
        return await ctx.create(Secret.named(name, labels=labels, annotations=notes, data=data, type=form))
    secret.data = data
    secret.metadata.annotations |= notes
    secret.metadata.labels |= labels
    return await ctx.client.update(secret)


async def tidy(certificate: Certificate, secret: Secret, authority: Pair | None, ctx: sp.Context) -> None:
    """Removes what earlier issuances and specs have left, and shows the root of an authority that has a new
    certificate for its old key."""
    await clean_up(certificate, ctx)
    for other in ctx.owned(Secret):
        if other.name != secret.name:
            await ctx.delete(other)
    if authority is not None and secret.data.get("ca.crt", b"") != (root := root_of(authority)):
        secret.data["ca.crt"] = root
        await ctx.client.update(secret)


# -- the controllers ---------------------------------------------------------------------------------------------------


async def reconcile(certificate: Certificate, ctx: sp.Context) -> sp.Outcome:
    spec, now = certificate.spec, ctx.now()
    secret = await ctx.get(Secret, spec.secret_name)
    if secret is not None and not is_ours(secret, certificate):
        ctx.set_condition(
            "Ready", False, "SecretTaken", f"Secret {spec.secret_name} does not belong to this Certificate"
        )
        return sp.done()
    problem: NotYet | Unusable | None = None
    authority: Pair | None = None
    issuer = await ctx.get(Issuer, spec.issuer_ref.name)
    if issuer is None:
        problem = NotYet("IssuerNotFound", f"there is no Issuer {spec.issuer_ref.name}")
    else:
        try:
            authority = await authority_of(issuer, ctx)
        except Unusable as unusable:
            problem = unusable
    digest = wanted(certificate)
    flaw = flaw_of(secret, digest, authority, now)
    is_due = flaw is None and secret is not None and due(certificate, secret, authority) <= now
    if flaw is None and not is_due:
        assert secret is not None
        problem = None  # of no concern until another certificate is needed
        await tidy(certificate, secret, authority, ctx)
    elif issuer is not None and problem is None:
        try:
            pair = await issued(certificate, issuer, secret, ctx)
            secret = await store(certificate, pair, digest, secret, ctx)
            why = "its time had come" if flaw is None else flaw.message
            ctx.event("Normal", "Issued", f"revision {secret.annotations[REVISION]} is issued: {why}")
            flaw, is_due = None, False
        except (NotYet, Unusable) as found:
            problem = found
    return told(certificate, secret, authority, flaw, problem, ctx)


def due(certificate: Certificate, secret: Secret, authority: Pair | None) -> datetime:
    """The time from which the certificate is renewed. That is its end where its authority ends as well: another one
    would not last longer."""
    _, ends, renewed = times(certificate, secret)
    return ends if authority is not None and ends >= chain(authority.certificate)[0].not_valid_after_utc else renewed


def told(
    certificate: Certificate,
    secret: Secret | None,
    authority: Pair | None,
    flaw: Flaw | None,
    problem: NotYet | Unusable | None,
    ctx: sp.Context,
) -> sp.Outcome:
    """Says in the status what there is, and when to look again."""
    status, reason = certificate.status, problem.reason if isinstance(problem, NotYet) else "NotUsable"
    ctx.set_condition("Issuing", problem is not None, reason if problem else "UpToDate", str(problem or ""))
    if secret is None or flaw is not None:
        first = flaw.message if flaw is not None else ""
        ctx.set_condition("Ready", False, flaw.reason if flaw is not None else reason, f"{first}: {problem}")
        return sp.done()
    status.revision = int(secret.annotations[REVISION])
    status.not_before, status.not_after, status.renewal_time = times(certificate, secret)
    ctx.set_condition("Ready", True, "Issued", f"valid until {status.not_after:%Y-%m-%dT%H:%M:%SZ}")
    again = status.not_after if problem is not None else due(certificate, secret, authority)
    return sp.after(min(max((again - ctx.now()).total_seconds(), 1.0), LOOK), "the certificate ends, or is renewed")


async def reconcile_issuer(issuer: Issuer, ctx: sp.Context) -> sp.Outcome:
    try:
        authority = await authority_of(issuer, ctx)
    except Unusable as problem:
        ctx.set_condition("Ready", False, "NotUsable", str(problem))
        return sp.done()
    ctx.set_condition("Ready", True, "Usable")
    if authority is None:
        return sp.done()
    left = chain(authority.certificate)[0].not_valid_after_utc - ctx.now()
    return sp.after(min(max(left.total_seconds(), 1.0), LOOK), "the authority ends")


async def clean_up(certificate: Certificate, ctx: sp.Context) -> None:
    """Removes the requests, which owner references can't reach: they have no namespace."""
    for each in await ctx.list(CertificateSigningRequest, selector={OWNER: certificate.uid}):
        await ctx.delete(each)


def issuers_of(secret: sp.Head, caches: sp.Caches) -> list[sp.ObjectKey]:
    """The Issuers whose authority is in a Secret."""
    return caches.lister(Issuer).keys(index=("authority", secret.key))


def certificates_of_issuer(issuer: sp.Head, caches: sp.Caches) -> list[sp.ObjectKey]:
    return caches.lister(Certificate).keys(index=("issuer", issuer.key))


def certificates_of_secret(secret: sp.Head, caches: sp.Caches) -> list[sp.ObjectKey]:
    """The Certificates that want a Secret of that name, and those that are signed with the key in it."""
    found = {*caches.lister(Certificate).keys(index=("secret", secret.key))}
    for issuer in caches.lister(Issuer).heads(index=("authority", secret.key)):
        found.update(certificates_of_issuer(issuer, caches))
    return sorted(found)


def certificate_of_request(request: sp.Head) -> list[sp.ObjectKey]:
    return [sp.ObjectKey(request.annotations[OF])] if OF in request.annotations else []


def authority_secret(issuer: Issuer) -> list[str]:
    return [f"{issuer.namespace}/{issuer.spec.ca.secret_name}"] if issuer.spec.ca is not None else []


certificates = (
    sp.Controller(Certificate, reconcile)
    .index("secret", lambda certificate: f"{certificate.namespace}/{certificate.spec.secret_name}")
    .index("issuer", lambda certificate: f"{certificate.namespace}/{certificate.spec.issuer_ref.name}")
    .index("authority", authority_secret, of=Issuer)
    .owns(Secret)
    .watches(Secret, certificates_of_secret)
    .watches(Issuer, certificates_of_issuer)
    .watches(CertificateSigningRequest, certificate_of_request)
    .needs(CertificateSigningRequest, "create", "delete")
    .finalize(clean_up)
)
issuers = sp.Controller(Issuer, reconcile_issuer).index("authority", authority_secret).watches(Secret, issuers_of)
controllers = (certificates, issuers)

if __name__ == "__main__":
    sp.main(*controllers, name=GROUP)
