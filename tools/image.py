"""``python tools/image.py PROJECT [--user UID]``: a project's Dockerfile, step by step, without a container builder.

The steps run in a bare directory that stands for the image's root, as a user without rights (if root calls it, as
65532). The base image is a Python that this user may run. Known are FROM, ARG, ENV, WORKDIR, RUN, COPY, USER,
ENTRYPOINT, CMD.
At the end the program is started from the image, whose files can't be written, with ``manifests`` as its command.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

USER = 65532
_ABSOLUTE = re.compile(r"(?<![\w.:/-])/(app|build)\b")


class StepError(Exception):
    """A step failed, or can't be followed here."""


@dataclass
class Stage:
    """One FROM: a root of its own, the working directory in it, and its environment."""

    root: Path
    folder: str = "/"
    environment: dict[str, str] = field(default_factory=dict)
    entry: list[str] = field(default_factory=list)

    def place(self, path: str) -> Path:
        """A path of the image, on this machine."""
        return self.root / os.path.join(self.folder, path).lstrip("/")


class Image:
    """Follows the steps; ``started`` is what to run in the end."""

    def __init__(self, project: Path, bare: Path, user: int | None, python: str) -> None:
        self.python = python
        self.project = project
        self.bare = bare
        self.user = user
        self.stages: dict[str, Stage] = {}
        self.stage = Stage(bare)

    def follow(self) -> None:
        """Runs all steps.

        Raises:
            StepError: one failed; the message names it.
        """
        for word, rest in _steps((self.project / "Dockerfile").read_text()):
            step = getattr(self, f"_{word.lower()}", None)
            if step is None:
                raise StepError(f"{word} {rest}: not known here")
            print(f"{word} {rest}", flush=True)
            step(rest)

    def run(self, words: list[str]) -> None:
        """Runs a command in the stage, as the user without rights."""
        environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "TMPDIR": str(self.bare / "tmp")}
        environment |= {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_"))}
        environment |= self.stage.environment
        folder = self.stage.place(".")
        process = subprocess.run(
            words,
            cwd=folder,
            env=environment,
            **self._as(),
        )
        if process.returncode:
            raise StepError(f"{' '.join(words)} ended with {process.returncode}")

    def _as(self) -> dict[str, Any]:
        """Only root can, and has to, give up its rights."""
        return {} if self.user is None else {"user": self.user, "group": self.user, "extra_groups": []}

    def _from(self, rest: str) -> None:
        _, _, name = rest.partition(" AS ")
        root = self.bare / f"stage-{len(self.stages)}"
        root.mkdir()
        self._own(root)
        self.stage = self.stages[name or str(len(self.stages))] = Stage(root)

    def _arg(self, rest: str) -> None:
        """Its only use is the base image."""

    def _env(self, rest: str) -> None:
        self.stage.environment |= dict(pair.split("=", 1) for pair in rest.split())

    def _workdir(self, rest: str) -> None:
        self.stage.folder = rest
        self.stage.place(".").mkdir(parents=True, exist_ok=True)
        self._own(self.stage.place("."))

    def _user(self, rest: str) -> None:
        if rest.partition(":")[0] in ("0", "root"):
            raise StepError(f"USER {rest}: root")

    def _run(self, rest: str) -> None:
        self.run(["sh", "-e", "-c", self._here(re.sub(r"^python ", f"{self.python} ", rest))])

    def _copy(self, rest: str) -> None:
        words = rest.split()
        source = self.project
        if words[0].startswith("--from="):
            stage = self.stages[words.pop(0).removeprefix("--from=")]
            source = stage.root
        target = self.stage.place(words[-1])
        for word in words[:-1]:
            path = source / word.lstrip("/")
            to = target / path.name if words[-1].endswith("/") and words[-1] != f"./{path.name}" else target
            if path.is_dir():
                shutil.copytree(
                    path, to, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True
                )
            else:
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, to)
            self._own(to)

    def _entrypoint(self, rest: str) -> None:
        self.stage.entry = [self._here(word) for word in json.loads(rest)]

    def _cmd(self, rest: str) -> None:
        """The command given at the end replaces it."""

    def _here(self, text: str) -> str:
        return _ABSOLUTE.sub(lambda match: f"{self.stage.root}/{match[1]}", text)

    def _own(self, place: Path) -> None:
        if self.user is not None:
            for path in (place, *place.rglob("*")):
                os.chown(path, self.user, self.user, follow_symlinks=False)


def _steps(text: str) -> list[tuple[str, str]]:
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ").splitlines()
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in joined)]


def _python(user: int | None) -> str:
    """The running Python, or that of the system, where the user may not run this one."""
    if user is None:
        return sys.executable
    for python in (sys.executable, "/usr/bin/python3"):
        words = [python, "-c", "import pip, venv"]
        try:
            process = subprocess.run(words, user=user, group=user, extra_groups=[], cwd="/", capture_output=True)
        except OSError:
            continue
        if process.returncode == 0:
            return python
    raise StepError(f"user {user} may run no Python that has pip and venv")


def main() -> int:
    """Follows the Dockerfile of a project, starts the program, and prints the size of the image's own files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("project", type=Path)
    parser.add_argument("--user", type=int, default=USER if os.geteuid() == 0 else None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="image-") as folder:
        bare = Path(folder)
        bare.chmod(0o755)
        (bare / "tmp").mkdir(mode=0o777)
        (bare / "tmp").chmod(0o777)
        try:
            image = Image(options.project, bare, options.user, _python(options.user))
            image.follow()
            stage = image.stage
            # The environment knows where it was made: in a real image both stages call it /app.
            roots = [other.root for other in image.stages.values() if other is not stage]
            entry = [word.replace(str(stage.root), str(roots[-1])) for word in stage.entry]
            for path in (stage.root, *stage.root.rglob("*"), *roots[-1].rglob("*")):
                if not path.is_symlink():
                    path.chmod(path.stat().st_mode & ~0o222)
            image.run([*entry, "manifests", "--image", "registry.example.com/x:1.0.0"])
        except (OSError, StepError) as problem:
            print(f"image: {problem}", file=sys.stderr)
            return 1
        size = sum(path.stat().st_size for path in stage.root.rglob("*") if path.is_file() and not path.is_symlink())
        print(f"image: {size / 1e6:.1f} MB beside the base, user {options.user}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
