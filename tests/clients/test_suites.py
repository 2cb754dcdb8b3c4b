"""Tools with which people test operators without a cluster, against ``setpoint server``: kwok, and a suite for chainsaw
of the example ``mykind.py``.

They are built from their Go modules: ``make test-peers``.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from tests.clients.test_clients import LIMIT, PROGRAMS, built, serving_at
from tests.clients.test_tools import kubectl_of, runner
from tests.toolchains import needs, program_of_go
from tools.docs.navigation import ROOT

pytestmark = pytest.mark.peers
__all__ = ["built"]
KWOK = "sigs.k8s.io/kwok/cmd/kwok@v0.7.0"
CHAINSAW = "github.com/kyverno/chainsaw@v0.2.15"
MYKIND = ROOT / "examples" / "mykind.py"


@contextmanager
def running(*command: str | Path) -> Iterator[None]:
    """Runs a program within the block; the test fails if the program ends by itself."""
    with subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield
            assert process.poll() is None, f"{command[0]} ended with {process.returncode}"
        finally:
            process.terminate()
            process.wait(LIMIT)


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """Of a server that has no nodes of its own."""
    with serving_at(tmp_path / "kubeconfig", "--nodes=0") as file:
        yield file


def test_kwok_runs_the_pods_of_a_server_without_nodes(kubeconfig: Path, built: Path, tmp_path: Path) -> None:
    kwok = program_of_go(KWOK, "/cmd/kwok", built / "kwok")
    kubectl = runner(kubectl_of("1.37", built), tmp_path, kubeconfig)
    with running(kwok, "--kubeconfig", kubeconfig, "--manage-all-nodes"):
        kubectl("create", "deployment", "web", "--image=web", "--replicas=2")
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "kwok-0"}}
        kubectl("apply", "-f", "-", stdin=yaml.safe_dump(node))
        kubectl("rollout", "status", "deployment/web", f"--timeout={LIMIT}s")
        assert kubectl("get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}") == "kwok-0 kwok-0"
        kubectl("delete", "deployment", "web", "--cascade=foreground", f"--timeout={LIMIT}s")
        assert kubectl("get", "pods", "-o", "name") == ""


@pytest.fixture
def operated(built: Path, tmp_path: Path) -> Iterator[Path]:
    """The kubeconfig of a server with hollow nodes against which the operator runs."""
    with serving_at(tmp_path / "kubeconfig") as file:
        kubectl = runner(kubectl_of("1.37", built), tmp_path, file)
        printed = subprocess.run([sys.executable, MYKIND, "manifests"], capture_output=True, text=True, check=True)
        kubectl("apply", "-f", "-", stdin=printed.stdout)
        with running(sys.executable, MYKIND, "run", "--kubeconfig", file, "--metrics-bind-address=0"):
            yield file


def test_a_suite_of_chainsaw_passes(operated: Path, built: Path, tmp_path: Path) -> None:
    needs("kubectl")  # chainsaw waits with it
    chainsaw = runner(program_of_go(CHAINSAW, "", built / "chainsaw"), tmp_path, operated)
    times = [f"--{name}-timeout=60s" for name in ("apply", "assert", "cleanup", "delete", "error")]
    printed = chainsaw("test", PROGRAMS / "chainsaw", "--no-color", *times)
    assert "- Passed  tests 1" in printed, printed
