"""User transport: the transport from users and the control plane to the server. Faults do not hit it. Its watches have
no bookmarks and no timeouts, since these would be costly.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from setpoint.apiserver import ApiServer
from setpoint.apiserver.http_types import Response as Answered
from setpoint.apiserver.requests.path import parse_path
from setpoint.client.in_process_transport import InProcessTransport
from setpoint.client.transport import Request, Response
from setpoint.patch import merge_patch
from setpoint.simulation.comparison.write_diff_text import describe_write
from setpoint.simulation.sandbox.actor import ACTOR
from setpoint.simulation.scenario.desired_state import DesiredState
from setpoint.simulation.trace.history import History, sketch
from setpoint.simulation.trace.operation import Operation
from setpoint.simulation.trace.trace import Trace

_FOREVER = str(10**9)
_NO_STREAMS = Answered(422, {"content-type": "application/json"}, b'{"kind":"Status","code":422,"reason":"Invalid"}')
"""The answer to a request for a streamed list, which would end with a bookmark. This transport does not deliver
bookmarks, so readers list instead.
"""


class Mirror(Protocol):
    """A second cluster, in which the users' requests are repeated."""

    async def mirror(self, request: Request) -> None: ...


class UserTransportHost(Protocol):
    """The interface of a run, or of its far cluster, that a `UserTransport` uses."""

    @property
    def history(self) -> History: ...
    @property
    def trace(self) -> Trace: ...
    @property
    def desired_state(self) -> DesiredState: ...
    @property
    def remote_cluster(self) -> Mirror | None: ...
    @property
    def server(self) -> ApiServer: ...
    async def handle(self, request: Request) -> Answered: ...


class UserTransport:
    """A transport that calls the server's core directly and notes what users ask for."""

    def __init__(self, world: UserTransportHost) -> None:
        self._world = world
        self._inner = InProcessTransport(self._handle)

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        if ("watch", "true") in request.query:
            # Bookmarks and endings of the control plane's watches do not belong to any story.
            query = [pair for pair in request.query if pair[0] not in ("timeoutSeconds", "allowWatchBookmarks")]
            query.append(("timeoutSeconds", _FOREVER))
            request = replace(request, query=tuple(query), idle_timeout=None)
        return self._inner.send(request)

    async def close(self) -> None:
        await self._inner.close()

    async def _handle(self, request: Request) -> Any:
        world = self._world
        if ("sendInitialEvents", "true") in request.query:
            return _NO_STREAMS
        by_user = ACTOR.get() is None and world.history.recording
        if by_user and request.method != "GET":
            operation = Operation.of(request)
            text = operation.stem() if operation is not None else f"{request.method} {request.path}"
            world.trace.add("user", "user", "asks", text)
            place, revision = len(world.trace.lines) - 1, world.history.revision
            before = self._stored(operation) if operation is not None else None
            answer = await world.handle(request)
            if world.trace.details and operation is not None and world.history.revision != revision:
                self._trace_change(place, operation.verb)
            if answer.status < 300 and world.remote_cluster is not None:
                await world.remote_cluster.mirror(request)
            if operation is not None and answer.status < 300 and isinstance(answer.body, bytes):
                self._note(request, operation, answer.body, before)
            return answer
        return await world.handle(request)

    def _trace_change(self, place: int, verb: str) -> None:
        """Adds to a line of the trace what the newest write, which it is about, has changed."""
        world = self._world
        entry = world.history.by_revision.get(world.history.revision)
        if entry is not None:
            world.trace.lines[place] = replace(world.trace.lines[place], change=describe_write(verb, entry))

    def _note(self, request: Request, operation: Operation, body: bytes, before: Any) -> None:
        """Notes what the user has asked for in a request that succeeded."""
        if any(name == "dryRun" for name, _ in request.query):
            return
        if operation.subresource:
            path = request.path.removesuffix(f"/{operation.subresource}")
            after = self._stored(operation)
            if operation.subresource == "status" and before is not None and after is not None:
                # The user stands for the controller that reports it, such as a cloud's for load balancers.
                change = merge_patch.diff(before.get("status", {}), after.get("status", {}))
                self._world.desired_state.reported(path, change)
            elif operation.subresource == "scale" and after is not None:
                self._world.desired_state.record(path, after, before)
        elif operation.verb == "delete":
            self._take_back(request.path, operation.collection, operation.namespace, operation.name)
        elif operation.verb == "deletecollection":
            for item in msgspec.json.decode(body).get("items") or ():
                name = item["metadata"]["name"]
                self._take_back(f"{request.path}/{name}", operation.collection, operation.namespace, name)
        elif not (operation.namespace and self._is_leaving("namespaces", "", operation.namespace)):
            document = msgspec.json.decode(body)
            name = document.get("metadata", {}).get("name", "")
            path = request.path if operation.name and operation.verb != "create" else f"{request.path}/{name}"
            self._world.desired_state.record(path, document, before, request_body=request.body or b"")
            self._note_status(path, document.get("status"), before)

    def _take_back(self, path: str, collection: str, namespace: str, name: str) -> None:
        """Notes the deletion of an object, unless the object is still as it was (a dry run)."""
        exists = self._world.history.get(collection, namespace, name) is not None
        if not exists or self._is_leaving(collection, namespace, name):
            self._world.desired_state.withdraw(path)

    def _note_status(self, path: str, status: Any, before: dict[str, Any] | None) -> None:
        """Notes the status of an object that a user has written, if the user has set it with the object itself: the
        kind has no status subresource, or a kubelet registers its node together with the status.
        """
        parsed = parse_path(path)
        if parsed is None:
            return
        served = self._world.server.registry.find(parsed.group, parsed.version, parsed.resource)
        if served is None or (served.has_status and not (before is None and served.strategy.created_with_status)):
            return
        self._world.desired_state.reported(path, merge_patch.diff((before or {}).get("status"), status))

    def _is_leaving(self, collection: str, namespace: str, name: str) -> bool:
        record = self._world.history.get(collection, namespace, name)
        return record is not None and sketch(record.value).metadata.deletion_timestamp is not None

    def _stored(self, operation: Operation) -> dict[str, Any] | None:
        record = self._world.history.get(operation.collection, operation.namespace, operation.name)
        return None if record is None else msgspec.json.decode(record.value)
