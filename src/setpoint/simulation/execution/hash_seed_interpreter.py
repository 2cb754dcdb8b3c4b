"""Interpreter: a separate Python process with a different hash seed, in which worlds are prepared one after another."""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from io import BytesIO
from types import ModuleType
from typing import Any, Final

from setpoint.simulation.execution.fork_server import END, ForkServer, fork, read, write
from setpoint.simulation.execution.warm_up import warm_up
from setpoint.testing.user_code import is_users_file

_PATHS: Final = b"P"
_SETUP: Final = b"S"


class Interpreter:
    """A process that starts once, imports the library once, and forks a server for every setup that it gets."""

    outgoing: int
    incoming: int

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self, packed: bytes) -> None:
        """Builds a world from a pickled setup in the process, which is started if necessary. Jobs for that world may
        follow.
        """
        if self._process is None:
            self._start()
        write(self.outgoing, _PATHS, pickle.dumps((sys.path, list_user_modules())))
        write(self.outgoing, _SETUP, packed)

    def end(self) -> None:
        """Discards the world."""
        write(self.outgoing, END, b"")

    def close(self) -> None:
        """Ends the process. The next `begin` starts a new one."""
        if self._process is not None:
            os.close(self.outgoing)
            os.close(self.incoming)
            self._process.wait()
            self._process = None

    def _start(self) -> None:
        jobs_out, self.outgoing = os.pipe()
        self.incoming, results_in = os.pipe()
        code = f"import sys; from {__name__} import serve; serve(*map(int, sys.argv[1:]))"
        self._process = subprocess.Popen(  # noqa: S603 - this very interpreter
            [sys.executable, "-c", code, str(jobs_out), str(results_in)],
            pass_fds=(jobs_out, results_in),
            env={**os.environ, "PYTHONHASHSEED": str(self._seed)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(jobs_out)
        os.close(results_in)


def get_interpreter(seed: int) -> Interpreter:
    """The interpreter of this process with the given hash seed. It ends when this process does."""
    return _interpreter(seed, os.getpid())


@cache
def _interpreter(seed: int, pid: int) -> Interpreter:
    interpreter = Interpreter(seed)
    atexit.register(interpreter.close)
    return interpreter


def list_user_modules() -> dict[str, str]:
    modules: dict[str, str] = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and name != "__main__" and is_users_file(file):
            modules[name] = file
    return modules


class _Files(MetaPathFinder):
    """Finds the modules of the parent process by their files, because a test runner may have imported them in a way of
    its own.
    """

    def __init__(self, files: dict[str, str]) -> None:
        self._files = files

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        file = self._files.get(name)
        if file is not None:
            return spec_from_file_location(name, file)
        if any(module.startswith(name + ".") for module in self._files):
            return ModuleSpec(name, None, is_package=True)
        return None


class _Unpacker(pickle.Unpickler):
    def persistent_load(self, place: tuple[str, str]) -> Any:
        module, name = place
        return getattr(import_module(module), name)


def serve(jobs: int, results: int) -> None:
    """Runs the main loop of an `Interpreter`, in the process of that interpreter."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one ends it
    warm_up()
    while True:
        kind, raw = read(jobs)
        if not kind:
            return
        if kind != _PATHS:
            continue  # it was for a world that could not be made
        paths, packed = raw, read(jobs)[1]
        pid = fork()
        if pid == 0:
            _live(paths, packed, jobs, results)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status):
            write(results, b"E", f"a worker was killed by signal {os.WTERMSIG(status)}".encode())


def _live(paths: bytes, packed: bytes, jobs: int, results: int) -> None:
    try:
        path, user_files = pickle.loads(paths)  # noqa: S301 - from the process that started this one
        sys.path[:] = path
        sys.meta_path.append(_Files(user_files))
        setup = _Unpacker(BytesIO(packed)).load()
    except Exception as problem:  # noqa: BLE001 - the process that waits for the result has to know
        write(
            results, b"E", f"the setup can't be loaded in another process: {type(problem).__name__}: {problem}".encode()
        )
        return
    ForkServer(setup, jobs, results).live()
