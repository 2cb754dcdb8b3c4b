"""Suites of a published operator for kuttl and chainsaw, unchanged, against ``setpoint server``: those of
opentelemetry-operator, which runs beside the server, with its webhooks behind its pod. Its older version has suites for
kuttl, its newer one for chainsaw.

The suites are in the operator's Go modules, from which all programs are built: ``make test-peers``. That takes seven
minutes of CPU time, once.
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.clients.test_clients import built, serving_at
from tests.clients.test_tools import kubectl_of, runner
from tests.ports import reserved_port
from tests.toolchains import go_module, program_of_go, run_offline

from setpoint.webhook.certificate_authority import issue, make_authority

pytestmark = pytest.mark.peers
__all__ = ["built"]
OPERATOR = "github.com/open-telemetry/opentelemetry-operator"
PROMETHEUS = "github.com/prometheus-operator/prometheus-operator"
NAMESPACE = "opentelemetry-operator-system"
SERVICE = f"opentelemetry-operator-webhook-service.{NAMESPACE}.svc"
SECRET = "opentelemetry-operator-controller-manager-service-cert"
KUTTL = "github.com/kudobuilder/kuttl/cmd/kubectl-kuttl@v0.22.0"
CHAINSAW = "github.com/kyverno/chainsaw@v0.2.15"
PATIENCE = 120
"""Seconds that an assertion may take."""
NETWORKS = "10.96.0.0/16,fd00:10:96::/112"
NATIVE = ("--selector", "sidecar=native")
"""A label of the tests for Kubernetes 1.29 and newer."""
FILTERS = (
    "--labels-filter=.*filter.out",
    "--annotations-filter=.*filter.out",
    "--annotations-filter=config.*.gke.io.*",
)
"""Flags of the operator for the suite ``e2e-metadata-filters``."""
PROGRAMS_NEEDED = {"filelog-receiver", "operator-restart"}
"""Tests that read the metrics of a program that hollow pods don't run, or change how the operator itself runs."""
OTHER_KUTTL = {"smoke-daemonset"}
"""A test that names its script by its path from another folder than the one in which today's kuttl runs it."""


def definitions(sources: Path) -> Path:
    """The folder with the definitions of Prometheus' kinds, of the version that the operator requires."""
    folder = run_offline(["go", "list", "-m", "-f", "{{.Dir}}", PROMETHEUS], sources).strip()
    return Path(folder, "example", "prometheus-operator-crd")


def objects(manifests: str, certificate: bytes, key: bytes, port: int) -> Iterator[dict[str, Any]]:
    """The objects that install the operator, with a certificate in the place of those of cert-manager. Its pod stands
    for the program at this port.
    """
    bundle = base64.b64encode(certificate).decode()
    data = {"tls.crt": bundle, "tls.key": base64.b64encode(key).decode()}
    for obj in yaml.safe_load_all(manifests):
        if obj["kind"] in ("Certificate", "Issuer"):
            continue
        for webhook in obj.get("webhooks", []):
            webhook["clientConfig"]["caBundle"] = bundle
        if obj["kind"] == "CustomResourceDefinition" and "webhook" in obj["spec"].get("conversion", {}):
            obj["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = bundle
        if obj["kind"] == "Deployment":
            metadata = obj["spec"]["template"]["metadata"]
            metadata.setdefault("annotations", {})["hollow.setpoint.io/at"] = f"9443=127.0.0.1:{port}"
        yield obj
    metadata = {"name": SECRET, "namespace": NAMESPACE}
    yield {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": metadata, "data": data}


@contextmanager
def operating(program: Path, kubeconfig: Path, home: Path, *flags: str) -> Iterator[None]:
    """Runs the operator within the block."""
    environment = {
        **os.environ,
        "KUBECONFIG": str(kubeconfig),
        "TMPDIR": str(home),
        "NAMESPACE": NAMESPACE,
        "SERVICE_ACCOUNT_NAME": "opentelemetry-operator-controller-manager",
    }
    command = [program, "--health-probe-addr=0", "--metrics-addr=0", *flags]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            if "Starting workers" in line:
                break
        assert process.poll() is None, "".join(lines)
        reader = threading.Thread(target=process.stderr.read)
        reader.start()
        try:
            yield
            assert process.poll() is None
        finally:
            process.terminate()
            reader.join()


@contextmanager
def installed(
    version: str, suites: dict[str, set[str]], built: Path, tmp_path: Path, *flags: str
) -> Iterator[tuple[Path, Path]]:
    """A folder with the operator's ``suites``, each without some of its tests, and the kubeconfig of a server on which
    the operator is installed and runs.
    """
    program = program_of_go(f"{OPERATOR}@{version}", "", built / f"operator-{version}")
    sources = go_module(f"{OPERATOR}@{version}", built / "modules")
    now = datetime.now(UTC)
    authority = make_authority("test", now=now, lifetime=timedelta(days=1))
    pair = issue(authority, [SERVICE], now=now, lifetime=timedelta(hours=12))
    certificates = tmp_path / "k8s-webhook-server" / "serving-certs"
    certificates.mkdir(parents=True)
    (certificates / "tls.crt").write_bytes(pair.certificate)
    (certificates / "tls.key").write_bytes(pair.key)
    networks = f"--service-cluster-ip-range={NETWORKS}"
    with serving_at(tmp_path / "kubeconfig", "--auth", networks) as kubeconfig, reserved_port() as port:
        kubectl = runner(kubectl_of("1.37", built), tmp_path, kubeconfig)
        kubectl("create", "-f", definitions(sources))
        kubectl("label", "nodes", "--all", "ingress-ready=true")  # as in the cluster of the operator's own CI
        manifests = kubectl("kustomize", sources / "config" / "default")
        text = yaml.safe_dump_all(objects(manifests, authority.certificate, pair.key, port))
        kubectl("apply", "--server-side", "-f", "-", stdin=text)
        with operating(program, kubeconfig, tmp_path, f"--webhook-port={port}", *flags):
            kubectl("rollout", "status", "--namespace", NAMESPACE, "deployment", f"--timeout={PATIENCE}s")
            yield copied(sources, suites, tmp_path), kubeconfig


def copied(sources: Path, suites: dict[str, set[str]], tmp_path: Path) -> Path:
    """A folder with suites. Go's cache has none that may be written, and no script that may be run."""
    folder = tmp_path / "suites"
    for suite, left_out in suites.items():
        shutil.copytree(sources / "tests" / suite, folder / "tests" / suite)
        for test in left_out:
            shutil.rmtree(folder / "tests" / suite / test)
    for file in folder.rglob("*"):
        file.chmod(0o755)
    return folder


def passes(program: Path, folder: Path, kubeconfig: Path, *words: str | Path) -> str:
    """Runs a program on suites, and returns its output; the test fails if the program does."""
    tools = Path(sys.executable).parent  # suites call kubectl
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    command = [program, "test", *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_suites_for_kuttl_pass(built: Path, tmp_path: Path) -> None:
    kuttl = program_of_go(KUTTL, "/cmd/kubectl-kuttl", built / "kuttl")
    with installed("v0.93.0", {"e2e": OTHER_KUTTL, "e2e-pdb": set()}, built, tmp_path) as (folder, kubeconfig):
        words = ("--timeout", str(PATIENCE), "--parallel", "2", "--artifacts-dir", tmp_path)
        printed = passes(kuttl, folder, kubeconfig, "tests/e2e", "tests/e2e-pdb", *words)
    assert printed.count("--- PASS: kuttl/harness/") == 21


def test_suites_for_chainsaw_pass(built: Path, tmp_path: Path) -> None:
    chainsaw = program_of_go(CHAINSAW, "", built / "chainsaw")
    names = ("e2e", "e2e-pdb", "e2e-metadata-filters", "e2e-targetallocator-cr", "e2e-sidecar", "e2e-prometheuscr")
    suites = {name: PROGRAMS_NEEDED if name == "e2e" else set[str]() for name in (*names, "step-templates")}
    times = [f"--{name}-timeout={PATIENCE}s" for name in ("apply", "assert", "cleanup", "delete", "error", "exec")]
    with installed("v0.141.0", suites, built, tmp_path, *FILTERS) as (folder, kubeconfig):

        def passed(*words: str) -> int:
            printed = passes(chainsaw, folder, kubeconfig, *words, "--no-color", "--parallel=2", *times)
            return printed.count("    --- PASS: chainsaw/")

        assert passed(*(f"tests/{name}" for name in names[:4])) == 40
        assert passed(*(f"tests/{name}" for name in names[4:]), *NATIVE) == 3
