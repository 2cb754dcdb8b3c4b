"""EmbeddedCluster: a whole Kubernetes API in this process, on loopback, for programs that need no other."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from setpoint.apiserver import ApiServer, HttpFront, MemoryStorage, SqliteStorage
from setpoint.client import Client, ClientConfig, InProcessTransport, PatchType
from setpoint.cluster.catalog import names_of
from setpoint.cluster.control_plane import ControlPlane
from setpoint.cluster.local_webhooks import LocalWebhooks
from setpoint.cluster.nodes import HollowNode
from setpoint.meta.yaml_text import to_yaml
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.webhook import Webhooks

ESTABLISHED_WITHIN = 10.0
"""Seconds in which the server has to serve a CustomResourceDefinition that was just installed."""


class EmbeddedCluster:
    """The embedded API server over HTTP, with its control plane, in the running loop.

    ```python
    async with EmbeddedCluster() as cluster:
        print(cluster.url)
        await cluster.client.list(Pod)
    ```

    Args:
        host, port: where HTTP listens; port 0 picks a free one.
        data_dir: keeps the objects there (SQLite); None keeps them in memory.
        control_plane: whether the controllers of `ControlPlane` and the hollow nodes run, or the names of those
            controllers that do.
        nodes: how many hollow nodes there are, or what each is like; with 0 every pod stays pending.

    ``client`` talks to the server's core without a socket, as an administrator; ``url`` is for everybody else.
    A control plane that fails ends the ``async with`` block with its reason.
    """

    client: Client

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        data_dir: Path | None = None,
        control_plane: bool | Iterable[str] = True,
        nodes: int | Sequence[HollowNode] = 1,
    ) -> None:
        self._host = host
        self._port = port
        self._data_dir = data_dir
        self._controllers = names_of(control_plane)
        self._nodes = nodes
        self._stack = AsyncExitStack()
        self._front: HttpFront | None = None
        self._webhooks = LocalWebhooks()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            storage = MemoryStorage() if self._data_dir is None else SqliteStorage(self._data_dir)
            server = await stack.enter_async_context(ApiServer(storage=storage, webhook_caller=self._webhooks))
            self._front = await stack.enter_async_context(HttpFront(server, host=self._host, port=self._port))
            self.client = await stack.enter_async_context(Client(InProcessTransport(server.handle)))
            if self._controllers is not None:
                plane = ControlPlane(self.client, controllers=self._controllers, nodes=self._nodes)
                server.kubelets = plane.kubelets
                await stack.enter_async_context(plane)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    @property
    def url(self) -> str:
        """Where clients find the server, such as ``http://127.0.0.1:43210``."""
        assert self._front is not None, "the cluster has not been entered"
        return self._front.url

    def config(self) -> ClientConfig:
        """How a client reaches the server over HTTP."""
        return ClientConfig(server=self.url)

    def write_kubeconfig(self, path: Path) -> None:
        """Writes a kubeconfig for this server; an older file is replaced in one step, readable by its owner only.

        Raises:
            OSError: the file can't be written.
        """
        assert self._front is not None, "the cluster has not been entered"
        text = to_yaml([self._front.kubeconfig()])
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f".{path.name}.{os.getpid()}")
        new.touch(mode=0o600)
        try:
            new.write_text(text)
            new.replace(path)
        finally:
            new.unlink(missing_ok=True)

    async def serve(self, webhooks: Webhooks) -> None:
        """Calls ``webhooks`` in this process from now on; definitions of what they convert are applied with them.

        Raises:
            ApiError: the server refused a configuration or a definition.
        """
        await self._webhooks.serve(self.client, webhooks)

    async def install(self, definition: dict[str, Any]) -> None:
        """Applies a CustomResourceDefinition and waits until the server serves it.

        Raises:
            ApiError: the server refused it.
            TimeoutError: it was not served in 10 s.
        """
        name = definition["metadata"]["name"]
        await self.client.patch(
            CustomResourceDefinition, name, definition, type=PatchType.APPLY, field_manager="setpoint"
        )
        async with asyncio.timeout(ESTABLISHED_WITHIN):
            while True:
                crd = await self.client.get(CustomResourceDefinition, name)
                if crd.is_established:
                    return
                await asyncio.sleep(0.02)
