"""The first screen of an embedded cluster's page: the reasons why objects are stuck, and the objects to look at."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest

from setpoint.client import Client
from setpoint.cluster.control_plane import ControlPlane
from setpoint.cluster.controller_registry import BINDER
from setpoint.cluster.object_browser.json_endpoints import ClusterPages
from setpoint.cluster.storage.volume_matching import HOLLOW
from setpoint.cluster.storage.volume_protection import CLAIM
from setpoint.controller import Context, Controller
from setpoint.manager import Manager
from setpoint.meta import Object, from_wire, resource_of
from setpoint.meta.object_status import progress, ready, standing
from setpoint.models.apps_v1 import Deployment, DeploymentSpec, ReplicaSet, ReplicaSetSpec
from setpoint.models.core_v1 import (
    ConfigMap,
    Namespace,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimVolumeSource,
    Pod,
    Volume,
    VolumeResourceRequirements,
)
from setpoint.models.events_v1 import Event
from setpoint.models.storage_v1 import StorageClass
from setpoint.testing import virtual_time

from .test_object_browser import asked, looked_at, owned_by
from .workloads import selector, template

NOBODY = "no controller here is known to remove (start the one that does, or take it off by hand)"
MISSING = 'storageclass.storage.k8s.io "fast" not found'


async def claim(client: Client, **spec: Any) -> PersistentVolumeClaim:
    resources = VolumeResourceRequirements(requests={"storage": "1Gi"})
    wanted = PersistentVolumeClaimSpec(access_modes=["ReadWriteOnce"], resources=resources, **spec)
    return await client.create(PersistentVolumeClaim.named("data", "default", spec=wanted))


async def change(client: Client, obj: Object, body: dict[str, Any], subresource: str = "") -> None:
    await client.patch(type(obj), obj.name, body, namespace=obj.namespace, subresource=subresource)


def mounting(claim_name: str, **spec: Any) -> Any:
    source = PersistentVolumeClaimVolumeSource(claim_name=claim_name)
    return template(volumes=[Volume(name="data", persistent_volume_claim=source)], **spec).spec


async def report(
    client: Client,
    about: Object,
    reason: str,
    note: str,
    *,
    type: str = "Warning",
    later: float = 0.0,
    by: str = "tests",
) -> None:
    """Stores an event, ``later`` seconds after the creation of the object."""
    resource = resource_of(about.__class__)
    creation_timestamp = about.metadata.creation_timestamp
    assert creation_timestamp is not None
    event = {
        "metadata": {"name": f"{about.name}.{reason}".lower(), "namespace": "default"},
        "eventTime": (creation_timestamp + timedelta(seconds=later)).strftime("%Y-%m-%dT%H:%M:%S.000000Z"),
        "reason": reason, "note": note, "type": type, "action": "Try",
        "reportingController": by, "reportingInstance": "this",
        "regarding": {"apiVersion": resource.api_version, "kind": resource.kind, "name": about.name,
                      "namespace": about.namespace, "uid": about.uid},
    }  # fmt: skip
    await client.create(from_wire(Event, event))


async def row(pages: ClusterPages, key: str, kind: str) -> Any:
    objects = (await asked(pages, "named", kind=kind))["objects"]
    return next(obj for obj in objects if obj["key"] == key)


@virtual_time
async def test_the_reason_of_an_object_whose_status_gives_none_is_its_last_warning() -> None:
    async with looked_at() as (client, pages):
        new_claim = await claim(client)
        await change(client, new_claim, {"status": {"phase": "Pending"}}, subresource="status")
        assert (await row(pages, "default/data", "persistentvolumeclaims"))["text"] == "Pending"
        await report(client, new_claim, "FailedBinding", "no class is set", type="Normal", later=1)
        assert (await row(pages, "default/data", "persistentvolumeclaims"))[
            "text"
        ] == "Pending: FailedBinding: no class is set"
        await report(client, new_claim, "ProvisioningFailed", MISSING, later=5)
        await report(client, new_claim, "Provisioning", "it is tried once more", type="Normal", later=6)
        told = await row(pages, "default/data", "persistentvolumeclaims")
        assert (told["state"], told["text"]) == ("stuck", f"ProvisioningFailed: {MISSING}")
        created = new_claim.metadata.creation_timestamp
        assert created is not None
        assert datetime.fromisoformat(told["since"]) == created + timedelta(seconds=5)
        stored = await asked(pages, "stored", kind="persistentvolumeclaims", key="default/data")
        assert (stored["text"], stored["since"]) == (told["text"], told["since"])


@virtual_time
async def test_a_warning_from_before_the_last_progress_is_not_the_reason() -> None:
    async with looked_at() as (client, pages):
        pod = await client.create(Pod.named("slow", "default", spec=template().spec))
        await report(client, pod, "FailedScheduling", "no node has room", later=5)
        assert (await row(pages, "default/slow", "pods"))["text"].startswith("FailedScheduling: no node has room")
        creation_timestamp = pod.metadata.creation_timestamp
        assert creation_timestamp is not None
        moved = (creation_timestamp + timedelta(seconds=60)).strftime("%Y-%m-%dT%H:%M:%SZ")
        scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": moved}
        await change(client, pod, {"status": {"phase": "Pending", "conditions": [scheduled]}}, subresource="status")
        assert (await row(pages, "default/slow", "pods"))["text"] == "Pending"


@virtual_time
async def test_an_object_that_is_well_is_not_called_anything_else_by_an_old_warning() -> None:
    async with looked_at() as (client, pages):
        pod = await client.create(Pod.named("well", "default", spec=template().spec))
        await change(client, pod, {"status": {"phase": "Running"}}, subresource="status")
        await report(client, pod, "Unhealthy", "the probe failed", later=5)
        told = await row(pages, "default/well", "pods")
        assert (told["state"], told["text"]) == ("current", "Running")


@virtual_time
async def test_an_object_whose_status_says_nothing_is_not_called_current_while_its_last_event_is_a_warning() -> None:
    async with looked_at() as (client, pages):
        config_map = await client.create(ConfigMap.named("shop", "default"))
        await report(client, config_map, "TillMissing", "the till does not answer", later=5)
        told = await row(pages, "default/shop", "configmaps")
        assert (told["state"], told["text"]) == ("warned", "TillMissing: the till does not answer")
        assert (await asked(pages, "named", state="warned"))["matched"] == 1
        await report(client, config_map, "TillFound", "the till answers", type="Normal", later=9)
        assert (await row(pages, "default/shop", "configmaps"))["state"] == "current"


@virtual_time
async def test_the_reason_is_said_once_and_the_owners_say_where() -> None:
    async with looked_at() as (client, pages):
        condition = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota"}
        wanted = {"replicas": 3, "selector": selector("web"), "template": template(app="web")}
        top = await client.create(Deployment.named("web", "default", spec=DeploymentSpec(**wanted)))
        below = ReplicaSet.named("web-1", "default", spec=ReplicaSetSpec(**wanted))
        below.metadata.owner_references = owned_by(top, "Deployment")
        below = await client.create(below)
        for item in (top, below):
            status = {"status": {"replicas": 1, "readyReplicas": 1, "conditions": [condition]}}
            await change(client, item, status, subresource="status")
        listed = (await asked(pages, "named", state="failed"))["objects"]
        assert [(item["key"], item["text"], item["ready"], [one["key"] for one in item["see"]]) for item in listed] == [
            ("default/web", "1 of 3 ready", "1 of 3 ready", ["default/web-1"])
        ], "one row for one problem"
        assert [item["key"] for item in listed[0]["others"]] == ["default/web-1"]
        answer = await asked(pages, "stored", kind="deployments.apps", key="default/web")
        assert [(item["kind"], item["state"], item["text"]) for item in answer["see"]] == [
            ("ReplicaSet", "failed", "its pods can't be created: exceeded quota")
        ]


@virtual_time
async def test_many_pods_with_one_reason_do_not_hide_the_other_reasons() -> None:
    async with looked_at() as (client, pages):
        owner = await client.create(ConfigMap.named("owner", "default"))
        for name, reason in (("a-1", "back-off"), ("a-2", "back-off"), ("a-3", "another"), ("z", "back-off")):
            pod = Pod.named(name, "default", spec=template().spec)
            pod.metadata.owner_references = owned_by(owner, "ConfigMap") if name != "z" else []
            pod = await client.create(pod)
            message = f"{reason} of container=main pod={name}_default({pod.uid})"
            waiting = {"name": "main", "state": {"waiting": {"reason": "CrashLoopBackOff", "message": message}}}
            full = {"image": "web:1", "imageID": "", "ready": False, "restartCount": 1}
            await change(client, pod, {"status": {"containerStatuses": [{**waiting, **full}]}}, "status")
        listed = (await asked(pages, "named", state="failed"))["objects"]
        assert [item["key"] for item in listed] == ["default/a-1", "default/a-3", "default/z", "default/a-2"]
        text = "container main keeps ending (CrashLoopBackOff); back-off of; kubectl logs --previous shows its log"
        assert listed[0]["text"] == text, "the pod's own name is left out"


@virtual_time
async def test_a_pod_names_the_claim_that_it_waits_for_and_no_claim_that_waits_for_it() -> None:
    async with looked_at() as (client, pages):
        new_claim = await claim(client)
        await change(client, new_claim, {"status": {"phase": "Pending"}}, subresource="status")
        pod = await client.create(Pod.named("db", "default", spec=mounting("data")))
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes fit"}
        await change(client, pod, {"status": {"phase": "Pending", "conditions": [condition]}}, subresource="status")
        await report(client, new_claim, "ProvisioningFailed", MISSING, later=5)
        told = await row(pages, "default/db", "pods")
        (seen,) = told["see"]
        assert (seen["resource"], seen["key"], seen["state"]) == ("persistentvolumeclaims", "default/data", "stuck")
        assert seen["text"] == f"ProvisioningFailed: {MISSING}"
        assert seen["parts"] == [
            {"text": "ProvisioningFailed: ", "resource": "", "key": ""},
            {"text": "StorageClass fast", "resource": "storageclasses.storage.k8s.io", "key": "fast"},
            {"text": " does not exist", "resource": "", "key": ""},
        ]
        await report(client, new_claim, "WaitForFirstConsumer", "waits for a pod", type="Normal", later=50)
        assert (await row(pages, "default/db", "pods"))["see"] == []


@asynccontextmanager
async def with_controllers(*names: str) -> AsyncIterator[tuple[Client, ClusterPages, Any]]:
    """A cluster in which these controllers run, its pages, and the running controllers by name."""
    async with (
        looked_at(default_objects=True) as (client, pages),
        ControlPlane(client, nodes=0, controllers=names) as plane,
    ):
        yield client, pages, lambda: plane.manager.controllers


@virtual_time
async def test_a_controller_whose_last_word_was_a_warning_does_not_look_as_if_all_were_well() -> None:
    async with with_controllers(BINDER, "pvc-protection") as (client, pages, controllers):
        new_claim = await claim(client, storage_class_name="fast")
        await asyncio.sleep(60)
        answer = await asked(pages, "stored", controllers, kind="persistentvolumeclaims", key="default/data")
        words = {
            controller["controller"]: (controller["state"], controller["text"]) for controller in answer["controllers"]
        }
        state, text = words["persistentvolume-controller"]
        assert state == "warned"
        assert text.startswith(f"ProvisioningFailed: {MISSING}; no retry is planned before something changes")
        assert words["pvc-protection"][0] == "idle", "this one has not warned"
        await client.create(StorageClass.named("fast", provisioner=HOLLOW))
        await change(client, new_claim, {"metadata": {"labels": {"a": "b"}}})
        await asyncio.sleep(60)
        answer = await asked(pages, "stored", controllers, kind="persistentvolumeclaims", key="default/data")
        assert (answer["state"], {controller["state"] for controller in answer["controllers"]}) == ("current", {"idle"})


@virtual_time
async def test_a_finalizer_is_told_with_the_running_controller_that_removes_it_or_that_none_is_known() -> None:
    async with with_controllers("pvc-protection") as (client, pages, controllers):
        held = ConfigMap.named("held", "default")
        held.metadata.finalizers = ["backup.example.com/archive"]
        await client.delete(await client.create(held))
        several = await claim(client)
        await change(client, several, {"metadata": {"finalizers": [CLAIM, "a.example.com/b"]}})
        pod = await client.create(Pod.named("db", "default", spec=mounting("data", node_name="one")))
        await change(client, pod, {"status": {"phase": "Running"}}, subresource="status")
        await client.delete(several)
        await asyncio.sleep(5)

        async def words(kind: str, key: str, running: Any = dict) -> Any:
            return (await asked(pages, "stored", running, kind=kind, key=key))["text"]

        text = f"waits for the finalizer backup.example.com/archive, which {NOBODY}"
        assert await words("configmaps", "default/held", controllers) == text
        both = await words("persistentvolumeclaims", "default/data", controllers)
        assert both == (
            "waits for the finalizers kubernetes.io/pvc-protection, which pvc-protection removes; "
            f"a.example.com/b, which {NOBODY}"
        )
        assert "pvc-protection, which no controller here" in await words("persistentvolumeclaims", "default/data")


@virtual_time
async def test_a_controller_that_declares_a_finalizer_is_named() -> None:
    async def nothing(_obj: ConfigMap, _ctx: Context) -> None: ...

    async def stuck(_obj: ConfigMap, _ctx: Context) -> None:
        raise ConnectionError("the archive does not answer")

    declared = Controller(ConfigMap, nothing, name="shop").finalize(stuck, name="shop.example.com/archive")
    async with looked_at() as (client, pages), Manager(client, controllers=[declared]) as manager:
        config_map = await client.create(ConfigMap.named("berlin", "default"))
        await asyncio.sleep(5)
        await client.delete(config_map)
        await asyncio.sleep(5)
        answer = await asked(pages, "stored", lambda: manager.controllers, kind="configmaps", key="default/berlin")
        assert answer["text"] == (
            "ConnectionError: the archive does not answer; waits for the finalizer shop.example.com/archive, which "
            "shop removes"
        )


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        ({"apiVersion": "apps/v1", "spec": {"replicas": 3}, "status": {"readyReplicas": 1}}, "1 of 3 ready"),
        ({"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": {"replicas": 1}}, "0 of 1 ready"),
        ({"kind": "DaemonSet", "status": {"desiredNumberScheduled": 4, "numberReady": 2}}, "2 of 4 ready"),
        ({"apiVersion": "a.example.com/v1", "spec": {"replicas": 2}, "status": {"readyReplicas": 0}}, "0 of 2 ready"),
        ({"apiVersion": "a.example.com/v1", "spec": {"replicas": 2}, "status": {}}, ""),
        ({"apiVersion": "batch/v1", "kind": "Job", "spec": {"completions": 2}, "status": {"succeeded": 1, "failed": 3}},
         "1 of 2 complete, 3 failed"),
        ({"apiVersion": "batch/v1", "kind": "Job", "spec": {}, "status": {}}, "0 complete"),
        ({"apiVersion": "v1", "kind": "Pod", "spec": [], "status": None}, ""),
    ],
)  # fmt: skip
def test_how_many_parts_are_ready_is_counted(obj: dict[str, Any], message: str) -> None:
    assert ready(obj) == message


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ({"phase": "Failed", "containerStatuses": [
            {"name": "main", "state": {"terminated": {"exitCode": 3, "reason": "Error", "message": "no disk"}}}]},
         "Failed: container main ended with exit code 3 (Error, no disk)"),
        ({"containerStatuses": [
            {"name": "main", "state": {"waiting": {
                "reason": "CrashLoopBackOff", "message": "back-off 20s restarting failed container=main pod=a_b(c)"}},
             "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]},
         "container main keeps ending (CrashLoopBackOff); the last run ended with exit code 137 (OOMKilled); "
         "it is restarted after 20s; kubectl logs --previous shows its log"),
    ],
)  # fmt: skip
def test_the_end_of_a_container_is_the_reason_of_its_pod(status: dict[str, Any], text: str) -> None:
    assert standing({"kind": "Pod", "status": status})[:2] == ("failed", text)


def test_a_namespace_that_is_being_deleted_says_what_is_left_in_it() -> None:
    left = {
        "type": "NamespaceContentRemaining",
        "status": "True",
        "message": "Some resources are remaining: configmaps",
    }
    obj = {"metadata": {"deletionTimestamp": "T"}, "status": {"conditions": [left]}}
    assert standing(obj)[:3] == ("being deleted", "Some resources are remaining: configmaps", "T")


def test_a_pod_without_a_node_says_which_labels_it_asks_for_and_nothing_of_preemption() -> None:
    message = (
        "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, "
        "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    )
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    pod = {
        "kind": "Pod",
        "spec": {"nodeSelector": {"accelerator": "gpu", "zone": "a"}},
        "status": {"phase": "Pending", "conditions": [condition]},
    }
    text = standing(pod).text
    assert text == (
        "no node fits it: of 3 nodes, 3 do not have the labels that it requires. "
        "The pod asks for a node with accelerator=gpu, zone=a."
    )


@virtual_time
async def test_what_the_scheduler_says_in_status_and_event_is_said_once() -> None:
    message = "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."
    note = f"{message} no new claims to deallocate, preemption: 0/1 nodes are available."
    async with looked_at() as (client, pages):
        spec = template(node_selector={"disk": "fast"}).spec
        pod = await client.create(Pod.named("web", "default", spec=spec))
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": note}
        await change(client, pod, {"status": {"phase": "Pending", "conditions": [condition]}}, subresource="status")
        await report(client, pod, "FailedScheduling", note, later=1)
        told = await row(pages, "default/web", "pods")
        assert told["text"] == (
            "no node fits it: of 1 node, 1 does not have the labels that it requires. "
            "The pod asks for a node with disk=fast."
        )


@virtual_time
async def test_a_namespace_that_stays_leads_to_what_is_stuck_in_it() -> None:
    async with looked_at() as (client, pages):
        await client.create(Namespace.named("old"))
        stuck = ConfigMap.named("settings", "old")
        stuck.metadata.finalizers = ["example.com/archive"]
        await client.create(stuck)
        await client.create(ConfigMap.named("others", "default"))
        await client.delete(Namespace, "old")
        await client.delete(ConfigMap, "settings", namespace="old")
        told = await row(pages, "old", "namespaces")
        assert [item["key"] for item in told["see"]] == ["old/settings"]


def test_the_last_progress_is_no_write_of_the_status_or_of_metadata() -> None:
    fields = [
        {"time": "2026-01-02T00:00:00Z", "fieldsV1": {"f:spec": {}, "f:metadata": {}}},
        {"time": "2026-01-03T00:00:00Z", "fieldsV1": {"f:status": {}}},
        {"time": "2026-01-04T00:00:00Z", "fieldsV1": {"f:metadata": {}}},
        {"time": "2026-01-05T00:00:00Z", "fieldsV1": {"f:spec": {}}, "subresource": "scale"},
        {"time": "2026-01-06T00:00:00Z"},
        None,
    ]
    metadata = {"creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": fields}
    assert progress({"metadata": metadata}) == "2026-01-02T00:00:00Z"
    assert progress({"metadata": None, "status": []}) == ""
