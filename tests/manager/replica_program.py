"""One replica of a controller that writes all the time, and says when: under leader election, or with shards.

    python replica_program.py (leader|shards) KUBECONFIG IDENTITY LEASE_DURATION RENEW_DEADLINE RETRY_PERIOD

It works on the ConfigMaps of the namespace ``work``, again and again. For each reconcile it creates two ConfigMaps in
the namespace ``record``, one at the start and one at the end, with the process and the reconcile that wrote them: in
the order of their versions they are the server's own record of which process was at which key.

It prints ``standby`` when all that needs no election runs, ``begin TIME KEY NUMBER`` and ``end TIME KEY NUMBER`` with
each reconcile (also one that fails), ``worked N`` after each write that the server took, and ``cut`` and ``mended``
when SIGUSR1 has cut its network and SIGUSR2 has mended it. TIME is the machine's monotonic clock, in seconds.
"""

# ruff: noqa: T201 - that is how it speaks

from __future__ import annotations

import asyncio
import signal
import sys
import time
from contextlib import AbstractAsyncContextManager
from itertools import count

import setpoint as sp
from setpoint.apps.program_runner import run
from setpoint.client import Request, Response, Transport, TransportError
from setpoint.manager import LeaderElection, Sharding
from setpoint.models.core_v1 import ConfigMap

BUSY = 0.05
"""Seconds that a reconcile takes, and after which the next one of its key is due."""


class Cable:
    """A transport that can be cut."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner
        self.cut = False

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        if self.cut:
            raise TransportError("the cable is cut", sent=False)
        return self.inner.send(request)

    async def close(self) -> None:
        await self.inner.close()


def reconciler(identity: str) -> sp.Controller[ConfigMap]:
    reconciles, writes = count(1), count(1)

    async def work(obj: ConfigMap, ctx: sp.Context) -> sp.Outcome:
        number = next(reconciles)

        async def write(part: str) -> None:
            data = {"by": identity, "key": ctx.key, "reconcile": str(number)}
            await ctx.client.create(ConfigMap.named(f"{identity}-{number}-{part}", "record", data=data))
            print(f"worked {next(writes)}", flush=True)

        print(f"begin {time.monotonic()} {ctx.key} {number}", flush=True)
        try:
            await write("a")
            await asyncio.sleep(BUSY)
            await write("b")
        finally:
            print(f"end {time.monotonic()} {ctx.key} {number}", flush=True)
        return sp.after(BUSY)

    return sp.Controller(ConfigMap, work, name="beat", namespace="work", workers=4)


async def work(mode: str, kubeconfig: str, identity: str, lease: float, deadline: float, retry: float) -> None:
    times = {"lease_duration": lease, "renew_deadline": deadline, "retry_period": retry}
    async with sp.Client.from_kubeconfig(kubeconfig) as direct:
        cable = Cable(direct.transport)

        def cut(is_cut: bool) -> None:
            cable.cut = is_cut
            print("cut" if is_cut else "mended", flush=True)

        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, cut, True)
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR2, cut, False)
        manager = sp.Manager(
            sp.Client(cable, namespace="default"),
            controllers=[reconciler(identity)],
            leader_election=LeaderElection(name="beat", identity=identity, **times) if mode == "leader" else None,
            sharding=Sharding(name="beat", identity=identity, **times) if mode == "shards" else None,
            options=sp.ManagerOptions(instance=identity),
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(manager.run())
            await manager.started.wait()
            print("standby", flush=True)


if __name__ == "__main__":
    chosen, path, name, *seconds = sys.argv[1:]
    run("replica_program", work(chosen, path, name, *map(float, seconds)))
