"""A record of the requests that clients made, for tests of permissions and for tools that write roles."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from setpoint.apiserver.authorization.attributes import Attributes, requested
from setpoint.apiserver.authorization.authorizer import Decision
from setpoint.apiserver.http_types import IncomingRequest, UserInfo

R = TypeVar("R", bound=IncomingRequest)
Answer = TypeVar("Answer")
VARIABLE: Final = "SETPOINT_ACCESS_RECORD"
"""The environment variable that names the file for `AccessRecord.from_environment`."""
_ALLOWED: Final = Decision(True)
_CLIENT: Final = UserInfo("")
_APPLY: Final = "application/apply-patch"


class Access(msgspec.Struct, frozen=True, order=True):
    """One line of a record file. ``resource`` includes the subresource, as in ``pods/log``; a non-resource request has
    a ``url`` instead.
    """

    group: str
    resource: str
    verb: str
    namespace: str = ""
    name: str = ""
    url: str = ""


class AccessRecord:
    """Remembers every distinct request once, and which requests were refused.

        record = AccessRecord()
        async with ApiServer(access=Access(access_record=record)) as server:
            ...
        for attributes in record.attributes:
            print(attributes.verb, attributes.resource, attributes.namespace, attributes.name)

    Requests of the users named in ``ignore`` are not remembered. Requests to a server without an authorizer are
    remembered too: run a program on such a server, and derive the role that it needs from the record.

    With a ``file``, each new request is also appended to it, as a line that `read` understands. Any number of processes
    may append to one file at the same time, because each line is a single write.
    """

    def __init__(self, *, ignore: Collection[str] = (), file: Path | None = None) -> None:
        self._ignore = frozenset(ignore)
        self._file = file
        self._attributes: dict[tuple[str, ...], Attributes] = {}
        self._refused: dict[tuple[str, ...], tuple[Attributes, str]] = {}

    @classmethod
    def from_environment(cls) -> AccessRecord | None:
        """A record with the file that the environment variable `VARIABLE` names; None if it is unset or empty."""
        path = os.environ.get(VARIABLE)
        return cls(file=Path(path)) if path else None

    @property
    def attributes(self) -> list[Attributes]:
        """The distinct requests, in the order in which they were first made."""
        return list(self._attributes.values())

    @property
    def refused(self) -> list[tuple[Attributes, str]]:
        """The requests that the authorizer refused, each with its reason (often empty)."""
        return list(self._refused.values())

    def clear(self) -> None:
        """Forgets all requests; the lines in the file stay."""
        self._attributes.clear()
        self._refused.clear()

    def note(self, attributes: Attributes, decision: Decision) -> None:
        """Records one request; the server calls this method for each request."""
        user = attributes.user.name
        if user in self._ignore:
            return
        key = (
            *(user, attributes.verb, attributes.group, attributes.combined),
            *(attributes.namespace, attributes.name, attributes.path),
        )
        if key not in self._attributes:
            self._attributes[key] = attributes
            if self._file is not None:
                _append(self._file, attributes)
        if not decision.allowed:
            self._refused.setdefault(key, (attributes, decision.reason))

    def note_request(self, request: IncomingRequest) -> None:
        """Records one request; a transport calls this method for each request that it sends. An apply
        is also recorded as ``create``, because servers check that permission as well as ``patch``.
        """
        attributes = requested(request.method, request.path, request.query, _CLIENT)
        self.note(attributes, _ALLOWED)
        applies = request.headers.get("content-type", "").startswith(_APPLY)
        if attributes.verb == "patch" and applies and not attributes.subresource:
            self.note(replace(attributes, verb="create"), _ALLOWED)

    def noting(self, handler: Callable[[R], Awaitable[Answer]]) -> Callable[[R], Awaitable[Answer]]:
        """A handler that records every request before ``handler`` handles it."""

        async def noted(request: R) -> Answer:
            self.note_request(request)
            return await handler(request)

        return noted


def _append(file: Path, attributes: Attributes) -> None:
    if attributes.is_resource:
        line = Access(attributes.group, attributes.combined, attributes.verb, attributes.namespace, attributes.name)
    else:
        line = Access("", "", attributes.verb, url=attributes.path)
    with file.open("ab", buffering=0) as opened:
        opened.write(msgspec.json.encode(line) + b"\n")


def read(file: Path) -> list[Access]:
    """The distinct requests in a record file, sorted; empty if the file does not exist.

    Raises:
        OSError: the file can't be read.
        msgspec.DecodeError: the file is not a record.
    """
    if not file.exists():
        return []
    lines = file.read_bytes().splitlines()
    return sorted({msgspec.json.decode(line, type=Access) for line in lines})
