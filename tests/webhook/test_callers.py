"""The clients that may call webhooks: certificates and tokens of an embedded API server, over real TLS sockets."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from cryptography.x509.oid import ExtendedKeyUsageOID
from tests.client.certificates import Pair, make

from setpoint.client import Anonymous, Client, Forbidden, InternalError
from setpoint.cluster.embedded import EmbeddedCluster
from setpoint.cluster.server_security import Security
from setpoint.crd import Versions
from setpoint.meta import from_wire
from setpoint.models.admissionregistration_v1 import ValidatingWebhookConfiguration
from setpoint.models.core_v1 import ConfigMap, ServiceAccount
from setpoint.trust import client_context
from setpoint.webhook import (
    Admission,
    MemoryCertificates,
    Review,
    UrlTarget,
    Webhooks,
    WebhookServer,
    caller_tokens,
    install,
)
from setpoint.webhook.caller_tokens import ACCEPTED_FOR, CallerTokens
from setpoint.webhook.callers import AllowedCallers
from setpoint.webhook.certificate_authority import CertificateError

from .mykind import VALIDATE, Mykind, document, encoded, mykind_admission, review
from .serving import HOST

pytestmark = pytest.mark.wall_clock

JSON = {"content-type": "application/json"}
NAME = "kube-apiserver"


def refuse(obj: ConfigMap, review: Review[ConfigMap]) -> None:
    review.deny("not today")


ADMISSION = Admission(ConfigMap).validates(refuse)
PATH = ADMISSION.path("validate")


@pytest.fixture(scope="module")
def authority() -> Pair:
    return make("callers")


def presenting(context: ssl.SSLContext, pair: Pair, folder: Path) -> ssl.SSLContext:
    context.load_cert_chain(*pair.write(folder, "client"))
    return context


@asynccontextmanager
async def listening(webhooks: Webhooks, callers: AllowedCallers) -> AsyncIterator[tuple[WebhookServer, bytes]]:
    certificates = MemoryCertificates([HOST])
    server = WebhookServer(webhooks, certificates, host=HOST, port=0, callers=callers)
    async with asyncio.TaskGroup() as group:
        group.create_task(server.run())
        await server.ready.wait()
        try:
            yield server, certificates.bundle
        finally:
            server.stop()


async def posted(url: str, context: ssl.SSLContext, body: bytes, **headers: str) -> tuple[int, Any]:
    connector = aiohttp.TCPConnector(ssl=context)
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.post(url, data=body, headers={**JSON, **headers}) as answer,
    ):
        return answer.status, json.loads(await answer.read())


# -- certificates ------------------------------------------------------------------------------------------------------


async def test_only_a_client_with_a_certificate_of_the_authority_gets_an_answer(
    authority: Pair, tmp_path: Path
) -> None:
    body = encoded(review(document()))
    callers = AllowedCallers(client_ca=authority.cert_pem, client_names=[NAME])
    async with listening(Webhooks(mykind_admission()), callers) as (server, bundle):
        url = f"https://{HOST}:{server.port}{VALIDATE}"
        status, answer = await posted(url, client_context(bundle), body)
        assert (status, answer["reason"]) == (401, "Unauthorized")
        assert (
            "set kubeConfigFile for its plugin in the API server's --admission-control-config-file" in answer["message"]
        )

        status, answer = await posted(url, presenting(client_context(bundle), make(NAME, authority), tmp_path), body)
        assert (status, answer["response"]["allowed"]) == (200, True)

        other = presenting(client_context(bundle), make("someone-else", authority), tmp_path)
        status, answer = await posted(url, other, body)
        assert (status, answer["message"].split(",")[0]) == (403, "the client certificate is that of 'someone-else'")

        with pytest.raises((aiohttp.ClientError, ssl.SSLError, ConnectionError)):
            await posted(url, presenting(client_context(bundle), make(NAME, make("others")), tmp_path), body)
        assert server.webhooks.metrics.at(VALIDATE).codes == {401: 1, 200: 1, 403: 1}


async def test_of_several_common_names_the_last_one_counts(authority: Pair, tmp_path: Path) -> None:
    """Go's programs show only this one to the person who approves a certificate."""
    body = encoded(review(document()))
    callers = AllowedCallers(client_ca=authority.cert_pem, client_names=[NAME])
    async with listening(Webhooks(mykind_admission()), callers) as (server, bundle):
        for names, expected in (((NAME, "else"), 403), (("else", NAME), 200)):
            client = make(names[1], authority, common_names=names[:1])
            url = f"https://{HOST}:{server.port}{VALIDATE}"
            status, _ = await posted(url, presenting(client_context(bundle), client, tmp_path), body)
            assert status == expected, names


@pytest.mark.parametrize("wrong", [{"days": -1}, {"usage": ExtendedKeyUsageOID.SERVER_AUTH}], ids=["expired", "server"])
async def test_an_expired_certificate_and_one_for_servers_fail_in_the_handshake(
    wrong: dict[str, Any], authority: Pair, tmp_path: Path
) -> None:
    async with listening(Webhooks(mykind_admission()), AllowedCallers(client_ca=authority.cert_pem)) as (
        server,
        bundle,
    ):
        context = presenting(client_context(bundle), make(NAME, authority, **wrong), tmp_path)
        with pytest.raises((aiohttp.ClientError, ssl.SSLError, ConnectionError)):
            await posted(f"https://{HOST}:{server.port}{VALIDATE}", context, encoded(review(document())))


async def test_a_request_without_a_certificate_is_refused_before_its_body_is_read(authority: Pair) -> None:
    callers = AllowedCallers(client_ca=authority.cert_pem)
    async with listening(Webhooks(mykind_admission()), callers) as (server, bundle):
        reader, writer = await asyncio.open_connection(HOST, server.port, ssl=client_context(bundle))
        head = f"POST {VALIDATE} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n"
        writer.write(head.encode())
        assert (await reader.readline()).startswith(b"HTTP/1.1 401 ")
        writer.close()


async def test_probes_and_conversions_are_answered_without_credentials(authority: Pair) -> None:
    """API servers and kubelets have none for them."""
    callers = AllowedCallers(client_ca=authority.cert_pem, tokens=no_reviews(required=True))
    convert = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"}
    convert["request"] = {"uid": "1", "desiredAPIVersion": "grp.example.com/v1alpha2", "objects": [document()]}  # type: ignore[assignment]
    async with (
        listening(Webhooks(mykind_admission(), Versions.of(Mykind)), callers) as (server, bundle),
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=client_context(bundle))) as session,
    ):
        base = f"https://{HOST}:{server.port}"
        async with session.get(f"{base}/readyz") as answer:
            assert answer.status == 200
        async with session.post(f"{base}/convert", json=convert) as answer:
            assert (await answer.json())["response"]["result"]["status"] == "Success"
        async with session.post(f"{base}{VALIDATE}", json={}) as answer:
            assert answer.status == 401


def no_reviews(*, required: bool) -> CallerTokens:
    return CallerTokens(Client.__new__(Client), "https://nowhere.test", required=required)


def test_an_authority_without_a_certificate_is_an_error() -> None:
    with pytest.raises(CertificateError, match="client CA contains no usable PEM certificate"):
        WebhookServer(Webhooks(), MemoryCertificates([HOST]), callers=AllowedCallers(client_ca=b"none"))


# -- an API server that calls ------------------------------------------------------------------------------------------


def admission_configuration(folder: Path, user: dict[str, str], name: str = "*") -> Path:
    """The file of a server whose calls of validating webhooks are those of ``user``."""
    kubeconfig = folder / "webhooks.kubeconfig"
    kubeconfig.write_text(yaml.safe_dump({"kind": "Config", "users": [{"name": name, "user": user}]}))
    plugin = {
        "name": "ValidatingAdmissionWebhook",
        "configuration": {
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "WebhookAdmission",
            "kubeConfigFile": str(kubeconfig),
        },
    }
    kind = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration"}
    file = folder / "admission.yaml"
    file.write_text(yaml.safe_dump({**kind, "plugins": [plugin]}))
    return file


@asynccontextmanager
async def cluster(**options: Any) -> AsyncIterator[EmbeddedCluster]:
    security = Security(auth=True, **options)
    async with EmbeddedCluster(control_plane=False, nodes=0, security=security) as embedded:
        yield embedded


async def registered(embedded: EmbeddedCluster, server: WebhookServer, bundle: bytes) -> None:
    await install(embedded.client, [ADMISSION], "maps", UrlTarget(f"https://{HOST}:{server.port}"), bundle=bundle)


async def created(embedded: EmbeddedCluster) -> str:
    """The message with which a new ConfigMap is refused."""
    with pytest.raises((Forbidden, InternalError)) as refused:
        await embedded.client.create(ConfigMap.named("a", "default"))
    return str(refused.value)


async def test_an_api_server_identifies_itself_by_the_certificate_of_its_kubeconfig(
    authority: Pair, tmp_path: Path
) -> None:
    make(NAME, authority).write(tmp_path, "client")
    user = {"client-certificate": "client.crt", "client-key": "client.key"}
    file = admission_configuration(tmp_path, user)
    callers = AllowedCallers(client_ca=authority.cert_pem, client_names=[NAME])
    async with listening(Webhooks(ADMISSION), callers) as (server, bundle):
        async with cluster(admission_control_config_file=file) as embedded:
            await registered(embedded, server, bundle)
            assert "denied the request: not today" in await created(embedded)
        async with cluster() as embedded:
            await registered(embedded, server, bundle)
            message = await created(embedded)
            assert 'failed calling webhook "configmap.validate.setpoint' not in message
            assert "this webhook takes reviews only from API servers with a client certificate" in message


async def test_an_api_server_identifies_itself_by_a_token_that_is_reviewed_once(tmp_path: Path) -> None:
    async with cluster(webhook_tokens=True) as embedded, Client.from_config(embedded.config()) as client:
        reviews: list[str] = []
        tokens = CallerTokens(counting(client, reviews), "https://webhooks.test", required=True)
        async with listening(Webhooks(ADMISSION), AllowedCallers(tokens=tokens)) as (server, bundle):
            tokens._address = f"https://{HOST}:{server.port}"
            await registered(embedded, server, bundle)
            assert "denied the request: not today" in await created(embedded)
            assert "denied the request: not today" in await created(embedded)
            assert reviews == [f"https://{HOST}:{server.port}{PATH}"]


def counting(client: Client, reviews: list[str]) -> Client:
    create = client.create

    async def counted(obj: Any, **options: Any) -> Any:
        reviews.extend(obj.spec.audiences)
        await asyncio.sleep(0)  # as a connection would
        return await create(obj, **options)

    client.create = counted  # type: ignore[method-assign]
    return client


async def test_a_required_token_of_which_an_api_server_knows_nothing_refuses_its_calls() -> None:
    async with cluster() as embedded:
        callers = AllowedCallers(tokens=CallerTokens(embedded.client, "https://webhooks.test", required=True))
        async with listening(Webhooks(ADMISSION), callers) as (server, bundle):
            await registered(embedded, server, bundle)
            assert "if API servers send none yet, start the webhook with --webhook-tokens=verify" in await created(
                embedded
            )


async def test_a_token_that_is_not_required_is_verified_only_if_it_comes(caplog: pytest.LogCaptureFixture) -> None:
    async with cluster() as embedded:
        callers = AllowedCallers(tokens=CallerTokens(embedded.client, "https://webhooks.test"))
        async with listening(Webhooks(ADMISSION), callers) as (server, bundle):
            await registered(embedded, server, bundle)
            assert "denied the request: not today" in await created(embedded)
            assert "denied the request: not today" in await created(embedded)
            warnings = [record.message for record in caplog.records if "without a token" in record.message]
            assert len(warnings) == 1, "once for a webhook"
            url = f"https://{HOST}:{server.port}{PATH}"
            status, answer = await posted(url, client_context(bundle), b"{}", authorization="Bearer a.b.c")
            assert (status, answer["reason"]) == (401, "Unauthorized")


# -- tokens that were issued to others ---------------------------------------------------------------------------------

ADDRESS = "https://maps.system.svc:443"


async def issued(client: Client, audience: str, group: str | None = None) -> str:
    """A token of the service account ``a``, bound to the configuration ``maps`` if there is a group."""
    spec: dict[str, Any] = {"audiences": [audience]}
    if group is not None:
        kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
        spec |= {"boundObjectRef": {**kind, "name": "maps"}, "attestations": {"admissionReviewAPIGroups": [group]}}
    answer = await client.request(
        "POST", "/api/v1/namespaces/default/serviceaccounts/a/token", body=json.dumps({"spec": spec}).encode()
    )
    return str(json.loads(answer)["status"]["token"])


def body_about(group: str) -> bytes:
    resource = {"group": group, "version": "v1", "resource": "things"}
    return json.dumps({"request": {"uid": "1", "resource": resource}}).encode()


@asynccontextmanager
async def reviewing() -> AsyncIterator[tuple[Client, CallerTokens]]:
    async with EmbeddedCluster(control_plane=False, nodes=0, security=Security(webhook_tokens=True)) as embedded:
        client = embedded.client
        await client.create(ServiceAccount.named("a", "default"))
        await client.create(configuration())
        yield client, CallerTokens(client, ADDRESS)


def configuration() -> ValidatingWebhookConfiguration:
    rule = {"apiGroups": ["", "apps"], "apiVersions": ["*"], "resources": ["*"], "operations": ["*"]}
    service = {"namespace": "system", "name": "maps", "path": PATH}
    hook = {
        "name": "maps.hooks.test", "clientConfig": {"service": service}, "rules": [rule], "failurePolicy": "Ignore",
        "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "namespaceSelector": {"matchLabels": {"none": "such"}},
    }  # fmt: skip
    return from_wire(ValidatingWebhookConfiguration, {"metadata": {"name": "maps"}, "webhooks": [hook]})


async def test_a_token_for_one_group_allows_reviews_of_this_group_alone() -> None:
    async with reviewing() as (client, tokens):
        token = await issued(client, ADDRESS + PATH, "apps")
        assert await tokens.refusal(token, PATH, body_about("apps")) is None
        refusal = await tokens.refusal(token, PATH, body_about("batch"))
        assert refusal is not None
        assert refusal.status == 403
        assert b"the token is for reviews of the API group 'apps', not of 'batch'" in refusal.body
        refusal = await tokens.refusal(token, PATH, b"[]")
        assert refusal is not None
        assert refusal.status == 400
        assert await tokens.refusal(await issued(client, ADDRESS + PATH, "*"), PATH, body_about("batch")) is None


async def test_a_token_is_not_accepted_by_another_webhook() -> None:
    async with reviewing() as (client, tokens):
        token = await issued(client, ADDRESS + PATH, "apps")
        refusal = await tokens.refusal(token, "/validate-another", body_about("apps"))
        assert refusal is not None
        assert refusal.status == 401
        assert b"does not accept the token for https://maps.system.svc:443/validate-another" in refusal.body


async def test_a_token_of_any_service_account_says_nothing() -> None:
    async with reviewing() as (client, tokens):
        refusal = await tokens.refusal(await issued(client, ADDRESS + PATH), PATH, body_about("apps"))
        assert refusal is not None
        assert refusal.status == 401
        assert b"the token is not bound to a webhook configuration" in refusal.body


async def test_refused_tokens_do_not_displace_an_accepted_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caller_tokens, "MAX_REMEMBERED", 4)
    async with reviewing() as (client, tokens):
        token = await issued(client, ADDRESS + PATH, "apps")
        assert await tokens.refusal(token, PATH, body_about("apps")) is None
        for number in range(5):
            assert await tokens.refusal(f"a.b.{number}", PATH, b"") is not None
        reviews: list[str] = []
        counting(client, reviews)
        assert await tokens.refusal(token, PATH, body_about("apps")) is None
        assert reviews == []


async def test_many_requests_at_once_have_their_token_reviewed_few_times() -> None:
    async with reviewing() as (client, tokens):
        token = await issued(client, ADDRESS + PATH, "apps")
        reviews: list[str] = []
        counting(client, reviews)
        refusals = await asyncio.gather(*(tokens.refusal(token, PATH, body_about("apps")) for _ in range(100)))
        assert refusals == [None] * 100
        assert 1 <= len(reviews) <= 8


async def test_a_token_is_worth_nothing_without_its_configuration() -> None:
    async with reviewing() as (client, tokens):
        token = await issued(client, ADDRESS + PATH, "apps")
        await client.delete(ValidatingWebhookConfiguration, "maps")
        refusal = await tokens.refusal(token, PATH, body_about("apps"))
        assert refusal is not None
        assert b"service account token has been invalidated" in refusal.body


async def test_a_token_that_can_not_be_reviewed_is_refused() -> None:
    async with cluster() as embedded, Client.from_config(replace(embedded.config(), credentials=Anonymous())) as client:
        refusal = await CallerTokens(client, ADDRESS).refusal("a.b.c", PATH, b"")
        assert refusal is not None
        assert refusal.status == 500
        assert b'cannot create resource \\"tokenreviews\\"' in refusal.body


def test_a_token_is_reviewed_again_within_its_lifetime() -> None:
    assert ACCEPTED_FOR < 600
