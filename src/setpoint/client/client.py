"""Client: every verb on every kind, typed by the class that is asked for."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Self, TypeVar, overload

import msgspec

from setpoint.client.collection import ObjectList, decode_list
from setpoint.client.config import ClientConfig
from setpoint.client.errors import Expired
from setpoint.client.http import HttpTransport
from setpoint.client.kubeconfig import load_config, load_kubeconfig
from setpoint.client.options import (
    AnyFieldSelector,
    AnySelector,
    FieldValidation,
    PatchBody,
    PatchType,
    Propagation,
    Query,
    checked_name,
    list_query,
    write_query,
)
from setpoint.client.patches import changes
from setpoint.client.requester import IDLE_TIMEOUT, JSON, Requester
from setpoint.client.retry import RetryPolicy
from setpoint.client.transport import DEFAULT_TIMEOUT, Response, Transport
from setpoint.client.watch import Watch
from setpoint.meta import Object, ObjectKey, Resource, Status, decode, resource_of, to_wire

__all__ = ["Client", "WriteObserver"]

logger = logging.getLogger("setpoint.client")

K = TypeVar("K", bound=Object)
WriteObserver = Callable[[Resource, ObjectKey, str, str, str], None]
"""Called after each write that the server answered: resource, key, uid, resourceVersion, verb."""

PAGE = 500
_SERVER_OWNED = (
    "managedFields",
    "resourceVersion",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
)


class _Kind(msgspec.Struct):
    kind: str = ""


_kinds = msgspec.json.Decoder(_Kind)


class Client:
    """An API server, as one user.

        async with Client.from_kubeconfig() as client:
            pod = await client.get(Pod, "web-0")
            pod.labels["seen"] = "yes"
            await client.update(pod)

    *Guarantees*

    - Nothing is lost on the way: `update` sends a patch computed on the JSON that was read, under the version that
      was read; fields that the models don't know stay, and somebody else's change in between is a `Conflict`.
    - Every request has a deadline, every stream an idle deadline.
    - Every error of the server is an `ApiError` that says what was asked of whom; see `setpoint.client.errors`.
    - `close` (or leaving ``async with``) ends every connection that this client opened.

    *Caveats*

    - A verb that ends in a `TransportError` with ``sent`` may have been carried out. Only reads are repeated.
    - It belongs to one event loop.

    ``namespace`` is used where a namespaced object is named without one. ``field_manager`` names this program in
    ``managedFields``.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        namespace: str = "default",
        field_manager: str = "setpoint",
        config: ClientConfig | None = None,
        random: Random | None = None,
        retry: RetryPolicy | None = None,
        on_warning: Callable[[str], None] | None = None,
    ) -> None:
        self.transport = transport
        self.namespace = namespace
        self.field_manager = field_manager
        self.config = config
        self.random = random or Random()
        self._requester = Requester(transport, retry=retry, on_warning=on_warning)
        self._observers: list[WriteObserver] = []

    @classmethod
    def from_kubeconfig(
        cls, path: str | Path | None = None, *, context: str | None = None, field_manager: str = "setpoint"
    ) -> Self:
        """From a kubeconfig: ``path``, or the files of ``KUBECONFIG``, or ``~/.kube/config``.

        Raises:
            ConfigError: it is missing or can't be used.
        """
        return cls.from_config(load_kubeconfig(path, context), field_manager=field_manager)

    @classmethod
    def from_environment(
        cls, path: str | Path | None = None, *, context: str | None = None, field_manager: str = "setpoint"
    ) -> Self:
        """As `from_kubeconfig`; without any kubeconfig from the pod that this runs in.

        Raises:
            ConfigError: there is no configuration, or it can't be used.
        """
        return cls.from_config(load_config(path, context), field_manager=field_manager)

    @classmethod
    def from_config(cls, config: ClientConfig, *, field_manager: str = "setpoint") -> Self:
        return cls(HttpTransport(config), namespace=config.namespace, field_manager=field_manager, config=config)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends every connection and stream. Closing twice does no harm."""
        await self.transport.close()

    def on_write(self, observer: WriteObserver) -> Callable[[], None]:
        """Calls ``observer`` after every write that succeeded; returns what takes it off again.

        It is called before the verb returns, so whoever waits for the verb finds its effect noted.
        """
        self._observers.append(observer)
        return lambda: self._observers.remove(observer)

    # -- reading ----------------------------------------------------------------------------------------------------

    async def get(
        self,
        kind: type[K],
        name: str,
        *,
        namespace: str | None = None,
        resource_version: str = "",
        subresource: str = "",
    ) -> K:
        """The object of that name. A ``resource_version`` asks for a state at least that new (``"0"``: any).

        Raises:
            NotFound: there is none.
        """
        resource = resource_of(kind)
        key = self._key(resource, namespace, name)
        body = await self._requester.request(
            "GET",
            resource.path(namespace=key.namespace, name=key.name, subresource=subresource),
            query=(("resourceVersion", resource_version),) if resource_version else (),
            accept=_accept(kind),
            verb="get",
            resource=_named(resource, subresource),
            key=key,
        )
        return decode(kind, body)

    async def list(
        self,
        kind: type[K],
        *,
        namespace: str | None = None,
        selector: AnySelector = None,
        field_selector: AnyFieldSelector = None,
        limit: int = 0,
        continue_: str = "",
        resource_version: str = "",
        resource_version_match: str = "",
        timeout: float = 60.0,
    ) -> ObjectList[K]:
        """The objects of a kind: of one ``namespace``, or with None of all of them.

        ``limit`` 0 is no limit; with one, go on with `ObjectList.metadata`'s token, or use `pages`.

        Raises:
            Expired: the token in ``continue_`` is too old.
        """
        resource = resource_of(kind)
        query = list_query(
            selector,
            field_selector,
            (
                ("limit", str(limit) if limit else ""),
                ("continue", continue_),
                ("resourceVersion", resource_version),
                ("resourceVersionMatch", resource_version_match),
            ),
        )
        body = await self._requester.request(
            "GET",
            resource.path(namespace=_scope(namespace)),
            query=tuple(query),
            accept=_accept(kind, listed=True),
            timeout=timeout,
            verb="list",
            resource=resource,
            key=f"{namespace}/" if namespace else "",
        )
        return decode_list(kind, body)

    async def pages(
        self,
        kind: type[K],
        *,
        namespace: str | None = None,
        selector: AnySelector = None,
        field_selector: AnyFieldSelector = None,
        limit: int = PAGE,
        resource_version: str = "",
    ) -> AsyncIterator[K]:
        """Every object, fetched in pages of ``limit``.

        When the server has forgotten the state that the pages are of (410 on a continue token, after some five
        minutes), everything is listed once more and what was already given is left out: every object that exists
        throughout comes exactly once, but not all are of the same moment any more.
        """
        given: set[str] = set()
        token = ""
        while True:
            try:
                page = await self.list(
                    kind,
                    namespace=namespace,
                    selector=selector,
                    field_selector=field_selector,
                    limit=limit,
                    continue_=token,
                    resource_version="" if token else resource_version,
                )
            except Expired:
                if not token:
                    raise
                page = await self.list(kind, namespace=namespace, selector=selector, field_selector=field_selector)
            token = page.metadata.continue_
            for obj in page:
                if obj.uid not in given:
                    given.add(obj.uid or obj.key)
                    yield obj
            if not token:
                return

    def watch(
        self,
        kind: type[K],
        *,
        namespace: str | None = None,
        selector: AnySelector = None,
        field_selector: AnyFieldSelector = None,
        resource_version: str = "",
        bookmarks: bool = True,
        timeout_seconds: int | None = None,
        send_initial_events: bool = False,
        idle_timeout: float | None = IDLE_TIMEOUT,
    ) -> Watch[K]:
        """The changes from ``resource_version`` on; without one, first an ``ADDED`` for each object there is.

        The server ends the watch after ``timeout_seconds`` (default: its own choice, 5 to 10 minutes).
        """
        resource = resource_of(kind)
        initial = send_initial_events
        query = list_query(
            selector,
            field_selector,
            (
                ("watch", "true"),
                ("resourceVersion", resource_version),
                ("resourceVersionMatch", "NotOlderThan" if initial else ""),
                ("sendInitialEvents", "true" if initial else ""),
                ("allowWatchBookmarks", "true" if bookmarks or initial else ""),
                ("timeoutSeconds", str(timeout_seconds) if timeout_seconds is not None else ""),
            ),
        )
        stream = self._requester.stream(
            "GET",
            resource.path(namespace=_scope(namespace)),
            query=tuple(query),
            accept=_accept(kind),
            idle_timeout=idle_timeout,
            verb="watch",
            resource=resource,
            key=f"{namespace}/" if namespace else "",
        )
        return Watch(stream, kind, resource)

    # -- writing ----------------------------------------------------------------------------------------------------

    async def create(
        self,
        obj: K,
        *,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
    ) -> K:
        """Stores a new object and returns it as stored. Its name may be left to the server (``generate_name``).

        Raises:
            AlreadyExists: the name is taken.
            Invalid: see its causes.
        """
        resource = resource_of(type(obj))
        namespace = self._namespace_of(resource, obj.namespace)
        document = to_wire(obj)
        if namespace and not obj.namespace:
            document.setdefault("metadata", {})["namespace"] = namespace
        return await self._write(
            "create",
            "POST",
            type(obj),
            ObjectKey.of(namespace, obj.name or obj.metadata.generate_name),
            resource.path(namespace=namespace),
            msgspec.json.encode(document),
            query=write_query(dry_run, self._manager(field_manager), field_validation),
            observed=not dry_run,
        )

    async def update(
        self,
        obj: K,
        *,
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
    ) -> K:
        """Stores the changes made to ``obj`` since it was read; returns the object as stored.

        What is sent is a patch computed on the JSON that was read, so fields that the model does not know survive.
        It holds only for the version that was read. Without a change nothing is sent and ``obj`` is returned.

        Raises:
            Conflict: it was changed by somebody else since: read it again (`setpoint.client.retry_on_conflict`).
            ValueError: ``obj`` was made by hand; use `apply`, `create` or `replace`.
        """
        change = changes(obj)
        if change is None:
            return obj
        patch_type, body = change
        return await self.patch(
            type(obj),
            obj.name,
            body,
            type=patch_type,
            namespace=obj.namespace,
            subresource=subresource,
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation,
        )

    async def update_status(self, obj: K, *, dry_run: bool = False, field_manager: str | None = None) -> K:
        """As `update`, for what was changed in ``obj.status``; the server ignores other changes."""
        return await self.update(obj, subresource="status", dry_run=dry_run, field_manager=field_manager)

    async def replace(
        self,
        obj: K,
        *,
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
    ) -> K:
        """Stores ``obj`` in the place of what is there (PUT). **Drops fields that its model does not know.**

        With a resource version it holds for that version only; without one it wins over everything.

        Raises:
            Conflict: it was changed since it was read.
        """
        resource = resource_of(type(obj))
        key = self._key(resource, obj.namespace, obj.name)
        document = to_wire(obj)
        if key.namespace and not obj.namespace:
            document.setdefault("metadata", {})["namespace"] = key.namespace
        return await self._write(
            "update",
            "PUT",
            type(obj),
            key,
            resource.path(namespace=key.namespace, name=key.name, subresource=subresource),
            msgspec.json.encode(document),
            query=write_query(dry_run, self._manager(field_manager), field_validation),
            subresource=subresource,
            observed=not dry_run,
        )

    async def patch(
        self,
        kind: type[K],
        name: str,
        patch: PatchBody,
        *,
        type: PatchType = PatchType.MERGE,
        namespace: str | None = None,
        subresource: str = "",
        force: bool = False,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
    ) -> K:
        """Changes an object by a patch of that `PatchType`; returns the object as stored.

        Raises:
            NotFound: there is no such object (`PatchType.APPLY` creates it).
            Conflict: the patch names a resource version that is not the stored one.
            Invalid: the result is not valid, or a ``test`` of a JSON patch failed.
        """
        resource = resource_of(kind)
        key = self._key(resource, namespace, name)
        query = write_query(dry_run, self._manager(field_manager), field_validation)
        if force:
            query.append(("force", "true"))
        return await self._write(
            "patch",
            "PATCH",
            kind,
            key,
            resource.path(namespace=key.namespace, name=key.name, subresource=subresource),
            patch if isinstance(patch, bytes) else msgspec.json.encode(patch),
            query=query,
            content_type=type.value,
            subresource=subresource,
            observed=not dry_run,
        )

    async def apply(
        self,
        obj: K,
        *,
        force: bool = True,
        field_manager: str | None = None,
        subresource: str = "",
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
    ) -> K:
        """Server-side apply (KEP-555): what ``obj`` says becomes so, and this field manager owns it.

        Fields that this manager applied before and ``obj`` does not mention any more are removed; all others stay.
        What only the server may say (uid, resourceVersion, managedFields, status and the like) is left out. With
        ``subresource="status"`` it is the status that is sent.

        Raises:
            Conflict: without ``force``, when another manager owns a field with another value; its causes name them.
        """
        resource = resource_of(type(obj))
        key = self._key(resource, obj.namespace, obj.name)
        query = write_query(dry_run, self._manager(field_manager), field_validation)
        if force:
            query.append(("force", "true"))
        return await self._write(
            "patch",
            "PATCH",
            type(obj),
            key,
            resource.path(namespace=key.namespace, name=key.name, subresource=subresource),
            msgspec.json.encode(_configuration(obj, key.namespace, subresource)),
            query=query,
            content_type=PatchType.APPLY.value,
            subresource=subresource,
            observed=not dry_run,
        )

    @overload
    async def delete(
        self,
        obj_or_kind: K,
        name: None = None,
        *,
        namespace: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: Propagation | None = None,
        grace_period_seconds: int | None = None,
        dry_run: bool = False,
    ) -> K | Status: ...

    @overload
    async def delete(
        self,
        obj_or_kind: type[K],
        name: str,
        *,
        namespace: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: Propagation | None = None,
        grace_period_seconds: int | None = None,
        dry_run: bool = False,
    ) -> K | Status: ...

    async def delete(
        self,
        obj_or_kind: K | type[K],
        name: str | None = None,
        *,
        namespace: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: Propagation | None = None,
        grace_period_seconds: int | None = None,
        dry_run: bool = False,
    ) -> K | Status:
        """Asks for the deletion of an object, or of a kind's object by name.

        Given an object, its uid is the precondition: a newer object of the same name is not hit. Returns the object
        if it still exists, with a deletion timestamp (finalizers, grace period), and as it last was or a `Status` if
        it is gone.

        Raises:
            NotFound: there is none.
            Conflict: a precondition (``uid``, ``resource_version``) does not hold.
        """
        if isinstance(obj_or_kind, Object):
            kind: type[K] = type(obj_or_kind)
            name, namespace = obj_or_kind.name, namespace or obj_or_kind.namespace
            uid = obj_or_kind.uid if uid is None else uid
        else:
            kind = obj_or_kind
            if name is None:
                raise TypeError(f"delete({kind.__name__}, ...) needs a name; delete_all deletes many")
        resource = resource_of(kind)
        key = self._key(resource, namespace, name)
        options = _delete_options(uid, resource_version, propagation, grace_period_seconds, dry_run)
        body = await self._requester.request(
            "DELETE",
            resource.path(namespace=key.namespace, name=key.name),
            body=options,
            accept=_accept(kind),
            verb="delete",
            resource=resource,
            key=key,
        )
        if _kinds.decode(body).kind == "Status":
            status = msgspec.json.decode(body, type=Status)
            if not dry_run:
                self._observe(resource, key, uid or (status.details.uid if status.details else ""), "", "delete")
            return status
        gone = decode(kind, body)
        if not dry_run:
            self._observe(resource, key, gone.uid, gone.metadata.resource_version, "delete")
        return gone

    async def delete_all(
        self,
        kind: type[Object],
        *,
        namespace: str | None = None,
        selector: AnySelector = None,
        field_selector: AnyFieldSelector = None,
        propagation: Propagation | None = None,
        grace_period_seconds: int | None = None,
        dry_run: bool = False,
        timeout: float = 60.0,
    ) -> None:
        """Asks for the deletion of all objects of a kind that match, in one namespace (default: the client's).

        Objects with finalizers are still there afterwards. Not atomic: an error may come after some are deleted.
        """
        resource = resource_of(kind)
        place = self._namespace_of(resource, namespace)
        await self._requester.request(
            "DELETE",
            resource.path(namespace=place),
            query=tuple(list_query(selector, field_selector)),
            body=_delete_options(None, None, propagation, grace_period_seconds, dry_run),
            timeout=timeout,
            verb="deletecollection",
            resource=resource,
            key=f"{place}/" if place else "",
        )

    # -- the raw layer ----------------------------------------------------------------------------------------------

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: bytes | None = None,
        content_type: str = JSON,
        accept: str = JSON,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
        verb: str = "",
        resource: Resource | str = "",
        key: str = "",
    ) -> bytes:
        """Any request, with this client's retries and errors; the body of the answer.

        Write observers are not told. ``verb``, ``resource`` and ``key`` appear in errors only.
        """
        return await self._requester.request(
            method,
            path,
            query=query,
            body=body,
            content_type=content_type,
            accept=accept,
            headers=headers,
            timeout=timeout,
            verb=verb,
            resource=resource,
            key=key,
        )

    def stream(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        accept: str = JSON,
        headers: Mapping[str, str] | None = None,
        idle_timeout: float | None = IDLE_TIMEOUT,
        verb: str = "",
        resource: Resource | str = "",
        key: str = "",
    ) -> AbstractAsyncContextManager[Response]:
        """Any request whose answer is read as it comes: ``async with client.stream(...) as response``."""
        return self._requester.stream(
            method,
            path,
            query=query,
            accept=accept,
            headers=headers,
            idle_timeout=idle_timeout,
            verb=verb,
            resource=resource,
            key=key,
        )

    # -- the parts of a verb ----------------------------------------------------------------------------------------

    async def _write(
        self,
        verb: str,
        method: str,
        kind: type[K],
        key: ObjectKey,
        path: str,
        body: bytes,
        *,
        query: Any,
        content_type: str = JSON,
        subresource: str = "",
        observed: bool = True,
    ) -> K:
        resource = resource_of(kind)
        answer = await self._requester.request(
            method,
            path,
            query=tuple(query),
            body=body,
            content_type=content_type,
            accept=_accept(kind),
            verb=verb,
            resource=_named(resource, subresource),
            key=key,
        )
        made = decode(kind, answer)
        if observed and self._observers:
            self._observe(resource, made.key, made.uid, made.metadata.resource_version, verb)
        return made

    def _observe(self, resource: Resource, key: ObjectKey, uid: str, version: str, verb: str) -> None:
        for observer in tuple(self._observers):
            observer(resource, key, uid, version, verb)

    def _manager(self, field_manager: str | None) -> str:
        return self.field_manager if field_manager is None else field_manager

    def _namespace_of(self, resource: Resource, namespace: str | None) -> str:
        if not resource.namespaced:
            return ""
        return checked_name(namespace or self.namespace, "the namespace")

    def _key(self, resource: Resource, namespace: str | None, name: str) -> ObjectKey:
        return ObjectKey.of(
            self._namespace_of(resource, namespace), checked_name(name, f"the name of the {resource.kind}")
        )


def _scope(namespace: str | None) -> str:
    return checked_name(namespace, "the namespace") if namespace else ""


def _named(resource: Resource, subresource: str) -> Resource | str:
    return f"{resource}/{subresource}" if subresource else resource


def _accept(kind: type[Object], *, listed: bool = False) -> str:
    wanted = getattr(kind, "accept_list" if listed else "accept", JSON)
    return wanted if isinstance(wanted, str) else JSON


def _configuration(obj: Object, namespace: str, subresource: str) -> dict[str, Any]:
    """What ``obj`` says, without what only the server may say."""
    document: dict[str, Any] = to_wire(obj)
    metadata = {name: value for name, value in document.get("metadata", {}).items() if name not in _SERVER_OWNED}
    if namespace:
        metadata["namespace"] = namespace
    document["metadata"] = metadata
    if not subresource:
        document.pop("status", None)
    return document


def _delete_options(
    uid: str | None,
    resource_version: str | None,
    propagation: Propagation | None,
    grace_period_seconds: int | None,
    dry_run: bool,
) -> bytes | None:
    options: dict[str, Any] = {}
    preconditions = {}
    if uid:
        preconditions["uid"] = uid
    if resource_version:
        preconditions["resourceVersion"] = resource_version
    if preconditions:
        options["preconditions"] = preconditions
    if propagation is not None:
        options["propagationPolicy"] = propagation
    if grace_period_seconds is not None:
        options["gracePeriodSeconds"] = grace_period_seconds
    if dry_run:
        options["dryRun"] = ["All"]
    if not options:
        return None
    return msgspec.json.encode({"apiVersion": "v1", "kind": "DeleteOptions", **options})
