"""The server's core, which turns a request into a response without using sockets."""

from __future__ import annotations

import asyncio
import gc
import logging
import secrets
import socket
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from random import Random
from types import TracebackType
from typing import Final

import msgspec

from setpoint.apiserver.admission.admission import Admission
from setpoint.apiserver.admission.configurations import Configurations
from setpoint.apiserver.audit.log import AuditLog
from setpoint.apiserver.authorization.access_record import AccessRecord
from setpoint.apiserver.authorization.attributes import Attributes, requested
from setpoint.apiserver.authorization.authorizer import Authorizer
from setpoint.apiserver.authorization.priority_and_fairness import Flows
from setpoint.apiserver.bootstrap.apiserver_lease import IdentityLease
from setpoint.apiserver.bootstrap.default_objects import create_defaults, create_webhook_account, publish
from setpoint.apiserver.bootstrap.namespaces import create_namespaces
from setpoint.apiserver.custom_resources.definitions import CustomResources
from setpoint.apiserver.discovery import nonresource
from setpoint.apiserver.errors import ApiStatusError, internal_error, no_such_path, timeout
from setpoint.apiserver.http_types import SYSTEM_ADMIN, IncomingRequest, Response, UserInfo
from setpoint.apiserver.identity.authentication import Authentication, TokenUsers
from setpoint.apiserver.identity.keys import SecretKey
from setpoint.apiserver.identity.requesters import Requesters
from setpoint.apiserver.identity.tokens import AccountTokens
from setpoint.apiserver.metrics import RequestMetrics
from setpoint.apiserver.objects.metadata import new_uid
from setpoint.apiserver.plugins.owner_references import OWNER_REFERENCES
from setpoint.apiserver.plugins.service_account import TOKENS
from setpoint.apiserver.replay import Replay, Suspended
from setpoint.apiserver.requests.accept import of_statuses
from setpoint.apiserver.requests.body import LARGE, delays_others
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.requests.limits import check
from setpoint.apiserver.requests.options import Query, check_timeout
from setpoint.apiserver.requests.path import parse_path
from setpoint.apiserver.resources.registry import Registry
from setpoint.apiserver.resources.service_networks import SERVICE_NETWORKS, ServiceNetwork
from setpoint.apiserver.responses.representation import respond
from setpoint.apiserver.routing import route
from setpoint.apiserver.state import Guard, OpenWatch, State
from setpoint.apiserver.storage import Damage, MemoryStorage, Storage, StorageError
from setpoint.apiserver.strategies.builtin import add_builtin
from setpoint.apiserver.strategies.metrics_usage import served_usage
from setpoint.apiserver.streams.kubelets import Kubelets
from setpoint.apiserver.webhooks.caller import HttpCaller, WebhookCaller
from setpoint.apiserver.webhooks.credentials import WebhookUsers
from setpoint.models import KUBERNETES
from setpoint.models.history import minor_of

_log = logging.getLogger(__name__)

NEEDING_CONTROLLERS: Final = frozenset({TOKENS, "TaintNodesByCondition"})
"""Admission plugins, and the part of ServiceAccount that mounts tokens, whose changes only controllers or kubelets
complete or undo.
"""
OFF_BY_DEFAULT: Final = frozenset({OWNER_REFERENCES})
"""Admission plugins that are off by default in Kubernetes."""
_PLUGINS_OFF: Final = NEEDING_CONTROLLERS | OFF_BY_DEFAULT
_UNKNOWN: Final = UserInfo("")
_READS: Final = frozenset({"GET", "HEAD"})
_WRITE_TIMEOUT: Final = 34.0
_READ_TIMEOUT: Final = 60.0
"""The time limits, in seconds, for requests that write and for requests that only read, including their calls to
webhooks; as in upstream.
"""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """The users of a server, what they may do, and what is recorded of it.

    ``authentication`` says how users are authenticated; without it, every client is accepted: the bearer of a service
    account's token is that account, and any other client is ``admin``, the user of requests that have no user.
    ``authorizer`` (`Rbac`) decides whether a request is allowed; without it, everything is allowed. Requests from this
    process, which have no `Peer`, need no credentials in either case. ``account_tokens`` issues and verifies tokens of
    service accounts; the default uses a secret that is lost when the process ends. ``access_record`` records what
    clients request. ``audit`` logs every request from the network. ``webhook_users`` are the users as which the server
    calls admission webhooks (`webhook_users`); without it, it has no credentials.
    """

    authentication: Authentication | None = None
    authorizer: Authorizer | None = None
    account_tokens: AccountTokens | None = None
    access_record: AccessRecord | None = None
    audit: AuditLog | None = None
    admin: UserInfo = msgspec.field(default_factory=lambda: SYSTEM_ADMIN)
    webhook_users: Mapping[str, WebhookUsers] = msgspec.field(default_factory=dict)


class ApiServer:
    """A Kubernetes API server, as an object; `handle` answers all requests.

        async with ApiServer() as server:
            response = await server.handle(Request("GET", "/api/v1/pods"))

    ``storage`` holds the objects (by default, in memory), and is closed with the server. ``now`` gives the wall-clock
    time for timestamps, and ``random`` is the source of names and uids. ``webhook_caller`` calls webhooks, and is
    closed with the server; the default calls webhooks with a ``url`` over HTTPS (a ``service`` can't be reached without
    a resolver).

    *Guarantees*: for resource versions, conflicts, watches and lists, the same as those of a kube-apiserver. A write is
    stored (see the storage for its durability) only after everything that can fail has been done, including the
    encoding of the response, and before it is answered or visible to any watch. So a request that is answered with an
    error has changed nothing, and no request sees part of another request's writes. (The exception is the deletion of a
    large collection: it stores its deletions step by step, as upstream does.) The server starts with any storage:
    `damage` and the log name the objects that can't be used, and all others are served. Most requests are done in one
    iteration of the event loop. A request that needs webhooks waits for their answers, and then works on the objects
    that are stored at that time. So does a large one from the network, whose object is completed and validated in
    threads.

    ``access`` says who the users are and what they may do; by default every client may do everything.
    ``default_objects``:
    whether the server creates the roles, bindings, priorities and so on that a kube-apiserver creates, as well as the
    APIServices of custom resources and the server's own Lease; the system namespaces exist in any case.

    ``plugins_off``: the admission plugins that are turned off, by their names in upstream; by default, those that are
    useful only in a complete cluster, and OwnerReferencesPermissionEnforcement, which is off in Kubernetes, too.

    ``service_networks`` have the addresses of services: one network, or one of each IP family (dual stack). The first
    network is that of the default family, and its first address is that of the Service ``kubernetes``.

    ``kubernetes`` is the version whose kinds and fields the server has, from 1.31 on (`setpoint.models.history`): kinds
    that are newer are not served; fields that are newer, or off by default there, are unknown, so they are dropped with
    a warning, or refused if the client asks for strict validation. Everything else (defaults, validation, messages) is
    that of 1.37. Kinds that only older versions have are not served.

    Raises:
        VersionError: ``kubernetes`` is not a version that the server can be.
    """

    def __init__(
        self,
        *,
        storage: Storage | None = None,
        now: Callable[[], datetime] | None = None,
        random: Random | None = None,
        webhook_caller: WebhookCaller | None = None,
        access: Access | None = None,
        default_objects: bool = False,
        plugins_off: Collection[str] = _PLUGINS_OFF,
        service_networks: Sequence[ServiceNetwork] = SERVICE_NETWORKS,
        kubernetes: str = KUBERNETES,
    ) -> None:
        store: Storage = storage if storage is not None else MemoryStorage()
        self.hooks = Configurations(store)
        access = access if access is not None else Access()
        authentication, account_tokens, audit = access.authentication, access.account_tokens, access.audit
        if account_tokens is None:
            secret = random.randbytes(32) if random is not None else secrets.token_bytes(32)
            account_tokens = AccountTokens(SecretKey(secret))
        users = TokenUsers(store, account_tokens, authentication)
        self._default_objects = default_objects
        self._identity: IdentityLease | None = None
        self._flows = Flows(store) if default_objects else None
        self._audit = audit
        self._plain = self._flows is None and audit is None
        self.state = State(
            storage=store,
            configurations=self.hooks,
            now=now or _utc_now,
            random=random or Random(),
            guard=Guard(account_tokens, access.authorizer, access.access_record, access.admin, access.webhook_users),
            webhook_caller=webhook_caller if webhook_caller is not None else HttpCaller(),
            registry=Registry(minor_of(kubernetes)),
            plugins_off=frozenset(plugins_off),
            service_networks=service_networks,
        )
        self.state.token_users = users
        closed = authentication is not None
        self._requesters = Requesters(self.state, users, closed=closed, follows=not self._plain)
        add_builtin(self.state.registry)
        self._metrics = self.state.metrics = RequestMetrics(
            self.state.registry, dict if self._flows is None else self._flows.nominal_seats
        )
        self._usage = served_usage()
        self.custom_resources = CustomResources(self.state, registers=default_objects)
        self.state.definitions = self.custom_resources

    @property
    def storage(self) -> Storage:
        """The storage of all objects."""
        return self.state.storage

    @property
    def kubelets(self) -> Kubelets | None:
        """The kubelets, which serve the logs, commands and connections of containers, and the resource usage for
        ``metrics.k8s.io`` (a group that is not served without kubelets); None if there are no nodes.
        """
        return self.state.kubelets

    @kubelets.setter
    def kubelets(self, kubelets: Kubelets | None) -> None:
        self.state.kubelets = kubelets
        for served in self._usage:
            (self.registry.add if kubelets is not None else self.registry.remove)(served)

    @property
    def random(self) -> Random:
        """The source of names and uids."""
        return self.state.random

    @property
    def registry(self) -> Registry:
        """The registry of served resources."""
        return self.state.registry

    @property
    def watches(self) -> Collection[OpenWatch]:
        """The watches that clients hold open."""
        return self.state.watches

    async def start(self) -> None:
        """Creates the objects that every cluster has, and serves the stored custom resources."""
        state = self.state
        if state.running:
            return
        # A client with revisions from before a restart must not take new revisions for those.
        state.storage.advance(int(state.now().timestamp() * 1000))
        state.compaction.begin(asyncio.get_running_loop().time())
        self.custom_resources.load()
        self.hooks.refresh()
        state.running = True
        await create_namespaces(state.storage, self.handle)
        if state.account_tokens.webhooks:
            create_webhook_account(state)
        if self._default_objects:
            create_defaults(state)
            self.custom_resources.register_all()
            holder = new_uid(state.random)
            self._identity = IdentityLease(self.handle, state.now, hostname=socket.gethostname(), holder=holder)
            await self._identity.start()

    def listens_at(self, host: str, port: int) -> None:
        """Sets the address at which clients reach the server, for the Service ``kubernetes`` (if there are default
        objects) and for clients that verify tokens of service accounts.
        """
        self.state.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        if self._default_objects:
            publish(self.state, host, port)

    @property
    def damage(self) -> list[Damage]:
        """The stored objects that can't be used. They are also listed at ``/debug/damage``."""
        return self.state.damage

    async def close(self) -> None:
        """Ends all watches and closes the storage. Later requests are refused."""
        state = self.state
        if not state.running:
            return
        if self._identity is not None:
            await self._identity.stop()
        state.end_watches()
        state.running = False
        if self._flows is not None:
            self._flows.close()
        await state.webhook_caller.close()
        state.storage.close()

    def end_watches(self) -> None:
        """Ends all watches."""
        self.state.end_watches()

    def drain(self) -> None:
        """Reports the server as not ready, and ends all watches."""
        self.state.stopping = True
        self.end_watches()

    async def __aenter__(self) -> ApiServer:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def handle(self, request: IncomingRequest) -> Response:
        """The response to a request. Errors of the client and of the server are responses too: nothing is raised."""
        if getattr(request, "peer", None) is None:
            return await self._handled(request)
        kind = "readOnly" if request.method in _READS else "mutating"
        clock = asyncio.get_running_loop().time
        began = clock()
        self._metrics.in_flight[kind] += 1
        attributes = None
        try:
            if self._plain:
                response = await self._handled(request)
            else:
                response, attributes = await self._followed(request)
        finally:
            self._metrics.in_flight[kind] -= 1
        if attributes is None:
            attributes = requested(request.method, request.path, request.query, _UNKNOWN)
        self._metrics.note(request, attributes, response.status, clock() - began)
        return response

    async def _followed(self, request: IncomingRequest) -> tuple[Response, Attributes | None]:
        """Runs a request, adds the headers of flow control and writes the audit log. Returns the response, and the
        attributes of the request if its user is known.
        """
        received = self.state.now()
        notes: dict[str, str] = {}
        if self._audit is not None:
            self.state.notes[id(request)] = notes
        try:
            response = await self._handled(request)
            authenticated = self._requesters.requests.get(id(request))
            if authenticated is not None and self._flows is not None:
                response.headers.update(self._flows.headers(authenticated[0]))
            if self._audit is not None:
                if authenticated is None:
                    authenticated = requested(request.method, request.path, request.query, _UNKNOWN), _UNKNOWN
                uid = response.headers["audit-id"] = new_uid(self.state.random)
                self._audit.note(
                    request, *authenticated, response, uid=uid, received=received, now=self.state.now, notes=notes
                )
            return response, None if authenticated is None else authenticated[0]
        finally:
            self._requesters.requests.pop(id(request), None)
            self.state.notes.pop(id(request), None)

    async def _handled(self, request: IncomingRequest) -> Response:
        state = self.state
        now = asyncio.get_running_loop().time()
        if now >= state.compaction.due:
            state.compaction.tick(now, state.storage.revision)
        try:
            check(request)
            if request.method not in _READS and (self.hooks.active or delays_others(request)):
                return await self._replayed(request)
            try:
                answer = self._at_once(request)
                return answer if isinstance(answer, Response) else await answer
            except Suspended:
                return await self._replayed(request)
        except ApiStatusError as error:
            media = of_statuses(request.headers.get("accept", ""))
            response = respond(error.status, error.code, warnings=error.warnings, media=media)
            retry_after = error.status.get("details", {}).get("retryAfterSeconds")
            if retry_after:
                response.headers["retry-after"] = str(retry_after)
            return response
        except StorageError as error:
            _log.error("%s %s failed: %s", request.method, request.path, error)
            failure = internal_error(str(error))
            return respond(failure.status, failure.code)
        except Exception as error:  # noqa: BLE001 - the client gets an answer, the log the reason
            _log.exception("%s %s failed", request.method, request.path)
            failure = internal_error(f"{type(error).__name__}: {error}")
            return respond(failure.status, failure.code)

    async def _replayed(self, request: IncomingRequest) -> Response:
        """Runs a request that may call webhooks."""
        limit = _READ_TIMEOUT if request.method in _READS else _WRITE_TIMEOUT
        try:
            async with asyncio.timeout(limit):
                key = None if request.method in _READS else _written_key(request)
                if key is not None:
                    await self.state.locks.wait(key)
                replay = self.state.replay()
                answer = await replay.run(lambda: self._answer(request, replay), self.state.locks, key)
                return await answer if isinstance(answer, Awaitable) else answer
        except TimeoutError:
            raise timeout("request did not complete within requested timeout - context deadline exceeded") from None

    def _at_once(self, request: IncomingRequest) -> Response | Awaitable[Response]:
        """Runs a request that need not wait. Its writes are stored only if it succeeds."""
        if request.method in _READS:
            return self._answer(request, None)
        with self.state.storage.transaction():
            return self._answer(request, None)

    def _answer(self, request: IncomingRequest, replay: Replay | None) -> Response | Awaitable[Response]:
        # The collector of cycles looks at all values of a large document again whenever a quarter is added to them,
        # which would be a third of the time.
        if len(request.body or b"") < LARGE or not gc.isenabled():
            return self._answer_now(request, replay)
        gc.disable()
        try:
            return self._answer_now(request, replay)
        finally:
            gc.enable()

    def _answer_now(self, request: IncomingRequest, replay: Replay | None) -> Response | Awaitable[Response]:
        state = self.state
        if not state.running:
            raise ApiStatusError(503, "ServiceUnavailable", "the server is not running")
        user = self._requesters.user_of(request)
        query = Query(request.query)
        if query:
            check_timeout(query.get("timeout", ""))
        path = parse_path(request.path)
        if path is None:
            return nonresource.answer(state, request)
        served = state.registry.find(path.group, path.version, path.resource)
        if served is None or path.surplus:
            if path.surplus or path.resource or not state.registry.has_version(path.group, path.version):
                if not nonresource.knows(state, path.group):
                    return nonresource.nothing()
                raise no_such_path()
            return nonresource.answer(state, request)
        resource = served.resource
        if path.namespace and not resource.namespaced:
            raise no_such_path()
        call = Call(state, request, path, served, query, user, replay)
        if replay is not None and self.hooks.active:
            call.admission = Admission(call, replay, self.hooks)
        if served.warning:
            call.warn(served.warning)
        if path.name and resource.namespaced and not path.namespace:
            raise no_such_path()
        try:
            return route(call)
        except ApiStatusError as error:
            error.warnings = call.warnings
            raise


def _written_key(request: IncomingRequest) -> tuple[str, ...] | None:
    """The key of the object that a request writes, whatever its version; None if the path does not name an object."""
    path = parse_path(request.path)
    return (path.group, path.resource, path.namespace, path.name) if path is not None and path.name else None
