"""ClusterTrustBundleAttest: only those who may speak for a signer write its trust bundles."""

from __future__ import annotations

from typing import Final

from setpoint.apiserver.access.attributes import Attributes
from setpoint.apiserver.access.escalation import only_collected
from setpoint.apiserver.requests.admission import AdmissionAttributes
from setpoint.meta.text import quote

__all__ = ["check_attestation"]

_GROUP: Final = "certificates.k8s.io"


def check_attestation(attributes: AdmissionAttributes) -> None:
    """Demands the verb ``attest`` on the signer of a trust bundle, or on all signers of its domain (``domain/*``).
    Bundles without a signer need no permission, nor do changes of owners and finalizers alone.

    Raises ApiStatusError (403).
    """
    signer = str(attributes.spec.get("signerName") or "")
    if not signer or only_collected(attributes.new, attributes.old):
        return
    if not _may(attributes, "attest", signer):
        raise attributes.forbidden(f"user not permitted to attest for signerName {quote(signer)}")


def _may(attributes: AdmissionAttributes, verb: str, signer: str) -> bool:
    authorizer, user = attributes.call.state.authorizer, attributes.call.user
    domain = signer.partition("/")[0]
    return authorizer is None or any(
        authorizer.authorize(Attributes(user, verb, _GROUP, "*", "signers", name=name)).allowed
        for name in (signer, f"{domain}/*")
    )
