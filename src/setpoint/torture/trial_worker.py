"""Trial worker: carries out runs in real time, each in a process that is forked from this one."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

from setpoint.simulation.execution.fork_server import fork, read, write
from setpoint.simulation.execution.worker_handle import SetupFailed
from setpoint.simulation.faults.plan import Plan
from setpoint.simulation.trace.result import Result, decode, encode
from setpoint.torture.expectations import Expectations
from setpoint.torture.real_time import RealTimeWorld
from setpoint.torture.setup import Setup
from setpoint.torture.supervisor import TURN, ProgramError

_GRACE: Final = 10.0
"""The time in seconds that a run has to end its program when its result is no longer wanted."""
_LIMIT: Final = 600
"""The time in seconds that a run may take in addition to four times `Setup.converge`."""
_GROUP: Final = "program.pid"
"""The file in a run's folder with the process group of the program that runs at the moment."""


class TrialWorker:
    """Carries out one run at a time, in a new process and with a new folder below ``parent``."""

    def __init__(self, setup: Setup, parent: Path) -> None:
        self._setup = setup
        self._parent = parent
        self._limit = int(_LIMIT + 4 * setup.converge)
        self._pid = 0
        self.incoming = -1
        self.busy = False

    def send(self, job: tuple[Plan, Expectations]) -> None:
        """Begins a run."""
        self._folder = Path(tempfile.mkdtemp(dir=self._parent))
        self.incoming, outgoing = os.pipe()
        parent = os.getpid()
        gc.collect()
        sys.stdout.flush()
        self._pid = fork()
        if self._pid == 0:
            os.close(self.incoming)
            signal.alarm(self._limit)
            _live(RealTimeWorld(self._setup, *job, self._folder, started=self._note_group), outgoing, parent)
        os.close(outgoing)
        self.busy = True

    def _note_group(self, pid: int) -> None:
        (self._folder / _GROUP).write_text(str(pid))

    def receive(self) -> Result:
        """The result of the run, when it has ended. The run's folder is deleted.

        Raises:
            ProgramError: the program can't be tested.
            SetupFailed: the run could not be made, because of an error in the framework itself.
        """
        kind, raw = read(self.incoming)
        signal_number = self._join()
        if kind == b"R":
            return decode(raw)
        if kind == b"P":
            raise ProgramError(raw.decode())
        if signal_number == signal.SIGALRM:
            raise SetupFailed(f"a run did not end within {self._limit} s")
        raise SetupFailed(raw.decode(errors="replace") or "the process of a run has died")

    def interrupt(self) -> None:
        """Makes the run end its program and itself, without a result. It is killed if that takes too long."""
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGTERM)

    def close(self) -> None:
        if self.busy:
            self.interrupt()
            self._join()

    def _join(self) -> int:
        """Waits until the run's process has ended, and kills it if that takes too long. If a signal has ended it, the
        program is killed, too. Returns that signal, or 0.
        """
        deadline = time.monotonic() + _GRACE
        while (ended := os.waitpid(self._pid, os.WNOHANG))[0] == 0:
            if time.monotonic() > deadline:
                os.kill(self._pid, signal.SIGKILL)
                ended = os.waitpid(self._pid, 0)
                break
            time.sleep(0.005)
        signal_number = os.WTERMSIG(ended[1]) if os.WIFSIGNALED(ended[1]) else 0
        group = self._folder / _GROUP
        if signal_number and group.exists():
            with suppress(ProcessLookupError):
                os.killpg(int(group.read_text(encoding="utf-8")), signal.SIGKILL)
        os.close(self.incoming)
        shutil.rmtree(self._folder, ignore_errors=True)
        self.busy = False
        return signal_number


def _live(world: RealTimeWorld, outgoing: int, parent: int) -> NoReturn:
    """Carries out one run in its process."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that this one was forked from
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 0)
        os.dup2(nowhere, 1)
        logging.disable(logging.CRITICAL)
        result = asyncio.run(_run(world, parent))
        if result is not None:
            write(outgoing, b"R", encode(result))
            code = 0
    except BrokenPipeError:
        pass  # the result is not wanted any more
    except ProgramError as problem:
        write(outgoing, b"P", str(problem).encode())
    except BaseException:  # noqa: BLE001 - the process that waits for the result has to know
        with suppress(OSError):
            write(outgoing, b"E", traceback.format_exc().encode())
    finally:
        sys.stderr.flush()
        os._exit(code)


async def _run(world: RealTimeWorld, parent: int) -> Result | None:
    """The result of the run; None if the parent process has stopped the run or has died."""
    loop = asyncio.get_running_loop()
    task = loop.create_task(world.run(), name="run")
    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True
        task.cancel()

    async def watch_parent() -> None:
        while os.getppid() == parent:  # noqa: ASYNC110 - no event tells of the end of a parent
            await asyncio.sleep(TURN)
        stop()

    loop.add_signal_handler(signal.SIGTERM, stop)
    watching = loop.create_task(watch_parent(), name="watching the parent process")
    try:
        return await task
    except asyncio.CancelledError:
        if not stopped:
            raise
        return None
    finally:
        watching.cancel()
