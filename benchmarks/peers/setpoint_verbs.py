"""One verb of setpoint's client, again and again: ``setpoint_verbs.py VERB SERVER COUNT``."""

from __future__ import annotations

import asyncio
import sys

from setpoint.client import Client, ClientConfig
from setpoint.models.core_v1 import Pod

PATCH = {"metadata": {"labels": {"a": "b"}}}


async def main(verb: str, server: str, count: int) -> None:
    async with Client.from_config(ClientConfig(server=server)) as client:
        for _ in range(count):
            match verb:
                case "get":
                    await client.get(Pod, "web-0", namespace="default")
                case "patch":
                    await client.patch(Pod, "web-0", PATCH, namespace="default")
                case "list":
                    await client.list(Pod)
                case _:
                    raise SystemExit(f"unknown verb {verb!r}")


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
