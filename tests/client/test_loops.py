"""Clients that outlive their event loop or their process."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from setpoint import blocking
from setpoint.blocking.portal import Portal
from setpoint.client import Client, ClientConfig
from setpoint.models.core_v1 import ConfigMap

from .conftest import Server, echo, listening


@contextmanager
def served() -> Iterator[str]:
    """The URL of a server that runs in a thread of its own."""
    ready: asyncio.Queue[str] = asyncio.Queue()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    server = Server(lambda request: echo({}, request))

    async def serve() -> None:
        async with listening(server) as url:
            await ready.put(url)
            await stop.wait()

    async def first() -> str:
        return await ready.get()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        yield asyncio.run_coroutine_threadsafe(first(), loop).result()
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


def test_a_client_goes_on_in_another_loop_when_its_first_one_is_closed() -> None:
    with served() as url:
        client = Client.from_config(ClientConfig(server=url))

        async def names() -> list[str]:
            # More than may be under way at a time, so that some wait for their turn.
            return [
                result.name for result in await asyncio.gather(*(client.get(ConfigMap, f"n{i}") for i in range(100)))
            ]

        for _ in range(4):
            assert asyncio.run(names()) == [f"n{i}" for i in range(100)]
        asyncio.run(client.close())


async def test_a_client_in_use_in_another_loop_says_so() -> None:
    with served() as url:
        client = Client.from_config(ClientConfig(server=url))
        await client.get(ConfigMap, "a")
        problem: list[BaseException] = []

        def use() -> None:
            try:
                asyncio.run(client.get(ConfigMap, "a"))
            except RuntimeError as error:
                problem.append(error)

        await asyncio.to_thread(use)
        assert "belongs to another event loop, which is still open" in str(problem[0])
        assert (await client.get(ConfigMap, "a")).name == "a"
        await client.close()


_shared: blocking.Client | None = None


def _name_in_a_fork(name: str) -> tuple[str, int]:
    assert _shared is not None
    return _shared.get(ConfigMap, name).name, os.getpid()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning", "ignore:unclosed:ResourceWarning")
def test_a_blocking_client_works_in_forked_processes_and_goes_on_in_their_parent() -> None:
    global _shared
    with served() as url, blocking.Client.from_config(ClientConfig(server=url)) as client:
        _shared = client
        assert client.get(ConfigMap, "a").name == "a"
        with multiprocessing.get_context("fork").Pool(2) as pool:
            answers = pool.map_async(_name_in_a_fork, [f"n{i}" for i in range(20)]).get(timeout=60)
            assert [name for name, _ in answers] == [f"n{i}" for i in range(20)]
            assert os.getpid() not in {process for _, process in answers}
            assert client.get(ConfigMap, "b").name == "b"
        _shared = None
        assert client.get(ConfigMap, "c").name == "c"


def _end(client: blocking.Client) -> None:
    client.close()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning", "ignore:unclosed:ResourceWarning")
def test_a_fork_that_closes_the_client_leaves_its_parents_connections_alone() -> None:
    with served() as url, blocking.Client.from_config(ClientConfig(server=url)) as client:
        client.get(ConfigMap, "a")
        child = multiprocessing.get_context("fork").Process(target=_end, args=(client,))
        child.start()
        child.join(60)
        assert child.exitcode == 0
        assert client.get(ConfigMap, "b").name == "b"


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning", "ignore:unclosed:ResourceWarning")
async def test_a_portal_to_the_loop_of_another_process_says_so() -> None:
    portal = Portal(asyncio.get_running_loop())

    def run(results: multiprocessing.SimpleQueue[str]) -> None:
        try:
            portal.run(asyncio.sleep(0))
        except RuntimeError as problem:
            results.put(str(problem))

    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    child = context.Process(target=run, args=(results,))
    child.start()
    assert await asyncio.to_thread(results.get) == "this blocking client belongs to an event loop of another process"
    child.join(60)
