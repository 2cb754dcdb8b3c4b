"""The embedded control plane's controllers that ask the server what it serves, or that sign, survive what controllers
of users have to. The full search takes minutes (``make corpus``)."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.cluster.test_autoscalers import autoscaler, deployment
from tests.cluster.test_csr_signing import asked, decide
from tests.cluster.test_policy_type_checking import policy
from tests.cluster.test_resource_quotas import Thing, pod, quota
from tests.cluster.test_storage_version_migrations import migration
from tests.simulation import test_control_plane as workloads
from tests.simulation import test_control_plane_infrastructure as infrastructure
from tests.simulation.test_control_plane import Scenario, survives

import setpoint as sp
from setpoint.cluster.controller_registry import ENTRIES, GARBAGE_COLLECTOR
from setpoint.cluster.nodes.resource_usage import ANNOTATION
from setpoint.models.admissionregistration_v1 import ValidatingAdmissionPolicy, Validation
from setpoint.models.apps_v1 import Deployment
from setpoint.models.autoscaling_v2 import HorizontalPodAutoscaler
from setpoint.models.certificates_v1 import CertificateSigningRequest
from setpoint.models.core_v1 import ConfigMap, Namespace, Pod, ResourceQuota
from setpoint.models.storagemigration_v1 import StorageVersionMigration
from setpoint.simulation import always

SHOP = "shop"
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
SIGNED = asked("signed", key=KEY)
REFUSED = asked("refused", usages=("server auth",), key=KEY)


async def namespaces(cluster: sp.testing.Cluster) -> None:
    held = ConfigMap.named("held", SHOP)
    held.metadata.finalizers = ["example.com/hold"]
    web = pod("web")
    web.metadata.namespace = SHOP
    for result in (Namespace.named(SHOP), ConfigMap.named("settings", SHOP), held, web):
        await cluster.create(result)
    await cluster.settle()
    await cluster.delete(await cluster.get(Namespace, SHOP))

    async def is_emptied() -> bool:
        left = [*await cluster.list(Pod, namespace=SHOP), *await cluster.list(ConfigMap, namespace=SHOP)]
        return [item.name for item in left] == ["held"] and left[0].is_deleting

    await cluster.until(is_emptied)
    await cluster.settle()
    await cluster.client.patch(ConfigMap, "held", {"metadata": {"finalizers": None}}, namespace=SHOP)

    async def is_gone() -> bool:
        return await cluster.find(Namespace, SHOP) is None

    await cluster.until(is_gone)
    await cluster.create(Namespace.named(SHOP))
    await cluster.settle()


def by_queue(length: str) -> HorizontalPodAutoscaler:
    """An autoscaler that wants a pod for each ten in a queue, which has this length. With rules for its behavior, it
    does not take back a number that has changed since the last recommendation.
    """
    metric = {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "10"}}
    new_autoscaler = autoscaler(
        {"type": "External", "external": metric}, most=4, behavior={"scaleDown": {"stabilizationWindowSeconds": 60}}
    )
    new_autoscaler.metadata.annotations = {f"{ANNOTATION}queue": length}
    return new_autoscaler


async def autoscalers(cluster: sp.testing.Cluster) -> None:
    async def are(count: int) -> bool:
        current_deployment = await cluster.get(Deployment, "web")
        return current_deployment.spec.replicas == current_deployment.status.ready_replicas == count

    async def are_many() -> bool:
        return await are(4)

    async def are_few() -> bool:
        return await are(1)

    await cluster.apply(deployment(2))
    await cluster.apply(by_queue("70"))
    await cluster.until(are_many, within=600.0)
    await cluster.settle()
    await cluster.apply(by_queue("5"))
    await cluster.until(are_few, within=900.0)
    await cluster.settle()


async def quotas(cluster: sp.testing.Cluster) -> None:
    async def used(pods: int, things: int) -> bool:
        resource_quota = await cluster.get(ResourceQuota, "most")
        return resource_quota.status.used == {"pods": f"{pods}", "count/things.quota.example.com": f"{things}"}

    async def are_used() -> bool:
        return await used(2, 2)

    async def are_free() -> bool:
        return await used(1, 1)

    await cluster.create(quota(pods="3", count__things_quota_example_com="3"))
    await cluster.settle()
    for name in ("a", "b"):
        await cluster.create(pod(name))
        await cluster.create(Thing.named(name, "default"))
    await cluster.until(are_used)
    await cluster.settle()
    await cluster.delete(await cluster.get(Pod, "a"))
    await cluster.delete(await cluster.get(Thing, "a", "default"))
    await cluster.until(are_free)
    await cluster.settle()


async def migrations(cluster: sp.testing.Cluster) -> None:
    for name in "ab":
        await cluster.create(ConfigMap.named(name, "default", data={"a": name}))
    for _ in range(2):
        await cluster.create(migration("configmaps"))
        await cluster.settle()

        async def is_done() -> bool:
            current_migration = await cluster.get(StorageVersionMigration, "configmaps")
            return any(condition.type == "Succeeded" for condition in current_migration.status.conditions)

        await cluster.until(is_done)
        await cluster.delete(await cluster.get(StorageVersionMigration, "configmaps"))
        await cluster.settle()


async def policies(cluster: sp.testing.Cluster) -> None:
    for name, text in (("fits", "object.spec.replicas > 1"), ("confused", "object.spec.replicas > '1'")):
        await cluster.create(policy(name, Validation(expression=text)))
        await cluster.settle()

    async def are_checked() -> bool:
        return all(policy.status.type_checking is not None for policy in await cluster.list(ValidatingAdmissionPolicy))

    await cluster.until(are_checked)


async def requests(cluster: sp.testing.Cluster) -> None:
    for request in (SIGNED, REFUSED):
        await cluster.create(request)
        await cluster.settle()
        await decide(cluster.client, request.name)
        await cluster.settle()

    async def is_signed() -> bool:
        return bool((await cluster.get(CertificateSigningRequest, SIGNED.name)).status.certificate)

    await cluster.until(is_signed)


def certificates_fit(there: sp.simulation.Objects) -> bool:
    """Whether every certificate is for the key of its request, and no request that was refused has got one."""
    signing_requests = there.list(CertificateSigningRequest)
    return all(
        _fits(signing_request) for signing_request in signing_requests if signing_request.status.certificate
    ) and not any(
        signing_request.status.certificate
        and any(condition.type == "Failed" for condition in signing_request.status.conditions)
        for signing_request in signing_requests
    )


def _fits(request: CertificateSigningRequest) -> bool:
    certificate = x509.load_pem_x509_certificate(request.status.certificate or b"")
    return certificate.public_key() == x509.load_pem_x509_csr(request.spec.request).public_key()


SCENARIOS: dict[str, Scenario] = {
    "certificatesigningrequest-signing-controller": requests,
    "horizontal-pod-autoscaler-controller": autoscalers,
    "namespace-controller": namespaces,
    "resourcequota-controller": quotas,
    "storage-version-migrator-controller": migrations,
    "validatingadmissionpolicy-status-controller": policies,
}
OPTIONS: dict[str, dict[str, Any]] = {
    "certificatesigningrequest-signing-controller": {
        "predicates": [always(certificates_fit, "certificates fit")],
        "ignore": {
            "certificatesigningrequests.certificates.k8s.io status.certificate": "has a number and times of its own",
            "certificatesigningrequests.certificates.k8s.io refused": "is deleted after an hour, as upstream",
            "certificatesigningrequests.certificates.k8s.io signed": "is deleted after an hour, as upstream",
        },
    },
    "horizontal-pod-autoscaler-controller": {
        "ignore": {"horizontalpodautoscalers.autoscaling status.lastScaleTime": "a crash loses it, as upstream"},
    },
    "resourcequota-controller": {"crds": [Thing]},
}


def test_every_controller_of_the_control_plane_is_simulated() -> None:
    simulated = [*SCENARIOS, *infrastructure.SCENARIOS, *workloads.SCENARIOS, GARBAGE_COLLECTOR]
    assert sorted(simulated) == sorted(entry.name for entry in ENTRIES)


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_controllers_that_ask_what_the_server_serves_or_sign_survive(name: str) -> None:
    survives(name, 12, SCENARIOS[name], **OPTIONS.get(name, {}))


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_controllers_that_ask_what_the_server_serves_or_sign_survive_every_single_fault(name: str) -> None:
    survives(name, 2500, SCENARIOS[name], **OPTIONS.get(name, {}))
