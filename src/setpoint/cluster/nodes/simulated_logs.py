"""Logs of hollow containers: the lines written so far, computed from their behaviour and status."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from math import inf
from typing import NamedTuple

from setpoint.apiserver.errors import ApiStatusError, bad_request
from setpoint.apiserver.streams.kubelets import LogRequest
from setpoint.cluster.nodes.behaviour import ContainerBehaviour
from setpoint.models.core_v1 import ContainerStatus, Pod


class Line(NamedTuple):
    """A line of a log, and the time at which it was written."""

    at: datetime
    text: str


class Run(NamedTuple):
    """One run of a container; ``finished`` is None while it runs."""

    number: int
    started: datetime
    finished: datetime | None


def run_of(pod: Pod, request: LogRequest) -> Run:
    """The run to which a request refers: the last one or the previous one.

    Raises:
        ApiStatusError: there is no such run (400).
    """
    status = _status(pod, request.container)
    state, before = status.state if status is not None else None, status.last_state if status is not None else None
    ended = state.terminated if state is not None else None
    last = before.terminated if before is not None else None
    number = status.restart_count if status is not None else 0
    if request.previous:
        if last is None or last.started_at is None:
            text = f'previous terminated container "{request.container}" in pod "{pod.name}" not found'
            raise bad_request(text)
        waits = state is not None and state.waiting is not None
        return Run(number if waits else number - 1, last.started_at, last.finished_at)
    if state is not None and state.running is not None and state.running.started_at is not None:
        return Run(number, state.running.started_at, None)
    for terminated in (ended, last):
        if terminated is not None and terminated.started_at is not None:
            return Run(number, terminated.started_at, terminated.finished_at)
    why = state.waiting.reason if state is not None and state.waiting is not None else "ContainerCreating"
    raise bad_request(f'container "{request.container}" in pod "{pod.name}" is waiting to start: {why}')


def lines_of(run: Run, behaviour: ContainerBehaviour, name: str) -> Iterator[Line]:
    """Every line of a run until its end, if the end is known. Lines that have not been written yet have times in the
    future.

    A container whose behaviour does not set a log says that it is hollow; ``name`` is the container's name in that
    message.
    """
    texts = behaviour.log if behaviour.log is not None else (f"hollow: nothing is executed in {name}",)
    every = behaviour.log_every or 0.0
    for number, text in enumerate(texts):
        if every == inf and number:
            return
        at = run.started + timedelta(seconds=number * every if number else 0.0)
        if run.finished is not None and at > run.finished:
            return
        yield Line(at, text)


def encoded(line: Line, request: LogRequest) -> bytes:
    """A line as bytes, with the time at which it was written if the request asks for timestamps."""
    stamp = line.at.strftime("%Y-%m-%dT%H:%M:%S.%f000Z ") if request.timestamps else ""
    return f"{stamp}{line.text}\n".encode()


def _status(pod: Pod, container: str) -> ContainerStatus | None:
    status = pod.status
    states = [*status.container_statuses, *status.init_container_statuses, *status.ephemeral_container_statuses]
    return next((status for status in states if status.name == container), None)


def is_running(pod: Pod, container: str) -> bool:
    """Whether a container runs now."""
    status = _status(pod, container)
    return status is not None and status.state is not None and status.state.running is not None


def not_found(container: str) -> ApiStatusError:
    """The error for a container that is not running."""
    message = f'unable to upgrade connection: container not found ("{container}")'
    return ApiStatusError(500, "InternalError", f"Internal error occurred: {message}")
