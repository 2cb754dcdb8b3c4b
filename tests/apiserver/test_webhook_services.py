"""Services of webhooks, which lead somewhere in an embedded server if it is told where."""

from __future__ import annotations

import asyncio
import base64

import pytest
from tests.apiserver.harness import MAPS, config_map, serving

from setpoint.apiserver import HttpCaller
from setpoint.apiserver.webhooks.caller import CallFailed, Target
from setpoint.models.core_v1 import ConfigMap
from setpoint.webhook import Admission, MemoryCertificates, Review, Webhooks, WebhookServer
from setpoint.webhook.certificate_authority import split

VALIDATING = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


def refuse(obj: ConfigMap, review: Review[ConfigMap]) -> None:
    review.deny("not today")


async def test_a_service_that_is_resolved_is_called_by_its_own_name() -> None:
    admission = Admission(ConfigMap).validates(refuse)
    certificates = MemoryCertificates(("maps.default.svc",))
    hooks = WebhookServer(Webhooks(admission), certificates, host="127.0.0.1", port=0)
    numbers: list[tuple[str, str, int]] = []

    def resolve(service: tuple[str, str, int]) -> str:
        numbers.append(service)
        return f"127.0.0.1:{hooks.port}"

    async with asyncio.TaskGroup() as group, serving(webhook_caller=HttpCaller(resolve)) as api:
        group.create_task(hooks.run())
        await hooks.ready.wait()
        service = {"namespace": "default", "name": "maps", "path": admission.path("validate")}
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}
        hook = {
            "name": "maps.hooks.test",
            "clientConfig": {"service": service, "caBundle": base64.b64encode(certificates.bundle).decode()},
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "rules": [rule],
        }
        (await api.post(VALIDATING, {"metadata": {"name": "maps"}, "webhooks": [hook]})).ok()
        (await api.post(MAPS, config_map())).failed(403, "Forbidden", "denied the request: not today")
        assert numbers == [("default", "maps", 443)]
        hooks.stop()


async def test_a_url_with_two_slashes_and_the_serving_certificate_as_its_bundle_will_do() -> None:
    """Both are what controller-runtime's envtest writes into configurations."""
    admission = Admission(ConfigMap).validates(refuse)
    certificates = MemoryCertificates(("127.0.0.1",))
    hooks = WebhookServer(Webhooks(admission), certificates, host="127.0.0.1", port=0)
    async with asyncio.TaskGroup() as group, serving(webhook_caller=HttpCaller()) as api:
        group.create_task(hooks.run())
        await hooks.ready.wait()
        assert certificates.current is not None
        leaf = split(certificates.current.certificate)[0]
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}
        url = f"https://127.0.0.1:{hooks.port}/{admission.path('validate')}"
        hook = {
            "name": "maps.hooks.test",
            "clientConfig": {"url": url, "caBundle": base64.b64encode(leaf).decode()},
            "admissionReviewVersions": ["v1", "v1beta1"],
            "sideEffects": "None",
            "rules": [rule],
        }
        assert "//" in url.removeprefix("https://")
        (await api.post(VALIDATING, {"metadata": {"name": "maps"}, "webhooks": [hook]})).ok()
        (await api.post(MAPS, config_map())).failed(403, "Forbidden", "denied the request: not today")
        hooks.stop()


@pytest.mark.parametrize("url", ["https://foo]/x", "https://a:99999/x"])
async def test_a_call_to_a_host_that_can_not_exist_fails(url: str) -> None:
    caller = HttpCaller()
    with pytest.raises(CallFailed, match="dial tcp"):
        await caller.call(Target(url), b"", 1)
    await caller.close()
