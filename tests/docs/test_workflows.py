"""Workflows of this repository, of the pages, and of projects, as GitHub reads them: keys, events, contexts,
expressions. The checker, actionlint, is built from its Go module: ``make test-generated``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.test_blocks import blocks
from tests.toolchains import program_of_go
from tools.docs.navigation import ROOT

pytestmark = pytest.mark.generated
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"
ALONE = ("-no-color", "-shellcheck=", "-pyflakes=")
"""The checker runs no other checkers, which may be installed or not."""
FRAGMENT = "on: push\n"
"""Without an event, GitHub runs no workflow; the block of a page leaves it out."""


@pytest.fixture
def actionlint(request: pytest.FixtureRequest) -> Path:
    return program_of_go(ACTIONLINT, "/cmd/actionlint", request.config.cache.mkdir("clients") / "actionlint")


def complaints(actionlint: Path, folder: Path) -> str:
    """The output of the checker about the workflows in a folder, of which there has to be one at least."""
    files = sorted(folder.glob("*.y*ml"))
    assert files
    done = subprocess.run([actionlint, *ALONE, *files], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def test_the_workflows_of_the_repository_are_githubs(actionlint: Path) -> None:
    assert complaints(actionlint, ROOT / ".github/workflows") == ""


def test_the_workflows_of_the_pages_are_githubs(actionlint: Path, tmp_path: Path) -> None:
    for page, text in blocks("yaml"):
        if "runs-on:" in text:
            file = tmp_path / f"{page.replace('/', '-')}.yaml"
            file.write_text(text if "\non:" in f"\n{text}" else FRAGMENT + text)
    assert complaints(actionlint, tmp_path) == ""


def test_the_workflows_of_a_project_are_githubs(actionlint: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "setpoint", "init", "shop"], cwd=tmp_path, check=True, capture_output=True)
    assert complaints(actionlint, tmp_path / "shop/.github/workflows") == ""


def test_a_wrong_expression_is_refused(actionlint: Path, tmp_path: Path) -> None:
    shutil.copy(ROOT / ".github/workflows/ci.yaml", tmp_path)
    file = tmp_path / "ci.yaml"
    file.write_text(file.read_text().replace("matrix.python", "matrix.snake"))
    assert 'property "snake" is not defined' in complaints(actionlint, tmp_path)
