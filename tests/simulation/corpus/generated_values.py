"""Generated values: random passwords, ids and names, and addresses from a pool."""

from __future__ import annotations

import secrets
import string
import uuid
from typing import Any

from tests.simulation.corpus.pair import Pair
from tests.simulation.corpus.store_operators import DERIVED, Store, StoreSpec, changes, deployment, digest, found, made

import setpoint as sp
from setpoint.client import AlreadyExists
from setpoint.models.apps_v1 import Deployment
from setpoint.models.core_v1 import ConfigMap, Secret
from setpoint.simulation import External, call

# -- a password in a Secret and in a database --------------------------------------------------------------------------


class UserExists(Exception):
    """The database has a user of this name."""


class Users(External):
    """A database's users, and their passwords."""

    def __init__(self) -> None:
        self.users: dict[str, str] = {}

    @call
    async def create(self, name: str, password: str) -> None:
        if name in self.users:
            raise UserExists(name)
        self.users[name] = password

    @call
    async def set_password(self, name: str, password: str) -> None:
        self.users[name] = password


users = Users()


def password() -> str:
    return "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(16))


async def the_user_first(store: Store, ctx: sp.Context) -> None:
    if await ctx.get(Secret, f"{store.name}-db") is not None:
        return
    drawn = password()
    try:
        await users.create(store.name, drawn)
    except UserExists:
        ctx.log.info("the user is there")
    await ctx.apply(Secret.named(f"{store.name}-db", string_data={"password": drawn}))


async def the_secret_first(store: Store, ctx: sp.Context) -> Any:
    secret = await found(Secret, f"{store.name}-db", ctx)
    if secret is None:
        try:
            secret = await ctx.create(Secret.named(f"{store.name}-db", data={"password": password().encode()}))
        except AlreadyExists:
            return sp.after(1, "it has been made meanwhile")
    await users.set_password(store.name, secret.data["password"].decode())
    return None


# -- networks by ids that a cloud draws --------------------------------------------------------------------------------


class Networks(External):
    """Networks by ids that the cloud draws."""

    def __init__(self) -> None:
        self.networks: dict[str, dict[str, str]] = {}

    @call
    async def create(self, tag: str) -> str:
        name = f"net-{uuid.uuid4()}"
        self.networks[name] = {"tag": tag}
        return name

    @call
    async def find(self, tag: str) -> str | None:
        return next((name for name, network in self.networks.items() if network["tag"] == tag), None)


networks = Networks()


async def a_network_for_the_status(store: Store, ctx: sp.Context) -> None:
    if not store.status.current:
        store.status.current = await networks.create(store.uid)


async def a_network_by_its_tag(store: Store, ctx: sp.Context) -> None:
    store.status.current = await networks.find(store.uid) or await networks.create(store.uid)


# -- a worker with a name that was drawn -------------------------------------------------------------------------------


async def a_name_each_time(store: Store, ctx: sp.Context) -> None:
    if not ctx.owned(ConfigMap):
        await ctx.create(ConfigMap.named(f"{store.name}-{secrets.token_hex(4)}", data={"image": store.spec.image}))


async def a_name_that_is_noted_first(store: Store, ctx: sp.Context) -> Any:
    newest = await found(Store, store.name, ctx)
    if newest is None:
        return None
    if not newest.status.current:
        store.status.current = f"{store.name}-{secrets.token_hex(4)}"
        return sp.after(1, "the name is noted")
    store.status.current = newest.status.current
    await ctx.apply(ConfigMap.named(store.status.current, data={"image": store.spec.image}))
    return None


# -- addresses from a pool ---------------------------------------------------------------------------------------------

ADDRESSES = [f"10.0.0.{number}" for number in range(1, 20)]


async def the_lowest_that_is_free(store: Store, ctx: sp.Context) -> None:
    if not store.status.current:
        taken = {store.status.current for store in await ctx.list(Store)}
        store.status.current = next(address for address in ADDRESSES if address not in taken)


async def one_that_is_reserved(store: Store, ctx: sp.Context) -> None:
    mine = f"for-{store.uid}"
    for item in (await ctx.client.list(ConfigMap, namespace=store.namespace)).items:
        if mine in item.labels:
            store.status.current = item.name.removeprefix("address-")
            return
    for address in ADDRESSES:
        try:
            await ctx.create(ConfigMap.named(f"address-{address}", labels={mine: "yes"}))
        except AlreadyExists:
            continue
        store.status.current = address
        return


async def come_and_go(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Store.named("alpha", "default"))
    await cluster.apply(Store.named("beta", "default", spec=StoreSpec(replicas=2)))
    await cluster.settle()
    await cluster.delete(await cluster.get(Store, "alpha"))
    await cluster.settle()
    await cluster.apply(Store.named("gamma", "default", spec=StoreSpec(replicas=3)))
    await cluster.settle()


# -- a rollout for each version of a secret ----------------------------------------------------------------------------


async def a_secret_and_its_user(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Secret.named("key", "default", string_data={"key": "a"}))
    await cluster.apply(Store.named("main", "default"))
    await cluster.settle()


async def a_rollout_for_its_version(store: Store, ctx: sp.Context) -> None:
    secret = await ctx.get(Secret, "key")
    if secret is not None:
        await ctx.apply(deployment(store, store.name, {"hash": digest({"key": secret.metadata.resource_version})}))


async def a_rollout_for_its_data(store: Store, ctx: sp.Context) -> None:
    secret = await ctx.get(Secret, "key")
    if secret is not None:
        await ctx.apply(deployment(store, store.name, {"hash": digest({"key": repr(secret.data)})}))


def follows_the_secret(reconcile: Any) -> Any:
    def users_of(head: sp.Head, caches: sp.CacheReader) -> list[sp.ObjectKey]:
        return [store.key for store in caches.lister(Store).list()]

    return lambda: [sp.Controller(Store, reconcile).owns(Deployment).watches(Secret, users_of)]


PAIRS = [
    Pair(
        name="random-password-after-user-created",
        root="R19",
        source=DERIVED,
        scenario=changes(StoreSpec()),
        buggy=made(the_user_first, Secret),
        correct=made(the_secret_first, Secret),
        options={"externals": [users]},
    ),
    Pair(
        name="network-created-per-attempt",
        root="R26",
        source="aws-controllers-k8s #2062",
        scenario=changes(StoreSpec()),
        buggy=made(a_network_for_the_status),
        correct=made(a_network_by_its_tag),
        options={"externals": [networks]},
    ),
    Pair(
        name="random-name-per-attempt",
        root="R26",
        source=DERIVED,
        scenario=changes(StoreSpec()),
        buggy=made(a_name_each_time, ConfigMap),
        correct=made(a_name_that_is_noted_first, ConfigMap),
    ),
    Pair(
        name="lowest-free-address-from-cache",
        root="R55",
        source=DERIVED,
        scenario=come_and_go,
        buggy=made(the_lowest_that_is_free),
        correct=made(one_that_is_reserved, ConfigMap),
    ),
    Pair(
        name="rollout-for-each-resource-version",
        root="R65",
        source=DERIVED,
        scenario=a_secret_and_its_user,
        buggy=follows_the_secret(a_rollout_for_its_version),
        correct=follows_the_secret(a_rollout_for_its_data),
    ),
]
