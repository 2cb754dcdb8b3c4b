"""The systems that benchmarks compare: how each is built and started.

Missing systems are built or installed beside the other builds. A system whose tools are not on the machine, or which
can't be built, is in `Systems.missing` with the reason.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE / ".build"
PEERS = HERE / "peers"


class Unavailable(Exception):
    """A system can't be measured on this machine; the message says why."""


def _build(tool: str, command: Sequence[str], folder: Path) -> None:
    if not shutil.which(tool):
        raise Unavailable(f"{tool} is not installed")
    BUILD.mkdir(exist_ok=True)
    if subprocess.run(["nice", "-n", "10", tool, *command], cwd=folder, check=False).returncode:
        raise Unavailable(f"it can't be built: {tool} {' '.join(command)}")


@cache
def go(name: str) -> str:
    """The path of the program in ``peers/go/name``."""
    _build("go", ["build", "-o", str(BUILD / name), "."], PEERS / "go" / name)
    return str(BUILD / name)


@cache
def rust() -> str:
    """The path of kube-rs' program, a release build."""
    _build("cargo", ["build", "--quiet", "--release", "--target-dir", str(BUILD / "rust")], PEERS / "rust")
    return str(BUILD / "rust" / "release" / "peer")


@cache
def java() -> tuple[str, ...]:
    """The command of Java's program."""
    if not shutil.which("java"):
        raise Unavailable("java is not installed")
    folder, sources = BUILD / "java", PEERS / "java"
    new_folder = folder / "dependency"
    newest = max(file.stat().st_mtime for file in sources.rglob("*") if file.is_file())
    if (
        not new_folder.exists() or new_folder.stat().st_mtime < newest
    ):  # Maven needs long to see that it has nothing to do
        goals = ["package", "dependency:copy-dependencies"]
        _build("mvn", ["--quiet", "--batch-mode", f"-Dfolder={folder}", *goals], sources)
        new_folder.touch()
    return "java", "-cp", f"{folder / 'classes'}:{folder / 'dependency'}/*", "Peer"


@cache
def python(name: str, *packages: str) -> str:
    """The interpreter of an environment with these packages."""
    interpreter = BUILD / name / "bin" / "python"
    if not interpreter.exists():
        venv.create(BUILD / name, with_pip=True)
    install = [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
    if subprocess.run(install, check=False).returncode:
        raise Unavailable("its packages can't be installed")
    return str(interpreter)


class Systems:
    """The commands of systems, by name; in their arguments are ``{server}``, ``{parts}`` and the like."""

    def __init__(self, commands: dict[str, Callable[[], Sequence[str]]]) -> None:
        self._commands = commands
        self.missing: dict[str, str] = {}

    def command(self, name: str) -> Sequence[str] | None:
        """The command of a system, or None if it can't be measured here."""
        try:
            return self._commands[name]()
        except Unavailable as problem:
            self.missing[name] = str(problem)
            return None


def setpoint(script: str, *arguments: str) -> Sequence[str]:
    return [sys.executable, str(PEERS / script), *arguments]
