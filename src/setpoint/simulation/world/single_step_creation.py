"""Direct creation: creates the objects of a scenario directly in their final form, instead of step by step."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import msgspec

from setpoint.apiserver import ApiServer
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.client import Client, PatchType
from setpoint.patch import merge_patch
from setpoint.simulation.scenario.desired_state import extract_desired
from setpoint.simulation.trace.history import History


async def create_directly(
    documents: Iterable[dict[str, Any]],
    client: Client,
    server: ApiServer,
    history: History,
    wait: Callable[[], Awaitable[None]] | None,
) -> None:
    """Creates each object, or patches the existing object of the same kind and name. If a document has a status, a
    second request writes it to the status subresource, if the kind has one. Calls ``wait`` after each object.
    """
    merge = PatchType.MERGE.value
    for document in documents:
        metadata = document["metadata"]
        served = find_served(server, document["apiVersion"], document["kind"])
        resource = served.resource
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        path = resource.path(namespace=namespace, name=name)
        operation = {key: value for key, value in document.items() if key != "status" or not served.has_status}
        if history.get(str(resource.group_resource), namespace, name) is None:
            await client.request("POST", resource.path(namespace=namespace), body=msgspec.json.encode(operation))
        else:
            change = merge_patch.diff(
                extract_desired(msgspec.json.decode(await client.request("GET", path))), operation
            )
            await client.request("PATCH", path, body=msgspec.json.encode(change), content_type=merge)
        if served.has_status and (status := document.get("status")):
            body = msgspec.json.encode({"status": status})
            await client.request("PATCH", f"{path}/status", body=body, content_type=merge)
        if wait is not None:
            await wait()


def find_served(server: ApiServer, api_version: str, kind: str) -> ServedResource:
    group, _, version = api_version.rpartition("/")
    served = server.registry.find_kind(group, version, kind)
    assert served is not None, f"{kind} of {api_version} is not served"
    return served
