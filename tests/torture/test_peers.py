"""Controllers of controller-runtime and of kopf with a planted mistake are caught, and without it they pass.

They take minutes, and packages from registries: ``make test-peers``.
"""

from __future__ import annotations

import shutil
import subprocess
import venv
from pathlib import Path

import pytest
from tests.torture.test_torture import PROGRAMS, torture

pytestmark = pytest.mark.peers
BUILD = Path(__file__).parents[2] / "benchmarks" / ".build"
FAULTS = "crash,lost,conflict,lag,squash,watch,down,user,error,throttle,late,pause,restart,slow"


@pytest.fixture(scope="module")
def manager() -> Path:
    """The controller of controller-runtime."""
    if shutil.which("go") is None:
        pytest.skip("Go is not installed")
    BUILD.mkdir(exist_ok=True)
    binary = BUILD / "torture-manager"
    home = Path(__file__).parent / "go"
    fetched = subprocess.run(["go", "mod", "download"], cwd=home, capture_output=True, text=True, check=False)
    if fetched.returncode:
        pytest.skip(f"Go's modules can't be fetched: {fetched.stderr[-300:]}")
    build = ["go", "build", "-o", str(binary), "."]
    process = subprocess.run(build, cwd=home, capture_output=True, text=True, check=False)
    assert not process.returncode, process.stderr
    return binary


@pytest.fixture(scope="module")
def kopf() -> Path:
    """A Python that has kopf, as the benchmarks install it."""
    place = BUILD / "kopf"
    python = place / "bin" / "python"
    if not python.exists():
        venv.create(place, with_pip=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "kopf"]
    process = subprocess.run(install, capture_output=True, text=True, check=False)
    if process.returncode:
        pytest.skip(f"the registry of packages has no kopf to compare with: {process.stderr[-300:]}")
    return python


async def test_controller_runtime_forgets_pods_after_a_crash(tmp_path: Path, manager: Path) -> None:
    command = (manager, "-kubeconfig", "{kubeconfig}", "-forgets")
    async with torture(tmp_path, "--converge", "15", "--", *command, scenario=PROGRAMS / "mykinds.yaml") as running:
        assert await running.ended() == 1, running.printed()
    assert "[end state] at the end, pods default/sample-1 is present, expected <absent>" in running.out
    assert "    crash-after at patch mykinds.torture.example.com/status default/sample #2" in running.out


async def test_controller_runtime_passes_without_the_mistake(tmp_path: Path, manager: Path) -> None:
    words = ("--converge", "30", "--faults", FAULTS, "--budget", "80runs", "--", manager, "-kubeconfig", "{kubeconfig}")
    async with torture(tmp_path, *words, scenario=PROGRAMS / "mykinds.yaml") as running:
        assert await running.ended() == 0, running.printed()


async def test_kopf_forgets_a_stamp_after_a_crash(tmp_path: Path, kopf: Path) -> None:
    command = (kopf, PROGRAMS / "letters.py", "{kubeconfig}", "forgets")
    async with torture(tmp_path, "--converge", "15", "--", *command, scenario=PROGRAMS / "letters.yaml") as running:
        assert await running.ended() == 1, running.printed()
    assert any("crash-after at" in line and "default/sample-envelope #1" in line for line in running.out)


async def test_kopf_passes_without_the_mistake(tmp_path: Path, kopf: Path) -> None:
    command = (kopf, PROGRAMS / "letters.py", "{kubeconfig}")
    words = ("--converge", "30", "--faults", FAULTS, "--budget", "60runs", "--", *command)
    async with torture(tmp_path, *words, scenario=PROGRAMS / "letters.yaml") as running:
        assert await running.ended() == 0, running.printed()
