"""Keys that come to a process: every object is asked for, whatever happens while they are walked."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from setpoint.controller.environment import Environment
from setpoint.controller.run.shard import ShardGuard
from setpoint.meta import ObjectKey


class Share:
    """All keys, or none."""

    def __init__(self, owner: bool) -> None:
        self.empty = not owner
        self._owner = owner

    def owns(self, controller: str, key: ObjectKey) -> bool:
        return self._owner


class Shard:
    """Only a change of shares matters here, so no other part of a shard is there."""

    def __init__(self) -> None:
        self.share = Share(False)
        self.change: Any = None

    def on_change(self, listener: Any) -> Any:
        self.change = listener
        return lambda: None


class Store:
    def __init__(self, count: int) -> None:
        self.heads = {f"default/o{number}": SimpleNamespace(odd=number == 3) for number in range(count)}

    def __iter__(self) -> Iterator[str]:
        return iter(self.heads)

    def head(self, key: str) -> Any:
        return self.heads.get(key)


async def taken_over(store: Store, predicate: Any) -> list[ObjectKey]:
    """The keys that a process asks for when all come to it."""
    shard: Any = Shard()
    env: Any = SimpleNamespace(
        name="c",
        log=logging.getLogger("c"),
        informers={"g": SimpleNamespace(store=store)},
        resource=SimpleNamespace(gvr="g"),
        accepts=lambda *arguments: Environment.accepts(env, *arguments),
    )
    declared: Any = SimpleNamespace(watched=[SimpleNamespace(predicates=(predicate,))])
    object_keys: list[ObjectKey] = []
    guard: Any = ShardGuard(
        declared,
        env,
        shard,
        handle=lambda key: asyncio.sleep(0),
        enqueue=lambda key, cause, priority: object_keys.append(key),
        forget=lambda key: None,
    )
    await guard._take_over(Share(True), [Share(False)])
    return object_keys


async def test_an_object_that_is_deleted_while_keys_are_walked_is_shown_to_no_predicate() -> None:
    store = Store(800)
    requests: list[Any] = []

    def test(old: Any, new: Any) -> bool:
        requests.append(new)
        return new.odd in (True, False)

    asyncio.get_running_loop().call_soon(store.heads.pop, "default/o700")
    result = await taken_over(store, test)
    assert None not in requests
    assert len(result) == 799
    assert "default/o700" not in result


async def test_a_predicate_that_raises_keeps_out_that_object_alone(caplog: pytest.LogCaptureFixture) -> None:
    def test(old: Any, new: Any) -> bool:
        if new.odd:
            raise KeyError("label")
        return True

    result = await taken_over(Store(10), test)
    assert len(result) == 9
    assert "default/o3" not in result
    assert "default/o3" in caplog.text
    assert "KeyError" in caplog.text


async def test_others_have_their_turn_though_a_predicate_refuses_all() -> None:
    ticks = 0
    ended = False

    async def other() -> None:
        nonlocal ticks
        while not ended:
            ticks += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    assert await taken_over(Store(5000), lambda old, new: False) == []
    ended = True
    await task
    assert ticks >= 10
