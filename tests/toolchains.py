"""Toolchains of other languages, for tests marked ``peers`` or ``generated``: what is missing or can't be fetched skips
a test.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest


def needs(*programs: str) -> None:
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")


def fetched(command: Sequence[str], folder: Path) -> None:
    """Runs what needs a registry; skips the test if that fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{' '.join(command)} failed: {done.stdout[-300:]}{done.stderr[-300:]}")


def run_offline(command: Sequence[str], folder: Path) -> str:
    """Runs a command that needs no registry any more, such as a compiler, and returns what it printed. The test fails
    if the command does."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def go_module(name: str, folder: Path) -> Path:
    """The files of a Go module, PATH@VERSION, in Go's own cache. ``folder`` is for the module that asks for it."""
    needs("go")
    folder.mkdir(exist_ok=True)
    (folder / "go.mod").write_text("module setpoint.dev/tools\n")
    command = ["go", "mod", "download", "-json", name]
    fetched(command, folder)
    return Path(json.loads(run_offline(command, folder))["Dir"])


def program_of_go(package: str, inside: str, folder: Path) -> Path:
    """The program of a Go package, PATH@VERSION, which is at the path ``inside`` of its module; built once."""
    needs("go")
    program = folder / package.partition("@")[0].rpartition("/")[2]
    if not program.exists():
        sources = go_module(package.replace(inside, ""), folder)
        fetched(["go", "mod", "download"], sources)
        run_offline(["go", "build", "-ldflags=-s -w", "-o", str(program), f".{inside}"], sources)
    return program
