"""Answers that an informer must not take for its collection, and lists without an end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import pytest
from tests.client.conftest import Answer, Server, answer

from setpoint.cache import InformerFactory, WatchOptions
from setpoint.client import Client, InProcessTransport, Request
from setpoint.models.core_v1 import Pod
from setpoint.testing import virtual_time

from .fakes import event, pod, pod_list, to_bytes

ITEM = {"metadata": pod("intruder", version=9)["metadata"], "spec": {}}
WRONG = [
    None,
    {},
    {"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 403, "message": "no"},
    {"kind": "ServiceList", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}, "items": []},
    {"kind": "ServiceList", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}, "items": [ITEM]},
    {"metadata": {"resourceVersion": "9"}, "items": [ITEM], "kind": "ServiceList", "apiVersion": "v1"},
    {"kind": "PodList", "apiVersion": "x.example.com/v1", "metadata": {"resourceVersion": "9"}, "items": []},
]


@pytest.mark.parametrize("document", WRONG)
@virtual_time
async def test_an_answer_that_is_not_the_list_leaves_the_cache_as_it_is(document: Any) -> None:
    lists = 0

    def behave(request: Request) -> Answer:
        nonlocal lists
        if dict(request.query).get("watch"):
            return Answer(410, {}, b"")
        lists += 1
        return answer(document) if 1 < lists < 5 else Answer(body=pod_list([pod("a", version=1)], 2))

    client = Client(InProcessTransport(Server(behave).handle))
    async with (
        client,
        InformerFactory(client, random=Random(1), watch_options=WatchOptions(streaming_lists=False)) as factory,
    ):
        informer = factory.informer(Pod)
        await informer.wait_synced()
        while lists < 5:
            await asyncio.sleep(1)
            assert [head.name for head in informer.lister.heads()] == ["a"]


@pytest.mark.parametrize("streaming", [False, True])
@virtual_time
async def test_a_list_that_repeats_an_object_without_end_is_given_up(streaming: bool) -> None:
    sent = 0

    async def endless(item: bytes, between: bytes) -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            yield (item + between) * 100
            sent += 100
            await asyncio.sleep(0.001)

    async def listed() -> AsyncIterator[bytes]:
        yield b'{"metadata":{"resourceVersion":"1"},"items":['
        async for chunk in endless(to_bytes(pod("a", version=1)), b","):
            yield chunk

    def behave(request: Request) -> Answer:
        if dict(request.query).get("watch"):
            return Answer(body=endless(event("ADDED", pod("a", version=1)), b""))
        return Answer(body=listed())

    client = Client(InProcessTransport(Server(behave).handle))
    async with (
        client,
        InformerFactory(client, random=Random(1), watch_options=WatchOptions(streaming_lists=streaming)) as factory,
    ):
        informer = factory.informer(Pod)
        async with asyncio.timeout(5):
            while informer.last_error is None:  # noqa: ASYNC110 - a user would look at it
                await asyncio.sleep(0.01)
        assert "the server repeats the objects of a list of pods endlessly" in str(informer.last_error)
    assert sent < 25_000


@pytest.mark.parametrize("token", ["same", "new"])
@pytest.mark.parametrize("items", [[], [pod("a", version=1)]], ids=["no objects", "the same object"])
@virtual_time
async def test_a_list_that_continues_without_end_fails_and_is_tried_again_after_a_wait(
    token: str, items: list[Any]
) -> None:
    def behave(request: Request) -> Answer:
        number = len(server.requests) if token == "new" else 0
        return answer({"metadata": {"continue": f"t{number}", "resourceVersion": "1"}, "items": items})

    server = Server(behave)
    client = Client(InProcessTransport(server.handle))
    async with (
        client,
        InformerFactory(client, random=Random(1), watch_options=WatchOptions(streaming_lists=False)) as factory,
    ):
        informer = factory.informer(Pod)
        await asyncio.sleep(60)
        assert not informer.has_synced
        assert "continues its pages without end" in str(informer.last_error)
    assert len(server.requests) < 120
