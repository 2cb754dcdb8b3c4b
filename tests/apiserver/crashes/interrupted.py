"""Run with the preloaded library: interrupts the workload, or records its system calls. The arguments are JSON."""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

from tests.apiserver.crashes import workload

from setpoint.apiserver.storage import back_up


def record(library: Any, directory: Path, log: Path, *, power_safe: bool) -> None:
    """Writes a record of each system call of the workload to ``log``."""
    with log.open("wb") as opened:
        library.follow(bytes(directory), opened.fileno())
        workload.work(directory, power_safe=power_safe, acknowledge=library.mark)
        library.follow(b"", -1)


def kill(library: Any, directory: Path, points: list[int], *, part: bool) -> dict[str, int]:
    """Kills a process at each of the system calls, and checks what it has left. Returns how often it did and how many
    calls there are.
    """
    expectation = workload.expected()
    killed = calls = unacknowledged = 0
    for point in points:
        shutil.rmtree(directory, ignore_errors=True)
        acknowledged = mmap.mmap(-1, 16)
        process = os.fork()
        if process == 0:
            _end_killed(library, directory, point, acknowledged, part=part)
        _, status = os.waitpid(process, 0)
        done = int.from_bytes(acknowledged[:8], "little")
        if os.WIFSIGNALED(status):
            assert os.WTERMSIG(status) == signal.SIGKILL
            killed += 1
        else:
            assert os.WEXITSTATUS(status) == 0
            calls = int.from_bytes(acknowledged[8:], "little")
            assert done == workload.TRANSACTIONS
        try:
            unacknowledged += workload.check(directory, expectation, done, min(done + 1, workload.TRANSACTIONS)) - done
        except Exception as problem:
            raise AssertionError(f"killed at system call {point} after {done} acknowledged transactions") from problem
    return {"killed": killed, "calls": calls, "unacknowledged": unacknowledged}


def kill_copy(library: Any, directory: Path, every: int) -> dict[str, int]:
    """Kills a process at every ``every``-th system call with which it copies a database, and checks that the older copy
    or the new one is there. Returns how often it did, and how often the copy was the new one.
    """
    data, copies = directory / "data", directory / "copies"
    copies.mkdir(parents=True)
    workload.work(data, power_safe=False, acknowledge=lambda: None)
    copy = copies / "setpoint.db"
    back_up(data, copy)
    before = copy.read_bytes()
    storage = workload.opened(data)
    storage.put("leases", "one", "later", lambda _: b"later", expected=0)
    storage.close()
    new = killed = 0
    while True:
        copy.write_bytes(before)
        process = os.fork()
        if process == 0:
            _end_copying(library, data, copy, killed * every)
        _, status = os.waitpid(process, 0)
        storage = workload.opened(copies)
        new += storage.get("leases", "one", "later") is not None
        storage.close()
        if not os.WIFSIGNALED(status):
            assert os.WEXITSTATUS(status) == 0
            return {"killed": killed, "new": new}
        killed += 1
        for left in copies.iterdir():
            if left.is_dir():
                shutil.rmtree(left)


def _end_copying(library: Any, data: Path, copy: Path, point: int) -> None:
    library.follow(bytes(copy.parent), -1)
    library.kill_at(ctypes.c_long(point), 0)
    back_up(data, copy)
    os._exit(0)


def _end_killed(library: Any, directory: Path, point: int, acknowledged: mmap.mmap, *, part: bool) -> None:
    done = 0

    def acknowledge() -> None:
        nonlocal done
        done += 1
        acknowledged[:8] = done.to_bytes(8, "little")

    try:
        library.follow(bytes(directory), -1)
        library.kill_at(ctypes.c_long(point), int(part))
        workload.work(directory, power_safe=False, acknowledge=acknowledge)
        acknowledged[8:] = library.counted().to_bytes(8, "little")
    except BaseException as problem:  # noqa: BLE001 - the parent sees the status
        sys.stderr.write(f"{problem!r}\n")
        os._exit(1)
    os._exit(0)


def main() -> None:
    arguments = json.loads(sys.argv[1])
    library = ctypes.CDLL(os.environ["LD_PRELOAD"])
    library.counted.restype = ctypes.c_long
    directory = Path(arguments["directory"])
    if log := arguments.get("log"):
        record(library, directory, Path(log), power_safe=arguments["power_safe"])
    elif every := arguments.get("copies"):
        sys.stdout.write(json.dumps(kill_copy(library, directory, every)))
    else:
        sys.stdout.write(json.dumps(kill(library, directory, arguments["points"], part=arguments["part"])))


if __name__ == "__main__":
    main()
