"""Proposals: the number of replicas that one metric calls for (upstream's ``ReplicaCalculator``).

Amounts are integers in thousandths.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from math import ceil
from typing import Final, NamedTuple

from setpoint.models.core_v1 import Pod

INITIALIZATION: Final = timedelta(minutes=5)
"""The period after a pod's start during which its CPU usage is ignored unless the pod is ready."""
READINESS: Final = timedelta(seconds=30)
"""If a pod is not ready, and its condition ``Ready`` last changed within this time after the pod's start, the pod is
treated as if it had never been ready: its CPU usage is ignored.
"""


class MetricsError(Exception):
    """No number of replicas can be computed from a metric; the message gives the reason."""


class Tolerance(NamedTuple):
    """The tolerated deviations of the usage from its target, as fractions of the target."""

    down: float = 0.1
    up: float = 0.1

    def covers(self, ratio: float) -> bool:
        return 1.0 - self.down <= ratio <= 1.0 + self.up


class Groups(NamedTuple):
    """The pods of a target, grouped by how their metrics count."""

    ready: int
    unready: frozenset[str]
    missing: frozenset[str]
    ignored: frozenset[str]


def grouped(pods: Sequence[Pod], metrics: Mapping[str, int], *, is_cpu: bool, now: datetime) -> Groups:
    ready = 0
    unready, missing, ignored = set[str](), set[str](), set[str]()
    for pod in pods:
        if pod.is_deleting or pod.status.phase == "Failed":
            ignored.add(pod.name)
        elif pod.status.phase == "Pending":
            unready.add(pod.name)
        elif pod.name not in metrics:
            missing.add(pod.name)
        elif is_cpu and _is_starting(pod, now):
            unready.add(pod.name)
        else:
            ready += 1
    return Groups(ready, frozenset(unready), frozenset(missing), frozenset(ignored))


def _is_starting(pod: Pod, now: datetime) -> bool:
    condition = next(
        (condition_entry for condition_entry in pod.status.conditions if condition_entry.type == "Ready"), None
    )
    began = pod.status.start_time
    if condition is None or began is None:
        return True
    if condition.status != "False":
        return False
    if began + INITIALIZATION > now:
        return True
    return condition.last_transition_time is None or began + READINESS > condition.last_transition_time


def by_utilization(
    pods: Sequence[Pod],
    metrics: Mapping[str, int],
    requests: Mapping[str, int],
    *,
    current: int,
    target: int,
    tolerance: Tolerance,
    is_cpu: bool,
    now: datetime,
) -> tuple[int, int, int]:
    """The number of replicas, the utilization as a percentage of the requests, and the average usage.

    Raises:
        MetricsError: there are no pods, or no pod that counts has both a usage and a request.
    """

    def measured(values: Mapping[str, int]) -> tuple[float, int, int]:
        names = [name for name in values if name in requests]
        total = sum(requests[name] for name in names)
        if not total:
            raise MetricsError("no metrics returned matched known pods")
        usage = sum(values[name] for name in names)
        return usage * 100 // total / target, usage * 100 // total, usage // len(names)

    fallback = max(100, target)
    return _proposed(
        pods,
        metrics,
        measured,
        lambda name: requests.get(name, 0) * fallback // 100,
        current=current,
        tolerance=tolerance,
        is_cpu=is_cpu,
        now=now,
    )


def by_average(
    pods: Sequence[Pod],
    metrics: Mapping[str, int],
    *,
    current: int,
    target: int,
    tolerance: Tolerance,
    is_cpu: bool,
    now: datetime,
) -> tuple[int, int]:
    """The number of replicas, and the average over the pods.

    Raises:
        MetricsError: there are no pods, or no pod that counts has a value of the metric.
    """

    def measured(values: Mapping[str, int]) -> tuple[float, int, int]:
        average = sum(values.values()) // len(values)
        return average / target, 0, average

    replicas, _, average = _proposed(
        pods, metrics, measured, lambda _: target, current=current, tolerance=tolerance, is_cpu=is_cpu, now=now
    )
    return replicas, average


def by_total(total: int, *, replicas: int, target: int, tolerance: Tolerance) -> tuple[int, int]:
    """The number of replicas for an amount that all pods share, and the present share of each replica."""
    if not replicas:
        return ceil(total / target), total
    proposed = replicas if tolerance.covers(total / (target * replicas)) else ceil(total / target)
    return proposed, ceil(total / replicas)


def by_value(value: int, pods: Sequence[Pod], *, current: int, target: int, tolerance: Tolerance) -> int:
    """The number of replicas that brings ``value``, which is not an amount per pod, close to its target."""
    ratio = value / target
    if not current:
        return ceil(ratio)
    if tolerance.covers(ratio):
        return current
    return ceil(ratio * sum(pod.is_ready and pod.is_running for pod in pods))


def _proposed(
    pods: Sequence[Pod],
    metrics: Mapping[str, int],
    measured: Callable[[Mapping[str, int]], tuple[float, int, int]],
    full: Callable[[str], int],
    *,
    current: int,
    tolerance: Tolerance,
    is_cpu: bool,
    now: datetime,
) -> tuple[int, int, int]:
    """The number of replicas that the pods' metrics call for, and the pods' utilization and average usage.

    Pods without metrics count as ``full`` when scaling down and as zero when scaling up, so that scaling does not go
    too far in either direction. When scaling up, pods that are not ready count as zero, too.
    """
    if not pods:
        raise MetricsError("no pods returned by selector while calculating replica count")
    groups = grouped(pods, metrics, is_cpu=is_cpu, now=now)
    values = {name: value for name, value in metrics.items() if name not in groups.ignored | groups.unready}
    if not values:
        raise MetricsError("did not receive metrics for targeted pods (pods might be unready)")
    ratio, utilization, average = measured(values)
    grows = ratio > 1.0
    if not (groups.unready and grows) and not groups.missing:
        replicas = current if tolerance.covers(ratio) else ceil(ratio * groups.ready)
        return replicas, utilization, average
    if ratio < 1.0:
        values |= {name: full(name) for name in groups.missing}
    elif grows:
        values |= dict.fromkeys(groups.missing | groups.unready, 0)
    cautious, _, _ = measured(values)
    replicas = ceil(cautious * len(values))
    turns = (ratio < 1.0 < cautious) or (cautious < 1.0 < ratio)
    backwards = (cautious < 1.0 and replicas > current) or (cautious > 1.0 and replicas < current)
    if tolerance.covers(cautious) or turns or backwards:
        replicas = current
    return replicas, utilization, average
