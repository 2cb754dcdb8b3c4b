"""The setups that plans are drawn for: every example with a controller, as its own test has it where there is one."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest import mock

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap, Secret
from setpoint.simulation import External, Setup, call
from setpoint.simulation.setup import tuples

_EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
sys.path[:0] = [str(_EXAMPLES), *(str(folder) for folder in sorted(_EXAMPLES.iterdir()) if folder.is_dir())]

import databases  # noqa: E402
import machines  # noqa: E402
import mykind  # noqa: E402
import mykinds  # noqa: E402
import notifier  # noqa: E402
import test_acme  # noqa: E402
import test_autoscaler  # noqa: E402
import test_bluegreen  # noqa: E402
import test_catset  # noqa: E402
import test_certificates  # noqa: E402
import test_clustercopies  # noqa: E402
import test_copies  # noqa: E402
import test_database  # noqa: E402
import test_dns  # noqa: E402
import test_eventsink  # noqa: E402
import test_failover  # noqa: E402
import test_jobqueue  # noqa: E402
import test_reloader  # noqa: E402
import test_router  # noqa: E402

OF_CHECK = frozenset({"budget", "seed", "workers", "replay", "debug", "directory", "progress"})
"""The arguments of `check` that say how to search, and not what."""


def checked_by(test: Callable[[], object]) -> Setup:
    """The setup that a test gives to `check`."""
    found: list[Setup] = []

    def check(scenario: Any, factory: Any, **options: Any) -> sp.simulation.Report:
        several = {name: options.pop(name, None) for name in ("objects", "crds", "webhooks", "externals", "predicates")}
        made = tuples(**{name: value for name, value in several.items() if value is not None})
        rest = {name: value for name, value in options.items() if name not in OF_CHECK}
        found.append(Setup(scenario=scenario, factory=factory, **made, **rest))
        return sp.simulation.Report(seed=0, off={}, ignore={})

    with mock.patch.object(sp.simulation, "check", check):
        test()
    (setup,) = found
    return setup


async def scale_and_delete(cluster: sp.testing.Cluster) -> None:
    for number in (3, 1, 2):
        await cluster.apply(mykind.Mykind.named("sample", "default", spec=mykind.MykindSpec(numpods=number)))
        await cluster.settle()
    await cluster.delete(await cluster.get(mykind.Mykind, "sample"))
    await cluster.settle()


async def change_the_template(cluster: sp.testing.Cluster) -> None:
    for number in (2, 3):
        await cluster.apply(mykinds.Mykind.named("sample", "default", spec=mykinds.MykindSpec(replicas=number)))
        await cluster.settle()


async def share_a_password(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Secret.named("password", "default", string_data={"password": "1"}))
    for name in ("one", "two"):
        spec = databases.DatabaseSpec(password_secret="password")
        await cluster.apply(databases.Database.named(name, "default", spec=spec))
        await cluster.settle()
    await cluster.apply(Secret.named("password", "default", string_data={"password": "2"}))
    await cluster.settle()


async def let_go(claim: mykind.Mykind, ctx: sp.Context) -> None:
    for each in await ctx.list(ConfigMap, selector={"claim": claim.uid}):
        await ctx.delete(each)


async def hold_on(claim: mykind.Mykind, ctx: sp.Context) -> None:
    for number in range(claim.spec.numpods):
        held = ConfigMap.named(f"{claim.name}-{claim.uid[:8]}-{number}", labels={"claim": claim.uid})
        await ctx.apply(held, controlled=False)
    claim.status.ready = claim.spec.numpods


class Cloud(External, machines.Cloud):
    """The cloud, behind a network."""

    @call
    async def create(self, tag: str) -> str:
        return await machines.Cloud.create(self, tag)

    @call
    async def find(self, tag: str) -> str | None:
        return await machines.Cloud.find(self, tag)

    @call
    async def delete(self, number: str) -> None:
        await machines.Cloud.delete(self, number)


async def come_and_go(cluster: sp.testing.Cluster) -> None:
    for name in ("a", "b"):
        await cluster.apply(machines.Machine.named(name, "default"))
        await cluster.settle()
    await cluster.delete(await cluster.get(machines.Machine, "a"))
    await cluster.settle()
    await cluster.apply(machines.Machine.named("a", "default"))
    await cluster.settle()


class Endpoint(External):
    """Takes the place of the session. It remembers the last text: one may be told twice, as answers may be lost."""

    def __init__(self) -> None:
        self.told = ""

    @call
    async def take(self, text: str) -> None:
        self.told = text

    @asynccontextmanager
    async def post(self, url: str, *, data: str, raise_for_status: bool) -> AsyncIterator[None]:
        await self.take(data)
        yield


async def announce(cluster: sp.testing.Cluster) -> None:
    for text in ("one", "two", "one"):
        spec = notifier.AnnouncementSpec(text=text)
        await cluster.apply(notifier.Announcement.named("a", "default", spec=spec))
        await cluster.settle()


def opened(state: object) -> Callable[[sp.Manager], AbstractAsyncContextManager[Any]]:
    @asynccontextmanager
    async def lifespan(manager: sp.Manager) -> AsyncIterator[Any]:
        yield state

    return lifespan


def of_machines() -> Setup:
    cloud = Cloud()
    factory = lambda: machines.controller  # noqa: E731
    return Setup(scenario=come_and_go, factory=factory, externals=(cloud,), lifespan=opened(cloud))


def of_notifier() -> Setup:
    endpoint = Endpoint()
    counter = SimpleNamespace(inc=lambda: None)
    app = notifier.App(cast("Any", endpoint), "http://endpoint", cast("Any", counter))
    factory = lambda: notifier.controller  # noqa: E731
    return Setup(scenario=announce, factory=factory, externals=(endpoint,), lifespan=opened(app), control_plane=False)


def setups() -> dict[str, Setup]:
    """By their names, the cheapest first."""
    finalizer = sp.Controller(mykind.Mykind, hold_on).reads(ConfigMap).finalize(let_go)
    return {
        "notifier": of_notifier(),
        "copies": checked_by(test_copies.test_it_survives_every_single_fault),
        "clustercopies": checked_by(test_clustercopies.test_it_survives_every_single_fault_in_two_clusters),
        "dns": checked_by(test_dns.test_it_survives_every_single_fault),
        "machines": of_machines(),
        "databases": Setup(scenario=share_a_password, factory=lambda: databases.controller),
        "mykind": Setup(scenario=scale_and_delete, factory=lambda: mykind.controller),
        "mykinds": Setup(scenario=change_the_template, factory=lambda: mykinds.controller),
        "a finalizer": Setup(scenario=scale_and_delete, factory=lambda: finalizer),
        "router": checked_by(test_router.test_it_survives_every_single_fault),
        "eventsink": checked_by(test_eventsink.test_it_survives_every_single_fault),
        "autoscaler": checked_by(test_autoscaler.test_it_survives_every_single_fault),
        "bluegreen": checked_by(test_bluegreen.test_it_survives_every_single_fault),
        "jobqueue": checked_by(test_jobqueue.test_it_survives_every_single_fault),
        "catset": checked_by(test_catset.test_it_survives_every_single_fault),
        "reloader": checked_by(test_reloader.test_it_survives_every_single_fault),
        "mykind, elected": Setup(scenario=scale_and_delete, factory=lambda: mykind.controller, leader_election=True),
        "database": checked_by(test_database.test_it_survives_every_single_fault),
        "database, failover": checked_by(test_failover.test_it_survives_every_single_fault),
        "certificates": checked_by(test_certificates.test_it_survives_every_single_fault),
        "certificates, acme": checked_by(test_acme.test_it_survives_every_single_fault),
    }
