"""ResourceQuotas: a controller that keeps the used amounts in their statuses up to date."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, Final

import msgspec

from setpoint.apiserver.objects.pod_resources import Amounts
from setpoint.apiserver.plugins.quota_usage import EVALUATED, concerned, matches, usage
from setpoint.cache import Head, Informer
from setpoint.client import Client, MethodNotAllowed, NotFound, dynamic
from setpoint.cluster.served_resources import ServedResources
from setpoint.controller import CacheReader, Context, Controller, Outcome, after, done
from setpoint.controller.predicates import generation_changed
from setpoint.meta import GroupVersionResource, ObjectKey, Quantity, Resource
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.models.core_v1 import PersistentVolumeClaim, Pod, ResourceQuota, Service

JsonObject = dict[str, Any]
_WATCHED: Final = ("pods", "persistentvolumeclaims", "services")
"""The collections that the controller watches from the beginning."""
_METADATA: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"


class _Status(msgspec.Struct):
    phase: str = ""


class _Phase(msgspec.Struct):
    """The fields of a pod that decide whether the pod counts."""

    status: _Status = msgspec.field(default_factory=_Status)


class ResourceQuotas:
    """Counts how much of each quota a namespace uses, so that the server can enforce the quota.

    The server itself counts new objects when it admits them. This controller counts again when a quota is made or
    changed, and when an object of a kind that the quota limits is deleted or has ended. The kind may be a custom one
    (``count/widgets.example.com``).

    *Guarantees*: the count starts from a version of the quota and is written only to that version, so an object that is
    admitted in the meantime is never left out.

    Args:
        resources: the resources that the server serves.
    """

    def __init__(self, resources: ServedResources) -> None:
        self._resources = resources
        self._followed: dict[GroupVersionResource, Informer[Any]] = {}
        """The caches that follow deletions of all kinds except pods, claims and services."""
        self._quotas: dict[str, set[ObjectKey]] = {}
        self._pending: asyncio.Queue[ObjectKey | Resource | Informer[Any]] = asyncio.Queue()
        """Quotas to count again, resources to follow, and caches that are not needed any more."""
        self.controller = (
            Controller(
                ResourceQuota,
                self._reconcile,
                name="resourcequota",
                owns_status=False,
                leader_only=False,
                predicates=[self._forget_deleted],
            )
            .watches(Pod, _quotas_of_pod)
            .watches(Pod, _quotas_of, predicates=(generation_changed,))
            .watches(PersistentVolumeClaim, _quotas_of, metadata_only=True)
            .watches(Service, _quotas_of, metadata_only=True)
            .watches(CustomResourceDefinition, self._quotas_of_kind, metadata_only=True)
            .source(self._deletions)
        )

    async def _reconcile(self, cached: ResourceQuota, ctx: Context) -> Outcome:
        self._quotas.setdefault(cached.namespace, set()).add(cached.key)
        try:
            quota = await ctx.client.get(ResourceQuota, cached.name, namespace=cached.namespace)
        except NotFound:
            return done()
        used: Amounts = {}
        unfollowed: list[str] = []
        document = {"spec": _scopes(quota)}
        served = await self._resources(ctx.client)
        self._stop_following(served)
        for resource in served:
            collection = str(resource.group_resource)
            names = concerned(collection, quota.spec.hard) if resource.namespaced and "list" in resource.verbs else []
            if not names:
                continue
            if collection not in _WATCHED and "watch" in resource.verbs and not self._follows(resource):
                unfollowed.append(collection)
            used |= dict.fromkeys(names, Quantity(0))
            for obj in await _objects(ctx.client, resource, quota.namespace, whole=collection in EVALUATED):
                if matches(document, collection, obj):
                    counted = usage(collection, obj, ctx.now())
                    used |= {name: used[name] + counted[name] for name in names if name in counted}
        status = {"hard": quota.spec.hard, "used": {name: str(amount) for name, amount in sorted(used.items())}}
        if (quota.status.hard, quota.status.used) != (status["hard"], status["used"]):
            # Replaced as a whole: what is not limited any more is not counted any more.
            zeros = {
                "hard": dict.fromkeys(quota.status.hard.keys() - status["hard"].keys()),
                "used": dict.fromkeys(quota.status.used.keys() - status["used"].keys()),
            }
            patch = {
                "metadata": {"resourceVersion": quota.metadata.resource_version},
                "status": {field: {**zeros[field], **status[field]} for field in ("hard", "used")},
            }
            await ctx.patch(quota, patch, subresource="status")
        # An object that has been counted and goes before its kind is followed would be counted forever.
        return after(1.0, f"deletions of {', '.join(unfollowed)} are not followed yet") if unfollowed else done()

    def _follows(self, resource: Resource) -> bool:
        """Whether all deletions of the resource's objects from now on will be noticed, so that quotas are counted
        again. Otherwise it begins to follow the resource.
        """
        informer = self._followed.get(resource.gvr)
        if informer is None:
            self._pending.put_nowait(resource)
        return informer is not None and informer.has_synced and informer.last_error is None

    def _stop_following(self, served: Sequence[Resource]) -> None:
        if self._resources.missing:
            return  # a server that can't be asked may still serve them
        for gvr in self._followed.keys() - {resource.gvr for resource in served}:
            self._pending.put_nowait(self._followed.pop(gvr))

    def _quotas_of_kind(self, definition: Head, caches: CacheReader) -> list[ObjectKey]:
        """The quotas that limit a kind that may have come or gone."""
        self._resources.forget()
        limit = f"count/{definition.name}"
        return [quota.key for quota in caches.lister(ResourceQuota).list() if limit in quota.spec.hard]

    def _deleted(self, head: Head, *_: object) -> None:
        for key in self._quotas.get(head.namespace, ()):
            self._pending.put_nowait(key)

    def _forget_deleted(self, old: Head | None, new: Head | None) -> bool:
        if new is None and old is not None:
            quotas = self._quotas.get(old.namespace, set())
            quotas.discard(old.key)
            if not quotas:
                self._quotas.pop(old.namespace, None)
        return True

    async def _deletions(self, caches: CacheReader) -> AsyncIterator[ObjectKey]:
        try:
            while True:
                entry = await self._pending.get()
                if isinstance(entry, Informer):
                    await entry.close()
                elif not isinstance(entry, Resource):
                    yield entry
                elif entry.gvr not in self._followed:
                    informer = caches.informer(dynamic(entry), namespace="", metadata_only=True)
                    self._followed[entry.gvr] = informer
                    informer.add_event_handler(on_delete=self._deleted, name=f"quotas of {entry}")
        finally:
            for informer in self._followed.values():
                await informer.close()
            self._followed.clear()


def _scopes(quota: ResourceQuota) -> JsonObject:
    """The quota's scopes as JSON, with only the fields that `matches` reads."""
    selector = quota.spec.scope_selector
    requirements = selector.match_expressions if selector is not None else []
    return {
        "scopes": quota.spec.scopes,
        "scopeSelector": {
            "matchExpressions": [
                {"scopeName": requirement.scope_name, "operator": requirement.operator, "values": requirement.values}
                for requirement in requirements
            ]
        },
    }


async def _objects(client: Client, resource: Resource, namespace: str, *, whole: bool) -> list[JsonObject]:
    """The objects of a kind as they are on the server: whole objects, or only their metadata if ``whole`` is false."""
    try:
        body = await client.request(
            "GET",
            resource.path(namespace=namespace),
            accept="application/json" if whole else _METADATA,
            verb="list",
        )
    except (NotFound, MethodNotAllowed):
        return []  # the kind has gone
    items: list[JsonObject] = msgspec.json.decode(body).get("items") or []
    return items


def _quotas_of(head: Head, caches: CacheReader) -> list[ObjectKey]:
    return [quota.key for quota in caches.lister(ResourceQuota).heads(namespace=head.namespace)]


def _quotas_of_pod(head: Head, caches: CacheReader) -> Iterable[str]:
    """The quotas to count again when a pod is gone or has ended."""
    quotas = _quotas_of(head, caches)
    pod = caches.lister(Pod).try_get(head.key, as_=_Phase) if quotas else None
    return () if pod is not None and pod.status.phase not in ("Failed", "Succeeded") else quotas
