"""Edge: the layer between the program's connections and the server. It makes requests fail."""

from __future__ import annotations

import asyncio
from typing import Never, Protocol, cast

import msgspec
from msgspec.structs import replace

from setpoint.apiserver.http_types import HungUp, Request, Response
from setpoint.apiserver.requests import protobuf
from setpoint.apiserver.requests.body import content_type
from setpoint.client.transport import Request as ClientRequest
from setpoint.simulation.faults.plan import Fault
from setpoint.simulation.injection import responses
from setpoint.simulation.injection.watch_stream import WatchGate
from setpoint.simulation.network.faulty_transport import ASIDE
from setpoint.simulation.network.request_faults import RequestHost, exchange
from setpoint.simulation.network.write_handler import Writer
from setpoint.simulation.sandbox.actor import AUTHOR
from setpoint.simulation.trace.history import Entry, History
from setpoint.simulation.trace.operation import Operation
from setpoint.testing.fake_answers import Answer, refusal
from setpoint.torture.watches import GatedWatch


class Victim(Writer, Protocol):
    """The program whose requests fail."""

    @property
    def started_at(self) -> float: ...
    def crash(self, fault: Fault) -> None: ...


class EdgeHost(RequestHost, Protocol):
    """The interface of a run that the `Edge` of its server uses. ``handle`` answers as the server does."""

    @property
    def history(self) -> History: ...
    @property
    def supervisor(self) -> Victim: ...
    @property
    def changed_at(self) -> float: ...
    async def handle(self, request: Request) -> Response: ...
    def drain(self) -> None: ...


class Edge:
    """The server as the program under test sees it. It answers like `ApiServer`, except where a fault strikes."""

    def __init__(self, world: EdgeHost) -> None:
        self._world = world
        self.gates: dict[str, WatchGate] = {}
        self.streams_lists = True
        self.requests = 0
        """The number of requests since the last start of the program."""
        self.under_way = 0
        """The number of requests in progress other than watches."""
        self.requested_at = 0.0
        """The loop time of the last request, or of the end of the last answer."""
        self.wrote_at = 0.0
        self.longest_pause = 0.0
        """The longest silence before a write of the program, in seconds."""
        self._last_event = ""

    def drain(self) -> None:
        self._world.drain()

    def watched(self) -> set[str]:
        """The kinds that the program is watching at the moment."""
        return {name for name, gate in self.gates.items() if gate.streams}

    @property
    def is_held_back(self) -> bool:
        """Whether changes of any kind are being kept from the program."""
        return any(gate.since is not None for gate in self.gates.values())

    def gate(self, collection: str) -> WatchGate:
        gate = self.gates.get(collection)
        if gate is None:
            gate = self.gates[collection] = WatchGate()
        return gate

    def expire_watches(self) -> None:
        """Ends all watches of the program with 410."""
        for gate in self.gates.values():
            for stream in list(gate.streams):
                stream.fail()

    # -- requests ------------------------------------------------------------------------------------------------------

    async def handle(self, request: Request) -> Response:
        """Answers a request of the program.

        Raises:
            HungUp: a fault breaks the connection.
        """
        self.requests += 1
        operation = _operation_of(request)
        if operation is not None and operation.collection in ASIDE:
            return await self._plain(request)
        if operation is not None and operation.verb == "watch":
            return await self._watch(request, operation)
        loop = asyncio.get_running_loop()
        now = loop.time()
        if operation is not None and not operation.is_read:
            before = max(self.requested_at, self._world.changed_at, self._world.supervisor.started_at)
            self.longest_pause = max(self.longest_pause, now - before)
            self.wrote_at = now
        self.requested_at = now
        self.under_way += 1
        try:
            if operation is None:
                return await self._plain(request)
            if operation.verb == "list":
                since = self.gate(operation.collection).since
                return await self._plain(replace(request, query=responses.make_query_stale(request.query, since)))
            return await exchange(self._world, self, cast("ClientRequest", request), operation)
        finally:
            self.under_way -= 1
            self.requested_at = loop.time()

    @property
    def process(self) -> Victim:
        return self._world.supervisor

    async def depart(self, request: ClientRequest, freeze: Fault | None) -> None:
        """Does nothing: the request is on its way already."""

    async def crash(self, fault: Fault) -> Never:
        self.process.crash(fault)
        raise HungUp("the program was killed")

    def connection_error(self, text: str) -> HungUp:
        return HungUp(f"the connection broke {text}")

    def time_out(self) -> Response:
        return timed_out()

    def refuse(self, answer: Answer) -> Response:
        return _response(answer)

    async def forward(self, request: ClientRequest, operation: Operation, point: str) -> Response:
        world = self._world
        revision = world.history.revision
        response = await self._plain(cast("Request", request))
        if not operation.is_read:
            world.write_handler.record_write(
                self.process, operation, point, response.status, revision, None, view=self._describe_view()
            )
        return response

    async def _plain(self, request: Request) -> Response:
        """The server's answer to the request, whose writes are attributed to the program."""
        token = AUTHOR.set(self._world.supervisor.actor)
        try:
            return await self._world.handle(request)
        finally:
            AUTHOR.reset(token)

    def _describe_view(self) -> str:
        """The last event that the program was shown, and the numbers of those that are being kept from it."""
        parts = [self._last_event] if self._last_event else []
        for name, gate in sorted(self.gates.items()):
            if count := max((len(stream.delayed) for stream in gate.streams), default=0):
                parts.append(f"{count} of {name} delayed")
        return "; ".join(parts)

    # -- caches --------------------------------------------------------------------------------------------------------

    def changed(self, entry: Entry) -> None:
        """Carries out the faults that hit a change. The run calls this for each change, before any watch shows it."""
        gate = self.gates.get(entry.collection)
        if gate is not None and gate.streams:
            self._world.injector.change(gate, entry)

    async def _watch(self, request: Request, operation: Operation) -> Response:
        gate = self.gate(operation.collection)
        streaming = any(name == "sendInitialEvents" for name, _ in request.query)
        if streaming and (gate.since is not None or not self.streams_lists):
            return _response(responses.refuse_streamed_list())
        response = await self._plain(request)
        if isinstance(response.body, bytes):
            return response
        self.requested_at = asyncio.get_running_loop().time()
        response.body = GatedWatch(gate, operation.collection, response, initial=streaming, on_event=self._note)
        return response

    def _note(self, event: str) -> None:
        self._last_event = event

    def forget(self) -> None:
        """Resets the record of requests and events, because the program is being started again."""
        self.requests = 0
        self._last_event = ""


def _operation_of(request: Request) -> Operation | None:
    """The parts of ``request``; None if its path is not that of a resource. Protobuf bodies are converted to JSON
    first.
    """
    if request.body and content_type(request.headers) == protobuf.PROTOBUF_TYPE:
        try:
            body = msgspec.json.encode(protobuf.decode(request.body))
        except ValueError:
            body = None  # the server says what is wrong with it
        request = replace(request, body=body)
    return Operation.of(cast("ClientRequest", request))


def timed_out() -> Response:
    """A kube-apiserver's answer to a request that took too long. The request might still be carried out."""
    text = "Timeout: request did not complete within requested timeout - context deadline exceeded"
    return _response(refusal(504, "Timeout", text))


def _response(answer: Answer) -> Response:
    return Response(answer.status, dict(answer.headers), answer.body)
