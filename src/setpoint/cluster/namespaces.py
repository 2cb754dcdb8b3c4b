"""Namespace lifecycle: what every namespace has from the start, and how everything in it goes in the end."""

from __future__ import annotations

from typing import Final

import msgspec

from setpoint.client import ApiError, Client, Conflict, MethodNotAllowed, NotFound
from setpoint.cluster.resources import ServedResources
from setpoint.controller import Context, Controller, Outcome, after, done
from setpoint.controller.predicates import named
from setpoint.meta import ObjectKey, Resource, resource_of
from setpoint.models.core_v1 import ConfigMap, Namespace, NamespaceCondition, ServiceAccount

FINALIZER: Final = "kubernetes"
ROOT_CA: Final = "kube-root-ca.crt"


class _Item(msgspec.Struct):
    metadata: dict[str, object]


class _List(msgspec.Struct):
    items: list[_Item] | None = None


_lists = msgspec.json.Decoder(_List)


class NamespaceLifecycle:
    """Empties a namespace that is being deleted, kind by kind, and lets it go when nothing is left.

    Every namespaced resource that the server serves counts, custom ones too. As long as something is left (a
    finalizer, a pod that is ending), the namespace says in its conditions what, and is looked at again.
    """

    def __init__(self, resources: ServedResources, *, poll_seconds: float = 1.0) -> None:
        self._resources = resources
        self._poll_seconds = poll_seconds
        self.controller = Controller(
            Namespace,
            self._reconcile,
            name="namespace-lifecycle",
            reconcile_deleting=True,
            owns_status=False,
            leader_only=False,
        )

    async def _reconcile(self, namespace: Namespace, ctx: Context) -> Outcome:
        if not namespace.is_deleting or FINALIZER not in namespace.spec.finalizers:
            return done()
        left: dict[str, int] = {}
        failed: dict[str, str] = {}
        for resource in await self._resources():
            if not resource.namespaced or "list" not in resource.verbs or "delete" not in resource.verbs:
                continue
            try:
                count = await _empty(ctx.client, resource, namespace.name)
            except ApiError as problem:
                failed[str(resource)] = problem.message
            else:
                if count:
                    left[str(resource)] = count
        # A group that can't be asked may still have objects in the namespace.
        failed |= {f"{group}": why for group, why in self._resources.missing.items()}
        if failed or left:
            _explain(namespace, left, failed)
            return after(self._poll_seconds, "something is left in the namespace")
        await self._finish(namespace, ctx.client)
        return done()

    async def _finish(self, namespace: Namespace, client: Client) -> None:
        rest = [finalizer for finalizer in namespace.spec.finalizers if finalizer != FINALIZER]
        body = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": namespace.name,
                "uid": namespace.uid,
                "resourceVersion": namespace.metadata.resource_version,
            },
            "spec": {"finalizers": rest},
        }
        path = resource_of(Namespace).path(name=namespace.name, subresource="finalize")
        try:
            await client.request(
                "PUT", path, body=msgspec.json.encode(body), resource="namespaces/finalize", key=namespace.name
            )
        except NotFound:
            return


async def _empty(client: Client, resource: Resource, namespace: str) -> int:
    """Asks for the deletion of all objects of one resource; how many there still are."""
    found = await _list(client, resource, namespace)
    if not found:
        return 0
    if all(item.metadata.get("deletionTimestamp") for item in found):
        return len(found)
    try:
        await client.request(
            "DELETE",
            resource.path(namespace=namespace),
            verb="deletecollection",
            resource=resource,
            key=f"{namespace}/",
        )
    except MethodNotAllowed:
        for item in found:
            name = str(item.metadata["name"])
            try:
                path = resource.path(namespace=namespace, name=name)
                await client.request("DELETE", path, resource=resource, key=ObjectKey.of(namespace, name))
            except (NotFound, Conflict):
                continue
    return len(await _list(client, resource, namespace))


async def _list(client: Client, resource: Resource, namespace: str) -> list[_Item]:
    try:
        body = await client.request(
            "GET",
            resource.path(namespace=namespace),
            accept="application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
            verb="list",
            resource=resource,
            key=f"{namespace}/",
        )
    except (NotFound, MethodNotAllowed):
        return []  # the resource went, and its objects with it
    return _lists.decode(body).items or []


def _explain(namespace: Namespace, left: dict[str, int], failed: dict[str, str]) -> None:
    """The conditions in which namespaces say what keeps them."""
    remaining = ", ".join(f"{name} has {count} resource instances" for name, count in sorted(left.items()))
    failures = "; ".join(f"{name}: {message}" for name, message in sorted(failed.items()))
    for type, holds, reason, message in (
        ("NamespaceContentRemaining", bool(left), "SomeResourcesRemain", f"Some resources are remaining: {remaining}"),
        ("NamespaceDeletionContentFailure", bool(failed), "ContentDeletionFailed", failures),
    ):
        old = next((found for found in namespace.status.conditions if found.type == type), None)
        new = NamespaceCondition(
            type=type,
            status="True" if holds else "False",
            reason=reason if holds else "ContentRemoved" if left or not failed else "ContentDeleted",
            message=message if holds else "",
        )
        if old is None:
            namespace.status.conditions.append(new)
        elif (old.status, old.reason, old.message) != (new.status, new.reason, new.message or None):
            namespace.status.conditions[namespace.status.conditions.index(old)] = new


class DefaultServiceAccounts:
    """Gives every namespace its ServiceAccount ``default``, and keeps it there."""

    def __init__(self) -> None:
        self.controller = Controller(
            Namespace, self._reconcile, name="service-accounts", owns_status=False, leader_only=False
        ).watches(ServiceAccount, _namespace, predicates=(named("default"),), field_selector=_only("default"))

    async def _reconcile(self, namespace: Namespace, ctx: Context) -> Outcome:
        if await ctx.get(ServiceAccount, "default", namespace=namespace.name) is None:
            await ctx.apply(ServiceAccount.named("default", namespace.name), controlled=False)
        return done()


class RootCertificates:
    """Gives every namespace the ConfigMap ``kube-root-ca.crt``, and keeps its content.

    ``ca`` is the certificate (PEM) that clients in the cluster are to trust.
    """

    def __init__(self, *, ca: str = "") -> None:
        self._ca = ca
        self.controller = Controller(
            Namespace, self._reconcile, name="root-certificates", owns_status=False, leader_only=False
        ).watches(ConfigMap, _namespace, predicates=(named(ROOT_CA),), field_selector=_only(ROOT_CA))

    async def _reconcile(self, namespace: Namespace, ctx: Context) -> Outcome:
        found = await ctx.get(ConfigMap, ROOT_CA, namespace=namespace.name)
        if found is None or found.data.get("ca.crt") != self._ca:
            await ctx.apply(ConfigMap.named(ROOT_CA, namespace.name, data={"ca.crt": self._ca}), controlled=False)
        return done()


def _only(name: str) -> dict[str, str]:
    return {"metadata.name": name}


def _namespace(head: object) -> list[ObjectKey]:
    return [ObjectKey(head.namespace)]  # type: ignore[attr-defined]
