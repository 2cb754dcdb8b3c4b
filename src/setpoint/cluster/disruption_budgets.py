"""PodDisruptionBudgets: the number of pods whose eviction is allowed now."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final

from setpoint.cache import Head
from setpoint.cluster.templates import share
from setpoint.controller import Context, Controller, Outcome, after, done
from setpoint.meta import Object, ObjectKey, OwnerReference, Selector
from setpoint.models.apps_v1 import Deployment, ReplicaSet, StatefulSet
from setpoint.models.core_v1 import Pod, ReplicationController
from setpoint.models.policy_v1 import PodDisruptionBudget

EVICTED_WITHIN: Final = timedelta(minutes=2)
"""The longest time for which an allowed eviction counts if the deletion of the pod is not seen."""
_SCALED: Final[dict[str, type[Object]]] = {
    "Deployment": Deployment,
    "ReplicaSet": ReplicaSet,
    "ReplicationController": ReplicationController,
    "StatefulSet": StatefulSet,
}


class DisruptionBudgets:
    """Counts healthy pods, and writes the number of allowed disruptions.

    Percentages and ``maxUnavailable`` refer to the number of replicas that the pods' controllers want; pods without
    such a controller are not counted. An eviction that the server has allowed counts until the pod is gone, but for two
    minutes at most.
    """

    def __init__(self) -> None:
        self._selectors: dict[ObjectKey, Selector] = {}
        self.controller = Controller(
            PodDisruptionBudget,
            self._reconcile,
            name="disruption",
            owns_status=True,
            leader_only=False,
            predicates=[self._forget_deleted],
        ).watches(Pod, self._budgets_of)
        for kind in _SCALED.values():
            self.controller.reads(kind)

    def _forget_deleted(self, old: Head | None, new: Head | None) -> bool:
        if new is None and old is not None:
            self._selectors.pop(old.key, None)
        return True

    def _budgets_of(self, pod: Head) -> Iterable[ObjectKey]:
        return [
            key
            for key, selector in self._selectors.items()
            if key.namespace == pod.namespace and selector.matches(pod.labels)
        ]

    async def _reconcile(self, budget: PodDisruptionBudget, ctx: Context) -> Outcome:
        status = budget.status
        pods: list[Pod] = []
        if budget.spec.selector is not None:
            selector = self._selectors[budget.key] = Selector.of(budget.spec.selector)
            pods = await ctx.list(Pod, selector=selector)
        now = ctx.now()
        living = {pod.name for pod in pods if not pod.is_deleting}
        evicted = {
            name: at for name, at in status.disrupted_pods.items() if name in living and at + EVICTED_WITHIN > now
        }
        healthy = sum(pod.is_ready and not pod.is_deleting and pod.name not in evicted for pod in pods)
        expected, desired = await self._needed(budget, pods, ctx)
        status.current_healthy, status.desired_healthy, status.expected_pods = healthy, desired, expected
        status.disruptions_allowed = max(healthy - desired, 0) if expected > 0 else 0
        status.disrupted_pods = evicted
        enough = status.disruptions_allowed > 0
        ctx.set_condition("DisruptionAllowed", enough, "SufficientPods" if enough else "InsufficientPods")
        if not evicted:
            return done()
        left = (min(evicted.values()) + EVICTED_WITHIN - now).total_seconds()
        return after(max(left, 0.1), "an eviction that was allowed may not have happened")

    async def _needed(self, budget: PodDisruptionBudget, pods: list[Pod], ctx: Context) -> tuple[int, int]:
        """The number of expected pods, and how many of them have to be healthy."""
        spec = budget.spec
        if spec.max_unavailable is not None:
            expected = await self._scale(pods, ctx)
            return expected, max(expected - share(spec.max_unavailable, expected, up=True, default=0), 0)
        if isinstance(spec.min_available, str):
            expected = await self._scale(pods, ctx)
            return expected, share(spec.min_available, expected, up=True, default=0)
        return len(pods), spec.min_available or 0

    async def _scale(self, pods: list[Pod], ctx: Context) -> int:
        """The total number of replicas that the controllers of these pods want."""
        wanted: dict[str, int] = {}
        for pod in pods:
            owner: Any = await _controller_of(pod.metadata.controller, ctx)
            above = await _controller_of(owner.metadata.controller, ctx) if owner is not None else None
            top = above or owner
            if top is not None:
                wanted[top.uid] = 1 if top.spec.replicas is None else top.spec.replicas
        return sum(wanted.values())


async def _controller_of(reference: OwnerReference | None, ctx: Context) -> Any:
    """The object to which the reference refers; None if it is gone or objects of its kind do not have replicas."""
    kind = _SCALED.get(reference.kind) if reference is not None else None
    if kind is None or reference is None:
        return None
    found = await ctx.get(kind, reference.name)
    return found if found is not None and found.uid == reference.uid else None
