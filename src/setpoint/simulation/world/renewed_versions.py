"""Renewed versions: every object gets a new version with the same content, as by a program that shares a field."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

import msgspec

from setpoint.apiserver import ApiServer
from setpoint.apiserver.http_types import Response
from setpoint.client import PatchType
from setpoint.client.transport import Request
from setpoint.simulation.sandbox.actor import AUTHOR, Actor
from setpoint.simulation.trace.history import History
from setpoint.simulation.trace.trace import Trace
from setpoint.simulation.world.single_step_creation import find_served

_MANAGER = "another-program"


class VersionHost(Protocol):
    """The interface of a run that `renew_versions` uses."""

    @property
    def history(self) -> History: ...
    @property
    def server(self) -> ApiServer: ...
    @property
    def trace(self) -> Trace: ...
    async def handle(self, request: Request) -> Response: ...


async def renew_versions(world: VersionHost, collections: Collection[str]) -> None:
    """Gives each object of the collections a new resourceVersion: another program applies the spec or the data that the
    object has, so only ``metadata.managedFields`` changes. Objects with neither are left out.
    """
    other = Actor("another program", "others")
    world.trace.add("others", other.name, "writes", "gives all objects new versions with the same content")
    for (collection, _), document in world.history.documents().items():
        part = next((name for name in ("spec", "data") if document.get(name)), "")
        if collection not in collections or not part:
            continue
        names = {key: value for key, value in document["metadata"].items() if key in ("name", "namespace")}
        served = find_served(world.server, document["apiVersion"], document["kind"])
        path = served.resource.path(namespace=names.get("namespace", ""), name=names["name"])
        kind = {key: document[key] for key in ("apiVersion", "kind")}
        body = msgspec.json.encode({**kind, "metadata": names, part: document[part]})
        headers = {"content-type": PatchType.APPLY.value, "user-agent": _MANAGER}
        AUTHOR.set(other)
        try:
            await world.handle(Request("PATCH", path, (("fieldManager", _MANAGER), ("force", "true")), headers, body))
        finally:
            AUTHOR.set(None)
