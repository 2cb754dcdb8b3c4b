"""Replicas as real processes (`replica_program`), what they say, and what the server has recorded of them."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from tests.programs import Program, program, until

from setpoint.client import Client
from setpoint.models.core_v1 import ConfigMap, Namespace

PROGRAM = Path(__file__).with_name("replica_program.py")
LEASE, DEADLINE, RETRY = 6.0, 4.5, 0.5
"""Long enough that a process on a busy machine keeps what it has."""


class Turn(NamedTuple):
    """One reconcile as its process has told it, on the machine's monotonic clock."""

    key: str
    began_at: float
    ended: float
    replica: str
    number: int


class Replica:
    """A replica and its history."""

    def __init__(self, identity: str, running: Program) -> None:
        self.identity = identity
        self.running = running
        self.stopped_at: list[float] = []
        """When nothing of it ran any more: SIGSTOP, SIGKILL."""

    @property
    def out(self) -> list[str]:
        return self.running.out

    def begun_keys(self, since: float) -> set[str]:
        """The keys of the reconciles that it has begun since then."""
        words = (line.split() for line in self.out if line.startswith("begin "))
        return {key for _, at, key, _ in words if float(at) > since}

    @property
    def first_begun(self) -> float | None:
        return next((float(line.split()[1]) for line in self.out if line.startswith("begin ")), None)

    @property
    def worked(self) -> int:
        """The number of its writes that the server took."""
        return sum(line.startswith("worked") for line in self.out)

    async def at_work(self, writes: int = 3) -> None:
        """Waits for some more writes of it."""
        wanted = self.worked + writes
        await self.running.until(lambda p: self.worked >= wanted, f"work of {self.identity}")

    async def leading(self) -> float:
        """Waits for its first reconcile; when that was."""
        await self.running.until(lambda p: self.first_begun is not None, f"leader {self.identity}")
        assert self.first_begun is not None
        return self.first_begun

    def signal(self, number: signal.Signals) -> float:
        """When it was sent, on the machine's clock."""
        clock = asyncio.get_running_loop().time
        now = clock()
        self.running.process.send_signal(number)
        if number in (signal.SIGSTOP, signal.SIGKILL):
            # It may have begun a reconcile after `now`, before the signal reached it.
            with suppress(ChildProcessError):  # the process has ended, and asyncio has collected it
                os.waitid(os.P_PID, self.running.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            self.stopped_at.append(clock())
        return now

    def turns(self) -> list[Turn]:
        """Its reconciles. One during which the process was stopped or killed ends there: what that reconcile does
        when the process goes on, the server's record shows."""
        begun: dict[int, tuple[float, str]] = {}
        ended: dict[int, float] = {}
        for line in self.out:
            match line.split():
                case ["begin", at, key, number]:
                    begun[int(number)] = float(at), key
                case ["end", at, _, number]:
                    ended[int(number)] = float(at)
        results = []
        for number, (at, key) in begun.items():
            until = [item for item in self.stopped_at if item >= at]
            results.append(Turn(key, at, min([ended.get(number, float("inf")), *until]), self.identity, number))
        return results


@asynccontextmanager
async def replica(mode: str, home: Path, kubeconfig: Path, identity: str) -> AsyncIterator[Replica]:
    """A process that takes part; killed at the end if it still runs."""
    words = (PROGRAM, mode, kubeconfig, identity, LEASE, DEADLINE, RETRY)
    async with program(*words, home=home) as process:
        await process.until(lambda p: "standby" in p.out, f"{identity} on standby")
        yield Replica(identity, process)


async def set_up(client: Client, keys: int) -> list[str]:
    """The objects that are to be worked on: their keys."""
    for name in ("work", "record"):
        await client.create(Namespace.named(name))
    for number in range(keys):
        await client.create(ConfigMap.named(f"k{number}", "work"))
    return [f"work/k{number}" for number in range(keys)]


async def all_worked_on(keys: Sequence[str], replicas: Sequence[Replica], since: float) -> None:
    """Waits until each of the keys has been begun since then by one of these, and each of these had one of them."""

    def done() -> bool:
        begun_keys = [replica.begun_keys(since) for replica in replicas]
        return all(begun_keys) and set().union(*begun_keys) >= set(keys)

    names = ", ".join(replica.identity for replica in replicas)
    await until([replica.running for replica in replicas], done, f"work on all keys by {names}")


async def recorded(client: Client) -> list[tuple[str, str, str]]:
    """Every write in the order in which the server took it: whose, of which key, in which reconcile."""
    items = (await client.list(ConfigMap, namespace="record")).items
    items.sort(key=lambda item: int(item.metadata.resource_version))
    return [(item.data["by"], item.data["key"], item.data["reconcile"]) for item in items]


def overlaps(replicas: Sequence[Replica]) -> list[tuple[Turn, Turn]]:
    """Two reconciles of one key at the same time, by what the processes have said."""
    turns = sorted(turn for replica in replicas for turn in replica.turns())
    return [(a, b) for a, b in itertools.pairwise(turns) if a.key == b.key and b.began_at < a.ended]


def interrupted(record: Sequence[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """The reconciles between whose writes another one has written for the same key."""
    results = []
    for key in {key for _, key, _ in record}:
        turns = [turn for turn, _ in itertools.groupby(write for write in record if write[1] == key)]
        results += [turn for turn in set(turns) if turns.count(turn) > 1]
    return results
