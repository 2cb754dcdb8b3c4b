"""Deployments: rollouts from one ReplicaSet to the next, within the limits that the strategy sets."""

from __future__ import annotations

import copy
from typing import Final

from setpoint.client import AlreadyExists
from setpoint.cluster.workloads.controller_refs import Claims
from setpoint.cluster.workloads.deployment_progress import desired_of, is_complete, report, seconds_left
from setpoint.cluster.workloads.pod_templates import HASH_LABEL, plain, share, template_hash
from setpoint.cluster.workloads.proportional_scaling import (
    DESIRED,
    MOST,
    number_in,
    only_one,
    shared,
    size_of,
    was_scaled,
)
from setpoint.controller import Context, Controller, Outcome, after, done
from setpoint.meta import ObjectMeta
from setpoint.meta.go_integers import NumberError, parse_uint
from setpoint.models.apps_v1 import Deployment, ReplicaSet, ReplicaSetSpec
from setpoint.models.core_v1 import PodTemplateSpec

REVISION: Final = "deployment.kubernetes.io/revision"
HISTORY: Final = "deployment.kubernetes.io/revision-history"
_OWN: Final = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        "deprecated.deployment.rollback.to",
        REVISION,
        HISTORY,
        DESIRED,
        MOST,
    }
)
"""The annotations of a Deployment that are not copied to its ReplicaSets."""


class Deployments:
    """Rolls out a Deployment's template through ReplicaSets, according to the Deployment's strategy.

    `RollingUpdate` keeps the number of available pods at ``replicas - maxUnavailable`` or more and the number of all
    pods at ``replicas + maxSurge`` or less; `Recreate` ends the old pods before it makes new ones. Revisions, the
    history limit, pausing and the conditions that ``kubectl rollout status`` reads are supported. A rollout without
    progress for ``progressDeadlineSeconds`` is reported (``ProgressDeadlineExceeded``) and continues as soon as it can.
    ReplicaSets that match the Deployment's selector and have no controller are adopted.
    """

    def __init__(self) -> None:
        self._claims = Claims(Deployment, ReplicaSet, lambda deployment: deployment.spec.selector)
        self.controller = (
            Controller(
                Deployment,
                self._reconcile,
                name="deployment-controller",
                owns_status=True,
                leader_only=False,
                predicates=[self._claims.forget_deleted],
            )
            .owns(ReplicaSet)
            .watches(ReplicaSet, self._claims.of_orphan)
        )

    async def _reconcile(self, deployment: Deployment, ctx: Context) -> Outcome:
        claimed = await self._claims.claim(deployment, ctx)
        owned = [replica_set for replica_set in claimed if not replica_set.is_deleting]
        current = _find(owned, deployment.spec.template)
        others = [replica_set for replica_set in owned if replica_set is not current]
        scaled = was_scaled(desired_of(deployment), owned)
        created = current is None and not deployment.spec.paused and not scaled
        if deployment.spec.paused or scaled:
            await self._resize(deployment, current, others, ctx)
        else:
            if current is None:
                current = await self._create(deployment, others, ctx)
            else:
                current = await self._revise(deployment, current, others, ctx)
            if _recreates(deployment):
                await self._recreate(deployment, current, others, ctx)
            else:
                await self._roll(deployment, current, others, ctx)
        unavailable = limits(deployment)[1]
        report(deployment, current, others, created=created, unavailable=unavailable, now=ctx.now())
        if current is not None and is_complete(deployment):
            await self._clean_up(deployment, others, ctx)
        seconds = seconds_left(deployment, ctx.now())
        return done() if seconds is None else after(seconds, "the progress deadline")

    # -- ReplicaSets ---------------------------------------------------------------------------------------------------

    async def _create(self, deployment: Deployment, others: list[ReplicaSet], ctx: Context) -> ReplicaSet:
        template = copy.copy(deployment.spec.template)
        digest = template_hash(template, deployment.status.collision_count or 0)
        template.metadata = copy.copy(template.metadata)
        template.metadata.labels = {**template.metadata.labels, HASH_LABEL: digest}
        selector = copy.copy(deployment.spec.selector)
        selector.match_labels = {**selector.match_labels, HASH_LABEL: digest}
        revision = str(max(map(_revision, others), default=0) + 1)
        replicas = 0
        if not _recreates(deployment):
            room = desired_of(deployment) + limits(deployment)[0] - sum(map(size_of, others))
            replicas = max(min(desired_of(deployment), room), 0)
        fresh = ReplicaSet(
            metadata=ObjectMeta(
                name=f"{deployment.name}-{digest}",
                labels=dict(template.metadata.labels),
                annotations=_annotations(deployment) | {REVISION: revision} | _marks(deployment),
            ),
            spec=ReplicaSetSpec(
                replicas=replicas,
                selector=selector,
                template=template,
                min_ready_seconds=deployment.spec.min_ready_seconds,
            ),
        )
        try:
            replica_set = await ctx.create(fresh)
        except AlreadyExists:
            # Another template has that hash: count the collision, so that the next try has another name.
            deployment.status.collision_count = (deployment.status.collision_count or 0) + 1
            raise
        if replicas:
            _record_scaling_event(replica_set, 0, replicas, ctx)
        await _annotate(deployment, revision, ctx)
        return replica_set

    async def _resize(
        self, deployment: Deployment, current: ReplicaSet | None, others: list[ReplicaSet], ctx: Context
    ) -> None:
        """Distributes a changed number of replicas over the ReplicaSets, without rolling out a new template."""
        desired = desired_of(deployment)
        alone = only_one(current, others)
        if alone is not None:
            await _scale(deployment, alone, desired, ctx, remember=True)
            return
        if current is not None and _is_saturated(deployment, current):
            for replica_set in others:
                await _scale(deployment, replica_set, 0, ctx)
            return
        if _recreates(deployment):
            return
        everything = [*others, *([current] if current is not None else [])]
        for replica_set, size in shared(deployment, everything, desired, limits(deployment)[0]):
            await _scale(deployment, replica_set, size, ctx, remember=True)

    async def _revise(
        self, deployment: Deployment, current: ReplicaSet, others: list[ReplicaSet], ctx: Context
    ) -> ReplicaSet:
        """Gives the current ReplicaSet the highest revision, even after a rollback to an older template."""
        newest = max(map(_revision, others), default=0)
        marks = _annotations(deployment)
        if _revision(current) <= newest:
            marks[REVISION] = str(newest + 1)
            if past := current.annotations.get(REVISION):
                marks[HISTORY] = ",".join(filter(None, (current.annotations.get(HISTORY), past)))
        current.metadata.annotations = {**current.annotations, **marks}
        current = await ctx.client.update(current)
        await _annotate(deployment, str(_revision(current)), ctx)
        return current

    async def _recreate(
        self, deployment: Deployment, current: ReplicaSet, others: list[ReplicaSet], ctx: Context
    ) -> None:
        for replica_set in others:
            await _scale(deployment, replica_set, 0, ctx)
        if not any(replica_set.status.replicas or replica_set.status.terminating_replicas for replica_set in others):
            await _scale(deployment, current, desired_of(deployment), ctx)

    async def _roll(self, deployment: Deployment, current: ReplicaSet, others: list[ReplicaSet], ctx: Context) -> None:
        desired = desired_of(deployment)
        surge, unavailable = limits(deployment)
        total = size_of(current) + sum(map(size_of, others))
        if size_of(current) > desired:
            await _scale(deployment, current, desired, ctx)
        elif size_of(current) < desired:
            room = desired + surge - total
            if room > 0:
                await _scale(deployment, current, min(desired, size_of(current) + room), ctx)
        # Old pods may go as far as enough others are available. The sizes in the specs count, not those in the
        # statuses, which are behind and would have the same pods go twice.
        least = desired - unavailable
        total = size_of(current) + sum(map(size_of, others))
        pending = max(size_of(current) - (current.status.available_replicas or 0), 0)
        budget = total - least - pending
        for replica_set in sorted(others, key=_revision):  # unavailable pods first
            removable = min(budget, size_of(replica_set) - (replica_set.status.available_replicas or 0))
            if removable > 0:
                budget -= removable
                await _scale(deployment, replica_set, size_of(replica_set) - removable, ctx)
        available = sum(replica_set.status.available_replicas or 0 for replica_set in (current, *others))
        budget = min(budget, available - least)
        for replica_set in sorted(others, key=_revision):
            removable = min(budget, size_of(replica_set))
            if removable > 0:
                budget -= removable
                await _scale(deployment, replica_set, size_of(replica_set) - removable, ctx)

    async def _clean_up(self, deployment: Deployment, others: list[ReplicaSet], ctx: Context) -> None:
        limit = deployment.spec.revision_history_limit
        idle = [replica_set for replica_set in others if not size_of(replica_set) and not replica_set.status.replicas]
        idle.sort(key=_revision)
        for replica_set in idle[: max(len(idle) - (10 if limit is None else limit), 0)]:
            await ctx.delete(replica_set)


def limits(deployment: Deployment) -> tuple[int, int]:
    """``maxSurge`` (rounded up) and ``maxUnavailable`` (rounded down) as numbers of pods; at least one of them is not
    0.
    """
    rolling = deployment.spec.strategy.rolling_update if deployment.spec.strategy else None
    desired = desired_of(deployment)
    surge = share(rolling.max_surge if rolling else None, desired, up=True, default="25%")
    unavailable = share(rolling.max_unavailable if rolling else None, desired, up=False, default="25%")
    return (surge, unavailable) if surge or unavailable else (0, 1)


def _find(replica_sets: list[ReplicaSet], template: PodTemplateSpec) -> ReplicaSet | None:
    """The ReplicaSet with this template; if there are several, the one with the lowest revision; None if there are
    none.
    """
    wanted = plain(template)
    same = [
        replica_set
        for replica_set in replica_sets
        if replica_set.spec.template is not None and plain(replica_set.spec.template) == wanted
    ]
    return min(same, key=_revision, default=None)


def _revision(replica_set: ReplicaSet) -> int:
    text = replica_set.annotations.get(REVISION, "0")
    try:
        return parse_uint(text)
    except NumberError:
        return 0


async def _scale(
    deployment: Deployment, replica_set: ReplicaSet, replicas: int, ctx: Context, *, remember: bool = False
) -> None:
    """Scales a ReplicaSet, and records the Deployment's size in it. With ``remember``, the size is recorded even if the
    number of replicas does not change.

    The number was computed from the sizes that were read, so the write applies only to the version that was read;
    otherwise, a late write could undo a later decision.
    """
    before = size_of(replica_set)
    if before == replicas and not remember:
        return
    replica_set.metadata.annotations = {**replica_set.annotations, **_marks(deployment)}
    replica_set.spec.replicas = replicas
    stored = await ctx.client.update(replica_set)
    replica_set.metadata.resource_version = stored.metadata.resource_version
    if before != replicas:
        _record_scaling_event(replica_set, before, replicas, ctx)


def _record_scaling_event(replica_set: ReplicaSet, before: int, after: int, ctx: Context) -> None:
    word = "up" if after > before else "down"
    ctx.event(
        "Normal", "ScalingReplicaSet", f"Scaled {word} replica set {replica_set.name} from {before} to {after}"
    )  # fmt: skip


def _recreates(deployment: Deployment) -> bool:
    return (deployment.spec.strategy and deployment.spec.strategy.type) == "Recreate"


def _marks(deployment: Deployment) -> dict[str, str]:
    """The annotations of a ReplicaSet that record the size of its Deployment."""
    desired, surge = desired_of(deployment), 0
    if not _recreates(deployment):
        surge = limits(deployment)[0]
    return {DESIRED: str(desired), MOST: str(desired + surge)}


def _annotations(deployment: Deployment) -> dict[str, str]:
    """The annotations that are copied from a Deployment to its current ReplicaSet, such as the cause of the change."""
    return {name: value for name, value in deployment.annotations.items() if name not in _OWN}


def _is_saturated(deployment: Deployment, current: ReplicaSet) -> bool:
    """Whether the current ReplicaSet has the Deployment's present size, was last scaled for that size, and has that
    many available replicas.
    """
    desired = desired_of(deployment)
    return size_of(current) == desired == number_in(current, DESIRED) == (current.status.available_replicas or 0)


async def _annotate(deployment: Deployment, revision: str, ctx: Context) -> None:
    if deployment.annotations.get(REVISION) != revision:  # with the status: another write would count as a generation
        body = {"metadata": {"annotations": {REVISION: revision}}}
        stored = await ctx.patch(deployment, body, subresource="status")
        deployment.metadata = stored.metadata  # the status is written onto this version
