"""certrequests.py: certificates by a signer of the cluster: a CertificateSigningRequest that a person approves."""

from certkinds import GROUP, Certificate
from certsecrets import OWNER, WANTED, is_ours, names_of, wanted
from signing import Pair, checked, fits, is_for, new_key, request

import setpoint as sp
from setpoint.client import NotFound
from setpoint.models.certificates_v1 import CertificateSigningRequest, CertificateSigningRequestSpec
from setpoint.models.core_v1 import Secret

OF = f"{GROUP}/certificate"
"""The key of the Certificate that a CertificateSigningRequest, which has no namespace, belongs to."""


class NotYet(Exception):
    """A certificate can't be issued now; another look is of use when something has changed, or after that many
    seconds."""

    def __init__(self, reason: str, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.reason, self.after = reason, after


async def certificate_of_signer(certificate: Certificate, signer: str, key: bytes, ctx: sp.Context) -> Pair:
    """The certificate that a signer of the cluster has new_request. Raises `NotYet` until then."""
    name, digest = f"certificate-{certificate.uid}", wanted(certificate)
    csr = await ctx.get(CertificateSigningRequest, name)
    if csr is None:
        spec = CertificateSigningRequestSpec(
            request=request(key, names_of(certificate)),
            signer_name=signer,
            usages=[*certificate.spec.usages],
            expiration_seconds=int(certificate.spec.duration.total_seconds()),
        )
        await ctx.ensure_current()  # no garbage collector removes the request of a Certificate that is gone
        labels, annotations = {OWNER: certificate.uid}, {OF: certificate.key, WANTED: digest}
        new_request = CertificateSigningRequest.named(name, "", labels, annotations, spec=spec)
        await ctx.create(new_request, controlled=False)
        raise NotYet("Pending", f"waiting for kubectl certificate approve {name}")
    if csr.annotations.get(WANTED) != digest or csr.spec.signer_name != signer or not is_for(csr.spec.request, key):
        await ctx.delete(csr)
        raise NotYet(
            "Pending", f"CertificateSigningRequest {name}, which was for another certificate, is being deleted"
        )
    for condition in csr.status.conditions:
        if condition.type in ("Denied", "Failed") and condition.status != "False":
            message = f"CertificateSigningRequest {name}: {condition.message or condition.reason or ''}"
            raise NotYet(condition.type, f"{message}; there is another one when the cluster has removed it")
    if not csr.status.certificate:
        approved = any(condition.type == "Approved" for condition in csr.status.conditions)
        raise NotYet("Pending", f"waiting for {signer if approved else f'kubectl certificate approve {name}'}")
    pair = Pair(key, csr.status.certificate)
    checked(pair)
    return pair


async def next_key(certificate: Certificate, ctx: sp.Context) -> bytes:
    """The key of the next certificate, which waits in a Secret of its own until a signer has signed it."""
    form, name = certificate.spec.private_key, next_key_name(certificate)
    secret = await ctx.get(Secret, name)
    if secret is None:
        key = new_key(form.algorithm, form.size)
        secret = await ctx.create(Secret.named(name, labels={OWNER: certificate.uid}, data={"tls.key": key}))
    elif not is_ours(secret, certificate):
        raise NotYet("SecretTaken", f"there is another Secret {name}")
    elif not fits(secret.data.get("tls.key", b""), form.algorithm, form.size):
        await ctx.delete(secret)
        raise NotYet("Pending", "the key, which has another form, is being deleted")
    return secret.data["tls.key"]


def next_key_name(certificate: Certificate) -> str:
    return f"{certificate.name[:200]}-next-{certificate.uid[:8]}"


async def clean_up(certificate: Certificate, ctx: sp.Context) -> None:
    """Removes the requests, which owner references can't reach: they have no namespace."""
    for csr in await ctx.list(CertificateSigningRequest, selector={OWNER: certificate.uid}):
        await ctx.delete(csr)


async def sweep(request: CertificateSigningRequest, ctx: sp.Context) -> None:
    """Deletes a request whose Certificate is gone: it was carried out after the Certificate's clean-up."""
    key, uid = sp.ObjectKey(request.annotations[OF]), request.labels.get(OWNER)
    certificate = await ctx.get(Certificate, key.name, namespace=key.namespace)
    if certificate is None or certificate.uid != uid:
        try:  # the cache may be behind
            certificate = await ctx.client.get(Certificate, key.name, namespace=key.namespace)
        except NotFound:
            certificate = None
    if certificate is None or certificate.uid != uid:
        await ctx.delete(request)


def is_of_certificate(request: sp.Head) -> bool:
    return OF in request.annotations


def requests_of(certificate: sp.Head, caches: sp.CacheReader) -> list[sp.ObjectKey]:
    return caches.lister(CertificateSigningRequest).keys(selector={OWNER: certificate.uid})


def certificate_of_request(request: sp.Head) -> list[sp.ObjectKey]:
    return [sp.ObjectKey(request.annotations[OF])] if OF in request.annotations else []
