"""The behaviour of hollow pods: when their containers start, become ready and end, their exit codes and their logs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from math import inf, isnan
from typing import TYPE_CHECKING, Any, Final

from setpoint.models.core_v1 import Container, Pod

if TYPE_CHECKING:
    from setpoint.cluster.nodes.exec_and_port_forward import Command, Connection

PREFIX: Final = "hollow.setpoint.io"
"""The domain of the annotations on pods: ``hollow.setpoint.io/WHAT`` is for all containers,
``NAME.hollow.setpoint.io/WHAT`` for the container ``NAME``.
"""
NODE: Final = f"{PREFIX}/node"
"""The annotation on a Node; its value ``dead`` says that the node's kubelet no longer does anything."""
DEAD: Final = "dead"
JOB_SECONDS: Final = 1.0
"""The default run time of containers of Jobs and of Helm's hooks, in seconds."""
HOOK: Final = "helm.sh/hook"
"""The annotation of Helm's hooks, such as the pods of `helm test`. Helm waits for such an object to end."""
NEVER: Final = inf
_CODES: Final = range(256)

CommandFunction = Callable[["Command"], Awaitable[int | None]]
"""A function that answers `kubectl exec` or `attach`: it reads and writes the command's streams and returns the exit
code (None means 0).
"""
PortFunction = Callable[["Connection"], Awaitable[None]]
"""A function that answers a connection to a port."""


@dataclass(frozen=True, kw_only=True)
class ContainerBehaviour:
    """The behaviour of a container. Fields that are None have the values of a container that works without problems.

    Times are in seconds; ``NEVER`` (`math.inf`) is a time that never comes.
    """

    pulls: float | None = None
    """The time until the image is pulled; ``NEVER`` for an image that can't be pulled. The default is the kubelet's
    ``start_seconds``.
    """
    runs: float | None = None
    """The time until the container ends by itself. The default is 0 with ``exit_codes`` and for init containers that
    are not sidecars, 1 for containers of Jobs and of Helm's hooks, and ``NEVER`` for all others.
    """
    exit_codes: tuple[int, ...] = ()
    """The exit codes of the first run, the second run and so on; the last code is repeated. By default 0."""
    started: float | None = None
    """The time from the container's start until its startup probe succeeds. By default it follows from the probe's
    settings.
    """
    alive: float | None = None
    """The time from the start of each run until the liveness probe begins to fail. By default it never fails."""
    ready: float | None = None
    """The time from the container's start until it is ready. By default it follows from the settings of the readiness
    probe.
    """
    stops: float | None = None
    """The time from SIGTERM until the container ends, with code 143. After the grace period it is killed, with code
    137. The default is the kubelet's ``stop_seconds``.
    """
    log: tuple[str, ...] | None = None
    """The lines that the container writes; by default one line, which says that nothing is executed."""
    log_every: float | None = None
    """The time between two lines; by default all lines are written at the start."""
    message: str | None = None
    """The termination message."""
    exec: CommandFunction | None = None
    """The function that answers `kubectl exec`."""
    attach: CommandFunction | None = None
    """The function that answers `kubectl attach`."""
    ports: Mapping[int, PortFunction] = field(default_factory=dict)
    """The functions that answer connections to ports of the pod, by port number."""

    def over(self, other: ContainerBehaviour) -> ContainerBehaviour:
        """Merges two behaviours: the values of ``other`` apply where this behaviour does not set any."""
        if self is NOTHING_SET or other is NOTHING_SET:
            return other if self is NOTHING_SET else self
        values = {attribute.name: getattr(self, attribute.name) for attribute in fields(ContainerBehaviour)}
        missing = {name: getattr(other, name) for name, value in values.items() if value in (None, (), {})}
        return replace(self, **missing)


NOTHING_SET: Final = ContainerBehaviour()


@dataclass(frozen=True, kw_only=True)
class PodBehaviour(ContainerBehaviour):
    """The behaviour of a pod's containers: the default for all of them, and the exceptions by name."""

    containers: Mapping[str, ContainerBehaviour] = field(default_factory=dict)


Behaviours = Callable[[Pod], PodBehaviour | None]
"""A function that returns the behaviour of a pod; None leaves it to the pod's annotations."""


def as_annotated(_pod: Pod) -> PodBehaviour | None:
    """Leaves the behaviour of every pod to its annotations."""
    return None


class ContainerBehaviours:
    """The behaviour of one pod's containers. Values come from a function first, then from annotations, then from
    defaults.
    """

    def __init__(self, pod: Pod, behaviour: PodBehaviour | None, pulls: float, stops: float) -> None:
        self._pod = pod
        self._declared = behaviour
        self._default = ContainerBehaviour(pulls=pulls, stops=stops)

    def of(self, container: Container) -> ContainerBehaviour:
        """The behaviour of a container. ``pulls``, ``runs``, ``started``, ``ready`` and ``stops`` are always set; all
        other fields may be None or empty.
        """
        declared = self._declared
        behaviour = NOTHING_SET
        if declared is not None:
            own = declared.containers.get(container.name)
            behaviour = declared if own is None else own.over(declared)
        behaviour = behaviour.over(annotated(self._pod, container.name)).over(self._default)
        runs = (
            behaviour.runs
            if behaviour.runs is not None
            else 0.0
            if behaviour.exit_codes
            else self._run_seconds(container)
        )
        started = behaviour.started if behaviour.started is not None else delay_of(container.startup_probe)
        ready = behaviour.ready if behaviour.ready is not None else delay_of(container.readiness_probe)
        return replace(behaviour, runs=runs, started=started, ready=ready)

    def _run_seconds(self, container: Container) -> float:
        if any(init is container or init.name == container.name for init in self._pod.spec.init_containers):
            return NEVER if container.restart_policy == "Always" else 0.0
        controller = self._pod.metadata.controller
        ends = HOOK in self._pod.annotations or (controller is not None and controller.kind == "Job")
        return JOB_SECONDS if ends else NEVER


def annotated(pod: Pod, container: str) -> ContainerBehaviour:
    """The behaviour of a container according to the pod's annotations. Invalid annotations are ignored."""
    notes = pod.annotations
    if not any(PREFIX in name for name in notes):
        return NOTHING_SET

    def text(key: str) -> str | None:
        return notes.get(f"{container}.{PREFIX}/{key}", notes.get(f"{PREFIX}/{key}"))

    log = text("log")
    return ContainerBehaviour(
        pulls=_seconds(text("pull-seconds")),
        runs=_seconds(text("run-seconds")),
        exit_codes=_codes(text("exit-code")),
        started=_seconds(text("started-seconds")),
        alive=_seconds(text("alive-seconds")),
        ready=_seconds(text("ready-seconds")),
        stops=_seconds(text("stop-seconds")),
        log=tuple(log.splitlines()) if log is not None else None,
        log_every=_seconds(text("log-seconds")),
        message=text("message"),
    )


def delay_of(probe: Any) -> float:
    """The seconds from a container's start until a probe that always succeeds has reached its success threshold."""
    if probe is None:
        return 0.0
    more: int = (probe.success_threshold or 1) - 1
    return float((probe.initial_delay_seconds or 0) + more * (probe.period_seconds or 10))


def _codes(text: str | None) -> tuple[int, ...]:
    try:
        codes = tuple(int(part) for part in (text or "").split(",") if part.strip())
    except ValueError:
        return ()
    return codes if all(code in _CODES for code in codes) else ()


def _seconds(text: str | None) -> float | None:
    if text == "never":
        return NEVER
    try:
        seconds = float(text) if text is not None else None
    except ValueError:
        return None
    return None if seconds is None or isnan(seconds) or seconds < 0 else seconds
