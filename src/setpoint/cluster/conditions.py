"""Conditions in statuses. The transition time of a condition changes only with its status."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from setpoint.models.core_v1 import Node, NodeCondition, Pod, PodCondition


def set_condition(conditions: list[Any], new: Any, now: datetime | None = None) -> bool:
    """Sets a condition. A condition that already has this status, reason and message stays as it is. Without ``now``
    the time of a transition is filled in when the status is written. Returns whether anything changed.
    """
    old = next((condition for condition in conditions if condition.type == new.type), None)
    if old is not None and (old.status, old.reason, old.message) == (new.status, new.reason, new.message):
        return False
    last_transition = old.last_transition_time if old is not None and old.status == new.status else None
    new.last_transition_time = last_transition or (now and now.replace(microsecond=0))
    if old is None:
        conditions.append(new)
    else:
        conditions[conditions.index(old)] = new
    return True


def set_pod_condition(pod: Pod, condition: PodCondition, now: datetime) -> bool:
    """See `set_condition`. The condition is about the pod's present generation."""
    if pod.metadata.generation:
        condition.observed_generation = pod.metadata.generation
    return set_condition(pod.status.conditions, condition, now)


def set_node_condition(node: Node, condition: NodeCondition, now: datetime) -> bool:
    """See `set_condition`. A condition that stays as it is keeps its heartbeat."""
    return set_condition(node.status.conditions, condition, now)


def pod_condition(pod: Pod, type: str) -> PodCondition | None:
    return next((condition for condition in pod.status.conditions if condition.type == type), None)


def node_condition(node: Node, type: str) -> NodeCondition | None:
    return next((condition for condition in node.status.conditions if condition.type == type), None)
