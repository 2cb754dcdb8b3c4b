"""The same verbs under other names: groups as in a clientset, and the client that does not await."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from setpoint import blocking
from setpoint.client import Client, InProcessTransport, NotFound, Request, TransportError
from setpoint.client.resource_collection import Collection, CreateOnly, Scalable
from setpoint.meta import ObjectMeta
from setpoint.models import BUILTIN
from setpoint.models.core_v1 import ConfigMap, Node, Pod

from .conftest import Answer, Server, Thing, answer, echo, failure

CONFIG_MAP = {"metadata": {"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "1"}, "data": {"k": "v"}}


async def test_groups_are_the_same_verbs() -> None:
    server = Server(lambda request: echo({**CONFIG_MAP, "items": []}, request))
    async with Client(InProcessTransport(server.handle)) as client:
        assert (await client.core_v1.config_maps("ns").get("a")).data == {"k": "v"}
        await client.core_v1.config_maps().list(selector="a=b")
        await client.core_v1.config_maps("ns").create(ConfigMap.named("b"))
        await client.core_v1.config_maps("ns").apply(ConfigMap.named("b"))
        await client.core_v1.config_maps("ns").delete("a")
        await client.core_v1.nodes().list()
        await client.apps_v1.deployments("ns").patch_scale("d", 3)
    assert [(request.method, request.path) for request in server.requests] == [
        ("GET", "/api/v1/namespaces/ns/configmaps/a"),
        ("GET", "/api/v1/configmaps"),
        ("POST", "/api/v1/namespaces/ns/configmaps"),
        ("PATCH", "/api/v1/namespaces/ns/configmaps/b"),
        ("DELETE", "/api/v1/namespaces/ns/configmaps/a"),
        ("GET", "/api/v1/nodes"),
        ("PATCH", "/apis/apps/v1/namespaces/ns/deployments/d/scale"),
    ]


async def test_one_object_can_be_created_and_applied_in_two_namespaces() -> None:
    server = Server(lambda request: answer({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}))
    config_map = ConfigMap(metadata=ObjectMeta(name="a"), data={"b": "c"})
    async with Client(InProcessTransport(server.handle)) as client:
        for namespace in ("one", "two"):
            await client.core_v1.config_maps(namespace).create(config_map)
            await client.core_v1.config_maps(namespace).apply(config_map)
    assert [request.path for request in server.requests] == [
        "/api/v1/namespaces/one/configmaps",
        "/api/v1/namespaces/one/configmaps/a",
        "/api/v1/namespaces/two/configmaps",
        "/api/v1/namespaces/two/configmaps/a",
    ]
    assert config_map.namespace == "", "the caller's object is left alone"


async def test_one_object_can_be_replaced_in_two_namespaces() -> None:
    server = Server(lambda request: answer({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}))
    config_map = ConfigMap(metadata=ObjectMeta(name="a"), data={"b": "c"})
    async with Client(InProcessTransport(server.handle)) as client:
        for namespace in ("one", "two"):
            await client.core_v1.config_maps(namespace).replace(config_map)
    assert [request.path for request in server.requests] == [
        "/api/v1/namespaces/one/configmaps/a",
        "/api/v1/namespaces/two/configmaps/a",
    ]


async def test_the_clientset_is_complete() -> None:
    async with Client(InProcessTransport(Server(lambda request: answer({})).handle)) as client:
        reached = set()
        for name in dir(client):
            if "_v" in name and not name.startswith("_"):
                group = getattr(client, name)
                for method in dir(group):
                    if not method.startswith("_"):
                        collection = getattr(group, method)()
                        assert isinstance(collection, CreateOnly)
                        resource = collection._kind.resource
                        reached.add(resource.gvr)
                        assert isinstance(collection, Collection) == ("list" in resource.verbs)
                        if isinstance(collection, Collection):
                            assert isinstance(collection, Scalable) == ("scale" in resource.subresources)
    assert {resource.gvr for resource in BUILTIN if "list" in resource.verbs} <= reached


async def test_subresources_go_where_they_belong() -> None:
    pod = Pod.named("p", "ns", spec=None)  # type: ignore[arg-type]
    pod.metadata.uid = "u"
    server = Server(lambda request: answer({"kind": "Status", "status": "Success"}))
    async with Client(InProcessTransport(server.handle)) as client:
        await client.evict(pod, grace_period_seconds=5)
        await client.bind("p", "node-1", namespace="ns")
    eviction, binding = server.requests
    assert eviction.path == "/api/v1/namespaces/ns/pods/p/eviction"
    assert b'"deleteOptions":{"preconditions":{"uid":"u"},"gracePeriodSeconds":5}' in (eviction.body or b"")
    assert binding.path == "/api/v1/namespaces/ns/pods/p/binding"
    assert b'"target":{"apiVersion":"v1","kind":"Node","name":"node-1"}' in (binding.body or b"")


async def test_a_server_before_1_22_is_asked_for_an_eviction_in_the_version_it_knows() -> None:
    words = 'Eviction in version "v1" cannot be handled as a Eviction: no kind "Eviction" is registered for version '

    def behave(request: Request) -> Answer:
        if b'"policy/v1"' in (request.body or b""):
            return failure(
                400, "BadRequest", message=f'{words}"policy/v1" in scheme "pkg/api/legacyscheme/scheme.go:30"'
            )
        return answer({"kind": "Status", "status": "Success"})

    server = Server(behave)
    async with Client(InProcessTransport(server.handle)) as client:
        assert (await client.evict("p", namespace="ns", grace_period_seconds=5)).status == "Success"
    assert [b'"apiVersion":"policy/v1beta1"' in (request.body or b"") for request in server.requests] == [False, True]
    assert b'"gracePeriodSeconds":5' in (server.requests[1].body or b"")


async def test_logs_come_whole_or_as_they_are_written() -> None:
    async def stream() -> AsyncIterator[bytes]:
        yield b"one\ntw"
        yield b"o\n"

    def behave(request: Request) -> Answer:
        return Answer(body=stream()) if dict(request.query).get("follow") else Answer(body=b"one\n\xff")

    server = Server(behave)
    async with Client(InProcessTransport(server.handle)) as client:
        assert await client.logs("p", container="c", tail_lines=5, previous=True) == "one\n\ufffd"
        async with client.follow_logs("p") as log:
            assert [line async for line in log.lines()] == [b"one", b"two"]
    assert server.requests[0].query == (("container", "c"), ("previous", "true"), ("tailLines", "5"))


# -- blocking ---------------------------------------------------------------------------------------------------------


def blocked(server: Server) -> blocking.Client:
    return blocking.Client(Client(InProcessTransport(server.handle)))


def test_the_blocking_client_gives_the_same_objects_and_errors() -> None:
    def behave(request: Request) -> Answer:
        if request.path.endswith("/gone"):
            return failure(404, "NotFound")
        return echo({**CONFIG_MAP, "items": [CONFIG_MAP]}, request)

    with blocked(Server(behave)) as client:
        assert client.get(ConfigMap, "a").data == {"k": "v"}
        assert [entry.name for entry in client.list(ConfigMap)] == ["a"]
        assert [entry.name for entry in client.pages(ConfigMap)] == ["a"]
        assert isinstance(client.delete(ConfigMap, "a"), ConfigMap)
        with pytest.raises(NotFound, match="get configmaps default/gone"):
            client.get(ConfigMap, "gone")


async def test_the_blocking_client_works_where_a_loop_runs_already() -> None:
    with blocked(Server(lambda request: echo(CONFIG_MAP, request))) as client:
        assert client.get(ConfigMap, "a").name == "a"


def test_whatever_the_asynchronous_client_can_do_the_blocking_one_can() -> None:
    # For programs that have a loop.
    own = {"answers", "note_write", "on_write", "over", "transport", "random", "config", "field_manager"}
    with blocked(Server(lambda request: echo(CONFIG_MAP, request))) as client:
        names = {name for name in dir(client._client) if not name.startswith("_")} - own
        assert "core_v1" in names
        assert {name for name in names if not hasattr(client, name)} == set()
        for name in names:
            if "_v" in name:
                group, plain = getattr(client._client, name), getattr(client, name)
                assert set(dir(group)) == set(dir(plain))
                assert plain.__class__.__module__.startswith("setpoint.blocking")


def test_groups_without_await_are_the_same_verbs() -> None:
    server = Server(lambda request: echo({**CONFIG_MAP, "items": [CONFIG_MAP]}, request))
    with blocked(server) as client:
        maps = client.core_v1.config_maps("ns")
        assert maps.get("a").data == {"k": "v"}
        assert [result.name for result in maps.list(selector="a=b")] == ["a"]
        assert [page.name for page in maps.pages()] == ["a"]
        maps.create(ConfigMap.named("b"))
        maps.delete("a")
        client.apps_v1.deployments("ns").patch_scale("d", 3)
    assert [(request.method, request.path) for request in server.requests] == [
        ("GET", "/api/v1/namespaces/ns/configmaps/a"),
        ("GET", "/api/v1/namespaces/ns/configmaps"),
        ("GET", "/api/v1/namespaces/ns/configmaps"),
        ("POST", "/api/v1/namespaces/ns/configmaps"),
        ("DELETE", "/api/v1/namespaces/ns/configmaps/a"),
        ("PATCH", "/apis/apps/v1/namespaces/ns/deployments/d/scale"),
    ]


def test_resources_are_found_by_name_without_await() -> None:
    def behave(request: Request) -> Answer:
        if request.path == "/api":
            return answer({"versions": ["v1"]})
        if request.path == "/apis":
            return answer({"groups": []})
        kind = {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": ["get"]}
        return answer({"kind": "APIResourceList", "groupVersion": "v1", "resources": [{**kind, "shortNames": ["po"]}]})

    with blocked(Server(behave)) as client:
        assert client.rest_mapper.resource("po").kind == "Pod"
        assert [resource.plural for resource in client.discovery.resources().resources] == ["pods"]


def test_a_blocking_watch_is_iterated_and_closed() -> None:
    closed = threading.Event()

    async def stream() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b'{"type":"ADDED","object":{"metadata":{"name":"n"}}}\n'
                await asyncio.sleep(0)
        finally:
            closed.set()

    with blocked(Server(lambda request: Answer(body=stream()))) as client:
        with client.watch(Node) as events:
            for event in events:
                assert event.type == "ADDED"
                break
        assert closed.is_set()
        with client.stream("GET", "/x") as response:
            assert next(iter(response.lines())).startswith(b"{")


def test_an_error_of_a_blocking_stream_is_the_callers() -> None:
    with blocked(Server(lambda request: failure(404, "NotFound"))) as client:
        with pytest.raises(NotFound), client.stream("GET", "/x"):
            pass
        with pytest.raises(NotFound):
            next(client.watch(Thing))


def test_a_closed_blocking_client_says_so_and_leaves_no_thread() -> None:
    before = threading.active_count()
    client = blocked(Server(lambda request: echo(CONFIG_MAP, request)))
    client.get(ConfigMap, "a")
    client.close()
    client.close()
    assert threading.active_count() == before
    with pytest.raises((RuntimeError, TransportError), match="closed"):
        client.get(ConfigMap, "a")
