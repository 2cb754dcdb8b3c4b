"""Requests and responses of the server's core, without sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Protocol

import msgspec


class HungUp(ConnectionError):
    """Raised instead of a response, or partway through one: the front breaks the connection, as a network failure
    would.
    """


class UserInfo(msgspec.Struct, frozen=True):
    """The user who makes a request."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)


SYSTEM_ADMIN = UserInfo("system:admin", groups=("system:masters", "system:authenticated"))
"""The default ``admin`` of a server: the user of requests without credentials if the server does not authenticate
clients.
"""


class Peer(msgspec.Struct, frozen=True):
    """The other end of a connection: its address, and the ``user`` of its certificate if the certificate
    was verified.
    """

    address: str = ""
    user: UserInfo | None = None


class IncomingRequest(Protocol):
    """The attributes of a request that the server reads. The requests of `setpoint.client.transport` have them too."""

    @property
    def method(self) -> str: ...
    @property
    def path(self) -> str:
        """The path, percent-decoded."""
        ...

    @property
    def query(self) -> tuple[tuple[str, str], ...]:
        """The parameters of the query as pairs of name and value, percent-decoded."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, with names in lower case.

        If a header occurs more than once, the first value is used, as in Go; the values of ``impersonate-`` headers are
        joined by newlines, which a value can't contain.
        """
        ...

    @property
    def body(self) -> bytes | None: ...


class Request(msgspec.Struct, frozen=True):
    """One request; see `IncomingRequest`. A request from the network has a ``peer``, and is authenticated if the server
    authenticates its clients. In all other cases, the sender is the user of the request's bearer token or, without a
    token, ``user``; a ``user`` of None stands for the server's ``admin``. An invalid token is refused if the server
    authenticates its clients, and ignored otherwise.
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    body: bytes | None = None
    user: UserInfo | None = None
    peer: Peer | None = None


class Socket(Protocol):
    """The server's side of an open WebSocket."""

    async def send(self, data: bytes) -> None:
        """Sends a message; does nothing if the client has disconnected."""
        ...

    async def receive(self) -> bytes | None:
        """The next message; None once the client has closed the WebSocket or disconnected."""
        ...


class Upgrade(msgspec.Struct, frozen=True):
    """The use of a connection after a response with status 101: a WebSocket with the subprotocol ``protocol``, which
    ``serve`` handles.
    """

    protocol: str
    serve: Callable[[Socket], Awaitable[None]]


class Response(msgspec.Struct):
    """One response. A ``body`` that is a stream is an async generator; its reader must call ``aclose()``."""

    status: int
    headers: dict[str, str]
    body: bytes | AsyncIterator[bytes]
    upgrade: Upgrade | None = None
