"""Stranger: a worker in an interpreter of its own, in which the order of sets is another one."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from io import BytesIO
from types import ModuleType
from typing import Any

from setpoint.simulation.rehearsal import rehearse
from setpoint.simulation.setup import Setup
from setpoint.simulation.tape import is_users_file
from setpoint.simulation.worker import SetupFailed, Worker
from setpoint.simulation.zygote import Zygote, read, write


class Stranger(Worker):
    """A worker in an interpreter of its own, in which the order of sets is another one."""

    def __init__(self, setup: Setup, seed: int) -> None:
        try:
            import cloudpickle
        except ImportError:
            raise SetupFailed("cloudpickle is not installed") from None
        places = _places(setup)

        class Packer(cloudpickle.Pickler):  # type: ignore[misc]
            """External systems that modules have go by their names: controllers know them by those."""

            def persistent_id(self, value: object) -> tuple[str, str] | None:
                return places.get(id(value))

        packed = BytesIO()
        try:
            Packer(packed).dump(setup)
        except Exception as problem:  # noqa: BLE001 - what can't be taken along may say so in any way
            raise SetupFailed(f"it can't be pickled: {type(problem).__name__}: {problem}") from None
        jobs_out, self._outgoing = os.pipe()
        self.incoming, results_in = os.pipe()
        self.busy = False
        code = "import sys; from setpoint.simulation.stranger import serve; serve(*map(int, sys.argv[1:]))"
        self._process = subprocess.Popen(  # noqa: S603 - this very interpreter
            [sys.executable, "-c", code, str(jobs_out), str(results_in)],
            pass_fds=(jobs_out, results_in),
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.pid = self._process.pid
        os.close(jobs_out)
        os.close(results_in)
        write(self._outgoing, b"P", pickle.dumps((sys.path, _files())))
        write(self._outgoing, b"S", packed.getvalue())

    def close(self) -> None:
        os.close(self._outgoing)
        os.close(self.incoming)
        self._process.wait()


class _Files(MetaPathFinder):
    """Finds modules that the process which started this one has found in its own way, as test runners do."""

    def __init__(self, files: dict[str, str]) -> None:
        self._files = files

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        file = self._files.get(name)
        if file is not None:
            return spec_from_file_location(name, file)
        if any(each.startswith(name + ".") for each in self._files):
            return ModuleSpec(name, None, is_package=True)
        return None


def _places(setup: Setup) -> dict[int, tuple[str, str]]:
    """Where the external systems are that are variables of modules, by their identity."""
    wanted = {id(each) for each in setup.externals}
    return {
        id(value): (module, name)
        for module in _files()
        for name, value in list(vars(sys.modules[module]).items())
        if id(value) in wanted
    }


class _Unpacker(pickle.Unpickler):
    def persistent_load(self, place: tuple[str, str]) -> Any:
        module, name = place
        return getattr(import_module(module), name)


def _files() -> dict[str, str]:
    """The user's modules, by name."""
    found: dict[str, str] = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and name != "__main__" and is_users_file(file):
            found[name] = file
    return found


def serve(jobs: int, results: int) -> None:
    """The life of a `Stranger`."""
    try:
        path, files = pickle.loads(read(jobs)[1])  # noqa: S301 - from the process that started this one
        sys.path[:] = path
        sys.meta_path.append(_Files(files))
        setup = _Unpacker(BytesIO(read(jobs)[1])).load()
    except Exception as problem:  # noqa: BLE001 - the process that waits for the result has to know
        write(results, b"E", f"it can't be brought to another process: {type(problem).__name__}: {problem}".encode())
        return
    rehearse()
    Zygote(setup, jobs, results).live()
