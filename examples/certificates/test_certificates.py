"""The tests of certificates.py: keys are real, and time is virtual."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from certificates import controllers
from certkinds import (
    Authority,
    Certificate,
    CertificateSpec,
    CertificateStatus,
    Issuer,
    IssuerRef,
    IssuerSpec,
    PrivateKey,
    SelfSigned,
    Signer,
)
from certrequests import OF
from certsecrets import OWNER, pair_in
from cryptography import x509
from signing import Names, chain, checked, is_signed_by, new_key, request, sign

import setpoint as sp
from setpoint.client import Invalid
from setpoint.models.certificates_v1 import CertificateSigningRequest, CertificateSigningRequestSpec
from setpoint.models.core_v1 import Secret
from setpoint.models.events_v1 import Event

HOUR = 3600.0
SHORT = sp.Duration(hours=9)
CLIENT = "kubernetes.io/kube-apiserver-client"


def issuer(name: str, **spec: Any) -> Issuer:
    return Issuer.named(name, "default", spec=IssuerSpec(**spec))


BOOT = issuer("boot", self_signed=SelfSigned())
OURS = issuer("ours", ca=Authority(secret_name="ca"))
CLUSTER = issuer("cluster", signer=Signer(name=CLIENT))


def authority(**spec: Any) -> Certificate:
    boot = IssuerRef(name="boot")
    wanted = CertificateSpec(secret_name="ca", issuer_ref=boot, common_name="our own", is_ca=True, **spec)
    return Certificate.named("ca", "default", spec=wanted)


CA = authority(duration=sp.Duration(days=3650))


def web(*names: str, by: str = "ours", **spec: Any) -> Certificate:
    wanted = CertificateSpec(
        secret_name="web-tls", issuer_ref=IssuerRef(name=by), dns_names=[*names] or ["web.example.org"], **spec
    )
    return Certificate.named("web", "default", spec=wanted)


def user(**spec: Any) -> Certificate:
    wanted = CertificateSpec(
        secret_name="jane", issuer_ref=IssuerRef(name="cluster"), common_name="jane", usages=["client auth"], **spec
    )
    return Certificate.named("jane", "default", spec=wanted)


def running(*objects: sp.Object) -> Any:
    plane = ["certificatesigningrequest-signing", "certificatesigningrequest-cleaner", "garbage-collector"]
    return sp.testing.cluster(*controllers, objects=objects, control_plane=plane, nodes=0)


async def certificate_of(cluster: sp.testing.Cluster, name: str = "web-tls") -> x509.Certificate:
    """The certificate in a Secret; its key belongs to it."""
    return checked(pair_in(await cluster.get(Secret, name)))


async def status(cluster: sp.testing.Cluster, name: str = "web") -> CertificateStatus:
    return (await cluster.get(Certificate, name)).status


def condition_of(status: sp.ConditionedStatus, type: str) -> tuple[str, str]:
    (condition,) = [condition for condition in status.conditions if condition.type == type]
    return condition.status, condition.reason


def names(certificate: x509.Certificate) -> list[str]:
    alternatives = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return [
        *alternatives.get_values_for_type(x509.DNSName),
        *map(str, alternatives.get_values_for_type(x509.IPAddress)),
    ]


async def decide(cluster: sp.testing.Cluster, type: str = "Approved") -> None:
    """Approves, or denies, the requests that wait, as `kubectl certificate` does."""
    for csr in await cluster.list(CertificateSigningRequest):
        if not csr.status.conditions:
            condition = {"type": type, "status": "True", "reason": "ByTest", "message": "as the test says"}
            body = {"status": {"conditions": [condition]}}
            await cluster.client.patch(CertificateSigningRequest, csr.name, body, subresource="approval")
    await cluster.settle()


@sp.testing.virtual_time
async def test_a_certificate_of_the_own_authority_is_in_its_secret_and_verifies() -> None:
    async with running(BOOT, CA, OURS) as cluster:
        await cluster.apply(web("web.example.org", "*.example.org", ip_addresses=["192.0.2.1"], usages=["server auth"]))
        await cluster.settle()
        secret = await cluster.get(Secret, "web-tls")
        assert secret.type == "kubernetes.io/tls"
        assert sorted(secret.data) == ["ca.crt", "tls.crt", "tls.key"]
        leaf, root = await certificate_of(cluster), chain(secret.data["ca.crt"])[0]
        assert is_signed_by(leaf, root)
        assert root == await certificate_of(cluster, "ca")
        assert names(leaf) == ["web.example.org", "*.example.org", "192.0.2.1"]
        assert leaf.not_valid_after_utc - leaf.not_valid_before_utc == timedelta(days=90)
        now = await status(cluster)
        assert condition_of(now, "Ready") == ("True", "Issued")
        assert now.renewal_time == leaf.not_valid_after_utc - timedelta(days=30)
        assert now.revision == 1


@sp.testing.virtual_time
async def test_a_deleted_secret_comes_back_as_the_next_revision() -> None:
    async with running(BOOT, CA, OURS, web()) as cluster:
        await cluster.settle()
        first = await certificate_of(cluster)
        await cluster.delete(await cluster.get(Secret, "web-tls"))
        await cluster.settle()
        assert await certificate_of(cluster) != first
        assert (await status(cluster)).revision == 2
        assert condition_of(await status(cluster), "Ready") == ("True", "Issued")


@sp.testing.virtual_time
async def test_a_certificate_is_renewed_before_its_end_with_a_new_key() -> None:
    async with running(BOOT, CA, OURS, web(duration=SHORT)) as cluster:
        await cluster.settle()
        first = await certificate_of(cluster)
        await sp.testing.advance(5.9 * HOUR)
        assert await certificate_of(cluster) == first
        await sp.testing.advance(0.2 * HOUR)
        second = await certificate_of(cluster)
        assert second.not_valid_after_utc > first.not_valid_after_utc
        assert second.public_key() != first.public_key()
        await sp.testing.advance(12 * HOUR)
        assert (await status(cluster)).revision == 4
        assert condition_of(await status(cluster), "Ready") == ("True", "Issued")


@sp.testing.virtual_time
async def test_another_spec_leads_to_another_certificate_and_the_same_spec_to_none() -> None:
    async with running(BOOT, CA, OURS, web()) as cluster:
        await cluster.settle()
        first = await certificate_of(cluster)
        await cluster.apply(web("web.example.org", "www.example.org", renew_before=sp.Duration(days=10)))
        await cluster.settle()
        second = await certificate_of(cluster)
        assert names(second) == ["web.example.org", "www.example.org"]
        assert second.public_key() != first.public_key()
        await cluster.apply(web("web.example.org", "www.example.org", renew_before=sp.Duration(days=20)))
        await cluster.settle()
        assert await certificate_of(cluster) == second, "the time of the renewal is nothing that a certificate holds"
        assert (await status(cluster)).renewal_time == second.not_valid_after_utc - timedelta(days=20)


@sp.testing.virtual_time
async def test_a_key_may_stay_and_gets_another_form_when_the_spec_says_so() -> None:
    stays = PrivateKey(rotation_policy="Never")
    async with running(BOOT, CA, OURS, web(private_key=stays)) as cluster:
        await cluster.settle()
        first = await certificate_of(cluster)
        await cluster.apply(web("other.example.org", private_key=stays))
        await cluster.settle()
        assert (await certificate_of(cluster)).public_key() == first.public_key()
        larger = PrivateKey(algorithm="RSA", size=2048, rotation_policy="Never")
        await cluster.apply(web("other.example.org", private_key=larger))
        await cluster.settle()
        key = (await certificate_of(cluster)).public_key()
        assert getattr(key, "key_size", 0) == 2048


@sp.testing.virtual_time
async def test_a_secret_that_is_deleted_or_damaged_is_issued_again_and_the_key_is_told_nowhere(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG")
    async with running(BOOT, CA, OURS, web()) as cluster:
        await cluster.settle()
        keys = [pair_in(await cluster.get(Secret, "web-tls")).key]
        await cluster.delete(await cluster.get(Secret, "web-tls"))
        await cluster.settle()
        await certificate_of(cluster)
        secret = await cluster.get(Secret, "web-tls")
        keys.append(pair_in(secret).key)
        secret.data["tls.key"] = new_key("ECDSA", 256)
        await cluster.update(secret)
        await cluster.settle()
        await certificate_of(cluster)
        keys.append(pair_in(await cluster.get(Secret, "web-tls")).key)
        assert len(set(keys)) == 3
        events = " ".join(event.note or "" for event in await cluster.list(Event))
        assert "the private key is not that of the certificate" in events
        for key in keys:
            for line in key.decode().splitlines()[1:-1]:
                assert line not in caplog.text + events


@sp.testing.virtual_time
async def test_a_secret_of_others_is_never_touched_and_its_name_is_taken_when_it_is_gone() -> None:
    others = Secret.named("web-tls", "default", string_data={"token": "theirs"})
    async with running(BOOT, CA, OURS, others, web()) as cluster:
        await cluster.settle()
        assert condition_of(await status(cluster), "Ready") == ("False", "SecretTaken")
        assert (await cluster.get(Secret, "web-tls")).data == {"token": b"theirs"}
        await cluster.delete(await cluster.get(Secret, "web-tls"))
        await cluster.settle()
        assert condition_of(await status(cluster), "Ready") == ("True", "Issued")


@sp.testing.virtual_time
async def test_issuers_and_authorities_may_come_late_and_damaged_ones_are_told() -> None:
    async with running(web()) as cluster:
        await cluster.settle()
        assert condition_of(await status(cluster), "Issuing") == ("True", "IssuerNotFound")
        await cluster.create(OURS)
        await cluster.settle()
        assert condition_of(await status(cluster), "Issuing") == ("True", "NotUsable")
        assert condition_of((await cluster.get(Issuer, "ours")).status, "Ready") == ("False", "NotUsable")
        leaf = sign(new_key("ECDSA", 256), Names("leaf", (), (), False, ()), None, cluster.now(), timedelta(days=1))
        data = {"tls.key": leaf.key, "tls.crt": leaf.certificate}
        await cluster.create(Secret.named("ca", "default", data=data))
        await cluster.settle()
        conditions = (await cluster.get(Issuer, "ours")).status.conditions
        assert [condition.message for condition in conditions if condition.type == "Ready"] == [
            "Secret ca: the certificate is not that of an authority (isCA)"
        ]
        await cluster.delete(await cluster.get(Secret, "ca"))
        await cluster.create(BOOT)
        await cluster.create(CA)
        await cluster.settle()
        assert condition_of((await cluster.get(Issuer, "ours")).status, "Ready") == ("True", "Usable")
        assert condition_of(await status(cluster), "Ready") == ("True", "Issued")


@sp.testing.virtual_time
async def test_a_valid_certificate_stays_ready_without_its_issuer_until_it_ends() -> None:
    async with running(BOOT, CA, OURS, web(duration=SHORT)) as cluster:
        await cluster.settle()
        await cluster.delete(await cluster.get(Issuer, "ours"))
        await sp.testing.advance(6.1 * HOUR)
        now = await status(cluster)
        assert (condition_of(now, "Ready"), condition_of(now, "Issuing")) == (
            ("True", "Issued"),
            ("True", "IssuerNotFound"),
        )
        await sp.testing.advance(3 * HOUR)
        assert condition_of(await status(cluster), "Ready") == ("False", "Expired")


@sp.testing.virtual_time
async def test_certificates_follow_their_authority_to_its_new_key_and_are_in_no_hurry_before_it_ends() -> None:
    async with running(BOOT, OURS, web(), authority(duration=SHORT)) as cluster:
        await cluster.settle()
        first, root = await certificate_of(cluster), await certificate_of(cluster, "ca")
        assert first.not_valid_after_utc == root.not_valid_after_utc, "it does not outlive its authority"
        await sp.testing.advance(6.1 * HOUR)
        assert await certificate_of(cluster, "ca") != root
        assert is_signed_by(await certificate_of(cluster), await certificate_of(cluster, "ca"))
        assert (await status(cluster)).revision == 2
        await cluster.delete(await cluster.get(Issuer, "boot"))
        await sp.testing.advance(8 * HOUR)
        assert (await status(cluster)).revision == 2, "another one would end at the same time"
        await sp.testing.advance(2 * HOUR)
        assert condition_of(await status(cluster), "Ready") == ("False", "Expired")
        assert condition_of((await cluster.get(Issuer, "ours")).status, "Ready") == ("False", "NotUsable")


@sp.testing.virtual_time
async def test_an_authority_that_keeps_its_key_is_shown_anew_without_new_certificates() -> None:
    async with running(BOOT, OURS, web()) as cluster:
        keeps = PrivateKey(rotation_policy="Never")
        await cluster.create(authority(duration=SHORT, private_key=keeps, renew_before=sp.Duration(hours=8)))
        await cluster.settle()
        first = await certificate_of(cluster)
        await sp.testing.advance(1.1 * HOUR)
        assert await certificate_of(cluster) == first
        assert (
            pair_in(await cluster.get(Secret, "web-tls")).root == pair_in(await cluster.get(Secret, "ca")).certificate
        )


@sp.testing.virtual_time
async def test_a_signer_of_the_cluster_signs_what_has_been_approved_and_nothing_is_left_behind() -> None:
    async with running(CLUSTER, user(duration=SHORT)) as cluster:
        await cluster.settle()
        assert condition_of(await status(cluster, "jane"), "Issuing") == ("True", "Pending")
        assert await cluster.find(Secret, "jane") is None
        await decide(cluster)
        certificate = await certificate_of(cluster, "jane")
        assert certificate.subject.rfc4514_string() == "CN=jane"
        assert condition_of(await status(cluster, "jane"), "Ready") == ("True", "Issued")
        assert await cluster.list(CertificateSigningRequest) == []
        assert [secret.name for secret in await cluster.list(Secret)] == ["jane"]
        await sp.testing.advance(6.1 * HOUR)
        assert condition_of(await status(cluster, "jane"), "Ready") == ("True", "Issued")
        assert condition_of(await status(cluster, "jane"), "Issuing") == ("True", "Pending")
        await decide(cluster)
        assert await certificate_of(cluster, "jane") != certificate
        await cluster.apply(user(duration=sp.Duration(days=30)))
        await cluster.settle()
        await cluster.delete(await cluster.get(Certificate, "jane"))
        await cluster.settle()
        assert await cluster.list(CertificateSigningRequest) == []
        assert await cluster.list(Secret) == []


@sp.testing.virtual_time
async def test_a_denied_request_is_told_and_made_again_when_the_cluster_has_removed_it() -> None:
    async with running(CLUSTER, user()) as cluster:
        await cluster.settle()
        await decide(cluster, "Denied")
        assert condition_of(await status(cluster, "jane"), "Issuing") == ("True", "Denied")
        await sp.testing.advance(3700)
        assert condition_of(await status(cluster, "jane"), "Issuing") == ("True", "Pending")
        await decide(cluster)
        assert condition_of(await status(cluster, "jane"), "Ready") == ("True", "Issued")


@sp.testing.virtual_time
async def test_a_signer_that_refuses_says_why_in_the_status() -> None:
    wrong = Certificate.named("jane", "default", spec=user().spec)
    wrong.spec.usages = ["server auth"]
    async with running(CLUSTER, wrong) as cluster:
        await cluster.settle()
        await decide(cluster)
        (issuing,) = [
            condition for condition in (await status(cluster, "jane")).conditions if condition.type == "Issuing"
        ]
        assert issuing.reason == "Failed"
        assert "server auth" in issuing.message


WRONG = [
    (web("-web.example.org"), r"spec\.dnsNames\[0\]"),
    (web(ip_addresses=["192.0.2.300"]), r"must be an IP address"),
    (web(duration=sp.Duration(minutes=5)), r"duration must be 1h or longer"),
    (web(renew_before=sp.Duration(days=91)), r"less than duration"),
    (web(private_key=PrivateKey(size=2048)), r"256, 384 or 521 for ECDSA"),
    (
        Certificate.named("a", spec=CertificateSpec(secret_name="a", issuer_ref=IssuerRef(name="a"))),
        r"at least one of commonName",
    ),
    (issuer("two", ca=Authority(secret_name="ca"), self_signed=SelfSigned()), r"exactly one of"),
    (issuer("none"), r"exactly one of"),
]


@sp.testing.virtual_time
async def test_a_spec_that_nothing_could_be_issued_for_is_refused() -> None:
    async with running() as cluster:
        for wrong, message in WRONG:
            with pytest.raises(Invalid, match=message):
                await cluster.create(wrong)


@sp.testing.virtual_time
async def test_requests_without_a_certificate_are_removed_when_the_operator_starts() -> None:
    spec = CertificateSigningRequestSpec(
        request=request(new_key("ECDSA", 256), Names("jane", (), (), False, ("client auth",))),
        signer_name=CLIENT,
        usages=["client auth"],
    )
    others = CertificateSigningRequest.named("theirs", "", spec=spec)
    orphan = CertificateSigningRequest.named("certificate-gone", "", {OWNER: "gone"}, {OF: "default/jane"}, spec=spec)
    async with running(CLUSTER, user(), others, orphan) as cluster:
        await cluster.settle()
        uid = (await cluster.get(Certificate, "jane")).uid
        requests = {request.name for request in await cluster.list(CertificateSigningRequest)}
        assert requests == {"theirs", f"certificate-{uid}"}


KEYS = {"determinism": "OpenSSL draws keys and signatures"}
COUNTS = {
    "certificates.certs.example.com status.revision": "counts the certificates on the way",
    "secrets metadata.annotations.certs.example.com/revision": "counts the certificates on the way",
}


async def scenario(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(BOOT)
    await cluster.apply(CA)
    await cluster.apply(OURS)
    await cluster.apply(web())
    await cluster.settle()
    await cluster.apply(web("other.example.org"))
    await cluster.settle()
    await cluster.apply(CLUSTER)
    await cluster.apply(user())
    await cluster.settle()
    await decide(cluster)
    await cluster.delete(await cluster.get(Certificate, "jane"))
    await cluster.settle()


def simulated(
    budget: sp.simulation.Budget, *, off: dict[str, str] | None = None, **options: Any
) -> sp.simulation.Report:
    """Simulates the scenario under faults; test_survival.py runs it."""
    return sp.simulation.check(
        scenario,
        lambda: [*controllers],
        control_plane=["certificatesigningrequest-signing", "garbage-collector"],
        budget=budget,
        off=KEYS | (off or {}),
        ignore=COUNTS,
        **options,
    )


LAGGING = (
    "sp1-eNpVjcEKwjAMhl9lxKtMcAWh5ynsMHyAUSR2mVa7bqwZCqPvbhQPegjk-8P_ZQELGnZKbVWh1LmDNQQJ6In96CnmliZ2nbPIAjJ8-k10tBRw"
    "coPURtALdDh7jqCbBe4utGLyeJEjsqz1sawO1b7M_qRviPn3YW6HPmvpo9ncMFC2KqR-HR7ibGAO7LxwZBrBmGRSegEwOEDd"
)
"""The plan: the cache goes on showing a Certificate that is gone, while the garbage collector removes its Secrets."""


def test_no_request_stays_that_was_made_for_a_certificate_which_is_gone() -> None:
    simulated(sp.simulation.Budget(), workers=0, replay=LAGGING)
