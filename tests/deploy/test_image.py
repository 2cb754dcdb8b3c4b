"""The image of a new project, step by step in a bare directory, as a user without rights."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.generated


def run(*words: str | Path, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **more}
    return subprocess.run([*map(str, words)], cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_the_dockerfile_of_a_new_project_builds_from_its_lock_file_and_starts_without_rights(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    # pytest's own folders are closed to the user without rights.
    wheels = Path(tempfile.mkdtemp(prefix="wheels-"))
    wheels.chmod(0o755)
    request.addfinalizer(lambda: shutil.rmtree(wheels))
    for words in (
        (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, ROOT),
        (sys.executable, "-m", "venv", tmp_path / "tools"),
        (tmp_path / "tools/bin/python", "-m", "pip", "install", "--quiet", "uv"),
        (sys.executable, "-m", "setpoint", "init", "shop"),
    ):
        done = run(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    project = tmp_path / "shop"
    (recipe,) = [line for line in (project / "Makefile").read_text().splitlines() if "pip compile" in line]
    words = recipe.partition("pip compile")[2].split()
    uv = tmp_path / "tools/bin/uv"
    done = run(uv, "pip", "compile", *words, cwd=project, UV_FIND_LINKS=str(wheels))
    assert done.returncode == 0, done.stderr
    done = run(sys.executable, ROOT / "tools" / "image.py", project, cwd=tmp_path, PIP_FIND_LINKS=str(wheels))
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert "kind: Deployment" in done.stdout
    assert "user 65532" in done.stderr or os.geteuid() != 0
