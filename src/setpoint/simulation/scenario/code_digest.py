"""Source files: identifies the code that a simulation runs, so that a replay can report changes to it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from setpoint.simulation.scenario.simulation_options import Setup

_MARKS: Final = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
"""The files and folders by which a project's folder is recognized."""


def name_of_function(function: Callable[..., Any]) -> str:
    return f"{getattr(function, '__module__', '?')}:{getattr(function, '__qualname__', type(function).__name__)}"


def list_files(setup: Setup) -> list[Path]:
    """The files that define the scenario, the factory and the controllers' functions."""
    functions: list[Any] = [setup.scenario, setup.factory]
    for controller in setup.controllers():
        functions += [controller.reconcile, controller.finalizer_function]
    files: dict[Path, None] = {}
    for function in functions:
        module = sys.modules.get(getattr(inspect.unwrap(function), "__module__", "") or "") if function else None
        file = getattr(module, "__file__", None)
        if file and Path(file).is_file():
            files.setdefault(Path(file))
    return list(files)


def list_projects(setup: Setup) -> list[Path]:
    """The folders of the projects to which the setup's files belong, and that of the working directory."""
    return [find_project(file) for file in (*list_files(setup), Path.cwd())]


def find_project(file: Path) -> Path:
    """The folder of the project to which a file or a folder belongs: the nearest one with a project's own files, or
    else its own folder.
    """
    own = file.resolve() if file.is_dir() else file.resolve().parent
    return next((folder for folder in (own, *own.parents) if any((folder / mark).exists() for mark in _MARKS)), own)


def digest_files(setup: Setup) -> str:
    """A digest of the files that define the scenario, the factory and the controllers' functions."""
    state = blake2b(digest_size=5)
    for file in list_files(setup):
        state.update(file.read_bytes())
    return state.hexdigest()
