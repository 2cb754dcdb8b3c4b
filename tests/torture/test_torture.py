"""``setpoint torture`` as its users meet it: what it finds, what it lets pass, what it refuses, and how it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml
from tests.programs import DEADLINE, Program, program

PROGRAMS = Path(__file__).parent / "programs"
PAIRS = (sys.executable, str(PROGRAMS / "pairs.py"), "{kubeconfig}")


@asynccontextmanager
async def torture(home: Path, *words: str | Path, scenario: Path = PROGRAMS / "pairs.yaml") -> AsyncIterator[Program]:
    """The command, with files of findings in ``home`` and with defaults for the options that ``words`` leaves out."""
    defaults = {"--directory": home / "found", "--converge": "6", "--workers": "2", "--repeat": "1"}
    options = [word for option, value in defaults.items() if option not in words for word in (option, value)]
    async with program("-m", "setpoint", "torture", "--scenario", scenario, *options, *words, home=home) as running:
        yield running


@pytest.mark.long
async def test_a_program_that_forgets_after_a_crash_is_found_and_replayed(tmp_path: Path) -> None:
    async with torture(tmp_path, "--faults", "crash", "--budget", "20runs", "--", *PAIRS, "forgets") as running:
        assert await running.ended() == 1, running.printed()
    text = "\n".join(running.out)
    assert "[end state] at the end, configmaps default/sample-config is <absent>, expected present" in text
    assert "crash-after at create secrets default/sample-secret #1" in text
    assert "2 of 2 runs of this plan failed" in text
    assert "1 finding" in running.out
    (file,) = (tmp_path / "found").glob("*.yaml")
    assert yaml.safe_load(file.read_text())["failure_rate"] == "2 of 2 runs"
    assert file.with_suffix(".html").exists()
    async with torture(tmp_path, "--replay", file, "--", *PAIRS) as mended:
        assert await mended.ended() == 0, mended.printed()
    assert "no findings" in mended.out
    assert any("has changed since" in line for line in mended.err) is False


async def test_a_program_without_that_mistake_passes(tmp_path: Path) -> None:
    faults = "crash,lost,conflict,lag,squash,watch,down,user,error,throttle,late,pause,restart,slow"
    async with torture(tmp_path, "--faults", faults, "--budget", "6runs", "--", *PAIRS) as running:
        assert await running.ended() == 0, running.printed()
    assert "no findings" in running.out
    assert any(line.startswith("without faults:") and "configmaps, secrets" in line for line in running.err)


@pytest.mark.long
async def test_children_of_an_owner_whose_deletion_is_held_back_are_no_finding_and_lag_switches_all_of_it_off(
    tmp_path: Path,
) -> None:
    owners = (sys.executable, str(PROGRAMS / "owners.py"), "{kubeconfig}")
    scenario = PROGRAMS / "owners.yaml"
    words = ("--faults", "lag,squash", "--ignore", "secrets default/sample=it comes and goes", "--budget", "24runs")
    async with torture(tmp_path, *words, "--", *owners, scenario=scenario) as running:
        assert await running.ended() == 0, running.printed()
    assert "no findings" in running.out
    assert not any("ended with a finding" in line for line in running.out)
    off = ("--faults", "lag,squash", "--off", "lag=our watches are never late", "--budget", "6runs")
    async with torture(tmp_path, *off, "--", *owners, scenario=scenario) as running:
        assert await running.ended() == 0, running.printed()
    assert any("0 of 0 single faults" in line for line in running.out)


@pytest.mark.parametrize(
    ("command", "within", "message"),
    [
        (("./no-such-program",), DEADLINE, "./no-such-program can't be started: No such file or directory"),
        ((sys.executable, "-c", "print('no config'); raise SystemExit(3)"), DEADLINE, "exited with status 3"),
        ((sys.executable, "-c", "import time; time.sleep(1000)"), 1, "has sent no request to the server within 1 s"),
    ],
)
async def test_a_program_that_does_not_work_at_all_is_named(
    tmp_path: Path, command: tuple[str, ...], within: float, message: str
) -> None:
    async with torture(tmp_path, "--start-within", str(within), "--", *command) as running:
        assert await running.ended() == 2
    text = "\n".join(running.err)
    assert message in text
    assert "Traceback" not in text
    assert ("no config" in text) == ("no config" in " ".join(command))


async def test_without_a_program_it_says_how_it_is_called(tmp_path: Path) -> None:
    async with torture(tmp_path) as running:
        assert await running.ended() == 2
    assert "name the program to torture after --" in "\n".join(running.err)


async def test_a_switch_that_does_not_exist_is_named(tmp_path: Path) -> None:
    async with torture(tmp_path, "--off", "lags=they are never late", "--", *PAIRS) as running:
        assert await running.ended() == 2
    assert "--off: no fault and no oracle has the name 'lags'" in "\n".join(running.err)


LEAVES_ITS_PID = """
import os, runpy, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
with open(sys.argv[1], "a") as file:
    file.write(f"{os.getpid()} {child.pid}\\n")
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
async def test_when_it_ends_the_programs_end_with_all_that_they_started(tmp_path: Path, number: signal.Signals) -> None:
    pids = tmp_path / "pids"
    command = (sys.executable, "-c", LEAVES_ITS_PID, pids, *PAIRS[1:])
    async with torture(tmp_path, "--", *command) as running:
        async with asyncio.timeout(DEADLINE):
            while not pids.exists() or len(pids.read_text().split()) < 4:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        status = await running.signalled(number)
    assert status == {signal.SIGINT: 130}.get(number, -number)
    assert "Traceback" not in running.printed()
    async with asyncio.timeout(DEADLINE):
        for pid in map(int, pids.read_text().split()):
            while alive(pid):  # noqa: ASYNC110
                await asyncio.sleep(0.02)


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        os.kill(pid, 0)
        state = (
            Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] if Path("/proc/self").exists() else "?"
        )
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"
