"""DaemonSets: a pod on each eligible node."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from setpoint.cache import Head
from setpoint.cluster.node_matching import fits, pin, pinned, tolerates
from setpoint.cluster.workloads.controller_refs import Claims
from setpoint.cluster.workloads.controller_revisions import Revisions
from setpoint.cluster.workloads.pod_templates import (
    REVISION_LABEL,
    create_pod,
    delete_pod,
    is_available,
    pod_of,
    share,
    until_available,
)
from setpoint.controller import Context, Controller, Outcome, after, done
from setpoint.meta import ObjectKey
from setpoint.models.apps_v1 import DaemonSet
from setpoint.models.core_v1 import Node, Pod, Toleration

_PRESSURES: Final = ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")


class DaemonSets:
    """Keeps a pod of the newest template on every node where such a pod may run.

    Each pod has a node affinity for its node, and the scheduler binds it; the pods tolerate the taints of unhealthy
    nodes. `RollingUpdate` replaces at most ``maxUnavailable`` pods at a time, or makes up to ``maxSurge`` new pods
    beside the old ones. With `OnDelete`, old pods stay until users delete them. Pods that have ended are replaced.
    """

    def __init__(self) -> None:
        self._claims = Claims(DaemonSet, Pod, lambda daemon_set: daemon_set.spec.selector)
        self._revisions = Revisions(DaemonSet, lambda daemon_set: daemon_set.spec.selector, REVISION_LABEL)
        self.controller = self._revisions.declare(
            Controller(
                DaemonSet,
                self._reconcile,
                name="daemonset-controller",
                owns_status=True,
                leader_only=False,
                predicates=[self._claims.forget_deleted, self._revisions.forget_deleted],
            )
            .owns(Pod)
            .watches(Pod, self._claims.of_orphan)
            .watches(Node, self._all)
        )

    def _all(self, _node: Head) -> Iterable[ObjectKey]:
        return self._claims.owners()

    async def _reconcile(self, daemon_set: DaemonSet, ctx: Context) -> Outcome:
        pods = await self._claims.claim(daemon_set, ctx, lambda pod: not pod.is_finished)
        revisions = await self._revisions.of(daemon_set, daemon_set.spec.template, ctx)
        digest = revisions[-1].labels.get(REVISION_LABEL, "")
        nodes = {node.name: node for node in sorted(await ctx.list(Node), key=lambda node: node.name)}
        places = _Places(daemon_set, nodes, pods, digest, ctx.now())
        self._count(daemon_set, places)
        strategy = daemon_set.spec.update_strategy
        rolling = strategy.rolling_update if strategy is not None else None
        updating = strategy is None or strategy.type != "OnDelete"
        wanted = len(places.wanted)
        surge = share(rolling.max_surge if rolling else None, wanted, up=True, default=0) if updating else 0
        most = share(rolling.max_unavailable if rolling else None, wanted, up=True, default=1)
        await self._keep(daemon_set, places, digest, bool(surge), ctx)
        if updating and surge:
            await self._surge(daemon_set, places, digest, surge, ctx)
        elif updating:
            await self._replace(places, most, ctx)
        used = {
            revision.name for revision in revisions if revision.labels.get(REVISION_LABEL) in places.hashes | {digest}
        }
        await self._revisions.forget(revisions, used, daemon_set.spec.revision_history_limit, ctx)
        times = [until_available(pod, daemon_set.spec.min_ready_seconds, ctx.now()) for pod in pods]
        waits = [wait for wait in times if wait is not None and wait > 0]
        return after(min(waits), "pods are not available for long enough") if waits else done()

    async def _keep(self, daemon_set: DaemonSet, places: _Places, digest: str, surge: bool, ctx: Context) -> None:
        """Creates a pod on each node that should have one but does not. Deletes finished pods, duplicates, and pods on
        nodes that may not keep one.
        """
        for name, pods in places.pods.items():
            for pod in pods:
                if pod.is_finished and not pod.is_deleting:
                    how = "failed" if pod.status.phase == "Failed" else "succeeded"
                    message = f"Found {how} daemon pod {pod.key} on node {name}, will try to kill it"
                    ctx.event("Warning" if how == "failed" else "Normal", f"{how.capitalize()}DaemonPod", message)
                    await delete_pod(pod, ctx)
            living = [pod for pod in pods if not pod.is_finished and not pod.is_deleting]
            if name not in places.lasting:
                surplus = living
            else:
                new = [pod for pod in living if pod.labels.get(REVISION_LABEL) == digest]
                old = [pod for pod in living if pod not in new]
                surplus = [*_but_oldest(new), *_but_oldest(old)] if surge else _but_oldest(living)
            for pod in surplus:
                await delete_pod(pod, ctx)
        for name in places.wanted:
            if not places.pods.get(name):
                await self._create(daemon_set, name, digest, ctx)

    async def _replace(self, places: _Places, most: int, ctx: Context) -> None:
        """Deletes all old pods that are unavailable, and then available old pods until ``most`` nodes have no available
        pod.
        """
        missing, serving = 0, []
        for name in places.wanted:
            old, new = places.old(name), places.new(name)
            if new is not None or old is None:
                missing += not places.serves(new)
            elif places.serves(old):
                serving.append(old)
            else:
                missing += 1
                await delete_pod(old, ctx)
        for pod in serving[: max(most - missing, 0)]:
            await delete_pod(pod, ctx)

    async def _surge(self, daemon_set: DaemonSet, places: _Places, digest: str, surge: int, ctx: Context) -> None:
        """Makes new pods beside the old ones, and ends the old pods when the new ones are available."""
        beside = sum(places.old(name) is not None and places.new(name) is not None for name in places.wanted)
        for name in places.wanted:
            old, new = places.old(name), places.new(name)
            if old is None:
                continue
            if new is None and (beside < surge or not places.serves(old)):
                beside += places.serves(old)
                await self._create(daemon_set, name, digest, ctx)
            elif places.serves(new):
                await delete_pod(old, ctx)

    async def _create(self, daemon_set: DaemonSet, node: str, digest: str, ctx: Context) -> None:
        pod = pod_of(daemon_set.spec.template, prefix=f"{daemon_set.name}-")
        pod.metadata.labels[REVISION_LABEL] = digest
        pod.spec.tolerations = tolerations_of(daemon_set)
        pin(pod.spec, node)
        await create_pod(pod, ctx)

    @staticmethod
    def _count(daemon_set: DaemonSet, places: _Places) -> None:
        status = daemon_set.status
        living = {name: [pod for pod in places.pods.get(name, ()) if not pod.is_deleting] for name in places.wanted}
        first = [pods[0] for pods in living.values() if pods]
        status.desired_number_scheduled = len(places.wanted)
        status.current_number_scheduled = sum(map(bool, living.values()))
        status.number_ready = sum(any(pod.is_ready for pod in pods) for pods in living.values())
        # An API server forgets zeros of these three, so saying them would be another write each time.
        available = sum(any(places.serves(pod) for pod in pods) for pods in living.values())
        status.number_available = available or None
        updated = sum(any(map(places.is_new, pods)) for pods in living.values() if first)
        status.updated_number_scheduled = updated or None
        status.number_unavailable = (len(places.wanted) - available) or None
        status.number_misscheduled = sum(name not in places.wanted for name, pods in places.pods.items() if pods)


class _Places:
    """The nodes that need a pod, the nodes that may keep their pod, and the pods on each node."""

    def __init__(
        self, daemon_set: DaemonSet, nodes: dict[str, Node], pods: list[Pod], digest: str, now: datetime
    ) -> None:
        self._daemon_set, self._digest, self._now = daemon_set, digest, now
        spec, tolerations = daemon_set.spec.template.spec, tolerations_of(daemon_set)
        fit = {name: node for name, node in nodes.items() if fits(spec, node) and spec.node_name in (None, "", name)}
        self.wanted = [
            name for name, node in fit.items() if tolerates(tolerations, node.spec.taints, ("NoSchedule", "NoExecute"))
        ]
        self.lasting = {name for name, node in fit.items() if tolerates(tolerations, node.spec.taints, ("NoExecute",))}
        self.pods: dict[str, list[Pod]] = {}
        self.hashes = {pod.labels.get(REVISION_LABEL, "") for pod in pods}
        for pod in sorted(pods, key=_age):
            name = pod.spec.node_name or pinned(pod.spec)
            if name:
                self.pods.setdefault(name, []).append(pod)

    def is_new(self, pod: Pod) -> bool:
        return pod.labels.get(REVISION_LABEL) == self._digest

    def serves(self, pod: Pod | None) -> bool:
        if pod is None or pod.is_deleting:
            return False
        return is_available(pod, self._daemon_set.spec.min_ready_seconds, self._now)

    def new(self, node: str) -> Pod | None:
        return next((pod for pod in self._living(node) if self.is_new(pod)), None)

    def old(self, node: str) -> Pod | None:
        return next((pod for pod in self._living(node) if not self.is_new(pod)), None)

    def _living(self, node: str) -> list[Pod]:
        return [pod for pod in self.pods.get(node, ()) if not pod.is_deleting and not pod.is_finished]


def tolerations_of(daemon_set: DaemonSet) -> list[Toleration]:
    """The tolerations of the template, plus those that all pods of DaemonSets have."""
    spec = daemon_set.spec.template.spec
    added = [
        Toleration(key=f"node.kubernetes.io/{name}", operator="Exists", effect="NoExecute")
        for name in ("not-ready", "unreachable")
    ]
    conditions = (*_PRESSURES, "network-unavailable") if spec.host_network else _PRESSURES
    added += [
        Toleration(key=f"node.kubernetes.io/{name}", operator="Exists", effect="NoSchedule") for name in conditions
    ]
    return [*spec.tolerations, *(toleration for toleration in added if toleration not in spec.tolerations)]


def _but_oldest(pods: list[Pod]) -> list[Pod]:
    return sorted(pods, key=lambda pod: (not pod.is_ready, _age(pod)))[1:]


def _age(pod: Pod) -> tuple[float, str]:
    created = pod.metadata.creation_timestamp
    return (created.timestamp() if created is not None else 0.0), pod.name
