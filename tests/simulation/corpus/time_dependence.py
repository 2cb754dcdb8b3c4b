"""Time dependence: names that are derived from the clock, objects that expire, and late calls."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from tests.simulation.corpus.pair import Pair
from tests.simulation.corpus.store_operators import DERIVED, Store, StoreSpec, changes, made

import setpoint as sp
from setpoint.cache import Lister
from setpoint.models.core_v1 import ConfigMap, Secret
from setpoint.simulation import External, call

TWICE = changes(StoreSpec(), StoreSpec(image="store:2"))
MINUTE = timedelta(minutes=1)


def born(store: Store) -> datetime:
    created = store.metadata.creation_timestamp
    return created if isinstance(created, datetime) else datetime.fromisoformat(str(created).replace("Z", "+00:00"))


# -- a backup that is named by the time, and two files behind one guard ------------------------------------------------


async def back_up(store: Store, ctx: sp.Context) -> None:
    began = f"{store.name}-backup-{int(born(store).timestamp())}"
    await ctx.apply(ConfigMap.named(began, data={"of": store.name}))


async def both_files_behind_one_guard(store: Store, ctx: sp.Context) -> None:
    await back_up(store, ctx)
    if await ctx.get(ConfigMap, f"{store.name}-nginx") is None:
        await ctx.create(ConfigMap.named(f"{store.name}-nginx", data={"port": "80"}))
        await ctx.create(ConfigMap.named(f"{store.name}-php", data={"port": "9000"}))


async def each_file_for_itself(store: Store, ctx: sp.Context) -> None:
    await back_up(store, ctx)
    await ctx.apply(ConfigMap.named(f"{store.name}-nginx", data={"port": "80"}))
    await ctx.apply(ConfigMap.named(f"{store.name}-php", data={"port": "9000"}))


# -- a ticket that goes after a minute, and a file that only a change of the image makes -------------------------------


async def ticket(store: Store, ctx: sp.Context) -> Any:
    """A ticket for the installer of a store; it is there for the first minute."""
    left = (born(store) + MINUTE - ctx.now()).total_seconds()
    wanted = [Secret.named(f"{store.name}-ticket", labels={"is": "ticket"})]
    await ctx.keep(Secret, wanted if left > 0 else [], selector={"is": "ticket"})
    return sp.after(left, "the ticket's end") if left > 0 else None


async def credentials_that_are_noted_first(store: Store, ctx: sp.Context) -> Any:
    if store.status.current != store.spec.image:
        await ctx.patch(store, {"status": {"current": store.spec.image}}, subresource="status")
        await ctx.apply(Secret.named(f"{store.name}-credentials", string_data={"for": store.spec.image}))
    return await ticket(store, ctx)


async def credentials_each_time(store: Store, ctx: sp.Context) -> Any:
    await ctx.apply(Secret.named(f"{store.name}-credentials", string_data={"for": store.spec.image}))
    store.status.current = store.spec.image
    return await ticket(store, ctx)


# -- a trace whose name is a hash of the time --------------------------------------------------------------------------


async def trace(store: Store, ctx: sp.Context) -> None:
    name = sha256(born(store).isoformat().encode()).hexdigest()[:12]
    await ctx.apply(ConfigMap.named(f"trace-{name}", data={"of": store.name}))


async def traces_and_guards_both_files(store: Store, ctx: sp.Context) -> None:
    await trace(store, ctx)
    if await ctx.get(ConfigMap, f"{store.name}-in") is None:
        await ctx.create(ConfigMap.named(f"{store.name}-in"))
        await ctx.create(ConfigMap.named(f"{store.name}-out"))


async def traces_and_applies_both_files(store: Store, ctx: sp.Context) -> None:
    await trace(store, ctx)
    await ctx.apply(ConfigMap.named(f"{store.name}-in"))
    await ctx.apply(ConfigMap.named(f"{store.name}-out"))


# -- letters that depend on how long users take ------------------------------------------------------------------------


class Letters(External):
    """Letters to the owners of stores."""

    def __init__(self) -> None:
        self.sent: dict[str, str] = {}

    @call
    async def send(self, text: str) -> None:
        self.sent[text] = "by post"


letters = Letters()


async def reminds_of_an_old_image(store: Store, ctx: sp.Context) -> None:
    """Sends a letter about the last image, if that served for longer than a quarter of an hour."""
    before, _, since = store.status.current.partition(" ")
    if before == store.spec.image:
        return
    now = ctx.now()
    if before and (now - datetime.fromtimestamp(int(since), UTC)) > 15 * MINUTE:
        await letters.send(f"{before} is not served any more")
    await ctx.ensure_current()
    await ctx.patch(store, {"status": {"current": f"{store.spec.image} {int(now.timestamp())}"}}, subresource="status")


async def says_once_that_it_is_there(store: Store, ctx: sp.Context) -> None:
    await ctx.ensure_current()
    if not store.status.phase:
        await letters.send(f"{store.name} is there")
    store.status.phase = "Ready"


# -- a record that an old call sets last -------------------------------------------------------------------------------


class Records(External):
    """Records by name, as a provider of DNS has them. It refuses a call with an older version than the newest."""

    def __init__(self) -> None:
        self.records: dict[str, str] = {}
        self._newest: dict[str, int] = {}

    @call
    async def put(self, name: str, value: str, version: int) -> None:
        if version < self._newest.get(name, 0):
            raise ValueError(f"{name} has a newer version")
        self.records[name] = value
        self._newest[name] = version


records = Records()
INTERFACE = 1


async def puts_with_the_version_of_the_interface(store: Store, ctx: sp.Context) -> None:
    if store.status.current != store.spec.image:
        await records.put(store.name, store.spec.image, INTERFACE)
        store.status.current = store.spec.image


async def puts_with_the_generation(store: Store, ctx: sp.Context) -> None:
    if store.status.current != store.spec.image:
        await ctx.ensure_current()
        await records.put(store.name, store.spec.image, store.metadata.generation)
        store.status.current = store.spec.image


# -- a cache that a lifespan opens -------------------------------------------------------------------------------------


@asynccontextmanager
async def defaults(manager: sp.Manager) -> AsyncGenerator[Lister[ConfigMap]]:
    """A cache of all config maps, which no controller declares."""
    informer = manager.factory.informer(ConfigMap)
    yield informer.lister


async def by_the_cache_of_the_lifespan(store: Store, ctx: sp.Context) -> None:
    kept = ctx.state(Lister).try_get("default/defaults")
    image = kept.data["image"] if kept is not None else "none"
    await ctx.apply(Secret.named(f"{store.name}-chosen", string_data={"image": image}))


async def by_the_server(store: Store, ctx: sp.Context) -> None:
    kept = await ctx.client.get(ConfigMap, "defaults", namespace=store.namespace)
    await ctx.apply(Secret.named(f"{store.name}-chosen", string_data={"image": kept.data["image"]}))


async def defaults_first(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(ConfigMap.named("defaults", "default", data={"image": "store:1"}))
    await cluster.settle()
    await cluster.apply(Store.named("main", "default"))
    await cluster.settle()


PAIRS = [
    Pair(
        name="lifespan-cache-not-watched",
        root="R41",
        source=DERIVED,
        scenario=defaults_first,
        buggy=made(by_the_cache_of_the_lifespan, Secret),
        correct=made(by_the_server, Secret),
        options={"lifespan": defaults, "control_plane": ["*", "-root-ca-certificate-publisher-controller"]},
    ),
    Pair(
        name="late-call-overwrites-newer-record",
        root="R61",
        source=DERIVED,
        scenario=TWICE,
        buggy=made(puts_with_the_version_of_the_interface),
        correct=made(puts_with_the_generation),
        options={"externals": [records]},
    ),
    Pair(
        name="backup-name-from-timestamp",
        root="R19",
        source=DERIVED,
        scenario=TWICE,
        buggy=made(both_files_behind_one_guard, ConfigMap),
        correct=made(each_file_for_itself, ConfigMap),
    ),
    Pair(
        name="expiring-credential-recorded-first",
        root="R23",
        source=DERIVED,
        scenario=TWICE,
        buggy=made(credentials_that_are_noted_first, Secret),
        correct=made(credentials_each_time, Secret),
        options={"ignore": {"secrets default/main-ticket": "slow users look after its minute, quick ones before"}},
    ),
    Pair(
        name="file-name-from-hash-of-time",
        root="R19",
        source=DERIVED,
        scenario=TWICE,
        buggy=made(traces_and_guards_both_files, ConfigMap),
        correct=made(traces_and_applies_both_files, ConfigMap),
    ),
    Pair(
        name="reminder-depends-on-elapsed-time",
        root="R46",
        source=DERIVED,
        scenario=TWICE,
        buggy=made(reminds_of_an_old_image),
        correct=made(says_once_that_it_is_there),
        options={"externals": [letters]},
    ),
]
