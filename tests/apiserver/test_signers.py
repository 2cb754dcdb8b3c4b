"""CertificateSigningRequests: the permissions to approve and to sign, and the subject for which none is made.

Each refusal was compared with that of a kube-apiserver of 1.37.
"""

from __future__ import annotations

import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from tests.apiserver.harness import Answer, serving
from tests.apiserver.test_access import allow, as_, guarded, rule

GROUP = "certificates.k8s.io"
REQUESTS = f"/apis/{GROUP}/v1/certificatesigningrequests"
ALL = rule("*", "certificatesigningrequests", GROUP)
APPROVALS = rule("update", "certificatesigningrequests/approval", GROUP)
STATUSES = rule("update", "certificatesigningrequests/status", GROUP)
FORBIDDEN = f'certificatesigningrequests.{GROUP} "r" is forbidden: '


def request(signer: str = "s.com/x", *organizations: str) -> dict[str, Any]:
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in organizations]
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mary"), *names])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    signed = builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    encoded = base64.b64encode(signed.public_bytes(Encoding.PEM)).decode()
    return {"metadata": {"name": "r"}, "spec": {"request": encoded, "signerName": signer, "usages": ["client auth"]}}


def decided(obj: dict[str, Any], kind: str) -> dict[str, Any]:
    condition = {"type": kind, "status": "True", "reason": "Test", "message": "by a test"}
    return {**obj, "status": {"conditions": [condition]}}


async def test_only_a_user_who_may_approve_for_a_signer_decides_its_requests() -> None:
    async with guarded() as api:
        new_request = (await api.post(REQUESTS, request())).ok()
        other = rule("sign", "signers", GROUP, resourceNames=["s.com/x"])
        await allow(api, "jane", ALL, APPROVALS, other, cluster=True)
        await allow(
            api, "mary", ALL, APPROVALS, rule("approve", "signers", GROUP, resourceNames=["s.com/*"]), cluster=True
        )
        for kind in ("Approved", "Denied"):
            refused = await as_(api, "jane", "PUT", f"{REQUESTS}/r/approval", decided(new_request, kind))
            words = 'user not permitted to approve requests with signerName "s.com/x"'
            assert refused.failed(403, "Forbidden")["message"] == FORBIDDEN + words
        (await as_(api, "mary", "PUT", f"{REQUESTS}/r/approval", decided(new_request, "Approved"))).ok()


async def test_only_a_user_who_may_sign_for_a_signer_writes_certificates_and_conditions() -> None:
    async with guarded() as api:
        new_request = (await api.post(REQUESTS, request())).ok()
        await allow(api, "jane", ALL, STATUSES, rule("approve", "signers", GROUP), cluster=True)
        await allow(api, "mary", ALL, STATUSES, rule("sign", "signers", GROUP, resourceNames=["s.com/x"]), cluster=True)
        failed = decided(new_request, "Failed")
        refused = await as_(api, "jane", "PUT", f"{REQUESTS}/r/status", failed)
        words = 'user not permitted to sign requests with signerName "s.com/x"'
        assert refused.failed(403, "Forbidden")["message"] == FORBIDDEN + words
        (await as_(api, "jane", "PUT", f"{REQUESTS}/r/status", new_request)).ok()  # it changes nothing
        (await as_(api, "mary", "PUT", f"{REQUESTS}/r/status", failed)).ok()


@pytest.mark.parametrize(
    ("signer", "organizations", "refused"),
    [
        ("kubernetes.io/kube-apiserver-client", ("team", "system:masters"), True),
        ("kubernetes.io/kube-apiserver-client", ("team",), False),
        ("s.com/x", ("system:masters",), False),
    ],
)
async def test_nobody_asks_for_a_client_certificate_of_the_superusers(
    signer: str, organizations: tuple[str, ...], refused: bool
) -> None:
    async with serving() as api:
        answer = await api.post(REQUESTS, request(signer, *organizations))
        words = "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed"
        if refused:
            assert answer.failed(403, "Forbidden")["message"] == FORBIDDEN + words
        else:
            answer.ok()


@pytest.mark.parametrize("name", ["CertificateApproval", "CertificateSigning", "CertificateSubjectRestriction"])
async def test_each_of_them_is_switched_off_by_its_name(name: str) -> None:
    async with guarded(plugins_off=(name,)) as api:
        await allow(api, "jane", ALL, APPROVALS, STATUSES, cluster=True)
        if name == "CertificateSubjectRestriction":
            (await api.post(REQUESTS, request("kubernetes.io/kube-apiserver-client", "system:masters"))).ok()
            return
        new_request = (await api.post(REQUESTS, request())).ok()
        place, kind = ("approval", "Approved") if name == "CertificateApproval" else ("status", "Failed")
        (await as_(api, "jane", "PUT", f"{REQUESTS}/r/{place}", decided(new_request, kind))).ok()


@pytest.mark.parametrize("text", ["", "AAAA", "LS0tLS1CRUdJTg=="])
async def test_what_is_not_a_request_is_refused_as_such(text: str) -> None:
    async with serving() as api:
        body = request("kubernetes.io/kube-apiserver-client")
        body["spec"]["request"] = text
        (await api.post(REQUESTS, body)).failed(422, "Invalid", "spec.request")


async def test_the_status_of_a_request_neither_adds_nor_removes_a_decision() -> None:
    """The answers of a kube-apiserver 1.37.2."""
    approved, denied = ({"type": kind, "status": "True", "reason": "R"} for kind in ("Approved", "Denied"))
    async with serving() as api:
        (await api.post(REQUESTS, request())).ok()

        async def written(part: str, *conditions: dict[str, Any]) -> Answer:
            return await api.patch(f"{REQUESTS}/r/{part}", {"status": {"conditions": list(conditions)}})

        words = 'status.conditions: Forbidden: updates may not {} a condition of type "Approved"'
        (await written("status", approved)).failed(422, "Invalid", words.format("add"))
        (await written("approval", approved)).ok()
        (await written("status")).failed(422, "Invalid", words.format("remove"))
        stored = (await written("status", {**approved, "reason": "Other"}, {"type": "Odd", "status": "True"})).ok()
        conditions = [(item["type"], item.get("reason")) for item in stored["status"]["conditions"]]
        assert conditions == [("Approved", "R"), ("Odd", None)]
        (await written("approval", approved, denied)).failed(422, "Invalid", "must specify at most one of")
