"""StorageVersionMigrations: every object of a resource is written again, so that it is stored in the current form."""

from __future__ import annotations

from typing import Final

from setpoint.client import ApiError, Conflict, NotFound
from setpoint.client.partial_metadata import PartialObjectMetadata, metadata_only
from setpoint.cluster.served_resources import ServedResources
from setpoint.controller import Context, Controller, Outcome, after, done
from setpoint.meta import Resource
from setpoint.models.storagemigration_v1 import StorageVersionMigration

PAGE: Final = 500
RUNNING: Final = "Running"
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"
_REASON: Final = "StorageVersionMigration"
_PATIENCE: Final = 60.0
"""The number of seconds after its creation for which a migration waits for its resource; the same as upstream's."""
_PAUSE: Final = 5.0


class StorageMigrations:
    """Writes every object of a StorageVersionMigration's resource without changing it, so that the server stores it in
    the current storage version, under the current key.

    The conditions are upstream's: ``Running``, then ``Succeeded``, or ``Failed`` if an object is refused or the
    resource is not served within a minute of the migration's creation. An object that a different client writes or
    deletes in the meantime does not need a further write.

    *Guarantees*: after a crash, the migration runs again from the beginning, which does no harm; a finished migration
    is never run again.

    *Caveats*: ``status.storedVersions`` of a CustomResourceDefinition is left alone; `setpoint crd migrate` cleans it.
    """

    def __init__(self, resources: ServedResources) -> None:
        self._resources = resources
        self.controller = Controller(
            StorageVersionMigration,
            self._reconcile,
            name="storage-version-migrator-controller",
            owns_status=True,
            leader_only=False,
        )

    async def _reconcile(self, migration: StorageVersionMigration, ctx: Context) -> Outcome:
        status = migration.status
        conditions = {condition.type for condition in status.conditions if condition.status == "True"}
        if conditions & {SUCCEEDED, FAILED}:
            return done()
        resource = await self._find(migration, ctx)
        if resource is None:
            if _age(migration, ctx) < _PATIENCE:
                return after(_PAUSE, "the resource is not served yet")
            return _finish(migration, ctx, FAILED, "resource does not exist in discovery")
        if RUNNING not in conditions:
            page = await ctx.client.list(metadata_only(resource), limit=1)
            status.resource_version = page.metadata.resource_version
            ctx.set_condition(RUNNING, True, f"{_REASON}InProgress")
            return after(0.0, "the condition Running is written first")
        if not await _write_all(metadata_only(resource), ctx):
            return _finish(migration, ctx, FAILED, "migration encountered unhandled error")
        return _finish(migration, ctx, SUCCEEDED, "")

    async def _find(self, migration: StorageVersionMigration, ctx: Context) -> Resource | None:
        wanted = migration.spec.resource
        for is_again in (False, True):
            if is_again:
                self._resources.forget()  # it may be served since
            for resource in await self._resources(ctx.client):
                if (resource.group, resource.plural) == (wanted.group, wanted.resource):
                    return resource
        return None


def _finish(migration: StorageVersionMigration, ctx: Context, type: str, message: str) -> Outcome:
    """Sets the condition ``type`` to true, and an existing condition ``Running`` to false with the same reason."""
    if any(condition.type == RUNNING for condition in migration.status.conditions):
        ctx.set_condition(RUNNING, False, f"{_REASON}{type}", message)
    ctx.set_condition(type, True, f"{_REASON}{type}", message)
    return done()


def _age(migration: StorageVersionMigration, ctx: Context) -> float:
    """The seconds since the migration was created; `_PATIENCE` if the time of creation is unknown."""
    created = migration.metadata.creation_timestamp
    return (ctx.now() - created).total_seconds() if created is not None else _PATIENCE


async def _write_all(kind: type[PartialObjectMetadata], ctx: Context) -> bool:
    """Writes every object as it is, until the server refuses one. Returns whether the server accepted all of them.

    Raises:
        ApiError: the server failed, or asks the client to try again later; the migration is tried again.
    """
    async for obj in ctx.client.pages(kind, limit=PAGE):
        same = {"metadata": {"uid": obj.uid, "resourceVersion": obj.metadata.resource_version}}
        try:
            await ctx.client.patch(kind, obj.name, same, namespace=obj.namespace or None)
        except (Conflict, NotFound):
            continue  # another client has written or deleted it
        except ApiError as problem:
            if problem.code == 429 or problem.code >= 500:
                raise
            ctx.log.warning("migration failed", extra={"object": str(obj.key), "error": problem.message})
            return False
    return True
