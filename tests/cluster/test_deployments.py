"""Deployments: sizes shared during a rollout (upstream's sync_test.go), revisions, and what is said of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from tests.cluster.workloads import selector, template
from tests.transports import Through

from setpoint.client import Request, Response, Transport
from setpoint.cluster.workloads.deployment_progress import AVAILABLE, report
from setpoint.cluster.workloads.deployments import REVISION, Deployments
from setpoint.cluster.workloads.proportional_scaling import DESIRED, MOST, only_one, shared
from setpoint.models.apps_v1 import Deployment, DeploymentCondition, DeploymentSpec, ReplicaSet, ReplicaSetSpec
from setpoint.models.events_v1 import Event
from setpoint.testing import Cluster, cluster, virtual_time

OLD = datetime(2026, 1, 1, tzinfo=UTC)


def deployment(replicas: int, image: str = "web:1") -> Deployment:
    spec = DeploymentSpec(replicas=replicas, selector=selector(), template=template(image))
    return Deployment.named("web", "default", spec=spec)


def sized(sizes: list[int], desired: int, surge: int) -> list[ReplicaSet]:
    """ReplicaSets, the newest first, of a Deployment that wanted ``desired`` replicas."""
    results = []
    for number, size in enumerate(sizes):
        item = ReplicaSet.named(f"web-{number}", "default", spec=ReplicaSetSpec(replicas=size, selector=selector()))
        item.metadata.annotations = {DESIRED: str(desired), MOST: str(desired + surge)}
        item.metadata.creation_timestamp = OLD - timedelta(minutes=number)
        results.append(item)
    return results


@pytest.mark.parametrize(
    ("before", "after", "sizes", "expected", "surges"),
    [
        (10, 12, [10], [12], (0, 0)),
        (10, 5, [10], [5], (0, 0)),
        (5, 10, [2, 3], [4, 6], (0, 0)),
        (5, 3, [2, 3], [1, 2], (0, 0)),
        (9, 4, [8, 1], [4, 0], (0, 0)),
        (7, 10, [2, 3, 2], [3, 4, 3], (0, 0)),
        (13, 8, [2, 8, 3], [1, 5, 2], (0, 0)),
        (3, 4, [1, 1, 1], [2, 1, 1], (0, 0)),
        (3, 2, [1, 1, 1], [1, 1, 0], (0, 0)),
        (6, 0, [3, 2, 1], [0, 0, 0], (0, 0)),
        (10, 20, [6, 6], [11, 11], (2, 2)),
        (10, 50, [5, 8], [22, 34], (3, 6)),
        (10, 14, [7, 3], [10, 4], (0, 0)),
    ],
)
def test_a_change_of_size_is_shared_in_proportion(
    before: int, after: int, sizes: list[int], expected: list[int], surges: tuple[int, int]
) -> None:
    there = sized(sizes, before, surges[0])
    by_name = {item.name: size for item, size in shared(deployment(after), there, after, surges[1])}
    assert [by_name.get(item.name, 0) for item in there] == expected


def test_one_replica_set_alone_takes_all() -> None:
    newest, *others = sized([0, 0, 0], 6, 0)
    assert only_one(newest, others) is newest
    assert only_one(None, others) is others[0]
    newest, *others = sized([0, 3, 0], 6, 0)
    assert only_one(newest, others) is others[0]
    newest, *others = sized([1, 3], 6, 0)
    assert only_one(newest, others) is None


async def replica_sets(world: Cluster) -> dict[str, int | None]:
    """The sizes of the ReplicaSets, by the image of their pods."""
    current_replica_sets = await world.list(ReplicaSet)
    return {
        item.spec.template.spec.containers[0].image or "": item.spec.replicas
        for item in current_replica_sets
        if item.spec.template
    }


@virtual_time
async def test_a_rollout_that_is_paused_is_scaled_in_proportion() -> None:
    stuck = template("web:2", annotations={"hollow.setpoint.io/ready-seconds": "never"})
    async with cluster(nodes=1) as world:
        await world.create(deployment(10))
        await world.settle()
        new_deployment = await world.get(Deployment, "web")
        new_deployment.spec.template = stuck
        await world.update(new_deployment)
        await world.settle()
        rolling = await replica_sets(world)
        assert rolling == {"web:1": 8, "web:2": 5}
        await world.client.patch(Deployment, "web", {"spec": {"paused": True}})
        await world.client.patch(Deployment, "web", {"spec": {"replicas": 20}})
        await world.settle()
        assert await replica_sets(world) == {"web:1": 15, "web:2": 10}


@virtual_time
async def test_replica_sets_say_why_they_were_made_and_which_revisions_they_have_been() -> None:
    async with cluster() as world:
        await world.create(deployment(1))
        await world.settle()
        for image, cause in (("web:2", "second"), ("web:1", "back to the first")):
            new_deployment = await world.get(Deployment, "web")
            new_deployment.spec.template = template(image)
            new_deployment.metadata.annotations = {**new_deployment.annotations, "kubernetes.io/change-cause": cause}
            await world.update(new_deployment)
            await world.settle()
        result = {item.annotations["deployment.kubernetes.io/revision"]: item for item in await world.list(ReplicaSet)}
        assert set(result) == {"2", "3"}
        assert result["3"].annotations["kubernetes.io/change-cause"] == "back to the first"
        assert result["3"].annotations["deployment.kubernetes.io/revision-history"] == "1"
        assert result["2"].annotations["kubernetes.io/change-cause"] == "second"
        assert (await world.get(Deployment, "web")).annotations["deployment.kubernetes.io/revision"] == "3"


@virtual_time
async def test_events_say_what_was_scaled() -> None:
    async with cluster() as world:
        await world.create(deployment(3))
        await world.settle()
        (result,) = await world.list(ReplicaSet)
        notes = [event.note for event in await world.list(Event) if event.reason == "ScalingReplicaSet"]
        assert notes == [f"Scaled up replica set {result.name} from 0 to 3"]


class _Copying(Through):
    """Keeps the requests that change ReplicaSets."""

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self.changes: list[Request] = []

    @asynccontextmanager
    async def send(self, request: Request) -> AsyncIterator[Response]:
        if request.method == "PATCH" and "/replicasets/" in request.path:
            self.changes.append(request)
        async with self.inner.send(request) as answer:
            yield answer


@virtual_time
async def test_a_size_that_arrives_late_does_not_undo_what_was_decided_since() -> None:
    connections: list[_Copying] = []

    def copying(inner: Transport) -> Transport:
        connections.append(_Copying(inner))
        return connections[-1]

    plane = ("*", "-deployment-controller")
    async with cluster(Deployments().controller, control_plane=plane, rbac=False).over(copying) as world:
        for image, replicas in (("web:1", 2), ("web:2", 2), ("web:2", 1)):
            await world.apply(deployment(replicas, image))
            await world.settle()
        (connection,) = connections
        sizes = [change for change in connection.changes if change.body and b'"replicas"' in change.body]
        assert len(sizes) >= 4
        for late in sizes:
            answer = await world.server.handle(late)
            assert answer.status == 409, late.body
        assert await replica_sets(world) == {"web:1": 0, "web:2": 1}


def test_the_condition_names_the_replica_set_that_has_progressed_though_no_status_told_of_its_rollout() -> None:
    (current,) = sized([2], 2, 0)
    current.status.replicas = current.status.ready_replicas = current.status.available_replicas = 2
    new_deployment = deployment(2)
    new_deployment.spec.progress_deadline_seconds = 600
    text = 'ReplicaSet "web-before" has successfully progressed.'
    new_deployment.status.conditions = [
        DeploymentCondition(type="Progressing", status="True", reason=AVAILABLE, message=text, last_update_time=OLD)
    ]
    report(new_deployment, current, [], created=False, unavailable=0, now=OLD + timedelta(hours=1))
    (progressing,) = [condition for condition in new_deployment.status.conditions if condition.type == "Progressing"]
    assert (progressing.reason, progressing.message) == (
        AVAILABLE, 'ReplicaSet "web-0" has successfully progressed.',
    )  # fmt: skip


@virtual_time
async def test_the_generation_of_a_deployment_counts_what_its_user_changes() -> None:
    async with cluster() as world:
        new_deployment = await world.create(deployment(1))
        for number in range(1, 4):
            await world.settle()
            current_deployment = await world.get(Deployment, new_deployment.name)
            assert (current_deployment.metadata.generation, current_deployment.annotations[REVISION]) == (
                number,
                str(number),
            )
            assert current_deployment.status.observed_generation == number
            current_deployment.spec.template.spec.containers[0].image = f"web:{number + 1}"
            await world.update(current_deployment)
