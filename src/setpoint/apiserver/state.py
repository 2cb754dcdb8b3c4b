"""The parts of a server, for everything that answers requests. Only `setpoint.apiserver.server` makes one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from random import Random
from typing import Any, Final, Protocol

from setpoint.apiserver.access.attributes import Attributes, forbidden
from setpoint.apiserver.access.authorizer import Authorizer, Decision
from setpoint.apiserver.access.record import AccessRecord
from setpoint.apiserver.http_types import UserInfo
from setpoint.apiserver.reads import Reads
from setpoint.apiserver.replay import Lengthy, ObjectLocks, Replay
from setpoint.apiserver.resources.behaviour import AdmissionConfigurations, Definitions
from setpoint.apiserver.resources.registry import Registry, ServedResource
from setpoint.apiserver.storage import Damage, Storage
from setpoint.apiserver.streams.kubelets import Kubelets
from setpoint.apiserver.webhooks.caller import WebhookCaller
from setpoint.slices import Slicer

__all__ = ["DECISION", "LARGE", "REASON", "AccountTokens", "OpenWatch", "State", "TokenUsers"]

DECISION: Final = "authorization.k8s.io/decision"
REASON: Final = "authorization.k8s.io/reason"
"""Annotations of the audit log: whether a request was authorized, and why."""
LARGE: Final = 16 * 1024
"""Bytes of a body or an object that take more than a few milliseconds."""


class OpenWatch(Protocol):
    """One client's watch."""

    @property
    def served(self) -> ServedResource: ...
    def stop(self) -> None:
        """Ends the stream after what is under way."""
        ...


class AccountTokens(Protocol):
    """Tokens of service accounts."""

    @property
    def issuers(self) -> Sequence[str]:
        """The issuers whose tokens are accepted; the first one is this server."""
        ...

    @property
    def audiences(self) -> Sequence[str]:
        """The names of this server in tokens."""
        ...

    @property
    def jwks(self) -> list[dict[str, Any]]:
        """The public keys of tokens; none where a secret signs them."""
        ...

    @property
    def algorithms(self) -> list[str]:
        """Those that tokens are signed with."""
        ...

    def sign(self, claims: dict[str, Any]) -> str: ...


class TokenUsers(Protocol):
    """The users that tokens stand for."""

    def user_of(self, token: str, audiences: Sequence[str], now: datetime) -> tuple[UserInfo, list[str]]:
        """The token's user, and which of ``audiences`` it is for. Raises ValueError saying why it has none."""
        ...


class Metrics(Protocol):
    """The metrics of a server's requests."""

    def text(self, accept: str, watches: Iterable[OpenWatch]) -> tuple[bytes, str]:
        """All metrics in a format that the client accepts, and its content type."""
        ...


class State:
    """One server's storage, registry, clock and so on.

    ``definitions`` and ``configurations`` follow what is stored of their kinds. ``admin`` makes requests that come
    without a user. Without an ``authorizer``, everything is allowed.
    """

    definitions: Definitions

    def __init__(
        self,
        *,
        storage: Storage,
        configurations: AdmissionConfigurations,
        now: Callable[[], datetime],
        random: Random,
        authorizer: Authorizer | None,
        access_record: AccessRecord | None,
        account_tokens: AccountTokens,
        token_users: TokenUsers,
        admin: UserInfo,
        webhook_caller: WebhookCaller,
        bookmark_period: float,
        plugins_off: Collection[str],
    ) -> None:
        self.storage = storage
        self.configurations = configurations
        self.now = now
        self.random = random
        self.authorizer = authorizer
        self.access_record = access_record
        self.account_tokens = account_tokens
        self.token_users = token_users
        self.admin = admin
        self.webhook_caller = webhook_caller
        self.bookmark_period = bookmark_period
        self.kubelets: Kubelets | None = None
        """Answers what is asked of containers, once there are nodes."""
        self.plugins_off = plugins_off
        self.registry = Registry()
        self.locks = ObjectLocks()
        self.watches: dict[OpenWatch, None] = {}
        """In the order in which they began, which is that of their ends."""
        self.address = ""
        """The host and port at which outside clients find the server, if known."""
        self.running = False
        self.stopping = False
        self.slicer = Slicer()
        self.notes: dict[int, dict[str, str]] = {}
        """Annotations for the events of the audit log, by the ids of the requests that have such events."""
        self.metrics: Metrics | None = None
        self.at_once = False
        """Whether a request is tried in one go right now."""

    @property
    def damage(self) -> list[Damage]:
        """The stored objects that can't be read or used."""
        return [*self.storage.damage, *self.definitions.damage, *self.configurations.damage]

    @property
    def guarded(self) -> bool:
        """Whether `check` has anything to do."""
        return self.authorizer is not None or self.access_record is not None

    def check(self, attributes: Attributes, notes: dict[str, str] | None = None) -> None:
        """Raises ApiStatusError (403) if the user may not do that, and remembers what was asked for. ``notes``: the
        annotations of an event of the audit log, which are to have the decision."""
        decision = Decision(True) if self.authorizer is None else self.authorizer.authorize(attributes)
        if self.access_record is not None:
            self.access_record.note(attributes, decision)
        if notes is not None:
            notes[DECISION] = "allow" if decision.allowed else "forbid"
            notes[REASON] = decision.reason
        if not decision.allowed:
            raise forbidden(attributes, decision.reason)

    def replay(self) -> Replay:
        """For one request that begins now."""
        return Replay(self.random, self.now(), self.slicer, lambda: Reads(self.storage, self.registry.find))

    def lengthy(self, size: int = LARGE) -> None:
        """Said before work on so many bytes. Raises Lengthy if that is too much for one go."""
        if self.at_once and size >= LARGE:
            raise Lengthy

    def end_watches(self, served: ServedResource | None = None) -> None:
        """Ends the watches on one resource (in one version), or all of them."""
        for item in tuple(self.watches):
            if served is None or item.served is served:
                item.stop()
