"""The watches of a program under torture, in every format in which a program may ask for them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.apiserver.harness import MAPS, Api, config_map, serving

from setpoint.apiserver.http_types import HungUp, Request, Response
from setpoint.simulation.injection.watch_stream import WatchGate
from setpoint.testing import virtual_time, wait_all_tasks_blocked
from setpoint.torture.watch_formats import Format
from setpoint.torture.watches import GatedWatch

PROTOBUF = "application/vnd.kubernetes.protobuf"
META_ONLY = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
FORMATS = [
    "application/json",
    f"{PROTOBUF},application/json",
    f"{PROTOBUF};stream=watch",
    f"application/json{META_ONLY}",
    f"{PROTOBUF}{META_ONLY},application/json{META_ONLY}",
]
formats = pytest.mark.parametrize("accept", FORMATS)


class Reader:
    """A program that watches config maps."""

    def __init__(self, gate: WatchGate) -> None:
        self.gate = gate
        self.shown: list[str] = []

    async def watch(self, api: Api, accept: str, **query: str) -> None:
        pairs = (("watch", "1"), *query.items())
        answer = await api.server.handle(Request("GET", MAPS, pairs, {"accept": accept}))
        self.format = Format.of(answer.headers["content-type"])
        self.body = GatedWatch(
            self.gate, "configmaps", answer, initial="sendInitialEvents" in query, on_event=self.shown.append
        )

    async def read(self) -> list[str]:
        """The types and names of the events that have arrived."""
        await wait_all_tasks_blocked()
        parts = self.format.split(await anext(self.body))
        return [f"{part.type} {part.head.metadata.name}".rstrip() for part in parts]


@formats
@virtual_time
async def test_a_shut_gate_holds_changes_back_and_an_open_one_delivers_them(accept: str) -> None:
    gate = WatchGate()
    reader = Reader(gate)
    async with serving() as api:
        await reader.watch(api, accept, resourceVersion=str(api.revision))
        await api.post(MAPS, config_map("a"))
        assert await reader.read() == ["ADDED a"]
        gate.shut(api.revision + 1)
        await api.patch(f"{MAPS}/a", {"data": {"x": "y"}})
        await api.delete(f"{MAPS}/a")
        await wait_all_tasks_blocked()
        assert len(reader.body.delayed) == 2
        assert reader.shown == ["ADDED configmaps default/a"]
        gate.open()
        assert await reader.read() == ["MODIFIED a", "DELETED a"]
        assert reader.shown[1:] == ["MODIFIED configmaps default/a", "DELETED configmaps default/a"]
        await reader.body.aclose()
    assert not gate.streams


@formats
@virtual_time
async def test_changes_that_were_squashed_end_the_watch_with_410(accept: str) -> None:
    gate = WatchGate()
    reader = Reader(gate)
    async with serving() as api:
        await reader.watch(api, accept, resourceVersion=str(api.revision))
        gate.shut(api.revision + 1)
        await api.post(MAPS, config_map("a"))
        await wait_all_tasks_blocked()
        gate.open(expired=True)
        assert await reader.read() == ["ERROR"]
        with pytest.raises(StopAsyncIteration):
            await anext(reader.body)
        await reader.body.aclose()


@formats
@virtual_time
async def test_the_initial_list_passes_a_shut_gate_up_to_its_bookmark(accept: str) -> None:
    gate = WatchGate()
    reader = Reader(gate)
    async with serving() as api:
        await api.post(MAPS, config_map("a"))
        gate.shut(1)
        await reader.watch(
            api,
            accept,
            sendInitialEvents="true",
            allowWatchBookmarks="true",
            resourceVersionMatch="NotOlderThan",
        )
        assert await reader.read() == ["ADDED a", "BOOKMARK"]
        await api.post(MAPS, config_map("b"))
        await wait_all_tasks_blocked()
        assert len(reader.body.delayed) == 1
        await reader.body.aclose()


@formats
@virtual_time
async def test_a_broken_connection_loses_what_is_in_transit(accept: str) -> None:
    reader = Reader(WatchGate())
    async with serving() as api:
        await reader.watch(api, accept, resourceVersion=str(api.revision))
        await api.post(MAPS, config_map("a"))
        await wait_all_tasks_blocked()
        reader.body.hang_up()
        with pytest.raises(HungUp):
            await anext(reader.body)
        await reader.body.aclose()


@virtual_time
async def test_a_stream_that_is_not_a_watch_raises_instead_of_ending() -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b"\x00\x00\x00\x02\x0a\x09"

    held = GatedWatch(
        WatchGate(), "pods", Response(200, {"content-type": PROTOBUF}, body()), initial=False, on_event=print
    )
    with pytest.raises(ValueError, match="unexpected EOF"):
        await anext(held)
    with pytest.raises(ValueError, match="unexpected EOF"):
        await held.aclose()
