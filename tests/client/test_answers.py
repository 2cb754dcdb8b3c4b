"""Answers with the code 200 that are not what was asked for, or that have no end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from setpoint.client import (
    Client,
    Forbidden,
    InProcessTransport,
    Request,
    TransportError,
    UnreadableAnswer,
    metadata_only,
)
from setpoint.client.requester import MAX_OBJECT
from setpoint.meta import DecodeError
from setpoint.models.apps_v1 import Deployment
from setpoint.models.authorization_v1 import SubjectAccessReview
from setpoint.models.core_v1 import ConfigMap, Pod
from setpoint.testing import virtual_time

from .conftest import Answer, Server, Thing, answer

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
STATUS = {
    "apiVersion": "v1",
    "kind": "Status",
    "status": "Failure",
    "reason": "Forbidden",
    "code": 403,
    "message": "the proxy says no",
}


def asking(document: Any) -> Client:
    return Client(InProcessTransport(Server(lambda request: answer(document)).handle))


WRONG = [
    (None, "not a JSON object"),
    ([], "not a JSON object"),
    ({}, "it has no name"),
    (STATUS, "it is a Status of v1 .Forbidden: the proxy says no., not a ConfigMap of v1"),
    ({**CONFIG_MAP, "kind": "Secret"}, "it is a Secret of v1, not a ConfigMap"),
    ({**CONFIG_MAP, "apiVersion": "x.example.com/v1"}, "it is a ConfigMap of x.example.com/v1, not"),
    ({**CONFIG_MAP, "kind": 1}, "must be strings"),
    ({**CONFIG_MAP, "metadata": {"name": "b", "namespace": "default"}}, "it is the object default/b, not default/a"),
    ({**CONFIG_MAP, "metadata": {"name": "a", "namespace": "other"}}, "it is the object other/a, not default/a"),
    ({**CONFIG_MAP, "metadata": {}}, "it has no name"),
    ({"kind": "ConfigMapList", "apiVersion": "v1", "items": []}, "it is a ConfigMapList"),
]


@pytest.mark.parametrize(("document", "why"), WRONG)
async def test_only_the_object_that_was_asked_for_is_taken_for_it(document: Any, why: str) -> None:
    mine = ConfigMap.named("a", "default")
    async with asking(document) as client:
        for request in (
            client.get(ConfigMap, "a"),
            client.create(mine),
            client.replace(mine),
            client.apply(mine),
            client.patch(ConfigMap, "a", {}),
            client.patch(ConfigMap, "a", {}, subresource="status"),
        ):
            with pytest.raises(UnreadableAnswer, match=why):
                await request
        if document is not STATUS:  # which a deletion may answer
            with pytest.raises(UnreadableAnswer, match=why):
                await client.delete(ConfigMap, "a")


@pytest.mark.parametrize("subresource", ["status", "resize", "ephemeralcontainers", "scale"])
async def test_a_status_is_not_taken_for_the_object_of_a_subresource(subresource: str) -> None:
    pod = Pod.named("a", "default")
    async with asking(STATUS) as client:
        for request in (
            client.patch(Pod, "a", {}, subresource=subresource),
            client.replace(pod, subresource=subresource),
            client.apply(pod, subresource=subresource),
        ):
            with pytest.raises(UnreadableAnswer, match="the proxy says no"):
                await request


async def test_a_failure_that_comes_with_a_200_is_the_error_of_a_deletion() -> None:
    async with asking(STATUS) as client:
        with pytest.raises(Forbidden, match="the proxy says no"):
            await client.delete(ConfigMap, "a")


@pytest.mark.parametrize("document", [None, {}, 5, CONFIG_MAP, {**STATUS, "apiVersion": "x.example.com/v1"}])
async def test_an_action_is_done_when_a_status_says_so(document: Any) -> None:
    pod = Pod.named("a", "default")
    async with asking(document) as client:
        for action in (client.evict(pod), client.bind(pod, "node")):
            with pytest.raises(
                UnreadableAnswer, match=r"create pods/(eviction|binding) default/a: .*not a Status of v1"
            ):
                await action
    async with asking(STATUS) as client:
        for action in (client.evict(pod), client.bind(pod, "node")):
            with pytest.raises(Forbidden, match="the proxy says no"):
                await action


@pytest.mark.parametrize("document", [{}, {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1"}])
async def test_a_token_that_is_empty_is_none(document: Any) -> None:
    async with asking(document) as client:
        with pytest.raises(UnreadableAnswer, match="it has no token"):
            await client.create_token("robot")


async def test_a_discovery_without_content_does_not_mean_that_there_are_no_resources() -> None:
    async with asking({}) as client:
        with pytest.raises(TransportError, match="not a discovery document: it has no kind and no content"):
            await client.discovery.resources()


async def test_a_scale_is_one_and_has_its_objects_name() -> None:
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d", "namespace": "default"}}
    async with asking(scale) as client:
        assert (await client.get_scale(Deployment, "d")).name == "d"
        with pytest.raises(UnreadableAnswer, match=r"get deployments.apps/scale default/e: .* default/d, not"):
            await client.get_scale(Deployment, "e")
    async with asking({**scale, "kind": "Deployment", "apiVersion": "apps/v1"}) as client:
        with pytest.raises(UnreadableAnswer, match="not a Scale"):
            await client.get_scale(Deployment, "d")


async def test_a_generated_name_and_an_object_without_a_name_are_the_servers_choice() -> None:
    async with asking({**CONFIG_MAP, "metadata": {"name": "a-x7k", "namespace": "default"}}) as client:
        config_map = ConfigMap.named("")
        config_map.metadata.generate_name = "a-"
        assert (await client.create(config_map)).name == "a-x7k"
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "status": {"allowed": True}}
    async with asking(review) as client:
        assert (await client.create(SubjectAccessReview())).status.allowed
    for document in (None, STATUS):
        async with asking(document) as client:
            with pytest.raises(UnreadableAnswer):
                await client.create(SubjectAccessReview())


async def test_metadata_and_answers_without_a_kind_are_accepted_as_go_does() -> None:
    partial = {**CONFIG_MAP, "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata"}
    async with asking(partial) as client:
        assert (await client.get(metadata_only(ConfigMap), "a")).name == "a"
    async with asking({"metadata": {"name": "a"}}) as client:
        assert (await client.get(ConfigMap, "a")).name == "a"


@pytest.mark.parametrize(
    "document",
    [
        None,
        {},
        STATUS,
        CONFIG_MAP,
        {"kind": "ServiceList", "apiVersion": "v1", "items": []},
        {"kind": "PodList", "apiVersion": "x.example.com/v1", "items": []},
    ],
)
async def test_only_the_list_that_was_asked_for_is_taken_for_it(document: Any) -> None:
    async with asking(document) as client:
        with pytest.raises(TransportError, match="the answer is not a list"):
            await client.list(Pod)
        with pytest.raises(Forbidden if document is STATUS else TransportError):
            await client.delete_all(Pod)
    async with asking({"kind": "PodList", "apiVersion": "v1", "items": None}) as client:
        assert len(await client.list(Pod)) == 0
        await client.delete_all(Pod)
    async with asking({"kind": "Status", "apiVersion": "v1", "status": "Success"}) as client:
        await client.delete_all(Pod)


@pytest.mark.parametrize("item", [None, {}, {"metadata": {}}, {"metadata": {"namespace": "default"}}])
async def test_an_item_without_a_name_is_left_out_of_a_list(item: Any) -> None:
    async with asking({"kind": "ConfigMapList", "apiVersion": "v1", "items": [item, CONFIG_MAP]}) as client:
        config_maps = await client.list(ConfigMap)
        assert [config_map.name for config_map in config_maps] == ["a"]
        assert [str(problem).partition(":")[0] for problem in config_maps.broken] == [
            "it is not an object of the list, because it has no name"
        ]


async def test_an_event_of_a_watch_with_another_kind_cant_be_decoded() -> None:
    line = json.dumps({"type": "ADDED", "object": {**CONFIG_MAP, "kind": "Secret"}}).encode() + b"\n"
    async with Client(InProcessTransport(Server(lambda request: Answer(body=line)).handle)) as client:
        async for event in client.watch(ConfigMap):
            with pytest.raises(DecodeError, match="not a ConfigMap"):
                event.object  # noqa: B018 - decoded on access


# -- answers without an end -------------------------------------------------------------------------------------------


async def test_no_more_is_read_of_an_object_than_one_can_have() -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        yield b'{"metadata":{"name":"'
        while True:
            yield b"a" * (1 << 20)
            sent += 1 << 20
            await asyncio.sleep(0)

    async with Client(InProcessTransport(Server(lambda request: Answer(body=endless())).handle)) as client:
        with pytest.raises(TransportError, match="longer than"):
            await client.get(Thing, "a")
    assert sent <= MAX_OBJECT + (1 << 20)


def page(request: Request, number: int, *, token: str, item: int | None) -> Answer:
    items = [] if item is None else [{"metadata": {"name": f"n{item}", "uid": f"u{item}"}}]
    return answer({"metadata": {"continue": token, "resourceVersion": "1"}, "items": items})


@pytest.mark.parametrize(
    ("token", "item", "most"),
    [("same", "new", 2), ("new", None, 10), ("new", "same", 11)],
    ids=["the same token", "no objects", "the same object"],
)
@virtual_time
async def test_a_list_that_continues_without_end_is_given_up(token: str, item: str | None, most: int) -> None:
    def behave(request: Request) -> Answer:
        number = len(server.requests)
        shown = {"new": number, "same": 0, None: None}[item]
        return page(request, number, token=f"t{number if token == 'new' else 0}", item=shown)

    server = Server(behave)
    async with Client(InProcessTransport(server.handle)) as client:
        with pytest.raises(TransportError, match="list things: the server continues its pages without end"):
            async for _ in client.pages(Thing):
                pass
    assert len(server.requests) == most
