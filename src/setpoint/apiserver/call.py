"""One request under way: what it asks for and what its handlers share."""

from __future__ import annotations

from datetime import datetime
from random import Random
from typing import TYPE_CHECKING, Final

from setpoint.apiserver.behaviour import AdmissionConfigurations, Definitions
from setpoint.apiserver.http_types import IncomingRequest, UserInfo
from setpoint.apiserver.options import Query
from setpoint.apiserver.registry import Served
from setpoint.apiserver.request_info import ResourcePath
from setpoint.apiserver.storage import Storage
from setpoint.meta import format_time
from setpoint.schema import FieldError

if TYPE_CHECKING:
    from setpoint.apiserver.hooks.admission import Admission
    from setpoint.apiserver.server import ApiServer

__all__ = ["Call"]

_WARNINGS: Final = 4096
_LONGEST_WARNING: Final = 256
"""Characters of all warnings, and of one where they would be more; upstream's."""


class Call:
    """``served`` and ``path`` say what the request is about.

    ``warnings`` collects what the headers will say, ``missing`` the fields that the object which came in lacks.
    ``admission`` is None where no webhook is configured, and for what the server does by itself.
    """

    __slots__ = (
        *("_cutting", "_room", "_turn", "_warned", "admission", "missing", "path", "query", "request", "served"),
        *("server", "user", "warnings"),
    )

    def __init__(
        self,
        server: ApiServer,
        request: IncomingRequest,
        path: ResourcePath,
        served: Served,
        query: Query,
        user: UserInfo,
    ) -> None:
        self.server = server
        self.request = request
        self.path = path
        self.served = served
        self.query = query
        self.user = user
        self.warnings: list[str] = []
        self._warned: set[str] = set()
        self._room = _WARNINGS
        self._cutting = False
        self.missing: list[FieldError] = []
        self.admission: Admission | None = None
        self._turn = server.turn

    @property
    def subresource(self) -> str:
        return self.path.subresource

    @property
    def definitions(self) -> Definitions:
        return self.server.custom_resources

    @property
    def configurations(self) -> AdmissionConfigurations:
        return self.server.hooks

    @property
    def storage(self) -> Storage:
        return self.server.storage

    @property
    def random(self) -> Random:
        return self.server.random if self._turn is None else self._turn.random

    def now(self) -> datetime:
        return self.server.now() if self._turn is None else self._turn.moment

    def timestamp(self) -> str:
        return format_time(self.now())

    def warn(self, text: str) -> None:
        """Each text once; where they are more than headers should hold, each is cut, and what is over is left out."""
        if text in self._warned:
            return
        self._warned.add(text)
        if self._room < len(text) and not self._cutting:
            self._cutting = True
            self.warnings = [told[:_LONGEST_WARNING] for told in self.warnings]
            self._room = _WARNINGS - sum(map(len, self.warnings))
        if self._cutting:
            text = text[:_LONGEST_WARNING]
        if len(text) <= self._room:
            self._room -= len(text)
            self.warnings.append(text)

    def manager(self, given: str) -> str:
        """Who manages the fields that this request sets: as it says, else its user agent's first word."""
        if given:
            return given
        agent = self.request.headers.get("user-agent", "").split("/", 1)[0]
        return "".join(character for character in agent if character.isprintable())[:128] or "unknown"
