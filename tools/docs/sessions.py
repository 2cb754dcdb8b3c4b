"""Sessions: pages whose files and commands are followed step by step, in a fresh directory and one shell.

``python -m tools.docs.sessions PAGE ...`` follows the pages, one after the other in one directory; ``--write`` puts the
output of the commands into the pages, in place of what they said. A block of code after a paragraph that names a file
is that file. A command that ends with ``&`` stays in the background: lines that the page shows below it, or below later
commands, may be its.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.docs.navigation import DOCS, ROOT

TUTORIAL = sorted((DOCS / "tutorial").glob("[0-9]*.md"))
DEADLINE = 60.0
"""Seconds after which output that was waited for counts as missing. Generous: the machine may be busy."""
INSTALLED = 900.0
"""The same for the commands that make an environment, which load packages from a registry."""
_DONE = "@@session-command-ended@@"
_FILE = re.compile(r"`([\w./-]+\.(?:py|yaml|toml))`")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SETUP = ("python3 -m venv", ". .venv/bin/activate", "pip install")
"""Commands that make an environment. Without one of its own a session has the environment of its caller."""
_DIFFERS = (
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z"), "TIME"),
    (re.compile(r"(?<= )\d+m?s$"), "AGE"),
    (re.compile(r" in \d+\.\d+s"), " in SECONDS"),
    (re.compile(r"127\.0\.0\.1:\d+"), "ADDRESS"),
    (re.compile(r"-[a-z0-9]{8,10}-[a-z0-9]{5}\b"), "-POD"),
    (re.compile(r"^stopping[,;].*"), "stopping"),
    (re.compile(r" +"), " "),
)


@dataclass(frozen=True)
class File:
    """A file that the reader saves."""

    name: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command and what it prints; ``span`` is the place of its output in the page."""

    text: str
    output: tuple[str, ...]
    span: tuple[int, int]


def steps(page: str) -> Iterator[File | Command]:
    """The files and commands of a page, in their order.

    Raises:
        ValueError: a block of code has no file name before it.
    """
    for block in _BLOCK.finditer(page):
        if block[1] == "console":
            yield from _commands(block[2], block.start(2))
        elif block[1] in ("python", "yaml"):
            paragraph = page[: block.start()].rstrip().rpartition("\n\n")[2]
            names = _FILE.findall(paragraph)
            if not names:
                raise ValueError(f"the paragraph before a block of {block[1]} names no file: {paragraph!r}")
            yield File(names[-1], block[2])


def _commands(block: str, start: int) -> Iterator[Command]:
    for part in re.finditer(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
        yield Command(part[1], tuple(part[2].splitlines()), (start + part.start(2), start + part.end(2)))


def plain(lines: Iterable[str]) -> list[str]:
    """Lines without what differs from one time to the next, and without the width of columns. How long kubectl had to
    wait for a rollout differs, too."""
    result = []
    for line in lines:
        if line.startswith("Waiting for deployment"):
            continue
        for pattern, name in _DIFFERS:
            line = pattern.sub(name, line)
        result.append(line.rstrip())
    return result


class Shell:
    """A bash in a directory; programs in its background print into a file that the session reads."""

    def __init__(self, directory: Path, *, fresh: bool = False) -> None:
        self.directory = directory
        self.fresh = fresh
        self._background = directory / ".background"
        self._background.touch()
        self._read = 0
        path = os.environ["PATH"] if fresh else f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self._process = subprocess.Popen(
            ["bash", "--norc", "--noprofile"],
            cwd=directory,
            env={
                "HOME": str(directory),
                "PATH": path,
                "PYTHONUNBUFFERED": "1",
                "PIP_DISABLE_PIP_VERSION_CHECK": "1",
                "COLUMNS": "80",
                "LANG": "C.UTF-8",
                **({} if fresh else {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}),  # a reader has no plugins
            },
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def run(self, command: Command) -> list[str]:
        """The output of the command, and the lines of background programs that the page shows beyond that."""
        text = command.text
        if not self.fresh and text.startswith(_SETUP):
            return [*command.output]
        if self.fresh and text.startswith("pip install"):
            text = text.replace("setpoint", str(ROOT))
        if text.endswith(" &"):
            text = f"{text[:-2]} >> {self._background} 2>&1 &"
        own = self._answer(text, INSTALLED if text.startswith(_SETUP) else DEADLINE)
        while own and not own[-1].strip():
            own.pop()
        return [*own, *self._printed(command.output[len(own) :])]

    def _answer(self, text: str, deadline: float) -> list[str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        late = threading.Timer(deadline, self._process.kill)
        late.start()
        try:
            self._process.stdin.write(f"{text}\necho {_DONE}\n")
            self._process.stdin.flush()
            lines = list[str]()
            for line in self._process.stdout:
                if line.rstrip("\n") == _DONE:
                    return lines
                lines.append(line.rstrip("\n"))
            raise AssertionError(f"the shell ended while it ran {text!r}; it had printed {lines}")
        finally:
            late.cancel()

    def _printed(self, expected: tuple[str, ...]) -> list[str]:
        """The expected lines, if background programs print them in this order; they may print others in between."""
        end = time.monotonic() + DEADLINE
        while expected:
            lines = self._background.read_text().split("\n")[:-1][self._read :]
            missing, used = plain(expected), 0
            for number, line in enumerate(plain(lines), 1):
                if missing and line == missing[0]:
                    missing.pop(0)
                    used = number
            if not missing:
                self._read += used
                return [*expected]
            if time.monotonic() > end:
                self._read += len(lines)
                return lines
            time.sleep(0.02)
        return []

    def close(self) -> None:
        """Ends the background programs and the shell."""
        assert self._process.stdin is not None
        if self._process.poll() is None:
            self._process.stdin.write("kill $(jobs -p) 2>/dev/null; wait; exit\n")
            self._process.stdin.close()
            try:
                self._process.wait(DEADLINE)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


def follow(pages: Iterable[Path], directory: Path, *, fresh: bool = False, write: bool = False) -> list[str]:
    """Follows the pages; returns a line for each command whose output differs. With ``write`` the pages are changed."""
    findings = list[str]()
    shell = Shell(directory, fresh=fresh)
    try:
        for page in pages:
            text = page.read_text("utf-8")
            changed, last = list[str](), 0
            for step in steps(text):
                if isinstance(step, File):
                    (directory / step.name).write_text(step.text, "utf-8")
                    continue
                printed = shell.run(step)
                if plain(printed) != plain(step.output):
                    findings.append(f"{page.name}: $ {step.text}\n  says {[*step.output]}\n  prints {printed}")
                    changed += [text[last : step.span[0]], "".join(f"{line}\n" for line in printed)]
                    last = step.span[1]
            if write and changed:
                page.write_text("".join([*changed, text[last:]]), "utf-8")
    finally:
        shell.close()
    return findings


def main() -> int:
    """Prints the differences; the exit status is 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=Path, default=TUTORIAL)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        findings = follow(options.pages, Path(folder), write=options.write)
    print(*findings, sep="\n")
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
