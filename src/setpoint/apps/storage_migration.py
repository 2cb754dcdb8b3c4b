"""Rewrites stored objects in their kind's storage version.

When the storage version of a CustomResourceDefinition changes, each object stays stored in the old version until a
client writes the object. Until then the old version has to stay in the definition, whose ``status.storedVersions``
lists it. A migration writes each object once without changing it (an empty patch), and then removes the old versions
from that list.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#upgrade-existing-objects-to-a-new-stored-version
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec import Struct

from setpoint.client import ApiError, Client, Conflict, NotFound
from setpoint.client.paging import Paging
from setpoint.client.partial_metadata import PartialObjectMetadata, metadata_only
from setpoint.meta import Resource
from setpoint.models.apiextensions_v1 import CustomResourceDefinition

_ATTEMPTS = 5


class Progress(Struct, frozen=True):
    """The progress of a migration. It is valid only for the definition with this uid, generation and storage version;
    if the definition has changed, the migration starts from the beginning.
    """

    uid: str = ""
    generation: int = 0
    storage: str = ""
    after: str = ""
    """The key up to which every object, in the server's order, has been written."""


class MigrationError(Exception):
    """The migration failed, or could not be completed; the message gives the reason and the remedy."""


@dataclass
class StorageMigration:
    """Rewrites the objects of one CustomResourceDefinition in its storage version, then removes the other versions from
    ``storedVersions``.

    *Guarantees*

    * Crash: a migration continues where an earlier one stopped if ``progress`` is the last progress that
      ``on_progress`` received. Without ``progress``, every object is written again, which does no harm.
    * Conflict: an object that another client has written or deleted in the meantime needs no further write, because any
      write stores it in the storage version. No other client's write is ever overwritten.
    * ``storedVersions`` is changed only if every object was written and the definition has not changed since the
      migration began.

    Args:
        name: the definition's name, ``mykinds.grp.example.com``.
        progress: the point from which to continue; by default the migration starts from the beginning.
        page: the number of objects listed per request.
        workers: the number of concurrent requests.
        on_progress: called after each page with the progress, the number of objects written, and the number remaining.
    """

    client: Client
    name: str
    progress: Progress = field(default_factory=Progress)
    page: int = 500
    workers: int = 8
    on_progress: Callable[[Progress, int, int], None] | None = None

    async def run(self) -> int:
        """Runs the migration; returns the number of objects written, 0 if no migration was needed.

        Raises:
            MigrationError: objects could not be written, the definition serves no version, or it changed during the
                migration.
            ApiError: the definition does not exist, or may not be read.
            TransportError: there was no answer, or the server continues the list without end.
            ExceptionGroup: contains the ApiErrors of writes that are not permitted or that failed in the server.
        """
        definition = await self.client.get(CustomResourceDefinition, self.name)
        storage = _storage_version(definition)
        if definition.status.stored_versions == [storage]:
            return 0
        start = Progress(definition.uid, definition.metadata.generation, storage)
        if (self.progress.uid, self.progress.generation, self.progress.storage) != (
            start.uid,
            start.generation,
            start.storage,
        ):
            self.progress = start
        total = await self._write_all(metadata_only(_resource(definition, storage)))
        await self._clean(start)
        return total

    async def _write_all(self, kind: type[PartialObjectMetadata]) -> int:
        total, token, newest = 0, "", ""
        paging = Paging(self.name)
        failures: list[str] = []
        while True:
            page = await self.client.list(kind, limit=self.page, continue_=token)
            todo = [obj for obj in page if _order(obj) > self.progress.after]
            failed = await self._write(kind, todo)
            total += len(todo) - len(failed)
            failures += failed
            if page.items and not failures:
                last = max(_order(page.items[-1]), self.progress.after)
                self.progress = Progress(self.progress.uid, self.progress.generation, self.progress.storage, last)
            if self.on_progress is not None:
                self.on_progress(self.progress, total, page.metadata.remaining_item_count or 0)
            token = page.metadata.continue_
            if not token:
                break
            before, newest = newest, max((newest, *map(_order, page)))
            paging.check(token, is_new=newest > before)
        if failures:
            details = "\n  ".join(failures[:10]) + (f"\n  and {len(failures) - 10} more" if len(failures) > 10 else "")
            raise MigrationError(
                f"{self.name}: objects that can't be written: {len(failures)}; fix them and run again:\n  {details}"
            )
        return total

    async def _write(self, kind: type[PartialObjectMetadata], objects: list[PartialObjectMetadata]) -> list[str]:
        """Writes the objects without changing them; returns the errors of those that can't be written."""
        failed: list[str] = []
        slots = asyncio.Semaphore(self.workers)

        async def write(obj: PartialObjectMetadata) -> None:
            same = {"metadata": {"uid": obj.uid, "resourceVersion": obj.metadata.resource_version}}
            async with slots:
                try:
                    await self.client.patch(kind, obj.name, same, namespace=obj.namespace or None)
                except (Conflict, NotFound):
                    pass  # another client has written or deleted it
                except ApiError as problem:
                    if problem.code in (401, 403) or problem.code >= 500:
                        raise
                    failed.append(f"{obj.key}: {problem.message}")

        async with asyncio.TaskGroup() as tasks:
            for obj in objects:
                tasks.create_task(write(obj))
        return sorted(failed)

    async def _clean(self, start: Progress) -> None:
        for _ in range(_ATTEMPTS):
            definition = await self.client.get(CustomResourceDefinition, self.name)
            now = Progress(definition.uid, definition.metadata.generation, _storage_version(definition))
            if now != start:
                raise MigrationError(
                    f"{self.name} was changed during the migration; run again, so that no object is left out"
                )
            patch = {
                "metadata": {"resourceVersion": definition.metadata.resource_version},
                "status": {"storedVersions": [start.storage]},
            }
            try:
                await self.client.patch(CustomResourceDefinition, self.name, patch, subresource="status")
            except Conflict:
                continue
            return
        raise MigrationError(f"{self.name}: its status keeps changing; run again to clean status.storedVersions")


def _storage_version(definition: CustomResourceDefinition) -> str:
    return next(version.name for version in definition.spec.versions if version.storage)


def _resource(definition: CustomResourceDefinition, storage: str) -> Resource:
    """The resource in the storage version or, if that is not served, in the first served version: the stored form does
    not depend on the version of the request.
    """
    served = [version.name for version in definition.spec.versions if version.served]
    if not served:
        raise MigrationError(f"{definition.name} serves no version, so its objects can't be written")
    return Resource(
        group=definition.spec.group,
        version=storage if storage in served else served[0],
        kind=definition.spec.names.kind,
        plural=definition.spec.names.plural,
        namespaced=definition.spec.scope == "Namespaced",
    )


def _order(obj: PartialObjectMetadata) -> str:
    """The key by which servers sort lists."""
    return f"{obj.namespace}/{obj.name}"
