"""Code: identifies the code that a simulation runs, so that a replay can report changes to it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

from setpoint.simulation.setup import Setup


def name_of(function: Callable[..., Any]) -> str:
    """The function's name as ``module:function``."""
    return f"{getattr(function, '__module__', '?')}:{getattr(function, '__qualname__', type(function).__name__)}"


def files_of(setup: Setup) -> list[Path]:
    """The files that define the scenario, the factory and the controllers' functions."""
    functions: list[Any] = [setup.scenario, setup.factory]
    for controller in setup.controllers():
        functions += [controller.reconcile, controller.finalizer_function]
    found: dict[Path, None] = {}
    for function in functions:
        module = sys.modules.get(getattr(inspect.unwrap(function), "__module__", "") or "") if function else None
        file = getattr(module, "__file__", None)
        if file and Path(file).is_file():
            found.setdefault(Path(file))
    return list(found)


def digest_of(setup: Setup) -> str:
    """A digest of the files that define the scenario, the factory and the controllers' functions."""
    state = blake2b(digest_size=5)
    for file in files_of(setup):
        state.update(file.read_bytes())
    return state.hexdigest()
