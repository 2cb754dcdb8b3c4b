"""The progress of rollouts in the status of their Deployments: the counts, and whether a rollout is late."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from setpoint.cluster.workloads.replicasets import FAILURE
from setpoint.models.apps_v1 import Deployment, DeploymentCondition, ReplicaSet

CREATED: Final = "NewReplicaSetCreated"
FOUND: Final = "FoundNewReplicaSet"
UPDATED: Final = "ReplicaSetUpdated"
AVAILABLE: Final = "NewReplicaSetAvailable"
LATE: Final = "ProgressDeadlineExceeded"
PAUSED: Final = "DeploymentPaused"
RESUMED: Final = "DeploymentResumed"
NO_DEADLINE: Final = 2**31 - 1
"""The value of ``progressDeadlineSeconds`` that means no deadline."""


class Counts(NamedTuple):
    """The numbers of replicas by which the progress of a rollout is measured."""

    replicas: int
    updated: int
    ready: int
    available: int

    @classmethod
    def of(cls, deployment: Deployment) -> Counts:
        status = deployment.status
        return cls(
            status.replicas or 0, status.updated_replicas or 0, status.ready_replicas or 0,
            status.available_replicas or 0,
        )  # fmt: skip

    def further_than(self, before: Counts) -> bool:
        """Whether there are more new pods, fewer old ones, or more ready or available pods than in ``before``."""
        return (
            self.updated > before.updated
            or self.replicas - self.updated < before.replicas - before.updated
            or self.ready > before.ready
            or self.available > before.available
        )


def report(
    deployment: Deployment,
    current: ReplicaSet | None,
    others: Sequence[ReplicaSet],
    *,
    created: bool,
    unavailable: int,
    now: datetime,
) -> None:
    """Writes the counts, and sets the conditions ``Available``, ``Progressing`` and ``ReplicaFailure``.

    ``created`` says whether ``current`` is new; ``unavailable`` is the number of pods that may be missing.
    """
    before = Counts.of(deployment)
    status, desired = deployment.status, desired_of(deployment)
    everything = [*others, *([current] if current is not None else [])]
    ready = sum(replica_set.status.ready_replicas or 0 for replica_set in everything)
    available = sum(replica_set.status.available_replicas or 0 for replica_set in everything)
    # Servers forget these where they are 0; to say so would be another write each time.
    status.replicas = sum(replica_set.status.replicas for replica_set in everything) or None
    status.updated_replicas = (current.status.replicas if current is not None else 0) or None
    status.ready_replicas = ready or None
    status.available_replicas = available or None
    status.terminating_replicas = sum(replica_set.status.terminating_replicas or 0 for replica_set in everything)
    status.unavailable_replicas = max(desired - available, 0) or None
    enough = available >= desired - unavailable
    _set(
        deployment,
        "Available",
        "True" if enough else "False",
        "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
        f"Deployment {'has' if enough else 'does not have'} minimum availability.",
        now,
    )
    if deadline_of(deployment) is None:
        status.conditions = [condition for condition in status.conditions if condition.type != "Progressing"]
    else:
        _progress(deployment, current, before, created=created, now=now)
    if not deployment.spec.paused:
        _failure(deployment, [current, *others] if current is not None else others, now)


def _failure(deployment: Deployment, replica_sets: Sequence[ReplicaSet], now: datetime) -> None:
    """Gives the Deployment the ``ReplicaFailure`` condition of the first ReplicaSet whose pods are refused; if there is
    no such ReplicaSet, removes the Deployment's condition.
    """
    for replica_set in replica_sets:
        for condition in replica_set.status.conditions:
            if condition.type == FAILURE:
                at = condition.last_transition_time or now
                _set(
                    deployment, FAILURE, condition.status or "True", condition.reason or "", condition.message or "", at
                )
                return
    deployment.status.conditions = [
        condition for condition in deployment.status.conditions if condition.type != FAILURE
    ]


def _progress(
    deployment: Deployment, current: ReplicaSet | None, before: Counts, *, created: bool, now: datetime
) -> None:
    name = current.name if current is not None else ""
    condition = progressing(deployment)
    reason = condition.reason if condition is not None else ""
    if deployment.spec.paused:
        if reason not in (PAUSED, LATE):  # that it is late stays to be seen
            _set(deployment, "Progressing", "Unknown", PAUSED, "Deployment is paused", now)
        return
    if reason == PAUSED:  # the time of the pause does not count
        _set(deployment, "Progressing", "Unknown", RESUMED, "Deployment is resumed", now)
    if created:
        _set(deployment, "Progressing", "True", CREATED, f'Created new replica set "{name}"', now)
    elif condition is None:
        _set(deployment, "Progressing", "True", FOUND, f'Found new replica set "{name}"', now)
    counts = Counts.of(deployment)
    if is_complete(deployment):
        message = f'ReplicaSet "{name}" has successfully progressed.'
        # A rollout that no status told of leaves the name of the one before; upstream lets it stay.
        stale = condition is not None and condition.message != message
        _set(deployment, "Progressing", "True", AVAILABLE, message, now, renew=stale)
    elif counts.updated == counts.replicas and reason == AVAILABLE and not created:
        return  # rolled out already; later changes of pods are not a rollout
    elif counts.further_than(before):
        _set(
            deployment, "Progressing", "True", UPDATED, f'ReplicaSet "{name}" is progressing.', now, renew=True
        )  # fmt: skip
    elif is_late(deployment, now):
        _set(deployment, "Progressing", "False", LATE, f'ReplicaSet "{name}" has timed out progressing.', now)


def seconds_left(deployment: Deployment, now: datetime) -> float | None:
    """The seconds until the rollout is late; None if it has no deadline, is paused, or is already complete or late."""
    deadline, condition = deadline_of(deployment), progressing(deployment)
    if deadline is None or condition is None or condition.last_update_time is None or deployment.spec.paused:
        return None
    if condition.reason in (AVAILABLE, LATE):
        return None
    # Times of conditions are in whole seconds: one more makes sure that it is over.
    return max(deadline - (now - condition.last_update_time).total_seconds() + 1.0, 0.1)


def is_late(deployment: Deployment, now: datetime) -> bool:
    """Whether there has been no progress for longer than the deadline."""
    deadline, condition = deadline_of(deployment), progressing(deployment)
    if deadline is None or condition is None or condition.reason == AVAILABLE:
        return False
    if condition.reason == LATE:
        return True
    return condition.last_update_time is not None and (now - condition.last_update_time).total_seconds() > deadline


def is_complete(deployment: Deployment) -> bool:
    """Whether the wanted number of pods exists, and all of them are new and available."""
    counts, desired = Counts.of(deployment), desired_of(deployment)
    return (counts.updated, counts.replicas, counts.available) == (desired, desired, desired)


def progressing(deployment: Deployment) -> DeploymentCondition | None:
    return next((condition for condition in deployment.status.conditions if condition.type == "Progressing"), None)


def deadline_of(deployment: Deployment) -> int | None:
    seconds = deployment.spec.progress_deadline_seconds
    return None if seconds is None or seconds >= NO_DEADLINE else seconds


def desired_of(deployment: Deployment) -> int:
    return 1 if deployment.spec.replicas is None else deployment.spec.replicas


def _set(
    deployment: Deployment, type: str, status: str, reason: str, message: str, now: datetime, *, renew: bool = False
) -> None:
    """Sets a condition. A condition that already has this status and reason stays as it is, unless ``renew`` is true.
    Transition times are filled in later.
    """
    new = DeploymentCondition(type=type, status=status, reason=reason, message=message, last_update_time=now)
    conditions = deployment.status.conditions
    for place, old in enumerate(conditions):
        if old.type == type:
            if renew or (old.status, old.reason) != (status, reason):
                conditions[place] = new
            return
    conditions.append(new)
