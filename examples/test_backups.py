"""The tests of backups.py: a function of the test answers what the operator runs in its pod."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from backups import Backup, BackupSpec, controller

import setpoint as sp
from setpoint.client import CommandResult
from setpoint.cluster import Command, PodBehaviour
from setpoint.models.core_v1 import Container, Pod, PodSpec


class Postgres:
    """The containers of a database: they are ready after five seconds, and know `pg_dump`."""

    def __init__(self) -> None:
        self.codes = [1, 0]
        """Of one dump after the other."""
        self.commands: list[tuple[str, ...]] = []

    def __call__(self, pod: Pod) -> PodBehaviour | None:
        return PodBehaviour(ready=5.0, exec=self.exec) if pod.labels.get("app") == "shop" else None

    async def exec(self, command: Command) -> int:
        self.commands.append(command.arguments)
        code = self.codes.pop(0)
        if code:
            command.stderr.write("the database is starting up\n")
        else:
            command.stdout.write(b"x" * 1000)
        return code


@sp.testing.virtual_time
async def test_a_backup_is_made_once_in_a_pod_that_is_ready() -> None:
    postgres = Postgres()
    async with sp.testing.cluster(controller, behaviour=postgres) as cluster:
        await cluster.create(Backup.named("nightly", "default", spec=BackupSpec(database="shop")))
        spec = PodSpec(containers=[Container(name="postgres", image="postgres:18")])
        await cluster.create(Pod.named("shop-0", "default", {"app": "shop"}, spec=spec))

        def condition_of(backup: Backup) -> list[tuple[str, str, str]]:
            return [(condition.status, condition.reason, condition.message) for condition in backup.status.conditions]

        await cluster.settle(patience=3)
        backup = await cluster.get(Backup, "nightly")
        assert condition_of(backup)[0] == ("False", "NoPod", "no pod of shop is ready")
        await cluster.settle(patience=10)
        backup = await cluster.get(Backup, "nightly")
        assert condition_of(backup)[0] == ("False", "DumpFailed", "the database is starting up")
        await cluster.settle(patience=60)
        backup = await cluster.get(Backup, "nightly")
        assert condition_of(backup)[0][:2] == ("True", "Dumped")
        assert (backup.status.pod, backup.status.bytes) == ("shop-0", 1000)
        await sp.testing.advance(3600)
        assert postgres.commands == [("pg_dump", "--format=custom")] * 2


class DistantPostgres(sp.simulation.External):
    """The command, behind a network: it takes the place of the client's `exec`. A dump whose answer is lost is made
    again, so only its size counts."""

    def __init__(self) -> None:
        self.dumped = 0

    @sp.simulation.call
    async def dump(self, pod: str) -> CommandResult:
        self.dumped = 1000
        return CommandResult(0, b"x" * self.dumped, b"")

    async def exec(self, pod: Pod, command: Sequence[str], *, timeout: float) -> CommandResult:
        assert command[0] == "pg_dump"
        return await self.dump(pod.name)


async def scenario(cluster: sp.testing.Cluster) -> None:
    await cluster.create(Backup.named("nightly", "default", spec=BackupSpec(database="shop")))
    await cluster.settle()
    spec = PodSpec(containers=[Container(name="postgres", image="postgres:18")])
    await cluster.create(Pod.named("shop-0", "default", {"app": "shop"}, spec=spec))
    await cluster.settle()
    await cluster.create(Backup.named("weekly", "default", spec=BackupSpec(database="shop")))
    await cluster.settle()


def simulated(budget: sp.simulation.Budget, **options: Any) -> sp.simulation.Report:
    """Simulates the scenario under faults; test_survival.py runs it."""
    postgres = DistantPostgres()

    @asynccontextmanager
    async def lifespan(manager: sp.Manager) -> AsyncGenerator[None]:
        manager.client.exec = postgres.exec  # type: ignore[assignment,method-assign]  # no command runs in these pods
        yield

    return sp.simulation.check(
        scenario, lambda: [controller], externals=[postgres], lifespan=lifespan, budget=budget, **options
    )
