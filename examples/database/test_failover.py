"""The tests of failover.py: which server is the primary, and that there are never two."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from database import controller, controller_of
from dbkinds import Database, DatabaseSpec, DatabaseStatus
from failover import POSITION, PRIMARY, PROMOTE, ROLE, Servers

import setpoint as sp
from setpoint.client import Invalid
from setpoint.cluster import Command, PodBehaviour
from setpoint.models.core_v1 import Node, Pod, Service

PLANE = ["statefulset", "garbage-collector", "persistentvolumeclaim-protection", "node-lifecycle"]


def database(replicas: int = 2, **spec: Any) -> Database:
    return Database.named("orders", "default", spec=DatabaseSpec(replicas=replicas, **spec))


class Postgres:
    """The containers: each run of a server begins as a standby, and only `pg_promote` makes it a primary."""

    def __init__(self) -> None:
        self.positions = {"orders-1": "1|100", "orders-2": "1|200"}
        self.promoted: list[str] = []
        self.is_away = False
        self.labelled: list[list[str]] = []
        """The pods with the label, each time when a server was made the primary."""
        self.cluster: sp.testing.Cluster | None = None

    def __call__(self, pod: Pod) -> PodBehaviour | None:
        return PodBehaviour(ready=2.0, exec=self.exec) if pod.name.startswith("orders-") else None

    async def exec(self, command: Command) -> int:
        queries = [
            argument.removeprefix("--command=") for argument in command.arguments if argument.startswith("--command=")
        ]
        if queries == [POSITION]:
            command.stdout.write(self.positions.get(command.pod.name, "1|300") + "\n")
            return 0
        assert queries == [PROMOTE, "checkpoint"]
        if self.is_away:
            command.stderr.write("server closed the connection unexpectedly\n")
            return 2
        assert self.cluster is not None
        self.labelled.append(await primaries(self.cluster))
        self.promoted.append(command.pod.name)
        command.stdout.write("t\n")
        return 0


async def primaries(cluster: sp.testing.Cluster) -> list[str]:
    return [pod.name for pod in await cluster.list(Pod, selector={ROLE: PRIMARY})]


def using(servers: Servers) -> Any:
    @asynccontextmanager
    async def lifespan(manager: sp.Manager) -> AsyncGenerator[Servers]:
        yield servers

    return lifespan


@asynccontextmanager
async def over_exec(manager: sp.Manager) -> AsyncGenerator[Servers]:
    yield Servers(manager.client)


@asynccontextmanager
async def running(postgres: Postgres, *objects: sp.Object) -> AsyncGenerator[sp.testing.Cluster]:
    cluster: AbstractAsyncContextManager[sp.testing.Cluster] = sp.testing.cluster(
        controller, objects=objects, behaviour=postgres, nodes=3, lifespan=over_exec
    )
    async with cluster as entered:
        postgres.cluster = entered
        yield entered


async def status(cluster: sp.testing.Cluster) -> DatabaseStatus:
    return (await cluster.get(Database, "orders")).status


async def ready_of(cluster: sp.testing.Cluster) -> tuple[str, str]:
    (condition,) = [condition for condition in (await status(cluster)).conditions if condition.type == "Ready"]
    return condition.status, condition.reason


async def kill_node_of(cluster: sp.testing.Cluster, pod: str) -> str:
    """The node of a pod, whose kubelet does nothing from now on."""
    node = (await cluster.get(Pod, pod)).spec.node_name or ""
    await annotate(cluster, node, "dead")
    return node


async def annotate(cluster: sp.testing.Cluster, node: str, how: str | None) -> None:
    await cluster.client.patch(Node, node, {"metadata": {"annotations": {"hollow.setpoint.io/node": how}}})


@sp.testing.virtual_time
async def test_the_first_server_is_the_primary_and_the_name_leads_to_it_alone() -> None:
    postgres = Postgres()
    async with running(postgres, database(3)) as cluster:
        await cluster.settle(patience=60)
        assert await primaries(cluster) == ["orders-0"]
        assert (await status(cluster)).primary == "orders-0"
        assert await ready_of(cluster) == ("True", "Serving")
        assert postgres.promoted == ["orders-0"]
        assert ((await cluster.get(Service, "orders")).spec.selector or {})[ROLE] == PRIMARY


@sp.testing.virtual_time
async def test_the_standby_with_most_takes_over_in_time_and_the_label_moves_after_it_is_the_primary() -> None:
    postgres = Postgres()
    async with running(postgres, database(3)) as cluster:
        await cluster.settle(patience=60)
        node = await kill_node_of(cluster, "orders-0")
        await sp.testing.advance(60)  # its node is known to be away after 50 s
        assert await primaries(cluster) == ["orders-0"]
        assert (await status(cluster)).primary_lost is not None
        assert await ready_of(cluster) == ("False", "Starting")
        await sp.testing.advance(30)
        assert await primaries(cluster) == ["orders-2"]
        assert postgres.promoted == ["orders-0", "orders-2"]
        assert postgres.labelled == [[], []], "no pod had the label while a server was made the primary"
        assert await ready_of(cluster) == ("True", "Serving")
        await annotate(cluster, node, None)
        await sp.testing.advance(600)
        assert await primaries(cluster) == ["orders-2"], "the first one is a standby now"
        assert (await cluster.get(Pod, "orders-0")).is_ready
        assert postgres.promoted == ["orders-0", "orders-2"]


@sp.testing.virtual_time
async def test_a_primary_that_is_back_in_time_stays_the_primary_and_is_made_it_again() -> None:
    postgres = Postgres()
    async with running(postgres, database(2)) as cluster:
        await cluster.settle(patience=60)
        before = await cluster.get(Pod, "orders-0")
        await cluster.delete(before)
        await sp.testing.advance(60)
        assert (await cluster.get(Pod, "orders-0")).uid != before.uid
        assert await primaries(cluster) == ["orders-0"]
        assert postgres.promoted == ["orders-0", "orders-0"], "its server had begun as a standby"
        assert (await status(cluster)).primary_lost is None


@sp.testing.virtual_time
async def test_a_command_that_fails_is_told_and_no_label_moves_before_it_succeeds() -> None:
    postgres = Postgres()
    postgres.is_away = True
    async with running(postgres, database(2)) as cluster:
        await cluster.settle(patience=5, failing=True)
        assert await ready_of(cluster) == ("False", "CommandFailed")
        assert await primaries(cluster) == []
        postgres.is_away = False
        await sp.testing.advance(120)
        assert await primaries(cluster) == ["orders-0"]
        assert await ready_of(cluster) == ("True", "Serving")


@sp.testing.virtual_time
async def test_fewer_servers_than_before_leave_one_of_them_as_the_primary() -> None:
    postgres = Postgres()
    async with running(postgres, database(3)) as cluster:
        await cluster.settle(patience=60)
        node = await kill_node_of(cluster, "orders-0")
        await sp.testing.advance(90)
        assert await primaries(cluster) == ["orders-2"]
        await annotate(cluster, node, None)
        await sp.testing.advance(600)
        await cluster.apply(database(2))
        await sp.testing.advance(120)
        assert len(await primaries(cluster)) == 1
        assert await primaries(cluster) != ["orders-2"]
        assert await ready_of(cluster) == ("True", "Serving")


@sp.testing.virtual_time
async def test_a_single_server_has_the_label_without_any_command() -> None:
    async with sp.testing.cluster(controller, objects=[database(1)]) as cluster:
        await cluster.settle()
        assert await primaries(cluster) == ["orders-0"]
        await cluster.delete(await cluster.get(Pod, "orders-0"))
        await cluster.settle()
        assert await primaries(cluster) == ["orders-0"]


@sp.testing.virtual_time
async def test_a_patience_that_would_be_none_is_refused() -> None:
    async with sp.testing.cluster(controller) as cluster:
        with pytest.raises(Invalid, match="must be 5s to 1h"):
            await cluster.create(database(2, failover_after=sp.Duration(seconds=1)))


# -- the simulation ----------------------------------------------------------------------------------------------------


class Twin(sp.simulation.External, Servers):
    """The servers as the simulation has them: commands in pods go over WebSockets, which no simulated wire has."""

    def __init__(self) -> None:
        self.primaries: list[str] = []
        """The servers that were made the primary, one after the other."""

    @sp.simulation.call
    async def promote(self, namespace: str, pod: str) -> None:
        if self.primaries[-1:] != [pod]:
            self.primaries.append(pod)

    @sp.simulation.call
    async def position(self, namespace: str, pod: str) -> tuple[int, int]:
        return 1, 10 - int(pod.rpartition("-")[2])

    def state(self) -> dict[str, Any]:
        """Nothing: which server is the primary depends on the faults, and that it is only one is a predicate."""
        return {}


async def scenario(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(database(2))
    await cluster.until(lambda: has_primary(cluster))
    node = await kill_node_of(cluster, (await status(cluster)).primary)
    await cluster.until(lambda: has_primary(cluster, but_not_on=node))
    await annotate(cluster, node, None)
    await cluster.settle()
    await cluster.delete(await cluster.get(Database, "orders"))
    await cluster.settle()


async def has_primary(cluster: sp.testing.Cluster, but_not_on: str = "") -> bool:
    pods = await cluster.list(Pod, selector={ROLE: PRIMARY})
    return len(pods) == 1 and pods[0].spec.node_name != but_not_on and await ready_of(cluster) == ("True", "Serving")


def simulated(budget: sp.simulation.Budget, **options: Any) -> sp.simulation.Report:
    """Simulates the scenario under faults; test_survival.py runs it."""
    twin = Twin()

    def is_last_made(objects: sp.simulation.Objects) -> bool:
        marked = [pod.name for pod in objects.list(Pod) if pod.labels.get(ROLE) == PRIMARY]
        return not marked or marked == twin.primaries[-1:]

    return sp.simulation.check(
        scenario,
        lambda: [controller_of(lambda: "a password")],
        control_plane=["statefulset", "garbage-collector", "persistentvolumeclaim-protection", "node-lifecycle"],
        nodes=3,
        lifespan=using(twin),
        externals=[twin],
        predicates=[sp.simulation.always(is_last_made, "one pod has the label: that of the server made primary last")],
        budget=budget,
        **options,
    )


def test_a_secret_of_a_database_that_is_gone_may_be_made_until_the_view_has_caught_up() -> None:
    """The garbage collector deletes it at once, and the program, which is still shown the Database, makes it again."""
    old = (("behind", "MODIFIED databases.data.example.com default/orders #4"),)
    plan = sp.simulation.Plan((sp.simulation.Fault("restart", "step 5", old),))
    simulated(sp.simulation.Budget(runs=1), replay=plan.token("", ""), workers=1)
