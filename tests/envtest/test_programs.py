"""The stand-ins of kube-apiserver and etcd, in this process."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest

from setpoint.apps.envtest import etcd, kube_apiserver
from setpoint.apps.envtest.flags import FlagError, parse
from setpoint.apps.envtest.install import assets, install
from setpoint.apps.envtest.server_flags import FLAGS
from setpoint.apps.envtest.serving import ServingError, serving
from setpoint.meta.shard_ranges import ShardRanges
from setpoint.webhook.certificate_authority import Pair, make_authority

MAPS = "/api/v1/namespaces/default/configmaps"
TOKENS = 'secret,admin,1,"system:masters"\nother,jane,2\n'


# -- flags ------------------------------------------------------------------------------------------------------------


def test_flags_are_read_as_gos_programs_read_them() -> None:
    flags = parse(
        FLAGS,
        [
            "--secure_port=1",
            "--secure-port",
            "2",
            "--anonymous-auth",
            "-v4",
            "--api-audiences=a, b",
            "--api-audiences=c",
        ],
    )
    assert flags.number("secure-port", 0) == 2
    assert flags.true("anonymous-auth", False)
    assert not parse(FLAGS, ["--anonymous-auth=false"]).true("anonymous-auth", True)
    assert flags.several("api-audiences") == ["a", "b", "c"]
    assert flags.text("v") == "4"
    assert parse(FLAGS, ["--audit-log-maxage=1", "--cert-dir=y"]).meaningless == ["audit-log-maxage"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--no-such"], "unknown flag: --no-such"),
        (["--secure-port"], "flag needs an argument: --secure-port"),
        (["here"], "unknown command or argument 'here'"),
        (["--authorization-mode=Node,Webhook"], "--authorization-mode=Webhook is not supported here"),
        (["--admission-control-config-file=x"], "--admission-control-config-file x: No such file or directory"),
        (["--audit-webhook-config-file=x"], "--audit-webhook-config-file is not supported"),
        (["--audit-log-path=x"], "--audit-policy-file and --audit-log-path need each other"),
        (["--oidc-issuer-url=http://x"], "the URL of a provider begins with https://"),
        (["--feature-gates=Nope=true"], "unrecognized feature gate: Nope"),
        (["--feature-gates=AllAlpha=true"], "--feature-gates=AllAlpha=true is not supported"),
        (["--feature-gates=AllAlpha"], "give it as NAME=true or NAME=false"),
        (["--runtime-config=batch/v1beta1=true"], "--runtime-config=batch/v1beta1=true is not supported"),
        (["--runtime-config=api/all=maybe"], "the value is true or false"),
        (["--secure-port=x"], 'invalid argument "x" for "--secure-port" flag'),
        (["--secure-port= 6443"], 'invalid argument " 6443" for "--secure-port" flag: it is not a whole number'),
        (["--secure-port=٣"], 'invalid argument "٣" for "--secure-port" flag'),
        (["--secure-port=08"], 'invalid argument "08" for "--secure-port" flag'),
        (["-v=9223372036854775808"], 'for "--v" flag: it is not a whole number of 64 bits'),
        (["--secure-port=-1"], "--secure-port=-1 must be between 0 and 65535"),
        (["--secure-port=99999"], "--secure-port=99999 must be between 0 and 65535"),
        (["--secure-port="], 'invalid argument "" for "--secure-port" flag'),
        (
            ["--anonymous-auth=yes"],
            'invalid argument "yes" for "--anonymous-auth" flag: the value must be true or false',
        ),
        (["--anonymous-auth="], 'invalid argument "" for "--anonymous-auth" flag'),
        (["--profiling=tRUE"], 'invalid argument "tRUE" for "--profiling" flag'),
        (
            ["--service-cluster-ip-range=10.0.0.0/24,x"],
            "--service-cluster-ip-range=10.0.0.0/24,x: 'x' is not a network",
        ),
        (["--service-cluster-ip-range=10.0.0.0/24,10.1.0.0/24"], "both networks are of the family IPv4"),
        (["--service-cluster-ip-range=10.0.0.0/30"], "of at least 8 addresses: give 10.96.0.0/12"),
        (["--etcd-servers=http://127.0.0.1:1"], "--etcd-servers=http://127.0.0.1:1 does not answer: it took too long"),
        (["--etcd-servers=http://127.0.0.1:99999"], "--etcd-servers=http://127.0.0.1:99999: Port out of range 0-65535"),
        (["--etcd-servers=http://127.0.0.1:x"], "--etcd-servers=http://127.0.0.1:x: Port could not be cast to integer"),
        (["--etcd-servers=127.0.0.1:2379"], "--etcd-servers=127.0.0.1:2379: only http://HOST:PORT is supported here"),
    ],
)
def test_what_can_not_be_meant_ends_with_the_reason(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("setpoint.apps.envtest.serving._PATIENCE", 0.01)
    assert kube_apiserver.main(arguments) == 1
    assert words in capsys.readouterr().err


def test_a_missing_package_of_the_server_ends_with_the_command_that_installs_it(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['aiohttp'] = None\n"
        "from setpoint.apps.envtest.kube_apiserver import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "--secure-port=0", f"--cert-dir={tmp_path}"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert line.endswith("which is not installed: pip install 'setpoint[server]'")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--listen-client-urls=http://localhost:99999"], "Port out of range 0-65535"),
        (["--listen-client-urls=http://[::1:2379"], "Invalid IPv6 URL"),
        (["--listen-client-urls=http://localhost"], "only http://HOST:PORT is supported here"),
        (["--listen-client-urls=https://localhost:2379"], "only http://HOST:PORT is supported here"),
        (["--snapshot-count=x"], 'invalid argument "x" for "--snapshot-count" flag: it is not a whole number'),
    ],
)
def test_what_etcd_can_not_mean_ends_with_one_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert etcd.main([f"--data-dir={tmp_path}", *arguments]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("etcd: ")
    assert words in line


@pytest.mark.parametrize(
    ("text", "number"),
    [("6443", 6443), ("+1", 1), ("0", 0), ("00", 0), ("010", 8), ("0o17", 15), ("0x1F_90", 8080), ("-0b11", -3)],
)
def test_numbers_have_the_forms_that_go_reads(text: str, number: int) -> None:
    assert parse(FLAGS, [f"--secure-port={text}"]).number("secure-port", 1) == number


@pytest.mark.parametrize("true", ["1", "t", "T", "TRUE", "true", "True"])
@pytest.mark.parametrize("false", ["0", "f", "F", "FALSE", "false", "False"])
def test_booleans_have_the_forms_that_go_reads(true: str, false: str) -> None:
    flags = parse(FLAGS, [f"--anonymous-auth={true}", f"--enable-bootstrap-token-auth={false}"])
    assert flags.true("anonymous-auth", False)
    assert not flags.true("enable-bootstrap-token-auth", True)


def test_help_names_the_flags_that_test_environments_look_for(capsys: pytest.CaptureFixture[str]) -> None:
    for program, names in ((etcd.main, etcd.FLAGS), (kube_apiserver.main, FLAGS)):
        assert program(["--help"]) == 0
        lines = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("      --")]
        assert lines == [f"--{name}" for name in names]
    assert "--insecure-port" not in lines, "its presence means a server older than 1.24"


# -- the two together -------------------------------------------------------------------------------------------------


@asynccontextmanager
async def server(*arguments: str) -> AsyncIterator[str]:
    async with serving(parse(FLAGS, ["--secure-port=0", *arguments])) as front:
        yield front.url


async def ask(
    url: str, method: str = "GET", body: Any = None, *, token: str = "", tls: ssl.SSLContext | bool = False
) -> tuple[int, Any]:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, url, json=body, headers=headers, ssl=tls) as answer,
    ):
        text = await answer.text()
        return answer.status, json.loads(text) if text.startswith("{") else text


def arguments(folder: Path, *more: str) -> Sequence[str]:
    tokens = folder / "tokens.csv"
    tokens.write_text(TOKENS)
    return (f"--cert-dir={folder / 'certs'}", f"--token-auth-file={tokens}", "--authorization-mode=RBAC", *more)


async def test_objects_outlive_both_programs_in_etcds_directory(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    async with etcd.answering(["http://127.0.0.1:0"], data) as ports:
        store = f"http://127.0.0.1:{ports[0]}"
        assert await ask(f"{store}/health") == (200, {"health": "true", "reason": ""})
        assert (await ask(f"{store}/v3/kv/range"))[0] == 404
        async with server(*arguments(tmp_path), f"--etcd-servers={store}") as url:
            assert (await ask(f"{url}/healthz"))[0] == 200, "without credentials"
            _, own = await ask(f"{url}/api/v1/namespaces/default/endpoints/kubernetes", token="secret")
            assert own["subsets"][0]["ports"][0]["port"] == int(url.rpartition(":")[2])
            result = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}}
            assert (await ask(f"{url}{MAPS}", "POST", result, token="secret"))[0] == 201
            with pytest.raises(Exception, match="in use by another server"):
                async with server(*arguments(tmp_path), f"--etcd-servers={store}"):
                    pass
        async with server(*arguments(tmp_path), f"--etcd-servers={store}") as url:
            assert (await ask(f"{url}{MAPS}/kept", token="secret"))[0] == 200


async def test_users_are_held_to_their_roles(tmp_path: Path) -> None:
    async with server(*arguments(tmp_path)) as url:
        assert (await ask(f"{url}{MAPS}"))[0] == 403
        assert (await ask(f"{url}{MAPS}", token="other"))[1]["message"].startswith(
            'configmaps is forbidden: User "jane"'
        )
        assert (await ask(f"{url}{MAPS}", token="wrong"))[0] == 401
        role = {
            "metadata": {"name": "reader", "namespace": "default"},
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}],
        }
        binding = {
            "metadata": {"name": "reader", "namespace": "default"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}],
        }
        root = f"{url}/apis/rbac.authorization.k8s.io/v1/namespaces/default"
        assert (await ask(f"{root}/roles", "POST", role, token="secret"))[0] == 201
        assert (await ask(f"{root}/rolebindings", "POST", binding, token="secret"))[0] == 201
        assert (await ask(f"{url}{MAPS}", token="other"))[0] == 200
    async with server(*arguments(tmp_path), "--authorization-mode=AlwaysAllow", "--anonymous-auth=false") as url:
        assert (await ask(f"{url}{MAPS}", token="other"))[0] == 200
        assert (await ask(f"{url}{MAPS}"))[0] == 401


@pytest.mark.wall_clock
async def test_versions_and_resources_can_be_turned_off(tmp_path: Path) -> None:
    off = "--runtime-config=api/beta=false,batch/v1=false,batch/v1/jobs=true,apps/v1/daemonsets=false"
    gates = "--feature-gates=AllAlpha=false,kube:AllBeta=false"
    async with server(*arguments(tmp_path, off, gates)) as url:
        results = {}
        for version in ("batch/v1", "apps/v1"):
            _, document = await ask(f"{url}/apis/{version}", token="secret")
            results[version] = {item["name"] for item in document["resources"] if "/" not in item["name"]}
        assert results["batch/v1"] == {"jobs"}
        assert "deployments" in results["apps/v1"]
        assert "daemonsets" not in results["apps/v1"]


@pytest.mark.parametrize(("gates", "sharded"), [("", False), ("ShardedListAndWatch=true", True)])
async def test_lists_are_divided_into_shards_if_the_gate_is_on(tmp_path: Path, gates: str, sharded: bool) -> None:
    flags = [f"--feature-gates={gates}"] if gates else []
    async with server(*arguments(tmp_path, *flags)) as url:
        _, listed = await ask(f"{url}{MAPS}?shardSelector={quote(str(ShardRanges('uid', [])))}", token="secret")
        assert ("shardInfo" in listed["metadata"]) is sharded


@pytest.mark.parametrize("is_on", [False, True])
async def test_the_account_that_calls_webhooks_exists_if_the_gate_is_on(tmp_path: Path, is_on: bool) -> None:
    flags = ["--feature-gates=APIServerWebhookAuthenticationToken=true"] if is_on else []
    async with server(*arguments(tmp_path, *flags)) as url:
        place = f"{url}/api/v1/namespaces/kube-system/serviceaccounts"
        _, listed = await ask(place, token="secret")
        assert ("webhook-auth" in [item["metadata"]["name"] for item in listed["items"]]) is is_on


async def test_the_audit_log_is_written_as_its_policy_says(tmp_path: Path) -> None:
    policy, log = tmp_path / "policy.yaml", tmp_path / "audit.log"
    policy.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")
    async with server(*arguments(tmp_path, f"--audit-policy-file={policy}", f"--audit-log-path={log}")) as url:
        await ask(f"{url}{MAPS}", token="secret")
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(event["stage"], event["verb"]) for event in events][-1] == ("ResponseComplete", "list")


@pytest.mark.parametrize("itself", [False, True], ids=["its authority", "its own certificate"])
async def test_certificates_name_users_and_groups(tmp_path: Path, itself: bool) -> None:
    authority, client = certified("jane", "system:masters")
    anchor = client.certificate if itself else authority
    (tmp_path / "ca.crt").write_bytes(b"# F\xf5tan\xfas\xedtv\xe1ny\n" + anchor.rstrip())
    (tmp_path / "client.crt").write_bytes(client.certificate)
    (tmp_path / "client.key").write_bytes(client.key)
    async with server(*arguments(tmp_path, f"--client-ca-file={tmp_path / 'ca.crt'}")) as url:
        tls = ssl.create_default_context()
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
        tls.load_cert_chain(tmp_path / "client.crt", tmp_path / "client.key")
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        _, answer = await ask(f"{url}/apis/authentication.k8s.io/v1/selfsubjectreviews", "POST", review, tls=tls)
        user = answer["status"]["userInfo"]
        assert (user["username"], set(user["groups"])) == ("jane", {"system:masters", "system:authenticated"})
        assert (await ask(f"{url}{MAPS}", tls=tls))[0] == 200


async def test_tokens_of_accounts_are_signed_with_the_key_that_is_given(tmp_path: Path) -> None:
    from setpoint.apiserver.identity.keys import PemKeys, make_key

    key = tmp_path / "sa.key"
    key.write_bytes(make_key())
    given = (f"--service-account-signing-key-file={key}", "--service-account-issuer=https://here/")
    async with server(*arguments(tmp_path, *given)) as url:
        accounts = f"{url}/api/v1/namespaces/default/serviceaccounts"
        assert (await ask(accounts, "POST", {"metadata": {"name": "robot"}}, token="secret"))[0] == 201
        _, answer = await ask(f"{accounts}/robot/token", "POST", {"spec": {}}, token="secret")
        token = answer["status"]["token"]
        assert PemKeys(key.read_bytes()).verify(token)["iss"] == "https://here/"
        status, refusal = await ask(f"{url}{MAPS}", token=token)
        assert (status, "system:serviceaccount:default:robot" in refusal["message"]) == (403, True)


async def test_issuer_audiences_and_further_keys_count_without_a_signing_key(tmp_path: Path) -> None:
    from setpoint.apiserver.identity.keys import PemKeys, claims_of, make_key

    elsewhere = make_key()
    (tmp_path / "other.key").write_bytes(elsewhere)
    given = ("--service-account-issuer=https://here/", "--api-audiences=cluster")
    async with server(*arguments(tmp_path, *given, f"--service-account-key-file={tmp_path / 'other.key'}")) as url:
        accounts = f"{url}/api/v1/namespaces/default/serviceaccounts"
        assert (await ask(accounts, "POST", {"metadata": {"name": "robot"}}, token="secret"))[0] == 201
        _, answer = await ask(f"{accounts}/robot/token", "POST", {"spec": {}}, token="secret")
        _, claims = claims_of(answer["status"]["token"])
        assert (claims["iss"], claims["aud"]) == ("https://here/", ["cluster"])
        for token in (answer["status"]["token"], PemKeys(elsewhere).sign(claims)):
            status, refusal = await ask(f"{url}{MAPS}", token=token)
            assert (status, "system:serviceaccount:default:robot" in refusal["message"]) == (403, True)


async def test_audiences_count_without_an_issuer(tmp_path: Path) -> None:
    from setpoint.apiserver.identity.keys import claims_of, make_key

    (tmp_path / "sa.key").write_bytes(make_key())
    key = f"--service-account-signing-key-file={tmp_path / 'sa.key'}"
    async with server(*arguments(tmp_path, key, "--api-audiences=cluster")) as url:
        accounts = f"{url}/api/v1/namespaces/default/serviceaccounts"
        assert (await ask(accounts, "POST", {"metadata": {"name": "robot"}}, token="secret"))[0] == 201
        _, answer = await ask(f"{accounts}/robot/token", "POST", {"spec": {}}, token="secret")
        assert claims_of(answer["status"]["token"])[1]["aud"] == ["cluster"]


async def test_controllers_run_where_they_are_asked_for(tmp_path: Path) -> None:
    async with server(*arguments(tmp_path, "--controllers=serviceaccount")) as url:
        watched = f"{url}/api/v1/namespaces/default/serviceaccounts?watch=true&resourceVersion=0"
        headers = {"authorization": "Bearer secret"}
        async with (
            aiohttp.ClientSession() as session,
            session.get(watched, headers=headers, ssl=False) as answer,
        ):
            assert b'"name":"default"' in await answer.content.readline()
    with pytest.raises(FlagError, match="--controllers: "):
        async with server(*arguments(tmp_path, "--controllers=nonsense")):
            pass


async def test_services_have_addresses_in_the_range_that_is_given(tmp_path: Path) -> None:
    ranges = "--service-cluster-ip-range=10.0.0.7/24,fd00::/108"
    async with server(f"--cert-dir={tmp_path}", ranges) as url:
        services = f"{url}/api/v1/namespaces/default/services"
        dual = {"clusterIP": "10.0.0.10", "ipFamilyPolicy": "RequireDualStack"}
        body = {"metadata": {"name": "dns"}, "spec": {"ports": [{"port": 53}], **dual}}
        assert (await ask(services, "POST", body))[0] == 201
        assert (await ask(f"{services}/kubernetes"))[1]["spec"]["clusterIP"] == "10.0.0.1"
        networking = f"{url}/apis/networking.k8s.io/v1"
        assert (await ask(f"{networking}/servicecidrs/kubernetes"))[1]["spec"] == {
            "cidrs": ["10.0.0.0/24", "fd00::/108"]
        }
        addresses = (await ask(f"{networking}/ipaddresses"))[1]["items"]
        assert [address["metadata"]["name"] for address in addresses] == ["10.0.0.1", "10.0.0.10", "fd00::a"]


async def test_what_is_wrong_with_files_is_said(tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("nonsense")
    pair = ("--tls-cert-file", "--tls-private-key-file")
    with pytest.raises(ServingError, match="not a certificate and key that TLS can use"):
        async with server(*arguments(tmp_path), *(f"{name}={tmp_path / 'bad'}" for name in pair)):
            pass
    with pytest.raises(FlagError, match="only taken together"):
        async with server(*arguments(tmp_path), f"--tls-cert-file={tmp_path / 'bad'}"):
            pass
    with pytest.raises(FlagError, match=r"--service-account-signing-key-file=.*bad: not an unencrypted private key"):
        async with server(*arguments(tmp_path), f"--service-account-signing-key-file={tmp_path / 'bad'}"):
            pass
    with pytest.raises(FlagError, match=r"--service-account-key-file=.*bad: "):
        async with server(*arguments(tmp_path), f"--service-account-key-file={tmp_path / 'bad'}"):
            pass
    other = await asyncio.start_server(_something_else, "127.0.0.1", 0)
    async with other:
        port = other.sockets[0].getsockname()[1]
        with pytest.raises(ServingError, match="is not setpoint's etcd"):
            async with server(f"--etcd-servers=http://127.0.0.1:{port}"):
                pass


async def _something_else(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 404 Not Found\r\n\r\nnothing")
    writer.close()


def certified(name: str, group: str) -> tuple[bytes, Pair]:
    """The certificate of an authority, and a client's that it has signed."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    now = datetime.now(UTC)
    authority = make_authority("clients", now=now, lifetime=timedelta(days=1))
    signer = serialization.load_pem_private_key(authority.key, None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    oid = x509.oid.NameOID
    subject = x509.Name([x509.NameAttribute(oid.COMMON_NAME, name), x509.NameAttribute(oid.ORGANIZATION_NAME, group)])
    issuer = x509.load_pem_x509_certificate(authority.certificate)
    result = (
        x509.CertificateBuilder(issuer.subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .sign(signer, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    private = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return authority.certificate, Pair(result.public_bytes(encoding), private)


# -- the folder -------------------------------------------------------------------------------------------------------


def test_the_folder_has_three_programs_and_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "with space"))
    folder = assets()
    times = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert times.keys() == {"etcd", "kube-apiserver", "kubectl"}
    assert assets() == folder
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == times
    assert assets(["*"]) != folder
    output = subprocess.run([folder / "etcd", "--version"], capture_output=True, text=True, check=True).stdout
    assert output.startswith("etcd Version: 3.")


def test_controllers_are_written_into_the_program(tmp_path: Path) -> None:
    install(tmp_path, ["*", "-cronjob"])
    assert "'--controllers=*,-cronjob' \"$@\"" in (tmp_path / "kube-apiserver").read_text()


def test_kubectl_is_the_one_on_the_path_but_never_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, folder = tmp_path / "bin", tmp_path / "assets"
    real.mkdir()
    (real / "kubectl").write_text("#!/bin/sh\necho real $1\n")
    (real / "kubectl").chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join((str(folder), str(real), os.environ["PATH"])))
    for _ in range(2):
        install(folder)
        assert (
            subprocess.run([folder / "kubectl", "get"], capture_output=True, text=True, check=True).stdout
            == "real get\n"
        )
    monkeypatch.setenv("PATH", str(folder))
    install(folder)
    assert "was not on the PATH" in (folder / "kubectl").read_text()


def test_the_bytecode_of_the_programs_is_there_once_they_are_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "bytecode"))
    install(tmp_path / "programs")
    compiled = {path.name.partition(".")[0] for path in (tmp_path / "bytecode").rglob("*.pyc")}
    assert {"kube_apiserver", "etcd", "serving", "server"} <= compiled
