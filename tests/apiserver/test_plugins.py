"""The admission plugins that are on by default: what they set, what they refuse, and in which words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from setpoint.apiserver import ApiServer
from setpoint.client import Client, Forbidden, InProcessTransport
from setpoint.meta import Object, from_wire
from setpoint.models.core_v1 import PersistentVolumeClaim, Pod
from setpoint.models.networking_v1 import Ingress, IngressClass
from setpoint.models.node_v1 import RuntimeClass
from setpoint.models.scheduling_v1 import PriorityClass
from setpoint.models.storage_v1 import StorageClass
from setpoint.testing import virtual_time

MOMENT = datetime(2026, 1, 31, tzinfo=UTC)


def made(kind: type[Any], name: str, annotations: dict[str, str] | None = None, **fields: Any) -> Any:
    return from_wire(kind, {"metadata": {"name": name, "annotations": annotations or {}}, **fields})


def pod(name: str = "web", **spec: Any) -> Pod:
    result: Pod = made(Pod, name, spec={"containers": [{"name": "main", "image": "web:1"}], **spec})
    return result


async def refusal(client: Client, obj: Object) -> str:
    with pytest.raises(Forbidden) as raised:
        await client.create(obj)
    return raised.value.message


@virtual_time
async def test_the_priority_of_a_pod_is_that_of_its_class() -> None:
    async with ApiServer() as api, Client(InProcessTransport(api.handle), namespace="default") as client:
        assert (await client.create(pod("none"))).spec.priority == 0
        await client.create(made(PriorityClass, "high", value=1000, preemptionPolicy="Never"))
        current_pod = await client.create(pod("high", priorityClassName="high"))
        assert (current_pod.spec.priority, current_pod.spec.preemption_policy) == (1000, "Never")
        assert (
            await client.create(pod("system", priorityClassName="system-node-critical"))
        ).spec.priority == 2000001000
        assert await refusal(client, pod(priorityClassName="low")) == (
            'pods "web" is forbidden: no PriorityClass with name low was found'
        )
        assert await refusal(client, pod(priorityClassName="high", priority=5)) == (
            'pods "web" is forbidden: the integer value of priority (5) must not be provided in pod spec; priority '
            "admission controller computed 1000 from the given PriorityClass name"
        )
        assert await refusal(client, pod(priorityClassName="high", preemptionPolicy="PreemptLowerPriority")) == (
            'pods "web" is forbidden: the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided '
            "in pod spec; priority admission controller computed Never from the given PriorityClass name"
        )


@virtual_time
async def test_only_one_priority_class_is_for_all_pods_without() -> None:
    async with ApiServer() as api, Client(InProcessTransport(api.handle), namespace="default") as client:
        await client.create(made(PriorityClass, "usual", value=7, globalDefault=True))
        current_pod = await client.create(pod())
        assert (current_pod.spec.priority_class_name, current_pod.spec.priority) == ("usual", 7)
        assert await refusal(client, made(PriorityClass, "second", value=8, globalDefault=True)) == (
            'priorityclasses.scheduling.k8s.io "second" is forbidden: PriorityClass usual is already marked as '
            "default. Only one default can exist"
        )


@pytest.mark.parametrize("annotation", ["storageclass.kubernetes.io", "storageclass.beta.kubernetes.io"])
@virtual_time
async def test_a_claim_without_a_class_gets_the_default_one(annotation: str) -> None:
    async with (
        ApiServer(now=lambda: MOMENT) as api,
        Client(InProcessTransport(api.handle), namespace="default") as client,
    ):
        for name, is_default in (("a", "true"), ("b", "true"), ("c", "false")):
            await client.create(
                made(StorageClass, name, {f"{annotation}/is-default-class": is_default}, provisioner="x")
            )
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        result = await client.create(made(PersistentVolumeClaim, "data", spec=spec))
        assert result.spec.storage_class_name == "a"
        result = await client.create(made(PersistentVolumeClaim, "none", spec={**spec, "storageClassName": ""}))
        assert result.spec.storage_class_name == ""


@virtual_time
async def test_an_ingress_without_a_class_gets_the_default_one() -> None:
    async with ApiServer() as api, Client(InProcessTransport(api.handle), namespace="default") as client:
        mark = {"ingressclass.kubernetes.io/is-default-class": "true"}
        await client.create(made(IngressClass, "edge", mark, spec={"controller": "example.com/edge"}))
        spec = {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}
        assert (await client.create(made(Ingress, "web", spec=spec))).spec.ingress_class_name == "edge"
        old = made(Ingress, "old", {"kubernetes.io/ingress.class": "other"}, spec=spec)
        assert (await client.create(old)).spec.ingress_class_name is None


@virtual_time
async def test_pods_stay_for_five_minutes_on_a_node_that_does_not_answer() -> None:
    async with ApiServer() as api, Client(InProcessTransport(api.handle), namespace="default") as client:
        given = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 5}
        current_pod = await client.create(pod(tolerations=[{**given, "effect": "NoExecute"}]))
        assert [(toleration.key, toleration.toleration_seconds) for toleration in current_pod.spec.tolerations] == [
            ("node.kubernetes.io/not-ready", 5),
            ("node.kubernetes.io/unreachable", 300),
        ]


@virtual_time
async def test_a_pod_gets_what_its_runtime_class_says() -> None:
    async with ApiServer() as api, Client(InProcessTransport(api.handle), namespace="default") as client:
        assert await refusal(client, pod(runtimeClassName="gvisor")) == (
            'pods "web" is forbidden: pod rejected: RuntimeClass "gvisor" not found'
        )
        scheduling = {"nodeSelector": {"runtime": "gvisor"}, "tolerations": [{"key": "gvisor", "operator": "Exists"}]}
        overhead = {"podFixed": {"cpu": "250m"}}
        await client.create(made(RuntimeClass, "gvisor", handler="runsc", overhead=overhead, scheduling=scheduling))
        current_pod = await client.create(pod(runtimeClassName="gvisor", nodeSelector={"disk": "ssd"}))
        assert current_pod.spec.overhead == {"cpu": "250m"}
        assert current_pod.spec.node_selector == {"disk": "ssd", "runtime": "gvisor"}
        assert "gvisor" in [toleration.key for toleration in current_pod.spec.tolerations]
        assert await refusal(client, pod("other", runtimeClassName="gvisor", overhead={"cpu": "1"})) == (
            "pods \"other\" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
        )
        assert await refusal(client, pod("other", overhead={"cpu": "1"})) == (
            'pods "other" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined '
            "Overhead"
        )
        assert await refusal(client, pod("other", runtimeClassName="gvisor", nodeSelector={"runtime": "runc"})) == (
            'pods "other" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[runtime] = gvisor; '
            "pod.spec.nodeSelector[runtime] = runc"
        )


@virtual_time
async def test_only_bound_claims_of_classes_that_allow_it_grow() -> None:
    async with ApiServer() as api, Client(InProcessTransport(api.handle), namespace="default") as client:
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        await client.create(made(PersistentVolumeClaim, "data", spec={**spec, "storageClassName": "fixed"}))
        status = {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
        await client.patch(PersistentVolumeClaim, "data", status, subresource="status")
        larger = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
        with pytest.raises(
            Forbidden, match="only dynamically provisioned pvc can be resized and the storageclass that"
        ):
            await client.patch(PersistentVolumeClaim, "data", larger)
        await client.create(made(StorageClass, "fixed", provisioner="x", allowVolumeExpansion=True))
        await client.patch(PersistentVolumeClaim, "data", larger)


@virtual_time
async def test_what_plugins_set_belongs_to_no_manager() -> None:
    async with ApiServer() as api, Client(InProcessTransport(api.handle), namespace="default") as client:
        current_pod = await client.create(pod())
        (entry,) = current_pod.metadata.managed_fields
        fields = bytes(entry.fields_v1 or b"")
        assert b"f:containers" in fields
        assert b"f:tolerations" not in fields
        assert b"f:priority" not in fields
