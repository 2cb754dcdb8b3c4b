"""setpoint's informer, with a handler that counts. The third argument is the workload, if it is not one of pods."""

from __future__ import annotations

import asyncio
import sys

from protocol import collected, hear, say

import setpoint.client.http_transport  # noqa: F401 - what every program with a client has
from setpoint.cache import Head, InformerFactory
from setpoint.client.client import Client
from setpoint.client.config import ClientConfig
from setpoint.client.dynamic import dynamic
from setpoint.meta import Resource
from setpoint.models.core_v1 import Event, Node, Pod, Secret

MYKIND = Resource(group="bench.example.com", version="v1", kind="Mykind", plural="mykinds")
KINDS = {"nodes": Node, "secrets": Secret, "events": Event, "custom": dynamic(MYKIND)}


async def main(server: str, count: int, workload: str = "pods") -> None:
    done = asyncio.Event()
    seen = 0

    def on_update(_old: Head, _new: Head) -> None:
        nonlocal seen
        seen += 1
        if seen == count:
            done.set()

    async with Client.from_config(ClientConfig(server=server)) as client:
        say("ready")
        hear("sync")
        async with InformerFactory(client) as factory:
            informer = factory.informer(KINDS.get(workload, Pod))
            informer.add_event_handler(on_add=lambda _head, _initial: None, on_update=on_update)
            await factory.wait_for_cache_sync()
            assert len(informer.store) == count
            say("synced")
            collected()
            say("watching")
            await done.wait()
            say("done")
            collected()
            hear("exit")


asyncio.run(main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:]))
