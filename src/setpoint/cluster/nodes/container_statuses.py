"""The statuses of hollow containers, as kubelets write them."""

from __future__ import annotations

from datetime import datetime
from hashlib import blake2b
from math import ceil, log2
from typing import Final

from setpoint.models.core_v1 import (
    Container,
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
    Pod,
)

STOPPED: Final = 143
"""The exit code of a container that was asked to end (SIGTERM)."""
KILLED: Final = 137
"""The exit code of a container that did not end when it was asked to (SIGKILL)."""
BACK_OFF: Final = 10.0
MAX_BACK_OFF: Final = 300.0
COUNTED: Final = 2 + ceil(log2(MAX_BACK_OFF / BACK_OFF))
"""The number of ends of a container after which its back-off does not grow."""
FORGIVEN: Final = 600.0
"""Seconds that a run has to last so that the next restarts are not delayed by earlier crashes."""
CRASHES: Final = "CrashLoopBackOff"


def waiting(container: Container, reason: str, message: str | None = None) -> ContainerStatus:
    """The status of a container that has not started."""
    return ContainerStatus(
        name=container.name,
        image=container.image or "",
        image_id="",
        ready=False,
        started=False,
        restart_count=0,
        state=ContainerState(waiting=ContainerStateWaiting(reason=reason, message=message)),
    )


def wait(status: ContainerStatus, reason: str, message: str | None) -> None:
    """Marks the container as waiting for that reason; its last terminated state is kept."""
    state = status.state
    if state is not None and state.terminated is not None:
        status.last_state = state
    status.state = ContainerState(waiting=ContainerStateWaiting(reason=reason, message=message))
    status.ready = False
    status.started = False


def start(status: ContainerStatus, container: Container, pod: Pod, now: datetime) -> None:
    """Marks the container as running from now on, and counts a restart if it has run before."""
    state = status.state
    if state is not None and state.terminated is not None:
        status.last_state = state
    if status.container_id:
        status.restart_count += 1
    image = container.image or "scratch"
    digest = blake2b(f"{pod.uid}/{container.name}/{status.restart_count}".encode(), digest_size=32).hexdigest()
    status.image = image
    status.image_id = f"hollow/{image}@sha256:{blake2b(image.encode(), digest_size=32).hexdigest()}"
    status.container_id = f"hollow://{digest}"
    status.state = ContainerState(running=ContainerStateRunning(started_at=now))
    status.ready = False
    status.started = False


def end(status: ContainerStatus, code: int, now: datetime, message: str | None = None) -> None:
    """Marks the container as terminated with this exit code."""
    running = status.state.running if status.state is not None else None
    status.state = ContainerState(
        terminated=ContainerStateTerminated(
            exit_code=code,
            reason="Error" if code else "Completed",
            message=message,
            started_at=running.started_at if running is not None else now,
            finished_at=now,
            container_id=status.container_id,
        )
    )
    status.ready = False
    status.started = False


def ended(status: ContainerStatus) -> ContainerStateTerminated | None:
    """The terminated state of a container; None in any other state."""
    return status.state.terminated if status.state is not None else None


def running(status: ContainerStatus) -> ContainerStateRunning | None:
    """The running state of a container; None in any other state."""
    return status.state.running if status.state is not None else None


def reason(status: ContainerStatus) -> str:
    """The reason why a container waits; empty if it does not wait."""
    waiting = status.state.waiting if status.state is not None else None
    return waiting.reason or "" if waiting is not None else ""


def message(status: ContainerStatus) -> str:
    """The message that says why a container waits; empty if it does not wait."""
    waiting = status.state.waiting if status.state is not None else None
    return waiting.message or "" if waiting is not None else ""


def back_off(crashes: int) -> float:
    """The seconds before a container that has ended ``crashes`` times is restarted: 0 for the first restart."""
    return 0.0 if crashes < 2 else min(BACK_OFF * 2.0 ** (min(crashes, COUNTED) - 2), MAX_BACK_OFF)


def restarts(container: Container, pod: Pod, code: int, *, is_init: bool) -> bool:
    """Whether a container that has ended with this code is started again."""
    policy = container.restart_policy or pod.spec.restart_policy or "Always"
    for rule in container.restart_policy_rules:
        codes = rule.exit_codes
        if codes is not None and (code in codes.values) == (codes.operator == "In"):
            return True
    if is_init and container.restart_policy is None:
        return code != 0 and policy != "Never"
    return policy == "Always" or (policy == "OnFailure" and code != 0)
