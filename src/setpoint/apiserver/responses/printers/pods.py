"""Printers for pods and pod templates."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from setpoint.apiserver.responses.printers.cells import (
    Wire,
    age,
    condition,
    containers,
    format_labels,
    get,
    has_condition,
    name,
    number,
    since,
    text,
)
from setpoint.apiserver.responses.printers.printer import AGE, NAME, Column, Printer


def _cells(pod: Wire, now: datetime) -> list[Any]:
    ready, total, status, restarts, restarted = _summary(pod)
    gates = get(pod, "spec", "readinessGates", default=[])
    passed = sum(has_condition(pod, gate.get("conditionType", "")) for gate in gates)
    addresses = get(pod, "status", "podIPs", default=[])
    return [
        name(pod),
        f"{ready}/{total}",
        status,
        f"{restarts} ({since(restarted, now)} ago)" if restarts and restarted else str(restarts),
        age(pod, now),
        text(addresses[0], "ip", default="<none>") if addresses else "<none>",
        text(pod, "spec", "nodeName", default="<none>"),
        text(pod, "status", "nominatedNodeName", default="<none>"),
        f"{passed}/{len(gates)}" if gates else "<none>",
    ]


def _summary(pod: Wire) -> tuple[int, int, str, int, str]:
    """The number of ready containers, the number of all containers, the status word, the number of restarts, and the
    time of the last restart.
    """
    phase = text(pod, "status", "phase")
    status = text(pod, "status", "reason", default=phase)
    scheduled = condition(pod, "PodScheduled")
    if scheduled is not None and scheduled.get("reason") == "SchedulingGated":
        status = "SchedulingGated"
    init_containers = get(pod, "spec", "initContainers", default=[])
    sidecars = {item.get("name") for item in init_containers if item.get("restartPolicy") == "Always"}
    total = len(get(pod, "spec", "containers", default=[])) + len(sidecars)
    init_statuses = get(pod, "status", "initContainerStatuses", default=[])

    ready, initializing, containers = 0, "", []
    for place, item in enumerate(init_statuses):
        containers.append(item)
        sidecar = item.get("name") in sidecars
        if get(item, "state", "terminated") is not None and number(item, "state", "terminated", "exitCode") == 0:
            continue
        if sidecar and item.get("started"):
            ready += bool(item.get("ready"))
            continue
        initializing = _init_status(item, place, len(init_containers))
        break
    restarts, restarted = _restarts(containers)
    if initializing:
        status = initializing
    if not initializing or has_condition(pod, "Initialized"):
        statuses = get(pod, "status", "containerStatuses", default=[])
        restarts, restarted = _restarts([*(item for item in containers if item.get("name") in sidecars), *statuses])
        running = 0
        for item in reversed(statuses):  # the first container has the last word
            stopped = _stopped(item)
            if stopped:
                status = stopped
            elif item.get("ready") and get(item, "state", "running") is not None:
                running += 1
        ready += running
        if status == "Completed" and running:
            status = "Running" if has_condition(pod, "Ready") else "NotReady"
    if get(pod, "metadata", "deletionTimestamp"):
        if text(pod, "status", "reason") == "NodeLost":
            status = "Unknown"
        elif phase not in ("Succeeded", "Failed"):
            status = "Terminating"
    return ready, total, status, restarts, restarted


def _init_status(item: Wire, place: int, total: int) -> str:
    terminated = get(item, "state", "terminated")
    if terminated is not None:
        return "Init:" + _termination(terminated)
    waiting = text(item, "state", "waiting", "reason")
    if waiting and waiting != "PodInitializing":
        return "Init:" + waiting
    return f"Init:{place}/{total}"


def _stopped(item: Wire) -> str:
    """The reason why a container is not running; empty if it is running or its status gives no reason."""
    waiting = text(item, "state", "waiting", "reason")
    if waiting:
        return waiting
    terminated = get(item, "state", "terminated")
    return "" if terminated is None else _termination(terminated)


def _termination(terminated: Wire) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{number(terminated, 'exitCode')}"


def _restarts(statuses: Iterable[Wire]) -> tuple[int, str]:
    statuses = list(statuses)
    ends = [text(item, "lastState", "terminated", "finishedAt") for item in statuses]
    return sum(number(item, "restartCount") for item in statuses), max(ends, default="")


_COMPLETED = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}


def _conditions(pod: Wire) -> list[dict[str, str]]:
    phase = text(pod, "status", "phase")
    if phase not in _COMPLETED:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _COMPLETED[phase]}]


def _template_cells(obj: Wire, now: datetime) -> list[Any]:
    return [
        name(obj),
        *containers(get(obj, "template", "spec")),
        format_labels(get(obj, "template", "metadata", "labels")),
    ]


PODS = Printer(
    (
        NAME,
        Column("Ready", about="The aggregate readiness state of this pod for accepting traffic."),
        Column("Status", about="The aggregate status of the containers in this pod."),
        Column(
            "Restarts",
            about="The number of times the containers in this pod have been restarted and when the last container in "
            "this pod has restarted.",
        ),
        AGE,
        Column("IP", "core.v1.PodStatus.podIP", priority=1),
        Column("Node", "core.v1.PodSpec.nodeName", priority=1),
        Column("Nominated Node", "core.v1.PodStatus.nominatedNodeName", priority=1),
        Column("Readiness Gates", "core.v1.PodSpec.readinessGates", priority=1),
    ),
    _cells,
    _conditions,
)

POD_TEMPLATES = Printer(
    (
        NAME,
        Column("Containers", about="Names of each container in the template."),
        Column("Images", about="Images referenced by each container in the template."),
        Column("Pod Labels", about="The labels for the pod template."),
    ),
    _template_cells,
)
