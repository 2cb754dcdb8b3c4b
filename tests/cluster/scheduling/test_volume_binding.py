"""Volumes count for the scheduler: where they can be used, whether they are there, and those that wait for a pod."""

from __future__ import annotations

from typing import Any

from tests.cluster.scheduling.pods import events_of, place, pod, refused, why
from tests.cluster.test_volumes import claim, mounting, storage_class, volume

from setpoint.cluster.storage.volume_matching import SELECTED_NODE
from setpoint.models.core_v1 import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    TopologySelectorLabelRequirement,
    TopologySelectorTerm,
    VolumeNodeAffinity,
)
from setpoint.models.scheduling_v1 import PriorityClass
from setpoint.testing import Cluster, advance, cluster, virtual_time

HOSTNAME = "kubernetes.io/hostname"
NOWHERE = "kubernetes.io/no-provisioner"
DELAYED = "WaitForFirstConsumer"
IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)


def local(name: str, node: str, class_name: str = "local", **spec: Any) -> PersistentVolume:
    """A volume that can be used on one node only."""
    requirement = NodeSelectorRequirement(key=HOSTNAME, operator="In", values=[node])
    required = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_expressions=[requirement])])
    affinity = VolumeNodeAffinity(required=required)
    return volume(name, storage_class_name=class_name, node_affinity=affinity, **spec)


def helpless(words: str, nodes: int = 3) -> str:
    """The message of a pod that is not looked at further."""
    there = f"0/{nodes} nodes are available:"
    preemption = f"preemption: {there} {nodes} Preemption is not helpful for scheduling."
    return f"{there} {words}. no new claims to deallocate, {preemption}"


async def bound(world: Cluster, name: str) -> str | None:
    return (await world.get(PersistentVolumeClaim, name)).spec.volume_name


@virtual_time
async def test_a_pod_is_put_where_its_volume_can_be_used() -> None:
    async with cluster(nodes=3, objects=[local("disk", "hollow-2")]) as world:
        await world.create(mounting("web", "data"))
        await world.settle()
        assert await why(world, "web") == helpless('persistentvolumeclaim "data" not found')
        await world.create(claim(storage_class_name="local"))
        await world.settle()
        assert await bound(world, "data") == "disk"
        assert await place(world, "web") == "hollow-2"


@virtual_time
async def test_a_pod_whose_volume_no_node_reaches_waits_and_says_so() -> None:
    async with cluster(nodes=3, objects=[local("disk", "elsewhere"), claim(storage_class_name="local")]) as world:
        await world.create(mounting("web", "data"))
        await world.settle()
        text = "3 node(s) had volume node affinity conflict"
        assert await why(world, "web") == refused(3, text, helpless=3)
        assert ("Warning", "FailedScheduling", refused(3, text, helpless=3)) in await events_of(world, "web")


@virtual_time
async def test_a_pod_waits_until_the_claims_of_other_provisioners_are_bound() -> None:
    classes = [storage_class("slow", provisioner="example.com/disks")]
    async with cluster(nodes=3, objects=[*classes, claim(storage_class_name="slow")]) as world:
        await world.create(mounting("web", "data"))
        await world.settle()
        assert await why(world, "web") == helpless("pod has unbound immediate PersistentVolumeClaims")
        await world.create(local("made", "hollow-1", "slow"))
        await world.settle()
        assert await place(world, "web") == "hollow-1"


@virtual_time
async def test_volumes_of_claims_that_wait_are_chosen_with_the_node() -> None:
    disks = [local(f"disk-{number}", f"hollow-{number}") for number in range(3)]
    late = storage_class("local", provisioner=NOWHERE, volume_binding_mode=DELAYED)
    claims = [claim(name, storage_class_name="local") for name in ("a", "b", "c", "d")]
    async with cluster(nodes=3, objects=[late, *disks, *claims]) as world:
        await world.settle()
        assert [await bound(world, name) for name in "abcd"] == [None] * 4
        picky = mounting("pod-a", "a")
        picky.spec.node_selector = {HOSTNAME: "hollow-1"}
        await world.create(picky)
        for name in "bc":
            await world.create(mounting(f"pod-{name}", name))
        await world.settle()
        assert (await place(world, "pod-a"), await bound(world, "a")) == ("hollow-1", "disk-1")
        places = {await place(world, f"pod-{name}"): await bound(world, name) for name in "bc"}
        assert places == {"hollow-0": "disk-0", "hollow-2": "disk-2"}

        await world.create(mounting("pod-d", "d"))
        await world.settle()
        assert await why(world, "pod-d") == refused(
            3, "3 node(s) didn't find available persistent volumes to bind", helpless=3
        )
        await world.create(local("disk-9", "hollow-0"))
        await world.settle()
        assert (await place(world, "pod-d"), await bound(world, "d")) == ("hollow-0", "disk-9")


@virtual_time
async def test_new_volumes_are_made_for_the_node_that_was_selected_within_the_topologies_of_their_class() -> None:
    zone = TopologySelectorLabelRequirement(key=HOSTNAME, values=["hollow-2"])
    late = storage_class(
        volume_binding_mode=DELAYED, allowed_topologies=[TopologySelectorTerm(match_label_expressions=[zone])]
    )
    async with cluster(nodes=3, objects=[late, claim(storage_class_name="fast")]) as world:
        await world.create(mounting("web", "data"))
        await world.settle()
        assert await place(world, "web") == "hollow-2"
        new_claim = await world.get(PersistentVolumeClaim, "data")
        assert (new_claim.status.phase, new_claim.annotations[SELECTED_NODE]) == ("Bound", "hollow-2")


@virtual_time
async def test_a_claim_for_one_pod_keeps_a_second_one_waiting_until_the_first_has_gone() -> None:
    async with cluster(nodes=3, objects=[claim(access_modes=["ReadWriteOncePod"])]) as world:
        await world.create(mounting("one", "data"))
        await world.settle()
        other = mounting("two", "data")
        await world.create(other)
        await world.settle()
        assert await place(world, "one") is not None
        assert await why(world, "two") == refused(3, f"3 {IN_USE}", without_victims=3)
        first = await world.get(Pod, "one")
        await world.client.delete(first, grace_period_seconds=0)
        await world.settle()
        assert await place(world, "two") is not None


@virtual_time
async def test_a_more_important_pod_takes_the_claim_for_one_pod_from_another() -> None:
    important = PriorityClass.named("important", value=1000)
    async with cluster(nodes=3, objects=[important, claim(access_modes=["ReadWriteOncePod"])]) as world:
        for name in ("one", "apart"):
            await world.create(mounting(name, "data") if name == "one" else pod(name))
        await world.settle()
        first = await place(world, "one")
        urgent = mounting("urgent", "data")
        urgent.spec.priority_class_name = "important"
        await world.create(urgent)
        await advance(60)
        assert await place(world, "urgent") == first
        assert [pod.name for pod in await world.list(Pod)] == ["apart", "urgent"]


@virtual_time
async def test_without_a_binder_volumes_do_not_count() -> None:
    async with cluster(control_plane=["statefulset"]) as world:
        await world.create(mounting("web", "nothing"))
        await world.settle()
        assert await place(world, "web") == "hollow-0"
