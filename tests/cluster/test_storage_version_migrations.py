"""StorageVersionMigrations: what is stored in an old version is stored in the new one afterwards."""

from __future__ import annotations

from tests.cli.test_migrate import Thing, prepare

from setpoint.models.core_v1 import ConfigMap
from setpoint.models.meta_v1 import GroupResource
from setpoint.models.storagemigration_v1 import StorageVersionMigration, StorageVersionMigrationSpec
from setpoint.testing import Cluster, advance, cluster, virtual_time


def migration(resource: str, group: str = "") -> StorageVersionMigration:
    spec = StorageVersionMigrationSpec(resource=GroupResource(group=group, resource=resource))
    return StorageVersionMigration.named(resource, spec=spec)


async def conditions(world: Cluster, name: str) -> list[tuple[str, str, str]]:
    migration = await world.get(StorageVersionMigration, name)
    return [(condition.type, condition.status, condition.reason) for condition in migration.status.conditions]


@virtual_time
async def test_each_object_is_written_and_none_is_changed() -> None:
    config_maps = [ConfigMap.named(f"settings-{number}", "default", data={"a": str(number)}) for number in range(3)]
    async with cluster(objects=config_maps, nodes=0) as world:
        await world.settle()
        before = await world.list(ConfigMap)
        await world.create(migration("configmaps"))
        await world.settle()
        assert await conditions(world, "configmaps") == [
            ("Running", "False", "StorageVersionMigrationSucceeded"),
            ("Succeeded", "True", "StorageVersionMigrationSucceeded"),
        ]
        current_migration = await world.get(StorageVersionMigration, "configmaps")
        assert int(current_migration.status.resource_version or 0) > 0
        assert [config_map.data for config_map in await world.list(ConfigMap)] == [item.data for item in before]


@virtual_time
async def test_what_is_stored_in_an_old_version_is_stored_in_the_new_one_once() -> None:
    async with cluster(nodes=0) as world:
        await prepare(world.client, 3)
        before = {thing.name: thing.metadata.resource_version for thing in await world.list(Thing)}
        new_migration = await world.create(migration("things", "example.com"))
        await world.settle()
        after = {thing.name: thing.metadata.resource_version for thing in await world.list(Thing)}
        assert after.keys() == before.keys()
        assert not set(after.values()) & set(before.values()), (
            "a write of what is stored in another version is a change"
        )
        await world.delete(new_migration)
        await world.create(migration("things", "example.com"))
        await world.settle()
        assert {thing.name: thing.metadata.resource_version for thing in await world.list(Thing)} == after
        assert await conditions(world, "things") == [
            ("Running", "False", "StorageVersionMigrationSucceeded"),
            ("Succeeded", "True", "StorageVersionMigrationSucceeded"),
        ]


@virtual_time
async def test_a_migration_waits_a_minute_for_its_resource_and_fails_then() -> None:
    async with cluster(nodes=0) as world:
        await world.create(migration("nothings", "example.com"))
        await advance(55)
        assert await conditions(world, "nothings") == []
        await advance(10)
        assert await conditions(world, "nothings") == [("Failed", "True", "StorageVersionMigrationFailed")]


@virtual_time
async def test_a_resource_that_is_served_within_a_minute_is_migrated() -> None:
    async with cluster(nodes=0) as world:
        await world.create(migration("things", "example.com"))
        await advance(20)
        await prepare(world.client, 3)
        await advance(10)
        assert await conditions(world, "things") == [
            ("Running", "False", "StorageVersionMigrationSucceeded"),
            ("Succeeded", "True", "StorageVersionMigrationSucceeded"),
        ]
