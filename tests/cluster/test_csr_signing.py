"""CertificateSigningRequests: approved, signed, refused, and gone after a while."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from tests.cluster.crashes import Play, Restartable, of_controllers, played
from tests.cluster.test_server_security import as_, who

from setpoint.apiserver import Access, ApiServer, MemoryStorage, Rbac
from setpoint.client import Client, ClientCertificate, InProcessTransport, Request
from setpoint.cluster import ControlPlane
from setpoint.cluster.embedded import EmbeddedCluster
from setpoint.cluster.server_security import Security
from setpoint.models.certificates_v1 import CertificateSigningRequest, CertificateSigningRequestSpec
from setpoint.models.rbac_v1 import ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject
from setpoint.testing import Cluster, advance, cluster, run, virtual_time

pytestmark = pytest.mark.wall_clock
CLIENT = "kubernetes.io/kube-apiserver-client"


def asked(
    name: str = "mary",
    *,
    signer: str = CLIENT,
    common_name: str = "mary",
    organization: str = "team",
    dns: tuple[str, ...] = (),
    usages: tuple[str, ...] = ("client auth", "digital signature"),
    key: ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | None = None,
    **spec: Any,
) -> CertificateSigningRequest:
    oids = x509.oid.NameOID
    subject = [(oids.COMMON_NAME, common_name), (oids.ORGANIZATION_NAME, organization)]
    builder = x509.CertificateSigningRequestBuilder().subject_name(
        x509.Name([x509.NameAttribute(oid, value) for oid, value in subject])
    )
    if dns:
        builder = builder.add_extension(
            x509.SubjectAlternativeName([x509.DNSName(item) for item in dns]), critical=False
        )
    digest = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    signed = builder.sign(key or ec.generate_private_key(ec.SECP256R1()), digest)
    new_spec = CertificateSigningRequestSpec(
        request=signed.public_bytes(serialization.Encoding.PEM), signer_name=signer, usages=list(usages), **spec
    )
    return CertificateSigningRequest.named(name, spec=new_spec)


async def decide(client: Client, name: str, type: str = "Approved") -> None:
    condition = {"type": type, "status": "True", "reason": "Test", "message": "by a test"}
    body = {"status": {"conditions": [condition]}}
    await client.patch(CertificateSigningRequest, name, body, subresource="approval")


async def found(world: Cluster, name: str = "mary") -> tuple[bytes | None, list[tuple[str, str | None]]]:
    status = (await world.get(CertificateSigningRequest, name)).status
    return status.certificate, [(condition.type, condition.message) for condition in status.conditions]


@virtual_time
async def test_a_request_is_signed_when_it_is_approved_and_not_before() -> None:
    async with cluster(nodes=0) as world:
        await world.create(asked(expiration_seconds=3600, dns=("a.example.com",)))
        await world.settle()
        assert await found(world) == (None, [])
        await decide(world.client, "mary")
        await world.settle()
        pem, _ = await found(world)
        assert pem is not None
        certificate = x509.load_pem_x509_certificate(pem)
        assert certificate.subject.rfc4514_string() == "O=team,CN=mary"
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert names.get_values_for_type(x509.DNSName) == ["a.example.com"]
        assert certificate.not_valid_after_utc == world.now().astimezone(UTC).replace(microsecond=0).replace(hour=1)
        usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        assert list(usage) == [x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH]
        assert not certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
        assert [type(extension.value).__name__ for extension in certificate.extensions] == [
            "KeyUsage", "ExtendedKeyUsage", "BasicConstraints", "AuthorityKeyIdentifier", "SubjectAlternativeName"
        ], "those of a kube-controller-manager's certificate, in its order"  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"usages": ("server auth",)},
            "invalid usage for client certificate: server auth",
        ),
        ({"usages": ("digital signature",)}, "missing required usage for client certificate: client auth"),
        ({"signer": f"{CLIENT}-kubelet"}, "subject organization is not system:nodes"),
        (
            {"signer": f"{CLIENT}-kubelet", "organization": "system:nodes"},
            "subject common name does not begin with system:node:",
        ),
        (
            {"signer": f"{CLIENT}-kubelet", "organization": "system:nodes", "dns": ("a.example.com",)},
            "DNS subjectAltNames are not allowed",
        ),
        (
            {"signer": f"{CLIENT}-kubelet", "organization": "system:nodes", "common_name": "system:node:a",
             "usages": ("client auth",)},
            "usages did not match [client auth digital signature key encipherment]",
        ),
        ({"signer": "kubernetes.io/kubelet-serving"}, "subject organization is not system:nodes"),
        (
            {"signer": "kubernetes.io/kubelet-serving", "organization": "system:nodes"},
            "DNS or IP subjectAltName is required",
        ),
    ],
)  # fmt: skip
@virtual_time
async def test_a_request_that_its_signer_does_not_sign_fails_and_says_why(
    options: dict[str, Any], message: str
) -> None:
    async with cluster(nodes=0) as world:
        await world.create(asked(**options))
        await decide(world.client, "mary")
        await world.settle()
        assert await found(world) == (None, [("Approved", "by a test"), ("Failed", message)])


NODE = {"signer": f"{CLIENT}-kubelet", "common_name": "system:node:a", "organization": "system:nodes"}
USAGES = ("client auth", "digital signature")


@virtual_time
async def test_a_kubelets_request_is_approved_and_signed() -> None:
    async with cluster(nodes=0) as world:
        await world.create(asked(**NODE, usages=USAGES))
        await world.settle()
        pem, conditions = await found(world)
        assert pem is not None
        assert conditions == [("Approved", "Auto approving kubelet client certificate after SubjectAccessReview.")]


@virtual_time
async def test_a_kubelets_request_is_approved_when_its_user_may_ask_for_it() -> None:
    storage = MemoryStorage()
    async with (
        ApiServer(storage=storage, access=Access(authorizer=Rbac(storage))) as server,
        Client(InProcessTransport(server.handle)) as admin,
        Client(InProcessTransport(server.handle, user="system:node:a")) as kubelet,
        ControlPlane(admin, nodes=0, controllers=["csrapproving", "csrsigning"]),
    ):
        await admin.create(ClusterRole.named("asks", rules=[_rule("", "create"), _rule("", "get")]))
        subject = Subject(kind="User", name="system:node:a", api_group="rbac.authorization.k8s.io")
        await admin.create(ClusterRoleBinding.named("asks", role_ref=_role("asks"), subjects=[subject]))
        await kubelet.create(asked(**NODE, usages=USAGES))
        await advance(60)
        assert not (await kubelet.get(CertificateSigningRequest, "mary")).status.conditions
        await admin.create(ClusterRole.named("own", rules=[_rule("/selfnodeclient", "create")]))
        await admin.create(ClusterRoleBinding.named("own", role_ref=_role("own"), subjects=[subject]))
        await advance(1000)  # the longest back-off
        signing_request = await kubelet.get(CertificateSigningRequest, "mary")
        assert [condition.message for condition in signing_request.status.conditions] == [
            "Auto approving self kubelet client certificate after SubjectAccessReview."
        ]
        assert signing_request.status.certificate


def _rule(subresource: str, verb: str) -> PolicyRule:
    resource = f"certificatesigningrequests{subresource}"
    return PolicyRule(api_groups=["certificates.k8s.io"], resources=[resource], verbs=[verb])


def _role(name: str) -> RoleRef:
    return RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name=name)


@pytest.mark.parametrize(
    "options",
    [
        {"usages": ("client auth",)},
        {"usages": (*USAGES, "server auth")},
        {"organization": "system:masters"},
        {"common_name": "mary"},
        {"dns": ("a.example.com",)},
        {"signer": CLIENT},
        {"signer": "kubernetes.io/kubelet-serving", "usages": ("server auth", "digital signature"), "dns": ("a",)},
    ],
)
@virtual_time
async def test_what_is_not_a_kubelets_request_for_a_client_certificate_is_not_approved(options: dict[str, Any]) -> None:
    async with cluster(nodes=0) as world:
        await world.create(asked(**{**NODE, "usages": USAGES, **options}))
        await world.settle()
        assert await found(world) == (None, [])


@virtual_time
async def test_what_is_denied_or_for_other_signers_is_left_alone() -> None:
    async with cluster(nodes=0) as world:
        await world.create(asked("denied"))
        await decide(world.client, "denied", "Denied")
        await world.create(asked("other", signer="example.com/own"))
        await decide(world.client, "other")
        await world.settle()
        assert await found(world, "denied") == (None, [("Denied", "by a test")])
        assert await found(world, "other") == (None, [("Approved", "by a test")])


@virtual_time
async def test_requests_go_an_hour_after_they_were_decided_and_others_after_a_day() -> None:
    async with cluster(nodes=0) as world:
        for name in ("signed", "denied", "forgotten", "unsigned"):
            await world.create(asked(name, signer="example.com/own" if name == "unsigned" else CLIENT))
        await decide(world.client, "signed")
        await decide(world.client, "denied", "Denied")
        await decide(world.client, "unsigned")
        await advance(3590)
        assert len(await world.list(CertificateSigningRequest)) == 4
        await advance(20)
        assert [signing_request.name for signing_request in await world.list(CertificateSigningRequest)] == [
            "forgotten",
            "unsigned",
        ]
        await advance(23 * 3600)
        assert [signing_request.name for signing_request in await world.list(CertificateSigningRequest)] == ["unsigned"]


async def requests(plane: Restartable) -> None:
    """One that is signed, one that is not, and one that is approved without a person."""
    for name, usage in (("good", "client auth"), ("bad", "server auth")):
        await plane.world.create(asked(name, usages=(usage,)))
        await plane.settle()
        await decide(plane.world.client, name)
    await plane.world.create(asked("node", **NODE, usages=USAGES))
    await plane.settle()


def changes(request: Request) -> bool:
    """Whether it is a write, and not a question that is answered without one."""
    return of_controllers(request) and "subjectaccessreviews" not in request.path


def test_a_crash_after_any_write_signs_once() -> None:
    async def conditions(plane: Restartable) -> None:
        await requests(plane)
        for signing_request in await plane.world.list(CertificateSigningRequest):
            assert (signing_request.status.certificate is None) == (signing_request.name == "bad")
        before = plane.writes_of_all()
        await advance(1800)
        assert plane.writes_of_all() == before

    play = Play(conditions, ("csrapproving", "csrsigning", "csrcleaner"), (), changes)
    _, writes = run(played(play))
    assert len(writes) == 4
    for crash in range(1, 5):
        run(played(play, crash))


async def test_the_server_knows_the_user_of_a_certificate_that_was_approved(tmp_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    async with EmbeddedCluster(security=Security(auth=True), nodes=0) as running:
        await running.client.create(asked(key=key))
        await decide(running.client, "mary")
        signing_request = await running.client.wait(
            CertificateSigningRequest.named("mary"), lambda item: bool(item.status.certificate), timeout=30
        )
        assert signing_request.status.certificate is not None
        text = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        files = tmp_path / "mary.crt", tmp_path / "mary.key"
        files[0].write_bytes(signing_request.status.certificate)
        files[1].write_bytes(text)
        user = await who(as_(running, certificate=ClientCertificate(cert_file=files[0], key_file=files[1])))
        assert (user.username, user.groups) == ("mary", ["team", "system:authenticated"])
