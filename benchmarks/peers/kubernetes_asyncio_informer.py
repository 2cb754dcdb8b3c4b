"""kubernetes_asyncio has no informer: its list and watch, kept in a dict."""

from __future__ import annotations

import asyncio
import sys

from kubernetes_asyncio import client, watch
from protocol import collected, hear, say


async def main(server: str, count: int) -> None:
    async with client.ApiClient(client.Configuration(host=server)) as api:
        core = client.CoreV1Api(api)
        say("ready")
        hear("sync")
        listed = await core.list_pod_for_all_namespaces()
        store = {(pod.metadata.namespace, pod.metadata.name): pod for pod in listed.items}
        version = listed.metadata.resource_version
        del listed
        assert len(store) == count
        say("synced")
        collected()
        say("watching")
        seen = 0
        async with watch.Watch().stream(core.list_pod_for_all_namespaces, resource_version=version) as stream:
            async for event in stream:
                pod = event["object"]
                store[pod.metadata.namespace, pod.metadata.name] = pod
                seen += 1
                if seen == count:
                    break
        say("done")
        collected()
        hear("exit")


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
