"""The controllers of the comparison, written with setpoint."""

from __future__ import annotations

import asyncio
import sys

from protocol import collected, hear, say

import setpoint as sp
import setpoint.client.http_transport
from setpoint.client import ClientConfig
from setpoint.manager import ProcessMetrics
from setpoint.models.core_v1 import Container, Pod, PodSpec

WORKERS = 8


class MykindSpec(sp.Model):
    numpods: int = 0


class MykindStatus(sp.Model):
    pods: int = 0


class Mykind(sp.CustomResource, group="bench.example.com", version="v1"):
    spec: MykindSpec = MykindSpec()
    status: MykindStatus = MykindStatus()


async def pods(server: str, count: int) -> None:
    """Reads every pod once at the start and once for every event."""
    synced, done = asyncio.Event(), asyncio.Event()
    seen = 0

    async def reconcile(pod: Pod, ctx: sp.Context) -> None:
        nonlocal seen
        assert pod.key == ctx.key
        seen += 1
        if seen == count:
            synced.set()
        elif seen == 2 * count:
            done.set()

    async with sp.Client.from_config(ClientConfig(server=server)) as client:
        manager = sp.Manager(
            client,
            controllers=[sp.Controller(Pod, reconcile, workers=WORKERS)],
            serving=sp.Serving(metrics=ProcessMetrics()),
        )
        say("ready")
        hear("sync")
        async with manager:
            await synced.wait()
            say("synced")
            collected()
            say("watching")
            await done.wait()
            say("done")
            collected()
            hear("exit")


async def children(server: str, how: str) -> None:
    """Keeps the pods of every Mykind, until it is told to exit."""

    async def reconcile(mykind: Mykind, ctx: sp.Context) -> None:
        owned = ctx.owned(Pod)
        there = {pod.name for pod in owned}
        for number in range(mykind.spec.numpods):
            name = f"{mykind.name}-{number}"
            if name not in there:
                pod = Pod.named(name, spec=PodSpec(containers=[Container(name="main", image="busybox")]))
                await (ctx.apply(pod) if how == "apply" else ctx.create(pod))
        mykind.status.pods = len(owned)

    async def keep(mykind: Mykind, ctx: sp.Context) -> None:
        spec = PodSpec(containers=[Container(name="main", image="busybox")])
        wanted = [Pod.named(f"{mykind.name}-{number}", spec=spec) for number in range(mykind.spec.numpods)]
        mykind.status.pods = len(await ctx.keep(Pod, wanted))

    controller = sp.Controller(Mykind, keep if how == "keep" else reconcile, workers=WORKERS).owns(Pod)
    async with sp.Client.from_config(ClientConfig(server=server)) as client:
        manager = sp.Manager(client, controllers=[controller], serving=sp.Serving(metrics=ProcessMetrics()))
        say("ready")
        hear("sync")
        async with manager:
            await asyncio.to_thread(collected)
            await asyncio.to_thread(hear, "exit")


if __name__ == "__main__":
    address, number, what = sys.argv[1:]
    asyncio.run(pods(address, int(number)) if what == "pods" else children(address, what))
