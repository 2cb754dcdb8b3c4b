"""TLS and authentication of an embedded cluster, and the errors for bad files."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from tests.client.certificates import Pair, make

from setpoint.apps.error_reports import UsageError, explain
from setpoint.cli.security_flags import SecurityFlags
from setpoint.client import ApiError, Client, ClientCertificate, ClientConfig, StaticToken
from setpoint.client.credentials import Anonymous
from setpoint.cluster.embedded import EmbeddedCluster
from setpoint.cluster.oidc_options import OidcOptions
from setpoint.cluster.security_files import SecurityError
from setpoint.cluster.server_security import Security, secure
from setpoint.models.authentication_v1 import SelfSubjectReview
from setpoint.models.core_v1 import ConfigMap, Container, Namespace, Pod, PodSpec, Secret, ServiceAccount
from setpoint.webhook.certificate_authority import facts_of

pytestmark = pytest.mark.wall_clock


def signed_for(authority: Pair, user: str, *groups: str) -> Pair:
    """A client's certificate."""
    pair = make(user, authority)
    names = [x509.NameAttribute(x509.oid.NameOID.ORGANIZATION_NAME, group) for group in groups]
    names.append(x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, user))
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name(names))
        .issuer_name(authority.certificate.subject)
        .public_key(pair.key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
    )
    return Pair(builder.sign(authority.key, hashes.SHA256()), pair.key)


async def who(config: ClientConfig) -> Any:
    async with Client.from_config(config) as client:
        review = await client.create(SelfSubjectReview())
    assert review.status.user_info is not None
    return review.status.user_info


def as_(cluster: EmbeddedCluster, **changed: Any) -> ClientConfig:
    """The cluster's configuration with other credentials."""
    return replace(cluster.config(), **{"credentials": Anonymous(), **changed})


async def test_a_certificate_has_the_names_that_are_asked_for_and_no_wildcard_address(
    tmp_path: Path,
) -> None:
    for names in (("server.example",), ("server.example", "192.0.2.7")):
        new_secure = await secure(Security(auth=True, tls_sans=names), "0.0.0.0", tmp_path)
        assert new_secure.signer is not None
        facts = facts_of((tmp_path / "apiserver.crt").read_bytes())
        assert {"127.0.0.1", "localhost", *names} <= facts.names
        assert "0.0.0.0" not in facts.names


async def test_without_auth_everybody_who_trusts_the_certificate_may_do_everything() -> None:
    async with EmbeddedCluster(control_plane=False, security=Security()) as cluster:
        assert cluster.url.startswith("https://127.0.0.1:")
        async with Client.from_config(cluster.config()) as client:
            await client.create(ConfigMap.named("a", "default"))
        assert (await who(cluster.config())).username == "system:admin"


async def test_with_auth_users_are_known_by_certificates_and_tokens(tmp_path: Path) -> None:
    authority = make("clients")
    path, _ = authority.write(tmp_path, "clients")
    tokens = tmp_path / "tokens.csv"
    tokens.write_text("abc,joe,7,dev\n")
    certificate, key = signed_for(authority, "jane", "dev", "ops").write(tmp_path, "jane")
    security = Security(auth=True, client_ca_file=path, token_auth_file=tokens)
    async with EmbeddedCluster(control_plane=False, security=security) as cluster:
        result = await who(as_(cluster, certificate=ClientCertificate(cert_file=certificate, key_file=key)))
        assert (result.username, result.groups) == ("jane", ["dev", "ops", "system:authenticated"])
        result = await who(as_(cluster, credentials=StaticToken("abc")))
        assert (result.username, result.uid, result.groups) == ("joe", "7", ["dev", "system:authenticated"])
        assert (await who(cluster.config())).groups == ["system:masters", "system:authenticated"]
        async with Client.from_config(as_(cluster)) as nobody:
            with pytest.raises(ApiError, match='User "system:anonymous" cannot list resource "secrets"'):
                await nobody.list(Secret)
        async with Client.from_config(as_(cluster, credentials=StaticToken("wrong"))) as wrong:
            with pytest.raises(ApiError, match="Unauthorized"):
                await wrong.list(Secret)
        stored = await cluster.client.get(ConfigMap, "extension-apiserver-authentication", namespace="kube-system")
        assert stored.data["client-ca-file"].startswith(path.read_text())
        assert stored.data["client-ca-file"].count("BEGIN CERTIFICATE") == 2, "that of the file, and the server's own"


async def test_with_auth_others_than_this_machine_may_be_served() -> None:
    security = Security(auth=True, anonymous_auth=False)
    async with EmbeddedCluster(address=("0.0.0.0", 0), control_plane=False, security=security) as cluster:
        assert (await who(cluster.config())).username == "kubernetes-admin"


async def test_with_auth_and_controllers_pods_get_a_token_of_their_account_unless_it_opts_out() -> None:
    security = Security(auth=True)
    async with EmbeddedCluster(control_plane=["serviceaccount"], security=security) as cluster:
        account = ServiceAccount.named("quiet", "default", automount_service_account_token=False)
        await cluster.client.create(account)
        await cluster.client.create(ServiceAccount.named("plain", "default"))
        for name in ("plain", "quiet"):
            spec = PodSpec(service_account_name=name, containers=[Container(name="main", image="web:1")])
            await cluster.client.create(Pod.named(name, "default", spec=spec))
        mounted = await cluster.client.get(Pod, "plain", namespace="default")
        paths = [volume_mount.mount_path for volume_mount in mounted.spec.containers[0].volume_mounts]
        assert paths == ["/var/run/secrets/kubernetes.io/serviceaccount"]
        quiet = await cluster.client.get(Pod, "quiet", namespace="default")
        assert not quiet.spec.volumes


async def test_what_is_made_is_good_for_the_next_life_of_a_data_directory(tmp_path: Path) -> None:
    security = Security(auth=True)
    async with EmbeddedCluster(data_dir=tmp_path, control_plane=False, security=security) as cluster:
        first = cluster.config()
        path = "/api/v1/namespaces/default/serviceaccounts"
        await cluster.client.request("POST", path, body=b'{"metadata":{"name":"robot"}}')
        answer = await cluster.client.request("POST", f"{path}/robot/token", body=b'{"spec":{}}')
        token = json.loads(answer)["status"]["token"]
        port = int(cluster.url.rpartition(":")[2])
    modes = {item.name: item.stat().st_mode & 0o777 for item in (tmp_path / "pki").iterdir()}
    assert modes == dict.fromkeys(("apiserver.crt", "apiserver.key", "ca.crt", "ca.key", "sa.key"), 0o600)
    async with EmbeddedCluster(data_dir=tmp_path, address=("127.0.0.1", port), control_plane=False, security=security):
        again = replace(first, credentials=StaticToken(token))
        assert (await who(again)).username == "system:serviceaccount:default:robot"


async def test_a_given_certificate_is_served(tmp_path: Path) -> None:
    authority = make("mine")
    pair = make("server", authority, names=("localhost",))
    certificate, key = pair.write(tmp_path, "server")
    security = Security(tls_cert_file=certificate, tls_private_key_file=key)
    async with EmbeddedCluster(address=("localhost", 0), control_plane=False, security=security) as cluster:
        config = replace(cluster.config(), ca_data=authority.cert_pem)
        async with Client.from_config(config) as client:
            assert len((await client.list(Namespace)).items) == 4


@pytest.mark.parametrize("given", [False, True], ids=["made certificate", "given certificate"])
async def test_files_of_certificates_may_have_text_in_any_encoding_around_them_and_no_last_line_end(
    tmp_path: Path, given: bool
) -> None:
    authority, users = make("mine"), make("users")
    pair = make("server", authority, names=("localhost",))
    files = {"users.crt": users.cert_pem, "server.crt": pair.cert_pem, "server.key": pair.key_pem}
    for name, pem in files.items():
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf# F\xf5tan\xfas\xedtv\xe1ny\n" + pem.rstrip())
    client_ca, certificate, key = (tmp_path / name for name in files)
    security = Security(auth=True, client_ca_file=client_ca)
    if given:
        security = Security(auth=True, client_ca_file=client_ca, tls_cert_file=certificate, tls_private_key_file=key)
    publisher = ["root-ca-certificate-publisher"]
    async with EmbeddedCluster(address=("localhost", 0), control_plane=publisher, security=security) as cluster:
        config = as_(cluster, certificate=ClientCertificate(*signed_for(users, "ada").write(tmp_path, "ada")))
        if given:
            config = replace(config, ca_data=authority.cert_pem)
        assert (await who(config)).username == "ada"
        published = await cluster.client.get(ConfigMap, "extension-apiserver-authentication", namespace="kube-system")
        assert published.data["client-ca-file"].startswith(users.cert_pem.decode())


async def test_every_namespace_has_the_authority_that_pods_trust() -> None:
    async with EmbeddedCluster(control_plane=["root-ca-certificate-publisher"], security=Security()) as cluster:
        authority = cluster.config().ca_data.decode()
        async for event in cluster.client.watch(ConfigMap, namespace="default"):
            if event.object is not None and event.object.metadata.name == "kube-root-ca.crt":
                assert event.object.data == {"ca.crt": authority}
                break


BAD = {
    "missing": lambda path: path / "none",
    "nonsense": lambda path: _written(path / "nonsense", "nonsense"),
}


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize(
    ("field", "flag"),
    [
        ("client_ca_file", "--client-ca-file"),
        ("token_auth_file", "--token-auth-file"),
        ("service_account_signing_key_file", "--service-account-signing-key-file"),
        ("service_account_key_files", "--service-account-key-file"),
    ],
)
async def test_a_bad_file_ends_in_one_line_that_names_flag_and_file(
    tmp_path: Path, bad: str, field: str, flag: str
) -> None:
    file = BAD[bad](tmp_path)
    value: Any = (file,) if field.endswith("files") else file
    with pytest.raises(SecurityError) as refused:
        await secure(Security(auth=True, **{field: value}), "127.0.0.1", None)
    explanation = explain(refused.value)
    assert explanation is not None
    assert flag in explanation
    assert str(file) in explanation
    assert "\n" not in explanation


async def test_an_empty_file_of_client_authorities_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SecurityError, match=r"--client-ca-file .*empty: the client CA contains no usable PEM"):
        await secure(Security(auth=True, client_ca_file=_written(tmp_path / "empty", "")), "127.0.0.1", None)


async def test_a_bad_certificate_ends_in_one_line(tmp_path: Path) -> None:
    cert, key = make("a").write(tmp_path, "a")
    _, other = make("b").write(tmp_path, "b")
    with pytest.raises(
        SecurityError, match=r"--tls-cert-file .*a.crt: the serving certificate and its key can't be used"
    ):
        await secure(Security(tls_cert_file=cert, tls_private_key_file=other), "127.0.0.1", None)
    with pytest.raises(SecurityError, match="need each other, and only one of them is given"):
        await secure(Security(tls_cert_file=cert), "127.0.0.1", None)
    assert key.exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (OidcOptions("http://x", "kube"), "begins with https://"),
        (OidcOptions("https://x", ""), "--oidc-client-id is missing"),
        (OidcOptions("https://x", "kube", signing_algorithms=("none",)), "--oidc-signing-algs: none is not one of"),
        (
            OidcOptions("https://127.0.0.1:1", "kube"),
            "--oidc-issuer-url https://127.0.0.1:1: the keys can't be fetched",
        ),
        (OidcOptions("https://x", "kube", jwks_file=Path("/nowhere/jwks")), "--oidc-jwks-file /nowhere/jwks: No such"),
    ],
)
async def test_options_of_a_provider_that_can_not_be_end_in_one_line(options: OidcOptions, words: str) -> None:
    with pytest.raises(SecurityError) as refused:
        await secure(Security(auth=True, oidc=options), "127.0.0.1", None)
    assert words in str(refused.value)


async def test_the_audit_log_is_appended_to_its_file(tmp_path: Path) -> None:
    policy, log = tmp_path / "policy.yaml", tmp_path / "audit.log"
    policy.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")
    security = Security(audit_policy_file=policy, audit_log_path=log)
    async with EmbeddedCluster(control_plane=False, security=security) as cluster:
        await who(cluster.config())
    stages = [json.loads(line)["stage"] for line in log.read_text().splitlines()]
    assert stages == ["RequestReceived", "ResponseComplete"]


async def test_a_bad_audit_policy_or_log_ends_in_one_line(tmp_path: Path) -> None:
    policy, log = tmp_path / "policy.yaml", tmp_path / "none" / "audit.log"
    with pytest.raises(SecurityError, match="need each other, and only one of them is given"):
        await secure(Security(audit_log_path=log), "127.0.0.1", None)
    with pytest.raises(SecurityError, match=r"--audit-policy-file .*policy.yaml: No such file"):
        await secure(Security(audit_policy_file=policy, audit_log_path=log), "127.0.0.1", None)
    policy.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")
    with pytest.raises(SecurityError, match=r"--audit-log-path .*audit.log: No such file"):
        await secure(Security(audit_policy_file=policy, audit_log_path=log), "127.0.0.1", None)


async def test_flags_about_users_need_auth(tmp_path: Path) -> None:
    with pytest.raises(SecurityError, match=r"--token-auth-file .* needs --auth"):
        await secure(Security(token_auth_file=tmp_path / "x"), "127.0.0.1", None)


def test_plain_http_goes_with_no_flag_about_tls_or_users() -> None:
    assert SecurityFlags(http=True).security() is None
    assert SecurityFlags().security() == Security()
    with pytest.raises(UsageError, match="--http serves every client"):
        SecurityFlags(http=True, auth=True).security()
    with pytest.raises(UsageError, match="give it as NAME=VALUE"):
        SecurityFlags(auth=True, oidc_issuer_url="https://x", oidc_required_claim=("x",)).security()
