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
        await ctx.ensure_current()  # no garbage collector removes the request of a Certificate that is gone
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
        raise NotYet(
            "Pending", f"CertificateSigningRequest {name}, which was for another certificate, is being deleted"
        )
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
        raise NotYet("Pending", "the key, which has another form, is being deleted")
    return found.data["tls.key"]


def next_key_name(certificate: Certificate) -> str:
    return f"{certificate.name[:200]}-next-{certificate.uid[:8]}"


async def clean_up(certificate: Certificate, ctx: sp.Context) -> None:
    """Removes the requests, which owner references can't reach: they have no namespace."""
    for each in await ctx.list(CertificateSigningRequest, selector={OWNER: certificate.uid}):
        await ctx.delete(each)


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
