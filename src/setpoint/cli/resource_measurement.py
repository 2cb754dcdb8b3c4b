"""``run --measure FILE``: records the CPU and memory that a run uses, to compute a Deployment's requests and limits."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from pathlib import Path
from typing import Final

import msgspec

from setpoint.deploy.container_resources import Measured

_EVERY: Final = 10.0


def is_possible() -> bool:
    """Whether this system has ``getrusage``, which Windows lacks."""
    return importlib.util.find_spec("resource") is not None


class Measuring:
    """A runnable that writes a `Measured` when the program stops, and also every ten seconds, in case the program is
    killed.
    """

    leader_only = False
    group = "servers"

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()  # now, and not after an hour, is the time to say that it can't be written

    async def run(self) -> None:
        """Measures until it is cancelled."""
        loop = asyncio.get_running_loop()
        started, before, busiest = loop.time(), _cpu(), 0.0
        last, used = started, before
        try:
            while True:
                await asyncio.sleep(_EVERY)
                now, cpu = loop.time(), _cpu()
                busiest = max(busiest, (cpu - used) / (now - last))
                last, used = now, cpu
                self._write(now - started, cpu - before, busiest)
        finally:
            now, cpu = loop.time(), _cpu()
            if last == started and now > started:  # a run of less than ten seconds
                busiest = (cpu - before) / (now - started)
            self._write(now - started, cpu - before, busiest)

    def _write(self, seconds: float, cpu: float, busiest: float) -> None:
        measured = Measured(
            seconds=round(seconds, 1), cpu_seconds=round(cpu, 2), busiest_cpu=round(busiest, 3), peak_memory=_memory()
        )
        self.path.write_bytes(msgspec.json.format(msgspec.json.encode(measured)) + b"\n")


def _cpu() -> float:
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _memory() -> int:
    """The peak resident set size in bytes. Linux reports KiB, macOS bytes."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
