"""Faults between the controllers under test and the server."""

from __future__ import annotations

from typing import Any

import pytest

import setpoint as sp
from setpoint.client import ApiError, Conflict, Invalid, TooManyRequests, TransportError
from setpoint.models.core_v1 import ConfigMap, Secret
from setpoint.testing import advance, cluster, virtual_time


async def copy(obj: ConfigMap, ctx: sp.Context) -> None:
    """A Secret of the same name for every ConfigMap."""
    await ctx.keep(Secret, [Secret.named(obj.name, string_data=obj.data)])


def bare(**options: Any) -> Any:
    return cluster(sp.Controller(ConfigMap, copy).owns(Secret), control_plane=False, **options)


def errors(world: Any) -> list[str]:
    return [item.detail for item in world.running("configmap").timeline.of("default/a") if item.detail]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (Conflict, "Conflict: patch secrets default/a: Conflict (409): refused by a test"),
        (Invalid, "Invalid: patch secrets default/a: Invalid (422): refused by a test"),
        (TransportError("unplugged", sent=False), "TransportError: unplugged"),
    ],
)
@virtual_time
async def test_the_next_write_of_a_kind_fails_with_the_error_and_the_one_after_does_not(
    error: Any, message: str
) -> None:
    async with bare() as world:
        world.faults.fail(Secret, error)
        await world.create(ConfigMap.named("a", data={"x": "1"}))
        await world.settle()
        assert errors(world) == [message]
        assert (await world.get(Secret, "a")).data
        assert world.faults.remaining == 0


@virtual_time
async def test_a_refusal_may_say_when_to_come_again_and_hold_several_times() -> None:
    async with bare() as world:
        world.faults.fail(Secret, TooManyRequests, times=2, verb="apply")
        await world.create(ConfigMap.named("a", data={"x": "1"}))
        await world.settle()
        assert len(errors(world)) == 2


@pytest.mark.parametrize("lost", ["request", "answer"])
@virtual_time
async def test_a_lost_answer_is_of_a_write_that_was_done_and_a_lost_request_of_one_that_was_not(lost: str) -> None:
    async with bare() as world:
        hold = world.faults.hold(Secret)
        (world.faults.lose_answer if lost == "answer" else world.faults.lose_request)(Secret)
        await world.create(ConfigMap.named("a", data={"x": "1"}))
        await advance(0.001)
        assert (await world.find(Secret, "a") is not None) is (lost == "answer")
        hold.release()
        await world.settle()
        assert "connection reset by peer" in errors(world)[0]
        assert (await world.get(Secret, "a")).data


@virtual_time
async def test_a_watch_that_is_held_back_shows_everything_in_order_afterwards() -> None:
    seen: list[str] = []

    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        seen.append(obj.data["x"])

    async with cluster(sp.Controller(ConfigMap, reconcile), control_plane=False) as world:
        with world.faults.hold(ConfigMap):
            config_map = await world.create(ConfigMap.named("a", data={"x": "1"}))
            config_map.data["x"] = "2"
            await world.update(config_map)
            await advance(100)
            assert seen == []
        await world.settle()
        assert seen[-1] == "2"


@virtual_time
async def test_a_fault_meets_only_what_it_names() -> None:
    async with bare() as world:
        world.faults.fail(Secret, Conflict, name="b")
        world.faults.fail(Secret, Conflict, verb="delete")
        world.faults.fail(ConfigMap, Conflict, subresource="status")
        await world.create(ConfigMap.named("a", data={"x": "1"}))
        await world.settle()
        assert errors(world) == []
        assert world.faults.remaining == 3
        await world.create(Secret.named("b", string_data={"a": "b"}))
        assert world.faults.remaining == 3, "a test's own requests meet none"


@virtual_time
async def test_an_error_that_no_server_answers_with_is_refused() -> None:
    async with bare() as world:
        with pytest.raises(ValueError, match="ApiError is not an answer of a server; use one of AlreadyExists, "):
            world.faults.fail(Secret, ApiError)
