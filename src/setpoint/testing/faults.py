"""Faults between the controllers under test and the server, declared in one line each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Literal, Self

from setpoint.apiserver.requests.path import parse_path
from setpoint.client import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Expired,
    Forbidden,
    Gone,
    InternalError,
    Invalid,
    NotFound,
    Request,
    ServerTimeout,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
    Transport,
    TransportError,
    Unauthorized,
    WebSocket,
    connect_over,
)
from setpoint.client.transport import Response
from setpoint.meta import Object, resource_of
from setpoint.testing.fake_answers import refusal

Verb = Literal["get", "list", "watch", "create", "update", "patch", "apply", "delete", "write"]
"""The verb of a request; ``write`` stands for all verbs that change something."""
CODES: Final[dict[type[ApiError], int]] = {
    AlreadyExists: 409,
    BadRequest: 400,
    Conflict: 409,
    Expired: 410,
    Forbidden: 403,
    Gone: 410,
    InternalError: 500,
    Invalid: 422,
    NotFound: 404,
    ServerTimeout: 504,
    ServiceUnavailable: 503,
    Timeout: 504,
    TooManyRequests: 429,
    Unauthorized: 401,
}
_VERBS: Final[dict[str, Verb]] = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_READS: Final = ("get", "list", "watch")


@dataclass
class Fault:
    """One declared fault; ``left`` is the number of times that it will still occur."""

    plural: str
    group: str
    verb: Verb
    name: str
    subresource: str
    remaining: int
    before: Callable[[], Response | None] | None = None
    after: Callable[[], None] | None = None


class Hold:
    """Holds back the events of the watches of one kind until `release`, or until the end of its ``with`` block."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()

    def release(self) -> None:
        """Delivers all events that were held back, in order."""
        self.opened.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class Faults(Transport):
    """The connection of the controllers under test, with faults; `Cluster.faults` of `setpoint.testing.cluster`.

    ```python
    cluster.faults.fail(Pod, Conflict)              # the next write of a Pod is refused
    cluster.faults.lose_answer(Pod, verb="create")  # the next create is done, and its answer is lost
    with cluster.faults.hold(Pod):                  # caches of Pods receive no events
        ...
    ```

    Faults are consumed in the order in which they were declared, and only by the controllers' requests. ``verb`` is the
    verb of the request (default: any write); ``name`` limits a fault to one object; ``subresource`` limits it to one
    subresource: ``""`` is the object itself, ``"status"`` its status, ``"*"`` any.
    """

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._faults: list[Fault] = []
        self._holds: dict[tuple[str, str], Hold] = {}

    @property
    def remaining(self) -> int:
        """The number of times that the declared faults will still occur, in total."""
        return sum(fault.remaining for fault in self._faults)

    def fail(
        self,
        kind: type[Object],
        error: type[ApiError] | Exception = InternalError,
        *,
        verb: Verb = "write",
        name: str = "",
        subresource: str = "*",
        times: int = 1,
        message: str = "refused by a test",
        retry_after: int = 0,
    ) -> None:
        """Refuses the next ``times`` matching requests, which are not carried out. They are answered with ``error`` and
        ``message`` and, unless ``retry_after`` is 0, with that number of seconds in ``Retry-After``. If ``error`` is an
        exception, such as ``TransportError("connection refused", sent=False)``, it is raised instead.

        Raises:
            ValueError: ``error`` is a class that does not stand for a server's answer.
        """

        def refuse() -> Response:
            if isinstance(error, Exception):
                raise error
            return refusal(CODES[error], error.__name__, message, str(retry_after) if retry_after else "")

        if not isinstance(error, Exception) and error not in CODES:
            names = ", ".join(sorted(kind.__name__ for kind in CODES))
            raise ValueError(f"{error.__name__} is not an answer of a server; use one of {names}, or an exception")
        self._add(kind, verb, name, subresource, times, before=refuse)

    def lose_request(
        self, kind: type[Object], *, verb: Verb = "write", name: str = "", subresource: str = "*", times: int = 1
    ) -> None:
        """Loses the next ``times`` matching requests before they reach the server. They fail with a TransportError that
        does not tell the controller whether they were carried out.
        """
        self._add(kind, verb, name, subresource, times, before=_break_connection("before the request got through"))

    def lose_answer(
        self, kind: type[Object], *, verb: Verb = "write", name: str = "", subresource: str = "*", times: int = 1
    ) -> None:
        """Loses the answers to the next ``times`` matching requests, which the server carries out. The requests fail
        with a TransportError.
        """
        self._add(kind, verb, name, subresource, times, after=_break_connection("before the answer came"))

    def hold(self, kind: type[Object]) -> Hold:
        """Holds back the events of a kind's watches from now on, until `Hold.release` or the end of the hold's ``with``
        block.
        """
        resource = resource_of(kind)
        hold = self._holds[resource.group, resource.plural] = Hold()
        return hold

    # -- the transport -------------------------------------------------------------------------------------------------

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        """Sends a request; the next matching fault, if any, applies to it. See `Transport.send`."""
        return self._send(request)

    @asynccontextmanager
    async def connect(self, request: Request, protocols: Sequence[str]) -> AsyncIterator[WebSocket]:
        """A WebSocket connection, which faults do not affect."""
        async with connect_over(self._inner, request, protocols) as socket:
            yield socket

    async def close(self) -> None:
        """Closes the underlying connection."""
        await self._inner.close()

    @asynccontextmanager
    async def _send(self, request: Request) -> AsyncIterator[Response]:
        path = parse_path(request.path)
        if path is None or not path.resource:
            async with self._inner.send(request) as response:
                yield response
            return
        verb = _verb(request, bool(path.name))
        fault = self._take(path.group, path.resource, verb, path.name, path.subresource)
        if fault is not None and fault.before is not None and (refused := fault.before()) is not None:
            yield refused
            return
        async with self._inner.send(request) as response:
            if fault is not None and fault.after is not None:
                await response.read()
                fault.after()
            yield _Watched(response, self, (path.group, path.resource)) if verb == "watch" else response

    def hold_of(self, place: tuple[str, str]) -> Hold | None:
        """The last hold on the watches of a kind, which may have been released; None if there was none. ``place`` is
        the group and the plural of the kind.
        """
        return self._holds.get(place)

    def _add(
        self,
        kind: type[Object],
        verb: Verb,
        name: str,
        subresource: str,
        times: int,
        *,
        before: Callable[[], Response | None] | None = None,
        after: Callable[[], None] | None = None,
    ) -> None:
        resource = resource_of(kind)
        self._faults.append(Fault(resource.plural, resource.group, verb, name, subresource, times, before, after))

    def _take(self, group: str, plural: str, verb: Verb, name: str, subresource: str) -> Fault | None:
        for fault in self._faults:
            if (
                fault.remaining > 0
                and (fault.group, fault.plural) == (group, plural)
                and (fault.verb == verb or (fault.verb == "write" and verb not in _READS))
                and fault.name in ("", name)
                and fault.subresource in ("*", subresource)
            ):
                fault.remaining -= 1
                return fault
        return None


class _Watched(Response):
    """A watch that may be held back."""

    def __init__(self, inner: Response, faults: Faults, place: tuple[str, str]) -> None:
        self.status, self.headers = inner.status, inner.headers
        self.idle_timeout = inner.idle_timeout
        self._inner = inner
        self._faults = faults
        self._place = place

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner.chunks():
            while (hold := self._faults.hold_of(self._place)) is not None and not hold.opened.is_set():
                await hold.opened.wait()
            yield chunk


def _verb(request: Request, is_named: bool) -> Verb:
    if request.method in ("GET", "HEAD"):
        return "watch" if ("watch", "true") in request.query else "get" if is_named else "list"
    if request.method == "PATCH" and "apply-patch" in request.headers.get("content-type", ""):
        return "apply"
    return _VERBS[request.method]


def _break_connection(when: str) -> Callable[[], None]:
    def lose() -> None:
        raise TransportError(f"connection reset by peer {when}", sent=True, reset=False)

    return lose
