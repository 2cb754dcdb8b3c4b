"""Registrations: their contents, how they come into force, and how they go."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from setpoint.apiserver import ApiServer
from setpoint.apiserver.http_types import Response
from setpoint.client import Client, InProcessTransport, NotFound
from setpoint.crd import crd_for
from setpoint.meta import GroupKind, ObjectMeta, from_wire, to_wire
from setpoint.models.admissionregistration_v1 import MutatingWebhookConfiguration, ValidatingWebhookConfiguration
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.models.core_v1 import Namespace, Pod
from setpoint.patch import merge_patch
from setpoint.testing import now, virtual_time
from setpoint.webhook import (
    Admission,
    Match,
    NotInForce,
    ServiceTarget,
    UrlTarget,
    Webhooks,
    configurations,
    conversion,
    install,
    trusting,
    uninstall,
)
from setpoint.webhook.connect_options import PodExecOptions
from setpoint.webhook.installation_probe import marked

from .mykind import MUTATE, VALIDATE, Mykind, document, encoded, mykind_admission, review

SERVICE = ServiceTarget("mykind-webhook", "system")


class MykindConverter:
    versions = ("v1alpha1", "v1alpha2")
    group_kind = GroupKind("grp.example.com", "Mykind")
    classes = (Mykind,)

    def convert(self, document: dict[str, Any], to_version: str) -> dict[str, Any]:
        return {**document, "apiVersion": f"grp.example.com/{to_version}"}


def test_configurations_say_what_the_declaration_says() -> None:
    webhooks = Webhooks(mykind_admission())
    mutating, validating = configurations(webhooks, "mykind", SERVICE, bundle=b"PEM", labels={"app": "mykind"})
    assert mutating == {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "mykind", "labels": {"app": "mykind"}},
        "webhooks": [
            {
                "name": "mutate.mykinds.grp.example.com",
                "clientConfig": {
                    "service": {"name": "mykind-webhook", "namespace": "system", "path": MUTATE, "port": 443},
                    "caBundle": base64.b64encode(b"PEM").decode(),
                },
                "rules": [
                    {
                        "apiGroups": ["grp.example.com"],
                        "apiVersions": ["v1alpha2"],
                        "operations": ["CREATE", "UPDATE"],
                        "resources": ["mykinds"],
                        "scope": "Namespaced",
                    }
                ],
                "admissionReviewVersions": ["v1"],
                "failurePolicy": "Fail",
                "matchPolicy": "Equivalent",
                "sideEffects": "None",
                "timeoutSeconds": 10,
                "reinvocationPolicy": "Never",
            }
        ],
    }
    assert validating["kind"] == "ValidatingWebhookConfiguration"
    assert "reinvocationPolicy" not in validating["webhooks"][0]


def test_every_option_is_registered() -> None:
    admission = mykind_admission(
        failure_policy="Ignore",
        side_effects="NoneOnDryRun",
        timeout=3,
        reinvocation="IfNeeded",
        match=Match(
            policy="Exact",
            namespace_selector={"matchExpressions": [{"key": "x", "operator": "Exists"}]},
            object_selector={"team": "a"},
            conditions={"not-me": "request.userInfo.username != 'me'"},
        ),
        name="second",
    )
    (entry,) = configurations(Webhooks(admission), "x", UrlTarget("https://dev.example.com:9443/"))[0]["webhooks"]
    assert entry["name"] == "second.mutate.mykinds.grp.example.com"
    assert entry["clientConfig"] == {"url": f"https://dev.example.com:9443{MUTATE}-second"}
    assert entry["failurePolicy"] == "Ignore"
    assert entry["matchPolicy"] == "Exact"
    assert entry["sideEffects"] == "NoneOnDryRun"
    assert entry["timeoutSeconds"] == 3
    assert entry["reinvocationPolicy"] == "IfNeeded"
    assert entry["namespaceSelector"] == {"matchExpressions": [{"key": "x", "operator": "Exists"}]}
    assert entry["objectSelector"] == {"matchLabels": {"team": "a"}}
    assert entry["matchConditions"] == [{"name": "not-me", "expression": "request.userInfo.username != 'me'"}]


def test_a_webhook_for_built_in_kinds_does_not_keep_itself_from_coming_up() -> None:
    pods = Admission(Pod).validates(lambda pod: None, on=("create", "delete"))
    shells = Admission(PodExecOptions, of=Pod, subresource="exec").validates(lambda it: None, on=("connect",))
    everywhere = Admission(Pod, name="all", match=Match(namespace_selector={})).validates(lambda pod: None)
    (validating,) = configurations(Webhooks(pods, shells, everywhere), "pods", SERVICE)
    first, second, third = validating["webhooks"]
    assert first["namespaceSelector"] == {
        "matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "system"]}
        ]
    }
    assert (first["name"], first["rules"][0]["operations"]) == ("validate.v1.pods.core", ["CREATE", "DELETE"])
    assert second["name"] == "validate.v1.pods.exec.core"
    assert second["rules"][0]["resources"] == ["pods/exec"]
    assert second["rules"][0]["operations"] == ["CONNECT"]
    assert "namespaceSelector" not in third


@pytest.mark.parametrize(
    "url", ["http://x", "https://", "x:9443", "https://x?y=1", "https://x#y", "https://me:pw@x", "https://me@x"]
)
def test_an_address_that_api_servers_refuse_is_refused_here(url: str) -> None:
    with pytest.raises(ValueError, match="must be of the form https"):
        UrlTarget(url)


def test_conversion_of_a_definition() -> None:
    assert conversion(SERVICE, bundle=b"x") == {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {
                "service": {"name": "mykind-webhook", "namespace": "system", "path": "/convert", "port": 443},
                "caBundle": "eA==",
            },
            "conversionReviewVersions": ["v1"],
        },
    }


DEFINITION = "mykinds.grp.example.com"


class Converting:
    """An API server that takes conversion webhooks: it keeps one CustomResourceDefinition as it is told."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.definition = {**crd_for(Mykind), "metadata": {"name": DEFINITION, "resourceVersion": "1"}}

    async def handle(self, request: Any) -> Any:
        if not request.path.endswith(f"/customresourcedefinitions/{DEFINITION}"):
            return await self.server.handle(request)
        if request.method == "PATCH":
            patch = json.loads(request.body)
            if patch.get("metadata", {}).get("resourceVersion") not in (None, "1"):
                return Response(409, {}, b"{}")
            self.definition = merge_patch.apply(self.definition, patch)
        return Response(200, {}, encoded(self.definition))


@asynccontextmanager
async def api() -> AsyncIterator[Client]:
    async with ApiServer(now=now) as server, Client(InProcessTransport(Converting(server).handle)) as client:
        await client.create(Namespace.named("system"))
        await client.create(from_wire(CustomResourceDefinition, crd_for(Mykind)))
        yield client


@virtual_time
async def test_install_and_uninstall_leave_nothing_behind() -> None:
    webhooks = Webhooks(mykind_admission(), MykindConverter())
    async with api() as client:
        for target in (UrlTarget("https://dev.example.com"), SERVICE, SERVICE):
            await install(client, webhooks, "mykind", target, bundle=b"PEM")
        mutating = await client.get(MutatingWebhookConfiguration, "mykind")
        config = mutating.webhooks[0].client_config
        assert config.ca_bundle == b"PEM"
        assert config.url is None
        assert config.service is not None
        assert (config.service.name, config.service.path) == ("mykind-webhook", MUTATE)
        definition = await client.get(CustomResourceDefinition, DEFINITION)
        assert definition.spec.conversion is not None
        assert definition.spec.conversion.strategy == "Webhook"
        assert definition.spec.conversion.webhook is not None
        assert definition.spec.conversion.webhook.client_config is not None
        assert definition.spec.conversion.webhook.client_config.ca_bundle == b"PEM"
        assert definition.spec.conversion.webhook.client_config.url is None
        assert trusting(webhooks, "mykind") == [
            ("MutatingWebhookConfiguration", "mykind"),
            ("ValidatingWebhookConfiguration", "mykind"),
            ("CustomResourceDefinition", "mykinds.grp.example.com"),
        ]
        for _ in range(2):
            await uninstall(client, webhooks, "mykind")
            for kind in (MutatingWebhookConfiguration, ValidatingWebhookConfiguration):
                with pytest.raises(NotFound):
                    await client.get(kind, "mykind")
            definition = await client.get(CustomResourceDefinition, DEFINITION)
            assert definition.spec.conversion is not None
            assert definition.spec.conversion.strategy == "None"
            assert definition.spec.conversion.webhook is None


@virtual_time
async def test_install_says_which_webhook_is_not_called() -> None:
    loop = asyncio.get_running_loop()
    sample = Mykind(metadata=ObjectMeta(name="sample", namespace="system"))
    deaf = Webhooks(mykind_admission(name="deaf", match=Match(object_selector={"never": "set"})))
    async with api() as client:
        with pytest.raises(NotInForce, match=r"does not call the webhook that should mutate Mykind on create"):
            await install(client, deaf, "mykind", SERVICE, samples=[sample], timeout=20)
        assert 20 <= loop.time() < 21


async def test_a_marked_dry_run_is_answered_without_calling_a_function() -> None:
    def never(_mykind: Mykind) -> None:
        raise AssertionError

    webhooks = Webhooks(Admission(Mykind).validates(never))
    sample = marked(from_wire(Mykind, document()), "validate")
    reply = await webhooks.handle_review(VALIDATE, encoded(review(to_wire(sample), dryRun=True)))
    assert json.loads(reply.body)["response"]["status"]["message"] == "in force: webhooks validate this"
    assert (await webhooks.handle_review(VALIDATE, encoded(review(to_wire(sample))))).status == 500  # it was called


def test_targets_are_values() -> None:
    assert replace(SERVICE, port=8443).client_config("/x") == {
        "service": {"name": "mykind-webhook", "namespace": "system", "path": "/x", "port": 8443}
    }
    with pytest.raises(ValueError, match="the Service's name 'No'"):
        ServiceTarget("No", "system")
