"""A controller process under leader election that writes all the time, and says when.

    python leader_program.py KUBECONFIG IDENTITY LEASE_DURATION RENEW_DEADLINE RETRY_PERIOD

It prints ``standby`` when all that needs no election runs, ``leads TIME`` with its first reconcile, ``worked N`` after
each write that the server took, and ``cut`` when SIGUSR1 has cut it off. TIME is the machine's monotonic clock, in
seconds.
"""

# ruff: noqa: T201 - that is how it speaks

from __future__ import annotations

import asyncio
import signal
import sys
import time
from contextlib import AbstractAsyncContextManager

import setpoint as sp
from setpoint.apps.running import run
from setpoint.client import Request, Response, Transport, TransportError
from setpoint.manager import LeaderElection
from setpoint.models.core_v1 import ConfigMap


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


async def work(kubeconfig: str, identity: str, lease: float, deadline: float, retry: float) -> None:
    written = 0

    async def beat(_: ConfigMap, ctx: sp.Context) -> sp.Outcome:
        nonlocal written
        if not written:
            print(f"leads {time.monotonic()}", flush=True)
        await ctx.client.create(ConfigMap.named(f"beat-{identity}-{written}", "default", data={"by": identity}))
        written += 1
        print(f"worked {written}", flush=True)
        return sp.after(0.05)

    controller = sp.Controller(ConfigMap, beat, name="beat", field_selector={"metadata.name": "clock"})
    election = LeaderElection(
        name="beat", identity=identity, lease_duration=lease, renew_deadline=deadline, retry_period=retry
    )
    async with sp.Client.from_kubeconfig(kubeconfig) as direct:
        cable = Cable(direct.transport)

        def cut() -> None:
            cable.cut = True
            print("cut", flush=True)

        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, cut)
        manager = sp.Manager(
            sp.Client(cable, namespace="default"), controllers=[controller], leader_election=election, instance=identity
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(manager.run())
            await manager.started.wait()
            print("standby", flush=True)


if __name__ == "__main__":
    path, name, *times = sys.argv[1:]
    run("leader_program", work(path, name, *map(float, times)))
