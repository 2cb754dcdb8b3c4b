"""Values that programs draw at random can be drawn again, and are compared by their uses."""

from __future__ import annotations

import base64
import os
import random
import secrets
import string
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.simulation.kinds import App

import setpoint as sp
from setpoint.controller.context import current
from setpoint.models.core_v1 import ConfigMap, Secret
from setpoint.simulation import Budget, Counterexample, External, call, check
from setpoint.simulation.comparison.deterministic_random import RandomValues
from setpoint.simulation.comparison.snapshot import Snapshot
from setpoint.simulation.sandbox.actor import ACTOR, Actor

WAYS: dict[str, Callable[[], str]] = {
    "os.urandom": lambda: os.urandom(9).hex(),
    "token_bytes in base64": lambda: base64.b64encode(secrets.token_bytes(10)).decode(),
    "token_hex": lambda: secrets.token_hex(8),
    "token_urlsafe": lambda: secrets.token_urlsafe(13),
    "uuid4": lambda: str(uuid.uuid4()),
    "the digits of a uuid4": lambda: uuid.uuid4().hex,
    "the beginning of a uuid4": lambda: str(uuid.uuid4())[:8],
    "the end of a uuid4": lambda: uuid.uuid4().hex[-6:],
    "choice": lambda: "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(12)),
    "choice of all that can be printed": lambda: "".join(secrets.choice(string.printable[:94]) for _ in range(12)),
    "token_hex of a few bytes": lambda: secrets.token_hex(2),
    "base32 in small letters": lambda: base64.b32encode(secrets.token_bytes(5)).decode().lower(),
    "a UUID in capitals": lambda: uuid.uuid4().hex.upper(),
    "two groups of a uuid4": lambda: str(uuid.uuid4())[:13],
    "a part of a uuid4": lambda: uuid.uuid4().hex[8:16],
    "a uuid4 in base64": lambda: base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("="),
    "randbits": lambda: f"{secrets.randbits(32):08x}",
    "choices": lambda: "".join(random.SystemRandom().choices(string.ascii_lowercase, k=6)),
    "choice from a list": lambda: "".join(secrets.choice([*string.ascii_lowercase]) for _ in range(6)),
    "choice of few": lambda: "".join(random.SystemRandom().choice("bcdfghjk2456789") for _ in range(5)),
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())


def drawn(chance: RandomValues, way: Callable[[], str], *, by: str = "controller/1", reconciles: bool = True) -> str:
    def draw() -> str:
        with chance.installed():
            return way()

    context = Actor(by, "controller").context()
    if reconciles:
        context.run(current.set, object())  # type: ignore[arg-type]
    assert context.run(ACTOR.get) is not None
    return context.run(draw)


@every_way
def test_a_run_draws_the_same_again_and_another_seed_or_process_something_else(way: Callable[[], str]) -> None:
    first = drawn(RandomValues(), way)
    assert drawn(RandomValues(), way) == first
    assert drawn(RandomValues(), way, by="controller/2") != first
    other = RandomValues()
    other.seed = 1
    assert drawn(other, way) != first


def test_the_real_generator_comes_back() -> None:
    real = os.urandom, random._urandom  # type: ignore[attr-defined]
    with RandomValues().installed():
        assert os.urandom is not real[0]
    assert (os.urandom, random._urandom) == real  # type: ignore[attr-defined]


@every_way
def test_what_was_drawn_becomes_a_star_in_a_name_and_nothing_else_does(way: Callable[[], str]) -> None:
    chance = RandomValues()
    word = drawn(chance, way)
    assert chance.starred(f"default/main-{word}") == "default/main-*"
    assert chance.starred(word) == "*"
    assert chance.starred("default/main-other configmaps deadbeef") == "default/main-other configmaps deadbeef"


@pytest.mark.parametrize("way", ["token_hex", "os.urandom", "the digits of a uuid4"])
def test_what_was_drawn_is_recognized_without_a_boundary(way: str) -> None:
    chance = RandomValues()
    word = drawn(chance, WAYS[way])
    assert chance.starred(f"db{word}") == "db*"
    assert chance.starred(f"{word}x0") == "*x0"


def of(secret: str, database: str) -> Snapshot:
    return {
        "external users": [{"users": {"main": database}}],
        "secrets default/main": [{"data": {"password": secret}}],
    }


@every_way
def test_texts_that_are_used_alike_are_the_same(way: Callable[[], str]) -> None:
    states = []
    for seed in (0, 1):
        chance = RandomValues()
        chance.seed = seed
        one, other = drawn(chance, way), drawn(chance, way)
        states.append([chance.by_use(of(one, one)), chance.by_use(of(other, other)), chance.by_use(of(one, other))])
    (same, again, unlike), others = states
    assert same == again != unlike
    assert others == [same, again, unlike]
    assert same["secrets default/main"][0]["data"] == {
        "password": "<the random text that is also in external users users.main>"
    }
    assert unlike["secrets default/main"][0]["data"] == {"password": "<a random text>"}


def test_what_no_reconcile_has_drawn_says_nothing_of_an_object() -> None:
    """Such as the identity of a process, which is another one after a crash."""
    chance = RandomValues()
    identity = drawn(chance, WAYS["uuid4"], reconciles=False)
    assert chance.by_use(of(identity, identity)) == of("<a random text>", "<a random text>")


def test_keys_that_are_used_alike_are_all_kept() -> None:
    chance = RandomValues()
    keys = [drawn(chance, WAYS["uuid4"]) for _ in range(3)]
    result = chance.by_use({"external cloud": [{"networks": {key: {"size": 1} for key in keys}}]})
    (state,) = result["external cloud"]
    assert len(state["networks"]) == len(keys)
    assert not any(key in str(state) for key in keys)


@given(
    st.recursive(st.text() | st.integers() | st.none(), lambda item: st.lists(item) | st.dictionaries(st.text(), item))
)
def test_where_nothing_was_drawn_a_state_stays_as_it_is(value: Any) -> None:
    assert RandomValues().by_use({"external x": [value]}) == {"external x": [value]}


class Users(External):
    def __init__(self) -> None:
        self.users: dict[str, str] = {}

    @call
    async def create(self, name: str, password: str) -> None:
        self.users.setdefault(name, password)


async def one_app(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", "default"))
    await cluster.settle()


def test_a_password_in_two_places_is_the_same_in_both() -> None:
    users = Users()

    async def reconcile(app: App, ctx: sp.Context) -> None:
        if await ctx.get(Secret, app.name) is None:
            password = secrets.token_urlsafe(12)
            await users.create(app.name, password)
            await ctx.apply(Secret.named(app.name, string_data={"password": password}))

    with pytest.raises(Counterexample) as caught:
        check(one_app, lambda: [sp.Controller(App, reconcile).owns(Secret)], externals=[users])
    (fault,) = caught.value.plan.faults
    assert fault.kind.startswith("crash"), "between the database and the Secret"
    assert "users.one is <a random text>, expected <the random text that is also in secrets default/one" in str(
        caught.value
    )
    assert {finding.subject for finding in caught.value.findings} == {"external users", "secrets default/one"}


def test_a_name_that_was_drawn_is_no_difference_between_runs() -> None:
    async def reconcile(app: App, ctx: sp.Context) -> None:
        if await ctx.get(ConfigMap, app.name) is None:
            await ctx.apply(ConfigMap.named(app.name, data={"id": str(uuid.uuid4())}))

    report = check(one_app, lambda: [sp.Controller(App, reconcile).owns(ConfigMap)], budget=Budget(runs=60))
    assert report.singles
    assert not report.masks
