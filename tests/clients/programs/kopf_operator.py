"""kopf: an operator on custom resources, with a timer of its own and finalizers. KUBECONFIG says where."""

import asyncio

import kopf
from kubernetes_asyncio import client, config

MERGE = "application/merge-patch+json"
NAMESPACE = "kopf"
DEFINITION = {
    "metadata": {"name": "things.kopf.example.com"},
    "spec": {
        "group": "kopf.example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
            }
        ],
    },
}
deleted = asyncio.Event()


@kopf.on.create("kopf.example.com", "v1", "things")
async def created(spec, patch, **_):
    patch.status["size"] = spec["size"] + 1


@kopf.on.field("kopf.example.com", "v1", "things", field="spec.size")
async def resized(old, new, patch, **_):
    patch.status["size"] = new + 1


@kopf.on.delete("kopf.example.com", "v1", "things")
async def gone(**_):
    deleted.set()


async def until(custom, size):
    while True:
        thing = await custom.get_namespaced_custom_object("kopf.example.com", "v1", NAMESPACE, "things", "a")
        if (thing.get("status") or {}).get("size") == size:
            return
        await asyncio.sleep(0.1)


async def main():
    await config.load_kube_config()
    async with client.ApiClient() as api:
        await client.CoreV1Api(api).create_namespace({"metadata": {"name": NAMESPACE}})
        await client.ApiextensionsV1Api(api).create_custom_resource_definition(DEFINITION)
        custom = client.CustomObjectsApi(api)
        where = ("kopf.example.com", "v1", NAMESPACE, "things")
        ready, stop = asyncio.Event(), asyncio.Event()
        operator = asyncio.create_task(
            kopf.operator(namespaces=[NAMESPACE], standalone=True, ready_flag=ready, stop_flag=stop)
        )
        await ready.wait()
        body = {"apiVersion": "kopf.example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"size": 1}}
        await custom.create_namespaced_custom_object(*where, body)
        await until(custom, 2)
        await custom.patch_namespaced_custom_object(*where, "a", {"spec": {"size": 5}}, _content_type=MERGE)
        await until(custom, 6)
        await custom.delete_namespaced_custom_object(*where, "a")
        await deleted.wait()
        stop.set()
        await operator
    print("done")


asyncio.run(main())
