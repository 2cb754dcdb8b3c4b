"""The commands of a README, run by a shell one after the other, print what it says they print."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

from tests.ports import reserved_port

ROOT = Path(__file__).parents[1]
DEADLINE = 300.0
"""Seconds after which what was waited for counts as missing. Generous: the machine may be busy."""
STAYS = re.compile(r"setpoint (server|webhook) |python \S+ run( |$)")
OWN = re.compile(r"/tmp(?=/(clusters\b|\w+\.kubeconfig))")
"""The paths of READMEs that are in a folder of the test."""
PORTS = ("6443", "9443", "8089", "14000")
"""The ports that READMEs name. A test has others."""
OPTIONS = " setpoint.manager: options: "
"""In what programs log of their flags, which READMEs do not repeat."""
DIFFERS = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z|(?<= )\d+s$")


class Terminals:
    """The terminals in which the commands run. Programs that stay have one each."""

    def __init__(self, home: Path) -> None:
        self.ports = ExitStack()
        self.words = {port: str(self.ports.enter_context(reserved_port())) for port in PORTS}
        self.home = home
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.environment = {"HOME": str(home), "PATH": path, "PYTHONUNBUFFERED": "1", "COLUMNS": "500"}
        self.running: dict[str, subprocess.Popen[str]] = {}

    def run(self, command: str, lines: int) -> list[str]:
        """The output of the command; of a program that stays the first ``lines``."""
        if command == "^C":  # in the controller's terminal
            return self.end(next(terminal for terminal in self.running if re.search(r" run( |$)", terminal)))
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
            preexec_fn=hears_interrupts,
        )
        assert process.stdout is not None
        late = threading.Timer(DEADLINE, process.kill)
        late.start()
        try:
            if STAYS.match(command):
                self.running[command] = process
                output = (line.rstrip("\n") for line in process.stdout if OPTIONS not in line)
                return list(islice(output, lines))
            return process.communicate()[0].splitlines()
        finally:
            late.cancel()

    def here(self, text: str) -> str:
        text = OWN.sub(str(self.home), text)
        for word, ours in self.words.items():
            text = text.replace(word, ours)
        return text

    def end(self, command: str) -> list[str]:
        process = self.running.pop(command)
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            process.kill()  # a test that fails leaves nothing behind
            process.communicate()
            raise
        return []


def replay(readme: Path, home: Path, *, least: int) -> None:
    """Runs every command of the README; its files and programs are in ``home``. ``least`` of them have to be there."""
    opened, checked = Terminals(home), 0
    try:
        for block in re.findall(
            r"^```console\n(.*?)^```$", readme.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
        ):
            for part in re.split(r"^(?=\$ |\^C$)", block, flags=re.MULTILINE):
                command, *expected = part.splitlines() or [""]
                if command:
                    printed = opened.run(command.removeprefix("$ "), len(expected))
                    assert plain(printed) == plain(map(opened.here, expected)), (command, printed)
                    checked += 1
    finally:
        with opened.ports, ExitStack() as ends:
            for command in [*opened.running]:
                ends.callback(opened.end, command)
    assert checked >= least


def plain(lines: Iterable[str]) -> list[str]:
    """Without what differs from one time to the next, and without the width of columns."""
    return [re.sub(r" +", " ", DIFFERS.sub("...", line)).rstrip() for line in lines]


def hears_interrupts() -> None:
    """Lets SIGINT end the process: what a shell starts in the background ignores it, and so would all its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
