"""The way of an operator into a cluster: from its project to a running program, and to users who notice nothing else.

The server has users and roles in force, every process is a pod's and has its account's rights alone, and a user may do
what ``edit`` in one namespace allows. Only the kubelet is a part of the test: it starts the processes.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.deploy.clusters import READY, Cluster, Kubelet, clusters, helm, kubelet

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "database"
APP = EXAMPLE / "database.py"
SPACE = "data-system"
IMAGE = "registry.example.com/database:1.0.0"
SELECTOR = "app.kubernetes.io/name=database,app.kubernetes.io/component=manager"
STOP = "hollow.setpoint.io/stop-seconds"
KINDS = "databases,statefulsets,services,secrets,cronjobs,jobs,pods,persistentvolumeclaims,configmaps,leases"
pytestmark = [pytest.mark.generated, pytest.mark.wall_clock]


def written(folder: Path, form: str) -> Path:
    command = [sys.executable, APP, "manifests", "--image", IMAGE, "--namespace", SPACE, "--form", form]
    done = subprocess.run([*command, "--output", folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


class User:
    """Jane, who may do in the namespace ``default`` what ``edit`` allows there."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def kubectl(self, *words: str | Path, stdin: str = "", fails: bool = False) -> str:
        return await self._cluster.kubectl("--as=jane", *words, stdin=stdin, fails=fails)

    async def objects(self) -> set[str]:
        return set((await self._cluster.kubectl("get", KINDS, "--namespace", "default", "-o", "name")).split())


async def a_database_lives_and_goes(cluster: Cluster, pods: Kubelet) -> None:
    user = User(cluster)
    await cluster.kubectl("rollout", "status", "deployment/database", "--namespace", SPACE, "--timeout=120s")
    await cluster.kubectl("create", "rolebinding", "jane", "--clusterrole=edit", "--user=jane")
    before = await user.objects()

    await user.kubectl("apply", "-f", EXAMPLE / "orders.yaml")
    await user.kubectl("wait", "database/orders", "--for=condition=Ready", "--timeout=60s")
    result = {
        "database.data.example.com/orders", "statefulset.apps/orders", "service/orders", "secret/orders-password",
        "cronjob.batch/orders-backup", "pod/orders-0", "persistentvolumeclaim/data-orders-0",
        "persistentvolumeclaim/orders-backups",
    }  # fmt: skip
    assert await user.objects() - before == result
    claim = await user.kubectl("get", "database", "orders", "-o", "jsonpath={.spec.backup.claim}")
    assert claim == "orders-backups", "the webhook has filled it in"

    old = await user.kubectl("get", "databases.v1alpha1.data.example.com", "orders", "-o", "jsonpath={.spec}")
    assert yaml.safe_load(old) == {"image": "postgres:18", "schedule": "0 3 * * *", "size": "1Gi"}
    new = await user.kubectl("get", "databases.v1.data.example.com", "orders", "-o", "jsonpath={.spec.storage}")
    assert new == "1Gi"

    change = ("patch", "database", "orders", "--type=merge", "-p", '{"spec":{"storage":"2Gi"}}')
    assert "spec.storage: Forbidden: the volume of a database keeps its size" in await user.kubectl(*change, fails=True)
    assert "forbidden" in (await user.kubectl("delete", "crd", "databases.data.example.com", fails=True)).lower()

    await user.kubectl("delete", "database", "orders", "--timeout=60s")
    await user.kubectl("delete", "persistentvolumeclaim", "orders-backups", "--timeout=60s")
    await cluster.kubectl("wait", "--for=delete", "--timeout=60s", *sorted(result))
    left = await user.objects() - before
    assert not left, "the deletion leaves no trace"
    assert not pods.forbidden()


async def test_with_kubectl_apply_k(tmp_path: Path) -> None:
    async with clusters(tmp_path) as cluster:
        deploy = written(tmp_path / "deploy", "kustomize")
        # The kustomization is the user's; here it says how the pods of the test behave.
        notes = {"spec": {"template": {"metadata": {"annotations": {READY: "never", STOP: "8"}}}}}
        mine = yaml.safe_load((deploy / "kustomization.yaml").read_text())
        mine["patches"] = [{"target": {"kind": "Deployment"}, "patch": yaml.safe_dump(patch_of("database", notes))}]
        (deploy / "kustomization.yaml").write_text(yaml.safe_dump(mine))
        async with kubelet(cluster, SPACE, SELECTOR) as pods:
            pods.programs["1.0.0"] = APP
            await cluster.kubectl("apply", "-k", deploy, "--server-side", "--validate=strict")
            await a_database_lives_and_goes(cluster, pods)
            await cluster.kubectl("delete", "-k", deploy, "--timeout=120s")
        everything = await cluster.kubectl("get", "all,crd,clusterroles,leases,secrets", "-A", "-o", "name")
        assert "database" not in everything


async def test_with_helm_install(tmp_path: Path) -> None:
    tool = helm(tmp_path)
    async with clusters(tmp_path) as cluster:
        chart = written(tmp_path / "chart", "helm")
        values = tmp_path / "values.yaml"
        values.write_text(yaml.safe_dump({"podAnnotations": {READY: "never", STOP: "8"}}))
        async with kubelet(cluster, SPACE, SELECTOR) as pods:
            pods.programs["1.0.0"] = APP
            place = ("--namespace", SPACE, "--create-namespace", "--values", values)
            await cluster.run(tool, "install", "database", chart, *place, "--wait", "--timeout", "2m")
            await a_database_lives_and_goes(cluster, pods)
            await cluster.run(tool, "uninstall", "database", "--namespace", SPACE, "--wait", "--timeout", "2m")
            await cluster.kubectl("wait", "pods", "--all", "--for=delete", "--namespace", SPACE, "--timeout=60s")
        everything = await cluster.kubectl("get", "all,crd,clusterroles,leases,secrets", "-A", "-o", "name")
        assert {part for part in everything.split() if "database" in part} == {
            "customresourcedefinition.apiextensions.k8s.io/databases.data.example.com",
            "lease.coordination.k8s.io/database.data.example.com",
            "secret/database-webhook-tls",
        }, "the definition, and what the program itself has made"


def patch_of(name: str, change: dict[str, object]) -> dict[str, object]:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, **change}
