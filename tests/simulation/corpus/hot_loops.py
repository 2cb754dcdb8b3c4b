"""Hot loops: controllers that never stop writing."""

from __future__ import annotations

from typing import Any

from tests.simulation.corpus.pair import Pair

import setpoint as sp
from setpoint.client import Invalid
from setpoint.meta import LabelSelector, to_wire
from setpoint.models.apps_v1 import Deployment, DeploymentSpec
from setpoint.models.core_v1 import (
    ConfigMap,
    Container,
    ContainerPort,
    Pod,
    PodSpec,
    PodTemplateSpec,
)


class QueueSpec(sp.Model):
    workers: int = 1
    command: str = "work"
    jobs: int = 1


class QueueStatus(sp.ConditionedStatus):
    phase: str = ""
    last_seen: str = ""
    workers: int = 0


class Queue(sp.CustomResource, group="corpus.example.com", version="v1"):
    """Workers for jobs."""

    spec: QueueSpec = QueueSpec()
    status: QueueStatus = QueueStatus()


async def create(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Queue.named("one", "default", spec=QueueSpec(workers=2)))
    await cluster.settle()


async def create_and_change(cluster: sp.testing.Cluster) -> None:
    for command in ("work", "work harder"):
        await cluster.apply(Queue.named("one", "default", spec=QueueSpec(command=command)))
        await cluster.settle()


# -- when it was last looked at ----------------------------------------------------------------------------------------


async def always_a_new_time(queue: Queue, ctx: sp.Context) -> None:
    await ctx.apply(ConfigMap.named(queue.name, data={"workers": str(queue.spec.workers)}))
    queue.status.last_seen = ctx.now().isoformat()
    queue.status.phase = "Ready"


async def a_time_when_it_changes(queue: Queue, ctx: sp.Context) -> None:
    await ctx.apply(ConfigMap.named(queue.name, data={"workers": str(queue.spec.workers)}))
    if queue.status.phase != "Ready":
        queue.status.last_seen = ctx.now().isoformat()
        queue.status.phase = "Ready"


# -- what is wanted beside what the server made of it ------------------------------------------------------------------


def deployment(queue: Queue) -> Deployment:
    container = Container(name="worker", image="worker:1", ports=[ContainerPort(container_port=8080)])
    labels = {"queue": queue.name}
    template = PodTemplateSpec(metadata=sp.ObjectMeta(labels=labels), spec=PodSpec(containers=[container]))
    spec = DeploymentSpec(replicas=queue.spec.workers, selector=LabelSelector(match_labels=labels), template=template)
    return Deployment.named(queue.name, spec=spec)


async def replaced_when_not_equal(queue: Queue, ctx: sp.Context) -> None:
    wanted = deployment(queue)
    present = await ctx.get(Deployment, queue.name)
    if present is None:
        await ctx.create(wanted)
    elif to_wire(present.spec) != to_wire(wanted.spec):
        await ctx.delete(present)


async def applied_by_the_server(queue: Queue, ctx: sp.Context) -> None:
    await ctx.apply(deployment(queue))


# -- what can't be changed ---------------------------------------------------------------------------------------------


def worker(queue: Queue, name: str) -> Pod:
    container = Container(name="worker", image="worker:1", command=queue.spec.command.split())
    return Pod.named(name, spec=PodSpec(containers=[container]))


async def changes_what_it_cannot(queue: Queue, ctx: sp.Context) -> Any:
    queue.status.phase = "Updating"
    try:
        await ctx.apply(worker(queue, queue.name))
    except Invalid as problem:
        ctx.log.warning("the worker can't be updated: %s", problem)
        return sp.after(5)
    queue.status.phase = "Ready"
    return None


async def a_new_name_for_a_new_command(queue: Queue, ctx: sp.Context) -> None:
    name = f"{queue.name}-{queue.spec.command.replace(' ', '-')}"
    await ctx.keep(Pod, [worker(queue, name)])
    queue.status.phase = "Ready"


# -- one scales up, one scales down ------------------------------------------------------------------------------------


async def provision(queue: Queue, ctx: sp.Context) -> None:
    """As many workers as there are jobs."""
    for number in range(queue.spec.jobs):
        if await ctx.get(Pod, f"{queue.name}-{number}") is None:
            await ctx.apply(worker(queue, f"{queue.name}-{number}"))


def consolidating(*, heed_jobs: bool) -> Any:
    async def consolidate(queue: Queue, ctx: sp.Context) -> None:
        """No more workers than the limit says."""
        least = queue.spec.jobs if heed_jobs else 0
        pods = ctx.owned(Pod)
        for pod in pods[max(queue.spec.workers, least) :]:
            await ctx.delete(pod)

    return consolidate


async def more_jobs_than_workers(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Queue.named("one", "default", spec=QueueSpec(workers=1, jobs=2)))
    await cluster.settle()


def two_policies(consolidate: Any) -> Any:
    return lambda: [
        sp.Controller(Queue, provision, name="provisioner").owns(Pod),
        sp.Controller(Queue, consolidate, name="consolidator").owns(Pod),
    ]


# -- two controllers, one field ----------------------------------------------------------------------------------------


async def phase_by_pods(queue: Queue, ctx: sp.Context) -> None:
    pods = await ctx.keep(Pod, [worker(queue, f"{queue.name}-{number}") for number in range(queue.spec.workers)])
    phase = "Running" if pods and all(pod.is_ready for pod in pods) else "Pending"
    if queue.status.phase != phase:
        await ctx.patch(queue, {"status": {"phase": phase}}, subresource="status")


async def phase_by_config(queue: Queue, ctx: sp.Context) -> None:
    await ctx.apply(ConfigMap.named(queue.name, data={"jobs": str(queue.spec.jobs)}))
    if queue.status.phase != "Configured":
        await ctx.patch(queue, {"status": {"phase": "Configured"}}, subresource="status")


async def condition_by_pods(queue: Queue, ctx: sp.Context) -> None:
    pods = await ctx.keep(Pod, [worker(queue, f"{queue.name}-{number}") for number in range(queue.spec.workers)])
    ctx.set_condition("Running", bool(pods) and all(pod.is_ready for pod in pods), "Pods")


async def condition_by_config(queue: Queue, ctx: sp.Context) -> None:
    await ctx.apply(ConfigMap.named(queue.name, data={"jobs": str(queue.spec.jobs)}))
    ctx.set_condition("Configured", True, "ConfigMap")


def two_writers(pods: Any, config: Any) -> Any:
    return lambda: [
        sp.Controller(Queue, pods, name="runner").owns(Pod),
        sp.Controller(Queue, config, name="configurer").owns(ConfigMap),
    ]


PAIRS = [
    Pair(
        name="timestamp-in-status",
        root="R63",
        source="crossplane #7221, kratix #743",
        scenario=create,
        buggy=lambda: [sp.Controller(Queue, always_a_new_time).owns(ConfigMap)],
        correct=lambda: [sp.Controller(Queue, a_time_when_it_changes).owns(ConfigMap)],
    ),
    Pair(
        name="compares-with-defaulted-fields",
        root="R65",
        source="keycloak #38846, java-operator-sdk #2249, hive #2943",
        scenario=create,
        buggy=lambda: [sp.Controller(Queue, replaced_when_not_equal).owns(Deployment)],
        correct=lambda: [sp.Controller(Queue, applied_by_the_server).owns(Deployment)],
    ),
    Pair(
        name="immutable-field-retried",
        root="R67",
        source="OT-CONTAINER-KIT/redis-operator #1321",
        scenario=create_and_change,
        buggy=lambda: [sp.Controller(Queue, changes_what_it_cannot).owns(Pod)],
        correct=lambda: [sp.Controller(Queue, a_new_name_for_a_new_command).owns(Pod)],
    ),
    Pair(
        name="conflicting-scaling-policies",
        root="R69",
        source="karpenter #2922, #2920",
        scenario=more_jobs_than_workers,
        buggy=two_policies(consolidating(heed_jobs=False)),
        correct=two_policies(consolidating(heed_jobs=True)),
    ),
    Pair(
        name="two-controllers-write-one-phase",
        root="R70",
        source="kratix #740, kcp #3924",
        scenario=create,
        buggy=two_writers(phase_by_pods, phase_by_config),
        correct=two_writers(condition_by_pods, condition_by_config),
    ),
]
