"""Collections: a client's verbs for one kind in one namespace. A clientset consists of collections."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from setpoint.client.object_list import ObjectList
from setpoint.client.verb_options import (
    AnyFieldSelector,
    AnySelector,
    FieldValidation,
    Patch,
    PatchBody,
    PatchType,
    Propagation,
)
from setpoint.client.verbs import Verbs
from setpoint.client.watch import Watch
from setpoint.meta import Object, Status

if TYPE_CHECKING:
    from setpoint.models.autoscaling_v1 import Scale

K = TypeVar("K", bound=Object)


class Group:
    """One group version of a clientset."""

    __slots__ = ("_client",)

    def __init__(self, client: Verbs) -> None:
        self._client = client


class CreateOnly(Generic[K]):
    """A resource that supports only ``create``, such as a review."""

    __slots__ = ("_client", "_kind", "_namespace")

    def __init__(self, client: Verbs, kind: type[K], namespace: str | None = None) -> None:
        self._client = client
        self._kind = kind
        self._namespace = namespace

    async def create(
        self,
        obj: K,
        *,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
    ) -> K:
        """See `setpoint.client.Client.create`. An ``obj`` without a namespace is created in the collection's namespace;
        ``obj`` itself is not changed.
        """
        return await self._client.create(
            self._placed(obj), dry_run=dry_run, field_manager=field_manager, field_validation=field_validation
        )

    def _placed(self, obj: K) -> K:
        """``obj``, or a copy in the collection's namespace if ``obj`` has no namespace."""
        if obj.namespace or not self._namespace:
            return obj
        return msgspec.structs.replace(obj, metadata=msgspec.structs.replace(obj.metadata, namespace=self._namespace))


class Collection(CreateOnly[K]):
    """The objects of one kind in one namespace. Without a namespace, `list`, `pages` and `watch` cover all namespaces,
    and the other verbs use the client's namespace.

    Each verb does the same as the client's verb of that name.
    """

    __slots__ = ()

    async def get(self, name: str, *, resource_version: str = "") -> K:
        return await self._client.get(self._kind, name, namespace=self._namespace, resource_version=resource_version)

    async def list(
        self,
        *,
        selector: AnySelector = None,
        field_selector: AnyFieldSelector = None,
        limit: int = 0,
        continue_: str = "",
        resource_version: str = "",
        resource_version_match: str = "",
        timeout: float = 60.0,
    ) -> ObjectList[K]:
        return await self._client.list(
            self._kind,
            namespace=self._namespace,
            selector=selector,
            field_selector=field_selector,
            limit=limit,
            continue_=continue_,
            resource_version=resource_version,
            resource_version_match=resource_version_match,
            timeout=timeout,
        )

    def pages(
        self, *, selector: AnySelector = None, field_selector: AnyFieldSelector = None, limit: int = 500
    ) -> AsyncIterator[K]:
        return self._client.pages(
            self._kind, namespace=self._namespace, selector=selector, field_selector=field_selector, limit=limit
        )

    def watch(
        self,
        *,
        selector: AnySelector = None,
        field_selector: AnyFieldSelector = None,
        resource_version: str = "",
        bookmarks: bool = True,
        timeout_seconds: int | None = None,
        send_initial_events: bool = False,
    ) -> Watch[K]:
        return self._client.watch(
            self._kind,
            namespace=self._namespace,
            selector=selector,
            field_selector=field_selector,
            resource_version=resource_version,
            bookmarks=bookmarks,
            timeout_seconds=timeout_seconds,
            send_initial_events=send_initial_events,
        )

    async def update(self, obj: K, *, subresource: str = "", dry_run: bool = False) -> K:
        return await self._client.update(obj, subresource=subresource, dry_run=dry_run)

    async def update_status(self, obj: K, *, dry_run: bool = False) -> K:
        return await self._client.update_status(obj, dry_run=dry_run)

    async def replace(self, obj: K, *, subresource: str = "", dry_run: bool = False) -> K:
        return await self._client.replace(self._placed(obj), subresource=subresource, dry_run=dry_run)

    async def patch(
        self,
        name: str,
        patch: PatchBody | Patch,
        *,
        type: PatchType | None = None,
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str | None = None,
    ) -> K:
        return await self._client.patch(
            self._kind,
            name,
            patch,
            type=type,
            namespace=self._namespace,
            subresource=subresource,
            dry_run=dry_run,
            field_manager=field_manager,
        )

    async def apply(
        self,
        obj: K,
        *,
        force: bool = True,
        field_manager: str | None = None,
        subresource: str = "",
        dry_run: bool = False,
    ) -> K:
        return await self._client.apply(
            self._placed(obj), force=force, field_manager=field_manager, subresource=subresource, dry_run=dry_run
        )

    async def delete(
        self,
        name: str,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: Propagation | None = None,
        grace_period_seconds: int | None = None,
        dry_run: bool = False,
    ) -> K | Status:
        return await self._client.delete(
            self._kind,
            name,
            namespace=self._namespace,
            uid=uid,
            resource_version=resource_version,
            propagation=propagation,
            grace_period_seconds=grace_period_seconds,
            dry_run=dry_run,
        )

    async def delete_all(
        self,
        *,
        selector: AnySelector = None,
        field_selector: AnyFieldSelector = None,
        propagation: Propagation | None = None,
        dry_run: bool = False,
    ) -> None:
        await self._client.delete_all(
            self._kind,
            namespace=self._namespace,
            selector=selector,
            field_selector=field_selector,
            propagation=propagation,
            dry_run=dry_run,
        )


class Scalable(Collection[K]):
    """A collection whose objects have a ``scale`` subresource."""

    __slots__ = ()

    async def get_scale(self, name: str) -> Scale:
        return await self._client.get_scale(self._kind, name, namespace=self._namespace)

    async def patch_scale(self, name: str, replicas: int, *, resource_version: str = "") -> Scale:
        return await self._client.patch_scale(
            self._kind, name, replicas, namespace=self._namespace, resource_version=resource_version
        )
