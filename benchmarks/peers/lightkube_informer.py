"""lightkube has no informer: its list and watch, kept in a dict."""

from __future__ import annotations

import asyncio
import sys

from lightkube import AsyncClient
from lightkube.config.kubeconfig import KubeConfig
from lightkube.config.models import Cluster, User
from lightkube.resources.core_v1 import Pod
from protocol import collected, hear, say


async def main(server: str, count: int) -> None:
    client = AsyncClient(config=KubeConfig.from_one(cluster=Cluster(server=server), user=User(username="nobody")))
    say("ready")
    hear("sync")
    store = {}
    listed = client.list(Pod, namespace="*")
    async for pod in listed:
        store[pod.metadata.namespace, pod.metadata.name] = pod
    assert len(store) == count
    say("synced")
    collected()
    say("watching")
    seen = 0
    async for _, pod in client.watch(Pod, namespace="*", resource_version=listed.resourceVersion):
        store[pod.metadata.namespace, pod.metadata.name] = pod
        seen += 1
        if seen == count:
            break
    say("done")
    collected()
    hear("exit")


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
