"""Trial workers: a run whose process dies is named, and nothing of it is left over."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from setpoint.simulation import Plan, SetupFailed
from setpoint.simulation.execution.worker_pool import carry_out
from setpoint.testing import Cluster
from setpoint.torture import Setup
from setpoint.torture.expectations import Expectations
from setpoint.torture.trial_worker import TrialWorker

PROGRAM = """
import os, sys, time, urllib.request
with open(sys.argv[1], "w") as file:
    file.write(str(os.getpid()))
urllib.request.urlopen(sys.argv[2] + "/version").read()
time.sleep(1000)
"""


async def dies(_cluster: Cluster) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def goes_on(_cluster: Cluster) -> None:
    await asyncio.Event().wait()


def test_the_death_of_a_run_is_named_and_ends_its_program_and_the_other_runs(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    workers, pids = [], []
    for scenario in (dies, goes_on):
        pids.append(tmp_path / scenario.__name__)
        command = (sys.executable, "-c", PROGRAM, str(pids[-1]), "{server}")
        setup = Setup(command=command, scenario=scenario, name="", source=tmp_path)
        workers.append(TrialWorker(setup, folder))
    jobs = [(Plan(), Expectations(quiet_period=0.2))] * 2
    with pytest.raises(SetupFailed, match="the process of a run has died"):
        list(carry_out(workers, jobs, on_start=lambda: None))
    assert not any(worker.busy for worker in workers)
    assert not list(folder.iterdir())
    deadline = time.monotonic() + 30.0
    for pid in filter(Path.exists, pids):  # else the run was ended before its program began
        while not is_gone(int(pid.read_text())):
            assert time.monotonic() < deadline, "the program goes on without its run"


def is_gone(pid: int) -> bool:
    """Whether the process does not exist, or has ended and is not reaped yet."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True
