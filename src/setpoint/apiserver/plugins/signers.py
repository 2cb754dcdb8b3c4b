"""Plugins that protect signers: only users with a permission for a signer may approve or sign its requests or write its
trust bundles.

The plugins are CertificateApproval, CertificateSigning, CertificateSubjectRestriction and ClusterTrustBundleAttest.
"""

from __future__ import annotations

import base64
from typing import Final

from setpoint.apiserver.authorization.attributes import Attributes
from setpoint.apiserver.authorization.escalation import only_collected
from setpoint.apiserver.requests.admission import AdmissionAttributes
from setpoint.meta.text_escaping import quote

_GROUP: Final = "certificates.k8s.io"
_CLIENTS: Final = "kubernetes.io/kube-apiserver-client"
_SUPERUSERS: Final = "system:masters"


def check_approval(attributes: AdmissionAttributes) -> None:
    """Refuses to approve or deny a CertificateSigningRequest unless the user may ``approve`` for its signer.

    Raises ApiStatusError (403).
    """
    if attributes.subresource == "approval" and attributes.old is not None:
        signer = attributes.old["spec"]["signerName"]
        if not _may(attributes, "approve", signer):
            raise attributes.forbidden(f"user not permitted to approve requests with signerName {quote(signer)}")


def check_signing(attributes: AdmissionAttributes) -> None:
    """Refuses a write of a CertificateSigningRequest's status that changes the certificate or the conditions, unless
    the user may ``sign`` for the request's signer.

    Raises ApiStatusError (403).
    """
    if attributes.subresource != "status" or attributes.old is None:
        return
    new, old = attributes.new.get("status") or {}, attributes.old.get("status") or {}
    signer = attributes.old["spec"]["signerName"]
    changed = any((new.get(name) or None) != (old.get(name) or None) for name in ("certificate", "conditions"))
    if changed and not _may(attributes, "sign", signer):
        raise attributes.forbidden(f"user not permitted to sign requests with signerName {quote(signer)}")


def check_subject(attributes: AdmissionAttributes) -> None:
    """Refuses new requests for a client certificate of the group ``system:masters``. Raises ApiStatusError (403)."""
    spec = attributes.spec
    if attributes.subresource or attributes.old is not None or spec.get("signerName") != _CLIENTS:
        return
    if _SUPERUSERS in _organizations(str(spec.get("request") or "")):
        raise attributes.forbidden(f"use of {_CLIENTS} signer with {_SUPERUSERS} group is not allowed")


def check_attestation(attributes: AdmissionAttributes) -> None:
    """Refuses a write of a trust bundle unless the user may ``attest`` for its signer or for all signers of the
    signer's domain (``domain/*``). Bundles without a signer need no permission, nor do changes that affect only owners
    and finalizers.

    Raises ApiStatusError (403).
    """
    signer = str(attributes.spec.get("signerName") or "")
    if not signer or only_collected(attributes.new, attributes.old):
        return
    if not _may(attributes, "attest", signer):
        raise attributes.forbidden(f"user not permitted to attest for signerName {quote(signer)}")


def _organizations(text: str) -> list[str]:
    """The organizations in the subject of a certificate request (PEM in base64), which are the groups of the user to
    whom the certificate is issued. Empty if ``text`` is not a certificate request; validation then refuses the object.
    """
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    try:
        subject = x509.load_pem_x509_csr(base64.b64decode(text)).subject
    except ValueError:
        return []
    return [str(attribute.value) for attribute in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]


def _may(attributes: AdmissionAttributes, verb: str, signer: str) -> bool:
    authorizer, user = attributes.call.state.authorizer, attributes.call.user
    domain = signer.partition("/")[0]
    return authorizer is None or any(
        authorizer.authorize(Attributes(user, verb, _GROUP, "*", "signers", name=name)).allowed
        for name in (signer, f"{domain}/*")
    )
