"""Uninstallation: removes an operator from a cluster in an order in which nothing waits for something that is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from setpoint.client import Client, NoMatchError, NotFound, metadata_only
from setpoint.deploy.crds import definitions_of
from setpoint.deploy.document_groups import parts
from setpoint.deploy.installation import Installation
from setpoint.deploy.webhooks import certificate
from setpoint.deploy.workload import grace_seconds
from setpoint.meta import Resource
from setpoint.models.core_v1 import Pod
from setpoint.webhook.installation import uninstall

Document = dict[str, Any]
_PAUSE: Final = 1.0
_NAMED: Final = 5
_FIRST: Final = ("policies", "manager", "disruption", "network", "monitoring", "certificates", "users", "roles")
"""The groups of documents in the order in which they go. The webhooks have gone before, and the definitions go last."""


class ObjectsRemain(TimeoutError):
    """Objects of the operator's kinds are still there after the time; the message has their names and finalizers."""


@dataclass(frozen=True)
class Uninstallation:
    """The removal of an operator and of the objects of its kinds.

    1. The objects of its own kinds, while the operator still runs, because it has to remove their finalizers.
    2. Its webhooks' configurations, so that no request waits for them; then the conversions of its kinds.
    3. Its Deployment; when its pods have ended, everything else in its namespace; then its roles.
    4. Its definitions.

    If Helm installed the operator (``managed_by``), only what Helm can't do is done: steps 1 and 2, the Deployment, and
    what the program itself has made. Helm removes the rest.

    Kinds with ``installed_by``, and the namespace, stay. Where the operator watches one namespace, objects in other
    namespaces stay, and with them the definitions. A missing object is not an error, so an interrupted removal can be
    repeated.

    Attributes:
        client: a client that may delete all of it.
        operator: the operator, as it was installed.
        timeout: seconds for step 1.
        report: called with a line for each thing that was done.
    """

    client: Client
    operator: Installation
    timeout: float
    report: Callable[[str], None]

    async def objects(self) -> list[tuple[Resource, list[Any]]]:
        """The objects that step 1 deletes: heads, by kind."""
        return [(resource, await self._objects_of(resource)) for resource in self._resources()]

    async def run(self) -> None:
        """Removes everything.

        Raises:
            ObjectsRemain: step 1 took too long; nothing of the later steps was done.
            ApiError: the server refuses; what was done before stays done.
        """
        await self.remove_objects()
        if self.operator.configuration or self.operator.served:
            await uninstall(self.client, self.operator.served, self.operator.configuration)
            self.report("webhooks: no longer registered")
        by_helm = self.operator.managed_by == "Helm"
        groups = parts(self.operator)
        groups["certificates"] = certificate(replace(self.operator, certificates="cert-manager"))
        for group in ("manager",) if by_helm else _FIRST:
            for document in reversed(groups.get(group, [])):
                await self._remove(document)
            if group == "manager":
                await self._pods_have_ended()
        for document in self._left_at_run_time():
            await self._remove(document)
        if self.operator.watch_namespace is None and not by_helm:
            for definition in definitions_of(self.operator.kinds):
                await self._remove(definition)

    async def remove_objects(self) -> None:
        """Step 1 alone.

        Raises:
            ObjectsRemain: they are still there after ``timeout`` seconds.
            ApiError: the server refuses.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.timeout
        for resource in self._resources():
            heads = await self._objects_of(resource)
            for head in heads:
                with suppress(NotFound):
                    await self.client.delete(head)
            total = len(heads)
            while heads:
                if loop.time() >= deadline:
                    raise ObjectsRemain(self._remaining(resource, heads))
                await asyncio.sleep(_PAUSE)
                heads = await self._objects_of(resource)
            if total:
                self.report(f"{resource.group_resource}: objects deleted: {total}")

    async def _pods_have_ended(self) -> None:
        """Waits for the operator's processes: they would make the Lease and the certificate again, and they release the
        Lease by their role. A pod on a node that is away does not end, so the wait has a limit.
        """
        labels = {"app.kubernetes.io/name": self.operator.name, "app.kubernetes.io/component": "manager"}
        deadline = asyncio.get_running_loop().time() + grace_seconds()
        while pods := await self.client.list(Pod, namespace=self.operator.namespace, selector=labels):
            if asyncio.get_running_loop().time() >= deadline:
                self.report(
                    f"pods that have not ended after {grace_seconds()} s: {', '.join(pod.name for pod in pods)}"
                )
                return
            await asyncio.sleep(_PAUSE)

    def _resources(self) -> Sequence[Resource]:
        return self.operator.own_resources

    async def _objects_of(self, resource: Resource) -> list[Any]:
        namespace = self.operator.watch_namespace if resource.namespaced else None
        try:
            return [head async for head in self.client.pages(metadata_only(resource), namespace=namespace)]
        except NotFound:  # the definition has gone
            return []

    def _remaining(self, resource: Resource, heads: Sequence[Any]) -> str:
        lines = [f"objects of {resource.group_resource} that are still there after {self.timeout:g} s: {len(heads)}"]
        for head in heads[:_NAMED]:
            finalizers = ", ".join(head.metadata.finalizers)
            why = f"waits for {finalizers}" if finalizers else "was created again, or is not being deleted"
            lines.append(f"  {head.key} {why}")
        if len(heads) > _NAMED:
            lines.append(f"  and {len(heads) - _NAMED} more")
        lines.append(
            "The operator has to run until they are gone, because it removes its own finalizers; nothing else was "
            "removed. Start it, or read its log (setpoint explain says why an object waits), and repeat the command."
        )
        return "\n".join(lines)

    def _left_at_run_time(self) -> list[Document]:
        """The objects that the running operator made for itself: its Lease, and the certificate of its webhooks."""
        namespace = self.operator.namespace
        leases = [("coordination.k8s.io/v1", "Lease", self.operator.program)] if self.operator.elects else []
        secrets = [("v1", "Secret", self.operator.secret)] if self.operator.served else []
        return [
            {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}}
            for version, kind, name in (*leases, *secrets)
        ]

    async def _remove(self, document: Document) -> None:
        group, _, _ = document["apiVersion"].rpartition("/")
        kind, metadata = document["kind"].lower(), document["metadata"]
        name = f"{kind}.{group}" if group else kind
        try:
            await self.client.delete(name, metadata["name"], namespace=metadata.get("namespace"))
        except (NotFound, NoMatchError):  # a kind that is not installed has no objects
            return
        self.report(f"{name} {metadata['name']}: deleted")
