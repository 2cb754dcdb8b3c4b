"""StatefulSets: pods with stable names, and with claims of their own that outlive the pods."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from setpoint.cache import Head
from setpoint.client import AlreadyExists, ApiError
from setpoint.cluster.workloads.controller_refs import Claims
from setpoint.cluster.workloads.controller_revisions import Revisions, template_of
from setpoint.cluster.workloads.pod_templates import REVISION_LABEL, is_available, pod_of, share, until_available
from setpoint.cluster.workloads.statefulset_claims import StatefulClaims, with_claims
from setpoint.controller import Context, Controller, Outcome, after, done
from setpoint.meta import ObjectKey
from setpoint.meta.go_integers import NumberError, parse_uint
from setpoint.models.apps_v1 import ControllerRevision, StatefulSet
from setpoint.models.core_v1 import PersistentVolumeClaim, Pod, PodTemplateSpec

POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
POD_INDEX: Final = "apps.kubernetes.io/pod-index"
HASH: Final = "controller.kubernetes.io/hash"
"""The label of a ControllerRevision with the hash of its template."""


class StatefulSets:
    """Keeps the pods ``NAME-0``, ``NAME-1``, … of a StatefulSet.

    With `OrderedReady`, a pod is made when all pods before it are available, and surplus pods are ended from the last
    one down as long as all remaining pods are available; with `Parallel`, all are made or ended at the same time.
    `RollingUpdate` replaces pods from the last one down to the partition, ``maxUnavailable`` at a time. With
    `OnDelete`, old pods stay until users delete them. Pods that have ended are replaced. Claims are made before their
    pod, and stay unless the retention policy says otherwise.
    """

    def __init__(self) -> None:
        self._claims = Claims(StatefulSet, Pod, lambda stateful_set: stateful_set.spec.selector)
        self._revisions = Revisions(StatefulSet, lambda stateful_set: stateful_set.spec.selector, HASH)
        self._volumes = StatefulClaims()
        self.controller = self._revisions.declare(
            Controller(
                StatefulSet,
                self._reconcile,
                name="statefulset-controller",
                owns_status=True,
                leader_only=False,
                predicates=[self._claims.forget_deleted, self._revisions.forget_deleted],
            )
            .owns(Pod)
            .watches(Pod, self._claims.of_orphan)
            .watches(PersistentVolumeClaim, _sets_of_claim)
        )

    async def _reconcile(self, stateful_set: StatefulSet, ctx: Context) -> Outcome:
        pods = await self._claims.claim(stateful_set, ctx, lambda pod: ordinal_of(stateful_set, pod) is not None)
        revisions = await self._revisions.of(stateful_set, stateful_set.spec.template, ctx)
        update = revisions[-1]
        current = next(
            (revision for revision in revisions if revision.name == stateful_set.status.current_revision), update
        )
        ordered = {
            ordinal: pod
            for pod in sorted(pods, key=lambda pod: pod.is_finished)
            if (ordinal := ordinal_of(stateful_set, pod)) is not None
        }
        try:
            await self._move(stateful_set, ordered, current, update, ctx)
        finally:
            self._count(stateful_set, pods, current, update, ctx)
        used = {stateful_set.status.current_revision, update.name, *(pod.labels.get(REVISION_LABEL) for pod in pods)}
        limit = stateful_set.spec.revision_history_limit
        await self._revisions.forget(revisions, {name for name in used if name}, limit, ctx)
        times = [until_available(pod, stateful_set.spec.min_ready_seconds, ctx.now()) for pod in pods]
        waits = [wait for wait in times if wait is not None and wait > 0]
        return after(min(waits), "pods are not available for long enough") if waits else done()

    # -- pods ----------------------------------------------------------------------------------------------------------

    async def _move(
        self,
        stateful_set: StatefulSet,
        pods: dict[int, Pod],
        current: ControllerRevision,
        update: ControllerRevision,
        ctx: Context,
    ) -> None:
        """Takes one step towards the wanted state: first missing pods, then surplus pods, then updates."""
        ordered = stateful_set.spec.pod_management_policy != "Parallel"
        wanted = ordinals_of(stateful_set)
        for ordinal in wanted:
            template = stateful_set.spec.template
            revision = update
            if ordinal not in pods and self._stays_old(stateful_set, ordinal) and current is not update:
                template, revision = template_of(current), current
            moving = await self._keep(stateful_set, pods.get(ordinal), ordinal, template, revision, ctx)
            if moving and ordered:
                return
        condemned = [pods[ordinal] for ordinal in sorted(pods, reverse=True) if ordinal not in wanted]
        for pod in condemned:
            await self._volumes.retain(stateful_set, pod, condemned=True, ctx=ctx)
        unhealthy = [pod for pod in reversed(condemned) if not self._serves(stateful_set, pod, ctx)]
        for pod in condemned:
            if not pod.is_deleting:
                if ordered and pod is not (unhealthy or [pod])[0] and not self._serves(stateful_set, pod, ctx):
                    return
                await self._delete(stateful_set, pod, ctx)
            if ordered:
                return
        await self._update(stateful_set, [pods[ordinal] for ordinal in wanted if ordinal in pods], update, ctx)

    async def _keep(
        self,
        stateful_set: StatefulSet,
        pod: Pod | None,
        ordinal: int,
        template: PodTemplateSpec,
        revision: ControllerRevision,
        ctx: Context,
    ) -> bool:
        """Makes or repairs one pod. Returns whether the next pod has to wait for this one."""
        if pod is None:
            if await self._volumes.is_stale(stateful_set, ordinal, ctx):
                return True
            await self._create(stateful_set, ordinal, template, revision, ctx)
            return True
        if pod.is_finished:
            if not pod.is_deleting:
                failed = pod.status.phase == "Failed"
                how = "failed" if failed else "terminated"
                message = f"StatefulSet {stateful_set.key} is recreating {how} Pod {pod.name}"
                type_, reason = ("Warning", "RecreatingFailedPod") if failed else ("Normal", "RecreatingTerminatedPod")
                ctx.event(type_, reason, message)
                await self._delete(stateful_set, pod, ctx)
            return True
        if pod.status.phase == "Pending" and not pod.is_deleting:
            await self._volumes.create(stateful_set, ordinal, ctx)
        if not pod.is_deleting:
            await self._volumes.retain(stateful_set, pod, condemned=False, ctx=ctx)
            if pod.labels.get(POD_NAME) != pod.name:
                await ctx.patch(pod, {"metadata": {"labels": {POD_NAME: pod.name, POD_INDEX: str(ordinal)}}})
        return not self._serves(stateful_set, pod, ctx)

    async def _create(
        self,
        stateful_set: StatefulSet,
        ordinal: int,
        template: PodTemplateSpec,
        revision: ControllerRevision,
        ctx: Context,
    ) -> None:
        pod = pod_of(template, name=f"{stateful_set.name}-{ordinal}")
        pod.metadata.labels |= {POD_NAME: pod.name, POD_INDEX: str(ordinal), REVISION_LABEL: revision.name}
        pod.spec.hostname = pod.name
        pod.spec.subdomain = stateful_set.spec.service_name or None
        pod.spec.volumes = with_claims(stateful_set, ordinal, pod.spec.volumes)
        message = f"create Pod {pod.name} in StatefulSet {stateful_set.name}"
        try:
            await self._volumes.create(stateful_set, ordinal, ctx)
            await ctx.create(pod)
        except AlreadyExists:
            raise  # another controller's pod has that name, or this cache is behind: tried again
        except ApiError as problem:
            ctx.event("Warning", "FailedCreate", f"{message} failed error: {problem.message}")
            raise
        ctx.event("Normal", "SuccessfulCreate", f"{message} successful")

    async def _delete(self, stateful_set: StatefulSet, pod: Pod, ctx: Context) -> None:
        await ctx.delete(pod)
        ctx.event("Normal", "SuccessfulDelete", f"delete Pod {pod.name} in StatefulSet {stateful_set.name} successful")

    async def _update(
        self, stateful_set: StatefulSet, pods: list[Pod], update: ControllerRevision, ctx: Context
    ) -> None:
        """Ends pods of other revisions, starting with the last pod, as long as enough pods are available."""
        strategy = stateful_set.spec.update_strategy
        if strategy is not None and strategy.type == "OnDelete":
            return
        rolling = strategy.rolling_update if strategy is not None else None
        wanted = ordinals_of(stateful_set)
        if len(pods) < len(wanted):
            return  # those that were just made come first
        most = max(share(rolling.max_unavailable if rolling else None, len(wanted), up=True, default=1), 1)
        first = rolling.partition or 0 if rolling is not None else 0
        missing = 0 if most == 1 else sum(not self._serves(stateful_set, pod, ctx) for pod in pods)
        for ordinal, pod in zip(reversed(wanted), reversed(pods), strict=True):
            if ordinal < first or missing >= most:
                return
            serves = self._serves(stateful_set, pod, ctx)
            if not pod.is_deleting and pod.labels.get(REVISION_LABEL) != update.name:
                await self._delete(stateful_set, pod, ctx)
                missing += serves or most == 1
            elif most == 1 and not serves:
                return

    @staticmethod
    def _serves(stateful_set: StatefulSet, pod: Pod, ctx: Context) -> bool:
        available = is_available(pod, stateful_set.spec.min_ready_seconds, ctx.now())
        return pod.is_running and available and not pod.is_deleting

    @staticmethod
    def _stays_old(stateful_set: StatefulSet, ordinal: int) -> bool:
        """Whether the pod with this ordinal must not be updated yet."""
        strategy = stateful_set.spec.update_strategy
        if strategy is not None and strategy.type == "OnDelete":
            return False
        rolling = strategy.rolling_update if strategy is not None else None
        return ordinal < ((rolling.partition or 0) if rolling is not None else 0)

    # -- status --------------------------------------------------------------------------------------------------------

    def _count(
        self,
        stateful_set: StatefulSet,
        pods: list[Pod],
        current: ControllerRevision,
        update: ControllerRevision,
        ctx: Context,
    ) -> None:
        status, seconds = stateful_set.status, stateful_set.spec.min_ready_seconds
        created = [pod for pod in pods if pod.status.phase]
        living = [pod for pod in created if not pod.is_deleting]
        ready = [pod for pod in created if pod.is_running and pod.is_ready]
        status.replicas = len(created)
        status.ready_replicas = len(ready) or None
        status.available_replicas = sum(is_available(pod, seconds, ctx.now()) for pod in ready)
        status.current_replicas = sum(pod.labels.get(REVISION_LABEL) == current.name for pod in living) or None
        updated = sum(pod.labels.get(REVISION_LABEL) == update.name for pod in living)
        status.updated_replicas = updated or None
        status.collision_count = status.collision_count or 0
        status.update_revision = update.name
        strategy = stateful_set.spec.update_strategy
        wanted = len(ordinals_of(stateful_set))
        rolled = (updated, len(created), len(ready)) == (wanted, wanted, wanted)
        if rolled and (strategy is None or strategy.type != "OnDelete"):
            status.current_revision, status.current_replicas = update.name, status.updated_replicas
        else:
            status.current_revision = current.name


def ordinals_of(stateful_set: StatefulSet) -> range:
    start = (stateful_set.spec.ordinals.start or 0) if stateful_set.spec.ordinals is not None else 0
    replicas = stateful_set.spec.replicas
    return range(start, start + (1 if replicas is None else replicas))


def ordinal_of(stateful_set: StatefulSet, pod: Pod) -> int | None:
    """The ordinal of a pod; None if its name is not one that the StatefulSet gives to its pods."""
    name, _, number = pod.name.rpartition("-")
    if name != stateful_set.name:
        return None
    try:
        ordinal = parse_uint(number)
    except NumberError:
        return None
    return ordinal if str(ordinal) == number else None


def _sets_of_claim(head: Head) -> Iterable[ObjectKey]:
    """The StatefulSets whose pods a claim was made for, found through the claim's owners."""
    for owner in head.owner_references:
        if owner.kind == "StatefulSet":
            yield ObjectKey.of(head.namespace, owner.name)
        elif owner.kind == "Pod":
            yield ObjectKey.of(head.namespace, owner.name.rpartition("-")[0] or owner.name)
