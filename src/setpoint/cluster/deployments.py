"""Deployments: from one ReplicaSet to the next, without ever having too few pods or too many."""

from __future__ import annotations

import copy
from typing import Final

from setpoint.client import AlreadyExists
from setpoint.cluster.claims import Claims
from setpoint.cluster.rollout import desired_of, is_complete, report, seconds_left
from setpoint.cluster.templates import HASH_LABEL, plain, share, template_hash
from setpoint.controller import Context, Controller, Outcome, after, done
from setpoint.meta import ObjectMeta
from setpoint.meta.numbers import NumberError, parse_uint
from setpoint.models.apps_v1 import Deployment, ReplicaSet, ReplicaSetSpec
from setpoint.models.core_v1 import PodTemplateSpec

REVISION: Final = "deployment.kubernetes.io/revision"
DESIRED: Final = "deployment.kubernetes.io/desired-replicas"


class Deployments:
    """Rolls a Deployment's template out through ReplicaSets, by its strategy.

    `RollingUpdate` keeps the number of available pods above ``replicas - maxUnavailable`` and the number of all pods
    below ``replicas + maxSurge``; `Recreate` ends the old pods before it makes new ones. Revisions, the history limit,
    pausing and the conditions that ``kubectl rollout status`` reads are kept. A rollout without progress for
    ``progressDeadlineSeconds`` is reported (``ProgressDeadlineExceeded``) and goes on as soon as it can. ReplicaSets
    that match its selector and belong to nobody become its own.

    *Caveats*: a paused Deployment is not scaled in proportion.
    """

    def __init__(self) -> None:
        self._claims = Claims(Deployment, ReplicaSet, lambda deployment: deployment.spec.selector)
        self.controller = (
            Controller(
                Deployment,
                self._reconcile,
                name="deployment",
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
        created = current is None and not deployment.spec.paused
        if not deployment.spec.paused:
            if current is None:
                current = await self._create(deployment, others, ctx)
            else:
                current = await self._revise(deployment, current, others, ctx)
            if (deployment.spec.strategy and deployment.spec.strategy.type) == "Recreate":
                await self._recreate(deployment, current, others, ctx)
            else:
                await self._roll(deployment, current, others, ctx)
        elif current is not None and not any(map(_wanted, others)):
            await _scale(current, desired_of(deployment), deployment, ctx)
        unavailable = limits(deployment)[1]
        report(deployment, current, others, created=created, unavailable=unavailable, now=ctx.now())
        if current is not None and is_complete(deployment):
            await self._clean_up(deployment, others, ctx)
        left = seconds_left(deployment, ctx.now())
        return done() if left is None else after(left, "the progress deadline")

    # -- ReplicaSets ---------------------------------------------------------------------------------------------------

    async def _create(self, deployment: Deployment, others: list[ReplicaSet], ctx: Context) -> ReplicaSet:
        template = copy.deepcopy(deployment.spec.template)
        digest = template_hash(template, deployment.status.collision_count or 0)
        template.metadata.labels = {**template.metadata.labels, HASH_LABEL: digest}
        selector = copy.deepcopy(deployment.spec.selector)
        selector.match_labels = {**selector.match_labels, HASH_LABEL: digest}
        revision = str(max(map(_revision, others), default=0) + 1)
        fresh = ReplicaSet(
            metadata=ObjectMeta(
                name=f"{deployment.name}-{digest}",
                labels=dict(template.metadata.labels),
                annotations={REVISION: revision, DESIRED: str(desired_of(deployment))},
            ),
            spec=ReplicaSetSpec(
                replicas=0,
                selector=selector,
                template=template,
                min_ready_seconds=deployment.spec.min_ready_seconds,
            ),
        )
        try:
            made = await ctx.create(fresh)
        except AlreadyExists:
            # Another template has that hash: count the collision, so that the next try has another name.
            deployment.status.collision_count = (deployment.status.collision_count or 0) + 1
            raise
        await _annotate(deployment, revision, ctx)
        return made

    async def _revise(
        self, deployment: Deployment, current: ReplicaSet, others: list[ReplicaSet], ctx: Context
    ) -> ReplicaSet:
        """The current ReplicaSet has the highest revision, also after a roll-back to an older template."""
        newest = max(map(_revision, others), default=0)
        if _revision(current) <= newest:
            patch = {"metadata": {"annotations": {REVISION: str(newest + 1)}}}
            current = await ctx.patch(current, patch)
        await _annotate(deployment, str(_revision(current)), ctx)
        return current

    async def _recreate(
        self, deployment: Deployment, current: ReplicaSet, others: list[ReplicaSet], ctx: Context
    ) -> None:
        for replica_set in others:
            await _scale(replica_set, 0, deployment, ctx)
        if not any(each.status.replicas or each.status.terminating_replicas for each in others):
            await _scale(current, desired_of(deployment), deployment, ctx)

    async def _roll(self, deployment: Deployment, current: ReplicaSet, others: list[ReplicaSet], ctx: Context) -> None:
        desired = desired_of(deployment)
        surge, unavailable = limits(deployment)
        total = _wanted(current) + sum(map(_wanted, others))
        if _wanted(current) > desired:
            await _scale(current, desired, deployment, ctx)
        elif _wanted(current) < desired:
            room = desired + surge - total
            if room > 0:
                await _scale(current, min(desired, _wanted(current) + room), deployment, ctx)
        # Old pods may go as far as enough others are available. What was decided counts here, not what the statuses
        # say: they are behind, and would have the same pods go twice.
        least = desired - unavailable
        total = _wanted(current) + sum(map(_wanted, others))
        pending = max(_wanted(current) - (current.status.available_replicas or 0), 0)
        budget = total - least - pending
        for replica_set in sorted(others, key=_revision):  # those that are not available are of no use to anybody
            going = min(budget, _wanted(replica_set) - (replica_set.status.available_replicas or 0))
            if going > 0:
                budget -= going
                await _scale(replica_set, _wanted(replica_set) - going, deployment, ctx)
        available = sum(each.status.available_replicas or 0 for each in (current, *others))
        budget = min(budget, available - least)
        for replica_set in sorted(others, key=_revision):
            going = min(budget, _wanted(replica_set))
            if going > 0:
                budget -= going
                await _scale(replica_set, _wanted(replica_set) - going, deployment, ctx)

    async def _clean_up(self, deployment: Deployment, others: list[ReplicaSet], ctx: Context) -> None:
        limit = deployment.spec.revision_history_limit
        idle = [each for each in others if not _wanted(each) and not each.status.replicas]
        idle.sort(key=_revision)
        for replica_set in idle[: max(len(idle) - (10 if limit is None else limit), 0)]:
            await ctx.delete(replica_set)


def limits(deployment: Deployment) -> tuple[int, int]:
    """``maxSurge`` (rounded up) and ``maxUnavailable`` (rounded down) in pods; at least one of them is not 0."""
    rolling = deployment.spec.strategy.rolling_update if deployment.spec.strategy else None
    desired = desired_of(deployment)
    surge = share(rolling.max_surge if rolling else None, desired, up=True, default="25%")
    unavailable = share(rolling.max_unavailable if rolling else None, desired, up=False, default="25%")
    return (surge, unavailable) if surge or unavailable else (0, 1)


def _find(replica_sets: list[ReplicaSet], template: PodTemplateSpec) -> ReplicaSet | None:
    """The oldest ReplicaSet of this template."""
    wanted = plain(template)
    same = [each for each in replica_sets if each.spec.template is not None and plain(each.spec.template) == wanted]
    return min(same, key=_revision, default=None)


def _wanted(replica_set: ReplicaSet) -> int:
    return 1 if replica_set.spec.replicas is None else replica_set.spec.replicas


def _revision(replica_set: ReplicaSet) -> int:
    text = replica_set.annotations.get(REVISION, "0")
    try:
        return parse_uint(text)
    except NumberError:
        return 0


async def _scale(replica_set: ReplicaSet, replicas: int, deployment: Deployment, ctx: Context) -> None:
    """Scales it, and notes what the whole Deployment wanted then, as upstream's ``scaleReplicaSet`` does."""
    if _wanted(replica_set) != replicas:
        annotations = {DESIRED: str(desired_of(deployment))}
        await ctx.patch(replica_set, {"metadata": {"annotations": annotations}, "spec": {"replicas": replicas}})
        replica_set.spec.replicas = replicas


async def _annotate(deployment: Deployment, revision: str, ctx: Context) -> None:
    if deployment.annotations.get(REVISION) != revision:
        await ctx.patch(deployment, {"metadata": {"annotations": {REVISION: revision}}})
