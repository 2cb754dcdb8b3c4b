"""Chronos says what changed, once, whatever happens between it and the server."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
import yaml
from tests.tasks import drop, stop

from setpoint.apiserver import ApiServer
from setpoint.apps.chronos import Chronos, Entry
from setpoint.apps.chronos.program import Output, watch
from setpoint.cache import InformerFactory
from setpoint.client import Client, InProcessTransport, Request, Response, Transport, TransportError
from setpoint.meta import ObjectKey
from setpoint.models.core_v1 import Container, Pod, PodSpec
from setpoint.testing import advance, now, virtual_time


class Link:
    """A transport that can be unplugged: what is under way breaks, what is new is refused."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._broken = asyncio.Event()

    @property
    def unplugged(self) -> bool:
        return self._broken.is_set()

    def unplug(self) -> None:
        self._broken.set()

    def plug_in(self) -> None:
        self._broken.clear()

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        return self._exchange(request)

    @asynccontextmanager
    async def _exchange(self, request: Request) -> AsyncIterator[Response]:
        if self.unplugged:
            raise TransportError("connection refused", sent=False)
        async with self._inner.send(request) as response:
            yield _Breakable(response, self._broken)

    async def close(self) -> None:
        await self._inner.close()


class _Breakable(Response):
    def __init__(self, inner: Response, broken: asyncio.Event) -> None:
        self.status = inner.status
        self.headers = inner.headers
        self._inner = inner
        self._broken = broken

    async def chunks(self) -> AsyncIterator[bytes]:
        pieces = self._inner.chunks().__aiter__()
        broken = asyncio.ensure_future(self._broken.wait())
        try:
            while True:
                piece = asyncio.ensure_future(anext(pieces, None))
                try:
                    await asyncio.wait((piece, broken), return_when=asyncio.FIRST_COMPLETED)
                    if broken.done():
                        raise TransportError("connection reset", sent=True, reset=True)
                    got = piece.result()
                finally:
                    await drop(piece)
                if got is None:
                    return
                yield got
        finally:
            await drop(broken)


def pod(name: str, **labels: str) -> Pod:
    spec = PodSpec(containers=[Container(name="main", image="busybox")])
    return Pod.named(name, "default", labels=labels, spec=spec)


class World:
    """A server, a user who changes objects, and Chronos at the other end of a link."""

    def __init__(self, client: Client, link: Link, chronos: Chronos, text: list[str]) -> None:
        self.client = client
        self.link = link
        self.chronos = chronos
        self.said = text

    async def hears(self) -> list[str]:
        """The lines that Chronos has printed since the last call, once nothing happens any more."""
        await advance(1)
        answer, self.said[:] = list(self.said), []
        return answer


@asynccontextmanager
async def world(*pods: Pod, failures: int = 0, dropped: list[str] | None = None) -> AsyncIterator[World]:
    messages: list[str] = []
    left = failures

    async def sink(entry: Entry) -> None:
        nonlocal left
        if left:
            left -= 1
            raise OSError("disk full")
        messages.append(f"{entry.event} {entry.key}")

    def drop(key: ObjectKey, problem: Exception) -> None:
        assert dropped is not None
        dropped.append(f"{key}: {problem}")

    async with ApiServer(now=now) as server, Client(InProcessTransport(server.handle)) as somebody:
        for item in pods:
            await somebody.create(item)
        link = Link(InProcessTransport(server.handle))
        async with Client(link) as client, InformerFactory(client) as factory:
            chronos = Chronos(factory.informer(Pod), sink, on_drop=drop, now=now)
            task = asyncio.create_task(chronos.run())
            await factory.wait_for_cache_sync()
            try:
                yield World(somebody, link, chronos, messages)
            finally:
                await stop(task)


@virtual_time
async def test_what_is_there_is_logged_then_each_change_once() -> None:
    async with world(pod("a"), pod("b")) as w:
        assert sorted(await w.hears()) == ["create default/a", "create default/b"]
        await w.client.create(pod("c"))
        assert await w.hears() == ["create default/c"]
        changed = await w.client.get(Pod, "a")
        changed.labels["seen"] = "yes"
        await w.client.update(changed)
        assert await w.hears() == ["update default/a"]
        await w.client.delete(Pod, "b")
        assert await w.hears() == ["delete default/b"]


@virtual_time
async def test_after_an_outage_only_what_changed_is_said() -> None:
    async with world(pod("stays"), pod("goes"), pod("changes"), pod("is-replaced")) as w:
        await w.hears()
        w.link.unplug()
        await advance(60)
        await w.client.delete(Pod, "goes")
        await w.client.apply(pod("changes", seen="yes"))
        await w.client.delete(Pod, "is-replaced")
        await w.client.create(pod("is-replaced"))
        await w.client.create(pod("comes"))
        assert await w.hears() == []
        w.link.plug_in()
        await advance(120)
        assert sorted(await w.hears()) == [
            "create default/comes",
            "create default/is-replaced",
            "delete default/goes",
            "delete default/is-replaced",
            "update default/changes",
        ]


@virtual_time
async def test_a_line_that_could_not_be_written_is_tried_again() -> None:
    async with world(pod("a"), failures=5) as w:
        assert await w.hears() == ["create default/a"]


@virtual_time
async def test_after_five_retries_a_key_is_dropped_until_it_changes() -> None:
    dropped: list[str] = []
    async with world(pod("a"), failures=6, dropped=dropped) as w:
        assert await w.hears() == []
        assert dropped == ["default/a: disk full"]
        await w.client.apply(pod("a", seen="yes"))
        assert await w.hears() == ["create default/a"]


async def printed(output: Output, *, delete: bool = False) -> str:
    """The output of Chronos with a selector, about two pods of which one matches."""
    stream = io.StringIO()
    async with ApiServer(now=now) as server, Client(InProcessTransport(server.handle)) as client:
        await client.create(pod("a", app="web"))
        await client.create(pod("b", app="db"))
        task = asyncio.create_task(watch(client, stream, output=output, selector="app=web"))
        await advance(1)
        if delete:
            await client.delete(Pod, "a")
            await advance(1)
        await stop(task)
    return stream.getvalue()


@virtual_time
async def test_json_is_one_object_a_line_with_the_whole_pod() -> None:
    create, delete = map(json.loads, (await printed("json", delete=True)).splitlines())
    assert (create["event"], create["key"], create["kind"]) == ("create", "default/a", "Pod")
    assert {"phase", "node", "restarts", "ready", "time"} <= set(create)
    assert (create["object"]["apiVersion"], create["object"]["kind"]) == ("v1", "Pod")
    assert create["object"]["metadata"]["uid"] == create["uid"]
    assert create["object"]["spec"]["containers"][0]["image"] == "busybox"
    assert (delete["event"], delete["key"], delete["object"]) == ("delete", "default/a", None)


@virtual_time
async def test_yaml_is_a_document_for_each_change_that_kubectl_could_apply() -> None:
    text = await printed("yaml", delete=True)
    created, deleted = yaml.safe_load_all(text)
    assert (created["apiVersion"], created["kind"], created["metadata"]["name"]) == ("v1", "Pod", "a")
    assert created["spec"]["containers"][0]["image"] == "busybox"
    assert deleted is None
    comments = [line.split()[2:4] for line in text.splitlines() if line.startswith("# ")]
    assert comments == [["create", "default/a"], ["delete", "default/a"]]


@virtual_time
async def test_a_server_that_is_not_there_ends_it_with_a_reason() -> None:
    async with ApiServer() as server:
        link = Link(InProcessTransport(server.handle))
        link.unplug()
        async with Client(link) as client:
            with pytest.raises(TransportError, match="connection refused"):
                await watch(client, io.StringIO())
