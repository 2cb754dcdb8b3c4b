"""ReplicaSets and ReplicationControllers: the requested number of pods from one template."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from setpoint.client import ApiError
from setpoint.cluster.conditions import pod_condition
from setpoint.cluster.workloads.controller_refs import Claims
from setpoint.cluster.workloads.pod_templates import create_pod, delete_pod, pod_of, until_available
from setpoint.controller import Context, Controller, Outcome, after, done
from setpoint.controller.outcome import is_terminating
from setpoint.meta import LabelSelector, Selector
from setpoint.models.apps_v1 import ReplicaSet, ReplicaSetCondition, ReplicaSetStatus
from setpoint.models.core_v1 import Pod, ReplicationController, ReplicationControllerCondition

K = TypeVar("K", ReplicaSet, ReplicationController)

DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
FAILURE: Final = "ReplicaFailure"
"""The type of the condition, on a ReplicaSet and on its Deployment, which reports that pods are refused."""
_NUMBER: Final = re.compile(r"0|-?[1-9][0-9]{0,9}")
BURST: Final = 500
"""The maximum number of pods that are made or deleted in one reconcile."""


class Replicas(Generic[K]):
    """Creates and deletes pods until there are as many as the spec asks for, and counts them in the status.

    No pod is made twice although names are generated: the next reconcile of the object sees the pods that the last one
    made. Pods that match the object's selector and have no controller are adopted; pods that no longer match are
    released. While a quota or admission refuses pods, the condition ``ReplicaFailure`` gives the reason, and their
    creation is retried with the back-off of a failed reconcile.
    """

    def __init__(self, kind: type[K], name: str, selector_of: Callable[[K], LabelSelector | None]) -> None:
        self._claims: Claims[K, Pod] = Claims(kind, Pod, selector_of)
        self.controller: Controller[K] = (
            Controller(
                kind,
                self._reconcile,
                name=name,
                owns_status=True,
                leader_only=False,
                predicates=[self._claims.forget_deleted],
            )
            .owns(Pod)
            .watches(Pod, self._claims.of_orphan)
        )

    async def _reconcile(self, replica_set: K, ctx: Context) -> Outcome:
        wanted = replica_set.spec.replicas if replica_set.spec.replicas is not None else 1
        owned = await self._claims.claim(replica_set, ctx, lambda pod: not pod.is_finished)
        active = [pod for pod in owned if not pod.is_deleting and not pod.is_finished]
        try:
            await self._resize(replica_set, active, wanted, ctx)
        except ApiError as problem:
            if not is_terminating(problem):
                _set_failure(replica_set, "FailedCreate" if len(active) < wanted else "FailedDelete", problem.message)
            self._count(replica_set, active, owned, ctx)
            replica_set.status.observed_generation = replica_set.metadata.generation  # the condition is about it
            raise
        _clear_failure(replica_set)
        return self._count(replica_set, active, owned, ctx)

    @staticmethod
    async def _resize(replica_set: K, active: list[Pod], wanted: int, ctx: Context) -> None:
        """Creates or deletes pods one after the other, so a refusal costs one request instead of one for each pod."""
        template = replica_set.spec.template
        if template is not None:
            for _ in range(min(wanted - len(active), BURST)):
                await create_pod(pod_of(template, prefix=f"{replica_set.name}-"), ctx)
        if len(active) > wanted:
            for pod in _in_order_of_deletion(active)[: min(len(active) - wanted, BURST)]:
                await delete_pod(pod, ctx)

    def _count(self, replica_set: K, active: list[Pod], owned: list[Pod], ctx: Context) -> Outcome:
        status = replica_set.status
        template = replica_set.spec.template
        labels = Selector.of(template.metadata.labels if template is not None else None)
        min_ready = replica_set.spec.min_ready_seconds
        waits = [wait for pod in active if (wait := until_available(pod, min_ready, ctx.now())) is not None]
        status.replicas = len(active)
        # Servers forget these where they are 0; to say so would be another write each time.
        status.fully_labeled_replicas = sum(labels.matches(pod.labels) for pod in active) or None
        status.ready_replicas = len(waits) or None
        status.available_replicas = sum(wait <= 0 for wait in waits) or None
        if isinstance(status, ReplicaSetStatus):
            status.terminating_replicas = sum(pod.is_deleting and not pod.is_finished for pod in owned)
        pending = [wait for wait in waits if wait > 0]
        return after(min(pending), "pods are not available for long enough") if pending else done()


class ReplicaSets(Replicas[ReplicaSet]):
    """Keeps the number of pods that a ReplicaSet asks for; see `Replicas`."""

    def __init__(self) -> None:
        super().__init__(ReplicaSet, "replicaset-controller", lambda replica_set: replica_set.spec.selector)


class ReplicationControllers(Replicas[ReplicationController]):
    """Keeps the number of pods that a ReplicationController (a predecessor of ReplicaSets) asks for; see `Replicas`."""

    def __init__(self) -> None:
        super().__init__(
            ReplicationController,
            "replication-controller",
            lambda controller: LabelSelector(match_labels=controller.spec.selector),
        )


def _set_failure(replica_set: ReplicaSet | ReplicationController, reason: str, message: str) -> None:
    """Sets the condition ``ReplicaFailure``; the first failure stays visible until there are no more failures."""
    if any(condition.type == FAILURE for condition in replica_set.status.conditions):
        return
    if isinstance(replica_set, ReplicaSet):
        replica_set.status.conditions.append(
            ReplicaSetCondition(type=FAILURE, status="True", reason=reason, message=message)
        )
    else:
        replica_set.status.conditions.append(
            ReplicationControllerCondition(type=FAILURE, status="True", reason=reason, message=message)
        )


def _clear_failure(replica_set: ReplicaSet | ReplicationController) -> None:
    status = replica_set.status
    if isinstance(status, ReplicaSetStatus):
        status.conditions = [condition for condition in status.conditions if condition.type != FAILURE]
    else:
        status.conditions = [condition for condition in status.conditions if condition.type != FAILURE]


def _in_order_of_deletion(pods: Sequence[Pod]) -> list[Pod]:
    """The pods in the order of their deletion. Two pods are compared by the first of these criteria in which they
    differ. The pod to delete first is the one that is not bound, is not running, is not ready, has the lower
    ``pod-deletion-cost``, has more other replicas on its node, has been ready for a shorter time, has restarted more
    often, or is younger.
    """
    neighbours = Counter(pod.spec.node_name for pod in pods)

    def usefulness(pod: Pod) -> tuple[bool, bool, bool, int, int, float, int, float]:
        ready = pod_condition(pod, "Ready")
        since = ready.last_transition_time if ready is not None and pod.is_ready else None
        created = pod.metadata.creation_timestamp
        return (
            bool(pod.spec.node_name),
            pod.is_running,
            pod.is_ready,
            _deletion_cost(pod),
            -neighbours[pod.spec.node_name],
            -since.timestamp() if since is not None else 0.0,
            -max((status.restart_count for status in pod.status.container_statuses), default=0),
            -created.timestamp() if created is not None else 0.0,
        )

    return sorted(pods, key=usefulness)


def _deletion_cost(pod: Pod) -> int:
    """The number in the annotation for the deletion cost. As upstream, unreadable text counts as 0."""
    text = pod.annotations.get(DELETION_COST, "0")
    return int(text) if _NUMBER.fullmatch(text) else 0
