"""HorizontalPodAutoscalers: replicas by metrics, within bounds, not too fast, and what they say of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.cluster.workloads import selector, template

from setpoint.cluster.autoscaling.replica_calculator import (
    MetricsError,
    Tolerance,
    by_average,
    by_total,
    by_utilization,
)
from setpoint.cluster.autoscaling.scaling_policies import Pace
from setpoint.cluster.nodes.resource_usage import ANNOTATION
from setpoint.meta import from_wire
from setpoint.models.apps_v1 import Deployment, DeploymentSpec
from setpoint.models.autoscaling_v2 import HorizontalPodAutoscaler, HorizontalPodAutoscalerBehavior
from setpoint.models.core_v1 import Container, Pod, ResourceRequirements, Service
from setpoint.models.events_v1 import Event
from setpoint.testing import Cluster, advance, cluster, virtual_time

NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)


def deployment(replicas: int = 2, **usage: str) -> Deployment:
    marks = {f"{ANNOTATION}{name}": value for name, value in usage.items()}
    new_template = template(annotations=marks)
    new_template.spec.containers[0].resources = ResourceRequirements(requests={"cpu": "1", "memory": "1Gi"})
    return Deployment.named(
        "web", "default", spec=DeploymentSpec(replicas=replicas, selector=selector(), template=new_template)
    )  # fmt: skip


def autoscaler(*metrics: dict[str, Any], most: int = 10, **spec: Any) -> HorizontalPodAutoscaler:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    result = {"scaleTargetRef": target, "maxReplicas": most, "metrics": list(metrics), **spec}
    return from_wire(HorizontalPodAutoscaler, {"metadata": {"name": "web", "namespace": "default"}, "spec": result})


def utilization(percent: int, name: str = "cpu") -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": name, "target": target}}


async def use(world: Cluster, name: str, value: str) -> None:
    """All pods use so much from now on."""
    for pod in await world.list(Pod):
        await world.client.patch(Pod, pod.name, {"metadata": {"annotations": {f"{ANNOTATION}{name}": value}}})


async def replicas(world: Cluster) -> int | None:
    return (await world.get(Deployment, "web")).spec.replicas


async def conditions(world: Cluster) -> dict[str, tuple[str, str | None]]:
    current_conditions = (await world.get(HorizontalPodAutoscaler, "web")).status.conditions
    return {
        current_condition.type: (current_condition.status, current_condition.reason)
        for current_condition in current_conditions
    }


# -- what a metric asks for (upstream's replica_calculator_test.go) ----------------------------------------------------


def pods(count: int, *, unready: int = 0, pending: int = 0) -> list[Pod]:
    results = []
    for number in range(count + unready + pending):
        ready = "True" if number < count else "False"
        status = {
            "phase": "Running" if number < count + unready else "Pending",
            "startTime": "2026-01-01T00:59:00Z",
            "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": "2026-01-01T00:59:10Z"}],
        }
        results.append(from_wire(Pod, {"metadata": {"name": f"p{number}"}, "status": status}))
    return results


def usage(*values: int) -> dict[str, int]:
    return {f"p{number}": value for number, value in enumerate(values)}


@pytest.mark.parametrize(
    ("there", "used", "target", "expected"),
    [
        (pods(3), usage(300, 500, 700), 30, 5),  # 50 % of 1000m each
        (pods(3), usage(1010, 1030, 1020), 100, 3),  # within the tolerance
        (pods(5), usage(100, 300, 500, 250, 250), 50, 3),
        (pods(3, unready=1), usage(300, 500, 700, 900), 30, 5),  # those that are not ready count for nothing
        (pods(2, unready=1), usage(400, 600, 9000), 30, 3),  # with them it turns out to be about enough
        (pods(4), usage(100, 300, 500), 50, 4),  # a pod without a metric counts in full before there are fewer
        (pods(4), usage(950, 950, 950), 50, 6),  # and for nothing before there are more
        (pods(1, pending=2), usage(900), 50, 3),
    ],
)
def test_pods_without_metrics_make_nobody_go_too_far(
    there: list[Pod], used: dict[str, int], target: int, expected: int
) -> None:
    requests = {pod.name: 1000 for pod in there}
    result = by_utilization(
        there, used, requests, current=len(there), target=target, tolerance=Tolerance(), is_cpu=True, now=NOW
    )
    assert result[0] == expected


def test_nothing_is_proposed_without_pods_or_metrics() -> None:
    options: dict[str, Any] = {"current": 2, "target": 100, "tolerance": Tolerance(), "is_cpu": False, "now": NOW}
    with pytest.raises(MetricsError, match="no pods returned by selector"):
        by_average([], {}, **options)
    with pytest.raises(MetricsError, match="did not receive metrics for targeted pods"):
        by_average(pods(2), {}, **options)


@pytest.mark.parametrize(("total", "present", "expected"), [(900, 3, 9), (310, 3, 3), (150, 3, 2), (100, 0, 1)])
def test_a_total_is_shared_by_all_pods(total: int, present: int, expected: int) -> None:
    assert by_total(total, replicas=present, target=100, tolerance=Tolerance())[0] == expected


# -- how fast it may be followed ---------------------------------------------------------------------------------------


def behavior(**sides: dict[str, Any]) -> HorizontalPodAutoscalerBehavior:
    return from_wire(HorizontalPodAutoscalerBehavior, sides)


def test_the_highest_recommendation_of_five_minutes_counts_before_there_are_fewer() -> None:
    pace = Pace()
    pace.begin(10, 0.0)
    assert pace.stabilized(3, 10, None, 15.0).replicas == 10
    assert pace.stabilized(3, 10, None, 299.0).replicas == 10
    assert pace.stabilized(3, 10, None, 301.0).replicas == 3


def test_the_lowest_recommendation_of_the_window_counts_before_there_are_more() -> None:
    pace, rules = Pace(), behavior(scaleUp={"stabilizationWindowSeconds": 60})
    pace.begin(2, 0.0)
    assert pace.stabilized(8, 2, rules, 15.0).replicas == 2
    assert pace.stabilized(8, 2, rules, 61.0).replicas == 8


@pytest.mark.parametrize(
    ("rules", "current", "wanted", "expected"),
    [
        (None, 1, 9, (4, "ScaleUpLimit")),
        (None, 3, 9, (6, "ScaleUpLimit")),
        (None, 8, 30, (15, "TooManyReplicas")),
        (None, 8, 1, (2, "TooFewReplicas")),
        (None, 5, 6, (6, "DesiredWithinRange")),
        (behavior(scaleUp={}), 2, 15, (6, "ScaleUpLimit")),
        (behavior(scaleUp={"selectPolicy": "Disabled"}), 2, 9, (2, "ScaleUpLimit")),
        (behavior(scaleDown={"selectPolicy": "Disabled"}), 9, 3, (9, "ScaleDownLimit")),
        (
            behavior(scaleDown={"policies": [{"type": "Pods", "value": 2, "periodSeconds": 60}]}), 9, 3,
            (7, "ScaleDownLimit"),
        ),
        (
            behavior(scaleDown={"policies": [{"type": "Percent", "value": 10, "periodSeconds": 60}]}), 10, 3,
            (9, "ScaleDownLimit"),
        ),
    ],
)  # fmt: skip
def test_the_number_of_replicas_changes_only_so_fast(
    rules: HorizontalPodAutoscalerBehavior | None, current: int, wanted: int, expected: tuple[int, str]
) -> None:
    result = Pace().limited(wanted, current, 2, 15, rules, 100.0)
    assert (result.replicas, result.reason) == expected


def test_what_was_changed_in_the_period_counts() -> None:
    pace = Pace()
    rules = behavior(scaleUp={"policies": [{"type": "Pods", "value": 4, "periodSeconds": 60}]})
    pace.changed(3, 100.0)
    assert pace.limited(20, 5, 1, 50, rules, 130.0).replicas == 6
    assert pace.limited(20, 5, 1, 50, rules, 161.0).replicas == 9


# -- the whole ---------------------------------------------------------------------------------------------------------


@virtual_time
async def test_replicas_follow_the_metrics_up_at_once_and_down_after_a_while() -> None:
    async with cluster(objects=[deployment(2, cpu="900m"), autoscaler(utilization(50))]) as world:
        await world.eventually(lambda: _is(world, 4))
        assert (await conditions(world))["AbleToScale"] == ("True", "SucceededRescale")
        await world.eventually(lambda: _is(world, 8))
        reached = await world.get(HorizontalPodAutoscaler, "web")
        assert reached.status.current_metrics[0].resource is not None
        assert reached.status.current_metrics[0].resource.current.average_utilization == 90
        notes = [event.note for event in await world.list(Event) if event.reason == "SuccessfulRescale"]
        assert "New size: 4; reason: cpu resource utilization (percentage of request) above target" in notes
        await use(world, "cpu", "100m")
        await advance(200)
        assert await replicas(world) != 2
        await world.eventually(lambda: _is(world, 2), within=600)
        assert (await conditions(world))["ScalingActive"] == ("True", "ValidMetricFound")


async def _is(world: Cluster, count: int) -> bool:
    return await replicas(world) == count


@virtual_time
async def test_one_container_of_each_pod_is_measured() -> None:
    new_deployment = deployment(2)
    proxy = Container(name="proxy", image="proxy:1", resources=ResourceRequirements(requests={"cpu": "100m"}))
    assert new_deployment.spec.template.spec is not None
    new_deployment.spec.template.spec.containers.append(proxy)
    new_deployment.spec.template.metadata.annotations = {f"proxy.{ANNOTATION}cpu": "100m", f"{ANNOTATION}cpu": "300m"}
    of_proxy = {"name": "cpu", "container": "proxy", "target": {"type": "Utilization", "averageUtilization": 50}}
    scaler = autoscaler({"type": "ContainerResource", "containerResource": of_proxy}, most=4)
    async with cluster(objects=[new_deployment, scaler]) as world:
        await world.eventually(lambda: _is(world, 4))
        status = (await world.get(HorizontalPodAutoscaler, "web")).status
        container_resource = status.current_metrics[0].container_resource
        assert container_resource is not None
        assert (container_resource.container, container_resource.current.average_utilization) == ("proxy", 100)


@virtual_time
async def test_pods_in_which_nothing_runs_have_no_metrics() -> None:
    new_deployment = deployment(2, cpu="900m")
    assert new_deployment.spec.template.metadata is not None
    new_deployment.spec.template.metadata.annotations |= {"hollow.setpoint.io/pull-seconds": "never"}
    async with cluster(objects=[new_deployment, autoscaler(utilization(50))]) as world:
        await advance(60)
        assert (await conditions(world))["ScalingActive"] == ("False", "FailedGetResourceMetric")
        current_conditions = (await world.get(HorizontalPodAutoscaler, "web")).status.conditions
        assert any(
            "no metrics returned from resource metrics API" in (current_condition.message or "")
            for current_condition in current_conditions
        )
        assert await replicas(world) == 2


@virtual_time
async def test_pods_of_which_nothing_is_said_are_idle() -> None:
    async with cluster(objects=[deployment(4), autoscaler(utilization(50))]) as world:
        await world.eventually(lambda: _is(world, 1), within=600)
        assert (await conditions(world))["ScalingActive"] == ("True", "ValidMetricFound")


@virtual_time
async def test_bounds_hold_without_metrics() -> None:
    async with cluster(objects=[deployment(1), autoscaler(utilization(50), most=5, minReplicas=3)]) as world:
        await world.settle()
        assert await replicas(world) == 3
        await world.client.patch(Deployment, "web", {"spec": {"replicas": 9}})
        await world.eventually(lambda: _is(world, 5))


@virtual_time
async def test_metrics_of_pods_objects_and_from_outside_are_used() -> None:
    per_pod = {
        "type": "Pods",
        "pods": {"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": "10"}},
    }
    web = {"kind": "Service", "name": "web", "apiVersion": "v1"}
    of_object = {
        "type": "Object",
        "object": {"describedObject": web, "metric": {"name": "hits"}, "target": {"type": "Value", "value": "100"}},
    }
    outside = {
        "type": "External",
        "external": {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "30"}},
    }
    scaler = autoscaler(per_pod, of_object, outside)
    scaler.metadata.annotations = {f"{ANNOTATION}queue": "60"}
    service = from_wire(
        Service,
        {
            "metadata": {"name": "web", "namespace": "default", "annotations": {f"{ANNOTATION}hits": "200"}},
            "spec": {"ports": [{"port": 80}]},
        },
    )
    async with cluster(objects=[service, deployment(2, rps="10"), scaler]) as world:
        # The metric that asks for most counts: twice as many for twice the hits.
        await world.eventually(lambda: _is(world, 4), within=20)
        status = (await world.get(HorizontalPodAutoscaler, "web")).status
        assert [current_metric.type for current_metric in status.current_metrics] == ["Pods", "Object", "External"]


@pytest.mark.parametrize(
    ("change", "type", "reason", "message"),
    [
        (
            {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "gone"}}, "AbleToScale",
            "FailedGetScale", 'deployments.apps "gone" not found',
        ),
        (
            {"scaleTargetRef": {"apiVersion": "example.com/v1", "kind": "Nothing", "name": "web"}}, "AbleToScale",
            "FailedGetScale", 'no matches for kind "Nothing"',
        ),
        (
            {}, "ScalingActive", "FailedGetResourceMetric",
            "the HPA was unable to compute the replica count: failed to get cpu utilization: unable to get metrics for "
            "resource cpu: unable to fetch metrics from resource metrics API: the server could not find the requested "
            "resource (get pods.metrics.k8s.io)",
        ),
    ],
)  # fmt: skip
@virtual_time
async def test_what_is_missing_is_said(change: dict[str, Any], type: str, reason: str, message: str) -> None:
    objects = [deployment(2), autoscaler(utilization(50), **change)]
    async with cluster(objects=objects, nodes=0) as world:  # without nodes there is no metrics API
        await world.settle()
        conditions = (await world.get(HorizontalPodAutoscaler, "web")).status.conditions
        (condition,) = [condition for condition in conditions if condition.type == type]
        assert (condition.status, condition.reason) == ("False", reason)
        assert message in (condition.message or "")
        assert await replicas(world) == 2


@virtual_time
async def test_conditions_have_no_generation_as_upstream() -> None:
    async with cluster(objects=[deployment(2, cpu="500m"), autoscaler(utilization(50))]) as world:
        await world.settle()
        await world.client.patch(HorizontalPodAutoscaler, "web", {"spec": {"maxReplicas": 8}})
        await advance(20)
        status = (await world.get(HorizontalPodAutoscaler, "web")).status
        assert status.observed_generation == 2
        assert {condition.observed_generation for condition in status.conditions} == {None}


@virtual_time
async def test_a_target_of_no_replicas_is_left_alone() -> None:
    async with cluster(objects=[deployment(0, cpu="2"), autoscaler(utilization(50))]) as world:
        await world.settle()
        assert await replicas(world) == 0
        assert (await conditions(world))["ScalingActive"] == ("False", "ScalingDisabled")


def of_container(name: str) -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": 50}
    return {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": name, "target": target}}


@virtual_time
async def test_one_container_is_measured_without_the_metrics_api() -> None:
    new_deployment = deployment(2)
    proxy = Container(name="proxy", image="proxy:1", resources=ResourceRequirements(requests={"cpu": "100m"}))
    assert new_deployment.spec.template.spec is not None
    new_deployment.spec.template.spec.containers.append(proxy)
    new_deployment.spec.template.metadata.annotations = {f"proxy.{ANNOTATION}cpu": "100m", f"{ANNOTATION}cpu": "300m"}
    async with cluster(objects=[new_deployment, autoscaler(of_container("proxy"))], nodes=0) as world:
        await world.settle()
        for pod in await world.list(Pod):
            ready = {"type": "Ready", "status": "True"}
            status = {"phase": "Running", "startTime": "2026-01-01T00:00:00Z", "conditions": [ready]}
            await world.client.patch(Pod, pod.name, {"status": status}, subresource="status")
        await advance(20)
        container_resource = (
            (await world.get(HorizontalPodAutoscaler, "web")).status.current_metrics[0].container_resource
        )
        assert container_resource is not None
        assert (container_resource.current.average_utilization, container_resource.current.average_value) == (
            100,
            "100m",
        )


async def measured(deployment: Deployment) -> tuple[str | None, ...]:
    """The average CPU usage of each pod of a deployment, with and without the metrics API."""
    results: list[str | None] = []
    for nodes in (1, 0):
        async with cluster(objects=[deployment, autoscaler(utilization(50))], nodes=nodes) as world:
            await world.settle()
            for pod in await world.list(Pod) if nodes == 0 else []:
                ready = {"type": "Ready", "status": "True"}
                status = {"phase": "Running", "startTime": "2026-01-01T00:00:00Z", "conditions": [ready]}
                await world.client.patch(Pod, pod.name, {"status": status}, subresource="status")
            await advance(20)
            metric = (await world.get(HorizontalPodAutoscaler, "web")).status.current_metrics[0].resource
            assert metric is not None
            results.append(metric.current.average_value)
    return tuple(results)


@virtual_time
async def test_sidecars_are_measured_with_and_without_the_metrics_api() -> None:
    new_deployment = deployment(1)
    assert new_deployment.spec.template.spec is not None
    requests = ResourceRequirements(requests={"cpu": "100m"})
    sidecar = Container(name="log", image="log:1", restart_policy="Always", resources=requests)
    new_deployment.spec.template.spec.init_containers = [
        Container(name="first", image="a:1", resources=requests),
        sidecar,
    ]
    new_deployment.spec.template.metadata.annotations = {f"log.{ANNOTATION}cpu": "70m", f"{ANNOTATION}cpu": "101m"}
    assert await measured(new_deployment) == ("171m", "171m")


@virtual_time
async def test_annotations_that_are_not_quantities_are_not_metrics() -> None:
    per_pod = {
        "type": "Pods",
        "pods": {"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": "10"}},
    }
    outside = {
        "type": "External",
        "external": {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "30"}},
    }
    scaler = autoscaler(utilization(50), per_pod, outside)
    scaler.metadata.annotations = {f"{ANNOTATION}queue": "many"}
    async with cluster(objects=[deployment(2, cpu="half", rps="fast"), scaler], nodes=0) as world:
        await world.settle()
        conditions = (await world.get(HorizontalPodAutoscaler, "web")).status.conditions
        (active,) = [condition for condition in conditions if condition.type == "ScalingActive"]
        assert (active.status, active.reason) == ("False", "FailedGetResourceMetric")
        events = {event.reason for event in await world.list(Event)}
        assert {"FailedGetResourceMetric", "FailedGetPodsMetric", "FailedGetExternalMetric"} <= events


@pytest.mark.parametrize(("target", "value"), [("1n", "10"), ("1", "1e999")])
@virtual_time
async def test_the_smallest_target_and_the_largest_value_lead_to_the_most_replicas(target: str, value: str) -> None:
    wanted = {"type": "AverageValue", "averageValue": target}
    per_pod = {"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": wanted}}
    async with cluster(objects=[deployment(2, rps=value), autoscaler(per_pod, most=4)]) as world:
        await world.eventually(lambda: _is(world, 4))
