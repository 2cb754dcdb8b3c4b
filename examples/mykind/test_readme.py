"""The README's commands, run by a shell one after the other, print what it says they print."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

README = Path(__file__).with_name("README.md")
ROOT = README.parents[2]
DEADLINE = 60.0
"""Seconds after which what was waited for counts as missing. Generous: the machine may be busy."""
STAYS = re.compile(r"setpoint (server|webhook) |python \S+ run$")
DIFFERS = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z|(?<= )\d+s$")


class Terminals:
    """The terminals in which the commands run. Programs that stay have one each."""

    def __init__(self, home: Path) -> None:
        self.words = {"/tmp/mykind.kubeconfig": str(home / "kubeconfig"), "6443": free_port(), "9443": free_port()}
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.environment = {"HOME": str(home), "PATH": path, "PYTHONUNBUFFERED": "1", "COLUMNS": "500"}
        self.running: dict[str, subprocess.Popen[str]] = {}

    def run(self, command: str, lines: int) -> list[str]:
        """The output of the command; of a program that stays the first ``lines``."""
        if command == "^C":  # in the controller's terminal
            return self.end(next(each for each in self.running if each.endswith(" run")))
        if command.startswith("export "):
            name, _, value = command.removeprefix("export ").partition("=")
            self.environment[name] = self.here(value)
            return []
        process = subprocess.Popen(
            ["bash", "-c", ("exec " if STAYS.match(command) else "") + self.here(command)],
            cwd=ROOT,
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert process.stdout is not None
        late = threading.Timer(DEADLINE, process.kill)
        late.start()
        try:
            if STAYS.match(command):
                self.running[command] = process
                return [process.stdout.readline().rstrip("\n") for _ in range(lines)]
            return process.communicate()[0].splitlines()
        finally:
            late.cancel()

    def here(self, text: str) -> str:
        for word, ours in self.words.items():
            text = text.replace(word, ours)
        return text

    def end(self, command: str) -> list[str]:
        process = self.running.pop(command)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=DEADLINE)
        return []


@pytest.fixture
def terminals(tmp_path: Path) -> Iterator[Terminals]:
    opened = Terminals(tmp_path)
    yield opened
    for command in reversed([*opened.running]):
        opened.end(command)


def test_every_command_prints_what_the_readme_says(terminals: Terminals) -> None:
    seen = 0
    for block in re.findall(r"^```console\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL):
        for part in re.split(r"^(?=\$ |\^C$)", block, flags=re.MULTILINE):
            command, *expected = part.splitlines() or [""]
            if command:
                printed = terminals.run(command.removeprefix("$ "), len(expected))
                assert plain(printed) == plain(map(terminals.here, expected)), command
                seen += 1
    assert seen >= 25


def plain(lines: Iterable[str]) -> list[str]:
    """Without what differs from one time to the next, and without the width of columns."""
    return [re.sub(r" +", " ", DIFFERS.sub("...", line)).rstrip() for line in lines]


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return str(free.getsockname()[1])
