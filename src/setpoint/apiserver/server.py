"""The server's core: a request in, a response out, no sockets."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from random import Random
from types import TracebackType
from typing import TYPE_CHECKING, Final

from setpoint.apiserver import bootstrap, nonresource, tokens
from setpoint.apiserver.builtin import add_builtin
from setpoint.apiserver.call import Call
from setpoint.apiserver.checking import PARTIAL
from setpoint.apiserver.crds import CustomResources
from setpoint.apiserver.create import create
from setpoint.apiserver.delete import delete, delete_collection
from setpoint.apiserver.errors import (
    ApiStatusError,
    internal_error,
    method_not_supported,
    no_such_path,
    timeout,
)
from setpoint.apiserver.gate import check
from setpoint.apiserver.hooks.caller import HttpCaller, WebhookCaller
from setpoint.apiserver.hooks.configurations import Hooks
from setpoint.apiserver.http_types import SYSTEM_ADMIN, IncomingRequest, Response, UserInfo
from setpoint.apiserver.impersonation import impersonated
from setpoint.apiserver.listing import get, list_objects
from setpoint.apiserver.options import ListOptions, Query
from setpoint.apiserver.patching import patch
from setpoint.apiserver.registry import Registry, Served
from setpoint.apiserver.representation import respond
from setpoint.apiserver.request_info import parse_path
from setpoint.apiserver.scale import get_scale, patch_scale, update_scale
from setpoint.apiserver.storage import Damage, MemoryStorage, Storage, StorageError
from setpoint.apiserver.subresources import CREATORS
from setpoint.apiserver.turns import Lines, Suspended, Turn, settle
from setpoint.apiserver.update import update
from setpoint.apiserver.watching import watch

if TYPE_CHECKING:
    from setpoint.apiserver.watching import Watch

__all__ = ["ApiServer"]

_log = logging.getLogger(__name__)

BOOKMARK_PERIOD: Final = 60.0
Handler = Callable[[Call], Response]
_OBJECT: Final[dict[str, tuple[str, Handler]]] = {
    "GET": ("get", get),
    "HEAD": ("get", get),
    "PUT": ("update", update),
    "PATCH": ("patch", patch),
    "DELETE": ("delete", delete),
}
_READS: Final = frozenset({"GET", "HEAD"})
_WRITE_TIMEOUT: Final = 34.0
_READ_TIMEOUT: Final = 60.0
"""Seconds for a request, webhooks included; upstream's."""
_SCALE: Final[dict[str, Handler]] = {
    "GET": get_scale,
    "HEAD": get_scale,
    "PUT": update_scale,
    "PATCH": patch_scale,
}


def _utc_now() -> datetime:
    return datetime.now(UTC)


class ApiServer:
    """A Kubernetes API server, as an object: `handle` is all there is to it.

        async with ApiServer() as server:
            response = await server.handle(Request("GET", "/api/v1/pods"))

    ``storage``: where the objects are; memory unless said otherwise. It is closed with the server. ``now`` gives the
    wall-clock time for timestamps, ``random`` is the source of names and uids. ``admin``: who makes requests that come
    without a user. ``webhook_caller`` reaches webhooks; unless said otherwise over HTTPS, where a ``url`` is given (a
    ``service`` leads nowhere here without a resolver). It is closed with the server. ``bookmark_period``: seconds
    between the bookmarks of a watch.

    *Guarantees*: what a kube-apiserver promises about resource versions, conflicts, watches and lists. A write is
    stored (see the storage for how safely) before it is answered or seen by any watch, and after everything that can
    fail, up to the bytes of the answer: a request that is answered with an error has changed nothing. Whatever is
    stored, the server starts: what can't be read or used is named in `damage` and in the log, and the rest is served.
    Requests don't interleave: each is done in one go of the event loop, but for the streams of watches. A request about
    which webhooks have to be asked waits for them, and is then done in one go, on what is stored by then.

    *Caveats*: everybody is let in and everything is allowed (the bearer of a service account's token is that account,
    everybody else ``admin``); bodies are JSON or YAML, not protobuf. There is no audit log: what admission policies
    would write there is logged.
    """

    def __init__(
        self,
        *,
        storage: Storage | None = None,
        now: Callable[[], datetime] | None = None,
        random: Random | None = None,
        admin: UserInfo = SYSTEM_ADMIN,
        webhook_caller: WebhookCaller | None = None,
        bookmark_period: float = BOOKMARK_PERIOD,
    ) -> None:
        self.storage: Storage = storage if storage is not None else MemoryStorage()
        self.now = now or _utc_now
        self.random = random or Random()
        self.token_secret = self.random.randbytes(32) if random is not None else secrets.token_bytes(32)
        self.admin = admin
        self.webhook_caller: WebhookCaller = webhook_caller if webhook_caller is not None else HttpCaller()
        self.bookmark_period = bookmark_period
        self.hooks = Hooks(self.storage)
        self.turn: Turn | None = None
        """Of the request that is worked on right now, if it waits for webhooks."""
        self.lines = Lines()
        self.registry = Registry()
        self.watches: set[Watch] = set()
        self.running = False
        self.stopping = False
        add_builtin(self.registry)
        self.custom_resources = CustomResources(self)

    async def start(self) -> None:
        """Makes the objects that every cluster has, and serves the custom resources that are stored."""
        if self.running:
            return
        # A client that knew this server's former life must not take new revisions for old ones.
        self.storage.advance(int(self.now().timestamp() * 1000))
        self.custom_resources.load()
        self.hooks.refresh()
        self.running = True
        await bootstrap.create_objects(self)

    @property
    def damage(self) -> list[Damage]:
        """What is stored and can't be read or used: of the storage when it was opened, and of what is stored now. Also
        at ``/debug/damage``."""
        return [*self.storage.damage, *self.custom_resources.damage, *self.hooks.damage]

    async def close(self) -> None:
        """Ends all watches and closes the storage. Requests are refused from now on."""
        if not self.running:
            return
        self.end_watches()
        self.running = False
        await self.webhook_caller.close()
        self.storage.close()

    def end_watches(self, served: Served | None = None) -> None:
        """Ends the watches on one resource (in one version), or all of them."""
        for item in tuple(self.watches):
            if served is None or item.served is served:
                item.stop()

    async def __aenter__(self) -> ApiServer:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def handle(self, request: IncomingRequest) -> Response:
        """Answers one request. What the client did wrong, and what goes wrong here, is an answer: nothing is raised."""
        try:
            check(request)
            if self.hooks.active and request.method not in _READS:
                return await self._in_turns(request)
            try:
                return self._dispatch(request)
            except Suspended:
                return await self._in_turns(request)
        except ApiStatusError as error:
            response = respond(error.status, error.code, warnings=error.warnings)
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

    async def _in_turns(self, request: IncomingRequest) -> Response:
        """A request that may need webhooks."""
        limit = _READ_TIMEOUT if request.method in _READS else _WRITE_TIMEOUT
        try:
            async with asyncio.timeout(limit):
                key = None if request.method in _READS else _written(request)
                if key is not None:
                    await self.lines.pass_by(key)
                return await settle(self, Turn(self), lambda: self._dispatch(request), key)
        except TimeoutError:
            raise timeout("request did not complete within requested timeout - context deadline exceeded") from None

    def _dispatch(self, request: IncomingRequest) -> Response:
        """The answer. What was written on the way is stored if there is one, and only then."""
        if not self.running:
            raise ApiStatusError(503, "ServiceUnavailable", "the server is not running")
        if request.method in _READS:
            return self._answer(request)
        with self.storage.transaction():
            return self._answer(request)

    def _answer(self, request: IncomingRequest) -> Response:
        path = parse_path(request.path)
        if path is None:
            return nonresource.answer(self, request)
        served = self.registry.find(path.group, path.version, path.resource)
        if served is None or path.surplus:
            if path.surplus or path.resource or not self.registry.has_version(path.group, path.version):
                if not nonresource.knows(self, path.group):
                    return nonresource.nothing()
                raise no_such_path()
            return nonresource.answer(self, request)
        resource = served.resource
        if path.namespace and not resource.namespaced:
            raise no_such_path()
        call = Call(self, request, path, served, Query(request.query), self._user(request))
        if self.turn is not None and self.hooks.active:
            from setpoint.apiserver.hooks.admission import Admission

            call.admission = Admission(call, self.turn)
        if served.warning:
            call.warn(served.warning)
        if path.name and resource.namespaced and not path.namespace:
            raise no_such_path()
        try:
            if not path.name:
                return self._collection(call)
            if path.watch:
                return self._watch(call)
            if path.subresource:
                return self._subresource(call)
            return self._object(call)
        except ApiStatusError as error:
            error.warnings = call.warnings
            raise

    def _user(self, request: IncomingRequest) -> UserInfo:
        """Who makes the request. Everybody is the administrator, who may act as anybody."""
        other = impersonated(request)
        if other is not None:
            return other
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        known = tokens.bearer(self, token) if kind.lower() == "bearer" and token else None
        if known is not None:
            return known[0]
        return getattr(request, "user", None) or self.admin

    def _collection(self, call: Call) -> Response:
        resource, method = call.served.resource, call.request.method
        if method in ("GET", "HEAD"):
            options = ListOptions.parse(call.query, watch=call.path.watch)
            if options.watch and method == "GET":
                _require(call, "watch")
                return watch(call, options)
            _require(call, "list")
            return list_objects(call, options)
        if method == "POST":
            _require(call, "create")
            maker = CREATORS.get((str(call.served.group_resource), ""))
            if maker is not None:
                return maker(call)
            if resource.namespaced and not call.path.namespace:
                raise _method_not_allowed(call)
            return create(call)
        if method == "DELETE" and (call.path.namespace or not resource.namespaced):
            _require(call, "deletecollection")
            return delete_collection(call)
        raise _method_not_allowed(call)

    def _object(self, call: Call) -> Response:
        found = _OBJECT.get(call.request.method)
        if found is None:
            raise _method_not_allowed(call)
        verb, handler = found
        _require(call, verb)
        return handler(call)

    def _watch(self, call: Call) -> Response:
        _require(call, "watch")
        return watch(call, ListOptions.parse(call.query, watch=True))

    def _subresource(self, call: Call) -> Response:
        name, method = call.path.subresource, call.request.method
        if name not in call.served.resource.subresources:
            raise no_such_path()
        if name == "scale":
            handler = _SCALE.get(method)
        elif name in PARTIAL:
            handler = {"GET": get, "HEAD": get, "PUT": update, "PATCH": patch}.get(method)
        elif method == ("PUT" if name == "finalize" else "POST"):
            handler = CREATORS.get((str(call.served.group_resource), name))
        else:
            handler = None
        if handler is None:
            raise _method_not_allowed(call)
        return handler(call)


def _written(request: IncomingRequest) -> tuple[str, ...] | None:
    """The object that a request writes, whatever version it speaks of; None if it is new, or there are many."""
    path = parse_path(request.path)
    return (path.group, path.resource, path.namespace, path.name) if path is not None and path.name else None


def _require(call: Call, verb: str) -> None:
    if verb not in call.served.resource.verbs:
        raise method_not_supported(call.served.group_resource, verb)


def _method_not_allowed(call: Call) -> ApiStatusError:
    return ApiStatusError(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {}
    )
