"""What every cluster has from the start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from setpoint.apiserver.http_types import Request

if TYPE_CHECKING:
    from setpoint.apiserver.server import ApiServer

__all__ = ["SYSTEM_NAMESPACES", "create_objects"]

SYSTEM_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")


async def create_objects(server: ApiServer) -> None:
    """Creates the system's namespaces where they are missing."""
    for name in SYSTEM_NAMESPACES:
        if server.storage.get("namespaces", "", name) is not None:
            continue
        body = msgspec.json.encode({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        agent = {"user-agent": "kube-apiserver/v1.37.0"}
        response = await server.handle(Request("POST", "/api/v1/namespaces", headers=agent, body=body))
        if response.status != 201:
            raise RuntimeError(f"namespace {name} could not be created: {response.body!r}")
