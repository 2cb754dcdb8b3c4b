"""InterpreterWorker: a worker of another interpreter, in which sets come in another order."""

from __future__ import annotations

import sys
from io import BytesIO

from setpoint.simulation.interpreter import files, interpreter_with
from setpoint.simulation.setup import Setup
from setpoint.simulation.worker import SetupFailed, Worker


class InterpreterWorker(Worker):
    """A worker in an interpreter of its own, in which the order of sets is another one. The interpreter serves the
    next setup, too: it takes seconds to start."""

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
        self._interpreter = interpreter_with(seed)
        self._interpreter.begin(packed.getvalue())
        self._outgoing, self.incoming = self._interpreter.outgoing, self._interpreter.incoming
        self.busy = False

    def close(self) -> None:
        if self.busy:  # the next worker would take a result that is under way for its own
            self._interpreter.close()
        else:
            self._interpreter.end()


def _places(setup: Setup) -> dict[int, tuple[str, str]]:
    """The places of external systems that are variables of modules, by their identity."""
    wanted = {id(each) for each in setup.externals}
    return {
        id(value): (module, name)
        for module in files()
        for name, value in list(vars(sys.modules[module]).items())
        if id(value) in wanted
    }
