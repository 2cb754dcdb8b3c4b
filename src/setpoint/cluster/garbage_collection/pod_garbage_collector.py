"""Pod garbage collection: pods whose node is gone, and deleted pods without a kubelet to end them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from setpoint.cache import Head
from setpoint.client import NotFound
from setpoint.cluster.node_index import NODE_INDEX, PlacedSpec, node_of
from setpoint.controller import Context, Controller, Outcome, after, done
from setpoint.controller.cache_reader import CacheReader
from setpoint.meta import ObjectKey
from setpoint.models.core_v1 import Node, Pod, PodCondition

QUARANTINE: Final = 40.0
"""Seconds for which a node has to be missing before its pods are deleted."""
OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
_GONE: Final = "PodGC: node no longer exists"


class PodGarbage:
    """Ends the pods that no kubelet ends: pods of nodes that are gone, pods that are deleted before they have a node,
    and deleted pods on a node that is out of service.

    A pod that has not ended is first marked as failed with the condition ``DisruptionTarget``, which tells Jobs the
    reason.

    *Caveats*: the number of pods that have ended is not limited (upstream: 12,500).
    """

    def __init__(self) -> None:
        self._orphaned: dict[ObjectKey, float] = {}
        """The times at which pods were first seen without their node."""
        self.controller = (
            Controller(
                Pod,
                self._reconcile,
                name="pod-garbage-collector",
                reconcile_deleting=True,
                owns_status=False,
                leader_only=False,
                predicates=[self._may_be_garbage],
            )
            .watches(Node, self._pods_of)
            .index(NODE_INDEX, node_of, as_=PlacedSpec)
        )

    async def _reconcile(self, pod: Pod, ctx: Context) -> Outcome:
        name = pod.spec.node_name
        if not name:
            if pod.is_deleting:
                await ctx.delete(pod, grace_period_seconds=0)
            return done()
        node = await ctx.get(Node, name)
        if node is not None:
            self._orphaned.pop(pod.key, None)  # a reconcile that read before the node came may have added it
            if pod.is_deleting and not pod.is_ready and _is_out_of_service(node):
                await self._end(pod, f"PodGC: node {name} is out of service", ctx)
            return done()
        now = ctx.now().timestamp()
        remaining = self._orphaned.setdefault(pod.key, now) + QUARANTINE - now
        if remaining > 0:
            return after(remaining, "the node may come back")
        try:
            await ctx.client.get(Node, name)
        except NotFound:
            await self._end(pod, _GONE, ctx)
        return done()

    def _pods_of(self, node: Head, caches: CacheReader) -> Iterable[str]:
        """The keys of the pods on the node. Their quarantine ends when it exists, even if it goes again at once."""
        keys = caches.lister(Pod).keys(index=(NODE_INDEX, node.name))
        if caches.lister(Node).head(node.name) is not None:
            for key in keys:
                self._orphaned.pop(key, None)
        return keys

    def _may_be_garbage(self, old: Head | None, new: Head | None) -> bool:
        """Whether the pod is new or being deleted. Changes to its node are reported by the node."""
        if new is None and old is not None:
            self._orphaned.pop(old.key, None)
        return new is not None and (old is None or new.is_deleting)

    async def _end(self, pod: Pod, why: str, ctx: Context) -> None:
        """Marks the pod as failed, and then deletes it. A crash after either step does no harm."""
        if not pod.is_finished:
            condition = PodCondition(
                type="DisruptionTarget", status="True", reason="DeletionByPodGC", message=why,
                last_transition_time=ctx.now().replace(microsecond=0),
            )  # fmt: skip
            others = [
                condition_entry for condition_entry in pod.status.conditions if condition_entry.type != condition.type
            ]
            pod.status.conditions = [*others, condition]
            pod.status.phase = "Failed"
            pod = await ctx.client.update_status(pod)
        await ctx.delete(pod, grace_period_seconds=0)


def _is_out_of_service(node: Node) -> bool:
    ready = any(condition.type == "Ready" and condition.status == "True" for condition in node.status.conditions)
    return not ready and any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints)
