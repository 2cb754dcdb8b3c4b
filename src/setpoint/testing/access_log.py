"""The log of the permissions that controllers use in tests, for ``setpoint rbac``."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from setpoint.apiserver.access.attributes import requested
from setpoint.apiserver.http_types import UserInfo
from setpoint.client import Request

__all__ = ["VARIABLE", "AccessLog", "Asked", "read"]

Answer = TypeVar("Answer")
VARIABLE: Final = "SETPOINT_ACCESS_LOG"
"""The environment variable with the file to write to; without it nothing is logged."""
_ME: Final = UserInfo("controllers")
_APPLY: Final = "application/apply-patch"


class Asked(msgspec.Struct, frozen=True, order=True):
    """One thing that was asked for. ``resource`` has the subresource, as in ``pods/log``."""

    group: str
    resource: str
    verb: str
    namespace: str = ""
    name: str = ""


class AccessLog:
    """Appends each thing that controllers ask for to a file, once for each log.

    Any number of processes may append to one file at the same time: a line is one write.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: set[Asked] = set()

    @classmethod
    def from_environment(cls) -> AccessLog | None:
        """The log that `VARIABLE` asks for, if it does."""
        path = os.environ.get(VARIABLE)
        return cls(Path(path)) if path else None

    def note(self, request: Request) -> None:
        """Logs what a request asks for. An apply may create, so servers ask for that permission, too."""
        found = requested(request.method, request.path, request.query, _ME)
        if not found.is_resource:
            return
        verbs = [found.verb]
        if found.verb == "patch" and not found.subresource:
            kind = str(request.headers.get("content-type", ""))
            verbs += ["create"] if kind.startswith(_APPLY) else []
        fresh = [
            asked
            for verb in verbs
            if (asked := Asked(found.group, found.combined, verb, found.namespace, found.name)) not in self._seen
        ]
        if fresh:
            self._seen.update(fresh)
            with self._path.open("ab", buffering=0) as file:
                file.write(b"".join(msgspec.json.encode(asked) + b"\n" for asked in fresh))

    def noting(self, handler: Callable[[Request], Awaitable[Answer]]) -> Callable[[Request], Awaitable[Answer]]:
        """The handler of a transport, with every request noted before it is handled."""

        async def noted(request: Request) -> Answer:
            self.note(request)
            return await handler(request)

        return noted


def read(path: Path) -> list[Asked]:
    """The content of a log, each thing once, in order; nothing if there is no file.

    Raises:
        OSError: it can't be read.
        msgspec.DecodeError: it is not a log.
    """
    if not path.exists():
        return []
    lines = path.read_bytes().splitlines()
    return sorted({msgspec.json.decode(line, type=Asked) for line in lines})
