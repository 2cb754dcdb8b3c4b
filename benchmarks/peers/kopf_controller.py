"""kopf's handler of every event of pods, called with the whole object; it counts."""

from __future__ import annotations

import asyncio
import sys

import kopf
from protocol import collected, hear, say

SERVER, COUNT = sys.argv[1], int(sys.argv[2])
registry = kopf.OperatorRegistry()
synced, done = asyncio.Event(), asyncio.Event()
seen = 0


@kopf.on.login(registry=registry)
def login(**_: object) -> kopf.ConnectionInfo:
    return kopf.ConnectionInfo(server=SERVER)


@kopf.on.startup(registry=registry)
def configure(settings: kopf.OperatorSettings, **_: object) -> None:
    settings.posting.enabled = False
    settings.scanning.disabled = True


@kopf.on.event("v1", "pods", registry=registry)
async def on_event(name: str, body: kopf.Body, **_: object) -> None:
    global seen
    assert body["metadata"]["name"] == name
    seen += 1
    if seen == COUNT:
        synced.set()
    elif seen == 2 * COUNT:
        done.set()


async def main() -> None:
    say("ready")
    hear("sync")
    operator = asyncio.create_task(kopf.operator(registry=registry, standalone=True, clusterwide=True))
    await asyncio.wait([operator, asyncio.create_task(synced.wait())], return_when=asyncio.FIRST_COMPLETED)
    if operator.done():
        operator.result()
    say("synced")
    await asyncio.to_thread(collected)
    say("watching")
    await done.wait()
    say("done")
    collected()
    hear("exit")


asyncio.run(main())
