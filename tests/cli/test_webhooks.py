"""Webhooks on the command line: of a controller's program, and of ``setpoint webhook``."""

from __future__ import annotations

import base64
import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import mykind as first
import pytest
import yaml
from mykinds import Mykind, MykindSpec, MykindV1alpha1, MykindV1alpha1Spec, admission, controller, default_template
from tests.client.certificates import make
from tests.ports import reserved_port
from tests.programs import program, server

import setpoint as sp
from setpoint.apps.error_reports import UsageError
from setpoint.cli.program import program as controller_program
from setpoint.cli.webhook import command
from setpoint.client import ApiError, Client, Invalid, NotFound
from setpoint.crd import crd_for
from setpoint.meta import from_wire, to_wire
from setpoint.models.admissionregistration_v1 import MutatingWebhookConfiguration, ValidatingWebhookConfiguration
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.models.core_v1 import Namespace, Secret
from setpoint.webhook import ServiceTarget
from setpoint.webhook.certificate_authority import issue, make_authority

pytestmark = pytest.mark.wall_clock

APP = Path(__file__).parents[2] / "examples" / "mykind" / "mykinds.py"
GROUP = "grp.example.com"
NAME = "mykinds.grp.example.com"
SERVICE = ("--service", "hooks", "--namespace", "system")


@pytest.fixture
def metrics() -> Iterator[int]:
    with reserved_port() as port:
        yield port


async def test_an_embedded_server_calls_the_webhooks_of_its_program(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    async with program(APP, "run", "--embedded", "--write-kubeconfig", kubeconfig, home=tmp_path) as running:
        await running.until(lambda p: any("controller=mykind " in line for line in p.err), "controller")
        async with Client.from_kubeconfig(kubeconfig) as client:
            await client.create(MykindV1alpha1.named("a", "default", spec=MykindV1alpha1Spec(numpods=2)))
            new = await client.get(Mykind, "a", namespace="default")
            assert new.spec == MykindSpec(replicas=2, template=default_template())


@pytest.mark.parametrize("port", [-1, 65_536])
def test_a_number_that_is_not_a_port_is_refused_by_name(port: int, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command([str(APP), "--cert-dir=certificates", f"--port={port}"])
    assert ended.value.code == 2
    assert f'Invalid value "{port}" for --port.' in capsys.readouterr().err


def test_manifests_never_say_nothing_about_a_conversion_that_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    app = controller_program("mykinds.py", sp.Operator([controller], [admission]))
    with pytest.raises(SystemExit, match=rf"mykinds\.py: a webhook converts {NAME}: name its Service"):
        app(["manifests"])
    with pytest.raises(SystemExit) as ended:
        app(["manifests", *SERVICE])
    assert ended.value.code == 0
    definition, mutating, validating, role = yaml.safe_load_all(capsys.readouterr().out)
    service = {"name": "hooks", "namespace": "system", "path": "/convert", "port": 443}
    assert definition["spec"]["conversion"]["webhook"]["clientConfig"] == {"service": service}
    assert [item["metadata"]["name"] for item in (mutating, validating)] == ["grp.example.com", "grp.example.com"]
    assert role["kind"] == "ClusterRole"


async def test_install_and_uninstall(tmp_path: Path, port: int) -> None:
    url = f"https://127.0.0.1:{port}"
    async with server(tmp_path) as (_, _, kubeconfig), Client.from_kubeconfig(kubeconfig) as client:
        common = ("--kubeconfig", kubeconfig)
        serving = ("-m", "setpoint", "webhook", APP, "--url", url, "--host", "127.0.0.1", "--port", port, *common)
        async with program(*serving, home=tmp_path) as webhook:
            await webhook.until(lambda p: any("are registered" in line for line in p.err), "registration")
            bundle = (await client.get(MutatingWebhookConfiguration, GROUP)).webhooks[0].client_config.ca_bundle
            assert bundle
            (tmp_path / "ca.pem").write_bytes(b"\xef\xbb\xbf" + bundle)
            await client.create(MykindV1alpha1.named("a", "default", spec=MykindV1alpha1Spec(numpods=2)))

            async with program("-m", "setpoint", "webhook", "uninstall", APP, *common, home=tmp_path) as ended:
                assert await ended.ended() == 0, ended.printed()
            for kind in (MutatingWebhookConfiguration, ValidatingWebhookConfiguration):
                with pytest.raises(NotFound):
                    await client.get(kind, GROUP)
            served = {
                version.name: version.served
                for version in (await client.get(CustomResourceDefinition, NAME)).spec.versions
            }
            assert served == {"v1alpha2": True, "v1alpha1": False}
            assert (await client.get(Mykind, "a", namespace="default")).spec.replicas == 2

            install = ("install", APP, "--url", url, "--ca-file", tmp_path / "ca.pem", "--definitions", *common)
            async with program("-m", "setpoint", "webhook", *install, home=tmp_path) as ended:
                assert await ended.ended() == 0, ended.printed()
            assert (await client.get(MykindV1alpha1, "a", namespace="default")).spec.numpods == 2
            wrong = default_template()
            wrong.spec.restart_policy = "Never"
            with pytest.raises(Invalid, match="restartPolicy"):
                await client.create(Mykind.named("b", "default", spec=MykindSpec(template=wrong)))

            # Under development the program is ended and started again all the time; nothing is lost in between.
            webhook.process.terminate()
            assert await webhook.ended() == 0, webhook.printed()
            assert any("only this program converts it" in line for line in webhook.err)
            with pytest.raises(ApiError, match=r"conversion webhook for .* failed"):
                await client.get(MykindV1alpha1, "a", namespace="default")
        async with program(*serving, home=tmp_path) as webhook:
            await webhook.until(lambda p: any("are registered" in line for line in p.err), "registration")
            assert (await client.get(MykindV1alpha1, "a", namespace="default")).spec.numpods == 2


async def test_webhooks_that_require_a_certificate_and_a_token_answer_an_api_server_that_sends_both(
    tmp_path: Path, port: int
) -> None:
    authority, url = make("callers"), f"https://127.0.0.1:{port}"
    authority.write(tmp_path, "ca")
    make("kube-apiserver", authority).write(tmp_path, "client")
    make("127.0.0.1", is_authority=False).write(tmp_path / "certs", "tls")
    user = {"client-certificate": "client.crt", "client-key": "client.key"}
    kubeconfig = tmp_path / "webhooks.kubeconfig"
    kubeconfig.write_text(yaml.safe_dump({"users": [{"name": "*", "user": user}]}))
    version = "apiserver.config.k8s.io/v1"
    plugin = {"apiVersion": version, "kind": "WebhookAdmission", "kubeConfigFile": str(kubeconfig)}
    names = ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")
    plugins = [{"name": name, "configuration": plugin} for name in names]
    file = tmp_path / "admission.yaml"
    file.write_text(yaml.safe_dump({"apiVersion": version, "kind": "AdmissionConfiguration", "plugins": plugins}))
    gate = ("--feature-gates", "APIServerWebhookAuthenticationToken=true")
    callers = ("--webhook-client-ca", tmp_path / "ca.crt", "--webhook-client-name", "kube-apiserver")
    tokens = ("--webhook-tokens", "require", "--webhook-address", url)
    place = ("--cert-dir", tmp_path / "certs", "--host", "127.0.0.1", "--port", port)
    async with server(tmp_path, "--auth", "--admission-control-config-file", file, *gate) as (_, _, admin):
        words = ("-m", "setpoint", "webhook", APP, *place, *callers, *tokens, "--kubeconfig", admin)
        async with program(*words, home=tmp_path) as webhook, Client.from_kubeconfig(admin) as client:
            await webhook.until(lambda p: any("are served" in line for line in p.err), "webhooks")
            install = (
                "--url",
                url,
                "--ca-file",
                tmp_path / "certs" / "tls.crt",
                "--definitions",
                "--kubeconfig",
                admin,
            )
            async with program("-m", "setpoint", "webhook", "install", APP, *install, home=tmp_path) as ended:
                assert await ended.ended() == 0, ended.printed()
            mykind = await client.create(Mykind.named("a", "default", spec=MykindSpec()))
            assert mykind.spec.template == default_template()
            wrong = default_template()
            wrong.spec.restart_policy = "Never"
            with pytest.raises(Invalid, match="restartPolicy"):
                await client.create(Mykind.named("b", "default", spec=MykindSpec(template=wrong)))
            async with (
                aiohttp.ClientSession() as session,
                session.post(f"{url}{admission.path('validate')}", json={}, ssl=False) as answer,
            ):
                assert answer.status == 401


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--webhook-client-name=a", "--webhook-client-name needs --webhook-client-ca"),
        ("--webhook-client-ca=none", "--webhook-client-ca none: No such file or directory"),
        ("--webhook-tokens=require", "--webhook-tokens require needs --webhook-address here, the address at which"),
        ("--webhook-address=https://a", "--webhook-address needs --webhook-tokens verify or require"),
        ("--webhook-tokens=verify --webhook-address=http://a", "--webhook-address: 'http://a' must be of the form"),
    ],
)
def test_flags_about_callers_that_can_not_be_meant_are_refused(
    words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        command([str(APP), "--cert-dir=certificates", *words.split()])
    assert f"setpoint webhook: {message}" in capsys.readouterr().err


def test_a_file_of_authorities_without_a_usable_certificate_is_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ca.crt"
    file.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    with pytest.raises(SystemExit):
        command([str(APP), "--cert-dir=certificates", f"--webhook-client-ca={file}"])
    assert f"setpoint webhook: --webhook-client-ca {file} contains no usable PEM certificate" in capsys.readouterr().err


def test_flags_about_callers_need_webhooks_that_are_served() -> None:
    app = controller_program("mykinds.py", sp.Operator([controller], [admission]))
    with pytest.raises(UsageError, match="need --webhook-service or --webhook-cert-dir"):
        app(["run", "--webhook-tokens=verify"])


async def test_install_says_what_the_server_answered(tmp_path: Path) -> None:
    async with server(tmp_path) as (_, _, kubeconfig):
        words = ("--url", "https://127.0.0.1:1", "--definitions", "--timeout", "0.3", "--kubeconfig", kubeconfig)
        async with program("-m", "setpoint", "webhook", "install", APP, *words, home=tmp_path) as ended:
            assert await ended.ended() == 1
            (line,) = ended.err
            assert line.startswith(
                "setpoint webhook: the API server does not call the webhook that should mutate Mykind"
            )
            assert "connection refused" in line
        (tmp_path / "ca.pem").write_text("no certificate")
        words = ("--url", "https://127.0.0.1:1", "--ca-file", tmp_path / "ca.pem", "--kubeconfig", kubeconfig)
        async with program("-m", "setpoint", "webhook", "install", APP, *words, home=tmp_path) as ended:
            assert await ended.ended() == 1
            assert ended.err == [f"setpoint webhook: --ca-file {tmp_path / 'ca.pem'} contains no PEM certificate"]
        async with program("-m", "setpoint", "webhook", "install", APP, home=tmp_path) as ended:
            assert await ended.ended() == 1
            assert ended.err == ["setpoint webhook: give exactly one of --service and --url"]


async def test_a_manager_serves_its_webhooks_when_it_has_a_certificate(tmp_path: Path, port: int, metrics: int) -> None:
    now = datetime.now(UTC)
    authority = make_authority("x", now=now, lifetime=timedelta(days=1))
    pair = issue(authority, ["127.0.0.1"], now=now, lifetime=timedelta(hours=1))
    for name, content in (("tls.crt", pair.certificate), ("tls.key", pair.key), ("ca.pem", authority.certificate)):
        (tmp_path / name).write_bytes(content)
    async with server(tmp_path) as (_, _, kubeconfig), Client.from_kubeconfig(kubeconfig) as client:
        url = ("--url", f"https://127.0.0.1:{port}", "--ca-file", tmp_path / "ca.pem", "--kubeconfig", kubeconfig)
        await client.create(from_wire(CustomResourceDefinition, crd_for(Mykind)))
        options = (
            "--webhook-cert-dir",
            tmp_path,
            "--webhook-port",
            port,
            "--metrics-bind-address",
            f"127.0.0.1:{metrics}",
        )
        async with program(APP, "run", "--kubeconfig", kubeconfig, *options, home=tmp_path) as running:
            await running.until(lambda p: any("controller started" in line for line in p.err), "controller")
            async with program("-m", "setpoint", "webhook", "install", APP, *url, home=tmp_path) as ended:
                assert await ended.ended() == 0, ended.printed()
            mykind_v1alpha1 = await client.create(
                MykindV1alpha1.named("a", "default", spec=MykindV1alpha1Spec(numpods=1))
            )
            assert mykind_v1alpha1.spec.numpods == 1
            assert (await client.get(Mykind, "a", namespace="default")).spec.template == default_template()
            async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{metrics}/metrics") as answer:
                assert 'controller_runtime_webhook_requests_total{code="200",webhook="/mutate-' in await answer.text()
            assert await running.signalled(signal.SIGTERM) == 0


@pytest.mark.parametrize("more", [("--embedded",), ("--clusters", str(Path(__file__).parent))])
def test_webhooks_are_served_over_https_only_where_that_makes_sense(more: tuple[str, ...]) -> None:
    app = controller_program("mykinds.py", sp.Operator([controller], [admission]))
    with pytest.raises(
        UsageError, match="--webhook-cert-dir and --webhook-service can't be combined with --embedded or --clusters"
    ):
        app(["run", "--webhook-cert-dir", "/nowhere", *more])


async def test_a_service_registers_itself_with_the_definition_that_is_there(tmp_path: Path, port: int) -> None:
    async with server(tmp_path) as (_, _, kubeconfig), Client.from_kubeconfig(kubeconfig) as client:
        await client.create(from_wire(CustomResourceDefinition, crd_for(first.Mykind)))
        await client.create(Namespace.named("system"))
        options = ("--register", "--port", port, "--drain-delay", "0", "--kubeconfig", kubeconfig)
        async with program("-m", "setpoint", "webhook", APP, *SERVICE, *options, home=tmp_path) as running:
            await running.until(lambda p: any("are registered" in line for line in p.err), "registration")
            bundle = (await client.get(Secret, "hooks-tls", namespace="system")).data["ca.crt"]
            for kind in (MutatingWebhookConfiguration, ValidatingWebhookConfiguration):
                (webhook,) = (await client.get(kind, GROUP)).webhooks
                assert webhook.client_config.ca_bundle == bundle
            definition = await client.get(CustomResourceDefinition, NAME)
            assert [version.name for version in definition.spec.versions] == ["v1alpha1"]
            # A later kubectl apply has no CA bundle in it, and leaves the one in the cluster alone.
            target = ServiceTarget("hooks", "system").client_config("/convert")
            await client.patch(CustomResourceDefinition, NAME, crd_for(Mykind, conversion_client_config=target))
            definition = await client.get(CustomResourceDefinition, NAME)
            assert [version.name for version in definition.spec.versions] == ["v1alpha2", "v1alpha1"]
            assert to_wire(definition)["spec"]["conversion"]["webhook"]["clientConfig"] == {
                **target,
                "caBundle": base64.b64encode(bundle).decode(),
            }
            assert await running.signalled(signal.SIGTERM) == 0
        assert (await client.get(MutatingWebhookConfiguration, GROUP)).webhooks  # replicas come and go


def test_an_address_that_is_malformed_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="1"):
        command([str(APP), "--cert-dir", "certificates", "--metrics-bind-address", "8080"])
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("setpoint webhook: --metrics-bind-address: bind address '8080' is not of the form")
