"""Hollow pods: binds pods to hollow nodes, makes them run without running anything, and ends them when asked to."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Final

import msgspec

from setpoint.cluster.nodes import host_ip
from setpoint.controller import Context, Controller, Outcome, after, done
from setpoint.meta import resource_of
from setpoint.models.core_v1 import (
    Container,
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStatus,
    HostIP,
    Pod,
    PodCondition,
    PodIP,
)

EXIT_CODE: Final = "hollow.setpoint.io/exit-code"
_EXIT_CODES: Final = frozenset(map(str, range(256)))
"""Annotation: the pod's containers end with this code as soon as they have started, instead of running for ever."""


class HollowKubelet:
    """Scheduler and kubelet of hollow nodes in one controller.

    A pod without a node is bound to one (spread by name), then runs and is Ready after ``start_seconds``; a pod whose
    deletion was asked for is gone after ``stop_seconds``, or its grace period if that is shorter. Pods that are bound
    to other nodes, or want another scheduler, are left alone.

    *Caveats*: no resources are counted, no taints, affinities, volumes or probes are looked at; nothing is executed.
    """

    def __init__(self, nodes: Sequence[str], *, start_seconds: float = 0.0, stop_seconds: float = 0.0) -> None:
        if not nodes:
            raise ValueError("a hollow kubelet needs at least one node")
        self._nodes = {name: host_ip(number) for number, name in enumerate(nodes)}
        self._names = tuple(nodes)
        self._start_seconds = start_seconds
        self._stop_seconds = stop_seconds
        self._since: dict[str, float] = {}
        self.controller = Controller(
            Pod, self._reconcile, name="hollow-kubelet", reconcile_deleting=True, owns_status=False, leader_only=False
        )

    async def _reconcile(self, pod: Pod, ctx: Context) -> Outcome:
        if pod.is_deleting:
            return await self._end(pod, ctx)
        if not pod.spec.node_name:
            return await self._bind(pod, ctx)
        if pod.spec.node_name not in self._nodes or pod.is_finished or pod.is_ready:
            return done()
        wait = self._wait(f"start {pod.uid}", self._start_seconds)
        if wait:
            return after(wait, "the containers are starting")
        self._start(pod, ctx)
        return done()

    async def _bind(self, pod: Pod, ctx: Context) -> Outcome:
        if pod.spec.scheduler_name not in (None, "", "default-scheduler") or pod.spec.scheduling_gates:
            return done()
        chosen = self._names[_number(pod.key) % len(self._names)]
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": chosen},
        }
        path = resource_of(Pod).path(namespace=pod.namespace, name=pod.name, subresource="binding")
        await ctx.client.request(
            "POST", path, body=msgspec.json.encode(binding), verb="create", resource="pods/binding", key=pod.key
        )
        return done()

    def _start(self, pod: Pod, ctx: Context) -> None:
        """Everything that a kubelet says of a pod that runs."""
        now = ctx.now().replace(microsecond=0)
        status = pod.status
        node_ip = self._nodes[pod.spec.node_name or ""]
        code = pod.annotations.get(EXIT_CODE)
        pod_ip = node_ip if pod.spec.host_network else _pod_ip(pod.uid)
        status.start_time = status.start_time or now
        status.host_ip, status.host_ips = node_ip, [HostIP(ip=node_ip)]
        status.pod_ip, status.pod_ips = pod_ip, [PodIP(ip=pod_ip)]
        status.init_container_statuses = [_status(container, pod.uid, now, 0) for container in pod.spec.init_containers]
        ended = int(code) if code is not None and code in _EXIT_CODES else None
        status.container_statuses = [_status(container, pod.uid, now, ended) for container in pod.spec.containers]
        status.phase = "Running" if ended is None else "Failed" if ended else "Succeeded"
        ready = "True" if ended is None else "False"
        reason = None if ended is None else "PodFailed" if ended else "PodCompleted"
        for type, holds in (
            ("PodReadyToStartContainers", ready),
            ("Initialized", "True"),
            ("Ready", ready),
            ("ContainersReady", ready),
            ("PodScheduled", "True"),
        ):
            _set(status.conditions, PodCondition(type=type, status=holds, reason=reason if holds == "False" else None))
        if pod.metadata.generation:
            status.observed_generation = pod.metadata.generation

    async def _end(self, pod: Pod, ctx: Context) -> Outcome:
        grace = pod.metadata.deletion_grace_period_seconds or 0
        if not grace and pod.metadata.finalizers:
            return done()  # nothing left for a kubelet to do: others' finalizers keep it
        if pod.spec.node_name and pod.spec.node_name not in self._nodes:
            return done()
        wait = self._wait(f"stop {pod.uid}", min(self._stop_seconds, float(grace)))
        if wait:
            return after(wait, "the containers are stopping")
        await ctx.delete(pod, grace_period_seconds=0)
        return done()

    def _wait(self, what: str, seconds: float) -> float:
        """Seconds that are left of ``seconds`` since this was first asked; 0.0 at the end, which forgets it."""
        if seconds <= 0:
            return 0.0
        now = asyncio.get_running_loop().time()
        left = self._since.setdefault(what, now) + seconds - now
        if left > 0:
            return left
        del self._since[what]
        return 0.0


def _status(container: Container, uid: str, now: datetime, ended: int | None) -> ContainerStatus:
    image = container.image or "scratch"
    digest = blake2b(f"{uid}/{container.name}".encode(), digest_size=32).hexdigest()
    container_id = f"hollow://{digest}"
    if ended is None:
        state = ContainerState(running=ContainerStateRunning(started_at=now))
    else:
        state = ContainerState(
            terminated=ContainerStateTerminated(
                exit_code=ended,
                reason="Error" if ended else "Completed",
                started_at=now,
                finished_at=now,
                container_id=container_id,
            )
        )
    return ContainerStatus(
        name=container.name,
        image=image,
        image_id=f"hollow/{image}@sha256:{blake2b(image.encode(), digest_size=32).hexdigest()}",
        container_id=container_id,
        ready=ended is None or ended == 0,
        started=ended is None,
        restart_count=0,
        state=state,
    )


def _set(conditions: list[PodCondition], new: PodCondition) -> None:
    """The transition time is filled in when the status is written."""
    for place, old in enumerate(conditions):
        if old.type == new.type:
            if old.status != new.status or old.reason != new.reason:
                conditions[place] = new
            return
    conditions.append(new)


def _number(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def _pod_ip(uid: str) -> str:
    number = _number(uid)
    return f"10.{64 + number % 64}.{number // 64 % 256}.{number // 16384 % 253 + 2}"
