"""Remote cluster: the second cluster of a fleet, which faults can cut off. Users make the same requests in it as in the
near cluster, unless the program has controllers that run only in the near cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from random import Random
from typing import Any, Final, Protocol, cast

import msgspec
from msgspec.structs import replace

from setpoint.apiserver.http_types import Response as Answered
from setpoint.client import Client
from setpoint.client.transport import Request, Response, TransportError
from setpoint.simulation.comparison.cluster_state import ClusterState
from setpoint.simulation.comparison.deterministic_random import RandomValues
from setpoint.simulation.faults.plan import Plan
from setpoint.simulation.injection.process_under_test import ProcessControl
from setpoint.simulation.injection.watch_stream import WatchGate, WatchStream
from setpoint.simulation.network.deterministic_server import DeterministicServer
from setpoint.simulation.network.faulty_transport import FOREVER, LATENCY, Exchange
from setpoint.simulation.network.user_transport import UserTransport
from setpoint.simulation.oracles.monitor import Monitor
from setpoint.simulation.sandbox.actor import Actor
from setpoint.simulation.sandbox.event_loop import SimulationLoop
from setpoint.simulation.scenario.desired_state import DesiredState
from setpoint.simulation.scenario.simulation_options import Setup
from setpoint.simulation.trace.history import Entry, History
from setpoint.simulation.trace.operation import Operation
from setpoint.simulation.trace.trace import Trace
from setpoint.simulation.world.control_plane import SimulatedControlPlane
from setpoint.simulation.world.scenario_cluster import ScenarioHost, SimulatedCluster
from setpoint.testing.fake_answers import Answer

NEAR: Final = "near"
FAR: Final = "far"


class RemoteHost(Protocol):
    """The interface of a run that its `RemoteCluster` cluster uses."""

    @property
    def setup(self) -> Setup: ...
    @property
    def loop(self) -> SimulationLoop: ...
    @property
    def monitor(self) -> Monitor: ...
    @property
    def trace(self) -> Trace: ...
    @property
    def random_values(self) -> RandomValues: ...
    def make_random(self, name: str) -> Random: ...
    def now(self) -> datetime: ...


class RemoteCluster:
    """The far cluster, with its own server and control plane. While ``is_cut`` is true, users reach it, but no process
    of the program does.
    """

    manager = None
    remote_cluster = None

    def __init__(self, world: RemoteHost) -> None:
        self._world = world
        self.setup = setup = world.setup
        self._users_work_here = not setup.program().home
        self.history = History(world.loop.time, world.random_values.starred)
        self.plan = Plan()
        self.trace = world.trace
        self.desired_state = DesiredState()
        self.control_plane = SimulatedControlPlane(self)
        stage = cast("ScenarioHost", self)  # the scenario waits in the near cluster only
        self.cluster = SimulatedCluster(stage, objects=setup.objects, crds=setup.crds, nodes=setup.nodes)
        self.server = self.cluster.server
        self._deterministic_server = DeterministicServer(self.server, self.history)
        self._user_transport = UserTransport(self)
        self.is_cut = False
        self.server_actor = Actor("far server", "server")
        self._wires: list[RemoteTransport] = []
        self.cluster_state = ClusterState(self.history, world.random_values.starred, f"@{FAR}")

    # -- before the run ------------------------------------------------------------------------------------------------

    async def warm(self, stack: Any) -> None:
        """Prepares everything up to the point at which the controllers start."""
        cluster = self.cluster
        await stack.enter_async_context(cluster.server)
        cluster.client = self.connect("user")
        for definition in cluster._definitions(cluster._custom_kinds()):
            await cluster._install(definition)
        await self.control_plane.start(cluster)
        for obj in self.setup.objects:
            await cluster.client.create(obj)

    def connect(self, name: str) -> Client:
        return Client(self._user_transport, namespace=self.setup.namespace, random=self.make_random(name))

    def make_random(self, name: str) -> Random:
        return self._world.make_random(f"{FAR} {name}")

    def now(self) -> datetime:
        return self._world.now()

    # -- the run -------------------------------------------------------------------------------------------------------

    def begin(self, seed: int, skip: int) -> None:
        """Begins to record the history: earlier changes are not part of it."""
        self._deterministic_server.seed = f"{FAR} {seed}"
        self.cluster_state.begin()
        self.history.restart(self._world.loop.time, skip)
        self.history.watchers.append(self._changed)

    async def handle(self, request: Request) -> Answered:
        return await self._deterministic_server.handle(request)

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
        monitor = self._world.monitor
        self.trace.add("controller", entry.author, "writes", f"{entry.type.lower()} {subject}")
        if monitor.quiet_phase:
            monitor.report(
                "quiet", subject, f"{subject} was written {monitor.quiet_phase}, although the desired state was reached"
            )

    def transport(self, process: ProcessControl) -> RemoteTransport:
        transport = RemoteTransport(self, process)
        self._wires.append(transport)
        return transport

    def cut_off(self) -> None:
        """Cuts the cluster off: from now on no process of the program reaches it."""
        self.is_cut = True
        for transport in self._wires:
            transport.hang_up()

    def restore(self) -> None:
        self.is_cut = False


class RemoteTransport:
    """The connection of one process to the far cluster: either all requests get through or none do."""

    def __init__(self, remote_cluster: RemoteCluster, process: ProcessControl) -> None:
        self._remote_cluster = remote_cluster
        self._process = process
        self._gate = WatchGate()
        self.streams: list[WatchStream] = []

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
        return self._remote_cluster.is_cut or not self._gate.missing

    @property
    def reaches(self) -> bool:
        return not self._remote_cluster.is_cut

    async def exchange(self, request: Request) -> Response:
        if request.allowed is not None:
            request.allowed()
        self._check(sent=False)
        await asyncio.sleep(LATENCY)
        self._check(sent=False)
        operation = Operation.of(request)
        is_watch = operation is not None and operation.verb == "watch"
        if is_watch:
            query = [pair for pair in request.query if pair[0] != "timeoutSeconds"]
            request = replace(request, query=(*query, ("timeoutSeconds", FOREVER)), idle_timeout=None)
        answer = await self._remote_cluster.handle(request)
        if is_watch and not isinstance(answer.body, bytes):
            stream = WatchStream(self, self._remote_cluster.server_actor, request, self._gate, answer.body)
            self.streams.append(stream)
            return stream
        body = answer.body
        if not isinstance(body, bytes):
            body = b"".join([chunk async for chunk in body])
        self._check(sent=True)
        return Answer(answer.status, answer.headers, body)

    def _check(self, *, sent: bool) -> None:
        if self._remote_cluster.is_cut:
            raise TransportError("no route to host", sent=sent, reset=False)

    # -- for its streams -----------------------------------------------------------------------------------------------

    def note_reads(self, raw: bytes) -> None:
        """Does nothing: the uids that a process has seen are needed only to judge its deletions in the near cluster."""

    def inject_at(self, gate: WatchGate, revision: int) -> None:
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
