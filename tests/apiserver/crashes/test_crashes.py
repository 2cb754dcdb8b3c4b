"""Acknowledged writes survive SIGKILL at any system call, and a loss of power where that is promised."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from tests.apiserver.crashes import workload
from tests.apiserver.crashes.power import Call, Disk, calls_of

ROOT = Path(__file__).parents[3]
LOG = "setpoint.db-wal"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled library."""
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("a library can be preloaded on Linux with a C compiler (cc)")
    result = tmp_path_factory.mktemp("preload") / "preload.so"
    source = Path(__file__).with_name("preload.c")
    subprocess.run([compiler, "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", result, source, "-ldl"], check=True)
    return result


def interrupted(library: Path, **arguments: object) -> str:
    """The output of the program, run with the library."""
    environment = {**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    words = [sys.executable, "-m", "tests.apiserver.crashes.interrupted", json.dumps(arguments)]
    done = subprocess.run(words, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def recorded(library: Path, directory: Path, *, power_safe: bool) -> list[Call]:
    """The system calls of the workload."""
    data, log = directory / "data", directory / "calls"
    interrupted(library, directory=str(data), log=str(log), power_safe=power_safe)
    return list(calls_of(log))


@pytest.mark.parametrize("part", [False, True], ids=["before a call", "within a write"])
@pytest.mark.parametrize("every", [73, pytest.param(1, marks=pytest.mark.long)])
def test_what_was_acknowledged_survives_a_kill_at_any_system_call(
    library: Path, tmp_path: Path, every: int, part: bool
) -> None:
    """Of one transaction all writes are there or none, and the history is the true one."""
    directory = str(tmp_path / "data")
    calls = json.loads(interrupted(library, directory=directory, points=[1 << 40], part=part))["calls"]
    assert calls > 3000
    points = list(range(int(part) * every // 2, calls, every))
    counts = json.loads(interrupted(library, directory=directory, points=points, part=part))
    assert counts["killed"] == len(points)
    sys.stdout.write(f"kills: {counts['killed']} of {calls}; unacknowledged, yet there: {counts['unacknowledged']}\n")


@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.long)])
def test_a_copy_that_is_interrupted_leaves_the_older_one_or_the_new_one_whole(
    library: Path, tmp_path: Path, every: int
) -> None:
    counts = json.loads(interrupted(library, directory=str(tmp_path), copies=every))
    assert counts["killed"] > 100 / every
    assert 1 <= counts["new"] < counts["killed"]
    sys.stdout.write(f"kills of a copying process: {counts['killed']}\n")


@pytest.mark.parametrize("power_safe", [False, True], ids=["not power safe", "power safe"])
@pytest.mark.parametrize("losses", [120, pytest.param(6000, marks=pytest.mark.long)])
def test_a_loss_of_power_costs_no_more_than_is_promised(
    library: Path, tmp_path: Path, losses: int, power_safe: bool
) -> None:
    """With `power_safe`, what was acknowledged is there. Without it, what was acknowledged before the log was last
    synced is there, and of the rest the first transactions up to any one.
    """
    calls = recorded(library, tmp_path, power_safe=power_safe)
    assert sum(call.name == LOG and call.operation == "W" and call.offset == 0 for call in calls) > 10
    expectation = workload.expected()
    random = Random(5)
    disk = Disk()
    acknowledged = promised = at = lost = 0
    for point in sorted(random.randrange(len(calls) + 1) for _ in range(losses)):
        for call in calls[at:point]:
            if call.operation == "A":
                acknowledged += 1
                promised = acknowledged if power_safe else promised
                continue
            disk.do(call)
            if call.operation == "S" and call.name == LOG:
                promised = acknowledged
        at = point
        left = tmp_path / "left"
        shutil.rmtree(left, ignore_errors=True)
        left.mkdir()
        for name, data in disk.after_loss(random).items():
            (left / name).write_bytes(data)
        try:
            done = workload.check(left, expectation, promised, min(acknowledged + 1, workload.TRANSACTIONS))
        except Exception as problem:
            raise AssertionError(f"power lost before system call {point} of {len(calls)}") from problem
        lost += max(0, acknowledged - done)
    assert power_safe == (lost == 0)
    sys.stdout.write(f"losses of power: {losses}; acknowledged transactions lost: {lost}\n")
