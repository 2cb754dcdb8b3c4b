"""The tests of databases.py."""

from __future__ import annotations

from typing import Any

from databases import Database, DatabaseSpec, controller

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap, Secret


def database(name: str, secret: str) -> Database:
    return Database.named(name, "default", spec=DatabaseSpec(password_secret=secret))


@sp.testing.virtual_time
async def test_a_changed_secret_leads_to_the_databases_that_refer_to_it_and_to_no_others() -> None:
    async with sp.testing.cluster(controller) as cluster:
        for name, secret in (("orders", "shared"), ("users", "shared"), ("logs", "own")):
            await cluster.apply(database(name, secret))
        await cluster.settle()
        assert (await cluster.get(Database, "orders")).status.conditions[0].reason == "NoSecret"
        shared = await cluster.apply(Secret.named("shared", "default", string_data={"password": "x"}))
        await cluster.settle()
        versions = {database.name: database.status.password_version for database in await cluster.list(Database)}
        assert versions == {
            "orders": shared.metadata.resource_version,
            "users": shared.metadata.resource_version,
            "logs": "",
        }
        assert (await cluster.get(ConfigMap, "orders")).data == {"host": "orders.default.svc", "passwordIn": "shared"}


@sp.testing.virtual_time
async def test_a_database_without_the_name_of_a_secret_is_told_which_field_is_empty() -> None:
    async with sp.testing.cluster(controller) as cluster:
        await cluster.apply(database("orders", ""))
        await cluster.settle()
        condition = (await cluster.get(Database, "orders")).status.conditions[0]
        assert (condition.reason, condition.message) == ("NoSecret", "spec.passwordSecret names no Secret")


@sp.testing.virtual_time
async def test_a_database_that_moves_to_another_secret_follows_that_one() -> None:
    async with sp.testing.cluster(controller) as cluster:
        await cluster.apply(Secret.named("new", "default", string_data={"password": "x"}))
        await cluster.apply(database("orders", "old"))
        await cluster.settle()
        await cluster.apply(database("orders", "new"))
        await cluster.settle()
        changed = await cluster.apply(Secret.named("new", "default", string_data={"password": "y"}))
        await cluster.settle()
        assert (await cluster.get(Database, "orders")).status.password_version == changed.metadata.resource_version


async def scenario(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Secret.named("password", "default", string_data={"password": "1"}))
    for name in ("orders", "users"):
        await cluster.apply(database(name, "password"))
        await cluster.settle()
    await cluster.apply(Secret.named("password", "default", string_data={"password": "2"}))
    await cluster.settle()


def simulated(budget: sp.simulation.Budget, **options: Any) -> sp.simulation.Report:
    """Simulates the scenario under faults; test_survival.py runs it."""
    return sp.simulation.check(scenario, lambda: [controller], budget=budget, **options)
