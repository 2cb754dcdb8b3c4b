"""Waiting for a condition of one object, against the embedded server in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.transports import Through

from setpoint.apiserver import ApiServer
from setpoint.client import (
    Client,
    Forbidden,
    InProcessTransport,
    Request,
    Transport,
    TransportError,
    WaitFailed,
    WaitTimeout,
)
from setpoint.meta import from_wire
from setpoint.models.core_v1 import ConfigMap, Node, NodeCondition
from setpoint.models.policy_v1 import PodDisruptionBudget
from setpoint.testing import advance, virtual_time


@asynccontextmanager
async def serving(wrap: Callable[[Transport], Transport] = lambda inner: inner) -> AsyncIterator[Client]:
    async with (
        ApiServer() as server,
        Client(wrap(InProcessTransport(server.handle)), namespace="default") as client,
    ):
        yield client


async def say(client: Client, status: str, reason: str = "") -> None:
    """Sets the condition Ready of the node n."""
    node = await client.get(Node, "n")
    node.status.conditions = [NodeCondition(type="Ready", status=status, reason=reason)]
    await client.update_status(node)


def later(seconds: float, work: Any) -> asyncio.Task[Any]:
    async def run() -> None:
        await asyncio.sleep(seconds)
        await work

    return asyncio.get_running_loop().create_task(run())


@pytest.mark.parametrize("condition", ["Ready", "ready", "Ready=True", "condition=Ready"])
@virtual_time
async def test_an_object_is_returned_as_it_is_when_its_condition_comes_true(condition: str) -> None:
    async with serving() as client:
        node = await client.create(Node.named("n"))
        await say(client, "False", "NotYet")
        change = later(5, say(client, "True", "Done"))
        current_node = await client.wait(node, condition)
        assert current_node.status.conditions[0].reason == "Done"
        assert asyncio.get_running_loop().time() == pytest.approx(5, abs=0.1)
        again = await client.wait(node, condition, timeout=0.5)
        assert again.metadata.resource_version == current_node.metadata.resource_version
        await change


@pytest.mark.parametrize("beside", [True, False], ids=["of the condition", "of the status"])
@virtual_time
async def test_a_condition_of_an_earlier_generation_does_not_count(beside: bool) -> None:
    def status(generation: int) -> dict[str, Any]:
        ready = {"type": "Available", "status": "True", "reason": "Is", "message": ""}
        ready["lastTransitionTime"] = "2026-01-01T00:00:00Z"
        observed = {"observedGeneration": generation}
        counts = {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}
        own = {**ready, **observed} if beside else ready
        return {"status": {**counts, "conditions": [own], **({} if beside else observed)}}

    async with serving() as client:
        kind = PodDisruptionBudget
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}
        budget = await client.create(from_wire(kind, {"metadata": {"name": "b"}, "spec": spec}))
        await client.patch(kind, "b", status(1), subresource="status")
        assert (await client.wait(budget, "Available")).metadata.generation == 1
        await client.patch(kind, "b", {"spec": {"minAvailable": 5}})
        with pytest.raises(
            WaitTimeout, match=r"it is Available=True \(Is\), but for generation 1, .* has generation 2"
        ):
            await client.wait(budget, "Available", timeout=3)
        change = later(5, client.patch(kind, "b", status(2), subresource="status"))
        await client.wait(budget, "Available")
        assert asyncio.get_running_loop().time() == pytest.approx(8, abs=0.1)
        await change


@virtual_time
async def test_the_message_of_a_wait_that_ends_says_what_the_object_said_last() -> None:
    async with serving() as client:
        node = await client.create(Node.named("n"))
        with pytest.raises(WaitTimeout, match=r"^nodes n: condition Ready did not become True within 5 s: it has no "):
            await client.wait(node, "Ready", timeout=5)
        change = later(1, say(client, "False", "Broken"))
        with pytest.raises(TimeoutError, match=r"become True within 5 s: it is Ready=False \(Broken\)$") as it:
            await client.wait(node, "Ready", timeout=5)
        await change
        assert isinstance(it.value, WaitTimeout)
        assert isinstance(it.value.last, Node)
        version = it.value.last.metadata.resource_version

        def is_cordoned(current_node: Node) -> bool:
            return bool(current_node.spec.unschedulable)

        text = rf"is_cordoned did not hold within 5 s: it is at version {version} with Ready=False \(Broken\)$"
        with pytest.raises(WaitTimeout, match=text):
            await client.wait(node, is_cordoned, timeout=5)


@virtual_time
async def test_a_function_of_the_object_is_a_condition_and_its_error_is_the_callers() -> None:
    async with serving() as client:
        config_map = await client.create(ConfigMap.named("a", data={"n": "0"}))

        async def count() -> None:
            for number in range(1, 6):
                await asyncio.sleep(1)
                await client.patch(ConfigMap, "a", {"data": {"n": str(number)}})

        counting = later(0, count())
        current_config_map = await client.wait(config_map, lambda obj: int(obj.data["n"]) >= 3)
        assert current_config_map.data["n"] == "3"
        await counting
        with pytest.raises(KeyError):
            await client.wait(config_map, lambda obj: obj.data["absent"] == "x")

        def too_late(obj: ConfigMap) -> bool:
            raise TimeoutError("its own")

        with pytest.raises(TimeoutError, match=r"^its own$"):
            await client.wait(config_map, too_late)


@virtual_time
async def test_a_deletion_is_waited_for_and_the_last_state_returned() -> None:
    async with serving() as client:
        config_map = await client.create(ConfigMap.named("a", data={"n": "0"}))
        gone = later(3, client.delete(config_map))
        last = await client.wait(config_map, "delete")
        assert last.data == {"n": "0"}
        await gone
        assert (await client.wait(config_map, "delete", timeout=1)).uid == config_map.uid
        await client.create(ConfigMap.named("a"))
        await client.wait(config_map, "delete", timeout=1)


@pytest.mark.parametrize("replaced", [False, True])
@virtual_time
async def test_a_wait_for_an_object_that_was_deleted_ends_at_once(replaced: bool) -> None:
    async with serving() as client:
        node = await client.create(Node.named("n"))

        async def delete() -> None:
            await client.delete(node)
            if replaced:
                await client.create(Node.named("n"))

        change = later(2, delete())
        with pytest.raises(WaitFailed, match="condition Ready did not become True: it was deleted") as caught:
            await client.wait(node, "Ready")
        assert not isinstance(caught.value, TimeoutError)
        assert asyncio.get_running_loop().time() < 3
        await change
        with pytest.raises(WaitFailed, match="another object has its name" if replaced else "it was deleted"):
            await client.wait(node, "Ready")


@virtual_time
async def test_an_object_that_was_made_by_hand_may_come_later() -> None:
    async with serving() as client:
        result = later(2, client.create(ConfigMap.named("a", data={"n": "1"})))
        assert (await client.wait(ConfigMap.named("a"), "create")).data == {"n": "1"}
        await result
        with pytest.raises(
            WaitTimeout, match=r"^configmaps default/b: it was not created within 1 s: there is no such"
        ):
            await client.wait(ConfigMap.named("b"), "create", timeout=1)


class Trouble(Through):
    """Ends every watch at once, and fails the first lists."""

    def __init__(self, inner: Transport, fails: int = 0) -> None:
        super().__init__(inner)
        self.fails, self.lists = fails, 0

    def send(self, request: Request) -> Any:
        if request.method == "GET" and ("watch", "true") in request.query:
            raise TransportError("the stream broke", sent=True)
        if request.method == "GET" and request.path.endswith("/configmaps"):
            self.lists += 1
            if self.lists <= self.fails:
                raise TransportError("connection refused", sent=False)
        return self.inner.send(request)


@virtual_time
async def test_broken_watches_and_lists_are_tried_again_until_the_deadline() -> None:
    async with serving(lambda inner: Trouble(inner, fails=30)) as client:
        config_map = await client.create(ConfigMap.named("a", data={"n": "0"}))
        change = later(90, client.patch(ConfigMap, "a", {"data": {"n": "1"}}))
        current_config_map = await client.wait(config_map, lambda obj: obj.data["n"] == "1", timeout=None)
        assert current_config_map.data["n"] == "1"
        await change
    async with serving(lambda inner: Trouble(inner, fails=1000)) as client:
        config_map = await client.create(ConfigMap.named("a"))
        with pytest.raises(WaitTimeout, match=r"the request to the server failed: .*connection refused"):
            await client.wait(config_map, "Ready", timeout=20)


class Refused(Trouble):
    def send(self, request: Request) -> Any:
        if request.method == "GET":
            from setpoint.client import error_from  # the transport's answer

            raise Forbidden(error_from(403, b"{}").status)
        return self.inner.send(request)


@virtual_time
async def test_a_refusal_is_raised_at_once() -> None:
    async with serving(Refused) as client:
        config_map = await client.create(ConfigMap.named("a"))
        with pytest.raises(Forbidden):
            await client.wait(config_map, "Ready")
        assert asyncio.get_running_loop().time() < 1


@virtual_time
async def test_what_can_not_be_waited_for_is_said_at_once() -> None:
    async with serving() as client:
        with pytest.raises(ValueError, match="use Ready, Ready=False, create, delete or a function"):
            await client.wait(ConfigMap.named("a"), "is it there?")
        kind: Any = ConfigMap
        with pytest.raises(TypeError, match="wait\\(\\) takes an object, such as one that get\\(\\) returned"):
            await client.wait(kind, "Ready")


@virtual_time
async def test_a_dynamic_object_is_waited_for_too_and_a_cancelled_wait_leaves_nothing() -> None:
    async with serving() as client:
        await client.create(Node.named("n"))
        node = await client.get("nodes", "n")
        waiting = asyncio.get_running_loop().create_task(client.wait(node, "Ready"))
        await advance(1)
        await say(client, "True")
        result = await waiting
        assert result["status"]["conditions"][0]["status"] == "True"
        forever = asyncio.get_running_loop().create_task(client.wait(node, "Never", timeout=None))
        await advance(1)
        forever.cancel()
        with pytest.raises(asyncio.CancelledError):
            await forever
