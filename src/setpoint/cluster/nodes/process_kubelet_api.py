"""Logs, commands and connections of containers that run as processes on this machine."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from datetime import datetime
from typing import Final

from setpoint.apiserver.errors import bad_request
from setpoint.apiserver.streams.kubelets import CommandRequest, LogRequest, Run, Streams, Talk
from setpoint.apiserver.streams.pipes import Input, Output
from setpoint.cluster.nodes.container_processes import NotStarted, Processes, ProcessRun
from setpoint.concurrency import TaskScope
from setpoint.models.core_v1 import Container, Pod

LOOPBACK: Final = "127.0.0.1"
_PART: Final = 1 << 15


async def log_of(run: ProcessRun, request: LogRequest) -> AsyncIterator[bytes]:
    """The lines of a run so far; with ``follow``, further lines until the run has ended."""
    total = run.line_count
    remaining = request.limit
    for at, line in _last(run, request):
        data, remaining = _cut(_encoded(at, line, request), remaining)
        yield data
        if remaining == 0:
            return
    while request.follow:
        run.changed.clear()
        new, total = min(run.line_count - total, len(run.lines)), run.line_count
        for at, line in list(run.lines)[len(run.lines) - new :]:
            data, remaining = _cut(_encoded(at, line, request), remaining)
            yield data
            if remaining == 0:
                return
        if run.code is not None and run.line_count == total:
            return
        if run.line_count == total:
            await run.changed.wait()


def command_in(processes: Processes, pod: Pod, container: Container, request: CommandRequest) -> Run:
    """A function that runs a command beside a container, with the container's environment, directory and limits.

    Raises:
        ApiStatusError: the request is a `kubectl attach`, which processes don't support.
    """
    if not request.arguments:
        raise bad_request("attaching to a process is not supported; its output is in the log")

    async def run(streams: Streams) -> int:
        try:
            child = await processes.start(pod, container, request.arguments)
        except NotStarted as problem:
            streams.stderr.write(f"{problem}\n".encode(errors="replace"))
            return 127
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        errors = streams.stdout if request.tty else streams.stderr
        try:
            async with TaskScope() as scope:
                scope.start(_feed(streams.stdin, child.stdin))
                outputs = [
                    scope.start(_pump(child.stdout, streams.stdout)),
                    scope.start(_pump(child.stderr, errors)),
                ]
                await asyncio.wait(outputs)
                code = await child.wait()
        finally:
            if child.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                await child.wait()
        return code if code >= 0 else 128 - code

    return run


def port_of(port: int) -> Talk:
    """A function that connects a client's stream to a port at this machine's loopback address."""

    async def talk(received: Input, output: Output) -> None:
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        try:
            async with TaskScope() as scope:
                scope.start(_feed(received, writer))
                await _pump(reader, output)
        finally:
            writer.close()

    return talk


async def _feed(received: Input, into: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):  # the other side reads no more, which is its affair
        while data := await received.read():
            into.write(data)
            await into.drain()
        if into.can_write_eof():
            into.write_eof()


async def _pump(source: asyncio.StreamReader, into: Output) -> None:
    while data := await source.read(_PART):
        into.write(data)
        await into.drain()


def _last(run: ProcessRun, request: LogRequest) -> Iterator[tuple[datetime, bytes]]:
    lines = [(at, line) for at, line in run.lines if request.since is None or at >= request.since]
    return iter(lines if request.tail is None else lines[len(lines) - min(request.tail, len(lines)) :])


def _encoded(at: datetime, line: bytes, request: LogRequest) -> bytes:
    stamp = at.strftime("%Y-%m-%dT%H:%M:%S.%f000Z ").encode() if request.timestamps else b""
    return stamp + line + b"\n"


def _cut(data: bytes, remaining: int | None) -> tuple[bytes, int | None]:
    if remaining is None:
        return data, None
    return data[:remaining], remaining - min(remaining, len(data))
