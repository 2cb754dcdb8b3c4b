"""Far: the second cluster of a fleet, which faults can cut off. Users make the same requests in it as in the near
cluster, unless the program has controllers that run only in the near cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import datetime
from random import Random
from typing import Any, Final, Protocol, cast

import msgspec

from setpoint.apiserver.http_types import Response as Answered
from setpoint.client import Client
from setpoint.client.transport import Request, Response, TransportError
from setpoint.simulation.actor import Actor
from setpoint.simulation.asked import Asked
from setpoint.simulation.chance import Chance
from setpoint.simulation.cluster import Backstage, SimulatedCluster
from setpoint.simulation.front import Front
from setpoint.simulation.history import Entry, History
from setpoint.simulation.judge import Judge
from setpoint.simulation.land import Land
from setpoint.simulation.life import Life
from setpoint.simulation.loop import SimulationLoop
from setpoint.simulation.plan import Plan
from setpoint.simulation.plane import Plane
from setpoint.simulation.port import Port
from setpoint.simulation.setup import Setup
from setpoint.simulation.stream import Gate, Stream
from setpoint.simulation.tape import Tape
from setpoint.simulation.wire import FOREVER, LATENCY, Exchange
from setpoint.simulation.wishes import Wishes
from setpoint.testing.fake_answers import Answer

NEAR: Final = "near"
FAR: Final = "far"


class Lands(Protocol):
    """The interface of a run that its `Far` cluster uses."""

    @property
    def setup(self) -> Setup: ...
    @property
    def loop(self) -> SimulationLoop: ...
    @property
    def judge(self) -> Judge: ...
    @property
    def tape(self) -> Tape: ...
    @property
    def chance(self) -> Chance: ...
    def dice(self, name: str) -> Random: ...
    def now(self) -> datetime: ...


class Far:
    """The far cluster, with its own server and control plane. While ``is_cut`` is true, users reach it, but no process
    of the program does.
    """

    manager = None
    far = None

    def __init__(self, world: Lands) -> None:
        self._world = world
        self.setup = setup = world.setup
        self._users_work_here = not setup.program().home
        self.history = History(world.loop.time, world.chance.starred)
        self.plan = Plan()
        self.tape = world.tape
        self.wishes = Wishes()
        self.plane = Plane(self)
        stage = cast("Backstage", self)  # the scenario waits in the near cluster only
        self.cluster = SimulatedCluster(
            stage, objects=setup.objects, crds=setup.crds, nodes=setup.nodes, namespace=setup.namespace
        )
        self.server = self.cluster.server
        self._front = Front(self.server, self.history)
        self._port = Port(self)
        self.is_cut = False
        self.server_actor = Actor("far server", "server")
        self._wires: list[FarWire] = []
        self.land = Land(self.history, world.chance, f"@{FAR}")

    # -- before the run ------------------------------------------------------------------------------------------------

    async def warm(self, stack: Any) -> None:
        """Prepares everything up to the point at which the controllers start."""
        cluster = self.cluster
        await stack.enter_async_context(cluster.server)
        cluster.client = self.connect("user")
        for definition in cluster._definitions(cluster._custom_kinds()):
            await cluster._install(definition)
        await self.plane.start(cluster)
        for obj in self.setup.objects:
            await cluster.client.create(obj)

    def connect(self, name: str) -> Client:
        return Client(self._port, namespace=self.setup.namespace, random=self.dice(name))

    def dice(self, name: str) -> Random:
        return self._world.dice(f"{FAR} {name}")

    def now(self) -> datetime:
        return self._world.now()

    # -- the run -------------------------------------------------------------------------------------------------------

    def begin(self, seed: int, skip: int) -> None:
        """Begins to record the history: earlier changes are not part of it."""
        self._front.seed = f"{FAR} {seed}"
        self.land.begin()
        self.history.restart(self._world.loop.time, skip)
        self.history.watchers.append(self._changed)

    async def handle(self, request: Request) -> Answered:
        return await self._front.handle(request)

    async def mirror(self, request: Request) -> None:
        """Repeats in the far cluster a request that a user made in the near cluster. Does nothing if the program has
        controllers that run only in the near cluster, because these controllers write the far cluster's objects on
        behalf of users.
        """
        if not self._users_work_here:
            return
        await self.handle(replace(request, body=_of_no_version(request.body)))

    def _changed(self, entry: Entry) -> None:
        if entry.lane != "controller":
            return
        subject = f"{entry.collection}@{FAR} {entry.label}"
        judge = self._world.judge
        self.tape.tell("controller", entry.author, "writes", f"{entry.type.lower()} {subject}")
        if judge.quiet_since:
            judge.found("quiet", subject, f"{subject} was written {judge.quiet_since}, though all was as it should be")

    def wire(self, life: Life) -> FarWire:
        made = FarWire(self, life)
        self._wires.append(made)
        return made

    def cut_off(self) -> None:
        """Cuts the cluster off: from now on no process of the program reaches it."""
        self.is_cut = True
        for wire in self._wires:
            wire.hang_up()

    def restore(self) -> None:
        self.is_cut = False


class FarWire:
    """The connection of one process to the far cluster: either all requests get through or none do."""

    def __init__(self, far: Far, life: Life) -> None:
        self._far = far
        self._life = life
        self._gate = Gate()
        self.streams: list[Stream] = []

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        return Exchange(self, request)

    async def close(self) -> None:
        self.hang_up()
        self._gate.missing = 0

    def hang_up(self) -> None:
        """Breaks all connections."""
        for stream in list(self.streams):
            stream.hang_up()

    def cut(self) -> None:
        """Closes the server's side of all watches, as when the process ends."""
        for stream in self.streams:
            stream.cut()
        self.streams.clear()

    def listens(self) -> bool:
        """Whether every broken watch has been opened again. True while the cluster is cut off, because no watch can be
        opened then.
        """
        return self._far.is_cut or not self._gate.missing

    @property
    def reaches(self) -> bool:
        return not self._far.is_cut

    async def exchange(self, request: Request) -> Response:
        if request.allowed is not None:
            request.allowed()
        self._check(sent=False)
        await asyncio.sleep(LATENCY)
        self._check(sent=False)
        asked = Asked.of(request)
        is_watch = asked is not None and asked.verb == "watch"
        if is_watch:
            query = [pair for pair in request.query if pair[0] != "timeoutSeconds"]
            request = replace(request, query=(*query, ("timeoutSeconds", FOREVER)), idle_timeout=None)
        answer = await self._far.handle(request)
        if is_watch and not isinstance(answer.body, bytes):
            stream = Stream(self, self._far.server_actor, request, self._gate, answer.body)
            self.streams.append(stream)
            return stream
        body = answer.body
        if not isinstance(body, bytes):
            body = b"".join([chunk async for chunk in body])
        self._check(sent=True)
        return Answer(answer.status, answer.headers, body)

    def _check(self, *, sent: bool) -> None:
        if self._far.is_cut:
            raise TransportError("no route to host", sent=sent, reset=False)

    # -- for its streams -----------------------------------------------------------------------------------------------

    def saw(self, raw: bytes) -> None:
        """Does nothing: the uids that a process has seen are needed only to judge its deletions in the near cluster."""

    def heard_of(self, gate: Gate, revision: int) -> None:
        """Does nothing: faults don't hit single changes in the far cluster."""

    def ordered(self, lines: list[bytes]) -> Iterable[bytes]:
        return lines


def _of_no_version(body: bytes | None) -> bytes | None:
    """The body without its preconditions (the uid and the resourceVersion), which refer to the near cluster's object. A
    body that is not a JSON object is returned unchanged.
    """
    if not body or body[:1] != b"{":
        return body
    try:
        document = msgspec.json.decode(body)
    except msgspec.MsgspecError:
        return body
    document.pop("preconditions", None)
    if isinstance(meta := document.get("metadata"), dict):
        for name in ("uid", "resourceVersion"):
            meta.pop(name, None)
    return msgspec.json.encode(document)
