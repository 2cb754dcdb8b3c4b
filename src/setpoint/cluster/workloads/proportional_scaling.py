"""Proportions: how a changed number of replicas is distributed over the ReplicaSets of a rollout in progress."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from math import floor
from typing import Final

from setpoint.meta.go_integers import NumberError, parse_uint
from setpoint.models.apps_v1 import Deployment, ReplicaSet

DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
"""The annotation on a ReplicaSet for the number of replicas that its Deployment had when the ReplicaSet was last
scaled.
"""
MOST: Final = "deployment.kubernetes.io/max-replicas"
"""The annotation on a ReplicaSet for the maximum number of replicas, including the surge, that its Deployment could
have when the ReplicaSet was last scaled.
"""
_NEVER: Final = datetime.min.replace(tzinfo=UTC)


def was_scaled(desired: int, replica_sets: Sequence[ReplicaSet]) -> bool:
    """Whether an active ReplicaSet was last scaled for a different number of replicas than the Deployment has now."""
    return any(
        size_of(replica_set)
        and (last_desired := number_in(replica_set, DESIRED)) is not None
        and last_desired != desired
        for replica_set in replica_sets
    )


def only_one(current: ReplicaSet | None, others: Sequence[ReplicaSet]) -> ReplicaSet | None:
    """The ReplicaSet that gets all replicas: the only active one or, if none is active, the newest. None if several are
    active or there are none at all.
    """
    everything = [*others, *([current] if current is not None else [])]
    active = [replica_set for replica_set in everything if size_of(replica_set)]
    if len(active) > 1 or not everything:
        return None
    if active:
        return active[0]
    return current if current is not None else max(everything, key=_age)


def shared(
    deployment: Deployment, replica_sets: Sequence[ReplicaSet], desired: int, surge: int
) -> list[tuple[ReplicaSet, int]]:
    """The new sizes of the active ReplicaSets, in proportion to their old sizes; the largest gets the remainder."""
    active = [replica_set for replica_set in replica_sets if size_of(replica_set)]
    most = desired + surge if desired > 0 else 0
    change = most - sum(map(size_of, active))
    active.sort(key=lambda replica_set: (_age(replica_set), replica_set.name), reverse=change > 0)
    active.sort(key=size_of, reverse=True)
    sizes: list[int] = []
    distributed = 0
    for replica_set in active:
        part = _part(deployment, replica_set, desired, most)
        remaining = change - distributed
        part = 0 if not remaining else min(part, remaining) if change > 0 else max(part, remaining)
        distributed += part
        sizes.append(size_of(replica_set) + part)
    if sizes and change:
        sizes[0] = max(sizes[0] + change - distributed, 0)
    return list(zip(active, sizes, strict=True))


def _part(deployment: Deployment, replica_set: ReplicaSet, desired: int, most: int) -> int:
    """The number of replicas by which a ReplicaSet grows or shrinks, before the remainder from rounding is
    distributed.
    """
    size = size_of(replica_set)
    if not desired:
        return -size
    before = number_in(replica_set, MOST) or deployment.status.replicas
    return floor(size * most / before + 0.5) - size if before else 0


def size_of(replica_set: ReplicaSet) -> int:
    return 1 if replica_set.spec.replicas is None else replica_set.spec.replicas


def number_in(replica_set: ReplicaSet, annotation: str) -> int | None:
    """The number in an annotation; None if it is missing or invalid."""
    try:
        return parse_uint(replica_set.annotations[annotation])
    except (KeyError, NumberError):
        return None


def _age(replica_set: ReplicaSet) -> datetime:
    return replica_set.metadata.creation_timestamp or _NEVER
