"""Edge: the layer between the program's connections and the server. It makes requests fail."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, Final, Protocol, cast

import msgspec

from setpoint.apiserver import ApiServer
from setpoint.apiserver.http_types import HungUp, Request, Response
from setpoint.apiserver.requests import protobuf
from setpoint.apiserver.requests.body import content_type
from setpoint.client.transport import Request as ClientRequest
from setpoint.simulation.faults.plan import Fault
from setpoint.simulation.injection import responses
from setpoint.simulation.network.faulty_transport import ASIDE
from setpoint.simulation.oracles.monitor import Monitor
from setpoint.simulation.sandbox.actor import AUTHOR, Actor
from setpoint.simulation.trace.history import Entry, History, sketch
from setpoint.simulation.trace.operation import Operation
from setpoint.simulation.trace.result import Line, Point
from setpoint.simulation.trace.trace import Trace
from setpoint.testing.fake_answers import Answer, refusal
from setpoint.torture.lives import Lives
from setpoint.torture.steps import Steps
from setpoint.torture.streams import Gate, Held
from setpoint.torture.strikes import Strikes

SLOW: Final = 2.0
"""The default duration in seconds of a fault that delays a request, an answer or the events of a watch."""


class Inside(Protocol):
    """The part of a trial's interface that the `Edge` of its server uses."""

    @property
    def server(self) -> ApiServer: ...
    @property
    def history(self) -> History: ...
    @property
    def trace(self) -> Trace: ...
    @property
    def steps(self) -> Steps: ...
    @property
    def monitor(self) -> Monitor: ...
    @property
    def injector(self) -> Strikes: ...
    @property
    def lives(self) -> Lives: ...
    @property
    def changed_at(self) -> float: ...
    def start(self, work: Coroutine[Any, Any, None]) -> None: ...


class Edge:
    """The server as the program under test sees it. It answers like `ApiServer`, except where a fault strikes."""

    def __init__(self, trial: Inside) -> None:
        self._trial = trial
        self.gates: dict[str, Gate] = {}
        self.streams_lists = True
        self.requests = 0
        """The number of requests since the last start of the program."""
        self.under_way = 0
        """The number of requests in progress other than watches."""
        self.asked_at = 0.0
        """The loop time of the last request, or of the end of the last answer."""
        self.wrote_at = 0.0
        self.longest = 0.0
        """The longest silence before a write of the program, in seconds."""
        self._heard = ""

    def drain(self) -> None:
        self._trial.server.drain()

    def watched(self) -> set[str]:
        """The kinds that the program is watching at the moment."""
        return {name for name, gate in self.gates.items() if gate.streams}

    def gate(self, collection: str) -> Gate:
        found = self.gates.get(collection)
        if found is None:
            found = self.gates[collection] = Gate(collection)
        return found

    # -- requests ------------------------------------------------------------------------------------------------------

    async def handle(self, request: Request) -> Response:
        """Answers a request of the program.

        Raises:
            HungUp: a fault breaks the connection.
        """
        self.requests += 1
        operation = _asked(request)
        if operation is not None and operation.collection in ASIDE:
            return await self._plain(request)
        if operation is not None and operation.verb == "watch":
            return await self._watch(request, operation)
        loop = asyncio.get_running_loop()
        now = loop.time()
        if operation is not None and not operation.is_read:
            before = max(self.asked_at, self._trial.changed_at, self._trial.lives.started_at)
            self.longest = max(self.longest, now - before)
            self.wrote_at = now
        self.asked_at = now
        self.under_way += 1
        try:
            if operation is None:
                return await self._plain(request)
            if operation.verb == "list":
                since = self.gate(operation.collection).since
                return await self._plain(replace(request, query=responses.make_query_stale(request.query, since)))
            return await self._exchange(request, operation)
        finally:
            self.under_way -= 1
            self.asked_at = loop.time()

    async def _exchange(self, request: Request, operation: Operation) -> Response:
        trial = self._trial
        stem = operation.stem()
        point = trial.trace.number(stem)
        if operation.is_read:
            trial.trace.mark(Point(point, "read", trial.steps.number, operation.collection, operation.verb))
            self._tell("reads", stem, point)
        faults = {each.kind: each for each in trial.injector.take(point)}
        if "crash-before" in faults:
            trial.lives.crash(faults["crash-before"])
            raise HungUp("the program was killed before the request got through")
        if "slow-request" in faults:
            await self._linger(faults["slow-request"])
        if (refused := responses.make_error(faults.values())) is not None:
            self._tell("answers", f"{refused.status} injected", point, lane="server")
            return _response(refused)
        if "lost-request" in faults:
            raise HungUp("the connection broke before the request got through")
        if "late-write" in faults:
            self._arrive_late(request, operation, faults["late-write"])
            return timed_out()
        if "conflict" in faults:
            await self._touch(request, operation)
        revision = trial.history.revision
        answer = await self._plain(request)
        if not operation.is_read:
            self._wrote(operation, stem, point, answer, revision)
        if "crash-after" in faults:
            trial.lives.crash(faults["crash-after"])
            raise HungUp("the program was killed before the answer got through")
        if "lost-answer" in faults:
            if faults["lost-answer"].get("answer") == 504:
                self._tell("answers", "504 injected, though it was carried out", point, lane="server")
                return timed_out()
            raise HungUp("the connection broke before the answer got through")
        if "slow-answer" in faults:
            await self._linger(faults["slow-answer"])
        return answer

    async def _plain(self, request: Request) -> Response:
        """The server's answer to the request, whose writes are attributed to the program."""
        token = AUTHOR.set(self._trial.lives.actor)
        try:
            return await self._trial.server.handle(request)
        finally:
            AUTHOR.reset(token)

    def _wrote(self, operation: Operation, stem: str, point: str, answer: Response, revision: int) -> None:
        trial = self._trial
        changed = trial.history.revision != revision and answer.status < 300
        trial.trace.mark(
            Point(
                point,
                "write",
                trial.steps.number,
                operation.collection,
                operation.verb,
                changed,
                trial.history.revision,
                careful=operation.careful,
            )
        )
        self._tell(
            "writes",
            stem + ("" if changed else " (no change)" if answer.status < 300 else f" ({answer.status})"),
            point,
        )

    def _tell(self, what: str, text: str, point: str = "", *, lane: str = "controller") -> None:
        saw = ""
        if what == "writes":
            kept = [f"{gate.kept} of {name} kept back" for name, gate in sorted(self.gates.items()) if gate.kept]
            saw = "; ".join([self._heard, *kept] if self._heard else kept)
        name = self._trial.lives.actor.name if lane == "controller" else lane
        trace = self._trial.trace
        trace.lines.append(Line(round(trace.clock(), 3), lane, name, what, text, point, saw))

    # -- what goes wrong -----------------------------------------------------------------------------------------------

    async def _linger(self, fault: Fault) -> None:
        over = asyncio.get_running_loop().create_future()
        self._trial.steps.begin(fault, lambda: None if over.done() else over.set_result(None), seconds=SLOW)
        await over

    def _arrive_late(self, request: Request, operation: Operation, fault: Fault) -> None:
        """Carries out the request when the fault is over."""
        trial = self._trial

        async def arrive() -> None:
            trial.monitor.excusing = True  # its sender can't have known of it any more
            try:
                answer = await self._plain(request)
            finally:
                trial.monitor.excusing = False
            trial.trace.tell("server", "server", "late", f"a late {operation.stem()}: {answer.status}")

        trial.steps.begin(fault, lambda: trial.start(arrive()), seconds=SLOW)

    async def _touch(self, request: Request, operation: Operation) -> None:
        """Writes the object as a different program would, and reverts the change: the object has a new version, but the
        same content.
        """
        path = request.path.removesuffix(f"/{operation.subresource}") if operation.subresource else request.path
        headers = {"content-type": "application/merge-patch+json", "user-agent": "another-program"}
        for value in ("yes", None):
            body = msgspec.json.encode({"metadata": {"annotations": {"example.com/touched": value}}})
            token = AUTHOR.set(Actor("another program", "others"))
            try:
                await self._trial.server.handle(Request("PATCH", path, (), headers, body))
            finally:
                AUTHOR.reset(token)
        self._trial.trace.tell(
            "others", "another program", "writes", f"touches {operation.collection} {operation.label}"
        )

    # -- caches --------------------------------------------------------------------------------------------------------

    def changed(self, entry: Entry) -> None:
        """Carries out the faults that hit a change. The trial calls this for each change, before any watch shows it."""
        gate = self.gates.get(entry.collection)
        if gate is None or not gate.streams or gate.since is not None:
            return
        for each in self._trial.injector.take(entry.point, "lag", "hang-up", "expire"):
            if each.kind == "lag":
                gate.shut(entry.revision)
                relist = bool(each.get("relist"))
                self._trial.steps.begin(each, lambda relist=relist: gate.open(expired=relist), seconds=SLOW)  # type: ignore[misc]
            else:
                for stream in list(gate.streams):
                    (stream.hang_up if each.kind == "hang-up" else stream.expire)()

    async def _watch(self, request: Request, operation: Operation) -> Response:
        gate = self.gate(operation.collection)
        streaming = any(name == "sendInitialEvents" for name, _ in request.query)
        if streaming and (gate.since is not None or not self.streams_lists):
            return _response(responses.refuse_streamed_list())
        answer = await self._plain(request)
        if isinstance(answer.body, bytes):
            return answer
        self.asked_at = asyncio.get_running_loop().time()
        answer.body = Held(gate, answer, initial=streaming, told=self._note)
        return answer

    def _note(self, event: str) -> None:
        self._heard = event

    def forget(self) -> None:
        """Resets the record of requests and events, because the program is being started again."""
        self.requests = 0
        self._heard = ""


def _asked(request: Request) -> Operation | None:
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


def deletes_now(record: bytes) -> bool:
    """Whether the object with this JSON is being deleted."""
    return sketch(record).metadata.deletion_timestamp is not None
