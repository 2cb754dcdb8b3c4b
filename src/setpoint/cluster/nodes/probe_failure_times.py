"""Probes of hollow containers: the time at which a failing probe reaches its failure threshold."""

from __future__ import annotations

from math import ceil, inf
from typing import Final, NamedTuple

from setpoint.cluster.nodes.behaviour import ContainerBehaviour
from setpoint.models.core_v1 import Container, Probe

_PERIOD: Final = 10
_FAILURES: Final = 3
GRACE: Final = 30.0
"""The grace period of a container whose pod does not set one, in seconds."""


class Failure(NamedTuple):
    """The failure of a probe that ends a container ``at`` seconds after the container's start, with this grace
    period.
    """

    probe: str
    at: float
    grace: float


def failure(container: Container, behaviour: ContainerBehaviour, grace: float) -> Failure | None:
    """The first probe failure that ends the container, which is then restarted; None if no probe fails.

    A startup probe fails if the container starts later than the probe allows; a liveness probe fails from the time that
    the behaviour gives. A probe that the container does not have never ends it.
    """
    started = behaviour.started or 0.0
    probe = container.startup_probe
    if probe is not None and started > (at := _last(probe, float(probe.initial_delay_seconds or 0))):
        return Failure("startup", at, _grace(probe, grace))
    probe, alive = container.liveness_probe, behaviour.alive
    if probe is None or alive is None or alive == inf or started == inf:
        return None
    period, delay = probe.period_seconds or _PERIOD, float(probe.initial_delay_seconds or 0)
    begins = max(started, delay)
    first = begins + ceil(max(alive - begins, 0.0) / period) * period
    return Failure("liveness", _last(probe, first), _grace(probe, grace))


def _last(probe: Probe, first: float) -> float:
    """The seconds from the container's start to the failure that reaches the threshold, if the first failure is at
    ``first``.
    """
    return first + ((probe.failure_threshold or _FAILURES) - 1) * (probe.period_seconds or _PERIOD)


def _grace(probe: Probe, grace: float) -> float:
    own = probe.termination_grace_period_seconds
    return grace if own is None else float(own)
