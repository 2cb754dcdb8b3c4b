"""One client library under test: ``client_verbs.py SYSTEM SERVER SECONDS`` prints its rates as one line of JSON.

Each system decodes what it gets into the objects that its users work with; ``aiohttp`` alone only reads the bytes. As
some decode when asked, lists are measured three times: ``list`` makes the list and asks nothing of it; ``list names``
reads every object's name and labels, from its metadata where a library has that apart; ``list fields`` reads a field
of every object's spec and one of its status, for which all of it has to be decoded.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from typing import Any

Verb = Callable[[], Awaitable[Any]]
PATCH = {"metadata": {"labels": {"a": "b"}}}
NAME, NAMESPACE = "web-0", "default"
MEASURED = (("get", 1), ("get", 32), ("patch", 1), ("patch", 32), ("list", 1), ("list names", 1), ("list fields", 1))


def listing(typed: Callable[[], Awaitable[Any]]) -> dict[str, Verb]:
    """The three lists, where objects are attributes all the way and names are those of Python."""

    async def names() -> list[Any]:
        return [(pod.metadata.name, pod.metadata.labels) for pod in (await typed()).items]

    async def fields() -> list[Any]:
        return [(pod.spec.node_name, pod.status.phase) for pod in (await typed()).items]

    return {"list": typed, "list names": names, "list fields": fields}


async def bare(server: str, stack: AsyncExitStack) -> dict[str, Verb]:
    import aiohttp

    session = await stack.enter_async_context(aiohttp.ClientSession())
    path = f"{server}/api/v1/namespaces/{NAMESPACE}/pods/{NAME}"
    body, headers = json.dumps(PATCH).encode(), {"content-type": "application/merge-patch+json"}

    async def get() -> bytes:
        async with session.get(path) as answer:
            return await answer.read()

    async def patch() -> bytes:
        async with session.patch(path, data=body, headers=headers) as answer:
            return await answer.read()

    async def list_pods() -> bytes:
        async with session.get(f"{server}/api/v1/pods") as answer:
            return await answer.read()

    return {"get": get, "patch": patch, "list": list_pods, "list names": list_pods, "list fields": list_pods}


async def setpoint(server: str, stack: AsyncExitStack) -> dict[str, Verb]:
    from setpoint.client import Client, ClientConfig
    from setpoint.models.core_v1 import Pod

    client = await stack.enter_async_context(Client.from_config(ClientConfig(server=server)))

    async def names() -> list[Any]:
        return [(head.name, head.labels) for head in (await client.list(Pod)).heads]

    return {
        "get": lambda: client.get(Pod, NAME, namespace=NAMESPACE),
        "patch": lambda: client.patch(Pod, NAME, PATCH, namespace=NAMESPACE),
        **listing(lambda: client.list(Pod)),
        "list names": names,
    }


async def lightkube(server: str, stack: AsyncExitStack) -> dict[str, Verb]:
    from lightkube import AsyncClient
    from lightkube.config.kubeconfig import KubeConfig
    from lightkube.config.models import Cluster, User
    from lightkube.resources.core_v1 import Pod
    from lightkube.types import PatchType

    client = AsyncClient(config=KubeConfig.from_one(cluster=Cluster(server=server), user=User(token="none")))
    stack.push_async_callback(client.close)

    async def list_pods() -> list[Any]:
        return [pod async for pod in client.list(Pod, namespace="*")]

    async def names() -> list[Any]:
        return [(pod.metadata.name, pod.metadata.labels) for pod in await list_pods()]

    async def fields() -> list[Any]:
        return [(pod.spec.nodeName, pod.status.phase) for pod in await list_pods()]

    return {
        "get": lambda: client.get(Pod, NAME, namespace=NAMESPACE),
        "patch": lambda: client.patch(Pod, NAME, PATCH, namespace=NAMESPACE, patch_type=PatchType.MERGE),
        "list": list_pods,
        "list names": names,
        "list fields": fields,
    }


async def official_aio(server: str, stack: AsyncExitStack, package: str = "kubernetes.aio") -> dict[str, Verb]:
    client = importlib.import_module(f"{package}.client")
    configuration = client.Configuration(host=server)
    api = await stack.enter_async_context(client.ApiClient(configuration))
    core = client.CoreV1Api(api)
    return {
        "get": lambda: core.read_namespaced_pod(NAME, NAMESPACE),
        "patch": lambda: core.patch_namespaced_pod(
            NAME, NAMESPACE, PATCH, _content_type="application/merge-patch+json"
        ),
        **listing(core.list_pod_for_all_namespaces),
    }


async def kubernetes_asyncio(server: str, stack: AsyncExitStack) -> dict[str, Verb]:
    return await official_aio(server, stack, "kubernetes_asyncio")


async def official(server: str, stack: AsyncExitStack) -> dict[str, Verb]:
    """The synchronous client, in as many threads as requests are under way."""
    from kubernetes import client

    configuration = client.Configuration(host=server)
    configuration.connection_pool_maxsize = 64
    core = client.CoreV1Api(client.ApiClient(configuration))
    executor = stack.enter_context(ThreadPoolExecutor(32))
    loop = asyncio.get_running_loop()
    return {
        "get": lambda: loop.run_in_executor(executor, lambda: core.read_namespaced_pod(NAME, NAMESPACE)),
        "patch": lambda: loop.run_in_executor(executor, lambda: core.patch_namespaced_pod(NAME, NAMESPACE, PATCH)),
        **listing(lambda: loop.run_in_executor(executor, core.list_pod_for_all_namespaces)),
    }


def kubeconfig(server: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "none"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": NAMESPACE}}],
        "current-context": "c",
    }


async def kr8s(server: str, stack: AsyncExitStack) -> dict[str, Verb]:
    from kr8s.asyncio import api as make_api
    from kr8s.asyncio.objects import Pod

    api = await make_api(url=server, kubeconfig=kubeconfig(server), serviceaccount="/nowhere")
    pod = await Pod({"metadata": {"name": NAME, "namespace": NAMESPACE}}, api=api)

    async def list_pods() -> list[Any]:
        return [result async for result in api.get("pods", namespace="all")]

    async def names() -> list[Any]:
        return [(pod.metadata["name"], pod.metadata["labels"]) for pod in await list_pods()]

    async def fields() -> list[Any]:
        return [(pod.spec["nodeName"], pod.status["phase"]) for pod in await list_pods()]

    return {
        "get": lambda: Pod.get(NAME, namespace=NAMESPACE, api=api),
        "patch": lambda: pod.patch(PATCH),
        "list": list_pods,
        "list names": names,
        "list fields": fields,
    }


SYSTEMS = {
    "aiohttp": bare,
    "setpoint": setpoint,
    "lightkube": lightkube,
    "kubernetes_asyncio": kubernetes_asyncio,
    "kr8s": kr8s,
    "kubernetes": official,
    "kubernetes.aio": official_aio,
}


async def rate(verb: Verb, concurrency: int, seconds: float) -> dict[str, float]:
    """Calls per second, by the clock and by this process's CPU time."""
    count = 0
    end = time.perf_counter() + seconds

    async def worker() -> None:
        nonlocal count
        while time.perf_counter() < end:
            await verb()
            count += 1

    start, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(worker() for _ in range(concurrency)))
    return {
        "per_second": count / (time.perf_counter() - start),
        "per_cpu_second": count / (time.process_time() - cpu),
    }


async def main(system: str, server: str, seconds: float) -> None:
    async with AsyncExitStack() as stack:
        verbs = await SYSTEMS[system](server, stack)
        results = {}
        for name, concurrency in MEASURED:
            if (
                " " not in name
            ):  # the first call of a verb makes connections and imports; one list is as good as another
                await verbs[name]()
            column = name if name.startswith("list") else f"{name} x{concurrency}"
            results[column] = await rate(verbs[name], concurrency, seconds)
        print(json.dumps(results))


asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
