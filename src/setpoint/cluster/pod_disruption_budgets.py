"""PodDisruptionBudgets: the number of pods whose eviction is allowed now."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final, NamedTuple

import msgspec

from setpoint.client import NotFound
from setpoint.cluster.selector_index import SelectorIndex
from setpoint.cluster.served_resources import ServedResources
from setpoint.cluster.workloads.pod_templates import share
from setpoint.controller import Context, Controller, Outcome, after, done
from setpoint.meta import GroupVersion, Object, OwnerReference, Selector
from setpoint.models.apps_v1 import Deployment, ReplicaSet, StatefulSet
from setpoint.models.core_v1 import Pod, ReplicationController
from setpoint.models.policy_v1 import PodDisruptionBudget

EVICTED_WITHIN: Final = timedelta(minutes=2)
"""The longest time for which an allowed eviction counts if the deletion of the pod is not seen."""
_SCALED: Final[dict[tuple[str, str], type[Object]]] = {
    ("apps", "Deployment"): Deployment,
    ("apps", "ReplicaSet"): ReplicaSet,
    ("", "ReplicationController"): ReplicationController,
    ("apps", "StatefulSet"): StatefulSet,
}


class _Scale(NamedTuple):
    """The uid of an object that controls pods, and the number of replicas that it wants."""

    uid: str
    replicas: int


class _NoScaleError(Exception):
    """The wanted number of pods is unknown; the message gives the reason."""


class DisruptionBudgets:
    """Counts healthy pods, and writes the number of allowed disruptions.

    Percentages and ``maxUnavailable`` refer to the number of replicas that the pods' controllers want. A controller is
    a workload or any other object with a ``scale`` subresource. The number does not include pods without a controller.
    If the number of replicas that a controller wants is unknown, no disruption is allowed (reason ``SyncFailed``). An
    eviction that the server has allowed counts until the pod is gone, but for two minutes at most.
    """

    def __init__(self, resources: ServedResources) -> None:
        self._resources = resources
        self._selectors = SelectorIndex()
        self.controller = Controller(
            PodDisruptionBudget,
            self._reconcile,
            name="disruption",
            owns_status=True,
            leader_only=False,
            predicates=[self._selectors.forget_deleted],
        ).watches(Pod, self._selectors.matching)
        for kind in _SCALED.values():
            self.controller.reads(kind)

    async def _reconcile(self, budget: PodDisruptionBudget, ctx: Context) -> Outcome:
        status = budget.status
        pods: list[Pod] = []
        if budget.spec.selector is not None:
            selector = self._selectors[budget.key] = Selector.of(budget.spec.selector)
            pods = await ctx.list(Pod, selector=selector)
        if not pods:
            ctx.event("Normal", "NoPods", "No matching pods found")
        try:
            expected, desired = await self._needed(budget, pods, ctx)
        except _NoScaleError as problem:
            message = f"Failed to calculate the number of expected pods: {problem}"
            ctx.event("Warning", "CalculateExpectedPodCountFailed", message)
            status.disruptions_allowed = 0
            ctx.set_condition("DisruptionAllowed", False, "SyncFailed", str(problem))
            return done()
        now = ctx.now()
        living = {pod.name for pod in pods if not pod.is_deleting}
        evicted = {
            name: at for name, at in status.disrupted_pods.items() if name in living and at + EVICTED_WITHIN > now
        }
        healthy = sum(pod.is_ready and not pod.is_deleting and pod.name not in evicted for pod in pods)
        status.current_healthy, status.desired_healthy, status.expected_pods = healthy, desired, expected
        status.disruptions_allowed = max(healthy - desired, 0) if expected > 0 else 0
        status.disrupted_pods = evicted
        enough = status.disruptions_allowed > 0
        ctx.set_condition("DisruptionAllowed", enough, "SufficientPods" if enough else "InsufficientPods")
        if not evicted:
            return done()
        remaining = (min(evicted.values()) + EVICTED_WITHIN - now).total_seconds()
        return after(max(remaining, 0.1), "an eviction that was allowed may not have happened")

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
        scales: dict[str, _Scale] = {}
        references = [pod.metadata.controller for pod in pods]
        for pod, reference in zip(pods, references, strict=True):
            if reference is None or reference.uid in scales:
                continue
            scale = await _of_workload(reference, ctx) or await self._of_other(reference, pod.namespace, ctx)
            if scale is None:
                raise _NoScaleError(f'found no controllers for pod "{pod.name}"')
            scales[reference.uid] = scale
        if None in references:
            message = "Pods without a controller are not counted; only an integer in spec.minAvailable counts them"
            ctx.event("Warning", "UnmanagedPods", message)
        return sum(dict(scales.values()).values())

    async def _of_other(self, reference: OwnerReference, namespace: str, ctx: Context) -> _Scale | None:
        """The scale of the object, from its ``scale`` subresource; None if the object is gone.

        Raises:
            _NoScaleError: objects of this kind are not served, or have no such subresource.
        """
        resource = await self._resources.find(ctx.client, reference.api_version, reference.kind)
        if resource is None:
            raise _NoScaleError(f'no matches for kind "{reference.kind}" in version "{reference.api_version}"')
        if "scale" not in resource.subresources:
            named = f"{resource.plural}.{resource.group}".removesuffix(".")
            raise _NoScaleError(f"{named} does not implement the scale subresource")
        path = resource.path(namespace=namespace, name=reference.name, subresource="scale")
        try:
            scale = msgspec.json.decode(await ctx.client.request("GET", path))
        except NotFound:
            return None
        if scale["metadata"].get("uid") != reference.uid:
            return None
        return _Scale(reference.uid, (scale.get("spec") or {}).get("replicas") or 0)


async def _of_workload(reference: OwnerReference, ctx: Context) -> _Scale | None:
    """The scale of the workload, or of the Deployment of a ReplicaSet; None if it is gone or of another kind."""
    owner = await _controller_of(reference, ctx)
    if isinstance(owner, ReplicaSet):
        above = await _controller_of(owner.metadata.controller, ctx)
        owner = above if isinstance(above, Deployment) else owner
    if owner is None:
        return None
    return _Scale(owner.uid, 1 if owner.spec.replicas is None else owner.spec.replicas)


async def _controller_of(reference: OwnerReference | None, ctx: Context) -> Any:
    """The workload to which the reference refers; None if it is gone or of another kind."""
    if reference is None:
        return None
    kind = _SCALED.get((GroupVersion.parse(reference.api_version).group, reference.kind))
    if kind is None:
        return None
    owner = await ctx.get(kind, reference.name)
    return owner if owner is not None and owner.uid == reference.uid else None
