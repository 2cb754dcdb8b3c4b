"""Pages of a process beyond health and metrics: profiles, and the users that may read them."""

from __future__ import annotations

import asyncio
import io
import json
import marshal
import pstats
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from tests.tasks import stop

import setpoint as sp
from setpoint.apiserver import ApiServer
from setpoint.client import Client, InProcessTransport
from setpoint.manager import Manager, Serving, http_server
from setpoint.manager.debug_pages.profiling import Profiler, speedscope
from setpoint.models.core_v1 import ConfigMap

from .test_secure_metrics import Judge, bearer


def spin_for_a_profile(seconds: float) -> int:
    loop = asyncio.get_running_loop()
    until, count = loop.time() + seconds, 0
    while loop.time() < until:
        count += 1
    return count


async def busy_task() -> None:
    while True:
        spin_for_a_profile(0.02)
        await asyncio.sleep(0)


@asynccontextmanager
async def busy() -> AsyncIterator[None]:
    task = asyncio.create_task(busy_task(), name="the busy one")
    try:
        yield
    finally:
        await stop(task)


async def get(path: str, **query: str) -> Any:
    return await Profiler().answer(path, {name: [value] for name, value in query.items()}, {})


async def test_where_the_time_goes_in_three_forms() -> None:
    async with busy():
        result = await get("cpu", seconds="0.3")
        assert result.status == 200
        lines = result.body.decode().splitlines()
        stack, _, count = next(line for line in lines if "spin_for_a_profile" in line).rpartition(" ")
        assert int(count) > 0
        frames = stack.split(";")
        assert frames[0] == "MainThread"
        assert frames.index(next(f for f in frames if f.endswith(".busy_task"))) < len(frames) - 1, "outermost first"

        result = await get("cpu", seconds="0.3", format="speedscope")
        document = json.loads(result.body)
        (profile,) = document["profiles"]
        assert sum(profile["weights"]) == profile["endValue"]
        assert any("spin_for_a_profile" in frame["name"] for frame in document["shared"]["frames"])

        result = await get("cpu", seconds="0.3", format="pstats")
        assert marshal.loads(result.body)
        out = io.StringIO()
        stats: Any = pstats.Stats(_Loaded(marshal.loads(result.body)), stream=out)  # type: ignore[arg-type]
        stats.print_stats("spin_for_a_profile")
        assert "spin_for_a_profile" in out.getvalue()


class _Loaded:
    """An object that `pstats.Stats` accepts as a profile."""

    def __init__(self, stats: Any) -> None:
        self.stats = stats

    def create_stats(self) -> None:
        """There already."""


async def test_where_the_memory_comes_from() -> None:
    kept: list[bytes] = []

    async def keep() -> None:
        while True:
            kept.append(bytes(100_000))
            await asyncio.sleep(0.01)

    task = asyncio.create_task(keep())
    try:
        text = (await get("heap", seconds="0.2")).body.decode()
        assert "were allocated in 0.2 s and have not been freed" in text
        biggest = text.splitlines()[2]
        assert biggest.split()[2].startswith(f"{__file__}:")
        assert int(biggest.split()[0]) >= 100_000
        collapsed = (await get("heap", seconds="0.1", format="collapsed")).body.decode()
        assert any(__file__ in line and int(line.split()[-1]) >= 100_000 for line in collapsed.splitlines())
    finally:
        await stop(task)


async def test_what_every_task_waits_for() -> None:
    async def inner() -> None:
        await asyncio.Event().wait()

    async def outer() -> None:
        await inner()

    tasks = [asyncio.create_task(outer(), name=f"waiter {number}") for number in range(3)]
    await asyncio.sleep(0)
    text = (await get("tasks")).body.decode()
    await stop(*tasks)
    _, _, rest = text.partition("3 at: waiter 0, waiter 1, waiter 2\n")
    places = [line.strip() for line in rest.splitlines()[:3]]
    assert [place.rpartition(":")[0].rpartition(".")[2] for place in places] == ["outer", "inner", "wait"]
    assert "thread MainThread" in text


async def test_profiles_are_limited_and_mistakes_are_named() -> None:
    profiler = Profiler()
    first = asyncio.create_task(profiler.answer("cpu", {"seconds": ["0.3"]}, {}))
    await asyncio.sleep(0)
    assert (await profiler.answer("heap", {}, {})).status == 409
    assert (await first).status == 200
    assert (await get("cpu", seconds="3600")).body == b"seconds=3600: it must be more than 0 and at most 120\n"
    assert (await get("cpu", seconds="nan")).status == 400
    assert (await get("cpu", format="svg")).body == b"format=svg: available: collapsed, speedscope, pstats\n"
    result = await get("goroutine")
    assert (result.status, result.body) == (
        404,
        b"available: /debug/profile/cpu, /debug/profile/heap, /debug/profile/tasks\n",
    )


def test_an_empty_profile_is_a_profile() -> None:
    assert speedscope(Counter())["profiles"][0]["samples"] == []


async def test_profiling_is_off_unless_asked_for() -> None:
    async with ApiServer() as server, aiohttp.ClientSession() as session:
        for request in (False, True):
            client = Client(InProcessTransport(server.handle))
            async with Manager(
                client, serving=Serving(metrics_bind_address="127.0.0.1:0", profiling=request)
            ) as manager:
                assert manager.metrics_server is not None
                url = f"http://127.0.0.1:{manager.metrics_server.port}/debug/profile/tasks"
                async with session.get(url) as answer:
                    assert answer.status == (200 if request else 404)
                    assert ("not found" in await answer.text()) is not request
        with pytest.raises(ValueError, match="give metrics_bind_address too"):
            Manager(client, serving=Serving(profiling=True))


async def test_beyond_the_loopback_debug_pages_are_for_those_who_may_read_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As secure metrics are, by the same reviews; plain metrics stay open, as scrapers expect."""
    far = "127.0.0.2"  # stands for another machine
    is_loopback = http_server.is_loopback
    monkeypatch.setattr(http_server, "is_loopback", lambda address: address != far and is_loopback(address))

    async def nothing(obj: ConfigMap, ctx: sp.Context) -> None:
        """Nothing to do."""

    async with (
        ApiServer() as server,
        aiohttp.ClientSession() as near_session,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(local_addr=(far, 0))) as far_session,
    ):
        judge = Judge(InProcessTransport(server.handle))
        controller = sp.Controller(ConfigMap, nothing)
        manager = Manager(
            Client(judge), controllers=[controller], serving=Serving(metrics_bind_address="127.0.0.1:0", profiling=True)
        )
        async with manager:
            assert manager.metrics_server is not None
            port = manager.metrics_server.port

            async def status(session: aiohttp.ClientSession, path: str, token: str = "") -> int:
                headers = bearer(token) if token else {}
                async with session.get(f"http://127.0.0.1:{port}{path}", headers=headers) as answer:
                    return answer.status

            for path in ("/debug/controllers", "/debug/controllers/configmap/default/a", "/debug/profile/tasks"):
                assert await status(near_session, path) == 200
                assert await status(far_session, path) == 401
                assert await status(far_session, path, "other") == 403
                assert await status(far_session, path, "good") == 200
            assert await status(far_session, "/metrics") == 200
            for foreign in (
                {"Host": "evil.example:8080"},  # a web page whose name resolves to the loopback
                {"Host": "127.0.0.1.evil.example"},
                {"Host": "["},
                {"X-Forwarded-For": "127.0.0.1"},  # a proxy beside the process
                {"Forwarded": "for=127.0.0.1"},
                {"Via": "1.1 proxy"},
            ):
                for token, expected in (("", 401), ("good", 200)):
                    headers = {**foreign, **(bearer(token) if token else {})}
                    async with near_session.get(
                        f"http://127.0.0.1:{port}/debug/controllers", headers=headers
                    ) as result:
                        assert result.status == expected, (foreign, token)
            for own in ("localhost:8080", "127.0.0.1", "[::1]:8080", "setpoint.localhost"):
                async with near_session.get(
                    f"http://127.0.0.1:{port}/debug/controllers", headers={"Host": own}
                ) as result:
                    assert result.status == 200, own
        paths = [spec["nonResourceAttributes"]["path"] for spec in judge.asked if "nonResourceAttributes" in spec]
        assert set(paths) == {
            "/debug/controllers",
            "/debug/controllers/configmap/default/a",
            "/debug/profile/tasks",
        }


def test_only_loopback_addresses_are_taken_for_it() -> None:
    for address in ("127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"):
        assert http_server.is_loopback(address), address
    for address in ("", "10.0.0.1", "::", "fe80::1%eth0", "::ffff:10.0.0.1", "localhost", "0.0.0.0"):
        assert not http_server.is_loopback(address), address
