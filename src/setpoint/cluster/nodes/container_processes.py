"""Runs containers as ordinary processes on this machine. This is opt-in, and limited to specially marked containers."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Final

import msgspec

from setpoint.client import ApiError, TransportError
from setpoint.cluster.nodes.hollow_nodes import HollowNode
from setpoint.cluster.nodes.pod_kubeconfigs import PodAccess
from setpoint.cluster.scheduling.resource_requests import amount
from setpoint.concurrency import TaskScope
from setpoint.meta import ObjectKey
from setpoint.models.core_v1 import Container, EnvVar, Pod

REGISTRY: Final = "process.setpoint.dev"
"""Images from this registry stand for programs on this machine: ``process.setpoint.dev/redis-server``."""
COMMAND: Final = f"{REGISTRY}/command"
"""The annotation of a pod with the command of its containers, in shell syntax; with the prefix ``NAME.``, the command
of the container ``NAME``.
"""
LINES: Final = 10_000
"""The maximum number of lines that are kept for the log of one run."""
_INHERITED: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "USER")
_NOT_STARTED: Final = 128
_UNKNOWN: Final = 137
_LINE: Final = 1 << 16
_LAST_WORDS: Final = 1.0
"""Seconds for which the output of an ended process is still read while another process has it open."""


class NotStarted(Exception):
    """The command of a container can't be started. The message names the program or the annotation at fault."""


class ProcessRun(msgspec.Struct):
    """One run of a container."""

    key: ObjectKey
    lines: deque[tuple[datetime, bytes]] = msgspec.field(default_factory=lambda: deque(maxlen=LINES))
    line_count: int = 0
    """The number of lines written so far, including those that are no longer kept."""
    code: int | None = None
    """The exit code; None until the run has ended."""
    changed: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    process: asyncio.subprocess.Process | None = None
    stopping: bool = False


class Processes:
    """Runs containers as child processes: their output is the log, and their memory and storage limits are rlimits.

    Only containers whose image is in ``process.setpoint.dev``, or whose pod has the annotation for a command, are run.
    A process has the environment that its container sets, ``KUBECONFIG`` for its pod's service account, and only a few
    of the server's variables, such as PATH and HOME. It gets SIGTERM when its pod ends, and SIGKILL after the grace
    period. All processes end when `run` ends.

    *Caveats*: there is no isolation: a process belongs to the user that runs the server. Probes are not executed: their
    results follow from their settings. ``envFrom``, volumes and values from Secrets are not supported. A process does
    not outlive the server: a container that an earlier server left running counts as ended with code 137.
    """

    leader_only = False

    def __init__(self, *, now: Callable[[], datetime], access: PodAccess | None = None) -> None:
        """``access`` gives each pod a kubeconfig; None means that processes get none."""
        self.name = "processes"
        self._access = access
        self._now = now
        self._runs: dict[tuple[str, str, int], ProcessRun] = {}
        self._due: asyncio.Queue[tuple[ProcessRun, Pod, Container]] = asyncio.Queue()
        self._ended: asyncio.Queue[ObjectKey] = asyncio.Queue()
        self._stopped = asyncio.Event()

    # -- for the kubelet -----------------------------------------------------------------------------------------------

    def has(self, pod: Pod, container: Container) -> bool:
        """Whether the container has to run as a process."""
        return bool(_annotated(pod, container)[1] or _program_of(container))

    def begin(self, pod: Pod, container: Container, number: int) -> None:
        """Starts a run of a container unless that run has been started already."""
        if (pod.uid, container.name, number) in self._runs:
            return
        run = self._runs[pod.uid, container.name, number] = ProcessRun(pod.key)
        self._runs.pop((pod.uid, container.name, number - 2), None)
        self._due.put_nowait((run, pod, container))

    def code(self, pod: Pod, container: str, number: int) -> int | None:
        """The exit code of a run; None while the run goes on. A run that this server has not started counts as ended
        with code 137.
        """
        run = self._runs.get((pod.uid, container, number))
        return _UNKNOWN if run is None else run.code

    def find(self, pod: Pod, container: str, number: int) -> ProcessRun | None:
        return self._runs.get((pod.uid, container, number))

    def end(self, pod: Pod, container: str, number: int, grace: float) -> None:
        """Asks a run to end, and kills its processes after ``grace`` seconds."""
        run = self._runs.get((pod.uid, container, number))
        if run is not None and run.code is None and not run.stopping:
            run.stopping = True
            _signal(run, signal.SIGTERM if grace > 0 else signal.SIGKILL)
            asyncio.get_running_loop().call_later(grace, _signal, run, signal.SIGKILL)

    def forget(self, uid: str) -> None:
        """Kills the remaining processes of a pod that is gone."""
        if self._access is not None:
            self._access.forget(uid)
        for place in [place for place in self._runs if place[0] == uid]:
            run = self._runs.pop(place)
            run.stopping = True
            _signal(run, signal.SIGKILL)

    async def ended(self) -> AsyncIterator[ObjectKey]:
        while True:
            yield await self._ended.get()

    # -- the runnable --------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Runs processes until it is stopped or cancelled. It ends all of them before it returns."""
        try:
            async with TaskScope() as scope:
                stopping = scope.start(self._stopped.wait())
                while not self._stopped.is_set():
                    coming = scope.start(self._due.get())
                    await asyncio.wait((coming, stopping), return_when=asyncio.FIRST_COMPLETED)
                    if coming.done():
                        scope.start(self._live(*coming.result()))
        finally:
            if self._access is not None:
                self._access.close()

    def stop(self) -> None:
        self._stopped.set()

    async def _live(self, run: ProcessRun, pod: Pod, container: Container) -> None:
        try:
            if run.stopping:
                run.code = _UNKNOWN
                return
            command = command_of(pod, container)
            async with _pipe() as (output, into), TaskScope() as scope:
                try:
                    process = run.process = await self.start(pod, container, command, into)
                finally:
                    os.close(into)
                if run.stopping:  # it was asked to end while it began
                    _signal(run, signal.SIGKILL)
                reading = scope.start(self._read(run, output))
                try:
                    code = await process.wait()
                finally:
                    _kill(process)
                    await process.wait()
                await asyncio.wait((reading,), timeout=_LAST_WORDS)
                run.code = code if code >= 0 else 128 - code
        except (OSError, NotStarted) as problem:
            self._write(run, str(problem).encode(errors="replace"))
            run.code = _NOT_STARTED
        finally:
            if self._access is not None and not any(uid == pod.uid for uid, _, _ in self._runs):
                self._access.forget(pod.uid)  # it has gone, and may have got its kubeconfig only then
            run.changed.set()
            self._ended.put_nowait(run.key)

    async def start(
        self, pod: Pod, container: Container, command: Sequence[str], output: int | None = None
    ) -> asyncio.subprocess.Process:
        """Starts a program with a container's environment, in a process group of its own.

        ``output`` is the file descriptor for all its output; without it, the three standard streams are pipes.

        Raises:
            NotStarted: there is no such program or directory, the command or an environment variable has a NUL
                character, or the pod's service account gets no token.
        """
        environment = await self._environment_of(pod, container)
        limited = limits_of(container)
        words = ["/bin/sh", "-c", f'{limited}exec "$0" "$@"', *command] if limited else list(command)
        try:
            return await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.PIPE if output is None else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE if output is None else output,
                stderr=asyncio.subprocess.PIPE if output is None else asyncio.subprocess.STDOUT,
                cwd=container.working_dir or None,
                env=environment,
                start_new_session=True,
                limit=_LINE,
            )
        except OSError as problem:
            raise NotStarted(f"{command[0]}: {problem.strerror or problem}") from None
        except ValueError as problem:  # for a NUL, or a lone surrogate, which no program can be given
            raise NotStarted(f"{command[0]}: {problem}") from None

    async def _read(self, run: ProcessRun, output: asyncio.StreamReader) -> None:
        while True:
            try:
                line = await output.readuntil(b"\n")
            except asyncio.IncompleteReadError as rest:
                line = rest.partial
            except asyncio.LimitOverrunError as long:
                line = await output.read(long.consumed)
            if not line:
                return
            self._write(run, line.removesuffix(b"\n"))

    def _write(self, run: ProcessRun, line: bytes) -> None:
        run.lines.append((self._now(), line))
        run.line_count += 1
        run.changed.set()

    async def _environment_of(self, pod: Pod, container: Container) -> dict[str, str]:
        variables = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        variables["HOSTNAME"] = pod.name
        if self._access is not None:
            try:
                variables |= await self._access.environment(pod)
            except (ApiError, TransportError, OSError) as problem:
                raise NotStarted(f"a kubeconfig for the pod's service account: {problem}") from None
        return variables | {variable.name: _value(variable, pod) for variable in container.env}


def this_machine() -> HollowNode:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return HollowNode(name="local", cpu=str(os.cpu_count() or 1), memory=f"{pages // 1024}Ki", pods=110)


def command_of(pod: Pod, container: Container) -> list[str]:
    """The program and its arguments, for a container that is run as a process.

    Raises:
        NotStarted: the annotation with the command is not in shell syntax.
    """
    name, noted = _annotated(pod, container)
    if not noted:
        return [*(container.command or [_program_of(container)]), *container.args]
    try:
        return shlex.split(noted)
    except ValueError as problem:
        raise NotStarted(f"annotation {name}: {problem}") from None


def _annotated(pod: Pod, container: Container) -> tuple[str, str]:
    """The name and the value of the annotation with the container's command; the value is empty without a command."""
    own = f"{container.name}.{COMMAND}"
    name = own if own in pod.annotations else COMMAND
    return name, pod.annotations.get(name, "").strip()


def _program_of(container: Container) -> str:
    """The program that the container's image stands for; ``""`` for any other image."""
    registry, _, program = (container.image or "").partition("/")
    return program.partition("@")[0].partition(":")[0] if registry == REGISTRY else ""


def limits_of(container: Container) -> str:
    """Shell commands that set the rlimits of a container. Its memory limit restricts the address space, and its storage
    limit the size of files.
    """
    limits = container.resources.limits if container.resources is not None else {}
    commands = ""
    if "memory" in limits:
        commands += f"ulimit -v {max(amount('memory', limits['memory']) // 1024, 1)}; "
    if "ephemeral-storage" in limits:
        commands += f"ulimit -f {max(amount('ephemeral-storage', limits['ephemeral-storage']) // 512, 1)}; "
    return commands


def _value(variable: EnvVar, pod: Pod) -> str:
    """The value of an environment variable. Of the pod's fields, only those about its name and location are
    supported.
    """
    source = variable.value_from.field_ref if variable.value_from is not None else None
    if source is None:
        return variable.value or ""
    fields = {
        "metadata.name": pod.name,
        "metadata.namespace": pod.namespace,
        "metadata.uid": pod.uid,
        "spec.nodeName": pod.spec.node_name or "",
        "spec.serviceAccountName": pod.spec.service_account_name or "",
        "status.podIP": pod.status.pod_ip or "127.0.0.1",
        "status.podIPs": ",".join(item.ip for item in pod.status.pod_ips) or "127.0.0.1",
        "status.hostIP": pod.status.host_ip or "127.0.0.1",
    }
    return fields.get(source.field_path, "")


@asynccontextmanager
async def _pipe() -> AsyncIterator[tuple[asyncio.StreamReader, int]]:
    """A reader, and the file descriptor for writing, which the caller closes.

    It is used instead of the pipe that asyncio makes for a process: with asyncio's pipe, some versions of Python report
    the end of the process only when no other process has the pipe open any more.
    """
    reading, into = os.pipe()
    output = asyncio.StreamReader(limit=_LINE)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(output), os.fdopen(reading, "rb", 0)
    )
    try:
        yield output, into
    finally:
        transport.close()


def _signal(run: ProcessRun, number: signal.Signals) -> None:
    """Sends a signal to a process, as a container runtime does to a container. SIGKILL goes to the whole process
    group.
    """
    if run.process is None or run.process.returncode is not None:
        return
    if number is signal.SIGKILL:
        _kill(run.process)
    else:
        with suppress(ProcessLookupError):
            os.kill(run.process.pid, number)


def _kill(process: asyncio.subprocess.Process) -> None:
    """Kills the process group of a process, since a container ends with its first process."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
