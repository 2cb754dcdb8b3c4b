"""InterpreterWorker: a worker in a separate interpreter, in which sets are iterated in a different order."""

from __future__ import annotations

import sys
from io import BytesIO
from typing import Any

import msgspec

from setpoint.simulation.execution.hash_seed_interpreter import get_interpreter, list_user_modules
from setpoint.simulation.execution.worker_handle import SetupFailed, Worker
from setpoint.simulation.scenario.simulation_options import Setup


class InterpreterWorker(Worker):
    """A worker in its own interpreter, in which sets are iterated in a different order. The interpreter is kept for the
    next setup, since it takes seconds to start.
    """

    def __init__(self, setup: Setup, seed: int) -> None:
        try:
            import cloudpickle
        except ImportError:
            raise SetupFailed("cloudpickle is not installed") from None
        places = _places(setup)

        class Packer(cloudpickle.Pickler):  # type: ignore[misc]
            """Pickles by name the external systems that are variables of modules, since controllers refer to them by
            those names.
            """

            def persistent_id(self, value: object) -> tuple[str, str] | None:
                return places.get(id(value))

            def reducer_override(self, obj: Any) -> Any:
                """Refuses models that the other process can't import: made from their parts they would have no
                fields.
                """
                reduced = super().reducer_override(obj)
                if isinstance(obj, type) and issubclass(obj, msgspec.Struct) and reduced is not NotImplemented:
                    raise SetupFailed(
                        f"another process can't import the class {obj.__qualname__} from {obj.__module__}: "
                        "define it at the top of a module, and call check from another one or from pytest"
                    )
                return reduced

        packed = BytesIO()
        try:
            Packer(packed).dump(setup)
        except SetupFailed:
            raise
        except Exception as problem:  # noqa: BLE001 - what can't be taken along may say so in any way
            raise SetupFailed(f"the setup can't be pickled: {type(problem).__name__}: {problem}") from None
        self._interpreter = get_interpreter(seed)
        self._interpreter.begin(packed.getvalue())
        self._outgoing, self.incoming = self._interpreter.outgoing, self._interpreter.incoming
        self.busy = False

    def close(self) -> None:
        if self.busy:  # the next worker would take a result that is under way for its own
            self._interpreter.close()
        else:
            self._interpreter.end()


def _places(setup: Setup) -> dict[int, tuple[str, str]]:
    """The module and the variable of each external system that is a variable of a module, by the system's ``id``."""
    wanted = {id(external) for external in setup.externals}
    return {
        id(value): (module, name)
        for module in list_user_modules()
        for name, value in list(vars(sys.modules[module]).items())
        if id(value) in wanted
    }
