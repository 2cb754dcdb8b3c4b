"""TokenRequests that are bound to webhook configurations (KEP-6060), with the answers of a kube-apiserver 1.37 whose
feature gate APIServerWebhookAuthenticationToken is on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.apiserver.harness import Api, serving

from setpoint.apiserver import AccountTokens
from setpoint.apiserver.authorization.rbac import Rbac
from setpoint.apiserver.identity.keys import BadTokenError, PemKeys, claims_of, make_key
from setpoint.apiserver.storage import MemoryStorage

HOOKS = "/apis/admissionregistration.k8s.io/v1"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
URL = "https://validate.test/hook"
SERVICE = "https://hooks.system.svc:8443/validate"
WRONG = 'serviceaccounts/token "a" is forbidden: token request denied'
ATTEST = 'TokenRequest.authentication.k8s.io "" is invalid: spec.attestations'
ONE = "webhook bound requests require exactly one admissionReviewAPIGroups attestation"


def hook(name: str, config: dict[str, Any]) -> dict[str, Any]:
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"], "operations": ["CREATE"]}
    common = {"sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore"}
    return {"name": name, "clientConfig": config, "rules": [rule], **common}


@asynccontextmanager
async def issuing(
    *, webhooks: bool = True, groups: tuple[str, ...] = ("apps", "batch"), key: bytes = b""
) -> AsyncIterator[Api]:
    """A server with a configuration of both kinds, and the account ``a``, which may attest ``groups``."""
    storage = MemoryStorage()
    tokens = AccountTokens(PemKeys(key or make_key()), webhooks=webhooks)
    async with serving(storage=storage, account_tokens=tokens, authorizer=Rbac(storage)) as api:
        service = {"namespace": "system", "name": "hooks", "port": 8443, "path": "/validate"}
        webhook_list = [hook("a.hooks.test", {"url": URL}), hook("b.hooks.test", {"service": service})]
        for kind in ("validating", "mutating"):
            body = {"metadata": {"name": kind}, "webhooks": webhook_list}
            (await api.post(f"{HOOKS}/{kind}webhookconfigurations", body)).ok()
        (await api.post(ACCOUNTS, {"metadata": {"name": "a"}})).ok()
        rule = {
            "apiGroups": ["authentication.k8s.io"],
            "resources": ["admissionReviewAPIGroups"],
            "resourceNames": list(groups),
            "verbs": ["attest"],
        }
        (await api.post(f"{RBAC}/clusterroles", {"metadata": {"name": "attest"}, "rules": [rule]})).ok()
        role = {"kind": "ClusterRole", "name": "attest", "apiGroup": "rbac.authorization.k8s.io"}
        subject = {"kind": "ServiceAccount", "name": "a", "namespace": "default"}
        binding = {"metadata": {"name": "attest"}, "roleRef": role, "subjects": [subject]}
        (await api.post(f"{RBAC}/clusterrolebindings", binding)).ok()
        yield api


def request(kind: str = "Validating", **changes: Any) -> dict[str, Any]:
    reference = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "name": kind.lower(),
        **changes.pop("reference", {}),
    }
    spec = {
        "audiences": [URL],
        "boundObjectRef": reference,
        "attestations": {"admissionReviewAPIGroups": ["apps"]},
        **changes,
    }
    return {"spec": {key: value for key, value in spec.items() if value is not None}}


@pytest.mark.parametrize("kind", ["Validating", "Mutating"])
@pytest.mark.parametrize("audience", [URL, SERVICE])
async def test_a_token_names_its_configuration_and_the_group_that_is_attested(kind: str, audience: str) -> None:
    async with issuing() as api:
        answer = (await api.post(f"{ACCOUNTS}/a/token", request(kind, audiences=[audience]))).ok()
        assert answer["spec"]["expirationSeconds"] == 600
        token, name = answer["status"]["token"], f"{kind.lower()}webhookconfiguration"
        _, claims = claims_of(token)
        assert (claims["aud"], claims["exp"] - claims["iat"]) == ([audience], 600)
        private = claims["kubernetes.io"]
        assert private.keys() == {"namespace", "serviceaccount", name, "attestations"}
        assert private["attestations"] == {"admissionReviewAPIGroups": ["apps"]}
        uid = private[name]["uid"]
        assert private[name] == {"name": kind.lower(), "uid": uid}

        review = {"spec": {"token": token, "audiences": [audience]}}
        reviews = "/apis/authentication.k8s.io/v1/tokenreviews"
        extra = (await api.post(reviews, review)).ok()["status"]["user"]["extra"]
        extra.pop("authentication.kubernetes.io/credential-id")
        assert extra == {
            f"authentication.kubernetes.io/{name}-name": [kind.lower()],
            f"authentication.kubernetes.io/{name}-uid": [uid],
            "attestation.authentication.kubernetes.io/admissionReviewAPIGroups": ["apps"],
        }
        (await api.delete(f"{HOOKS}/{name}s/{kind.lower()}")).ok()
        assert "authenticated" not in (await api.post(reviews, review)).ok()["status"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"attestations": None}, f"{ATTEST}: Invalid value: null: {ONE}"),
        ({"attestations": {"admissionReviewAPIGroups": []}},
         f"{ATTEST}[admissionReviewAPIGroups]: Invalid value: []: must specify a single value"),
        ({"attestations": {"admissionReviewAPIGroups": ["a", "b"]}},
         f'{ATTEST}[admissionReviewAPIGroups]: Invalid value: ["a","b"]: must specify a single value'),
        ({"attestations": {"admissionReviewAPIGroups": ["apps"], "other": ["x"]}},
         f'{ATTEST}: Invalid value: {{"admissionReviewAPIGroups":["apps"],"other":["x"]}}: {ONE}'),
        ({"audiences": [URL, SERVICE]},
         'TokenRequest.authentication.k8s.io "" is invalid: spec.audiences: Invalid value: '
         f'["{URL}","{SERVICE}"]: must be length 1 when bound to a webhook config'),
        ({"boundObjectRef": None}, f'{ATTEST}: Invalid value: {{"admissionReviewAPIGroups":["apps"]}}: attestations '
         "may only be specified with a webhook bound object reference"),
        ({"attestations": {"admissionReviewAPIGroups": ["*"]}},
         'admissionReviewAPIGroups.authentication.k8s.io "*" is forbidden: User "system:serviceaccount:default:a" '
         'cannot attest resource "admissionReviewAPIGroups" in API group "authentication.k8s.io" at the cluster scope'),
        ({"attestations": {"admissionReviewAPIGroups": ["batch"]}}, WRONG),
        ({"audiences": ["https://wrong.test"]}, WRONG),
        ({"audiences": [f"{SERVICE}/"]}, WRONG),
        ({"reference": {"name": "none"}}, WRONG),
        ({"reference": {"uid": "wrong"}},
         "Operation cannot be fulfilled on ValidatingWebhookConfiguration.admissionregistration.k8s.io "
         '"validating": the UID in the bound object reference (wrong) does not match the UID in record. The object '
         "might have been deleted and then recreated"),
        ({"audiences": ["https://kubernetes.default.svc.cluster.local"]},
         "api server audiences are invalid for webhook token requests"),
    ],
)  # fmt: skip
async def test_a_request_is_refused_in_the_words_of_a_kube_apiserver(changes: dict[str, Any], message: str) -> None:
    async with issuing() as api:
        assert (await api.post(f"{ACCOUNTS}/a/token", request(**changes))).json["message"] == message


async def test_an_empty_group_is_refused() -> None:
    async with issuing() as api:
        answer = await api.post(f"{ACCOUNTS}/a/token", request(attestations={"admissionReviewAPIGroups": [""]}))
        answer.failed(422, "Invalid", 'Invalid value: "": may not be an empty string')


async def test_an_account_that_may_attest_every_group_gets_a_token_for_any_audience() -> None:
    async with issuing(groups=("*",)) as api:
        everything = {"admissionReviewAPIGroups": ["*"]}
        answer = await api.post(f"{ACCOUNTS}/a/token", request(attestations=everything, audiences=["https://x.test"]))
        assert claims_of(answer.ok()["status"]["token"])[1]["kubernetes.io"]["attestations"] == everything


async def test_without_the_feature_gate_no_token_is_bound_to_a_configuration() -> None:
    async with issuing(webhooks=False) as api:
        answer = await api.post(f"{ACCOUNTS}/a/token", request())
        answer.failed(400, "BadRequest", "(feature gate APIServerWebhookAuthenticationToken is disabled)")


async def test_a_token_that_is_bound_to_a_configuration_is_refused_after_a_restart_without_the_feature_gate() -> None:
    key = make_key()
    async with issuing(key=key) as api:
        token = (await api.post(f"{ACCOUNTS}/a/token", request())).ok()["status"]["token"]
        now = datetime.fromtimestamp(claims_of(token)[1]["iat"], UTC)
        for webhooks in (True, False):
            tokens = AccountTokens(PemKeys(key), webhooks=webhooks)
            if webhooks:
                assert tokens.user_of(api.server.storage, now, token, [URL]) is not None
            else:
                with pytest.raises(BadTokenError, match="is disabled, but token is webhook bound"):
                    tokens.user_of(api.server.storage, now, token, [URL])
