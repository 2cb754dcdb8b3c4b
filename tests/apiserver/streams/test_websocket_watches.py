"""Watches and logs over WebSockets, as fabric8 and other clients ask for them."""

from __future__ import annotations

import asyncio
import json

import aiohttp
import pytest
from tests.apiserver.harness import MAPS, Api, config_map

from setpoint.apiserver import ApiServer, HttpFront

WATCH = f"{MAPS}?watch=true&resourceVersion=0"


async def test_each_event_of_a_watch_is_a_message() -> None:
    async with ApiServer() as server, HttpFront(server) as front, aiohttp.ClientSession() as session:
        api = Api(server)
        (await api.post(MAPS, config_map("a"))).ok()
        async with session.ws_connect(f"{front.url}{WATCH}") as socket:
            first = json.loads(await socket.receive_str())
            assert (first["type"], first["object"]["metadata"]["name"]) == ("ADDED", "a")
            for name in ("b", "c"):
                (await api.post(MAPS, config_map(name))).ok()
            names = [json.loads(await socket.receive_str())["object"]["metadata"]["name"] for _ in range(2)]
            assert names == ["b", "c"]
            assert len(server.watches) == 1
        while server.watches:  # noqa: ASYNC110 - until the server has seen that the client is gone
            await asyncio.sleep(0)


async def test_protobuf_comes_in_binary_messages_without_lengths() -> None:
    kind = "application/vnd.kubernetes.protobuf"
    async with ApiServer() as server, HttpFront(server) as front, aiohttp.ClientSession() as session:
        (await Api(server).post(MAPS, config_map("a"))).ok()
        headers = {"accept": f"{kind};stream=watch"}
        async with session.ws_connect(f"{front.url}{WATCH}", headers=headers) as socket:
            message = await socket.receive_bytes()
    assert b"ADDED" in message[:16]
    assert not message.startswith(len(message[4:]).to_bytes(4, "big"))


async def test_the_end_of_the_server_ends_the_socket() -> None:
    async with ApiServer() as server, aiohttp.ClientSession() as session:
        async with HttpFront(server) as front:
            socket = await session.ws_connect(f"{front.url}{WATCH}")
            server.drain()
            assert (await socket.receive()).type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSING)
        await socket.close()


async def test_a_refusal_is_an_answer_of_http() -> None:
    async with ApiServer() as server, HttpFront(server) as front, aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(f"{front.url}/apis/nope/v1/things?watch=true")
    assert refused.value.status == 404
