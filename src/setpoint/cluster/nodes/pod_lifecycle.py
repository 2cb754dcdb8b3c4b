"""The life of a hollow pod: its current status, and when that status changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from math import inf
from operator import attrgetter
from typing import Final

from setpoint.cluster.nodes import container_statuses, probe_failure_times
from setpoint.cluster.nodes.behaviour import ContainerBehaviour, ContainerBehaviours
from setpoint.cluster.nodes.config_references import NOTHING, Lack
from setpoint.cluster.nodes.container_processes import Processes
from setpoint.cluster.nodes.pod_phases import phase_of, set_conditions
from setpoint.cluster.nodes.pod_stopwatch import Stopwatch
from setpoint.models.core_v1 import Container, ContainerStatus, Pod

RecordEvent = Callable[[str, str, str], None]
"""A function that reports an event: type, reason, message."""
INITIALIZING: Final = "PodInitializing"
CREATING: Final = "ContainerCreating"
UNCONFIGURED: Final = "CreateContainerConfigError"
PULL_FAILED: Final = "ErrImagePull"
PULL_WAITS: Final = "ImagePullBackOff"
_ROUNDS: Final = 1000


class PodLife:
    """One update of a pod: `advance` brings the status up to date, and returns the time until the next update.

    The object keeps no state between updates: the status records the pod's changes, and the stopwatch their exact
    times. States without a duration are skipped without being written.
    """

    def __init__(
        self,
        pod: Pod,
        behaviours: ContainerBehaviours,
        stopwatch: Stopwatch,
        now: datetime,
        record_event: RecordEvent,
        processes: Processes | None = None,
        lack: Lack = NOTHING,
    ) -> None:
        """``lack`` is what keeps containers that are not running from being started."""
        self._pod = pod
        self._behaviours = behaviours
        self._stopwatch = stopwatch
        self._exactly = now
        self._now = now.replace(microsecond=0)
        self._event = record_event
        self._processes = processes
        self._lack = lack
        self._waits: list[float] = []

    def advance(self) -> float | None:
        """Brings the status up to date. Returns the seconds until the status changes by itself; None if it does not."""
        pod, status = self._pod, self._pod.status
        if status.start_time is None:
            status.start_time = self._now
            self._stopwatch.begin(pod.uid, "pod")
        for _ in range(_ROUNDS):
            before = [self._shape(status) for status in self._all()]
            self._waits = []
            if self._deadline_passed():
                break
            self._round()
            if [self._shape(status) for status in self._all()] == before:
                break
        if status.phase != "Failed" or status.reason != "DeadlineExceeded":
            status.phase = phase_of(pod)
        if status.phase in ("Succeeded", "Failed"):
            self._end_all(container_statuses.STOPPED)
            self._waits = []
        set_conditions(pod, self._exactly)
        return min(self._waits, default=None)

    def reject(self, reason: str, message: str) -> None:
        """Ends the pod before it starts, as a kubelet does with a pod that it can't admit."""
        status = self._pod.status
        status.phase, status.reason, status.message = "Failed", reason, f"Pod was rejected: {message}"
        self._event("Warning", reason, message)

    def stop(self) -> float:
        """Ends the containers. Returns the number of seconds after which all of them should have ended and this method
        has to be called again; 0.0 once they have ended and the status says so.
        """
        pod = self._pod
        grace = float(pod.metadata.deletion_grace_period_seconds or 0)
        since = pod.metadata.deletion_timestamp
        elapsed = self._stopwatch.elapsed(pod.uid, "stop", None if since is None else self._exactly, self._exactly)
        self._say_killing()
        if self._end_processes(max(grace - elapsed, 0.0)):
            return max(grace - elapsed, 0.0) + 1.0
        needed, codes = self._stopping()
        remaining = min(needed, grace) - elapsed
        if remaining > 0:
            return remaining
        for container, status in self._pairs():
            if container_statuses.running(status) is not None:
                late = codes.get(container.name, 0.0) > grace
                container_statuses.end(
                    status, container_statuses.KILLED if late else container_statuses.STOPPED, self._now
                )
        pod.status.phase = phase_of(pod, ending=True)
        set_conditions(pod, self._exactly)
        return 0.0

    # -- a round -------------------------------------------------------------------------------------------------------

    def _round(self) -> None:
        """Advances every container that may run because the containers before it are ready or have ended."""
        pod = self._pod
        ready = self._is_mounted()
        for container in pod.spec.init_containers:
            is_sidecar = container.restart_policy == "Always"
            status = self._status(container, pod.status.init_container_statuses, INITIALIZING)
            if ready:
                self._step(container, status, is_init=not is_sidecar)
                if is_sidecar:
                    ready = container_statuses.running(status) is not None and bool(status.started)
                else:
                    done = container_statuses.ended(status)
                    ready = status.ready = done is not None and done.exit_code == 0
        blocked = INITIALIZING if pod.spec.init_containers else CREATING
        for container in pod.spec.containers:
            status = self._status(container, pod.status.container_statuses, blocked)
            if ready:
                self._step(container, status, is_init=False)
        for extra in pod.spec.ephemeral_containers:
            if ready and not any(status.name == extra.name for status in pod.status.ephemeral_container_statuses):
                container = Container(name=extra.name, image=extra.image)
                status = self._status(container, pod.status.ephemeral_container_statuses, blocked)
                self._start(container, status)
                status.started = True

    def _step(self, container: Container, status: ContainerStatus, *, is_init: bool) -> None:
        """Advances the state of one container that may run."""
        behaviour = self._behaviours.of(container)
        if container_statuses.running(status) is not None:
            if status.image != (container.image or "scratch"):
                self._event("Normal", "Killing", f"Container {container.name} definition changed, will be restarted")
                if self._is_process(container):
                    assert self._processes is not None
                    self._processes.end(self._pod, container.name, status.restart_count, container_statuses.BACK_OFF)
                container_statuses.end(status, 0, self._now)
                self._stopwatch.begin(self._pod.uid, f"{container.name} ended {status.restart_count}")
                self._start(container, status)
            else:
                self._run(container, status, behaviour)
        elif (
            container_statuses.ended(status) is not None
            or container_statuses.reason(status) == container_statuses.CRASHES
        ):
            self._come_back(container, status, is_init=is_init)
        else:
            self._pull(container, status, behaviour.pulls or 0.0)

    def _pull(self, container: Container, status: ContainerStatus, pulls: float) -> None:
        elapsed = self._elapsed(f"{container.name} pulls", self._pod.status.start_time)
        if pulls and self._stopwatch.begins(self._pod.uid, f"{container.name} is pulled"):
            self._event("Normal", "Pulling", f'Pulling image "{container.image or ""}"')
        if pulls == inf:
            self._fail_to_pull(container, status, elapsed)
        elif elapsed < pulls:
            self._waits.append(pulls - elapsed)
        else:
            self._start(container, status, pulls)

    def _fail_to_pull(self, container: Container, status: ContainerStatus, elapsed: float) -> None:
        image = container.image or ""
        text = f'failed to pull and unpack image "{image}": {image}: not found'
        if container_statuses.reason(status) not in (PULL_FAILED, PULL_WAITS):
            self._event("Warning", "Failed", f'Failed to pull image "{image}": {text}')
            self._event("Warning", "Failed", f"Error: {PULL_FAILED}")
            container_statuses.wait(status, PULL_FAILED, text)
        if elapsed < container_statuses.BACK_OFF:
            self._waits.append(container_statuses.BACK_OFF - elapsed)
        elif container_statuses.reason(status) == PULL_FAILED:
            why = f'Back-off pulling image "{image}"'
            self._event("Normal", "BackOff", why)
            self._event("Warning", "Failed", f"Error: {PULL_WAITS}")
            container_statuses.wait(status, PULL_WAITS, f"{why}: {PULL_FAILED}: {text}")

    def _start(self, container: Container, status: ContainerStatus, pulled: float = 0.0) -> None:
        """Starts a container. ``pulled`` is the number of seconds for which its image was pulled; 0.0 if the image was
        present.
        """
        lack = self._lack.containers.get(container.name)
        if lack is not None:
            if container_statuses.message(status) != lack:
                self._event("Warning", "Failed", f"Error: {lack}")
                container_statuses.wait(status, UNCONFIGURED, lack)
            return
        image = f'image "{container.image or ""}"'
        took = f"{pulled:g}s"
        self._event(
            "Normal",
            "Pulled",
            f"Successfully pulled {image} in {took} ({took} including waiting). Image size: 0 bytes."
            if pulled
            else f"Container {image} already present on machine and can be accessed by the pod",
        )
        self._event("Normal", "Created", "Container created")
        self._event("Normal", "Started", "Container started")
        container_statuses.start(status, container, self._pod, self._now)
        if self._is_process(container):
            assert self._processes is not None
            self._processes.begin(self._pod, container, status.restart_count)
        self._stopwatch.begin(self._pod.uid, f"{container.name} {status.restart_count}")

    def _run(self, container: Container, status: ContainerStatus, behaviour: ContainerBehaviour) -> None:
        state = container_statuses.running(status)
        assert state is not None
        elapsed = self._elapsed(f"{container.name} {status.restart_count}", state.started_at)
        runs = behaviour.runs if behaviour.runs is not None else inf
        codes = behaviour.exit_codes or (0,)
        code: int | None = codes[min(status.restart_count, len(codes) - 1)] if elapsed >= runs else None
        if self._is_process(container):
            assert self._processes is not None
            runs, code = inf, self._processes.code(self._pod, container.name, status.restart_count)
        if code is not None:
            container_statuses.end(status, code, self._now, behaviour.message)
            self._stopwatch.begin(self._pod.uid, f"{container.name} ended {status.restart_count}")
            return
        if not self._is_process(container) and self._fails(container, status, behaviour, elapsed):
            return
        started, ready = behaviour.started or 0.0, behaviour.ready or 0.0
        for at in (runs, started, max(started, ready)):
            if elapsed < at < inf:
                self._waits.append(at - elapsed)
        status.started = elapsed >= started
        status.ready = elapsed >= max(started, ready)

    def _fails(
        self, container: Container, status: ContainerStatus, behaviour: ContainerBehaviour, elapsed: float
    ) -> bool:
        """Ends a container whose startup or liveness probe has failed. Returns whether a probe has failed and the
        container has ended.
        """
        grace = self._pod.spec.termination_grace_period_seconds
        failed = probe_failure_times.failure(
            container, behaviour, probe_failure_times.GRACE if grace is None else float(grace)
        )
        if failed is None:
            return False
        stops = behaviour.stops or 0.0
        ends = failed.at + min(stops, failed.grace)
        if elapsed < ends:
            self._waits.append(ends - elapsed)
            return False
        name, uid = container.name, self._pod.uid
        self._event(
            "Warning", "Unhealthy", f"{failed.probe.capitalize()} probe failed: the hollow container does not answer"
        )
        self._event("Normal", "Killing", f"Container {name} failed {failed.probe} probe, will be restarted")
        container_statuses.end(
            status, container_statuses.KILLED if stops > failed.grace else container_statuses.STOPPED, self._now
        )
        self._stopwatch.begin(uid, f"{name} ended {status.restart_count}")
        return True

    def _come_back(self, container: Container, status: ContainerStatus, *, is_init: bool) -> None:
        """Restarts an ended container if its restart policy allows it and its back-off is over. During the back-off,
        the container waits with the reason CrashLoopBackOff. A container that may not be restarted stays as it is.
        """
        pod = self._pod
        last = container_statuses.ended(status) or (
            status.last_state.terminated if status.last_state is not None else None
        )
        assert last is not None
        if is_init and last.exit_code == 0 and container.restart_policy is None:
            return
        if self._mains_are_over() and container.restart_policy == "Always" and container in pod.spec.init_containers:
            return
        if not container_statuses.restarts(container, pod, last.exit_code, is_init=is_init):
            return
        elapsed = self._elapsed(f"{container.name} ended {status.restart_count}", last.finished_at)
        self._elapsed(f"{container.name} {status.restart_count}", last.started_at)  # another process may have begun it
        delay = container_statuses.back_off(self._crashes(container.name, status.restart_count))
        if elapsed >= delay:
            self._start(container, status)
            return
        self._waits.append(delay - elapsed)
        if container_statuses.reason(status) != container_statuses.CRASHES:
            name = f"{pod.name}_{pod.namespace}({pod.uid})"
            why = f"back-off {delay_text(delay)} restarting failed container={container.name} pod={name}"
            container_statuses.wait(status, container_statuses.CRASHES, why)
            self._event("Warning", "BackOff", f"Back-off restarting failed container {container.name} in pod {name}")

    def _crashes(self, container: str, number: int) -> int:
        """The number of ends of a container that count for its back-off after its run with that number. As in a
        kubelet, a long run (`container_statuses.FORGIVEN`) begins the count again; its own end is the first.

        Runs that ended in an earlier process count as short.
        """
        first = max(number + 2 - container_statuses.COUNTED, 1)  # earlier runs don't change the back-off
        for attempt in range(number, first - 1, -1):
            lasted = self._stopwatch.between(self._pod.uid, f"{container} {attempt}", f"{container} ended {attempt}")
            if lasted is None:
                break
            if lasted >= container_statuses.FORGIVEN:
                return number - attempt + 1
        return number + 1

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _deadline_passed(self) -> bool:
        """Whether the pod has been active for longer than its deadline. If so, this method ends its containers, and
        marks the pod as failed.
        """
        pod, deadline = self._pod, self._pod.spec.active_deadline_seconds
        if deadline is None:
            return False
        remaining = deadline - self._elapsed("pod", pod.status.start_time)
        if remaining > 0:
            self._waits.append(remaining)
            return False
        self._end_all(container_statuses.KILLED)
        pod.status.phase, pod.status.reason = "Failed", "DeadlineExceeded"
        pod.status.message = "Pod was active on the node longer than the specified deadline"
        self._event("Normal", "DeadlineExceeded", pod.status.message)
        return True

    def _is_mounted(self) -> bool:
        """Whether the pod's volumes are mounted. They are mounted once, before the first container starts."""
        if not self._lack.volume or any(status.container_id for status in self._all()):
            return True
        if self._stopwatch.begins(self._pod.uid, self._lack.volume):
            self._event("Warning", "FailedMount", self._lack.volume)
        return False

    def _is_process(self, container: Container) -> bool:
        return self._processes is not None and self._processes.has(self._pod, container)

    def _end_processes(self, grace: float) -> bool:
        """Asks the processes to end. Returns whether any of them is still running."""
        any_left = False
        for container, status in self._pairs():
            if self._processes is None or container_statuses.running(status) is None or not self._is_process(container):
                continue
            number = status.restart_count
            code = self._processes.code(self._pod, container.name, number)
            if code is None:
                self._processes.end(self._pod, container.name, number, grace)
                any_left = True
            else:
                container_statuses.end(status, code, self._now)
        return any_left

    def _end_all(self, code: int) -> None:
        self._end_processes(0.0)
        for _, status in self._pairs():
            if container_statuses.running(status) is not None:
                container_statuses.end(status, code, self._now)

    def _mains_are_over(self) -> bool:
        statuses = self._pod.status.container_statuses
        return bool(statuses) and phase_of(self._pod) in ("Succeeded", "Failed")

    def _say_killing(self) -> None:
        """Reports the containers that are asked to end, but only the first time that a deleted pod is processed."""
        if not self._stopwatch.begins(self._pod.uid, "killing"):
            return
        for container, status in self._pairs():
            if container_statuses.running(status) is not None:
                self._event("Normal", "Killing", f"Stopping container {container.name}")

    def _stopping(self) -> tuple[float, dict[str, float]]:
        """The seconds until all containers have ended, and the seconds until each has ended. Sidecars end last, in
        reverse order.
        """
        spec = self._pod.spec
        takes: dict[str, float] = {}
        for container in spec.containers:
            hook = container.lifecycle.pre_stop if container.lifecycle is not None else None
            hook_seconds = float(hook.sleep.seconds) if hook is not None and hook.sleep is not None else 0.0
            takes[container.name] = hook_seconds + (self._behaviours.of(container).stops or 0.0)
        total = max(takes.values(), default=0.0)
        for container in reversed(spec.init_containers):
            if container.restart_policy == "Always":
                total += self._behaviours.of(container).stops or 0.0
                takes[container.name] = total
        return total, takes

    def _status(self, container: Container, statuses: list[ContainerStatus], why: str) -> ContainerStatus:
        for status in statuses:
            if status.name == container.name:
                return status
        new_status = container_statuses.waiting(container, why)
        statuses.append(new_status)
        if statuses is not self._pod.status.init_container_statuses:
            statuses.sort(key=attrgetter("name"))  # as kubelets do; those of init containers keep the spec's order
        return new_status

    def _pairs(self) -> Iterable[tuple[Container, ContainerStatus]]:
        spec = self._pod.spec
        named = {container.name: container for container in [*spec.init_containers, *spec.containers]}
        for ephemeral in spec.ephemeral_containers:
            named[ephemeral.name] = Container(name=ephemeral.name, image=ephemeral.image)
        for status in self._all():
            if status.name in named:
                yield named[status.name], status

    def _all(self) -> list[ContainerStatus]:
        status = self._pod.status
        return [*status.init_container_statuses, *status.container_statuses, *status.ephemeral_container_statuses]

    def _elapsed(self, phase: str, since: datetime | None) -> float:
        return self._stopwatch.elapsed(self._pod.uid, phase, since, self._exactly)

    @staticmethod
    def _shape(status: ContainerStatus) -> tuple[object, ...]:
        ended, waits = container_statuses.ended(status), container_statuses.reason(status)
        is_running = container_statuses.running(status) is not None
        return status.name, status.restart_count, is_running, ended is not None, waits, status.started, status.ready


def delay_text(seconds: float) -> str:
    """A duration in Go's notation, such as ``1m20s``."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
