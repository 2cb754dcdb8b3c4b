"""The tests of bluegreen.py: the cases of the original's script as facts, and what it does not ask."""

from __future__ import annotations

from typing import Any

from bluegreen import OTHER, BlueGreenDeployment, BlueGreenDeploymentSpec, ServiceTemplate, controller

import setpoint as sp
from setpoint.cluster import PodBehaviour
from setpoint.models.apps_v1 import ReplicaSet
from setpoint.models.core_v1 import Container, Pod, PodSpec, PodTemplateSpec, Service, ServicePort, ServiceSpec


def deployment(image: str, replicas: int = 2) -> BlueGreenDeployment:
    labels = {"app": "web"}
    service = ServiceSpec(selector=labels, ports=[ServicePort(port=80)])
    spec = BlueGreenDeploymentSpec(
        replicas=replicas,
        selector=sp.LabelSelector(match_labels=labels),
        template=PodTemplateSpec(
            metadata=sp.ObjectMeta(labels=labels), spec=PodSpec(containers=[Container(name="main", image=image)])
        ),
        service=ServiceTemplate(metadata=sp.ObjectMeta(name="front"), spec=service),
    )
    return BlueGreenDeployment.named("web", "default", spec=spec)


def slow(pod: Pod) -> PodBehaviour:
    """Pods that are ready after ten seconds; one image never is."""
    return PodBehaviour(ready=float("inf") if pod.spec.containers[0].image == "broken" else 10.0)


async def traffic(cluster: sp.testing.Cluster) -> str:
    return (await cluster.get(Service, "front")).spec.selector["color"]


async def pods(cluster: sp.testing.Cluster) -> dict[str, int | None]:
    return {replica_set.name: replica_set.status.ready_replicas or 0 for replica_set in await cluster.list(ReplicaSet)}


@sp.testing.virtual_time
async def test_each_rollout_changes_the_colour_and_leaves_no_pods_of_the_other() -> None:
    async with sp.testing.cluster(controller) as cluster:
        for image, color in (("web:1", "blue"), ("web:2", "green"), ("web:3", "blue")):
            applied = await cluster.apply(deployment(image))
            await cluster.settle()
            assert await traffic(cluster) == color
            assert await pods(cluster) == {"web-blue": 2 * (color == "blue"), "web-green": 2 * (color == "green")}
            status = (await cluster.get(BlueGreenDeployment, "web")).status
            assert status.active is not None
            assert (status.active_color, status.active.available_replicas) == (color, 2)
            assert status.observed_generation == applied.metadata.generation


@sp.testing.virtual_time
async def test_traffic_moves_when_all_new_pods_are_ready_and_not_before() -> None:
    async with sp.testing.cluster(controller, behaviour=slow) as cluster:
        await cluster.apply(deployment("web:1"))
        await cluster.settle(patience=60)
        await cluster.apply(deployment("web:2"))
        await sp.testing.advance(9)
        assert (await traffic(cluster), await pods(cluster)) == ("blue", {"web-blue": 2, "web-green": 0})
        await cluster.settle(patience=60)
        assert (await traffic(cluster), await pods(cluster)) == ("green", {"web-blue": 0, "web-green": 2})


@sp.testing.virtual_time
async def test_a_rollout_that_fails_is_taken_back_and_the_next_one_comes_through() -> None:
    async with sp.testing.cluster(controller, behaviour=slow) as cluster:
        await cluster.apply(deployment("web:1"))
        await cluster.settle(patience=60)
        await cluster.apply(deployment("broken"))
        await cluster.settle(patience=600)
        assert (await traffic(cluster), await pods(cluster)) == ("blue", {"web-blue": 2, "web-green": 0})
        await cluster.apply(deployment("web:3"))
        await cluster.settle(patience=60)
        assert (await traffic(cluster), await pods(cluster)) == ("green", {"web-blue": 0, "web-green": 2})


@sp.testing.virtual_time
async def test_the_number_of_pods_follows_without_a_rollout() -> None:
    """The original leaves it until the next rollout."""
    async with sp.testing.cluster(controller) as cluster:
        for replicas in (2, 3):
            await cluster.apply(deployment("web:1", replicas))
            await cluster.settle()
            assert await pods(cluster) == {"web-blue": replicas, "web-green": 0}


@sp.testing.virtual_time
async def test_a_service_that_is_deleted_comes_back_with_the_colour_that_has_pods() -> None:
    """The original takes blue, which may have none."""
    async with sp.testing.cluster(controller) as cluster:
        for image in ("web:1", "web:2"):
            await cluster.apply(deployment(image))
            await cluster.settle()
        await cluster.delete(await cluster.get(Service, "front"))
        await cluster.settle()
        assert (await traffic(cluster), await pods(cluster)) == ("green", {"web-blue": 0, "web-green": 2})


async def scenario(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(deployment("web:1"))
    await cluster.settle()
    await cluster.apply(deployment("web:2"))
    await cluster.settle()


def has_pods_where_traffic_goes(objects: sp.simulation.Objects) -> bool:
    """Or none where it does not."""
    wanted = {replica_set.labels["color"]: replica_set.spec.replicas or 0 for replica_set in objects.list(ReplicaSet)}
    return all(
        wanted.get(color := service.spec.selector["color"], 0) or not wanted.get(OTHER[color], 0)
        for service in objects.list(Service)
    )


UNTIL = (("until", "step"),)


def simulated(budget: sp.simulation.Budget, **options: Any) -> sp.simulation.Report:
    """Simulates the scenario under faults; test_survival.py runs it."""
    return sp.simulation.check(
        scenario,
        lambda: [controller],
        control_plane=["garbage-collector", "replicaset"],
        predicates=[sp.simulation.always(has_pods_where_traffic_goes, "the colour that gets the traffic has pods")],
        budget=budget,
        **options,
    )


def test_the_pods_that_serve_stay_when_the_operator_starts_on_an_old_view() -> None:
    old = (("behind", "MODIFIED replicasets.apps default/web-blue #3"),)
    plan = sp.simulation.Plan((sp.simulation.Fault("restart", "step 3", old),))
    simulated(sp.simulation.Budget(runs=1), replay=plan.token("", ""), workers=1)


def test_a_late_request_does_not_direct_the_traffic_back() -> None:
    faults = (
        sp.simulation.Fault("down", "step 2"),
        sp.simulation.Fault("late-write", "update services default/front #1", (("seconds", 5.0),)),
    )
    simulated(sp.simulation.Budget(runs=1), replay=sp.simulation.Plan(faults).token("", ""), workers=1)


def test_a_late_request_does_not_start_the_pods_of_an_earlier_moment() -> None:
    faults = (
        sp.simulation.Fault("crash-after", "patch bluegreendeployments.ctl.enisoc.com/status default/web #1", UNTIL),
        sp.simulation.Fault("late-write", "update replicasets.apps default/web-blue #1", (("seconds", 5.0),)),
        sp.simulation.Fault("pause", "step 2", (("who", "controller"), ("seconds", 60.0))),
    )
    simulated(sp.simulation.Budget(runs=1), replay=sp.simulation.Plan(faults).token("", ""), workers=1)
