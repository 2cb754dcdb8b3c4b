"""The state of a server, which all request handlers share. Only `setpoint.apiserver.server` creates a `State`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from random import Random
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from setpoint.apiserver.authorization.access_record import AccessRecord
from setpoint.apiserver.authorization.attributes import Attributes, forbidden
from setpoint.apiserver.authorization.authorizer import Authorizer, Decision
from setpoint.apiserver.http_types import UserInfo
from setpoint.apiserver.replay import ObjectLocks, Replay
from setpoint.apiserver.resources.registry import Registry, ServedResource
from setpoint.apiserver.resources.service_networks import ServiceNetwork
from setpoint.apiserver.resources.write_context import AdmissionConfigurations, Definitions
from setpoint.apiserver.storage import Compaction, Damage, Storage
from setpoint.apiserver.streams.kubelets import Kubelets
from setpoint.apiserver.webhooks.caller import WebhookCaller
from setpoint.apiserver.webhooks.credentials import WebhookUsers

if TYPE_CHECKING:
    from prometheus_client.core import Metric
    from prometheus_client.samples import NativeHistogram

BOOKMARK_PERIOD: Final = 60.0
DECISION: Final = "authorization.k8s.io/decision"
REASON: Final = "authorization.k8s.io/reason"
"""The audit annotations for the authorization decision and its reason."""


class OpenWatch(Protocol):
    """The watch of one client."""

    @property
    def served(self) -> ServedResource: ...
    def stop(self) -> None:
        """Ends the stream after the events that are already being sent."""
        ...


class AccountTokens(Protocol):
    """Signs the tokens of service accounts, and holds the keys and names with which the tokens are verified."""

    @property
    def issuers(self) -> Sequence[str]:
        """The issuers whose tokens are accepted; the first is this server."""
        ...

    @property
    def audiences(self) -> Sequence[str]:
        """The audience names by which tokens refer to this server."""
        ...

    @property
    def jwks(self) -> list[dict[str, Any]]:
        """The public keys that verify the tokens, as JSON web keys (RFC 7517); empty if a secret signs the tokens."""
        ...

    @property
    def algorithms(self) -> list[str]:
        """The algorithms with which tokens are signed."""
        ...

    @property
    def webhooks(self) -> bool:
        """Whether tokens can be bound to webhook configurations, and webhooks are called with such tokens."""
        ...

    def sign(self, claims: dict[str, Any]) -> str: ...
    def webhook_token(
        self, storage: Storage, now: datetime, random: Random, webhook: tuple[str, str], audience: str
    ) -> str:
        """The token for a call to a webhook of the configuration with this kind and name; empty for none."""
        ...


class TokenUsers(Protocol):
    """Finds the users of tokens."""

    def user_of(self, token: str, audiences: Sequence[str], now: datetime) -> tuple[UserInfo, list[str]]:
        """The token's user, and those of ``audiences`` for which the token is valid. Raises ValueError with the reason
        if the token has no user.
        """
        ...


class Metrics(Protocol):
    """Provides the metrics of a server's requests."""

    def families(self, watches: Iterable[OpenWatch]) -> Iterable[Metric]:
        """The families of all metrics, with the numbers of now."""
        ...

    def native_histograms(self) -> dict[str, list[tuple[dict[str, str], NativeHistogram]]]:
        """The native histograms with their labels, by the name of their family."""
        ...


class Guard(NamedTuple):
    """The decision about requests, their record, the tokens of service accounts, the user of requests that have none,
    and the users as which webhooks are called, by the admission plugin.
    """

    account_tokens: AccountTokens
    authorizer: Authorizer | None
    access_record: AccessRecord | None
    admin: UserInfo
    webhook_users: Mapping[str, WebhookUsers] = MappingProxyType({})


class State:
    """The state of one server: its storage, registry, clock and so on.

    ``definitions`` and ``configurations`` follow the stored CRDs and admission configurations.
    ``admin`` is the user of requests that have no user. Without an ``authorizer``, everything is
    allowed.
    """

    definitions: Definitions
    token_users: TokenUsers

    def __init__(
        self,
        *,
        storage: Storage,
        configurations: AdmissionConfigurations,
        now: Callable[[], datetime],
        random: Random,
        guard: Guard,
        webhook_caller: WebhookCaller,
        registry: Registry,
        plugins_off: Collection[str],
        service_networks: Sequence[ServiceNetwork],
    ) -> None:
        self.storage = storage
        self.configurations = configurations
        self.now = now
        self.random = random
        self.authorizer = guard.authorizer
        self.access_record = guard.access_record
        self.admin = guard.admin
        self.account_tokens = guard.account_tokens
        self.webhook_users = guard.webhook_users
        self.webhook_caller = webhook_caller
        self.bookmark_period = BOOKMARK_PERIOD
        """The time between the bookmarks of a watch, in seconds."""
        self.kubelets: Kubelets | None = None
        """The kubelets, which serve requests about containers; None if there are no nodes."""
        self.loopback_endpoints = False
        """Whether endpoints may be at loopback addresses: then pods are processes of this machine."""
        self.serves_shards = True
        """Whether lists and watches obey ``shardSelector`` (feature gate ``ShardedListAndWatch``) or ignore it."""
        self.plugins_off = plugins_off
        self.service_networks = service_networks
        self.registry = registry
        self.compaction = Compaction()
        self.locks = ObjectLocks()
        self.watches: dict[OpenWatch, None] = {}
        """The open watches in the order in which they began, which is also the order in which they are ended."""
        self.address = ""
        """The host and port at which external clients reach the server, if known."""
        self.running = False
        self.stopping = False
        self.notes: dict[int, dict[str, str]] = {}
        """The annotations of each request for the audit log, by the id of the request object."""
        self.metrics: Metrics | None = None
        self.checked: Counter[tuple[str, str, bool]] = Counter()
        """The results of health checks: how often each was asked for by each endpoint, and succeeded or failed."""

    @property
    def damage(self) -> list[Damage]:
        """The stored objects that can't be used."""
        return [*self.definitions.damage, *self.configurations.damage]

    @property
    def guarded(self) -> bool:
        """Whether requests must be passed to `check`: there is an authorizer or an access record."""
        return self.authorizer is not None or self.access_record is not None

    def check(self, attributes: Attributes, notes: dict[str, str] | None = None) -> None:
        """Raises ApiStatusError (403) if the user may not make the request, and records the request.

        ``notes`` are the annotations of the request's audit event; the decision is added to them.
        """
        decision = Decision(True) if self.authorizer is None else self.authorizer.authorize(attributes)
        if self.access_record is not None:
            self.access_record.note(attributes, decision)
        if notes is not None:
            notes[DECISION] = "allow" if decision.allowed else "forbid"
            notes[REASON] = decision.reason
        if not decision.allowed:
            raise forbidden(attributes, decision.reason)

    def replay(self) -> Replay:
        """A new `Replay` for one request that begins now."""
        return Replay(self.random, self.now(), self.storage.transaction)

    def end_watches(self, served: ServedResource | None = None) -> None:
        """Ends the watches on one resource (in one version), or all watches."""
        for item in tuple(self.watches):
            if served is None or item.served is served:
                item.stop()
