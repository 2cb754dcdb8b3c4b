"""PersistentVolumes and their claims: who gets which, what is made, what becomes of it, and what keeps it."""

from __future__ import annotations

from typing import Any

import pytest

from setpoint.client import Client
from setpoint.cluster.storage.volume_matching import (
    ADOPTED,
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    HOLLOW,
    PROVISIONED_BY,
    best_match,
)
from setpoint.meta import LabelSelector, from_wire
from setpoint.models.core_v1 import (
    Container,
    HostPathVolumeSource,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimVolumeSource,
    PersistentVolumeSpec,
    Pod,
    PodSpec,
    Volume,
    VolumeResourceRequirements,
)
from setpoint.models.events_v1 import Event
from setpoint.models.storage_v1 import StorageClass, VolumeAttributesClass
from setpoint.testing import Cluster, cluster, virtual_time


def volume(name: str, size: str = "1Gi", **spec: Any) -> PersistentVolume:
    spec.setdefault("access_modes", ["ReadWriteOnce"])
    spec.setdefault("persistent_volume_reclaim_policy", "Retain")
    persistent_volume_spec = PersistentVolumeSpec(
        capacity={"storage": size}, host_path=HostPathVolumeSource(path="/tmp/it"), **spec
    )
    return PersistentVolume.named(name, spec=persistent_volume_spec)


def claim(name: str = "data", size: str = "1Gi", **spec: Any) -> PersistentVolumeClaim:
    spec.setdefault("access_modes", ["ReadWriteOnce"])
    resources = VolumeResourceRequirements(requests={"storage": size})
    return PersistentVolumeClaim.named(name, "default", spec=PersistentVolumeClaimSpec(resources=resources, **spec))


def mounting(name: str, of: str) -> Pod:
    source = PersistentVolumeClaimVolumeSource(claim_name=of)
    volumes = [Volume(name="data", persistent_volume_claim=source)]
    return Pod.named(name, "default", spec=PodSpec(containers=[Container(name="main", image="web:1")], volumes=volumes))


def storage_class(name: str = "fast", **fields: Any) -> StorageClass:
    fields.setdefault("provisioner", HOLLOW)
    return StorageClass.named(name, **fields)


async def phases(world: Cluster) -> dict[str, str | None]:
    claims = await world.list(PersistentVolumeClaim)
    return {claim.name: claim.status.phase for claim in claims}


async def events(world: Cluster, reason: str) -> list[str | None]:
    return [event.note for event in await world.list(Event) if event.reason == reason]


# -- which volume a claim gets -----------------------------------------------------------------------------------------

READY = "Available"


def available(*args: Any, labels: dict[str, str] | None = None, **spec: Any) -> PersistentVolume:
    new_volume = volume(*args, **spec)
    new_volume.metadata.labels = labels or {}
    new_volume.status.phase = READY
    return new_volume


@pytest.mark.parametrize(
    ("wanted", "there", "expected"),
    [
        (claim(), [], None),
        (claim(), [available("a")], "a"),
        (claim(), [available("large", "10Gi"), available("small", "2Gi"), available("tiny", "1Mi")], "small"),
        (claim(), [available("a", access_modes=["ReadOnlyMany"])], None),
        (
            claim(),
            [available("both", "1Gi", access_modes=["ReadWriteOnce", "ReadOnlyMany"]), available("one", "5Gi")],
            "one",
        ),
        (claim(), [available("a", volume_mode="Block")], None),
        (claim(volume_mode="Block"), [available("a", volume_mode="Block")], "a"),
        (claim(), [available("a", storage_class_name="fast")], None),
        (claim(storage_class_name="fast"), [available("a"), available("b", storage_class_name="fast")], "b"),
        (claim(storage_class_name=""), [available("a")], "a"),
        (
            claim(selector=LabelSelector(match_labels={"tier": "gold"})),
            [available("a"), available("b", "9Gi", labels={"tier": "gold"})],
            "b",
        ),
        (
            claim(),
            [available("a"), available("kept", "9Gi", claim_ref=ObjectReference(namespace="default", name="data"))],
            "kept",
        ),
        (claim(), [available("a", claim_ref=ObjectReference(namespace="default", name="other", uid="1"))], None),
    ],
)
def test_a_claim_gets_the_volume_that_fits_it_best(
    wanted: PersistentVolumeClaim, there: list[PersistentVolume], expected: str | None
) -> None:
    for volumes in (there, there[::-1]):
        match = best_match(wanted, volumes)
        assert (match and match.name) == expected


@virtual_time
async def test_a_claim_and_its_volume_name_each_other() -> None:
    async with cluster() as world:
        await world.create(volume("disk", "2Gi"))
        await world.create(claim(storage_class_name=""))
        await world.settle()
        bound, disk = await world.get(PersistentVolumeClaim, "data"), await world.get(PersistentVolume, "disk")
        assert (bound.status.phase, bound.spec.volume_name) == ("Bound", "disk")
        assert (bound.status.capacity, bound.status.access_modes) == ({"storage": "2Gi"}, ["ReadWriteOnce"])
        assert bound.annotations == {BIND_COMPLETED: "yes", BOUND_BY_CONTROLLER: "yes"}
        assert disk.status.phase == "Bound"
        assert disk.annotations == {BOUND_BY_CONTROLLER: "yes"}
        assert disk.spec.claim_ref is not None
        assert (disk.spec.claim_ref.name, disk.spec.claim_ref.uid) == ("data", bound.uid)


@virtual_time
async def test_of_many_claims_and_volumes_each_claim_gets_a_volume_of_its_own() -> None:
    async with cluster() as world:
        for number in range(5):
            await world.create(volume(f"disk-{number}"))
        for number in range(7):
            await world.create(claim(f"data-{number}", storage_class_name=""))
        await world.settle()
        claims = await world.list(PersistentVolumeClaim)
        names = [claim.spec.volume_name for claim in claims if claim.status.phase == "Bound"]
        assert len(names) == len(set(names)) == 5
        assert sum(claim.status.phase == "Pending" for claim in claims) == 2
        assert await events(world, "FailedBinding")
        await world.create(volume("disk-5"))
        await world.settle()
        assert sum(phase == "Bound" for phase in (await phases(world)).values()) == 6


@virtual_time
async def test_a_claim_that_names_its_volume_gets_no_other() -> None:
    async with cluster() as world:
        await world.create(volume("small", "1Mi"))
        await world.create(volume("large", "9Gi"))
        await world.create(claim("a", storage_class_name="", volume_name="large"))
        await world.create(claim("b", storage_class_name="", volume_name="small"))
        await world.create(claim("c", storage_class_name="", volume_name="later"))
        await world.settle()
        assert await phases(world) == {"a": "Bound", "b": "Pending", "c": "Pending"}
        assert await events(world, "VolumeMismatch") == [
            'Cannot bind to requested volume "small": requested PV is too small'
        ]
        await world.create(volume("later"))
        await world.settle()
        assert await phases(world) == {"a": "Bound", "b": "Pending", "c": "Bound"}
        # The user has chosen it: no controller takes that back when it is unbound.
        assert (await world.get(PersistentVolumeClaim, "a")).annotations == {BIND_COMPLETED: "yes"}


@virtual_time
async def test_a_claim_whose_volume_has_gone_is_lost() -> None:
    async with cluster() as world:
        await world.create(volume("disk"))
        await world.create(claim(storage_class_name=""))
        await world.settle()
        disk = await world.get(PersistentVolume, "disk")
        await world.delete(disk)
        await world.settle()
        assert (await world.get(PersistentVolume, "disk")).is_deleting, "it is in use"
        await world.client.patch(PersistentVolume, "disk", {"metadata": {"finalizers": None}})
        await world.settle()
        assert await phases(world) == {"data": "Lost"}
        assert await events(world, "ClaimLost") == [
            "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
        ]


# -- volumes that are made ---------------------------------------------------------------------------------------------


@virtual_time
async def test_in_a_new_cluster_a_claim_gets_a_volume_of_the_standard_class() -> None:
    async with cluster() as world:
        await world.create(claim())
        await world.settle()
        bound = await world.get(PersistentVolumeClaim, "data")
        assert (bound.status.phase, bound.spec.storage_class_name) == ("Bound", "standard")
        (result,) = await world.list(PersistentVolume)
        assert result.name == bound.spec.volume_name == f"pvc-{bound.uid}"
        assert result.annotations[PROVISIONED_BY] == HOLLOW
        assert (result.spec.capacity, result.status.phase) == ({"storage": "1Gi"}, "Bound")
        await world.delete(bound)
        await world.settle()
        assert await world.list(PersistentVolume) == await world.list(PersistentVolumeClaim) == []


@virtual_time
async def test_a_claim_of_a_class_that_waits_gets_its_volume_when_a_pod_uses_it() -> None:
    async with cluster(objects=[storage_class(volume_binding_mode="WaitForFirstConsumer")]) as world:
        await world.create(claim(storage_class_name="fast"))
        await world.settle()
        assert await phases(world) == {"data": "Pending"}
        assert await events(world, "WaitForFirstConsumer") == [
            "waiting for first consumer to be created before binding"
        ]
        await world.create(mounting("web", "data"))
        await world.settle()
        assert await phases(world) == {"data": "Bound"}


@virtual_time
async def test_volumes_of_other_provisioners_are_waited_for() -> None:
    async with cluster(objects=[storage_class(provisioner="ebs.csi.aws.com")]) as world:
        new_claim = await world.create(claim(storage_class_name="fast"))
        await world.settle()
        waiting = await world.get(PersistentVolumeClaim, "data")
        assert waiting.status.phase == "Pending"
        assert waiting.annotations["volume.kubernetes.io/storage-provisioner"] == "ebs.csi.aws.com"
        reference = ObjectReference(namespace="default", name="data", uid=new_claim.uid)
        await world.create(volume("theirs", storage_class_name="fast", claim_ref=reference))
        await world.settle()
        assert await phases(world) == {"data": "Bound"}


@virtual_time
async def test_a_class_of_another_provisioner_can_be_hollow() -> None:
    hollow = storage_class(provisioner="ebs.csi.aws.com")
    hollow.metadata.annotations = {ADOPTED: "true"}
    async with cluster(objects=[hollow]) as world:
        await world.create(claim(storage_class_name="fast"))
        await world.settle()
        assert await phases(world) == {"data": "Bound"}


@virtual_time
async def test_a_claim_that_grows_gets_a_larger_volume() -> None:
    async with cluster(objects=[storage_class(allow_volume_expansion=True)]) as world:
        await world.create(claim(storage_class_name="fast"))
        await world.settle()
        await world.client.patch(
            PersistentVolumeClaim, "data", {"spec": {"resources": {"requests": {"storage": "3Gi"}}}}
        )
        await world.settle()
        assert (await world.get(PersistentVolumeClaim, "data")).status.capacity == {"storage": "3Gi"}
        assert [persistent_volume.spec.capacity for persistent_volume in await world.list(PersistentVolume)] == [
            {"storage": "3Gi"}
        ]


# -- what becomes of volumes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "expected"), [("Retain", "Released"), ("Recycle", "Available"), ("Delete", "Failed")]
)
@virtual_time
async def test_the_reclaim_policy_says_what_becomes_of_a_volume(policy: str, expected: str) -> None:
    async with cluster() as world:
        await world.create(volume("disk", persistent_volume_reclaim_policy=policy))
        new_claim = await world.create(claim(storage_class_name=""))
        await world.settle()
        await world.delete(new_claim)
        await world.settle()
        left = await world.get(PersistentVolume, "disk")
        assert left.status.phase == expected
        assert (left.spec.claim_ref is None) is (policy == "Recycle")
        # A claim of the same name is another one.
        await world.create(claim(storage_class_name=""))
        await world.settle()
        assert await phases(world) == {"data": "Bound" if policy == "Recycle" else "Pending"}


@virtual_time
async def test_a_volume_that_was_made_for_a_claim_goes_if_that_has_got_another() -> None:
    async with cluster(objects=[storage_class()]) as world:
        await world.create(volume("kept", storage_class_name="fast"))
        new_claim = await world.create(claim(storage_class_name="fast", volume_name="kept"))
        await world.settle()
        reference = ObjectReference(namespace="default", name="data", uid=new_claim.uid)
        surplus = volume("surplus", persistent_volume_reclaim_policy="Delete", claim_ref=reference)
        surplus.metadata.annotations = {PROVISIONED_BY: HOLLOW}
        await world.create(surplus)
        await world.settle()
        assert [persistent_volume.name for persistent_volume in await world.list(PersistentVolume)] == ["kept"]


# -- protection --------------------------------------------------------------------------------------------------------


@virtual_time
async def test_a_claim_that_a_pod_mounts_stays_until_the_pod_has_gone() -> None:
    async with cluster() as world:
        new_claim = await world.create(claim())
        pod = await world.create(mounting("web", "data"))
        await world.settle()
        await world.delete(new_claim)
        await world.settle()
        assert (await world.get(PersistentVolumeClaim, "data")).is_deleting
        await world.delete(pod)
        await world.settle()
        assert await world.list(PersistentVolumeClaim) == []


@virtual_time
async def test_a_class_of_attributes_stays_while_a_claim_has_it() -> None:
    gold = VolumeAttributesClass.named("gold", driver_name=HOLLOW, parameters={"iops": "9"})
    async with cluster(objects=[gold]) as world:
        new_claim = await world.create(claim(volume_attributes_class_name="gold"))
        await world.settle()
        await world.delete(await world.get(VolumeAttributesClass, "gold"))
        await world.settle()
        assert (await world.get(VolumeAttributesClass, "gold")).is_deleting
        await world.delete(new_claim)
        await world.settle()
        assert await world.list(VolumeAttributesClass) == []


@virtual_time
async def test_without_a_control_plane_what_is_protected_stays() -> None:
    async with cluster(control_plane=False) as world:
        gold = VolumeAttributesClass.named("gold", driver_name=HOLLOW, parameters={"iops": "9"})
        for result, finalizer in (
            (await world.create(claim()), "pvc"),
            (await world.create(volume("disk")), "pv"),
            (await world.create(gold), "vac"),
        ):
            assert result.metadata.finalizers == [f"kubernetes.io/{finalizer}-protection"]
            await world.delete(result)
        assert len(await world.list(PersistentVolumeClaim)) == len(await world.list(PersistentVolume)) == 1


@virtual_time
async def test_objects_that_a_server_has_not_protected_are_protected() -> None:
    async with cluster() as world:
        await world.create(claim())
        await world.create(volume("disk"))
        client: Client = world.client
        for kind, name in ((PersistentVolumeClaim, "data"), (PersistentVolume, "disk")):
            await client.patch(kind, name, {"metadata": {"finalizers": None}})
        await world.settle()
        assert (await world.get(PersistentVolumeClaim, "data")).metadata.finalizers == ["kubernetes.io/pvc-protection"]
        assert (await world.get(PersistentVolume, "disk")).metadata.finalizers == ["kubernetes.io/pv-protection"]


def with_scratch(name: str) -> Pod:
    """A pod with an ephemeral volume."""
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    spec = {
        "containers": [{"name": "main", "image": "web:1"}],
        "volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}],
    }
    return from_wire(Pod, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})


@virtual_time
async def test_the_volume_of_an_ephemeral_claim_is_protected_as_long_as_its_pod() -> None:
    async with cluster() as world:
        pod = await world.create(with_scratch("web"))
        await world.settle()
        scratch = await world.get(PersistentVolumeClaim, "web-scratch")
        assert scratch.status.phase == "Bound"
        assert [owner.uid for owner in scratch.metadata.owner_references] == [pod.uid]
        await world.delete(scratch)
        await world.settle()
        assert (await world.get(PersistentVolumeClaim, "web-scratch")).is_deleting
        await world.delete(pod)
        await world.settle()
        assert await world.list(PersistentVolumeClaim) == []


@virtual_time
async def test_the_ephemeral_claim_of_an_earlier_pod_goes_and_the_pod_of_its_name_gets_its_own() -> None:
    async with cluster(control_plane=["*", "-garbage-collector"]) as world:
        await world.create(with_scratch("web"))
        await world.settle()
        await world.delete(await world.get(Pod, "web"))
        await world.settle()
        pod = await world.create(with_scratch("web"))
        await world.settle()
        await world.delete(await world.get(PersistentVolumeClaim, "web-scratch"))  # as the garbage collector does
        await world.settle()
        scratch = await world.get(PersistentVolumeClaim, "web-scratch")
        assert not scratch.is_deleting
        assert [owner.uid for owner in scratch.metadata.owner_references] == [pod.uid]
