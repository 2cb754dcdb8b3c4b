"""Processes under leader election and with shards, for real: killed, stopped, cut off, ended, and one server that saw
every write."""

from __future__ import annotations

import asyncio
import itertools
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from tests.programs import server

from setpoint.client import Client

from .replicas import LEASE, all_worked_on, interrupted, overlaps, recorded, replica, set_up


@asynccontextmanager
async def world(home: Path) -> AsyncIterator[tuple[Path, Client]]:
    async with (
        server(home, "--no-control-plane") as (_, _, kubeconfig),
        Client.from_kubeconfig(kubeconfig) as client,
    ):
        yield kubeconfig, client


async def test_leaders_follow_each_other_and_never_overlap(tmp_path: Path) -> None:
    clock = asyncio.get_running_loop().time
    async with world(tmp_path) as (kubeconfig, client), AsyncExitStack() as stack:
        await set_up(client, 2)
        ended = await stack.enter_async_context(replica("leader", tmp_path, kubeconfig, "ended"))
        await ended.leading()
        await ended.at_work()
        stopped = await stack.enter_async_context(replica("leader", tmp_path, kubeconfig, "stopped"))
        # A clean exit hands over at once: no lease has to run out.
        assert await ended.running.signalled(signal.SIGTERM) == 0, ended.running.printed()
        left = clock()
        assert await stopped.leading() - left < LEASE / 2
        await stopped.at_work()
        cut = await stack.enter_async_context(replica("leader", tmp_path, kubeconfig, "cut"))
        # A leader that the machine has stopped is replaced; when it goes on it does not write any more.
        stopped.signal(signal.SIGSTOP)
        await cut.leading()
        await cut.at_work()
        assert await stopped.running.signalled(signal.SIGCONT) != 0, stopped.running.printed()
        assert "replica_program: the lease default/beat was not renewed" in stopped.running.printed()
        assert "Traceback" not in stopped.running.printed()
        await cut.at_work()
        killed = await stack.enter_async_context(replica("leader", tmp_path, kubeconfig, "killed"))
        # A leader without a network ends before another process may lead.
        cut.signal(signal.SIGUSR1)
        await killed.leading()
        assert await cut.running.ended() != 0, cut.running.printed()
        await killed.at_work()
        last = await stack.enter_async_context(replica("leader", tmp_path, kubeconfig, "last"))
        killed.signal(signal.SIGKILL)
        await last.leading()
        await last.at_work()
        record = await recorded(client)
        assert interrupted(record) == []
        assert overlaps([ended, stopped, cut, killed, last]) == []
        leaders = [name for name, _ in itertools.groupby(name for name, _, _ in record)]
        assert leaders == ["ended", "stopped", "cut", "killed", "last"]


async def test_shards_share_all_keys_and_have_none_in_common_whatever_becomes_of_a_process(tmp_path: Path) -> None:
    clock = asyncio.get_running_loop().time
    async with world(tmp_path) as (kubeconfig, client), AsyncExitStack() as stack:
        keys = await set_up(client, 16)
        killed, stopped, cut = [
            await stack.enter_async_context(replica("shards", tmp_path, kubeconfig, name))
            for name in ("killed", "stopped", "cut")
        ]
        await all_worked_on(keys, [killed, stopped, cut], clock())

        ended = await stack.enter_async_context(replica("shards", tmp_path, kubeconfig, "ended"))
        await all_worked_on(keys, [killed, stopped, cut, ended], clock())  # a process that joins gets some
        assert await ended.running.signalled(signal.SIGTERM) == 0, ended.running.printed()
        await all_worked_on(keys, [killed, stopped, cut], clock())

        since = killed.signal(signal.SIGKILL)
        await all_worked_on(keys, [stopped, cut], since)

        since = stopped.signal(signal.SIGSTOP)
        await all_worked_on(keys, [cut], since)
        stopped.signal(signal.SIGCONT)
        await all_worked_on(keys, [stopped, cut], clock())  # it comes back, with keys of its own

        since = cut.signal(signal.SIGUSR1)
        await all_worked_on(keys, [stopped], since)
        cut.signal(signal.SIGUSR2)
        await all_worked_on(keys, [stopped, cut], clock())

        everybody = [killed, stopped, cut, ended]
        record = await recorded(client)
        assert interrupted(record) == []
        assert overlaps(everybody) == []
        assert {name for name, _, _ in record} == {item.identity for item in everybody}
