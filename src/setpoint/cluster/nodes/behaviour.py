"""How hollow pods behave: when they are ready, how long they run, how they end, and what is said of that."""

from __future__ import annotations

from datetime import datetime
from hashlib import blake2b
from math import isfinite
from typing import Final, NamedTuple, Self

from setpoint.models.core_v1 import (
    Container,
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
    Pod,
)

EXIT_CODE: Final = "hollow.setpoint.io/exit-code"
"""Annotation: the pod's containers end with this code, by default as soon as they have started."""
RUN_SECONDS: Final = "hollow.setpoint.io/run-seconds"
"""Annotation: the pod's containers end after so many seconds; ``never`` for pods of Jobs that don't."""
READY_SECONDS: Final = "hollow.setpoint.io/ready-seconds"
"""Annotation: the pod is Ready so many seconds after it runs, or ``never``."""
JOB_SECONDS: Final = 1.0
"""How long containers of Jobs run that say nothing else."""
_NEVER: Final = "never"
_EXIT_CODES: Final = frozenset(map(str, range(256)))


class PodBehaviour(NamedTuple):
    """What becomes of a pod's containers.

    ``runs``: seconds until they end, None for never. ``ready``: seconds until they are ready, None for never.
    """

    runs: float | None
    ready: float | None
    exit_code: int

    @classmethod
    def of(cls, pod: Pod) -> Self:
        """What annotations say; what they don't say is as a container without trouble would have it: those of Jobs
        succeed after a second, all others run for ever, ready after the initial delays of their probes.
        """
        controller = pod.metadata.controller
        code = pod.annotations.get(EXIT_CODE)
        runs: float | None = JOB_SECONDS if controller is not None and controller.kind == "Job" else None
        if code in _EXIT_CODES:
            runs = 0.0
        else:
            code = None
        probes = [each for container in pod.spec.containers for each in (container.readiness_probe,) if each]
        ready: float | None = float(max((each.initial_delay_seconds or 0 for each in probes), default=0))
        return cls(
            _seconds(pod.annotations.get(RUN_SECONDS), runs),
            _seconds(pod.annotations.get(READY_SECONDS), ready),
            int(code or 0),
        )


def container_status(
    container: Container, uid: str, now: datetime, restarts: int, ended: int | None
) -> ContainerStatus:
    """A container that runs, or has ``ended`` with that code."""
    image = container.image or "scratch"
    digest = blake2b(f"{uid}/{container.name}/{restarts}".encode(), digest_size=32).hexdigest()
    container_id = f"hollow://{digest}"
    if ended is None:
        state = ContainerState(running=ContainerStateRunning(started_at=now))
    else:
        state = ContainerState(
            terminated=ContainerStateTerminated(
                exit_code=ended,
                reason="Error" if ended else "Completed",
                started_at=now,
                finished_at=now,
                container_id=container_id,
            )
        )
    return ContainerStatus(
        name=container.name,
        image=image,
        image_id=f"hollow/{image}@sha256:{blake2b(image.encode(), digest_size=32).hexdigest()}",
        container_id=container_id,
        ready=ended == 0,
        started=ended is None,
        restart_count=restarts,
        state=state,
    )


def crashed(status: ContainerStatus) -> ContainerStatus:
    """A container that has ended and waits to begin again."""
    status.last_state = status.state
    status.state = ContainerState(
        waiting=ContainerStateWaiting(
            reason="CrashLoopBackOff", message=f"back-off restarting failed container={status.name}"
        )
    )
    status.ready = False
    return status


def _seconds(text: str | None, default: float | None) -> float | None:
    if text == _NEVER:
        return None
    try:
        seconds = float(text) if text is not None else default
    except ValueError:
        return default
    return seconds if seconds is None or (isfinite(seconds) and seconds >= 0) else default
