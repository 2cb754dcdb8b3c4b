"""The answers that hollow kubelets give about containers: logs, usage, commands and connections to ports."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import datetime
from typing import Any

from setpoint.apiserver.errors import ApiStatusError, bad_request
from setpoint.apiserver.streams.kubelets import CommandRequest, LogRequest, Run, Streams, Talk
from setpoint.apiserver.streams.pipes import Input, Output
from setpoint.client import Client, NotFound
from setpoint.cluster.nodes.behaviour import ContainerBehaviour, PortFunction
from setpoint.cluster.nodes.exec_and_port_forward import Command, Connection
from setpoint.cluster.nodes.kubelet import HollowKubelet
from setpoint.cluster.nodes.process_kubelet_api import command_in, log_of, port_of
from setpoint.cluster.nodes.resource_usage import usage_of
from setpoint.cluster.nodes.simulated_logs import Line, encoded, is_running, lines_of, not_found, run_of
from setpoint.meta import from_wire
from setpoint.models.core_v1 import Container, Pod

JsonObject = dict[str, Any]


class HollowStreams:
    """Answers requests according to the behaviour of a pod. A request for which the behaviour has no answer is refused.

    See `setpoint.apiserver.streams.kubelets.Kubelets`.
    """

    def __init__(self, client: Client, kubelet: HollowKubelet, *, now: Callable[[], datetime]) -> None:
        self._client = client
        self._kubelet = kubelet
        self._now = now

    # -- logs ----------------------------------------------------------------------------------------------------------

    def log(self, pod: JsonObject, request: LogRequest) -> AsyncIterator[bytes]:
        """The log of a container.

        Raises:
            ApiStatusError: the container does not have such a log, or the pod's node does not answer.
        """
        pod_object = self._pod(pod)
        number = run_of(pod_object, request).number
        processes = self._kubelet.processes
        real = processes.find(pod_object, request.container, number) if processes is not None else None
        return self._lines(pod_object, request) if real is None else log_of(real, request)

    async def _lines(self, pod: Pod, request: LogRequest) -> AsyncIterator[bytes]:
        """The lines so far; with ``follow``, further lines until the container has ended."""
        run = run_of(pod, request)
        behaviour, name = self._behaviour(pod, request.container), f"container {request.container} of pod {pod.key}"
        so_far = [line for line in lines_of(run, behaviour, name) if self._is_written(line, request)]
        sent_lines = len([line for line in lines_of(run, behaviour, name) if line.at <= self._now()])
        remaining = request.limit
        for line in so_far if request.tail is None else so_far[len(so_far) - min(request.tail, len(so_far)) :]:
            data, remaining = _cut(encoded(line, request), remaining)
            yield data
            if remaining == 0:
                return
        if not request.follow or run.finished is not None:
            return
        with self._kubelet.following(pod.key) as changed:
            while True:
                changed.clear()
                try:
                    pod = await self._client.get(Pod, pod.name, namespace=pod.namespace)
                    now = run_of(pod, request)
                except (NotFound, ApiStatusError):
                    return
                if now.number != run.number:
                    return
                coming = list(lines_of(now, behaviour, name))[sent_lines:]
                while coming and coming[0].at <= self._now():
                    sent_lines += 1
                    data, remaining = _cut(encoded(coming.pop(0), request), remaining)
                    yield data
                    if remaining == 0:
                        return
                if now.finished is not None:
                    return
                wait = (coming[0].at - self._now()).total_seconds() if coming else None
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await changed.wait()

    def _is_written(self, line: Line, request: LogRequest) -> bool:
        return line.at <= self._now() and (request.since is None or line.at >= request.since)

    # -- usage ---------------------------------------------------------------------------------------------------------

    def usage(self, pod: JsonObject) -> dict[str, dict[str, str]]:
        """The usage of the containers according to annotations; see `setpoint.cluster.nodes.resource_usage`."""
        return usage_of(pod) if self._kubelet.answers((pod.get("spec") or {}).get("nodeName", "")) else {}

    # -- commands and connections --------------------------------------------------------------------------------------

    def command(self, pod: JsonObject, request: CommandRequest) -> Run:
        """A function that runs the command in a container.

        Raises:
            ApiStatusError: the container is not running, nothing answers commands in it, or the pod's node does not
                answer.
        """
        pod_object = self._pod(pod)
        if not is_running(pod_object, request.container):
            raise not_found(request.container)
        container, processes = _container(pod_object, request.container), self._kubelet.processes
        if processes is not None and processes.has(pod_object, container):
            return command_in(processes, pod_object, container, request)
        behaviour = self._behaviour(pod_object, request.container)
        function = behaviour.exec if request.arguments else behaviour.attach
        if function is None:
            parameter = "exec" if request.arguments else "attach"
            text = f"container {request.container} of pod {pod_object.key} is hollow: nothing is executed in it"
            raise bad_request(f"{text}. In a test, PodBehaviour({parameter}=...) answers")

        async def run(streams: Streams) -> int:
            command = Command(
                pod_object,
                request.container,
                request.arguments,
                request.tty,
                streams.stdin,
                streams.stdout,
                streams.stderr,
                streams.sizes,
            )
            return await function(command) or 0

        return run

    def port(self, pod: JsonObject, port: int) -> Talk:
        """A function that serves a client of one of the pod's ports.

        Raises:
            ApiStatusError: the pod is not running, nothing answers at this port, or the pod's node does not answer.
        """
        pod_object = self._pod(pod)
        if pod_object.status.phase != "Running":
            raise bad_request(
                f"unable to forward port because pod is not running. Current status={pod_object.status.phase}"
            )
        processes = self._kubelet.processes
        if processes is not None and any(
            processes.has(pod_object, container) for container in pod_object.spec.containers
        ):
            return port_of(port)
        for container in pod_object.spec.containers:
            function = self._behaviour(pod_object, container.name).ports.get(port)
            if function is not None:
                return _talk(function, pod_object, port)
        text = f"pod {pod_object.key} is hollow: no process listens on its port {port}"
        raise bad_request(f"{text}. In a test, PodBehaviour(ports={{{port}: ...}}) answers")

    def _pod(self, pod: JsonObject) -> Pod:
        pod_object = from_wire(Pod, pod)
        if not self._kubelet.has(pod_object):
            node = pod_object.spec.node_name
            why = f"Internal error occurred: error dialing backend: node {node} does not answer"
            raise ApiStatusError(500, "InternalError", why)
        return pod_object

    def _behaviour(self, pod: Pod, container: str) -> ContainerBehaviour:
        return self._kubelet.behaviours(pod).of(_container(pod, container))


def _container(pod: Pod, name: str) -> Container:
    spec = pod.spec
    container = next(
        (candidate for candidate in [*spec.containers, *spec.init_containers] if candidate.name == name), None
    )
    return container or Container(name=name)


def _talk(function: PortFunction, pod: Pod, port: int) -> Talk:
    async def talk(received: Input, output: Output) -> None:
        await function(Connection(pod, port, received, output))

    return talk


def _cut(data: bytes, remaining: int | None) -> tuple[bytes, int | None]:
    """The part of the data that fits into ``left`` bytes, and how many of these bytes remain. ``left`` is None without
    a limit.
    """
    if remaining is None:
        return data, None
    return data[:remaining], remaining - min(remaining, len(data))
