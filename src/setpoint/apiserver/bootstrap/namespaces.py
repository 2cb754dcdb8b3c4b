"""The namespaces that every cluster has from the start."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from setpoint.apiserver.http_types import Request, Response
from setpoint.apiserver.storage import Storage

SYSTEM_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")


async def create_namespaces(storage: Storage, handle: Callable[[Request], Awaitable[Response]]) -> None:
    """Creates the system namespaces that are missing, through requests to ``handle``. Raises RuntimeError if a request
    is refused.
    """
    for name in SYSTEM_NAMESPACES:
        if storage.get("namespaces", "", name) is not None:
            continue
        body = msgspec.json.encode({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        agent = {"user-agent": "kube-apiserver/v1.37.0"}
        response = await handle(Request("POST", "/api/v1/namespaces", headers=agent, body=body))
        if response.status != 201:
            raise RuntimeError(f"namespace {name} could not be created: {response.body!r}")
