"""The embedded control plane's controllers of volumes, nodes, roles and load balancers survive what controllers of
users have to. The full search takes minutes (``make corpus``)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cluster.test_csr_signing import CLIENT, NODE, USAGES, asked, decide
from tests.cluster.test_load_balancers import named
from tests.cluster.test_pods_of_lost_nodes import role
from tests.cluster.test_volumes import claim, mounting, storage_class, volume, with_scratch
from tests.simulation.test_control_plane import Scenario, controllers, survives

import setpoint as sp
from setpoint.meta import LabelSelector, from_wire
from setpoint.models.core_v1 import Node, PersistentVolume, PersistentVolumeClaim, Pod, Service
from setpoint.models.rbac_v1 import AggregationRule, ClusterRole
from setpoint.models.storage_v1 import VolumeAttributesClass
from setpoint.simulation import Plan, check
from setpoint.simulation.faults.plan import fault

GOLD = VolumeAttributesClass.named("gold", driver_name="hollow.setpoint.io/volumes", parameters={"iops": "9"})
ASKED = asked("signed", signer=CLIENT)
KUBELETS = asked("kubelet", usages=USAGES, **NODE)


async def removed(cluster: sp.testing.Cluster, kind: Any, name: str) -> None:
    await cluster.delete(await cluster.get(kind, name))
    await cluster.settle()


async def claims(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(volume("disk", "2Gi"))
    await cluster.apply(claim(storage_class_name=""))
    await cluster.settle()
    await cluster.apply(claim("more", storage_class_name=""))
    await cluster.settle()
    await removed(cluster, PersistentVolumeClaim, "data")


async def provisioned(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(storage_class("fast"))
    await cluster.apply(claim(storage_class_name="fast"))
    await cluster.settle()
    await removed(cluster, PersistentVolumeClaim, "data")


async def protected_claims(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(claim())
    await cluster.apply(mounting("web", "data"))

    async def scheduled() -> bool:
        return bool((await cluster.get(Pod, "web")).spec.node_name)

    await cluster.until(scheduled)  # a claim is not protected before its pod is on a node
    await removed(cluster, PersistentVolumeClaim, "data")
    await removed(cluster, Pod, "web")


async def protected_volumes(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(volume("disk"))
    await cluster.apply(claim())

    async def bound() -> bool:
        return (await cluster.get(PersistentVolume, "disk")).status.phase == "Bound"

    await cluster.until(bound)  # a volume that no claim has got yet is not protected
    await removed(cluster, PersistentVolume, "disk")
    await removed(cluster, PersistentVolumeClaim, "data")


async def protected_attributes(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(GOLD)
    await cluster.apply(claim(volume_attributes_class_name="gold"))
    await cluster.settle()
    await removed(cluster, VolumeAttributesClass, "gold")
    await removed(cluster, PersistentVolumeClaim, "data")


async def ephemeral(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(with_scratch("web"))
    await cluster.settle()
    await removed(cluster, Pod, "web")
    await cluster.apply(with_scratch("web"))
    await cluster.settle()


async def roles(cluster: sp.testing.Cluster) -> None:
    whole = ClusterRole.named("whole")
    whole.aggregation_rule = AggregationRule(cluster_role_selectors=[LabelSelector(match_labels={"part": "yes"})])
    await cluster.create(whole)
    for part in (role("b", {"part": "yes"}, "list"), role("a", {"part": "yes"}, "watch")):
        await cluster.create(part)
        await cluster.settle()
    await removed(cluster, ClusterRole, "b")


async def balancers(cluster: sp.testing.Cluster) -> None:
    for name in ("web", "db"):
        await cluster.create(named(name))
        await cluster.settle()
    await removed(cluster, Service, "web")


def on_node(name: str, **spec: Any) -> Pod:
    spec = {"containers": [{"name": "main", "image": "web:1"}], "nodeName": name, **spec}
    return from_wire(Pod, {"metadata": {"name": "web", "namespace": "default"}, "spec": spec})


async def lost_nodes(cluster: sp.testing.Cluster) -> None:
    await cluster.create(Node.named("a"))
    await cluster.create(on_node("a"))
    await cluster.settle()
    await cluster.delete(await cluster.get(Node, "a"))

    async def is_gone() -> bool:
        return await cluster.find(Pod, "web") is None

    await cluster.until(is_gone)


async def dead_nodes(cluster: sp.testing.Cluster) -> None:
    await cluster.create(on_node("hollow-0", tolerations=[{"operator": "Exists"}]))
    await cluster.settle()
    for kubelet in ("dead", None):
        change = {"metadata": {"annotations": {"hollow.setpoint.io/node": kubelet}}}
        await cluster.client.patch(Node, "hollow-0", change)
        ready = kubelet is None

        async def is_so(ready: bool = ready) -> bool:
            conditions = (await cluster.get(Node, "hollow-0")).status.conditions
            return any(condition.type == "Ready" and (condition.status == "True") == ready for condition in conditions)

        await cluster.until(is_so)


async def tainted_nodes(cluster: sp.testing.Cluster) -> None:
    await cluster.create(on_node("hollow-0"))
    await cluster.settle()
    taint = {"key": "example.com/maintenance", "effect": "NoExecute"}
    await cluster.client.patch(Node, "hollow-0", {"spec": {"taints": [taint]}})

    async def is_gone() -> bool:
        return await cluster.find(Pod, "web") is None

    await cluster.until(is_gone)
    await cluster.client.patch(Node, "hollow-0", {"spec": {"taints": None}})
    await cluster.settle()


async def old_requests(cluster: sp.testing.Cluster) -> None:
    await cluster.create(ASKED)
    await decide(cluster.client, "signed", "Denied")
    await cluster.settle()

    async def is_gone() -> bool:
        return await cluster.find(type(ASKED), "signed") is None

    await cluster.until(is_gone, within=3 * 3600.0)


async def kubelets(cluster: sp.testing.Cluster) -> None:
    await cluster.create(KUBELETS)
    await cluster.settle()

    async def is_approved() -> bool:
        return bool((await cluster.get(type(KUBELETS), "kubelet")).status.conditions)

    await cluster.until(is_approved)
    await removed(cluster, type(KUBELETS), "kubelet")  # its key is drawn by each process


SCENARIOS: dict[str, Scenario] = {
    "certificatesigningrequest-approving-controller": kubelets,
    "certificatesigningrequest-cleaner-controller": old_requests,
    "clusterrole-aggregation-controller": roles,
    "ephemeral-volume-controller": ephemeral,
    "node-lifecycle-controller": dead_nodes,
    "persistentvolume-binder-controller": claims,
    "persistentvolume-protection-controller": protected_volumes,
    "persistentvolumeclaim-protection-controller": protected_claims,
    "pod-garbage-collector-controller": lost_nodes,
    "service-lb-controller": balancers,
    "taint-eviction-controller": tainted_nodes,
    "volumeattributesclass-protection-controller": protected_attributes,
}
OFF: dict[str, dict[str, str]] = {
    "persistentvolume-binder-controller": {
        "paths": "a volume that is retained remembers the claim that had it",
        "slow": "claims are served in any order: the one whose reconcile is late does not get the volume",
    },
    "taint-eviction-controller": {"paths": "a pod that was evicted does not come back when the taint goes"},
}


def test_keepers_of_the_control_plane_survive() -> None:
    survives("service-lb-controller", 12, balancers)


@pytest.mark.long
def test_the_ephemeral_claim_of_an_earlier_pod_goes_though_another_one_of_its_name_is_there() -> None:
    name = "ephemeral-volume-controller"
    late = Plan((fault("pause", "step 2", who="garbage collector", more=1),))
    check(ephemeral, lambda: controllers(name), control_plane=("*", f"-{name}"), replay=late.token(), workers=0)


def test_an_object_that_is_looked_at_again_though_it_has_gone_is_read_by_its_key() -> None:
    gone = fault("lag", "DELETED certificatesigningrequests.certificates.k8s.io signed #1", until="step", relist=True)
    again = fault("resync", "step 2")
    name = "certificatesigningrequest-cleaner-controller"
    token = Plan((gone, again)).token()
    check(old_requests, lambda: controllers(name), control_plane=("*", f"-{name}"), replay=token, workers=0)


def test_the_volume_of_a_claim_that_was_made_for_a_pod_that_had_just_gone_is_not_counted() -> None:
    name = "ephemeral-volume-controller"
    slow = Plan((fault("slow-answer", "create persistentvolumeclaims default/web-scratch #1", until="step"),))
    check(ephemeral, lambda: controllers(name), control_plane=("*", f"-{name}"), replay=slow.token(), workers=0)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_keepers_of_the_control_plane_survive_every_single_fault(name: str) -> None:
    survives(name, 2500, SCENARIOS[name], off=OFF.get(name))


@pytest.mark.long
def test_volumes_that_are_made_for_claims_survive_every_single_fault() -> None:
    name = "persistentvolume-binder-controller"
    survives(name, 2500, provisioned, off=OFF[name])
