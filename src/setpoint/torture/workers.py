"""Workers: trials that run concurrently, each in a process that is forked from this one."""

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
import warnings
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import suppress
from multiprocessing import connection
from pathlib import Path
from types import TracebackType
from typing import Final, NoReturn, Self, TypeAlias, TypeVar

import msgspec

from setpoint.cluster.embedded_cluster import EmbeddedCluster
from setpoint.models.core_v1 import ConfigMap
from setpoint.torture.outcome import Outcome

K = TypeVar("K")
Work: TypeAlias = Callable[[Path, Callable[[int], None]], Coroutine[None, None, Outcome]]
"""A trial, as a function of two arguments: a folder of its own, and a function to call with the process group of every
program that it starts.
"""
_GRACE: Final = 10.0
"""The time in seconds that a trial has to end its program when its outcome is no longer wanted."""
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Outcome).decode


class WorkerError(Exception):
    """A trial failed because of an error in the framework itself; the message has the traceback."""


class Workers:
    """Runs at most ``size`` trials at a time. Leaving the ``with`` block ends the trials in progress and their
    programs.
    """

    def __init__(self, size: int, *, limit: float) -> None:
        self._size = size
        self._limit = limit
        self.runs = 0
        self._running: dict[connection.Connection, _Worker] = {}

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="setpoint-torture-"))
        asyncio.run(_rehearse())
        self._process, self._held = os.pipe()  # its end says that this process has died
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        os.close(self._process)
        os.close(self._held)
        shutil.rmtree(self._folder, ignore_errors=True)

    def stop(self) -> None:
        """Ends the trials in progress."""
        running, self._running = self._running, {}
        for worker in running.values():
            worker.terminate()
        for worker in running.values():
            worker.join(_GRACE)

    def each(self, jobs: Iterable[tuple[K, Work]], *, tick: Callable[[], None]) -> Iterator[tuple[K, Outcome]]:
        """The outcomes in order of completion, each with the key of its job. ``tick`` is called about once a second.

        Raises:
            WorkerError: a trial could not be run.
        """
        waiting = iter(jobs)
        names: dict[connection.Connection, K] = {}
        more = True
        while True:
            while more and len(self._running) < self._size:
                found = next(waiting, None)
                if found is None:
                    more = False
                    break
                name, work = found
                self.runs += 1
                worker = _Worker(work, self._folder / str(self.runs), self._process, self._held)
                self._running[worker.news] = worker
                names[worker.news] = name
            if not self._running:
                return
            for ready in connection.wait(list(self._running), timeout=1.0):
                assert isinstance(ready, connection.Connection)
                worker = self._running[ready]
                outcome = worker.read()
                if outcome is not None:
                    del self._running[ready]
                    worker.join(_GRACE)
                    yield names.pop(ready), outcome
            for news, worker in list(self._running.items()):
                if worker.age > self._limit:
                    del self._running[news]
                    worker.terminate()
                    worker.join(_GRACE)
                    raise WorkerError(f"a trial did not end within {self._limit:g} s ({names[news]})")
            tick()


class _Worker:
    def __init__(self, work: Work, folder: Path, life: int, held: int) -> None:
        ours, others = os.pipe()
        self.news, theirs = connection.Connection(ours, writable=False), connection.Connection(others, readable=False)
        self._groups: list[int] = []
        self._began = time.monotonic()
        folder.mkdir()
        self._folder = folder
        self.pid = _fork()
        if self.pid == 0:
            self.news.close()
            os.close(held)
            _live(work, folder, theirs, life)
        theirs.close()

    @property
    def age(self) -> float:
        return time.monotonic() - self._began

    def read(self) -> Outcome | None:
        """The outcome that the worker has sent; None if its message is the process group of a program that it has
        started.

        Raises:
            WorkerError: the trial could not be run.
        """
        try:
            raw = self.news.recv_bytes()
        except EOFError:
            raise WorkerError("the process of a trial has died") from None
        if raw[:1] == b"P":
            self._groups.append(int(raw[1:]))
            return None
        if raw[:1] == b"E":
            raise WorkerError(raw[1:].decode(errors="replace"))
        return _decode(raw[1:])

    def terminate(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)

    def join(self, patience: float) -> None:
        """Waits until the process has ended. After ``patience`` seconds, the process is killed. If a signal has ended
        it, the last program that it started is killed, too. The trial's folder is deleted.
        """
        deadline = time.monotonic() + patience
        while (ended := os.waitpid(self.pid, os.WNOHANG))[0] == 0:
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
                ended = os.waitpid(self.pid, 0)
                break
            time.sleep(0.005)
        if os.WIFSIGNALED(ended[1]):
            for group in self._groups[-1:]:  # the others were ended before this was started
                with suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGKILL)
        self.news.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _live(work: Work, folder: Path, news: connection.Connection, life: int) -> NoReturn:
    """Runs one trial in its process."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that this one was forked from
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 0)
        os.dup2(nowhere, 1)
        logging.disable(logging.CRITICAL)
        outcome = asyncio.run(_until_told(work(folder, lambda pid: news.send_bytes(b"P%d" % pid)), life))
        if outcome is not None:
            news.send_bytes(b"R" + _encode(outcome))
            code = 0
    except BrokenPipeError:
        pass  # the outcome is not wanted any more
    except BaseException:  # noqa: BLE001 - the process that waits for the outcome has to know
        with suppress(OSError):
            news.send_bytes(b"E" + traceback.format_exc().encode())
    finally:
        sys.stderr.flush()
        os._exit(code)


async def _until_told(work: Coroutine[None, None, Outcome], life: int) -> Outcome | None:
    """The outcome of ``work``; None if the parent process has stopped the trial or has died."""
    loop = asyncio.get_running_loop()
    task = loop.create_task(work, name="trial")
    told = False

    def stop() -> None:
        nonlocal told
        told = True
        loop.remove_reader(life)
        task.cancel()

    loop.add_signal_handler(signal.SIGTERM, stop)
    loop.add_reader(life, stop)
    try:
        return await task
    except asyncio.CancelledError:
        if not told:
            raise
        return None


async def _rehearse() -> None:
    """Loads everything that is otherwise loaded on first use, so that trials need not load it."""
    async with EmbeddedCluster() as cluster:
        await cluster.client.list(ConfigMap)


def _fork() -> int:
    gc.collect()
    sys.stdout.flush()
    with warnings.catch_warnings():
        # From Python 3.12 on a process with threads is warned of; no thread of ours holds a lock here.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()
