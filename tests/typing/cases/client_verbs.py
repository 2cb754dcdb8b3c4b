"""What a type checker knows of the verbs."""

from __future__ import annotations

from typing import assert_type

from setpoint import blocking
from setpoint.client import Client, ObjectList, Watch, dynamic, metadata_only, retry_on_conflict
from setpoint.client.dynamic import DynamicObject
from setpoint.client.partial_metadata import PartialObjectMetadata
from setpoint.meta import Resource, Status
from setpoint.models.apps_v1 import Deployment
from setpoint.models.core_v1 import Node, Pod


async def verbs(client: Client, pod: Pod, resource: Resource) -> None:
    assert_type(await client.get(Pod, "x"), Pod)
    pods = await client.list(Pod)
    assert_type(pods, ObjectList[Pod])
    assert_type(pods[0], Pod)
    assert_type(pods[1:], list[Pod])
    assert_type(pods.items, list[Pod])
    assert_type([head.name for head in pods.heads], list[str])
    for listed in pods:
        assert_type(listed, Pod)
    assert_type([page async for page in client.pages(Node)], list[Node])
    assert_type(client.watch(Pod), Watch[Pod])
    async for event in client.watch(Pod):
        assert_type(event.object, Pod | Status)
    assert_type(await client.create(pod), Pod)
    assert_type(await client.update(pod), Pod)
    assert_type(await client.update_status(pod), Pod)
    assert_type(await client.replace(pod), Pod)
    assert_type(await client.patch(Pod, "x", {"metadata": {}}), Pod)
    assert_type(await client.apply(pod), Pod)
    assert_type(await client.delete(pod), Pod | Status)
    assert_type(await client.delete(Pod, "x"), Pod | Status)
    assert_type(await client.get(dynamic(resource), "x"), DynamicObject)
    assert_type(await client.get("deployments.apps", "x"), DynamicObject)
    assert_type(await client.list("po"), ObjectList[DynamicObject])
    assert_type([page async for page in client.pages("po")], list[DynamicObject])
    assert_type(await client.patch("po", "x", {}), DynamicObject)
    assert_type(await client.delete("po", "x"), DynamicObject | Status)
    assert_type(await client.kind("po"), type[DynamicObject])
    assert_type(await client.wait(pod, "Ready"), Pod)
    assert_type(await client.wait(pod, lambda result: result.is_ready), Pod)
    assert_type(await client.get(metadata_only(Pod), "x"), PartialObjectMetadata)
    assert_type(await client.core_v1.pods("ns").get("x"), Pod)
    assert_type(await client.core_v1.nodes().list(), ObjectList[Node])
    assert_type((await client.apps_v1.deployments().get_scale("x")).spec.replicas, int | None)
    assert_type(await retry_on_conflict(lambda: client.get(Deployment, "x")), Deployment)

    wrong: Node = await client.get(Pod, "x")  # E:
    await client.delete(Pod)  # E:
    await client.get(7, "x")  # E:
    await client.delete("pods")  # E:
    (await client.get("pods", "x")).spec  # E:
    await client.core_v1.podz("ns").list()  # E:
    await client.core_v1.nodes("ns").list()  # E:
    await client.core_v1.pods().create(wrong)  # E:
    (await client.get(Pod, "x")).spec.replicas  # E:
    await client.create(pod, dryrun=True)  # E:


def blocked(client: blocking.Client, pod: Pod) -> None:
    assert_type(client.get(Pod, "x"), Pod)
    assert_type(client.list(Pod), ObjectList[Pod])
    assert_type(list(client.pages(Node)), list[Node])
    assert_type(client.apply(pod), Pod)
    assert_type(client.delete(pod), Pod | Status)
    for event in client.watch(Pod):
        assert_type(event.object, Pod | Status)
    assert_type(client.core_v1.pods("ns").get("x"), Pod)
    assert_type(client.core_v1.nodes().list(), ObjectList[Node])
    assert_type(client.rest_mapper.resource("po"), Resource)
    for result in client.core_v1.nodes().list():
        assert_type(result, Node)
    with client.exec_stream(pod, ["date"]) as command:
        assert_type(list(command), list[tuple[str, bytes]])
    client.get(7, "x")  # E:
    assert_type(client.get("pods", "x"), DynamicObject)
    assert_type(client.list("pods"), ObjectList[DynamicObject])
    assert_type(client.wait(pod, "Ready"), Pod)
    client.core_v1.nodes("ns").list()  # E:
