"""setpoint's informers, with a handler that counts. The second argument says which objects there are, such as
``nodes=100,pods=1200`` (a number alone: pods); ``metadata`` behind it asks for their metadata only.
"""

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


class Counter:
    """Counts the events of one informer; ``done`` is set when each of its objects has changed."""

    def __init__(self, count: int) -> None:
        self.count, self.seen, self.done = count, 0, asyncio.Event()

    def update(self, _old: Head, _new: Head) -> None:
        self.seen += 1
        if self.seen == self.count:
            self.done.set()


async def main(server: str, parts: str, form: str = "") -> None:
    counts = {"pods": int(parts)} if parts.isdigit() else {}
    for part in [] if counts else parts.split(","):
        workload, _, count = part.partition("=")
        counts[workload] = int(count)
    async with Client.from_config(ClientConfig(server=server)) as client:
        say("ready")
        hear("sync")
        async with InformerFactory(client, sync_timeout=3600) as factory:
            counters = []
            for workload, number in counts.items():
                informer = factory.informer(KINDS.get(workload, Pod), metadata_only=form == "metadata")
                counter = Counter(number)
                informer.add_event_handler(on_add=lambda _head, _initial: None, on_update=counter.update)
                counters.append((informer, counter))
            await factory.wait_for_cache_sync()
            assert all(len(informer.store) == counter.count for informer, counter in counters)
            say("synced")
            collected()
            say("watching")
            for _, counter in counters:
                await counter.done.wait()
            say("done")
            collected()
            hear("exit")


asyncio.run(main(*sys.argv[1:]))
