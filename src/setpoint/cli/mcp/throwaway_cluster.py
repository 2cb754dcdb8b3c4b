"""The tool ``server``: a throw-away cluster on loopback, in this process, so that it ends with the session at the
latest, even if this process is killed.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import Annotated, Literal

from mcp.types import CallToolResult
from pydantic import Field

from setpoint.cli.mcp.tool_result import tool_result
from setpoint.concurrency import TaskScope, end


class ThrowawayCluster:
    """At most one embedded cluster, whose task runs in ``scope``."""

    def __init__(self, scope: TaskScope) -> None:
        self._scope = scope
        self._task: asyncio.Task[None] | None = None
        """The task of the cluster, also of one whose start was cancelled with its call."""
        self._url = ""
        self._changes = asyncio.Lock()
        self._folder: Path | None = None
        self.kubeconfig: Path | None = None
        """The kubeconfig of the cluster while it runs."""

    async def server(
        self,
        action: Annotated[
            Literal["start", "stop"], Field(description="start returns the running cluster if there is one.")
        ] = "start",
        nodes: Annotated[int, Field(ge=0, le=100, description="The number of hollow nodes.")] = 1,
    ) -> CallToolResult:
        """A throw-away Kubernetes cluster (embedded API server, control plane, hollow nodes on which pods become
        Running although no container is executed) on loopback, and the path of its kubeconfig, for kubectl and for
        trying an operator. Objects are kept in memory. It ends with this session.
        """
        async with self._changes:
            if action == "stop":
                await self._stop()
                return tool_result({"running": False}, "no throw-away cluster is running")
            if self.kubeconfig is None:
                await self._stop()
                await self._start(nodes)
            return tool_result(
                {"running": True, "url": self._url, "kubeconfig": str(self.kubeconfig)},
                f"Kubernetes 1.37 at {self._url}: kubectl --kubeconfig {self.kubeconfig} get all -A",
            )

    def remove_files(self) -> None:
        folder, self.kubeconfig, self._folder = self._folder, None, None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)  # a cleaner of temporary files may have been there before

    async def _start(self, nodes: int) -> None:
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        task = self._task = self._scope.start(self._run(nodes, ready), name="throw-away cluster")
        await asyncio.wait((task, ready), return_when=asyncio.FIRST_COMPLETED)
        ready.result()

    async def _stop(self) -> None:
        if self._task is not None:
            await end([self._task])
            self._task = None

    async def _run(self, nodes: int, ready: asyncio.Future[None]) -> None:
        folder = self._folder = Path(tempfile.mkdtemp(prefix="setpoint-mcp-"))
        try:
            from setpoint.cluster.embedded import EmbeddedCluster

            async with EmbeddedCluster(nodes=nodes, default_objects=True) as cluster:
                cluster.write_kubeconfig(folder / "kubeconfig")
                self.kubeconfig, self._url = folder / "kubeconfig", cluster.url
                ready.set_result(None)
                await asyncio.Event().wait()
        except Exception as problem:
            if ready.done():
                raise
            ready.set_exception(problem)
        finally:
            self.remove_files()
