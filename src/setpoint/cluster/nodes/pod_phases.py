"""Phases and conditions of pods, as kubelets derive them from the states of containers."""

from __future__ import annotations

from datetime import datetime

from setpoint.cluster.conditions import pod_condition, set_pod_condition
from setpoint.cluster.nodes.container_statuses import ended, running
from setpoint.models.core_v1 import ContainerStatus, Pod, PodCondition


def phase_of(pod: Pod, *, ending: bool = False) -> str:
    """The phase that follows from the states of the containers.

    ``ending`` says that the pod is being ended, so no container is started again.
    """
    spec, status = pod.spec, pod.status
    policy = "Never" if ending else spec.restart_policy or "Always"
    by_name = {init_status.name: init_status for init_status in status.init_container_statuses}
    for init in spec.init_containers:
        container_status = by_name.get(init.name)
        last = ended(container_status) if container_status is not None else None
        if init.restart_policy == "Always":
            if not ending and (
                container_status is None
                or not (container_status.started or container_status.restart_count or last is not None)
            ):
                return "Pending"
        elif last is None:
            return "Pending"
        elif last.exit_code:
            return "Failed" if policy == "Never" else "Pending"
    states = status.container_statuses
    if len(states) < len(spec.containers):
        return "Pending"
    policies = {container.name: container.restart_policy or policy for container in spec.containers}
    if any(_has_never_run(state) for state in states):
        return "Pending"
    codes: list[int | None] = []
    for state in states:
        last = ended(state)
        if last is None or _begins_again("Never" if ending else policies.get(state.name, policy), last.exit_code):
            codes.append(None)
        else:
            codes.append(last.exit_code)
    if None in codes:
        return "Running"
    return "Failed" if any(codes) else "Succeeded"


def set_conditions(pod: Pod, now: datetime) -> None:
    spec, status = pod.spec, pod.status
    over = {"Failed": "PodFailed", "Succeeded": "PodCompleted"}.get(status.phase or "")
    sidecars = {init.name for init in spec.init_containers if init.restart_policy == "Always"}
    waiting = [
        init_status.name
        for init_status in status.init_container_statuses
        if not _initialized(init_status, init_status.name in sidecars)
    ]
    unready = [
        init_status.name
        for init_status in status.init_container_statuses
        if init_status.name in sidecars and not init_status.ready
    ]
    ready_names = {state.name for state in status.container_statuses if state.ready}
    unready += [container.name for container in spec.containers if container.name not in ready_names]
    _set(pod, "PodReadyToStartContainers", status.phase == "Running" or bool(status.pod_ip and not over), now=now)
    if over == "PodCompleted" or not waiting or len(status.init_container_statuses) < len(spec.init_containers):
        _set(pod, "Initialized", True, over if over == "PodCompleted" else None, now=now)
    else:
        text = f"containers with incomplete status: {_listed(waiting)}"
        _set(pod, "Initialized", False, "ContainersNotInitialized", text, now=now)
    text = f"containers with unready status: {_listed(unready)}"
    ready = not unready
    missing = [
        f'corresponding condition of pod readiness gate "{gate.condition_type}" does not exist.'
        if (gate_condition := pod_condition(pod, gate.condition_type)) is None
        else f'the status of pod readiness gate "{gate.condition_type}" is not "True", but {gate_condition.status}'
        for gate in spec.readiness_gates
        if (gate_condition := pod_condition(pod, gate.condition_type)) is None or gate_condition.status != "True"
    ]
    why = (over, None) if over else ("ContainersNotReady", text)
    if ready and missing:
        _set(pod, "Ready", False, "ReadinessGatesNotReady", ", ".join(missing), now=now)
    else:
        _set(pod, "Ready", ready, *((None, None) if ready else why), now=now)
    _set(pod, "ContainersReady", ready, *((None, None) if ready else why), now=now)
    _set(pod, "PodScheduled", True, now=now)


def _has_never_run(status: ContainerStatus) -> bool:
    before = status.last_state.terminated if status.last_state is not None else None
    return running(status) is None and ended(status) is None and before is None


def _begins_again(policy: str, code: int) -> bool:
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def _initialized(status: ContainerStatus, is_sidecar: bool) -> bool:
    if is_sidecar:
        return bool(status.started)
    last = ended(status)
    return last is not None and last.exit_code == 0


def _listed(names: list[str]) -> str:
    return f"[{' '.join(names)}]"


def _set(
    pod: Pod, type: str, holds: bool, reason: str | None = None, message: str | None = None, *, now: datetime
) -> None:
    condition = PodCondition(type=type, status="True" if holds else "False", reason=reason, message=message)
    set_pod_condition(pod, condition, now)
    if pod.metadata.generation and (stated := pod_condition(pod, type)) is not None:
        stated.observed_generation = pod.metadata.generation  # all of them are about what the kubelet runs now
