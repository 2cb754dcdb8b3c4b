"""Every form on a server with TLS, users and roles in force, and the operator's process under exactly its account.

With ``SETPOINT_KUBECONFIG`` and a kubeconfig of an administrator, the same on any other cluster.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.deploy.clusters import Cluster, clusters, helm
from tests.deploy.shop import operator
from tests.programs import program

from setpoint.deploy.file_tree import write
from setpoint.deploy.helm import helm as chart_of

ROOT = Path(__file__).parents[2]
APP = ROOT / "examples" / "mykind.py"
SPACE = "mykind-system"
IMAGE = "registry.example.com/mykind:1.0.0"
SAMPLE = {
    "apiVersion": "grp.example.com/v1alpha1",
    "kind": "Mykind",
    "metadata": {"name": "sample", "namespace": "default"},
    "spec": {"numpods": 2},
}
pytestmark = [pytest.mark.generated, pytest.mark.wall_clock]


async def works(cluster: Cluster, account: str, *words: str) -> None:
    """The operator of that account does its work, and is refused nothing."""
    kubeconfig = await cluster.credentials(account, SPACE)
    words = ("run", "--kubeconfig", str(kubeconfig), "--leader-elect", *words)
    async with program(APP, *words, home=cluster.home) as running:
        await cluster.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(SAMPLE))
        await cluster.kubectl("wait", "mk/sample", "--for=jsonpath={.status.ready}=2", "--timeout=90s")
        await cluster.kubectl("delete", "pod", "sample-0", "--wait=false")
        await cluster.kubectl("scale", "mk/sample", "--replicas=1")
        await cluster.kubectl("wait", "mk/sample", "--for=jsonpath={.status.ready}=1", "--timeout=90s")
        await cluster.kubectl("delete", "mk/sample")
        assert not [line for line in running.err if "forbidden" in line.lower()], running.printed()


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
        await works(cluster, "mykind", *(("--namespace", more[1]) if more else ()))
        await cluster.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=text)


async def test_kustomize_is_applied_and_the_operator_works(tmp_path: Path) -> None:
    async with clusters(tmp_path) as cluster:
        manifests("--form", "kustomize", "--output", tmp_path / "deploy")
        await cluster.kubectl("apply", "-k", tmp_path / "deploy", "--server-side", "--validate=strict")
        await cluster.kubectl("wait", "--for=condition=Established", "crd/mykinds.grp.example.com")
        await works(cluster, "mykind")
        await cluster.kubectl("delete", "--ignore-not-found", "-k", tmp_path / "deploy")


@pytest.mark.parametrize("certificates", ["own", "cert-manager"])
def test_the_values_of_a_chart_say_who_may_call_its_webhooks(certificates: str, tmp_path: Path) -> None:
    tool, chart = helm(tmp_path), tmp_path / "chart"
    write(chart, chart_of(operator(certificates=certificates)))

    def rendered(*values: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """All documents, and the pod template of the manager."""
        words = (tool, "template", "mk", chart, "--namespace", SPACE, "--kube-version", "1.37")
        text = subprocess.run([*words, "--set", ",".join(values)], capture_output=True, check=True).stdout
        documents = [document for document in yaml.safe_load_all(text) if document]
        (deployment,) = [document for document in documents if document["kind"] == "Deployment"]
        return documents, deployment["spec"]["template"]

    documents, pod = rendered("webhookCallers.clientCA=")
    words = " ".join(pod["spec"]["containers"][0]["args"])
    assert not any(flag in words for flag in ("--webhook-client", "--webhook-tokens", "--webhook-address"))
    assert "checksum/webhook-callers" not in pod["metadata"]["annotations"]
    assert not [document for document in documents if "ca.crt" in document.get("data", {})]

    callers = ("webhookCallers.clientCA=a", "webhookCallers.clientNames={b}", "webhookCallers.tokens=require")
    documents, pod = rendered(*callers, "networkPolicy.webhookNetworks={10.0.0.0/24}")
    arguments = pod["spec"]["containers"][0]["args"]
    flags = [
        "--webhook-client-ca=/var/run/webhook-callers/ca.crt", "--webhook-client-name=b", "--webhook-tokens=require"
    ]  # fmt: skip
    assert [argument for argument in arguments if argument in flags] == flags
    services = [document["metadata"]["name"] for document in documents if document["kind"] == "Service"]
    (service,) = [name for name in services if name.endswith("-webhook")]
    address = f"--webhook-address=https://{service}.{SPACE}.svc:443"
    assert (address in arguments) is (certificates == "cert-manager"), "a program with its own certificates knows it"
    assert [document["data"]["ca.crt"] for document in documents if "ca.crt" in document.get("data", {})] == ["a"]
    assert pod["metadata"]["annotations"]["checksum/webhook-callers"] == sha256(b"a").hexdigest()
    (policy,) = [document for document in documents if document["kind"] == "NetworkPolicy"]
    assert policy["spec"]["ingress"][-1]["from"] == [{"ipBlock": {"cidr": "10.0.0.0/24"}}]


async def test_a_chart_is_linted_installed_upgraded_and_uninstalled_and_the_operator_works(tmp_path: Path) -> None:
    tool = helm(tmp_path)
    chart = tmp_path / "chart"
    manifests("--form", "helm", "--output", chart)
    async with clusters(tmp_path) as cluster:
        assert "1 chart(s) linted, 0 chart(s) failed" in await cluster.run(tool, "lint", "--strict", chart)
        values = "monitoring.enabled=true,priorityClassName=high,nodeSelector.a=b,env[0].name=A"
        values += ",extraArgs={--x},options.source=rain,options.count=1000000"
        template = (tool, "template", "mk", chart, "--namespace", SPACE, "--kube-version", "1.37", "--set")
        rendered = await cluster.run(*template, values)
        documents: list[dict[str, Any]] = [item for item in yaml.safe_load_all(rendered) if item]
        (deployment,) = [document for document in documents if document["kind"] == "Deployment"]
        pod = deployment["spec"]["template"]["spec"]
        assert (pod["priorityClassName"], pod["nodeSelector"]) == ("high", {"a": "b"})
        assert pod["containers"][0]["args"][-3:] == ["--count=1000000", "--source=rain", "--x"]
        assert {document["kind"] for document in documents} > {"ServiceMonitor", "PrometheusRule", "ConfigMap"}
        assert "replicas" in await cluster.run(*template, "replicas=x", fails=True)
        assert "nope" in await cluster.run(*template, "nope=1", fails=True)

        await cluster.run(tool, "install", "mykind", chart, "--namespace", SPACE, "--create-namespace")
        await cluster.kubectl("wait", "--for=condition=Established", "crd/mykinds.grp.example.com")
        await works(cluster, "mykind")
        await cluster.run(tool, "upgrade", "mykind", chart, "--namespace", SPACE, "--set", "logLevel=debug")
        kubectl = await cluster.kubectl("get", "deployment/mykind", "--namespace", SPACE, "-o", "yaml")
        assert "--log-level=debug" in kubectl
        await cluster.run(tool, "uninstall", "mykind", "--namespace", SPACE)
        left = await cluster.kubectl("get", "crd", "mykinds.grp.example.com", "-o", "name")
        assert "mykinds.grp.example.com" in left, "definitions are kept, and with them all objects"
        assert "mykind" not in await cluster.kubectl("get", "deployments,roles,clusterroles", "-A", "-o", "name")
        await cluster.kubectl("delete", "crd", "mykinds.grp.example.com")
