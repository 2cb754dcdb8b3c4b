"""Faulty transport: the only connection between a controller's process and the server. Faults hit the process's
requests here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from random import Random
from types import TracebackType
from typing import Final, Never, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from setpoint.apiserver import AccessRecord
from setpoint.apiserver.http_types import Response as Answered
from setpoint.client.transport import Request, Response, TransportError
from setpoint.controller.context import current
from setpoint.simulation.faults.plan import Fault
from setpoint.simulation.injection import responses
from setpoint.simulation.injection.process_under_test import ProcessControl
from setpoint.simulation.injection.watch_stream import WatchGate, WatchStream, uids_in
from setpoint.simulation.network.request_faults import RequestHost, exchange
from setpoint.simulation.sandbox.actor import Actor
from setpoint.simulation.scenario.simulation_options import Setup
from setpoint.simulation.trace.history import History
from setpoint.simulation.trace.operation import Operation
from setpoint.testing.fake_answers import Answer

T = TypeVar("T")
LATENCY: Final = 0.001
"""Seconds that a request is in transit, so that other requests can arrive in between."""
SOON: Final = 1.0
"""Seconds within which a cache begins to watch after it has listed."""
LATENCIES: Final = (1, 2, 3, 5, 8, 13, 21)
FOREVER: Final = str(10**9)
ASIDE: Final = frozenset({"events", "events.events.k8s.io", "leases.coordination.k8s.io"})
"""Collections to which the framework itself sends requests, for reports and elections. Faults hit only a cache's
requests for them, since caches belong to controllers, and those of a reconcile for a lease that belongs to no election.
"""


class NetworkHost(RequestHost, Protocol):
    """The interface of a run that the `FaultyTransport` of each process uses."""

    @property
    def setup(self) -> Setup: ...
    @property
    def server_actor(self) -> Actor: ...
    @property
    def history(self) -> History: ...
    async def handle(self, request: Request) -> Answered: ...


class FaultyTransport:
    """The transport of one process. When the process dies, nothing gets through any more in either direction."""

    def __init__(self, network: NetworkHost, process: ProcessControl) -> None:
        self._network = network
        self.process = process
        self.gates: dict[str, WatchGate] = {}
        self.streams: list[WatchStream] = []
        self.streams_lists = True
        """Whether the server can stream lists, which are consistent reads."""
        self._listed: dict[tuple[str, ...], float] = {}
        """The caches' lists that have not been followed by a watch yet, each with the loop time by which the watch
        should begin.
        """
        self.reverses = False
        self.random_order: Random | None = None
        """Draws the latency of each request and the order of lists; None if both are fixed."""
        self.record = None if network.setup.is_rehearsal else AccessRecord.from_environment()

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        return Exchange(self, request)

    async def close(self) -> None:
        for stream in list(self.streams):
            stream.hang_up()
        for gate in self.gates.values():
            gate.missing = 0
        self._listed.clear()

    def cut(self) -> None:
        """Closes the connections, as happens when the process ends: the server sees that they are closed."""
        for stream in self.streams:
            stream.cut()
        self.streams.clear()

    def gate(self, collection: str) -> WatchGate:
        gate = self.gates.get(collection)
        if gate is None:
            gate = self.gates[collection] = WatchGate()
        return gate

    # -- watches -------------------------------------------------------------------------------------------------------

    def listens(self) -> bool:
        """Whether no reader is about to list or to watch: every watch that was ended has been opened again, and every
        recent list has been followed by its watch.
        """
        now = asyncio.get_running_loop().time()
        return not any(gate.missing for gate in self.gates.values()) and all(now >= at for at in self._listed.values())

    def inject_at(self, gate: WatchGate, revision: int) -> None:
        """Carries out the faults that hit the change with ``revision`` when it arrives at the gate."""
        entry = self._network.history.by_revision.get(revision)
        if entry is not None:
            self._network.injector.change(gate, entry)

    def note_reads(self, raw: bytes) -> None:
        self.process.seen_uids |= uids_in(raw)

    def ordered(self, lines: list[bytes]) -> Iterable[bytes]:
        """The initial events of a streamed list in one of the possible orders, with the bookmark last. The API does not
        guarantee an order.
        """
        return [*self._order(lines[:-1]), lines[-1]]

    def _order(self, items: list[T]) -> list[T]:
        if self.random_order is not None:
            return self.random_order.sample(items, len(items))
        return items[::-1] if self.reverses else items

    def latency(self) -> float:
        """The time in seconds that the next request spends in transit."""
        return LATENCY if self.random_order is None else LATENCY * self.random_order.choice(LATENCIES)

    # -- requests ------------------------------------------------------------------------------------------------------

    async def exchange(self, request: Request) -> Response:
        network = self._network
        if self.record is not None:
            self.record.note_request(request)
        operation = Operation.of(request)
        if operation is not None and operation.verb == "watch":
            network.history.watched.add(operation.collection)
            return await self._watch(request, operation)
        with self.process.calling():
            return await self._request(request, operation)

    async def _request(self, request: Request, operation: Operation | None) -> Answer:
        network = self._network
        caching = operation is not None and operation.verb == "list" and request.timeout is None
        if operation is None or (operation.collection in ASIDE and not caching and self._is_ours(operation)):
            await asyncio.sleep(self.latency())
            return await self._plain(request)
        if caching:
            since = self.gate(operation.collection).since
            request = replace(request, query=responses.make_query_stale(request.query, since))
            await asyncio.sleep(self.latency())
            listed = self._reordered(await self._plain(request))
            if listed.status == 200:
                self._listed[_selection(request)] = asyncio.get_running_loop().time() + SOON
            return listed
        answer = await exchange(network, self, request, operation)
        return self._reordered(answer) if operation.verb == "list" else answer

    def _is_ours(self, operation: Operation) -> bool:
        """Whether the framework sends the request, and not a reconcile: a controller may use a lease as a lock."""
        return current.get() is None or operation.collection in self._network.history.unrecorded

    async def depart(self, request: Request, freeze: Fault | None) -> None:
        if freeze is not None:
            await self.process.freeze(freeze)
        if request.allowed is not None:
            request.allowed()

    async def crash(self, fault: Fault) -> Never:
        await self.process.die(fault)

    def connection_error(self, text: str) -> TransportError:
        return TransportError(f"connection reset by peer {text}", sent=True, reset=False)

    def time_out(self) -> Never:
        raise TransportError("no answer in time", sent=True, timed_out=True)

    def refuse(self, answer: Answer) -> Answer:
        return answer

    async def forward(self, request: Request, operation: Operation, point: str) -> Answer:
        await asyncio.sleep(self.latency())
        network = self._network
        reading = operation.is_read
        target = None if reading else network.write_handler.target(operation)
        revision = network.history.revision
        answer = await self._plain(request)
        raw = answer.body
        if reading:
            self.note_reads(raw)
        else:
            network.write_handler.record_write(self.process, operation, point, answer.status, revision, target)
            self.note_reads(raw)
        return answer

    async def _plain(self, request: Request) -> Answer:
        answer = await self._network.handle(request)
        body = answer.body
        if not isinstance(body, bytes):
            body = b"".join([chunk async for chunk in body])
        return Answer(answer.status, answer.headers, body)

    # -- caches --------------------------------------------------------------------------------------------------------

    async def _watch(self, request: Request, operation: Operation) -> Response:
        gate = self.gate(operation.collection)
        selection = _selection(request)
        streaming = any(name == "sendInitialEvents" for name, _ in request.query)
        if streaming and not self.streams_lists:
            return responses.refuse_streamed_list()
        query = [pair for pair in request.query if pair[0] != "timeoutSeconds"]
        request = replace(request, query=(*query, ("timeoutSeconds", FOREVER)), idle_timeout=None)
        await asyncio.sleep(self.latency())
        answer = await self._network.handle(request)
        self._listed.pop(selection, None)
        if isinstance(answer.body, bytes):
            return Answer(answer.status, answer.headers, answer.body)
        stream = WatchStream(self, self._network.server_actor, request, gate, answer.body)
        self.streams.append(stream)
        return stream

    def _reordered(self, answer: Answer) -> Answer:
        if (self.reverses or self.random_order is not None) and answer.status == 200:
            document = msgspec.json.decode(answer.body, type=dict[str, msgspec.Raw])
            if "items" in document:
                items = msgspec.json.decode(document["items"], type=list[msgspec.Raw] | None) or []
                body = msgspec.json.encode({**document, "items": self._order(items)})
                answer = Answer(answer.status, answer.headers, body)
        self.note_reads(answer.body)
        return answer


def _selection(request: Request) -> tuple[str, ...]:
    """The path and the selectors of a list or watch."""
    return (request.path, *(value for name, value in sorted(request.query) if name.endswith("Selector")))


class Sends(Protocol):
    """The interface of a transport that an `Exchange` uses. Its streams are cut when its process dies."""

    streams: list[WatchStream]

    async def exchange(self, request: Request) -> Response: ...


class Exchange:
    """One request of a process, from its beginning to the end of its answer."""

    __slots__ = ("_request", "_response", "_transport")

    def __init__(self, transport: Sends, request: Request) -> None:
        self._transport = transport
        self._request = request
        self._response: Response | None = None

    async def __aenter__(self) -> Response:
        limit = self._request.timeout
        try:
            async with asyncio.timeout(limit):
                self._response = await self._transport.exchange(self._request)
        except TimeoutError:
            message = f"no answer to {self._request.method} {self._request.path} in time"
            raise TransportError(message, sent=True, timed_out=True) from None
        return self._response

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        response = self._response
        if isinstance(response, WatchStream):
            if response in self._transport.streams:
                self._transport.streams.remove(response)
            await response.aclose()
