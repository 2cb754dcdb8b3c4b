"""Clients that other people wrote, in five languages, against ``setpoint server`` over TLS: each does its users'
everyday work (namespaces, objects, conflicts, patches, watches, logs, commands).

They come from registries, and some have to be built: ``make test-peers``.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.toolchains import fetched, needs, run_offline

pytestmark = pytest.mark.peers
PROGRAMS = Path(__file__).parent / "programs"
JAVASCRIPT = "@kubernetes/client-node@1.4.0"
LIMIT = 120
"""Seconds that a program may take."""


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Of a server in a process of its own, whose pods are processes of this machine."""
    with serving_at(tmp_path_factory.mktemp("server") / "kubeconfig", "--nodes=local") as file:
        yield file


@contextmanager
def serving_at(file: Path, *flags: str) -> Iterator[Path]:
    """Runs a server in a process of its own within the block, and yields the file of its kubeconfig."""
    command = [sys.executable, "-m", "setpoint", "server", "--port=0", f"--write-kubeconfig={file}", *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        assert server.stdout is not None
        lines = []
        for line in server.stdout:
            lines.append(line)
            if "serving Kubernetes" in line:
                break
        assert file.exists(), "".join(lines)
        try:
            yield file
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=LIMIT)


@pytest.fixture
def built(request: pytest.FixtureRequest) -> Path:
    """A folder that outlives the run, for what is fetched and built."""
    return Path(request.config.cache.mkdir("clients"))


def copied(name: str, built: Path) -> Path:
    """The sources of a program in a folder where it can be built."""
    folder = built / name
    shutil.copytree(PROGRAMS / name, folder, dirs_exist_ok=True)
    return folder


def works(command: Sequence[str | Path], kubeconfig: Path, folder: Path) -> None:
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    printed = done.stdout.replace("\x1b[0m", "").splitlines()  # Maven prints colours around everything
    assert "done" in printed, done.stdout + done.stderr


@pytest.mark.parametrize(
    "name", ["official_python", "asyncio_python", "lightkube_python", "kr8s_python", "kopf_operator"]
)
def test_clients_in_python_do_their_everyday_work(name: str, kubeconfig: Path, built: Path) -> None:
    wanted = PROGRAMS / "requirements.txt"
    installed = built / "python" / "requirements.txt"
    if not installed.exists() or installed.read_text() != wanted.read_text():
        run_offline([sys.executable, "-m", "venv", "--clear", str(built / "python")], built)
        fetched([str(built / "python/bin/python"), "-m", "pip", "install", "--quiet", "-r", str(wanted)], built)
        shutil.copy(wanted, installed)
    works([built / "python/bin/python", PROGRAMS / f"{name}.py"], kubeconfig, built)


def test_javascripts_client_does_its_everyday_work(kubeconfig: Path, built: Path) -> None:
    needs("node", "npm")
    folder = built / "javascript"
    folder.mkdir(exist_ok=True)
    shutil.copy(PROGRAMS / "javascript.mjs", folder)
    (folder / "package.json").write_text('{"private": true}')
    fetched(["npm", "install", "--silent", "--no-audit", "--no-fund", JAVASCRIPT], folder)
    works(["node", "javascript.mjs"], kubeconfig, folder)


def test_client_go_does_its_everyday_work(kubeconfig: Path, built: Path) -> None:
    needs("go")
    folder = copied("go", built)
    fetched(["go", "mod", "download"], folder)
    works(["go", "run", "."], kubeconfig, folder)


def test_fabric8_does_its_everyday_work(kubeconfig: Path, built: Path) -> None:
    needs("java", "mvn")
    folder = copied("java", built)
    fetched(["mvn", "-q", "-B", "dependency:go-offline"], folder)
    run_offline(["mvn", "-q", "-B", "compile"], folder)
    works(["mvn", "-q", "-B", "exec:java"], kubeconfig, folder)


def test_kube_rs_does_its_everyday_work(kubeconfig: Path, built: Path) -> None:
    needs("cargo")
    folder = copied("rust", built)
    fetched(["cargo", "fetch", "--quiet", "--locked"], folder)
    run_offline(["cargo", "build", "--quiet", "--locked"], folder)
    works([folder / "target/debug/everyday"], kubeconfig, folder)
