"""Hollow pods: makes those on hollow nodes run without running anything, and ends them when asked to."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Final

from setpoint.cluster.nodes.behaviour import PodBehaviour, container_status, crashed
from setpoint.cluster.nodes.registration import host_ip
from setpoint.controller import Context, Controller, Outcome, after, done
from setpoint.models.core_v1 import HostIP, Pod, PodCondition, PodIP

RESTART: Final = 10.0
MAX_RESTART: Final = 300.0
KILLED: Final = 143
"""The exit code of containers that are asked to end (SIGTERM)."""


class HollowKubelet:
    """The kubelets of hollow nodes in one controller.

    A pod on one of the nodes runs after ``start_seconds`` and is Ready when its
    `PodBehaviour` says; its containers end when that says, and begin again by the restart policy, with a back-off from
    10 s to 5 min. A pod whose deletion was asked for is gone after ``stop_seconds``, or its grace period if that is
    shorter. Pods that are bound to other nodes are left alone. Nothing is executed.
    """

    def __init__(self, nodes: Sequence[str], *, start_seconds: float = 0.0, stop_seconds: float = 0.0) -> None:
        if not nodes:
            raise ValueError("a hollow kubelet needs at least one node")
        self._nodes = {name: host_ip(number) for number, name in enumerate(nodes)}
        self._start_seconds = start_seconds
        self._stop_seconds = stop_seconds
        self._since: dict[str, float] = {}
        self.controller = Controller(
            Pod, self._reconcile, name="hollow-kubelet", reconcile_deleting=True, owns_status=False, leader_only=False
        )

    async def _reconcile(self, pod: Pod, ctx: Context) -> Outcome:
        if pod.is_deleting:
            return await self._end(pod, ctx)
        if pod.spec.node_name not in self._nodes or pod.is_finished:
            return done()
        if not pod.status.container_statuses:
            wait = self._wait(f"start {pod.uid}", self._start_seconds)
            if wait:
                return after(wait, "the containers are starting")
            self._place(pod)
            return self._start(pod, 0, ctx.now())
        return self._go_on(pod, ctx.now())

    def _go_on(self, pod: Pod, now: datetime) -> Outcome:
        """A pod whose containers have been started once."""
        behaviour = PodBehaviour.of(pod)
        first = pod.status.container_statuses[0]
        run = f"{pod.uid} {first.restart_count}"
        if first.state is not None and first.state.waiting is not None:
            wait = self._wait(f"restart {run}", min(RESTART * 2**first.restart_count, MAX_RESTART))
            return after(wait, "the containers crash") if wait else self._start(pod, first.restart_count + 1, now)
        waits = []
        if behaviour.runs is not None:
            wait = self._wait(f"run {run}", behaviour.runs)
            if not wait:
                return self._ended(pod, behaviour.exit_code, now)
            waits.append(wait)
        if behaviour.ready is not None and not pod.is_ready:
            wait = self._wait(f"ready {run}", behaviour.ready)
            if wait:
                waits.append(wait)
            else:
                self._say(pod, "Running", ready=True)
        return after(min(waits), "the containers run") if waits else done()

    def _place(self, pod: Pod) -> None:
        """What a kubelet says of a pod that has come to it."""
        status = pod.status
        node_ip = self._nodes[pod.spec.node_name or ""]
        pod_ip = node_ip if pod.spec.host_network else _pod_ip(pod.uid)
        status.host_ip, status.host_ips = node_ip, [HostIP(ip=node_ip)]
        status.pod_ip, status.pod_ips = pod_ip, [PodIP(ip=pod_ip)]

    def _start(self, pod: Pod, restarts: int, now: datetime) -> Outcome:
        """The containers run, and have ended already if they run for no time at all."""
        behaviour = PodBehaviour.of(pod)
        now = now.replace(microsecond=0)
        status, spec = pod.status, pod.spec
        status.start_time = status.start_time or now
        status.init_container_statuses = [container_status(each, pod.uid, now, 0, 0) for each in spec.init_containers]
        status.container_statuses = [container_status(each, pod.uid, now, restarts, None) for each in spec.containers]
        if behaviour.runs == 0:
            return self._ended(pod, behaviour.exit_code, now)
        self._say(pod, "Running", ready=behaviour.ready == 0)
        return self._go_on(pod, now)

    def _ended(self, pod: Pod, code: int, now: datetime) -> Outcome:
        """The containers have ended with ``code``: the pod is finished, or they begin again."""
        status, policy = pod.status, pod.spec.restart_policy or "Always"
        restarts = status.container_statuses[0].restart_count
        now = now.replace(microsecond=0)
        ended = [container_status(each, pod.uid, now, restarts, code) for each in pod.spec.containers]
        if policy == "Never" or (policy == "OnFailure" and not code):
            status.container_statuses = ended
            self._say(pod, "Failed" if code else "Succeeded", ready=False)
            return done()
        status.container_statuses = [crashed(each) for each in ended]
        self._say(pod, "Running", ready=False)
        wait = self._wait(f"restart {pod.uid} {restarts}", min(RESTART * 2**restarts, MAX_RESTART))
        return after(wait, "the containers crash")

    def _say(self, pod: Pod, phase: str, *, ready: bool) -> None:
        status = pod.status
        status.phase = phase
        reason = {"Failed": "PodFailed", "Succeeded": "PodCompleted"}.get(phase, "ContainersNotReady")
        if phase == "Running":
            for each in status.container_statuses:
                each.ready = ready
        for type, holds in (
            ("PodReadyToStartContainers", phase == "Running"),
            ("Initialized", True),
            ("Ready", ready),
            ("ContainersReady", ready),
            ("PodScheduled", True),
        ):
            condition = PodCondition(type=type, status="True" if holds else "False", reason=None if holds else reason)
            _set(status.conditions, condition)
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
        if pod.metadata.finalizers and pod.status.container_statuses and not pod.is_finished:
            # It will stay for a while: whoever holds it wants to know how it ended.
            now, spec = ctx.now().replace(microsecond=0), pod.spec
            pod.status.container_statuses = [
                container_status(each, pod.uid, now, 0, KILLED) for each in spec.containers
            ]
            self._say(pod, "Failed", ready=False)
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
