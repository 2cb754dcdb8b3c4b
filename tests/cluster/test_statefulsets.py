"""StatefulSets, as kubectl's users know them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cluster.workloads import claim, stateful_set, template

from setpoint.cluster.workloads.controller_revisions import template_of
from setpoint.cluster.workloads.pod_templates import REVISION_LABEL
from setpoint.meta import ObjectMeta, to_wire
from setpoint.models.apps_v1 import (
    ControllerRevision,
    RollingUpdateStatefulSetStrategy,
    StatefulSet,
    StatefulSetOrdinals,
    StatefulSetPersistentVolumeClaimRetentionPolicy,
    StatefulSetUpdateStrategy,
)
from setpoint.models.core_v1 import ConfigMap, PersistentVolumeClaim, Pod, ResourceQuota, ResourceQuotaSpec
from setpoint.models.events_v1 import Event
from setpoint.testing import advance, cluster, virtual_time


def rolling(**spec: Any) -> StatefulSetUpdateStrategy:
    return StatefulSetUpdateStrategy(
        type="RollingUpdate", rolling_update=RollingUpdateStatefulSetStrategy(**spec) if spec else None
    )


async def images(world: Any) -> dict[str, str]:
    return {pod.name: pod.spec.containers[0].image for pod in await world.list(Pod)}


async def changed(world: Any, **spec: Any) -> None:
    result = await world.get(StatefulSet, "web")
    for name, value in spec.items():
        setattr(result.spec, name, value)
    await world.update(result)
    await world.settle()


@virtual_time
async def test_a_pod_that_can_not_be_created_is_told() -> None:
    async with cluster() as world:
        await world.create(ResourceQuota.named("none", "default", spec=ResourceQuotaSpec(hard={"pods": "0"})))
        await advance(1)
        await world.create(stateful_set())
        await advance(1)
        notes = [event.note or "" for event in await world.list(Event) if event.reason == "FailedCreate"]
        assert len(notes) == 1
        assert notes[0].startswith(
            'create Pod web-0 in StatefulSet web failed error: pods "web-0" is forbidden: exceeded'
        )


@virtual_time
async def test_pods_have_names_places_and_labels_of_their_own() -> None:
    async with cluster() as world:
        await world.create(stateful_set(3))
        await world.settle()
        pods = await world.list(Pod)
        assert [pod.name for pod in pods] == ["web-0", "web-1", "web-2"]
        assert [(pod.spec.hostname, pod.spec.subdomain) for pod in pods] == [(f"web-{n}", "web") for n in range(3)]
        result = await world.get(StatefulSet, "web")
        (revision,) = await world.list(ControllerRevision)
        assert pods[1].labels == {
            "app": "web",
            "apps.kubernetes.io/pod-index": "1",
            "controller-revision-hash": revision.name,
            "statefulset.kubernetes.io/pod-name": "web-1",
            "topology.kubernetes.io/region": "hollow",
            "topology.kubernetes.io/zone": "hollow-a",
        }
        status = result.status
        assert (status.replicas, status.ready_replicas, status.available_replicas) == (3, 3, 3)
        assert (status.current_replicas, status.updated_replicas) == (3, 3)
        assert status.current_revision == status.update_revision == revision.name
        assert status.observed_generation == result.metadata.generation
        assert revision.labels == {"app": "web", "controller.kubernetes.io/hash": revision.name.removeprefix("web-")}
        assert revision.data["spec"]["template"]["$patch"] == "replace", "as kubectl rollout undo applies it"
        assert template_of(revision).spec.containers[0].image == "web:1"
        events = await world.list(Event)
        notes = [event.note or "" for event in events if event.regarding and event.regarding.kind == "StatefulSet"]
        assert sorted(notes) == [f"create Pod web-{n} in StatefulSet web successful" for n in range(3)]


@virtual_time
async def test_in_order_each_pod_waits_for_the_one_before_and_in_parallel_none_does() -> None:
    for policy, first, least in (("OrderedReady", ["web-0"], 9.0), ("Parallel", ["web-0", "web-1", "web-2"], 3.0)):
        async with cluster() as world:
            annotated = template(annotations={"hollow.setpoint.io/ready-seconds": "3"})
            result = stateful_set(3, pod_management_policy=policy)
            result.spec.template = annotated
            await world.create(result)
            await advance(1)
            assert sorted(await images(world)) == first
            await advance(least + 1)
            assert sorted(await images(world)) == ["web-0", "web-1", "web-2"]
            assert (await world.get(StatefulSet, "web")).status.ready_replicas == 3


@virtual_time
async def test_pods_are_available_after_min_ready_seconds_and_the_next_one_waits_for_that() -> None:
    async with cluster() as world:
        await world.create(stateful_set(2, min_ready_seconds=60))
        await advance(30)
        assert sorted(await images(world)) == ["web-0"]
        status = (await world.get(StatefulSet, "web")).status
        assert (status.ready_replicas, status.available_replicas) == (1, 0)
        await advance(40)
        assert sorted(await images(world)) == ["web-0", "web-1"]
        await advance(70)
        assert (await world.get(StatefulSet, "web")).status.available_replicas == 2


@virtual_time
async def test_a_pod_that_is_deleted_or_has_ended_comes_back_under_its_name() -> None:
    async with cluster() as world:
        await world.create(stateful_set(2))
        await world.settle()
        before = {pod.name: pod.uid for pod in await world.list(Pod)}
        await world.delete(await world.get(Pod, "web-0"))
        await world.client.patch(
            Pod, "web-1", {"status": {"phase": "Failed"}}, namespace="default", subresource="status"
        )
        await world.settle()
        after = {pod.name: pod.uid for pod in await world.list(Pod)}
        assert sorted(after) == ["web-0", "web-1"]
        assert not set(before.values()) & set(after.values())
        notes = {(event.type, event.note) for event in await world.list(Event) if event.reason == "RecreatingFailedPod"}
        assert ("Warning", "StatefulSet default/web is recreating failed Pod web-1") in notes


@virtual_time
async def test_an_update_goes_from_the_last_pod_to_the_partition_and_waits_for_each() -> None:
    async with cluster() as world:
        await world.create(stateful_set(4, update_strategy=rolling(partition=2)))
        await world.settle()
        await changed(world, template=template("web:2"))
        assert await images(world) == {"web-0": "web:1", "web-1": "web:1", "web-2": "web:2", "web-3": "web:2"}
        status = (await world.get(StatefulSet, "web")).status
        assert (status.current_replicas, status.updated_replicas) == (2, 2)
        assert status.current_revision != status.update_revision
        await world.delete(await world.get(Pod, "web-0"))
        await world.settle()
        assert (await images(world))["web-0"] == "web:1", "below the partition the old revision comes back"
        await changed(world, update_strategy=rolling(partition=0))
        assert set((await images(world)).values()) == {"web:2"}
        status = (await world.get(StatefulSet, "web")).status
        assert status.current_revision == status.update_revision
        assert status.current_replicas == 4


@virtual_time
async def test_an_update_that_does_not_become_ready_stops_at_its_first_pod() -> None:
    async with cluster() as world:
        await world.create(stateful_set(3))
        await world.settle()
        await changed(world, template=template("web:2", annotations={"hollow.setpoint.io/ready-seconds": "never"}))
        assert await images(world) == {"web-0": "web:1", "web-1": "web:1", "web-2": "web:2"}


@virtual_time
async def test_on_delete_leaves_pods_until_somebody_deletes_them() -> None:
    async with cluster() as world:
        await world.create(stateful_set(2, update_strategy=StatefulSetUpdateStrategy(type="OnDelete")))
        await world.settle()
        await changed(world, template=template("web:2"))
        assert set((await images(world)).values()) == {"web:1"}
        await world.delete(await world.get(Pod, "web-0"))
        await world.settle()
        assert await images(world) == {"web-0": "web:2", "web-1": "web:1"}


@virtual_time
async def test_scaling_down_takes_the_last_pods_and_leaves_their_claims() -> None:
    async with cluster() as world:
        await world.create(stateful_set(3, volume_claim_templates=[claim()]))
        await world.settle()
        claims = {claim.name: claim.uid for claim in await world.list(PersistentVolumeClaim)}
        assert sorted(claims) == ["data-web-0", "data-web-1", "data-web-2"]
        pod = await world.get(Pod, "web-2")
        volume = pod.spec.volumes[0]
        assert volume.persistent_volume_claim is not None
        assert (volume.name, volume.persistent_volume_claim.claim_name) == ("data", "data-web-2")
        await changed(world, replicas=1)
        assert sorted(await images(world)) == ["web-0"]
        await changed(world, replicas=3)
        assert {claim.name: claim.uid for claim in await world.list(PersistentVolumeClaim)} == claims
        await world.delete(await world.get(StatefulSet, "web"))
        await world.settle()
        assert await world.list(Pod) == []
        assert len(await world.list(PersistentVolumeClaim)) == 3


@pytest.mark.parametrize(("scaled", "deleted"), [("Delete", "Retain"), ("Retain", "Delete"), ("Delete", "Delete")])
@virtual_time
async def test_claims_go_with_their_pod_or_set_as_the_policy_says(scaled: str, deleted: str) -> None:
    policy = StatefulSetPersistentVolumeClaimRetentionPolicy(when_scaled=scaled, when_deleted=deleted)
    async with cluster() as world:
        await world.create(
            stateful_set(3, volume_claim_templates=[claim()], persistent_volume_claim_retention_policy=policy)
        )
        await world.settle()
        await changed(world, replicas=1)
        assert len(await world.list(PersistentVolumeClaim)) == (1 if scaled == "Delete" else 3)
        await changed(world, replicas=2)
        assert sorted(await images(world)) == ["web-0", "web-1"]
        await world.delete(await world.get(Pod, "web-0"))
        await world.settle()
        assert len(await world.list(PersistentVolumeClaim)) >= 2, "a pod that is replaced keeps its claim"
        kept = len(await world.list(PersistentVolumeClaim))
        await world.delete(await world.get(StatefulSet, "web"))
        await world.settle()
        assert len(await world.list(PersistentVolumeClaim)) == (0 if deleted == "Delete" else kept)


@virtual_time
async def test_claims_are_controlled_unless_another_controller_or_an_earlier_set_has_them() -> None:
    """As upstream's test "should not delete PVCs when there is another controller" expects."""

    async def owners(number: int) -> list[tuple[str, str, bool | None, bool | None]]:
        item = await world.get(PersistentVolumeClaim, f"data-web-{number}")
        references = item.metadata.owner_references
        return [(owner.kind, owner.name, owner.controller, owner.block_owner_deletion) for owner in references]

    async with cluster(control_plane=["*", "-garbage-collector"]) as world:
        await world.create(stateful_set(4, volume_claim_templates=[claim()]))
        await world.settle()
        other = ConfigMap(metadata=ObjectMeta(name="other", uid="1"))
        earlier, stale = (StatefulSet(metadata=ObjectMeta(name=name, uid=name)) for name in ("web", "gone"))
        given = {
            1: other.owner_reference(controller=False),
            2: earlier.owner_reference(),
            3: stale.owner_reference(),
        }
        for number, reference in given.items():
            body = {"metadata": {"ownerReferences": [to_wire(reference)]}}
            await world.client.patch(PersistentVolumeClaim, f"data-web-{number}", body, namespace="default")
        before = {number: await owners(number) for number in given}
        policy = StatefulSetPersistentVolumeClaimRetentionPolicy(when_deleted="Delete")
        await changed(world, persistent_volume_claim_retention_policy=policy)
        controller = ("StatefulSet", "web", True, True)
        assert await owners(0) == [controller]
        assert await owners(1) == [*before[1], controller]
        assert [await owners(2), await owners(3)] == [before[2], before[3]]
        (event,) = [item for item in await world.list(Event) if item.reason == "ConflictingController"]
        assert (event.note or "").startswith("PersistentVolumeClaim data-web-3 has a conflicting OwnerReference")
        policy.when_deleted = "Retain"
        await changed(world, persistent_volume_claim_retention_policy=policy)
        assert [await owners(number) for number in range(4)] == [[], before[1], before[2], before[3]]


@virtual_time
async def test_ordinals_begin_where_they_are_told_to() -> None:
    async with cluster() as world:
        await world.create(stateful_set(2, ordinals=StatefulSetOrdinals(start=5)))
        await world.settle()
        assert sorted(await images(world)) == ["web-5", "web-6"]
        await changed(world, ordinals=StatefulSetOrdinals(start=6))
        assert sorted(await images(world)) == ["web-6", "web-7"]


@virtual_time
async def test_going_back_takes_the_old_revision_with_the_highest_number_and_history_has_a_limit() -> None:
    async with cluster() as world:
        await world.create(stateful_set(1, revision_history_limit=1))
        await world.settle()
        first = (await world.get(Pod, "web-0")).labels[REVISION_LABEL]
        for image in ("web:2", "web:1"):
            await changed(world, template=template(image))
        revisions = {
            controller_revision.name: controller_revision.revision
            for controller_revision in await world.list(ControllerRevision)
        }
        assert revisions[first] == 3
        assert (await world.get(Pod, "web-0")).labels[REVISION_LABEL] == first
        for image in ("web:3", "web:4", "web:5"):
            await changed(world, template=template(image))
        assert len(await world.list(ControllerRevision)) == 2


@virtual_time
async def test_up_to_max_unavailable_pods_are_replaced_at_once() -> None:
    async with cluster() as world:
        slow = {"hollow.setpoint.io/ready-seconds": "5"}
        result = stateful_set(4, pod_management_policy="Parallel", update_strategy=rolling(max_unavailable=2))
        await world.create(result)
        await world.settle()
        result = await world.get(StatefulSet, "web")
        result.spec.template = template("web:2", annotations=slow)
        await world.update(result)
        await advance(2)
        assert await images(world) == {"web-0": "web:1", "web-1": "web:1", "web-2": "web:2", "web-3": "web:2"}
        await advance(20)
        assert set((await images(world)).values()) == {"web:2"}


@virtual_time
async def test_a_pod_of_another_owner_under_a_wanted_name_is_left_alone_and_told_of() -> None:
    async with cluster() as world:
        stranger = Pod.named("web-0", "default", spec=template().spec)
        await world.create(stranger)
        await world.create(stateful_set(1))
        await world.settle()
        assert (await world.get(Pod, "web-0")).metadata.owner_references == []
        await world.delete(await world.get(Pod, "web-0"))
        await advance(2000)
        assert (await world.get(Pod, "web-0")).metadata.controller is not None


@virtual_time
async def test_strange_names_and_broken_revisions_keep_nobody_from_working() -> None:
    async with cluster() as world:
        await world.create(stateful_set(1))
        await world.settle()
        for name in ("web-x", "web-007", "web"):
            pod = Pod(metadata=ObjectMeta(name=name, labels={"app": "web"}), spec=template().spec)
            await world.create(pod)
        broken = ControllerRevision(metadata=ObjectMeta(name="odd", labels={"app": "web"}), data={"x": 1}, revision=9)
        await world.create(broken)
        await world.settle()
        await changed(world, replicas=2)
        assert {"web-0", "web-1", "web-x", "web-007", "web"} == set(await images(world))


@virtual_time
async def test_a_revision_of_an_earlier_set_is_used_until_the_garbage_collector_takes_it() -> None:
    async with cluster() as world:
        await world.create(stateful_set(1))
        await world.settle()
        (earlier,) = await world.list(ControllerRevision)
        earlier.metadata.finalizers = ["example.com/slow"]
        earlier = await world.update(earlier)
        await world.delete(await world.get(StatefulSet, "web"))
        again = await world.create(stateful_set(1))
        await world.settle()
        status = (await world.get(StatefulSet, "web")).status
        assert (status.collision_count, status.update_revision) == (0, earlier.name)
        assert (await world.get(Pod, "web-0")).labels[REVISION_LABEL] == earlier.name
        (revision,) = await world.list(ControllerRevision)
        assert (revision.uid, revision.is_deleting) == (earlier.uid, True)
        revision.metadata.finalizers = []
        await world.update(revision)
        await world.settle()
        (revision,) = await world.list(ControllerRevision)
        assert revision.name == earlier.name
        assert [owner.uid for owner in revision.metadata.owner_references] == [again.uid]
