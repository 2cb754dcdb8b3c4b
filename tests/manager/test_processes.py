"""Processes under leader election, for real: killed, stopped, cut off, ended, and one server that saw every write."""

from __future__ import annotations

import asyncio
import itertools
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.cli.processes import Program, program, server

from setpoint.client import Client
from setpoint.models.core_v1 import ConfigMap

PROGRAM = Path(__file__).with_name("leader_program.py")
LEASE, DEADLINE, RETRY = 3.0, 2.2, 0.4
JITTERED = RETRY * 2.2
"""The longest time between two looks at the lease: the retry period and its jitter."""
SLACK = 2.0
"""What a busy machine may add, in seconds."""


@asynccontextmanager
async def candidate(home: Path, kubeconfig: Path, identity: str) -> AsyncIterator[Program]:
    """A process that would like to lead."""
    async with program(PROGRAM, kubeconfig, identity, LEASE, DEADLINE, RETRY, home=home) as process:
        await process.until(lambda p: "standby" in p.out, f"{identity} on standby")
        yield process


async def leading(process: Program) -> float:
    """Waits until it leads; since when it does, on the machine's monotonic clock."""
    await process.until(lambda p: any(line.startswith("leads") for line in p.out), "leader")
    return next(float(line.split()[1]) for line in process.out if line.startswith("leads"))


async def at_work(process: Program, writes: int = 3) -> None:
    """Waits for some more writes of it."""
    wanted = int(_worked(process)) + writes
    await process.until(lambda p: _worked(p) >= wanted, "work")


def _worked(process: Program) -> int:
    return sum(line.startswith("worked") for line in process.out)


async def writers(client: Client) -> list[str]:
    """Who wrote, in the order in which the server took the writes; who wrote several times in a row is there once."""
    found = (await client.list(ConfigMap, namespace="default")).items
    beats = sorted((item for item in found if "by" in item.data), key=lambda item: int(item.metadata.resource_version))
    return [name for name, _ in itertools.groupby(item.data["by"] for item in beats)]


async def test_leaders_follow_each_other_and_never_overlap(tmp_path: Path) -> None:
    clock = asyncio.get_running_loop().time
    async with (
        server(tmp_path, "--no-control-plane") as (_, _, kubeconfig),
        Client.from_kubeconfig(kubeconfig) as client,
    ):
        await client.create(ConfigMap.named("clock", "default"))
        async with candidate(tmp_path, kubeconfig, "ended") as ended:
            await leading(ended)
            await at_work(ended)
            async with candidate(tmp_path, kubeconfig, "stopped") as stopped:
                # A clean exit hands over at once: no lease has to run out.
                asked = clock()
                assert await ended.signalled(signal.SIGTERM) == 0, ended.printed()
                assert await leading(stopped) - asked <= JITTERED + SLACK < LEASE
                await at_work(stopped)
                async with candidate(tmp_path, kubeconfig, "cut") as cut:
                    # A leader that the machine has stopped is replaced; when it goes on it does not write any more.
                    asked = clock()
                    stopped.process.send_signal(signal.SIGSTOP)
                    assert DEADLINE < await leading(cut) - asked <= LEASE + JITTERED + SLACK
                    await at_work(cut)
                    assert await stopped.signalled(signal.SIGCONT) != 0, stopped.printed()
                    assert "LeadershipLost" in stopped.printed()
                    await at_work(cut)
                    async with candidate(tmp_path, kubeconfig, "killed") as killed:
                        # A leader without a network ends before anybody else may lead.
                        asked = clock()
                        cut.process.send_signal(signal.SIGUSR1)
                        gone = asyncio.create_task(_gone(cut))
                        since = await leading(killed)
                        assert since - asked <= LEASE + JITTERED + SLACK
                        status, at = await gone
                        assert status != 0, cut.printed()
                        assert at - asked <= DEADLINE + RETRY + SLACK
                        await at_work(killed)
                        async with candidate(tmp_path, kubeconfig, "last") as last:
                            asked = clock()
                            killed.process.kill()
                            assert await leading(last) - asked <= LEASE + JITTERED + SLACK
                            await at_work(last)
        assert await writers(client) == ["ended", "stopped", "cut", "killed", "last"]


async def _gone(process: Program) -> tuple[int, float]:
    return await process.ended(), asyncio.get_running_loop().time()
