"""kubernetes_asyncio: everyday work. KUBECONFIG says where."""

import asyncio

from kubernetes_asyncio import client, config, watch
from kubernetes_asyncio.stream import WsApiClient

NAMESPACE = "asyncio-python"


async def main():
    await config.load_kube_config()
    async with client.ApiClient() as api:
        core = client.CoreV1Api(api)
        await core.create_namespace({"metadata": {"name": NAMESPACE}})
        namespaced_config_map = await core.create_namespaced_config_map(
            NAMESPACE, {"metadata": {"name": "a"}, "data": {"k": "1"}}
        )
        namespaced_config_map.data["k"] = "2"
        await core.replace_namespaced_config_map("a", NAMESPACE, namespaced_config_map)
        patched = await core.patch_namespaced_config_map("a", NAMESPACE, {"data": {"l": "3"}})
        assert patched.data == {"k": "2", "l": "3"}
        current_namespaced_config_map = await core.list_namespaced_config_map(
            NAMESPACE, field_selector="metadata.name=a"
        )
        assert [item.metadata.name for item in current_namespaced_config_map.items] == ["a"]
        await core.delete_namespaced_config_map("a", NAMESPACE)
        async with watch.Watch() as watcher:
            since = namespaced_config_map.metadata.resource_version
            kinds = []
            async for event in watcher.stream(
                core.list_namespaced_config_map, NAMESPACE, resource_version=since, timeout_seconds=60
            ):
                if event["object"].metadata.name == "a":
                    kinds.append(event["type"])
                if event["type"] == "DELETED":
                    break
        assert kinds == ["MODIFIED", "MODIFIED", "DELETED"], kinds
        container = {"name": "c", "image": "process.setpoint.dev/sh", "args": ["-c", "echo hello; sleep 600"]}
        await core.create_namespaced_pod(NAMESPACE, {"metadata": {"name": "p"}, "spec": {"containers": [container]}})
        while (await core.read_namespaced_pod("p", NAMESPACE)).status.phase != "Running":
            await asyncio.sleep(0.05)
        while "hello" not in await core.read_namespaced_pod_log("p", NAMESPACE):
            await asyncio.sleep(0.05)
        async with WsApiClient() as sockets:
            answer = await client.CoreV1Api(sockets).connect_get_namespaced_pod_exec(
                "p", NAMESPACE, command=["echo", "there"], stdout=True, stderr=True, stdin=False, tty=False
            )
        assert answer.strip() == "there", answer
        await core.delete_namespace(NAMESPACE)
    print("done")


asyncio.run(main())
