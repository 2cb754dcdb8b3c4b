"""Deployments and ReplicaSets, as kubectl's users know them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from setpoint.client import Client, InProcessTransport
from setpoint.cluster import ControlPlane, HollowPods
from setpoint.cluster.workloads.deployments import DESIRED, REVISION, limits
from setpoint.cluster.workloads.pod_templates import HASH_LABEL, template_hash
from setpoint.meta import LabelSelector, ObjectMeta
from setpoint.models.apps_v1 import (
    Deployment,
    DeploymentSpec,
    DeploymentStrategy,
    ReplicaSet,
    ReplicaSetSpec,
    RollingUpdateDeployment,
)
from setpoint.models.core_v1 import (
    Container,
    Pod,
    PodSpec,
    PodTemplateSpec,
    ReplicationController,
    ReplicationControllerSpec,
)
from setpoint.models.events_v1 import Event
from setpoint.testing import advance, cluster, virtual_time


def template(image: str = "web:1") -> PodTemplateSpec:
    return PodTemplateSpec(
        metadata=ObjectMeta(labels={"app": "web"}), spec=PodSpec(containers=[Container(name="web", image=image)])
    )


def deployment(replicas: int = 3, image: str = "web:1", **spec: Any) -> Deployment:
    return Deployment.named(
        "web",
        "default",
        spec=DeploymentSpec(
            replicas=replicas, selector=LabelSelector(match_labels={"app": "web"}), template=template(image), **spec
        ),
    )


def replica_set(replicas: int = 3) -> ReplicaSet:
    selector = LabelSelector(match_labels={"app": "web"})
    return ReplicaSet.named(
        "web", "default", spec=ReplicaSetSpec(replicas=replicas, selector=selector, template=template())
    )


@virtual_time
async def test_a_replica_set_has_as_many_pods_as_it_says() -> None:
    async with cluster() as world:
        result = await world.create(replica_set(30))
        await world.settle()
        assert len(await world.list(Pod)) == 30
        result = await world.get(ReplicaSet, "web")
        status = result.status
        assert (status.replicas, status.ready_replicas, status.available_replicas) == (30, 30, 30)
        assert (status.fully_labeled_replicas, status.observed_generation) == (30, 1)
        result.spec.replicas = 4
        await world.update(result)
        await world.settle()
        pods = await world.list(Pod)
        assert len(pods) == 4
        await world.delete(pods[0])
        await world.settle()
        assert len(await world.list(Pod)) == 4
        await world.delete(result)
        await world.settle()
        assert await world.list(Pod) == []


@virtual_time
async def test_pods_that_are_of_least_use_go_first_when_there_are_to_be_fewer() -> None:
    async with cluster(nodes=3) as world:
        await world.create(replica_set(6))  # two a node
        await world.settle()
        first, second, *others = await world.list(Pod)
        cost = "controller.kubernetes.io/pod-deletion-cost"
        for pod, text in ((first, "10"), (second, "-10"), (others[0], "0")):
            await world.client.patch(Pod, pod.name, {"metadata": {"annotations": {cost: text}}})
        stays = second.spec.node_name
        for wanted, gone in ((5, second.name), (1, first.name)):
            await world.client.patch(ReplicaSet, "web", {"spec": {"replicas": wanted}})
            await world.settle()
            left = await world.list(Pod)
            assert len(left) == wanted
            assert (gone in [pod.name for pod in left]) == (gone == first.name)
            if wanted == 5:
                await world.client.patch(ReplicaSet, "web", {"spec": {"replicas": 3}})
                await world.settle()
                nodes = [pod.spec.node_name for pod in await world.list(Pod)]
                assert len(set(nodes)) == 3, "those that share a node go before those that do not"
                assert stays in nodes


@virtual_time
async def test_pods_that_have_failed_are_replaced() -> None:
    async with cluster() as world:
        await world.create(replica_set(1))
        await world.settle()
        (pod,) = await world.list(Pod)
        await world.client.patch(
            Pod, pod.name, {"status": {"phase": "Failed"}}, namespace="default", subresource="status"
        )
        await world.settle()
        phases = sorted(str(pod.status.phase) for pod in await world.list(Pod))
        assert phases == ["Failed", "Running"]


@virtual_time
async def test_a_deployment_makes_a_replica_set_and_says_that_it_is_available() -> None:
    async with cluster() as world:
        await world.create(deployment(3))
        await world.settle()
        (result,) = await world.list(ReplicaSet)
        digest = result.labels[HASH_LABEL]
        assert result.name == f"web-{digest}"
        assert result.spec.selector.match_labels == {"app": "web", HASH_LABEL: digest}
        new_deployment = await world.get(Deployment, "web")
        status = new_deployment.status
        assert (status.replicas, status.updated_replicas, status.available_replicas) == (3, 3, 3)
        assert status.observed_generation == new_deployment.metadata.generation
        assert new_deployment.is_available
        assert new_deployment.annotations[REVISION] == "1"
        assert all(condition.last_transition_time for condition in status.conditions)
        for pod in await world.list(Pod):
            assert pod.name.startswith(f"web-{digest}-")


@virtual_time
async def test_a_rolling_update_never_has_too_few_or_too_many() -> None:
    async with cluster(control_plane=False) as world:
        client = Client(InProcessTransport(world.server.handle))
        async with ControlPlane(client, pods=HollowPods(start_seconds=3), now=world.now, random=world.random):
            strategy = DeploymentStrategy(
                type="RollingUpdate", rolling_update=RollingUpdateDeployment(max_surge=2, max_unavailable=1)
            )
            await world.create(deployment(8, strategy=strategy))
            await advance(10)
            new_deployment = await world.get(Deployment, "web")
            new_deployment.spec.template.spec.containers[0].image = "web:2"
            await world.update(new_deployment)
            while True:
                pods = [pod for pod in await world.list(Pod) if not pod.is_deleting]
                assert sum(pod.is_ready for pod in pods) >= 7
                assert len(pods) <= 10
                if {pod.spec.containers[0].image for pod in pods} == {"web:2"} and len(pods) == 8:
                    break
                await advance(0.25)
                assert asyncio.get_running_loop().time() < 120
            await advance(10)
            new_deployment = await world.get(Deployment, "web")
            assert new_deployment.annotations[REVISION] == "2"
            assert new_deployment.status.updated_replicas == 8
            assert sorted(item.spec.replicas or 0 for item in await world.list(ReplicaSet)) == [0, 8]


@virtual_time
async def test_recreate_ends_the_old_pods_first() -> None:
    async with cluster(control_plane=False) as world:
        client = Client(InProcessTransport(world.server.handle))
        async with ControlPlane(
            client, pods=HollowPods(start_seconds=2, stop_seconds=5), now=world.now, random=world.random
        ):
            await world.create(deployment(3, strategy=DeploymentStrategy(type="Recreate")))
            await advance(5)
            new_deployment = await world.get(Deployment, "web")
            new_deployment.spec.template.spec.containers[0].image = "web:2"
            await world.update(new_deployment)
            for _ in range(80):
                images = {pod.spec.containers[0].image for pod in await world.list(Pod)}
                assert len(images) <= 1, "never both at once"
                await advance(0.25)
            assert images == {"web:2"}


@virtual_time
async def test_rolling_back_takes_the_old_replica_set_again_with_a_new_revision() -> None:
    async with cluster() as world:
        await world.create(deployment(2))
        await world.settle()
        first = (await world.list(ReplicaSet))[0].name
        for image in ("web:2", "web:1"):
            new_deployment = await world.get(Deployment, "web")
            new_deployment.spec.template.spec.containers[0].image = image
            await world.update(new_deployment)
            await world.settle()
        sets = {result.name: result for result in await world.list(ReplicaSet)}
        assert len(sets) == 2
        assert sets[first].spec.replicas == 2
        assert sets[first].annotations[REVISION] == "3"
        assert (await world.get(Deployment, "web")).annotations[REVISION] == "3"


@virtual_time
async def test_the_history_has_a_limit() -> None:
    async with cluster() as world:
        await world.create(deployment(1, revision_history_limit=2))
        for number in range(2, 7):
            await world.settle()
            new_deployment = await world.get(Deployment, "web")
            new_deployment.spec.template.spec.containers[0].image = f"web:{number}"
            await world.update(new_deployment)
        await world.settle()
        assert len(await world.list(ReplicaSet)) == 3


@virtual_time
async def test_a_paused_deployment_rolls_nothing_out_but_scales() -> None:
    async with cluster() as world:
        await world.create(deployment(2))
        await world.settle()
        new_deployment = await world.get(Deployment, "web")
        new_deployment.spec.paused = True
        new_deployment.spec.template.spec.containers[0].image = "web:2"
        await world.update(new_deployment)
        await world.settle()
        assert {pod.spec.containers[0].image for pod in await world.list(Pod)} == {"web:1"}
        new_deployment = await world.get(Deployment, "web")
        new_deployment.spec.paused = None
        await world.update(new_deployment)
        await world.settle()
        assert {pod.spec.containers[0].image for pod in await world.list(Pod)} == {"web:2"}


@virtual_time
async def test_a_replica_set_says_what_its_deployment_wants_after_it_was_scaled() -> None:
    async with cluster() as world:
        await world.apply(deployment(2))
        await world.settle()
        await world.apply(deployment(1))
        await world.settle()
        (current,) = await world.list(ReplicaSet)
        assert current.annotations[DESIRED] == "1"


@virtual_time
async def test_deleting_a_deployment_leaves_nothing() -> None:
    async with cluster() as world:
        new_deployment = await world.create(deployment(3))
        await world.settle()
        await world.delete(new_deployment)
        await world.settle()
        assert await world.list(ReplicaSet) == []
        assert await world.list(Pod) == []


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "wanted"),
    [
        (10, None, None, (3, 2)),
        (4, "25%", "25%", (1, 1)),
        (1, "25%", "25%", (1, 0)),
        (10, 0, 0, (0, 1)),
        (10, "0%", "5%", (0, 1)),
        (3, 2, "100%", (2, 3)),
    ],
)
def test_surge_is_rounded_up_and_unavailability_down(
    replicas: int, surge: Any, unavailable: Any, wanted: tuple[int, int]
) -> None:
    strategy = DeploymentStrategy(rolling_update=RollingUpdateDeployment(max_surge=surge, max_unavailable=unavailable))
    assert limits(deployment(replicas, strategy=strategy)) == wanted


def test_a_template_has_one_hash_until_it_collides() -> None:
    assert template_hash(template()) == template_hash(template())
    assert template_hash(template()) != template_hash(template("web:2"))
    assert template_hash(template()) != template_hash(template(), 1)


# -- whose they are ----------------------------------------------------------------------------------------------------


def pod(name: str, app: str = "web", **metadata: Any) -> Pod:
    new_template = template()
    return Pod(
        metadata=ObjectMeta(name=name, namespace="default", labels={"app": app}, **metadata), spec=new_template.spec
    )


def owner_of(result: Pod | ReplicaSet) -> str:
    controller = result.metadata.controller
    return controller.name if controller is not None else ""


@virtual_time
async def test_pods_that_belong_to_nobody_are_adopted_and_count() -> None:
    async with cluster() as world:
        await world.create(pod("early"))
        await world.create(pod("other", app="db"))
        await world.create(replica_set(2))
        await world.settle()
        by_name = {pod.name: owner_of(pod) for pod in await world.list(Pod)}
        assert (len(by_name), by_name["early"], by_name["other"]) == (3, "web", "")
        # Also one that comes later, or gets the labels later; it is one too many then.
        await world.client.patch(Pod, "other", {"metadata": {"labels": {"app": "web"}}}, namespace="default")
        await world.settle()
        assert {owner_of(pod) for pod in await world.list(Pod)} == {"web"}
        assert len(await world.list(Pod)) == 2
        reference = (await world.list(Pod))[0].metadata.owner_references[0]
        assert (reference.controller, reference.block_owner_deletion, reference.kind) == (True, True, "ReplicaSet")


@virtual_time
async def test_a_pod_whose_labels_are_taken_off_is_let_go_and_replaced() -> None:
    """As people do it to look at a pod that misbehaves."""
    async with cluster() as world:
        await world.create(replica_set(2))
        await world.settle()
        suspect = (await world.list(Pod))[0]
        await world.client.patch(Pod, suspect.name, {"metadata": {"labels": {"app": "debug"}}}, namespace="default")
        await world.settle()
        by_name = {pod.name: owner_of(pod) for pod in await world.list(Pod)}
        assert by_name.pop(suspect.name) == ""
        assert list(by_name.values()) == ["web", "web"]
        await world.delete(await world.get(ReplicaSet, "web"))
        await world.settle()
        assert [pod.name for pod in await world.list(Pod)] == [suspect.name], "a released pod is not collected"


@virtual_time
async def test_what_ends_neither_adopts_nor_is_adopted() -> None:
    async with cluster() as world:
        held = replica_set(1)
        held.metadata.finalizers = ["test.example.com/hold"]
        await world.create(held)
        await world.settle()
        await world.delete(await world.get(ReplicaSet, "web"))
        await world.create(pod("late"))
        await world.settle()
        assert owner_of(await world.get(Pod, "late")) == ""
    async with cluster() as world:
        ending = pod("ending", finalizers=["test.example.com/hold"])
        await world.create(ending)
        await world.delete(await world.get(Pod, "ending"))
        await world.create(replica_set(1))
        await world.settle()
        assert owner_of(await world.get(Pod, "ending")) == ""
        assert len(await world.list(Pod)) == 2


@virtual_time
async def test_two_replica_sets_with_one_selector_leave_each_others_pods_alone() -> None:
    async with cluster() as world:
        for name in ("one", "two"):
            result = replica_set(2)
            result.metadata.name = name
            await world.create(result)
        await world.create(pod("free"))
        await world.settle()
        owners = sorted(owner_of(pod) for pod in await world.list(Pod))
        assert owners == ["one", "one", "two", "two"]


@virtual_time
async def test_a_deployment_that_is_replaced_without_its_pods_takes_them_over() -> None:
    """``kubectl delete --cascade=orphan``, and the same deployment again."""
    async with cluster() as world:
        await world.create(deployment(3))
        await world.settle()
        before = {pod.metadata.uid for pod in await world.list(Pod)}
        (kept,) = await world.list(ReplicaSet)
        await world.delete(await world.get(Deployment, "web"), propagation="Orphan")
        await world.settle()
        assert owner_of(await world.get(ReplicaSet, kept.name)) == ""
        await world.create(deployment(3))
        await world.settle()
        (result,) = await world.list(ReplicaSet)
        assert (result.uid, owner_of(result)) == (kept.uid, "web")
        assert {pod.metadata.uid for pod in await world.list(Pod)} == before
        assert (await world.get(Deployment, "web")).is_available


# -- progress ----------------------------------------------------------------------------------------------------------


def progress(deployment: Deployment) -> tuple[str | None, str | None]:
    return next(
        (condition.status, condition.reason)
        for condition in deployment.status.conditions
        if condition.type == "Progressing"
    )


async def make_ready(world: Any, name: str) -> None:
    ready = [{"type": "Ready", "status": "True"}]
    status = {"status": {"phase": "Running", "conditions": ready}}
    await world.client.patch(Pod, name, status, namespace="default", subresource="status")


@virtual_time
async def test_a_rollout_without_progress_is_late_after_its_deadline_and_goes_on_all_the_same() -> None:
    async with cluster(nodes=0) as world:  # so that no pod ever starts by itself
        await world.create(deployment(2, progress_deadline_seconds=60))
        await advance(30)
        assert progress(await world.get(Deployment, "web")) == ("True", "ReplicaSetUpdated")
        await make_ready(world, (await world.list(Pod))[0].name)
        await advance(55)
        new_deployment = await world.get(Deployment, "web")
        assert progress(new_deployment) == ("True", "ReplicaSetUpdated"), "progress starts the deadline anew"
        await advance(10)
        new_deployment = await world.get(Deployment, "web")
        assert progress(new_deployment) == ("False", "ProgressDeadlineExceeded")
        assert "has timed out progressing" in str(new_deployment.status.conditions)
        await advance(600)
        assert progress(await world.get(Deployment, "web")) == ("False", "ProgressDeadlineExceeded")
        await make_ready(world, (await world.list(Pod))[1].name)
        await advance(5)
        new_deployment = await world.get(Deployment, "web")
        assert progress(new_deployment) == ("True", "NewReplicaSetAvailable")
        # A complete rollout is not late again because a pod fails later, but a new one may be.
        await world.delete((await world.list(Pod))[0])
        await advance(600)
        assert progress(await world.get(Deployment, "web")) == ("True", "NewReplicaSetAvailable")
        new_deployment = await world.get(Deployment, "web")
        new_deployment.spec.template.spec.containers[0].image = "web:2"
        await world.update(new_deployment)
        await advance(5)
        assert progress(await world.get(Deployment, "web"))[0] == "True"
        await advance(70)
        assert progress(await world.get(Deployment, "web")) == ("False", "ProgressDeadlineExceeded")


@virtual_time
async def test_a_pause_does_not_count_and_without_a_deadline_nothing_is_said() -> None:
    async with cluster(nodes=0) as world:
        await world.create(deployment(2, progress_deadline_seconds=60))
        await advance(30)
        new_deployment = await world.get(Deployment, "web")
        new_deployment.spec.paused = True
        await world.update(new_deployment)
        await advance(300)
        assert progress(await world.get(Deployment, "web")) == ("Unknown", "DeploymentPaused")
        new_deployment = await world.get(Deployment, "web")
        new_deployment.spec.paused = None
        await world.update(new_deployment)
        await advance(5)
        assert progress(await world.get(Deployment, "web")) == ("Unknown", "DeploymentResumed")
        await advance(70)
        assert progress(await world.get(Deployment, "web")) == ("False", "ProgressDeadlineExceeded")
        new_deployment = await world.get(Deployment, "web")
        new_deployment.spec.progress_deadline_seconds = 2**31 - 1
        await world.update(new_deployment)
        await advance(5)
        conditions = (await world.get(Deployment, "web")).status.conditions
        assert [condition.type for condition in conditions] == ["Available"]


@virtual_time
async def test_a_replication_controller_has_as_many_pods_as_it_says() -> None:
    async with cluster() as world:
        spec = ReplicationControllerSpec(replicas=3, selector={"app": "web"}, template=template())
        await world.create(ReplicationController.named("web", "default", spec=spec))
        await world.settle()
        replication_controller = await world.get(ReplicationController, "web")
        assert len(await world.list(Pod)) == 3
        assert (
            replication_controller.status.replicas,
            replication_controller.status.ready_replicas,
            replication_controller.status.available_replicas,
        ) == (3, 3, 3)
        replication_controller.spec.replicas = 1
        await world.update(replication_controller)
        await world.settle()
        assert len(await world.list(Pod)) == 1
        await world.delete(replication_controller, propagation="Background")  # by default its pods would stay
        await world.settle()
        assert await world.list(Pod) == []


@virtual_time
async def test_what_is_done_with_pods_is_told_in_events() -> None:
    async with cluster() as world:
        await world.create(replica_set(1))
        await world.settle()
        (pod,) = await world.list(Pod)
        result = await world.get(ReplicaSet, "web")
        result.spec.replicas = 0
        await world.update(result)
        await world.settle()
        events = [event for event in await world.list(Event) if event.regarding.kind == "ReplicaSet"]
        assert [(event.reason, event.note) for event in sorted(events, key=lambda item: str(item.reason))] == [
            ("SuccessfulCreate", f"Created pod: {pod.name}"),
            ("SuccessfulDelete", f"Deleted pod: {pod.name}"),
        ]
