"""Traffic: notes the writes of processes, and carries out the faults that delay them or cause conflicts."""

from __future__ import annotations

from hashlib import blake2b
from typing import Protocol

import msgspec

from setpoint.apiserver.http_types import Response
from setpoint.client.transport import Request
from setpoint.simulation.actor import AUTHOR, Actor
from setpoint.simulation.asked import Asked
from setpoint.simulation.changes import changes_between
from setpoint.simulation.history import History, sketch
from setpoint.simulation.judge import Judge
from setpoint.simulation.life import Life
from setpoint.simulation.plan import Fault
from setpoint.simulation.result import Point
from setpoint.simulation.steps import Steps
from setpoint.simulation.tape import Tape


class Road(Protocol):
    """The interface of a run that its `Traffic` uses."""

    @property
    def harness(self) -> Actor: ...
    @property
    def history(self) -> History: ...
    @property
    def judge(self) -> Judge: ...
    @property
    def steps(self) -> Steps: ...
    @property
    def tape(self) -> Tape: ...
    async def handle(self, request: Request) -> Response: ...


class Traffic:
    """Notes the writes of a run's processes, and carries out the faults that delay writes or cause conflicts."""

    def __init__(self, world: Road) -> None:
        self._world = world

    def told(self, point: str, text: str) -> None:
        self._world.tape.tell("server", "server", "answers", text, point=point)

    def target(self, asked: Asked) -> str | None:
        """The uid of the object that a write is about; None if there is no such object."""
        record = self._world.history.get(asked.collection, asked.namespace, asked.name) if asked.name else None
        if record is None:
            return None
        return sketch(record.value).metadata.uid

    def wrote(
        self, life: Life, asked: Asked, point: str, request: Request, status: int, revision: int,
        target: str | None,
    ) -> None:  # fmt: skip
        """Records that the server answered a process's write with ``status``, and passes the write to the judge."""
        changed = self._world.history.revision != revision and status < 300
        self._world.tape.mark(
            Point(
                point,
                "write",
                self._world.steps.number,
                asked.collection,
                asked.verb,
                changed,
                self._world.history.revision,
                life.number,
                careful=asked.careful,
            )
        )
        what = asked.stem() + ("" if changed else " (no change)" if status < 300 else f" ({status})")
        content = did = ""
        if changed and (entry := self._world.history.by_revision.get(self._world.history.revision)) is not None:
            content = blake2b(entry.value, digest_size=6).hexdigest()
            if self._world.tape.details and entry.type != "DELETED":
                did = changes_between(entry.previous, entry.value)
        self._world.tape.tell("controller", life.actor.name, "writes", what, point=point, content=content, did=did)
        self._world.judge.wrote(life.seen, asked, point, target, changed=changed)

    def arrive_late(self, life: Life, request: Request, fault: Fault) -> None:
        """Delivers a write to the server when the fault is over, even if its sender has died."""

        async def arrive() -> None:
            AUTHOR.set(life.actor)
            self._world.judge.excusing = True  # its sender has made another attempt since
            try:
                answer = await self._world.handle(request)
            finally:
                self._world.judge.excusing = False
            self._world.tape.tell(
                "server", "server", "late", f"a late {request.method} {request.path}: {answer.status}"
            )

        self._world.steps.begin(fault, lambda: self._world.harness.start(arrive(), name="late write"))

    async def touch(self, request: Request, asked: Asked) -> None:
        """Writes the object as a different program would, then takes the change back, so that only the object's version
        differs.
        """
        path = request.path.removesuffix(f"/{asked.subresource}") if asked.subresource else request.path
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
        self._world.tape.tell("others", "another program", "writes", f"touches {asked.collection} {asked.label}")
