"""certificates.py: certificates in Secrets, renewed in time: a small cert-manager.

A Certificate says which names, from which Issuer, into which Secret. The Issuer signs with its own key (`selfSigned`),
with an authority in a Secret (`ca`), or asks a signer of the cluster (`signer`, by a CertificateSigningRequest) or an
ACME server (`acme`). All that is remembered is in the Secret: a certificate is issued when it is missing, damaged, of
another spec, or due.

python examples/certificates/certificates.py run --embedded
"""

from acmeorders import ordered, register
from certkinds import GROUP, Certificate, Issuer
from certrequests import (
    NotYet,
    certificate_of_request,
    certificate_of_signer,
    clean_up,
    is_of_certificate,
    next_key,
    requests_of,
    sweep,
)
from certsecrets import OWNER, WANTED, Flaw, due, flaw_of, is_ours, names_of, pair_in, times, wanted
from challenges import Options, lifespan
from signing import Pair, Unusable, chain, checked_authority, fits, new_key, root_of, sign

import setpoint as sp
from setpoint.controller.predicates import objects_where
from setpoint.models.certificates_v1 import CertificateSigningRequest
from setpoint.models.core_v1 import Secret

REVISION = f"{GROUP}/revision"
LOOK = 12 * 3600.0
"""Seconds after which every certificate is looked at again, whatever the clock said before."""


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


# -- issuing -----------------------------------------------------------------------------------------------------------


async def issued(certificate: Certificate, issuer: Issuer, secret: Secret | None, ctx: sp.Context) -> Pair:
    """A new certificate. Raises `NotYet`, `Unusable`."""
    spec, key = certificate.spec, pair_in(secret).key
    form = spec.private_key
    reuse = form.rotation_policy == "Never" and fits(key, form.algorithm, form.size)
    if issuer.spec.signer is not None:
        key = key if reuse else await next_key(certificate, ctx)
        return await certificate_of_signer(certificate, issuer.spec.signer.name, key, ctx)
    if issuer.spec.acme is not None:
        key = key if reuse else await next_key(certificate, ctx)
        return await ordered(certificate, issuer, key, ctx)
    authority = await authority_of(issuer, ctx)
    key = key if reuse else new_key(form.algorithm, form.size)
    return sign(key, names_of(certificate), authority, ctx.now(), spec.duration)


async def store(certificate: Certificate, pair: Pair, digest: str, secret: Secret | None, ctx: sp.Context) -> Secret:
    """Writes key and certificate together; exactly the Secret that was looked at."""
    counted = int(secret.annotations.get(REVISION, "0")) if secret is not None else 0
    revision = max(counted, certificate.status.revision) + 1  # a Secret that was deleted took its count along
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
            reason = "its time had come" if flaw is None else flaw.message
            ctx.event("Normal", "Issued", f"revision {secret.annotations[REVISION]} is issued: {reason}")
            flaw, is_due = None, False
        except (NotYet, Unusable) as error:
            problem = error
    return report(certificate, secret, authority, flaw, problem, ctx)


def report(
    certificate: Certificate,
    secret: Secret | None,
    authority: Pair | None,
    flaw: Flaw | None,
    problem: NotYet | Unusable | None,
    ctx: sp.Context,
) -> sp.Outcome:
    """Says in the status what there is, and when to look again."""
    status, now = certificate.status, ctx.now()
    reason, wait = (problem.reason, problem.after) if isinstance(problem, NotYet) else ("NotUsable", None)
    if problem is None:
        status.order = None
    ctx.set_condition("Issuing", problem is not None, reason if problem else "UpToDate", str(problem or ""))
    if secret is None or flaw is not None:
        first = flaw.message if flaw is not None else ""
        ctx.set_condition("Ready", False, flaw.reason if flaw is not None else reason, f"{first}: {problem}")
        return sp.done() if wait is None else sp.after(wait, first)
    status.revision = int(secret.annotations[REVISION])
    status.not_before, status.not_after, status.renewal_time = times(certificate, secret)
    ctx.set_condition("Ready", True, "Issued", f"valid until {status.not_after:%Y-%m-%dT%H:%M:%SZ}")
    again = status.not_after if problem is not None else due(certificate, secret, authority)
    delay = min(max((again - now).total_seconds(), 1.0), LOOK)
    return sp.after(delay if wait is None else min(delay, wait), "the certificate ends, or is renewed")


async def reconcile_issuer(issuer: Issuer, ctx: sp.Context) -> sp.Outcome:
    try:
        authority = await authority_of(issuer, ctx)
        if issuer.spec.acme is not None:
            await register(issuer, ctx)
    except (NotYet, Unusable) as problem:
        reason = problem.reason if isinstance(problem, NotYet) else "NotUsable"
        ctx.set_condition("Ready", False, reason, str(problem))
        return sp.after(problem.after or LOOK, reason) if isinstance(problem, NotYet) else sp.done()
    ctx.set_condition("Ready", True, "Usable")
    if authority is None:
        return sp.done() if issuer.spec.acme is None else sp.after(LOOK, "the account is looked at again")
    delay = chain(authority.certificate)[0].not_valid_after_utc - ctx.now()
    return sp.after(min(max(delay.total_seconds(), 1.0), LOOK), "the authority ends")


def issuers_of(secret: sp.Head, caches: sp.CacheReader) -> list[sp.ObjectKey]:
    """The Issuers whose authority, or whose account's key, is in a Secret."""
    return caches.lister(Issuer).keys(index=("secret", secret.key))


def certificates_of_issuer(issuer: sp.Head, caches: sp.CacheReader) -> list[sp.ObjectKey]:
    return caches.lister(Certificate).keys(index=("issuer", issuer.key))


def certificates_of_secret(secret: sp.Head, caches: sp.CacheReader) -> list[sp.ObjectKey]:
    """The Certificates that want a Secret of that name, and those that are signed with the key in it."""
    keys = {*caches.lister(Certificate).keys(index=("secret", secret.key))}
    for issuer in caches.lister(Issuer).heads(index=("secret", secret.key)):
        keys.update(certificates_of_issuer(issuer, caches))
    return sorted(keys)


def issuer_secret(issuer: Issuer) -> list[str]:
    authority = issuer.spec.ca or issuer.spec.acme
    return [f"{issuer.namespace}/{authority.secret_name}"] if authority is not None else []


def placed_order(certificate: Certificate) -> list[str]:
    return [certificate.status.order.url] if certificate.status.order is not None else []


def tokens(certificate: Certificate) -> list[str]:
    return [*certificate.status.order.answers] if certificate.status.order is not None else []


certificates = (
    sp.Controller(Certificate, reconcile)
    .index("secret", lambda certificate: f"{certificate.namespace}/{certificate.spec.secret_name}")
    .index("issuer", lambda certificate: f"{certificate.namespace}/{certificate.spec.issuer_ref.name}")
    .index("secret", issuer_secret, of=Issuer)
    .index("order", placed_order)
    .index("token", tokens)
    .owns(Secret)
    .watches(Secret, certificates_of_secret)
    .watches(Issuer, certificates_of_issuer)
    .watches(CertificateSigningRequest, certificate_of_request)
    .needs(CertificateSigningRequest, "create", "delete")
    .finalize(clean_up)
)
issuers = (
    sp.Controller(Issuer, reconcile_issuer)
    .index("secret", issuer_secret)
    .watches(Secret, issuers_of)
    .needs(Secret, "create")
)
requests = (
    sp.Controller(CertificateSigningRequest, sweep, name="requests", predicates=[objects_where(is_of_certificate)])
    .watches(Certificate, requests_of)
    .needs(CertificateSigningRequest, "delete")
)
controllers = (certificates, issuers, requests)

if __name__ == "__main__":
    sp.main(*controllers, name=GROUP, options=Options, lifespan=lifespan)
