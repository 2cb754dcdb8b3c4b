"""The tests of reloader.py."""

from __future__ import annotations

from typing import Any

import pytest
from reloader import AUTO, DIGEST, controllers

import setpoint as sp
from setpoint.models.apps_v1 import DaemonSet, DaemonSetSpec, Deployment, DeploymentSpec, StatefulSet, StatefulSetSpec
from setpoint.models.core_v1 import (
    ConfigMap,
    ConfigMapEnvSource,
    Container,
    EnvFromSource,
    EnvVar,
    EnvVarSource,
    Pod,
    PodSpec,
    PodTemplateSpec,
    ProjectedVolumeSource,
    Secret,
    SecretKeySelector,
    SecretProjection,
    SecretVolumeSource,
    Volume,
    VolumeProjection,
)


def template(spec: PodSpec) -> PodTemplateSpec:
    return PodTemplateSpec(metadata=sp.ObjectMeta(labels={"app": "web"}), spec=spec)


def reading(config_map: str, *, optional: bool = False) -> PodSpec:
    """A pod whose container has its environment from a ConfigMap."""
    source = EnvFromSource(config_map_ref=ConfigMapEnvSource(name=config_map, optional=optional))
    return PodSpec(containers=[Container(name="main", image="web:1", env_from=[source])])


def deployment(spec: PodSpec, *, auto: bool = True) -> Deployment:
    wanted = DeploymentSpec(replicas=2, selector=sp.LabelSelector(match_labels={"app": "web"}), template=template(spec))
    return Deployment.named("web", "default", annotations={AUTO: "true"} if auto else {}, spec=wanted)


def settings(value: str) -> ConfigMap:
    return ConfigMap.named("settings", "default", data={"level": value})


async def pods(cluster: sp.testing.Cluster) -> set[str]:
    return {pod.uid for pod in await cluster.list(Pod)}


@sp.testing.virtual_time
async def test_a_changed_config_map_replaces_the_pods_once() -> None:
    async with sp.testing.cluster(*controllers, objects=[settings("info")]) as cluster:
        await cluster.apply(deployment(reading("settings")))
        await cluster.settle()
        first = await pods(cluster)
        await cluster.apply(settings("debug"))
        await cluster.settle()
        second = await pods(cluster)
        assert len(first) == len(second) == 2
        assert not first & second
        await cluster.apply(ConfigMap.named("settings", "default", {"seen": "yes"}, data={"level": "debug"}))
        await cluster.apply(ConfigMap.named("another", "default", data={"level": "debug"}))
        await cluster.settle()
        assert await pods(cluster) == second, "labels, and what the pods do not use, restart nothing"


@sp.testing.virtual_time
async def test_a_workload_that_does_not_ask_for_it_is_left_alone() -> None:
    async with sp.testing.cluster(*controllers, objects=[settings("info")]) as cluster:
        await cluster.apply(deployment(reading("settings"), auto=False))
        await cluster.settle()
        before = await pods(cluster)
        await cluster.apply(settings("debug"))
        await cluster.settle()
        assert await pods(cluster) == before


@sp.testing.virtual_time
async def test_pods_that_need_what_is_gone_go_on_until_it_is_back() -> None:
    async with sp.testing.cluster(*controllers, objects=[settings("info")]) as cluster:
        await cluster.apply(deployment(reading("settings")))
        await cluster.settle()
        before = await pods(cluster)
        await cluster.delete(await cluster.get(ConfigMap, "settings"))
        await cluster.settle()
        await cluster.apply(settings("info"))
        await cluster.settle()
        assert await pods(cluster) == before
        await cluster.apply(deployment(reading("extra", optional=True)))
        await cluster.settle()
        without = await pods(cluster)
        await cluster.apply(ConfigMap.named("extra", "default", data={"colour": "blue"}))
        await cluster.settle()
        assert not without & await pods(cluster), "the object that they could do without has appeared"


SECRET = Secret.named("key", "default", string_data={"token": "a"})
USES = {
    "variable": PodSpec(
        containers=[
            Container(
                name="main",
                image="web:1",
                env=[
                    EnvVar(
                        name="TOKEN", value_from=EnvVarSource(secret_key_ref=SecretKeySelector(key="token", name="key"))
                    )
                ],
            )
        ]
    ),
    "volume": PodSpec(
        containers=[Container(name="main", image="web:1")],
        volumes=[Volume(name="key", secret=SecretVolumeSource(secret_name="key"))],
    ),
    "projected volume": PodSpec(
        containers=[Container(name="main", image="web:1")],
        volumes=[
            Volume(
                name="key",
                projected=ProjectedVolumeSource(sources=[VolumeProjection(secret=SecretProjection(name="key"))]),
            )
        ],
    ),
}


@pytest.mark.parametrize("use", USES)
@sp.testing.virtual_time
async def test_every_use_of_a_secret_by_every_kind_of_workload_is_found(use: str) -> None:
    selector, spec = sp.LabelSelector(match_labels={"app": "web"}), template(USES[use])
    annotations = {AUTO: "true"}
    async with sp.testing.cluster(*controllers, objects=[SECRET]) as cluster:
        await cluster.apply(deployment(USES[use]))
        stateful = StatefulSetSpec(selector=selector, service_name="web", template=spec)
        await cluster.apply(StatefulSet.named("web", "default", annotations=annotations, spec=stateful))
        daemons = DaemonSetSpec(selector=selector, template=spec)
        await cluster.apply(DaemonSet.named("web", "default", annotations=annotations, spec=daemons))
        await cluster.settle()
        before = await digests(cluster)
        await cluster.apply(Secret.named("key", "default", string_data={"token": "b"}))
        await cluster.settle()
        after = await digests(cluster)
        assert (len(before), len(after), len(before | after)) == (1, 1, 2)


async def digests(cluster: sp.testing.Cluster) -> set[str]:
    deployment = await cluster.get(Deployment, "web")
    stateful_set = await cluster.get(StatefulSet, "web")
    daemon_set = await cluster.get(DaemonSet, "web")
    templates = (deployment.spec.template, stateful_set.spec.template, daemon_set.spec.template)
    return {template.metadata.annotations[DIGEST] for template in templates}


async def scenario(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(settings("info"))
    await cluster.apply(deployment(reading("settings")))
    await cluster.settle()
    await cluster.apply(settings("debug"))
    await cluster.settle()
    await cluster.delete(await cluster.get(ConfigMap, "settings"))
    await cluster.settle()
    await cluster.apply(settings("warning"))
    await cluster.settle()


def simulated(budget: sp.simulation.Budget, **options: Any) -> sp.simulation.Report:
    """Simulates the scenario under faults; test_survival.py runs it."""
    plane = ["deployment", "replicaset", "garbage-collector"]
    return sp.simulation.check(scenario, lambda: [*controllers], control_plane=plane, budget=budget, **options)
