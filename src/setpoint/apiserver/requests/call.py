"""One request in progress, with everything that its handlers share."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from datetime import datetime
from random import Random
from typing import Final

from setpoint.apiserver.authorization.attributes import Attributes, requested
from setpoint.apiserver.authorization.authorizer import Authorizer, Decision
from setpoint.apiserver.errors import not_found
from setpoint.apiserver.http_types import IncomingRequest, UserInfo
from setpoint.apiserver.objects.versions import PLAIN, Versions
from setpoint.apiserver.replay import Replay
from setpoint.apiserver.requests.admission import Admission
from setpoint.apiserver.requests.options import Query
from setpoint.apiserver.requests.path import ResourcePath
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.apiserver.resources.service_networks import ServiceNetwork
from setpoint.apiserver.resources.write_context import AdmissionConfigurations, Definitions
from setpoint.apiserver.state import State
from setpoint.apiserver.storage import Record
from setpoint.meta import format_time
from setpoint.schema import FieldError

_UNFIT: Final = frozenset({"Cc", "Cs"})
"""The Unicode categories of control characters and of halves of surrogate pairs."""
_WARNINGS: Final = 4096
_LONGEST_WARNING: Final = 256
"""The maximum length of each warning if all warnings together have more than `_WARNINGS` characters, as in upstream."""


class Call:
    """A request in progress. ``served`` is the requested resource, and ``path`` is the parsed path.

    ``warnings`` collects the texts of warning headers, and ``missing`` collects the required fields that the incoming
    object lacks. ``admission`` is None if no webhook or policy is configured, and for the server's own changes.
    ``replay`` is None for a request that runs without interruption; it uses the server's own clock and random numbers.
    """

    __slots__ = (
        *(
            "_cutting",
            "_room",
            "_timestamp",
            "_warned",
            "admission",
            "missing",
            "path",
            "query",
            "replay",
            "request",
            "served",
        ),
        *("state", "storage", "user", "versions", "warnings"),
    )

    def __init__(
        self,
        state: State,
        request: IncomingRequest,
        path: ResourcePath,
        served: ServedResource,
        query: Query,
        user: UserInfo,
        replay: Replay | None = None,
    ) -> None:
        self.state = state
        self.request = request
        self.path = path
        self.served = served
        self.query = query
        self.user = user
        self.warnings: list[str] = []
        self._warned: set[str] = set()
        self._room = _WARNINGS
        self._cutting = False
        self._timestamp = ""
        self.missing: list[FieldError] = []
        self.admission: Admission | None = None
        self.replay = replay
        self.storage = state.storage
        self.versions = PLAIN if replay is None else Versions(replay)

    @property
    def authorizer(self) -> Authorizer | None:
        return self.state.authorizer

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def verb(self) -> str:
        return requested(self.request.method, self.request.path, self.request.query, self.user).verb

    @property
    def subresource(self) -> str:
        return self.path.subresource

    @property
    def definitions(self) -> Definitions:
        return self.state.definitions

    @property
    def configurations(self) -> AdmissionConfigurations:
        return self.state.configurations

    def existing(self) -> Record:
        """The stored record of the object that the path names. Raises ApiStatusError (404)."""
        served, path = self.served, self.path
        record = self.storage.get(served.collection, path.namespace, path.name)
        if record is None:
            raise not_found(served.group_resource, path.name)
        return record

    @property
    def dry_run(self) -> bool:
        return bool(self.query.all("dryRun"))

    @property
    def plugins_off(self) -> Collection[str]:
        return self.state.plugins_off

    @property
    def service_networks(self) -> Sequence[ServiceNetwork]:
        return self.state.service_networks

    @property
    def random(self) -> Random:
        return self.state.random if self.replay is None else self.replay.random

    def now(self) -> datetime:
        return self.state.now() if self.replay is None else self.replay.moment

    def timestamp(self) -> str:
        """The time of the request's first question for it."""
        if not self._timestamp:
            self._timestamp = format_time(self.now())
        return self._timestamp

    def annotate(self, key: str, value: str) -> None:
        """Adds an annotation to the request's event in the audit log, if there is one."""
        notes = self.state.notes.get(id(self.request))
        if notes is not None:
            notes[key] = value

    def note_refusal(self, attributes: Attributes) -> None:
        """Adds a permission that the user lacks to the server's access record, if there is one."""
        if self.state.access_record is not None:
            self.state.access_record.note(attributes, Decision(False))

    def warn(self, text: str) -> None:
        """Adds a warning, unless it was added before. If all warnings together are too long for headers, each is cut; a
        warning that still does not fit is left out. So is a text that no header can hold: an empty one, or one with
        control characters.
        """
        if text in self._warned or not text or any(unicodedata.category(character) in _UNFIT for character in text):
            return
        if self._room < len(text) and not self._cutting:
            self._cutting = True
            self.warnings = [warning[:_LONGEST_WARNING] for warning in self.warnings]
            self._room = _WARNINGS - sum(map(len, self.warnings))
        warning = text[:_LONGEST_WARNING] if self._cutting else text
        if len(warning) <= self._room:
            self._room -= len(warning)
            self._warned.add(text)
            self.warnings.append(warning)

    def manager(self, requested: str) -> str:
        """The field manager of this request: ``requested``, or else the user agent up to its first slash,
        at most 128 characters; ``unknown`` if both are empty.
        """
        if requested:
            return requested
        agent = self.request.headers.get("user-agent", "").split("/", 1)[0]
        return "".join(character for character in agent if character.isprintable())[:128] or "unknown"
