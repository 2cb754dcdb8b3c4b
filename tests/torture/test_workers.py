"""Workers: a trial whose process dies is named, and nothing of it is left over."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from setpoint.simulation.trace.result import Result
from setpoint.torture.outcome import Outcome
from setpoint.torture.workers import WorkerError, Workers


def test_the_death_of_a_trial_is_told_and_ends_its_program_and_the_other_trials(tmp_path: Path) -> None:
    async def dies(_folder: Path, told: Callable[[int], None]) -> Outcome:
        words = [sys.executable, "-c", "import time; time.sleep(1000)"]
        program = await asyncio.create_subprocess_exec(*words, start_new_session=True)
        (tmp_path / "program").write_text(str(program.pid))
        told(program.pid)
        os.kill(os.getpid(), signal.SIGKILL)
        return Outcome(Result())

    async def goes_on(folder: Path, _told: Callable[[int], None]) -> Outcome:
        (tmp_path / "other").write_text(str(os.getpid()))
        await asyncio.Event().wait()
        return Outcome(Result())

    workers = Workers(2, limit=60.0)
    with pytest.raises(WorkerError, match="the process of a trial has died"), workers:
        for _ in workers.each([("goes on", goes_on), ("dies", dies)], tick=lambda: None):
            pass
    assert not workers._folder.exists()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(workers._held)
    deadline = time.monotonic() + 30.0
    while not is_gone(int((tmp_path / "program").read_text())):
        assert time.monotonic() < deadline, "the program goes on without its trial"
    if (tmp_path / "other").exists():  # else it was ended before it began
        assert is_gone(int((tmp_path / "other").read_text()))


def is_gone(pid: int) -> bool:
    """Whether the process does not exist, or has ended and is not reaped yet."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True
