"""The chart's uninstall hook: only where a value says so does ``helm uninstall`` delete the users' objects.

The operator's pod and the hook's are processes on the server's node, each with the rights of its account alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml
from tests.deploy.clusters import Cluster, helm
from tests.ports import reserved_port
from tests.programs import server

APP = Path(__file__).with_name("stall_operator.py")
SPACE = "market"
KINDS = "crd,clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingwebhookconfigurations"
MORE = "all,roles,rolebindings,serviceaccounts,leases,secrets,configmaps,networkpolicies,poddisruptionbudgets"
pytestmark = [pytest.mark.generated, pytest.mark.wall_clock]


def chart(home: Path, webhooks: int, *words: str) -> Path:
    """The chart, with a free port of this machine in place of that which a pod has for itself."""
    folder = home / "chart"
    image = ("--image", "process.setpoint.dev/stall:1.0.0")
    command = [sys.executable, APP, "manifests", *image, "--form", "helm", "--output", folder, "--replicas", "1"]
    done = subprocess.run([*command, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for template in (folder / "templates").iterdir():
        template.write_text(template.read_text().replace("9443", str(webhooks)))
    return folder


@asynccontextmanager
async def installed(home: Path, monkeypatch: pytest.MonkeyPatch, *values: str) -> AsyncIterator[tuple[Cluster, str]]:
    """A cluster with the operator, which runs and serves its webhooks, and two stalls of a user in it."""
    tool = helm(home)
    with reserved_port() as webhooks, reserved_port() as health:
        # The image's program, at this machine's free ports.
        program = home / "bin" / "stall"
        program.parent.mkdir()
        program.write_text(
            f"#!{sys.executable}\n"
            "import os, sys\n"
            "words = [w for w in sys.argv[1:] if not w.startswith(('--metrics-bind', '--health-probe-bind'))]\n"
            "if words[0] == 'run':\n"
            f"    words += ['--metrics-bind-address=0', '--health-probe-bind-address=127.0.0.1:{health}']\n"
            f"    words += ['--webhook-port={webhooks}']\n"
            f"os.execv({sys.executable!r}, [{sys.executable!r}, {str(APP)!r}, *words])\n"
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        file = home / "values.yaml"
        file.write_text(yaml.safe_dump({"resources": {}}))  # a limit of memory would be one of addresses
        async with server(home, "--auth", "--nodes", "local") as (_, _, kubeconfig):
            cluster = Cluster(home, kubeconfig)
            place = ("--namespace", SPACE, "--create-namespace", "--values", file)
            sets = ("--set", ",".join(values)) if values else ()
            await cluster.run(
                tool, "install", "market", chart(home, webhooks), *place, *sets, "--wait", "--timeout", "3m"
            )
            await cluster.kubectl("wait", "--for=condition=Established", "crd/stalls.stalls.example.com")
            yield cluster, tool


async def stalls(cluster: Cluster, **metres: int) -> None:
    documents = [
        {
            "apiVersion": "stalls.example.com/v2",
            "kind": "Stall",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"metres": number},
        }
        for name, number in metres.items()
    ]
    await cluster.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(documents))


async def left(cluster: Cluster) -> set[str]:
    """The names of the objects of the release and of the operator."""
    wide = await cluster.kubectl("get", KINDS, "-o", "name")
    inside = await cluster.kubectl("get", MORE, "--namespace", SPACE, "-o", "name")
    return {name for name in (wide + inside).split() if "market" in name or "stall" in name}


async def test_with_the_value_the_objects_go_while_the_operator_runs_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = ("uninstall.objects=true", "uninstall.timeout=4", "crds.keep=false", "options.market=fish")
    values += ("options.namespace=default",)
    async with installed(tmp_path, monkeypatch, *values) as (cluster, tool):
        hooks = await cluster.run(tool, "get", "hooks", "market", "--namespace", SPACE)
        (job,) = [hook for hook in yaml.safe_load_all(hooks) if hook["kind"] == "Job"]
        (container,) = job["spec"]["template"]["spec"]["containers"]
        assert container["args"][-2:] == ["--watch-namespace=default", "--option=market=fish"]
        await stalls(cluster, apples=2, pears=13)
        uninstall = (tool, "uninstall", "market", "--namespace", SPACE, "--timeout", "3m")
        await cluster.run(*uninstall, fails=True)
        log = await cluster.kubectl("logs", "job/market-stall-uninstall", "--namespace", SPACE)
        assert "default/pears waits for stalls.example.com/stall" in log
        assert "deployment.apps/market-stall" in await left(cluster), (
            "a failure leaves the operator, which has to mend it"
        )
        old = await cluster.kubectl("get", "stalls.v1.stalls.example.com", "pears", "-o", "jsonpath={.spec.size}")
        assert old == "13", "the conversion is in force"

        await stalls(cluster, pears=3)
        await cluster.run(*uninstall)
        proofs = await cluster.kubectl("get", "configmaps", "--namespace", "default", "-o", "name")
        assert {"configmap/cleaned-apples", "configmap/cleaned-pears"} <= {*proofs.split()}
        assert await left(cluster) == set()


async def test_without_the_value_the_objects_and_their_definition_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with installed(tmp_path, monkeypatch) as (cluster, tool):
        await stalls(cluster, apples=2)
        await cluster.run(tool, "uninstall", "market", "--namespace", SPACE, "--timeout", "3m", "--wait")
        await cluster.kubectl("wait", "pods", "--all", "--for=delete", "--namespace", SPACE, "--timeout=60s")
        metres = await cluster.kubectl("get", "stalls", "apples", "-o", "jsonpath={.spec.metres}")
        assert metres == "2"
        assert await left(cluster) == {
            "customresourcedefinition.apiextensions.k8s.io/stalls.stalls.example.com",
            "lease.coordination.k8s.io/stall.stalls.example.com",
            "secret/market-stall-webhook-tls",
        }
