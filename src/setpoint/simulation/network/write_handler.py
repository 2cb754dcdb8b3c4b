"""Writes: notes the writes of processes, and carries out the faults that delay them or cause conflicts."""

from __future__ import annotations

from collections.abc import Collection
from hashlib import blake2b
from typing import Protocol

import msgspec

from setpoint.apiserver.http_types import Response
from setpoint.client.transport import Request
from setpoint.simulation.comparison.write_diff_text import describe_write
from setpoint.simulation.faults.plan import Fault
from setpoint.simulation.injection.user_steps import Steps
from setpoint.simulation.oracles.monitor import Monitor
from setpoint.simulation.sandbox.actor import AUTHOR, Actor
from setpoint.simulation.trace.history import History, sketch
from setpoint.simulation.trace.operation import Operation
from setpoint.simulation.trace.result import Point
from setpoint.simulation.trace.trace import Trace


class Writer(Protocol):
    """A process whose writes are noted. ``seen`` has the uids of all objects that it has ever seen."""

    @property
    def actor(self) -> Actor: ...
    @property
    def number(self) -> int: ...
    @property
    def seen_uids(self) -> Collection[str]: ...


class WriteHost(Protocol):
    """The interface of a run that its `WriteHandler` uses."""

    @property
    def harness(self) -> Actor: ...
    @property
    def history(self) -> History: ...
    @property
    def monitor(self) -> Monitor: ...
    @property
    def steps(self) -> Steps: ...
    @property
    def trace(self) -> Trace: ...
    async def handle(self, request: Request) -> Response: ...


class WriteHandler:
    """Notes the writes of a run's processes, and carries out the faults that delay writes or cause conflicts."""

    def __init__(self, world: WriteHost) -> None:
        self._world = world

    def log_answer(self, point: str, text: str) -> None:
        self._world.trace.add("server", "server", "answers", text, point=point)

    def target(self, operation: Operation) -> str | None:
        """The uid of the object that a write is about; None if there is no such object."""
        record = (
            self._world.history.get(operation.collection, operation.namespace, operation.name)
            if operation.name
            else None
        )
        if record is None:
            return None
        return sketch(record.value).metadata.uid

    def record_write(
        self, process: Writer, operation: Operation, point: str, status: int, revision: int, target: str | None,
        view: str = "",
    ) -> None:  # fmt: skip
        """Records that the server answered a process's write with ``status``, and passes the write to the monitor."""
        changed = self._world.history.revision != revision and status < 300
        self._world.trace.mark(
            Point(
                point,
                "write",
                self._world.steps.number,
                operation.collection,
                operation.verb,
                changed,
                self._world.history.revision,
                process.number,
                careful=operation.careful,
            )
        )
        text = operation.stem() + ("" if changed else " (no change)" if status < 300 else f" ({status})")
        content = change = ""
        if changed and (entry := self._world.history.by_revision.get(self._world.history.revision)) is not None:
            content = blake2b(entry.value, digest_size=6).hexdigest()
            if self._world.trace.details:
                change = describe_write(operation.verb, entry)
        self._world.trace.add(
            "controller", process.actor.name, "writes", text, point=point, view=view, content=content, change=change
        )
        self._world.monitor.check_write(process.seen_uids, operation, point, target, changed=changed)

    def arrive_late(self, process: Writer, request: Request, fault: Fault) -> None:
        """Delivers a write to the server when the fault is over, even if its sender has died."""

        async def arrive() -> None:
            AUTHOR.set(process.actor)
            self._world.monitor.is_uncounted = True  # its sender has made another attempt since
            try:
                answer = await self._world.handle(request)
            finally:
                self._world.monitor.is_uncounted = False
            self._world.trace.add(
                "server", "server", "late", f"a late {request.method} {request.path}: {answer.status}"
            )

        self._world.steps.begin(fault, lambda: self._world.harness.start(arrive(), name="late write"))

    async def touch(self, request: Request, operation: Operation) -> None:
        """Writes the object as a different program would, then takes the change back, so that only the object's version
        differs.
        """
        path = request.path.removesuffix(f"/{operation.subresource}") if operation.subresource else request.path
        other = Actor("another program", "others")
        headers = {"content-type": "application/merge-patch+json", "user-agent": "another-program"}
        for value in ("yes", None):
            body = msgspec.json.encode({"metadata": {"annotations": {"example.com/touched": value}}})
            touching = Request("PATCH", path, (("fieldManager", "another-program"),), headers, body)
            AUTHOR.set(other)
            try:
                await self._world.handle(touching)
            finally:
                AUTHOR.set(None)
        self._world.trace.add(
            "others", "another program", "writes", f"touches {operation.collection} {operation.label}"
        )
