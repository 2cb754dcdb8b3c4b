"""The verbs that read: get, list, watch."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, TypeVar, overload

from setpoint.client.base import ClientBase, accept_of, readable, scope_of
from setpoint.client.dynamic import DynamicObject
from setpoint.client.errors import Expired
from setpoint.client.object_list import ObjectList, decode_list
from setpoint.client.paging import Paging
from setpoint.client.request_info import RequestInfo
from setpoint.client.requester import IDLE_TIMEOUT, MAX_OBJECT, build_request, build_stream_request
from setpoint.client.verb_options import AnyFieldSelector, AnySelector, list_query
from setpoint.client.watch import Watch
from setpoint.meta import Object, resource_of

K = TypeVar("K", bound=Object)
PAGE = 500


class Reading(ClientBase):
    """The verbs that read; a part of `setpoint.client.Client`."""

    async def kind(self, name: str) -> type[DynamicObject]:
        """The class of the kind that kubectl would find under ``name``: ``po``, ``pod``, ``pods``, ``Pod``,
        ``deployments.apps``, ``deployments.v1.apps``.

        Raises:
            NoMatchError: the server has no such resource.
            AmbiguousMatchError: several custom groups have a resource with this name.
        """
        return await self._kind(name)

    @overload
    async def get(
        self,
        kind: type[K],
        name: str,
        *,
        namespace: str | None = None,
        resource_version: str = "",
        subresource: str = "",
    ) -> K: ...

    @overload
    async def get(
        self,
        kind: str,
        name: str,
        *,
        namespace: str | None = None,
        resource_version: str = "",
        subresource: str = "",
    ) -> DynamicObject: ...

    async def get(
        self,
        kind: type[K] | str,
        name: str,
        *,
        namespace: str | None = None,
        resource_version: str = "",
        subresource: str = "",
    ) -> K | DynamicObject:
        """The object with this ``name``. Its state is at least as new as ``resource_version``; ``"0"`` accepts any
        state, and ``""`` requires the latest.

        Raises:
            NotFound: the object does not exist.
            UnreadableAnswer: the object does not fit its class, is nested too deeply, or is not the one that was asked
                for.
        """
        if isinstance(kind, str):
            kind = await self._kind(kind)
        resource = resource_of(kind)
        key = self._key(resource, namespace, name)
        request = build_request(
            "GET",
            resource.path(namespace=key.namespace, name=key.name, subresource=subresource),
            query=(("resourceVersion", resource_version),) if resource_version else (),
            accept=accept_of(kind),
        )
        info = RequestInfo("get", resource, key, subresource)
        obj: K = readable(kind, await self._requester.request(request, info, limit=MAX_OBJECT), info)
        return obj

    @overload
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
    ) -> ObjectList[K]: ...

    @overload
    async def list(
        self,
        kind: str,
        *,
        namespace: str | None = None,
        selector: AnySelector = None,
        field_selector: AnyFieldSelector = None,
        limit: int = 0,
        continue_: str = "",
        resource_version: str = "",
        resource_version_match: str = "",
        timeout: float = 60.0,
    ) -> ObjectList[DynamicObject]: ...

    async def list(
        self,
        kind: type[K] | str,
        *,
        namespace: str | None = None,
        selector: AnySelector = None,
        field_selector: AnyFieldSelector = None,
        limit: int = 0,
        continue_: str = "",
        resource_version: str = "",
        resource_version_match: str = "",
        timeout: float = 60.0,
    ) -> ObjectList[Any]:
        """The objects of a kind in one ``namespace``, or in all namespaces if it is None.

        A ``limit`` of 0 means no limit. With a limit, continue with the token in `ObjectList.metadata`, or use `pages`.

        ``field_selector`` may be `setpoint.meta.shard_ranges.ShardRanges`: a part of the objects by the hash of their
        uid or namespace (KEP-5866). Servers obey it from Kubernetes 1.36 on if their feature gate
        ``ShardedListAndWatch`` is on; other servers ignore it and return all objects.

        Raises:
            Expired: the token in ``continue_`` is too old.
        """
        if isinstance(kind, str):
            kind = await self._kind(kind)
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
        request = build_request(
            "GET",
            resource.path(namespace=scope_of(namespace)),
            query=query,
            accept=accept_of(kind, listed=True),
            timeout=timeout,
        )
        info = RequestInfo("list", resource, f"{namespace}/" if namespace else "")
        return decode_list(kind, await self._requester.request(request, info))

    @overload
    def pages(
        self,
        kind: type[K],
        *,
        namespace: str | None = None,
        selector: AnySelector = None,
        field_selector: AnyFieldSelector = None,
        limit: int = PAGE,
        resource_version: str = "",
    ) -> AsyncIterator[K]: ...

    @overload
    def pages(
        self,
        kind: str,
        *,
        namespace: str | None = None,
        selector: AnySelector = None,
        field_selector: AnyFieldSelector = None,
        limit: int = PAGE,
        resource_version: str = "",
    ) -> AsyncIterator[DynamicObject]: ...

    async def pages(
        self,
        kind: type[K] | str,
        *,
        namespace: str | None = None,
        selector: AnySelector = None,
        field_selector: AnyFieldSelector = None,
        limit: int = PAGE,
        resource_version: str = "",
    ) -> AsyncIterator[Any]:
        """Every object of a kind, fetched in pages of ``limit``.

        A continue token expires after about five minutes (410). Everything is then listed once more, and objects that
        were already returned are left out. Every object that exists throughout is still returned exactly once, but the
        objects don't all show the state of the same moment.

        Objects that don't fit their model are logged and left out.

        Raises:
            TransportError: the server sends a token twice, or ten pages in a row without a new object.
        """
        if isinstance(kind, str):
            kind = await self._kind(kind)
        paging = Paging(resource_of(kind))
        identities: set[str] = set()
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
            is_new = bool(page.broken)
            for obj in page:
                identity = obj.uid or obj.key  # what another API server computes, such as metrics, has no uid
                if identity not in identities:
                    is_new = True
                    identities.add(identity)
                    yield obj
            if not token:
                return
            paging.check(token, is_new=is_new)

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
        """The changes after ``resource_version`` to the objects in one ``namespace``, or in all namespaces if it is
        None. Without a version, an ``ADDED`` for each existing object comes first. ``field_selector`` is as in `list`.

        The server ends the watch after ``timeout_seconds``; by default it chooses 5 to 10 minutes.
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
        path = resource.path(namespace=scope_of(namespace))
        request = build_stream_request(path, query=query, accept=accept_of(kind), idle_timeout=idle_timeout)
        info = RequestInfo("watch", resource, f"{namespace}/" if namespace else "")
        return Watch(self._requester.stream(request, info), kind, resource)
