"""Namespace lifecycle: the objects that every namespace has from the start, and the deletion of its content."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Final

import msgspec

from setpoint.cache import Head
from setpoint.client import AlreadyExists, ApiError, Client, Conflict, MethodNotAllowed, NotFound
from setpoint.cluster.conditions import set_condition
from setpoint.cluster.served_resources import ServedResources
from setpoint.controller import Context, Controller, Outcome, after, done
from setpoint.controller.predicates import named
from setpoint.meta import ObjectKey, Resource, resource_of
from setpoint.models.core_v1 import ConfigMap, Namespace, NamespaceCondition, ServiceAccount

FINALIZER: Final = "kubernetes"
ROOT_CA: Final = "kube-root-ca.crt"


_NO_TROUBLE: Final = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}
"""Reasons and messages of conditions that are False."""


class _Metadata(msgspec.Struct, rename="camel"):
    name: str
    deletion_timestamp: str | None = None
    finalizers: list[str] = []


class _Item(msgspec.Struct):
    metadata: _Metadata


class _List(msgspec.Struct):
    items: list[_Item] | None = None


_lists = msgspec.json.Decoder(_List)


class NamespaceLifecycle:
    """Empties a namespace that is being deleted, kind by kind, and removes its finalizer when nothing is left.

    Pods are deleted first: everything else, such as the Secrets and NetworkPolicies that they rely on, stays until the
    last pod has ended (KEP-5080). Then the objects of all other namespaced resources that the server serves are
    deleted, including custom resources. As long as something is left (a finalizer, a pod that is ending), the
    conditions of the namespace report it in upstream's words, and the namespace is checked again.
    """

    def __init__(self, resources: ServedResources) -> None:
        self._resources = resources
        self._remaining: dict[str, tuple[Resource, ...]] = {}
        """The resources that had remaining objects at the last check, by the uid of the namespace."""
        self.controller = Controller(
            Namespace,
            self._reconcile,
            name="namespace-lifecycle",
            reconcile_deleting=True,
            owns_status=False,
            leader_only=False,
            predicates=[self._forget_deleted],
        )

    async def _reconcile(self, namespace: Namespace, ctx: Context) -> Outcome:
        if not namespace.is_deleting or FINALIZER not in namespace.spec.finalizers:
            return done()
        resources = [
            resource
            for resource in await self._resources(ctx.client)
            if resource.namespaced and {"list", "delete"} <= set(resource.verbs)
        ]
        pods = [resource for resource in resources if str(resource.group_resource) == "pods"]
        others = [resource for resource in resources if resource not in pods]
        # Nothing is created in such a namespace, so that what was left last time is all there is.
        for part in (self._remaining.get(namespace.uid), pods, others):
            rest = Remains()
            # A group that can't be asked may still have objects in the namespace.
            rest.undiscovered = {str(group): why for group, why in self._resources.missing.items()}
            await rest.delete(part or (), namespace.name, ctx.client)
            if rest.contents or rest.failed or (rest and part is others):
                rest.explain(namespace)
                self._remaining[namespace.uid] = () if rest.failed else tuple(rest.resources)
                return after(self._pause(namespace, ctx), "the namespace is not empty yet")
        await self._finish(namespace, ctx.client)
        return done()

    def _pause(self, namespace: Namespace, ctx: Context) -> float:
        """The seconds until the next check. The longer the namespace has waited, the longer they are."""
        since = namespace.metadata.deletion_timestamp
        waited = (ctx.now() - since).total_seconds() if since is not None else 0.0
        return min(max(waited / 8, 1.0), 8.0)

    def _forget_deleted(self, old: Head | None, new: Head | None) -> bool:
        if new is None and old is not None:
            self._remaining.pop(old.uid, None)
        return True

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
            await client.request("PUT", path, body=msgspec.json.encode(body))
        except NotFound:
            return


class Remains:
    """The remaining content of a namespace: the number of objects by resource and by finalizer, and the failures to
    delete them.
    """

    def __init__(self) -> None:
        self.contents: dict[str, int] = {}
        self.resources: list[Resource] = []
        """The resources with remaining objects."""
        self.finalizers: dict[str, int] = {}
        self.failed: list[str] = []
        self.undiscovered: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self.contents or self.failed or self.undiscovered)

    async def delete(self, resources: Iterable[Resource], namespace: str, client: Client) -> None:
        """Requests the deletion of all objects of these resources, and records the objects that remain for now."""
        for resource in resources:
            try:
                items = await _empty(client, resource, namespace)
            except ApiError as problem:
                self.failed.append(problem.message)
                continue
            if items:
                self.resources.append(resource)
                self.contents[f"{resource.plural}.{resource.group}"] = len(items)
            for finalizer in (finalizer_name for item in items for finalizer_name in item.metadata.finalizers):
                self.finalizers[finalizer] = self.finalizers.get(finalizer, 0) + 1

    def explain(self, namespace: Namespace) -> None:
        """Sets the conditions of the namespace that report what prevents its deletion."""
        groups = "; ".join(f"{group}: {why}" for group, why in sorted(self.undiscovered.items()))
        failures = ", ".join(sorted(self.failed))
        contents = ", ".join(f"{name} has {count} resource instances" for name, count in sorted(self.contents.items()))
        finalizers = ", ".join(
            f"{name} in {count} resource instances" for name, count in sorted(self.finalizers.items())
        )
        conditions = namespace.status.conditions
        for type, reason, message in (
            (
                "NamespaceDeletionDiscoveryFailure",
                "DiscoveryFailed",
                groups and f"Discovery failed for some groups, {len(self.undiscovered)} failing: {groups}",
            ),
            ("NamespaceDeletionGroupVersionParsingFailure", "GroupVersionParsingFailed", ""),
            (
                "NamespaceDeletionContentFailure",
                "ContentDeletionFailed",
                failures and f"Failed to delete all resource types, {len(self.failed)} remaining: {failures}",
            ),
            (
                "NamespaceContentRemaining",
                "SomeResourcesRemain",
                contents and f"Some resources are remaining: {contents}",
            ),
            (
                "NamespaceFinalizersRemaining",
                "SomeFinalizersRemain",
                finalizers and f"Some content in the namespace has finalizers remaining: {finalizers}",
            ),
        ):
            if message:
                new = NamespaceCondition(type=type, status="True", reason=reason, message=message)
            else:
                reason, message = _NO_TROUBLE[type]
                new = NamespaceCondition(type=type, status="False", reason=reason, message=message)
            set_condition(conditions, new)


async def _empty(client: Client, resource: Resource, namespace: str) -> list[_Item]:
    """Requests the deletion of all objects of a resource in the namespace. Returns the objects that still exist."""
    items = await _list(client, resource, namespace)
    if not items or all(item.metadata.deletion_timestamp for item in items):
        return items
    try:
        await client.request("DELETE", resource.path(namespace=namespace), verb="deletecollection")
    except MethodNotAllowed:
        for item in items:
            name = item.metadata.name
            try:
                await client.request("DELETE", resource.path(namespace=namespace, name=name))
            except (NotFound, Conflict):
                continue
    return await _list(client, resource, namespace)


async def _list(client: Client, resource: Resource, namespace: str) -> list[_Item]:
    try:
        body = await client.request(
            "GET",
            resource.path(namespace=namespace),
            accept="application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
            verb="list",
        )
    except (NotFound, MethodNotAllowed):
        return []  # the resource went, and its objects with it
    return _lists.decode(body).items or []


class DefaultServiceAccounts:
    """Creates the ServiceAccount ``default`` in every namespace, and creates it again if it is deleted."""

    def __init__(self) -> None:
        self.controller = Controller(
            Namespace, self._reconcile, name="service-accounts", owns_status=False, leader_only=False
        ).watches(ServiceAccount, _namespace, predicates=(named("default"),), field_selector=_only("default"))

    async def _reconcile(self, namespace: Namespace, ctx: Context) -> Outcome:
        if await ctx.get(ServiceAccount, "default", namespace=namespace.name) is None:
            with suppress(AlreadyExists):
                await ctx.create(ServiceAccount.named("default", namespace.name), controlled=False)
        return done()


_DESCRIPTION: Final = "kubernetes.io/description"
_PURPOSE: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


class RootCertificates:
    """Creates the ConfigMap ``kube-root-ca.crt`` in every namespace, and restores its content if it changes.

    ``ca`` is the certificate (PEM) that clients in the cluster should trust.
    """

    def __init__(self, *, ca: str = "") -> None:
        self._ca = ca
        self.controller = Controller(
            Namespace, self._reconcile, name="root-certificates", owns_status=False, leader_only=False
        ).watches(ConfigMap, _namespace, predicates=(named(ROOT_CA),), field_selector=_only(ROOT_CA))

    async def _reconcile(self, namespace: Namespace, ctx: Context) -> Outcome:
        config_map = await ctx.get(ConfigMap, ROOT_CA, namespace=namespace.name)
        certificates = ConfigMap.named(ROOT_CA, namespace.name, data={"ca.crt": self._ca})
        certificates.metadata.annotations = {_DESCRIPTION: _PURPOSE}
        if config_map is None:
            with suppress(AlreadyExists):
                await ctx.create(certificates, controlled=False)
        elif config_map.data.get("ca.crt") != self._ca or not config_map.annotations.get(_DESCRIPTION):
            await ctx.apply(certificates, controlled=False)
        return done()


def _only(name: str) -> dict[str, str]:
    return {"metadata.name": name}


def _namespace(head: object) -> list[ObjectKey]:
    return [ObjectKey(head.namespace)]  # type: ignore[attr-defined]
