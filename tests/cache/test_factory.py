"""The factory: sharing, syncing, failing fast, stopping; barriers; metrics."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from setpoint.apiserver import ApiServer
from setpoint.apiserver.http_types import IncomingRequest, Request, Response
from setpoint.cache import CacheSyncError, InformerFactory, InformerMetrics, InformerStopped, WatchOptions
from setpoint.cache.factory import WriteObserver, WriteRecord
from setpoint.client import Client, InProcessTransport
from setpoint.client.errors import Forbidden, NotFound
from setpoint.meta import Model, ObjectKey, Resource
from setpoint.models.core_v1 import Container, Node, Pod, PodSpec
from setpoint.testing import advance, virtual_time, wait_all_tasks_blocked

from .fakes import FakeServer, ScriptedSource, pod_list, refusal, refused


def make(server: Any, **options: Any) -> InformerFactory:
    return InformerFactory(server, random=Random(1), **options)


ORDINARY = WatchOptions(streaming_lists=False)
"""Lists are not streamed."""


@virtual_time
async def test_one_stream_for_any_number_of_consumers_and_shapes() -> None:
    server = FakeServer()
    async with make(server) as factory:
        first, second = factory.informer(Pod), factory.informer(Pod)
        await factory.wait_for_cache_sync()
        assert first.store is second.store
        assert len(server.requests) == 1
        other = factory.informer(Pod, namespace="default")
        third = factory.informer(Pod, selector="app=web")
        await factory.wait_for_cache_sync()
        assert len({id(item.store) for item in (first, other, third)}) == 3
        assert len(server.requests) == 3
        assert server.requests[1].path == "/api/v1/namespaces/default/pods"
        assert server.requests[2].query["labelSelector"] == "app=web"


@virtual_time
async def test_selectors_and_namespace_of_the_factory_hold_for_its_informers() -> None:
    source = ScriptedSource()
    async with make(source, namespace="prod", selector={"app": "web"}) as factory:
        factory.informer(Pod, field_selector="spec.nodeName=n1")
        factory.informer(Node)
        factory.informer(Pod, namespace="")
        await wait_all_tasks_blocked()
    pods, nodes, everywhere = source.requests
    assert (pods.path, pods.query["labelSelector"]) == ("/api/v1/namespaces/prod/pods", "app=web")
    assert pods.query["fieldSelector"] == "spec.nodeName=n1"
    assert nodes.path == "/api/v1/nodes"
    assert everywhere.path == "/api/v1/pods"


@virtual_time
async def test_a_star_that_stands_for_all_namespaces_elsewhere_is_refused() -> None:
    async with make(ScriptedSource()) as factory:
        with pytest.raises(ValueError, match='informer of Pod: namespace="\\*" watches nothing; all namespaces are ""'):
            factory.informer(Pod, namespace="*")


@virtual_time
async def test_an_informer_starts_when_the_factory_is_entered_and_nothing_outlives_it() -> None:
    server = FakeServer()
    factory = make(server)
    pods = factory.informer(Pod)
    calls: list[str] = []
    pods.add_event_handler(on_add=lambda head, initial: calls.append(head.name))
    pods.add_index("name", lambda head: [head.name])
    server.put("a")
    await wait_all_tasks_blocked()
    assert server.requests == []
    async with factory:
        await factory.wait_for_cache_sync()
        assert calls == ["a"]
        assert [item.name for item in pods.lister.list(index=("name", "a"))] == ["a"]
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert server.watchers == []


@virtual_time
async def test_leaving_the_factory_by_an_exception_or_cancellation_ends_everything_too() -> None:
    server = FakeServer()

    async def body() -> None:
        async with make(server) as factory:
            factory.informer(Pod)
            await asyncio.sleep(1000)

    task = asyncio.create_task(body())
    await advance(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert server.watchers == []


@virtual_time
async def test_an_error_of_the_body_is_raised_as_it_is() -> None:
    async def body() -> None:
        async with make(FakeServer()) as factory:
            factory.informer(Pod)
            await factory.wait_for_cache_sync()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await body()


@virtual_time
async def test_an_informer_that_nobody_uses_any_more_stops() -> None:
    server = FakeServer()
    async with make(server) as factory:
        calls: list[str] = []
        first = factory.informer(Pod)
        async with factory.informer(Pod) as second:
            second.add_event_handler(on_add=lambda head, initial: calls.append(head.name))
            await factory.wait_for_cache_sync()
            server.put("a")
            await wait_all_tasks_blocked()
        server.put("b")
        await wait_all_tasks_blocked()
        assert calls == ["a"], "a closed handle's handlers are gone"
        assert len(server.watchers) == 1
        with pytest.raises(InformerStopped):
            second.add_event_handler()
        await first.close()
        await first.close()
        assert server.watchers == []
        assert factory.informers == []
        again = factory.informer(Pod)
        await factory.wait_for_cache_sync()
        assert len(again.lister) == 2
        assert again.store is not first.store


@virtual_time
async def test_a_refusal_fails_fast_with_the_servers_last_answer() -> None:
    source = ScriptedSource(*[refusal(403, "Forbidden", "user x cannot list pods")] * 20)
    async with make(source, watch_options=ORDINARY) as factory:
        factory.informer(Pod)
        with pytest.raises(CacheSyncError, match="user x cannot list pods") as caught:
            await factory.wait_for_cache_sync()
        assert isinstance(caught.value.__cause__, Forbidden)
        assert isinstance(caught.value.last_error, Forbidden)
        assert caught.value.resource is Pod.resource
        assert asyncio.get_running_loop().time() < 5


@virtual_time
async def test_a_server_that_never_answers_fails_at_the_deadline_and_names_what_is_missing() -> None:
    source = ScriptedSource(*[refused()] * 1000)
    async with make(source, watch_options=ORDINARY) as factory:
        factory.informer(Pod, namespace="prod", selector="app=web")
        with pytest.raises(CacheSyncError, match=r"20 s: pods in namespace prod where app=web: connection refused"):
            await factory.wait_for_cache_sync(20)
        assert asyncio.get_running_loop().time() == pytest.approx(20)
    async with make(ScriptedSource(), watch_options=ORDINARY, sync_timeout=7) as factory:
        factory.informer(Pod)
        with pytest.raises(CacheSyncError, match="7 s: pods: no answer yet"):
            await factory.wait_for_cache_sync()


@virtual_time
async def test_a_resource_that_appears_and_disappears_is_followed() -> None:
    server = FakeServer(streams_lists=False)
    server.gate = [refusal(404, "NotFound"), refusal(404, "NotFound")]
    server.put("a")
    async with make(server, watch_options=ORDINARY) as factory:
        pods = factory.informer(Pod)
        await wait_all_tasks_blocked()
        assert isinstance(pods.last_error, NotFound)
        await factory.wait_for_cache_sync()
        assert len(pods.lister) == 1
        assert pods.last_error is None
        server.drop_watches()
        server.gate = [refusal(404, "NotFound")] * 4
        await wait_all_tasks_blocked()
        assert len(pods.lister) == 1, "what was known is kept while the server can't say"
        server.delete("a")
        server.put("b")
        await advance(200)
        assert pods.lister.keys() == ["default/b"]


@virtual_time
async def test_waiting_for_sync_waits_for_the_handlers_too() -> None:
    server, answer = FakeServer(), []
    for number in range(5):
        server.put(f"p{number}")

    async def slow(head: Any, initial: bool) -> None:
        await asyncio.sleep(1)
        answer.append(head.name)

    async with make(server) as factory:
        factory.informer(Pod).add_event_handler(on_add=slow, name="slow one")
        with pytest.raises(CacheSyncError, match=r"slow one: \d waiting"):
            await factory.wait_for_cache_sync(2.5)
        await factory.wait_for_cache_sync()
        assert len(answer) == 5


class Phase(Model):
    phase: str = ""


class PodPhase(Model):
    status: Phase


@virtual_time
async def test_leaner_stores_are_asked_for_by_scope() -> None:
    server = FakeServer()
    server.put("a", phase="Pending")

    def shorten(document: dict[str, Any]) -> dict[str, Any]:
        document["spec"] = {"containers": []}
        return document

    async with make(server) as factory:
        full = factory.informer(Pod)
        heads = factory.informer(Pod, metadata_only=True)
        phases = factory.informer(Pod, projection=PodPhase)
        short = factory.informer(Pod, transform=shorten)
        seen: list[str] = []
        short.add_event_handler(
            on_add=lambda head, initial: seen.append(short.lister.get(head.key).spec.node_name or "")
        )
        await factory.wait_for_cache_sync()
        assert full.lister.get("default/a").spec.node_name == "node-1"
        assert heads.lister.head("default/a") is not None
        assert b"spec" not in (heads.store.get("default/a") or b"")
        assert phases.lister.get("default/a", as_=PodPhase).status.phase == "Pending"
        assert seen == [""]
        accepts = {request.accept for request in server.requests}
        drop = ";drop=metadata.managedFields"
        json, partial = "application/json", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
        assert {f"{partial}{drop},{partial},{json}", f"{json}{drop},{json}"} < accepts
        assert json in accepts  # a transform may read managedFields


class StrictServer(ApiServer):
    """A server that refuses media types with parameters, as RFC 9110 (12.5.1) lets it."""

    async def handle(self, request: IncomingRequest) -> Response:
        types = request.headers.get("accept", "*/*").split(",")
        if request.path.startswith("/api/v1/pods") and "application/json" not in types:
            body = b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotAcceptable","code":406}'
            return Response(406, {"content-type": "application/json"}, body)
        headers = {**request.headers, "accept": "application/json"}
        return await super().handle(Request(request.method, request.path, request.query, headers, request.body))


@virtual_time
async def test_a_server_that_refuses_the_parameter_sends_whole_objects() -> None:
    async with StrictServer() as api, Client(InProcessTransport(api.handle)) as client:
        await client.create(Pod.named("a", "default", spec=PodSpec(containers=[Container(name="c", image="i")])))
        async with InformerFactory(client) as factory:
            whole, heads = factory.informer(Pod), factory.informer(Pod, metadata_only=True)
            await factory.wait_for_cache_sync()
            assert whole.lister.keys() == heads.lister.keys() == ["default/a"]


@virtual_time
async def test_a_read_of_one_moment_while_the_store_goes_on() -> None:
    server = FakeServer()
    server.put("a")
    async with make(server) as factory:
        pods = factory.informer(Pod)
        await factory.wait_for_cache_sync()
        with pods.snapshot() as snapshot:
            server.delete("a")
            server.put("b")
            await wait_all_tasks_blocked()
            assert pods.lister_of(snapshot).keys() == ["default/a"]
            assert pods.lister.keys() == ["default/b"]


# -- barriers --------------------------------------------------------------------------------------------------------


class WritingServer(FakeServer):
    """A server whose client tells of its writes, as the real client does, and whose watches can be held back."""

    def __init__(self) -> None:
        super().__init__()
        self.observers: list[WriteObserver] = []
        self.held: list[Any] | None = None

    def on_write(self, observer: WriteObserver) -> Any:
        self.observers.append(observer)
        return lambda: self.observers.remove(observer)

    def wrote(self, document: Any, verb: Any = "update", *, version: str | None = None) -> None:
        metadata = document["metadata"]
        key = ObjectKey.of(metadata["namespace"], metadata["name"])
        shown = metadata["resourceVersion"] if version is None else version
        for observer in self.observers:
            observer(WriteRecord(Pod.resource, key, metadata["uid"], shown, verb))

    def _emit(self, type: str, document: Any) -> None:
        if self.held is None:
            super()._emit(type, document)
        else:
            self.held.append((type, document))

    def release(self) -> None:
        held, self.held = self.held or [], None
        for type, document in held:
            self._emit(type, document)


@virtual_time
async def test_a_write_is_awaited_until_the_cache_has_it() -> None:
    server = WritingServer()
    async with make(server) as factory:
        pods = factory.informer(Pod)
        await factory.wait_for_cache_sync()
        server.held = []
        result = server.put("a")
        server.wrote(result, "create")
        waits = [
            asyncio.create_task(factory.caught_up(Pod, "default/a")),
            asyncio.create_task(factory.observed(Pod, "default/a", result["metadata"]["resourceVersion"])),
            asyncio.create_task(pods.observed("default/a", result["metadata"]["resourceVersion"], timeout=None)),
        ]
        await advance(3)
        assert not any(wait.done() for wait in waits)
        server.release()
        await wait_all_tasks_blocked()
        assert [wait.result() for wait in waits] == [True] * 3
        assert "default/a" in pods.lister
        assert await factory.caught_up(Pod, "default/a"), "nothing is waited for any more"


@virtual_time
async def test_a_write_that_does_not_come_is_given_up_at_the_deadline() -> None:
    server = WritingServer()
    async with make(server) as factory:
        factory.informer(Pod)
        await factory.wait_for_cache_sync()
        server.held = []
        server.wrote(server.put("a"))
        started = asyncio.get_running_loop().time()
        assert not await factory.caught_up(Pod, "default/a", timeout=10)
        assert asyncio.get_running_loop().time() == started + 10
        assert await factory.caught_up(Pod, "default/a"), "given up means given up"


@virtual_time
async def test_a_bookmark_or_any_later_event_shows_that_a_write_has_been_seen() -> None:
    server = WritingServer()
    async with make(server) as factory:
        factory.informer(Pod, selector="app=web")
        await factory.wait_for_cache_sync()
        server.held = []
        server.wrote(server.put("not-selected"))
        wait = asyncio.create_task(factory.caught_up(Pod, "default/not-selected", timeout=None))
        await advance(5)
        assert not wait.done()
        server.bookmark_all()
        await wait_all_tasks_blocked()
        assert wait.result()


@virtual_time
async def test_deletions_are_awaited_by_version_or_by_absence() -> None:
    server = WritingServer()
    async with make(server) as factory:
        factory.informer(Pod)
        doomed, finalized = server.put("a"), server.put("b")
        await factory.wait_for_cache_sync()
        server.held = []
        server.delete("a")
        server.wrote(doomed, "delete", version="")
        wait = asyncio.create_task(factory.caught_up(Pod, "default/a", timeout=None))
        server.put("b", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
        going = asyncio.create_task(
            factory.observed(Pod, "default/b", uid=finalized["metadata"]["uid"], deleted=True, timeout=None)
        )
        await wait_all_tasks_blocked()
        assert not wait.done()
        assert not going.done()
        server.release()
        await wait_all_tasks_blocked()
        assert wait.result()
        assert going.result()


@virtual_time
async def test_what_nobody_follows_counts_as_observed_and_a_stopped_cache_does_not() -> None:
    server = WritingServer()
    async with make(server) as factory:
        assert await factory.observed(Pod, "default/a", "100")
        factory.informer(Pod, namespace="other")
        await factory.wait_for_cache_sync()
        assert await factory.observed(Pod, "default/a", "100")
        handle = factory.informer(Pod)
        await factory.wait_for_cache_sync()
        wait = asyncio.create_task(factory.observed(Pod, "default/a", "100", timeout=None))
        await wait_all_tasks_blocked()
        await handle.close()
        await wait_all_tasks_blocked()
        assert wait.result() is False
    assert server.observers == []


@virtual_time
async def test_versions_that_are_no_numbers_are_seen_by_equality() -> None:
    source = ScriptedSource(
        pod_list([{"metadata": {"name": "a", "namespace": "default", "resourceVersion": "x7"}}], "x9")
    )
    async with make(source, watch_options=ORDINARY) as factory:
        factory.informer(Pod)
        await factory.wait_for_cache_sync()
        assert await factory.observed(Pod, "default/a", "x7")
        assert not await factory.observed(Pod, "default/a", "x8", timeout=1)


# -- metrics ---------------------------------------------------------------------------------------------------------


@virtual_time
async def test_metrics_have_the_names_that_the_field_uses() -> None:
    server, registry = FakeServer(), CollectorRegistry()
    metrics = InformerMetrics("mine")
    registry.register(metrics)
    server.put("a")
    async with make(server, metrics=metrics) as factory:
        pods = factory.informer(Pod)
        pods.add_event_handler(on_add=lambda head, initial: 1 / 0, name="bad")
        await factory.wait_for_cache_sync()
        server.put("b")
        server.delete("b")
        await advance(7)
        labels = {"name": "mine", "group": "", "version": "v1", "resource": "pods"}

        def value(name: str, **more: str) -> float | None:
            return registry.get_sample_value(name, {**labels, **more})

        assert value("informer_store_resource_version") == server.version
        assert value("reflector_last_resource_version") == server.version
        assert value("informer_queued_items") == 0
        assert value("informer_objects") == 1
        assert value("informer_synced") == 1
        assert value("informer_raw_bytes") == pods.store.raw_bytes
        assert value("informer_stored_bytes") == pods.store.stored_bytes
        assert value("informer_events_total", type="ADDED") == 1
        assert value("informer_events_total", type="DELETED") == 1
        assert value("informer_handler_failures_total", handler="bad") == 2
        assert value("reflector_streamed_lists_total") == 1
        assert value("reflector_watches_total") == 1
        assert value("reflector_items_per_list_sum") == 1
        assert value("reflector_last_byte_age_seconds") == 7
        server.forget()
        server.gate = [refusal(410, "Expired")]
        await advance(5)
        assert value("reflector_relists_total", reason="expired") == 1
        assert value("reflector_watch_ends_total", reason="closed") == 1


def test_resources_can_be_named_without_a_class() -> None:
    assert isinstance(Pod.resource, Resource)


# -- waiting for what does not come ----------------------------------------------------------------------------------


@virtual_time
async def test_who_waits_for_a_handler_that_is_removed_learns_it() -> None:
    async with make(ScriptedSource()) as factory:
        registration = factory.informer(Pod).add_event_handler(on_add=lambda head, initial: None, name="mine")
        waiting = asyncio.create_task(registration.wait_synced())
        syncing = asyncio.create_task(factory.wait_for_cache_sync(5))
        await wait_all_tasks_blocked()
        await registration.remove()
        with pytest.raises(InformerStopped, match="handler mine was removed before"):
            await waiting
        with pytest.raises(InformerStopped):
            await registration.wait_synced()
        with pytest.raises(CacheSyncError):
            await syncing


@pytest.mark.parametrize("begun", [True, False])
@virtual_time
async def test_who_waits_for_an_informer_that_is_closed_learns_it(begun: bool) -> None:
    async with make(ScriptedSource()) as factory:
        informer = factory.informer(Pod)
        registration = informer.add_event_handler(on_add=lambda head, initial: None)
        if begun:
            await wait_all_tasks_blocked()
        tasks = [asyncio.create_task(informer.wait_synced()), asyncio.create_task(registration.wait_synced())]
        await asyncio.sleep(0)
        await informer.close()
        await asyncio.wait(tasks)
        assert [type(task.exception()) for task in tasks] == [InformerStopped] * 2


@virtual_time
async def test_a_handler_that_was_removed_after_it_had_synced_has_synced() -> None:
    async with make(FakeServer()) as factory:
        registration = factory.informer(Pod).add_event_handler(on_add=lambda head, initial: None)
        await factory.wait_for_cache_sync()
        await registration.remove()
        await registration.wait_synced()
        assert registration.has_synced
