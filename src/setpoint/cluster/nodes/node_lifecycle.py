"""Nodes that die and come back: their conditions and taints, and the eviction of the pods on them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from setpoint.cache import Head
from setpoint.client import NotFound
from setpoint.cluster.conditions import node_condition, pod_condition, set_node_condition, set_pod_condition
from setpoint.cluster.node_index import NODE_INDEX, PlacedSpec, node_of
from setpoint.cluster.node_matching import covers
from setpoint.cluster.nodes.behaviour import DEAD, NODE
from setpoint.cluster.nodes.hollow_nodes import PROVIDER, conditions, renew_lease
from setpoint.controller import CacheReader, Context, Controller, Outcome, after, done
from setpoint.meta import ObjectKey
from setpoint.models.core_v1 import Node, NodeCondition, Pod, PodCondition, Taint

GRACE: Final = 50.0
"""Seconds of silence after which a node counts as unreachable; upstream's node-monitor-grace-period."""
_PREFIX: Final = "node.kubernetes.io/"
_UNREACHABLE: Final = f"{_PREFIX}unreachable"
_NOT_READY: Final = f"{_PREFIX}not-ready"
_UNSCHEDULABLE: Final = f"{_PREFIX}unschedulable"
_PRESSURES: Final = {
    "MemoryPressure": f"{_PREFIX}memory-pressure",
    "DiskPressure": f"{_PREFIX}disk-pressure",
    "PIDPressure": f"{_PREFIX}pid-pressure",
    "NetworkUnavailable": f"{_PREFIX}network-unavailable",
}
_OWN: Final = frozenset([_UNREACHABLE, _NOT_READY, _UNSCHEDULABLE, *_PRESSURES.values()])
_REPORTED: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
"""The conditions that kubelets report; those of other programs stay as they are."""
_SILENT: Final = "Kubelet stopped posting node status."
_NEVER_HEARD: Final = "Kubelet never posted node status."


class NodeLifecycle:
    """Keeps the conditions of dead nodes and the taints of all nodes up to date, as kube-controller-manager does.

    A node whose kubelet is dead (annotation ``hollow.setpoint.io/node: dead``) has unknown conditions after `GRACE`
    seconds, and its pods are not ready; both recover when the annotation is removed. Taints follow from conditions
    (``not-ready``, ``unreachable``, pressures) and from whether the node is cordoned (``unschedulable``); all other
    taints stay.
    """

    def __init__(self) -> None:
        self._stale_since: dict[str, float] = {}
        """The times at which the kubelets of nodes died, by the loop's clock."""
        self.controller = (
            Controller(
                Node,
                self._reconcile,
                name="node-controller",
                owns_status=False,
                leader_only=False,
                predicates=[self._forget_deleted],
            )
            .reads(Pod)
            .index(NODE_INDEX, node_of, of=Pod, as_=PlacedSpec)
        )

    def _forget_deleted(self, old: Head | None, new: Head | None) -> bool:
        if new is None and old is not None:
            self._stale_since.pop(old.name, None)
        return True

    async def _reconcile(self, node: Node, ctx: Context) -> Outcome:
        """Writes the conditions first, and then the taints and the readiness of the pods, which follow from the
        conditions.
        """
        if (node.spec.provider_id or "").startswith(PROVIDER):
            remaining = self._remaining_grace(node)
            if await self._hear(node, remaining, ctx):
                return after(0.0, "taints follow from conditions")
        else:
            remaining = None
        await self._taint(node, ctx)
        ready = node_condition(node, "Ready")
        if ready is not None and ready.status != "True":
            await self._mark_pods(node, ctx)
        return done() if remaining is None or remaining <= 0 else after(remaining, "a kubelet has stopped reporting")

    def _remaining_grace(self, node: Node) -> float | None:
        """The seconds until the node counts as dead because its kubelet is silent; None if the kubelet is alive."""
        if node.annotations.get(NODE) != DEAD:
            self._stale_since.pop(node.name, None)
            return None
        now = asyncio.get_running_loop().time()
        return self._stale_since.setdefault(node.name, now) + GRACE - now

    @staticmethod
    async def _hear(node: Node, remaining: float | None, ctx: Context) -> bool:
        """Updates the conditions when a kubelet has died or come back. Returns whether anything changed."""
        ready = node_condition(node, "Ready")
        is_known = ready is None or ready.status != "Unknown"
        if remaining is None and not is_known:
            for entry in conditions(ctx.now()):
                set_node_condition(node, entry, ctx.now())
            await renew_lease(ctx.client, node, ctx.now())
            return True
        if remaining is None or remaining > 0 or not is_known:
            return False
        for type in _REPORTED:
            last = node_condition(node, type)
            if last is not None and last.status == "Unknown":
                continue
            condition = NodeCondition(
                type=type,
                status="Unknown",
                reason="NodeStatusNeverUpdated" if last is None else "NodeStatusUnknown",
                message=_NEVER_HEARD if last is None else _SILENT,
                last_heartbeat_time=node.metadata.creation_timestamp if last is None else last.last_heartbeat_time,
            )
            set_node_condition(node, condition, ctx.now())
        if ready is not None and ready.status == "True":
            ctx.event("Normal", "NodeNotReady", f"Node {node.name} status is now: NodeNotReady")
        return True

    async def _taint(self, node: Node, ctx: Context) -> None:
        """Brings this controller's taints up to date; all other taints stay as they are."""
        wanted = {(taint.key, taint.effect): taint for taint in taints_of(node)}
        remaining_taints = [
            taint_entry
            for taint_entry in node.spec.taints
            if taint_entry.key not in _OWN or (taint_entry.key, taint_entry.effect) in wanted
        ]
        present = {(taint_entry.key, taint_entry.effect) for taint_entry in remaining_taints}
        new = [taint for place, taint in wanted.items() if place not in present]
        if not new and len(remaining_taints) == len(node.spec.taints):
            return
        for taint_entry in new:
            taint_entry.time_added = ctx.now().replace(microsecond=0) if taint_entry.effect == "NoExecute" else None
        fresh = await ctx.client.get(Node, node.name)
        if fresh.spec.taints != node.spec.taints:
            return  # its next event leads here again
        fresh.spec.taints = [*remaining_taints, *new]
        await ctx.client.update(fresh)

    async def _mark_pods(self, node: Node, ctx: Context) -> None:
        """Marks the pods of a node that is not ready as not ready."""
        for pod in ctx.lister(Pod).list(index=(NODE_INDEX, node.name)):
            ready = pod_condition(pod, "Ready")
            if ready is None or ready.status != "True" or pod.is_finished:
                continue
            set_pod_condition(pod, PodCondition(type="Ready", status="False"), ctx.now())
            try:
                await ctx.client.update_status(pod)
            except NotFound:
                continue
            ctx.event("Warning", "NodeNotReady", "Node is not ready", about=pod)


class TaintEvictions:
    """Deletes pods whose node has a ``NoExecute`` taint that they don't tolerate forever: immediately, or at the end
    of the time for which they tolerate the taint. Finished pods are deleted, too.
    """

    def __init__(self) -> None:
        self._tainted: set[str] = set()
        self._began: dict[str, dict[str, float]] = {}
        """The loop times at which pods were first seen on a node with a taint that they don't tolerate forever, by
        node name and pod uid.
        """
        self.controller = (
            Controller(
                Node,
                self._reconcile,
                name="taint-eviction-controller",
                owns_status=False,
                leader_only=False,
                predicates=[self._forget_deleted],
            )
            .watches(Pod, self._node_of)
            .index(NODE_INDEX, node_of, of=Pod, as_=PlacedSpec)
        )

    def _forget_deleted(self, old: Head | None, new: Head | None) -> bool:
        if new is None and old is not None:
            self._tainted.discard(old.name)
            self._began.pop(old.name, None)
        return True

    def _node_of(self, head: Head, caches: CacheReader) -> Iterable[ObjectKey]:
        if not self._tainted:
            return ()
        pod = caches.lister(Pod).try_get(head.key)
        name = pod.spec.node_name if pod is not None else None
        return [ObjectKey.of("", name)] if name in self._tainted and name else ()

    async def _reconcile(self, node: Node, ctx: Context) -> Outcome:
        taints = [taint for taint in node.spec.taints if taint.effect == "NoExecute"]
        began_before = self._began.get(node.name, {})
        if taints:
            self._tainted.add(node.name)
        else:
            self._tainted.discard(node.name)
            if not began_before:
                return done()
        now = asyncio.get_running_loop().time()
        began = {}
        waits = []
        due = []
        for pod in ctx.lister(Pod).list(index=(NODE_INDEX, node.name)):
            if pod.is_deleting:
                continue
            seconds = tolerated(pod, taints)
            if seconds is None:
                if pod.uid in began_before:
                    ctx.event("Normal", "TaintManagerEviction", f"Cancelling deletion of Pod {pod.key}", about=pod)
                continue
            began[pod.uid] = began_before.get(pod.uid, now)
            remaining = began[pod.uid] + seconds - now
            if remaining > 0:
                waits.append(remaining)
            else:
                due.append(pod)
        self._began[node.name] = began  # before the requests: one may fail, and the node may go meanwhile
        if not began:
            del self._began[node.name]
        for pod in due:
            await self._evict(pod, ctx)
        return after(min(waits), "pods tolerate a taint for some time") if waits else done()

    @staticmethod
    async def _evict(pod: Pod, ctx: Context) -> None:
        ctx.event("Normal", "TaintManagerEviction", f"Marking for deletion Pod {pod.key}", about=pod)
        text = "Taint manager: deleting due to NoExecute taint"
        reason = "DeletionByTaintManager"
        condition = PodCondition(type="DisruptionTarget", status="True", reason=reason, message=text)
        try:
            if set_pod_condition(pod, condition, ctx.now()):
                await ctx.client.update_status(pod)
        except NotFound:
            return
        await ctx.delete(pod)


def taints_of(node: Node) -> list[Taint]:
    """The taints that follow from a node's conditions and from whether the node is cordoned."""
    ready = node_condition(node, "Ready")
    taints = []
    if ready is not None and ready.status != "True":
        key = _UNREACHABLE if ready.status == "Unknown" else _NOT_READY
        taints += [Taint(key=key, effect="NoSchedule"), Taint(key=key, effect="NoExecute")]
    for type, key in _PRESSURES.items():
        condition = node_condition(node, type)
        if condition is not None and condition.status == "True":
            taints.append(Taint(key=key, effect="NoSchedule"))
    if node.spec.unschedulable:
        taints.append(Taint(key=_UNSCHEDULABLE, effect="NoSchedule"))
    return taints


def tolerated(pod: Pod, taints: Iterable[Taint]) -> float | None:
    """The seconds for which a pod tolerates the ``NoExecute`` taints: 0.0 if there is one that it does not tolerate,
    None if it tolerates all of them forever.

    For each taint, the first toleration that matches counts. With several taints, the shortest time counts.
    """
    seconds: list[float] = []
    for taint in taints:
        used = next((toleration for toleration in pod.spec.tolerations if covers(toleration, taint)), None)
        if used is None:
            return 0.0
        if used.toleration_seconds is not None:
            seconds.append(float(used.toleration_seconds))
    return max(min(seconds), 0.0) if seconds else None
