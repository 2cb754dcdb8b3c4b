"""Subresources against a whole API server: status, scale, eviction, binding, approval, tokens."""

from __future__ import annotations

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from setpoint.client import Client, Conflict, Invalid, TooManyRequests
from setpoint.meta import LabelSelector, ObjectMeta
from setpoint.models.authentication_v1 import TokenReview, TokenReviewSpec
from setpoint.models.authorization_v1 import (
    ResourceAttributes,
    SelfSubjectAccessReview,
    SelfSubjectAccessReviewSpec,
)
from setpoint.models.certificates_v1 import (
    CertificateSigningRequest,
    CertificateSigningRequestCondition,
    CertificateSigningRequestSpec,
)
from setpoint.models.core_v1 import Container, Pod, PodSpec, ServiceAccount
from setpoint.models.policy_v1 import PodDisruptionBudget, PodDisruptionBudgetSpec

from .kinds import GizmoSpec, gizmos_in, installed, until


def pod(name: str, namespace: str) -> Pod:
    """A pod that no scheduler takes."""
    spec = PodSpec(containers=[Container(name="main", image="registry.k8s.io/pause:3.9")], scheduler_name="absent")
    return Pod(metadata=ObjectMeta(name=name, namespace=namespace, labels={"app": "x"}), spec=spec)


async def test_a_custom_resource_has_status_and_scale(client: Client, namespace: str) -> None:
    gizmo = gizmos_in(f"{namespace}.example.com")
    async with installed(client, gizmo):
        new_gizmo = await client.create(gizmo.named("g", namespace, spec=GizmoSpec(size=2)))
        new_gizmo.status.ready = 2
        new_gizmo.spec.size = 9
        shown = await client.update_status(new_gizmo)
        assert (shown.status.ready, shown.spec.size) == (2, 2)
        scale = await client.get_scale(gizmo, "g", namespace=namespace)
        assert (scale.spec.replicas, scale.status.replicas) == (2, 2)
        await client.patch_scale(gizmo, "g", 3, namespace=namespace)
        assert (await client.get(gizmo, "g", namespace=namespace)).spec.size == 3
        with pytest.raises(Conflict):
            await client.patch_scale(gizmo, "g", 4, namespace=namespace, resource_version="1")


async def test_a_pod_is_bound_once(client: Client, namespace: str) -> None:
    new_pod = await client.create(pod("p", namespace))
    assert (await client.bind(new_pod, "some-node")).status == "Success"
    assert (await client.get(Pod, "p", namespace=namespace)).spec.node_name == "some-node"
    with pytest.raises(Conflict):
        await client.bind(new_pod, "another-node")


async def test_a_budget_stops_an_eviction(
    client: Client, namespace: str, version: tuple[int, int], embedded: bool
) -> None:
    if version < (1, 21):
        pytest.skip(f"policy/v1 came with 1.21, this is {version[0]}.{version[1]}")
    new_pod = await client.create(pod("p", namespace))
    ready = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    await client.patch(Pod, "p", ready, namespace=namespace, subresource="status")
    spec = PodDisruptionBudgetSpec(min_available=1, selector=LabelSelector(match_labels={"app": "x"}))
    await client.create(PodDisruptionBudget(metadata=ObjectMeta(name="b", namespace=namespace), spec=spec))
    if embedded:  # there is no controller that counts
        counted = {"status": {"observedGeneration": 1, "desiredHealthy": 1, "currentHealthy": 1, "expectedPods": 1}}
        await client.patch(PodDisruptionBudget, "b", counted, namespace=namespace, subresource="status")
    with pytest.raises(TooManyRequests, match="disruption budget"):
        await client.evict(new_pod)
    await client.delete(PodDisruptionBudget, "b", namespace=namespace)
    assert (await client.evict(new_pod, grace_period_seconds=0)).status == "Success"


async def test_a_certificate_request_is_approved(client: Client, namespace: str) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "someone")])
    request = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    spec = CertificateSigningRequestSpec(
        request=request.public_bytes(serialization.Encoding.PEM),
        signer_name="example.com/nobody",
        usages=["digital signature", "client auth"],
    )
    signing_request = await client.create(CertificateSigningRequest(metadata=ObjectMeta(name=namespace), spec=spec))
    try:
        signing_request.status.conditions = [
            CertificateSigningRequestCondition(type="Approved", status="True", reason="Test", message="by a test")
        ]
        approved = await client.approve(signing_request)
        assert [condition.type for condition in approved.status.conditions] == ["Approved"]
    finally:
        await client.delete(CertificateSigningRequest, signing_request.name)


async def test_a_token_says_who_its_bearer_is(client: Client, namespace: str) -> None:
    await client.create(ServiceAccount(metadata=ObjectMeta(name="robot", namespace=namespace)))
    token = (await client.create_token("robot", namespace=namespace, expiration_seconds=600)).status.token or ""
    reviewed = await client.create(TokenReview(spec=TokenReviewSpec(token=token)))
    assert reviewed.status.authenticated
    assert reviewed.status.user is not None
    assert reviewed.status.user.username == f"system:serviceaccount:{namespace}:robot"
    assert "system:serviceaccounts" in reviewed.status.user.groups
    wrong = await client.create(TokenReview(spec=TokenReviewSpec(token=token[:-4] + "AAAA")))
    assert not wrong.status.authenticated
    await client.delete(ServiceAccount, "robot", namespace=namespace)

    async def refused() -> bool:
        return not (await client.create(TokenReview(spec=TokenReviewSpec(token=token)))).status.authenticated

    await until(refused)


async def test_whether_something_is_allowed_can_be_asked(client: Client, namespace: str) -> None:
    about = ResourceAttributes(namespace=namespace, verb="create", resource="pods")
    review = SelfSubjectAccessReview(spec=SelfSubjectAccessReviewSpec(resource_attributes=about))
    assert (await client.create(review)).status.allowed
    with pytest.raises(Invalid, match="must be specified"):
        await client.create(SelfSubjectAccessReview(spec=SelfSubjectAccessReviewSpec()))
