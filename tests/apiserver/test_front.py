"""The HTTP front: streams, disconnects, ends, and ports that are taken."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
from typing import Any

import aiohttp
import pytest
from tests.apiserver.harness import config_map

from setpoint.apiserver import ApiServer, HttpFront, PortTakenError
from setpoint.apiserver.strangers import refusal

MAPS = "/api/v1/namespaces/default/configmaps"


def raw_session(front: HttpFront) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(front.url, auto_decompress=False)


async def until(condition: Any) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - there is nobody who would set an event
            await asyncio.sleep(0)


async def test_objects_go_in_and_out() -> None:
    async with ApiServer() as server, HttpFront(server) as front, aiohttp.ClientSession(front.url) as client:
        async with client.post(MAPS, json=config_map(data={"a": "b"})) as answer:
            assert answer.status == 201
            assert answer.content_type == "application/json"
        async with client.get(f"{MAPS}/web") as answer:
            assert (await answer.json())["data"] == {"a": "b"}
        async with client.get("/apis/none") as answer:
            assert answer.status == 404
            assert await answer.text() == "404 page not found\n"
        async with client.get("/version") as answer:
            assert (await answer.json())["gitVersion"] == "v1.37.0+setpoint"
        for path in ("/healthz", "/readyz", "/livez", "/livez/ping"):
            async with client.get(path) as answer:
                assert (answer.status, await answer.text()) == (200, "ok")
        async with client.get("/readyz?verbose") as answer:
            assert (await answer.text()).endswith("readyz check passed\n")


async def test_selectors_survive_percent_encoding() -> None:
    async with ApiServer() as server, HttpFront(server) as front, aiohttp.ClientSession(front.url) as client:
        await client.post(MAPS, json=config_map(metadata={"labels": {"a": "b"}}))
        async with client.get(MAPS, params={"labelSelector": "a in (b,c),!d", "limit": "5"}) as answer:
            assert len((await answer.json())["items"]) == 1


async def test_watches_stream_and_end_with_their_client() -> None:
    async with ApiServer() as server, HttpFront(server) as front, aiohttp.ClientSession(front.url) as client:
        async with client.get(MAPS, params={"watch": "1"}) as stream:
            await client.post(MAPS, json=config_map())
            assert json.loads(await stream.content.readline())["type"] == "ADDED"
            assert len(server.watches) == 1
            stream.close()
        await until(lambda: not server.watches)


async def test_a_front_that_closes_ends_its_watches_in_an_orderly_way() -> None:
    async with ApiServer() as server, aiohttp.ClientSession() as client:
        async with HttpFront(server) as front:
            stream = await client.get(front.url + MAPS, params={"watch": "1"})
            await until(lambda: server.watches)
        assert await stream.content.read() == b""  # the last chunk came: no broken connection
        assert not server.watches


async def test_a_taken_port_is_named() -> None:
    async with ApiServer() as server, HttpFront(server) as front:
        with pytest.raises(PortTakenError, match=f"port {front.port} of 127.0.0.1 is taken"):
            async with HttpFront(server, port=front.port):
                pass


async def test_bodies_that_are_too_long_are_refused_with_and_without_length() -> None:
    big = b'{"data":"' + b"x" * (4 << 20) + b'"}'

    async def chunks() -> Any:
        for start in range(0, len(big), 1 << 16):
            yield big[start : start + (1 << 16)]

    async with ApiServer() as server, HttpFront(server) as front:
        for body in (io.BytesIO(big), chunks()):
            async with aiohttp.ClientSession(front.url) as client:
                try:
                    async with client.post(MAPS, data=body, headers={"content-type": "application/json"}) as answer:
                        assert answer.status == 413
                        assert (await answer.json())["reason"] == "RequestEntityTooLarge"
                except aiohttp.ClientConnectionError:
                    pass  # answered and hung up before all of it was sent


async def test_long_lists_are_compressed_for_those_who_ask() -> None:
    async with ApiServer() as server, HttpFront(server) as front, raw_session(front) as client:
        for index in range(5):
            await client.post(MAPS, json=config_map(f"m{index}", data={"a": "x" * 50_000}))
        async with client.get(MAPS, headers={"accept-encoding": "gzip"}) as answer:
            assert answer.headers["content-encoding"] == "gzip"
            assert len(json.loads(gzip.decompress(await answer.read()))["items"]) == 5
        async with client.get(MAPS, headers={"accept-encoding": "identity"}) as answer:
            assert "content-encoding" not in answer.headers
            assert len((await answer.json())["items"]) == 5


async def test_the_kubeconfig_leads_here() -> None:
    async with ApiServer() as server, HttpFront(server) as front:
        document = front.kubeconfig("dev")
    assert document["clusters"] == [{"name": "dev", "cluster": {"server": front.url}}]
    assert document["current-context"] == "dev"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 201),
        ({"Host": "localhost:6443"}, 201),
        ({"Host": "[::1]:6443"}, 201),
        ({"Host": "dev.localhost"}, 201),
        ({"Host": "rebound.example.com"}, 403),
        ({"Host": "127.0.0.1.example.com:6443"}, 403),
        ({"Host": "[::1"}, 403),
        ({"Origin": "https://example.com"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:1", "Host": "localhost:6443"}, 403),
        ({"Origin": "http://localhost:6443", "Host": "localhost:6443"}, 201),
    ],
)
async def test_web_pages_have_no_business_with_a_server_on_loopback(headers: dict[str, str], status: int) -> None:
    async with ApiServer() as server, HttpFront(server) as front, aiohttp.ClientSession(front.url) as client:
        body = json.dumps(config_map()).encode()
        async with client.post(MAPS, data=body, headers=headers, skip_auto_headers=["Content-Type"]) as answer:
            assert answer.status == status
            if status == 403:
                assert (await answer.json())["reason"] == "Forbidden"
        async with client.get(MAPS) as answer:
            assert len((await answer.json())["items"]) == (status == 201)


def test_a_server_for_others_answers_by_any_name_and_still_no_web_page() -> None:
    assert refusal("0.0.0.0", "cluster.example.com", None) == ""
    assert "web pages" in refusal("0.0.0.0", "cluster.example.com", "https://example.com")
