"""The server of shards.py: the embedded API server with N pods in 48 namespaces, with or without ``shardSelector``.

It prints its address when the pods are there. For each line with a number K on stdin it changes the status of the next
K pods and prints ``done`` when that is written.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from setpoint.apiserver import ApiServer, HttpFront
from setpoint.client import Client, InProcessTransport
from setpoint.meta.codec import decode
from setpoint.models.core_v1 import Namespace, Pod

sys.path.append(str(Path(__file__).resolve().parents[1]))
from workloads import WORKLOADS, objects

PAUSE = 0.001
"""Seconds after each change, in which the server sends it."""
_SERVICES = ("payments", "search", "billing", "accounts", "catalog", "shipping", "mail", "reports", "auth", "images")
_TEAMS = (*_SERVICES, "stock", "web")
NAMESPACES = [f"{team}-{stage}" for stage in ("production", "staging", "review", "load-test") for team in _TEAMS]


async def lines() -> AsyncIterator[str]:
    """The lines of stdin."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async for line in reader:
        yield line.decode()


def document(raw: bytes, number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A pod to create, and its status."""
    pod: dict[str, Any] = json.loads(raw)
    metadata = pod["metadata"]
    metadata["namespace"] = NAMESPACES[number % len(NAMESPACES)]
    for field in ("uid", "resourceVersion", "creationTimestamp", "generateName"):
        del metadata[field]
    return pod, pod.pop("status")


async def serve(count: int, knows_shards: bool) -> None:
    server = ApiServer()
    async with server, HttpFront(server, port=0) as front, Client(InProcessTransport(server.handle)) as client:
        server.state.serves_shards = knows_shards
        for name in NAMESPACES:
            await client.create(Namespace.named(name))
        created: list[tuple[str, str]] = []
        for number, raw in enumerate(objects(WORKLOADS["pods"], count)):
            pod, status = document(raw, number)
            answer = await client.create(decode(Pod, json.dumps(pod).encode()))
            await client.patch(Pod, answer.name, {"status": status}, namespace=answer.namespace, subresource="status")
            created.append((answer.namespace or "", answer.name))
        print(f"http://127.0.0.1:{front.port}", flush=True)
        turn = 0
        async for line in lines():
            for _ in range(int(line)):
                namespace, name = created[turn % count]
                turn += 1
                change = {"status": {"message": f"change {turn}"}}
                await client.patch(Pod, name, change, namespace=namespace, subresource="status")
                await asyncio.sleep(PAUSE)
            print("done", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int)
    parser.add_argument("--without-shards", action="store_true")
    arguments = parser.parse_args()
    asyncio.run(serve(arguments.count, not arguments.without_shards))
