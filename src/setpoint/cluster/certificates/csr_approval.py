"""Kubelets' CertificateSigningRequests, which are approved if the requesting user has the permission to make them."""

from __future__ import annotations

from typing import Final

from setpoint.cluster.certificates.csr_signing import SIGNERS
from setpoint.controller import Context, Controller, Outcome, done, retry
from setpoint.meta import to_wire
from setpoint.models.authorization_v1 import ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec
from setpoint.models.certificates_v1 import CertificateSigningRequest, CertificateSigningRequestCondition
from setpoint.webhook.certificate_authority import CertificateError
from setpoint.webhook.csr_signing import request_facts

_SIGNER: Final = "kubernetes.io/kube-apiserver-client-kubelet"
_OWN: Final = ("selfnodeclient", "Auto approving self kubelet client certificate after SubjectAccessReview.")
_ANY: Final = ("nodeclient", "Auto approving kubelet client certificate after SubjectAccessReview.")


class KubeletRequests:
    """Approves requests of kubelets for client certificates (signer ``kubernetes.io/kube-apiserver-client-kubelet``).

    The user that made the request must be allowed to ``create`` the subresource ``selfnodeclient`` of
    ``certificatesigningrequests`` for a certificate of its own name, or ``nodeclient`` for a certificate of any node;
    the server is asked (SubjectAccessReview). A user may get the permission later, so a request without it is checked
    again, with back-off. As upstream, serving certificates of kubelets are never approved here.
    """

    def __init__(self) -> None:
        self.controller = Controller(
            CertificateSigningRequest, self._reconcile, name="csrapproving", owns_status=False, leader_only=False
        )

    async def _reconcile(self, request: CertificateSigningRequest, ctx: Context) -> Outcome:
        status, spec = request.status, request.spec
        if spec.signer_name != _SIGNER or status.certificate:
            return done()
        if any(condition.type in ("Approved", "Denied") for condition in status.conditions):
            return done()
        try:
            facts = request_facts(spec.request)
        except CertificateError:
            return done()  # its signer says so, if it is approved all the same
        if SIGNERS[_SIGNER](facts, spec.usages):
            return done()
        for subresource, message in (_OWN, _ANY) if spec.username == facts.common_name else (_ANY,):
            if await _may(request, subresource, ctx):
                await _approve(request, message, ctx)
                return done()
        return retry(f"user {spec.username!r} may not ask for this certificate")


async def _may(request: CertificateSigningRequest, subresource: str, ctx: Context) -> bool:
    spec = request.spec
    attributes = ResourceAttributes(
        group="certificates.k8s.io", resource="certificatesigningrequests", subresource=subresource, verb="create"
    )
    review = SubjectAccessReview(
        spec=SubjectAccessReviewSpec(
            user=spec.username, uid=spec.uid, groups=spec.groups, extra=spec.extra, resource_attributes=attributes
        )
    )
    return (await ctx.client.create(review)).status.allowed


async def _approve(request: CertificateSigningRequest, message: str, ctx: Context) -> None:
    """Writes the approval to the subresource for approvals; the status of ``request`` stays as it was read."""
    approved = CertificateSigningRequestCondition(
        type="Approved", status="True", reason="AutoApproved", message=message
    )
    patch = {
        "metadata": {"resourceVersion": request.metadata.resource_version},
        "status": {"conditions": to_wire([*request.status.conditions, approved])},
    }
    await ctx.patch(request, patch, subresource="approval")
