"""Global state: what a program keeps outside its controllers, and what a restart of its process has to reset."""

from __future__ import annotations

import copy
import sys
from collections import deque
from collections.abc import Callable, Iterable
from types import FunctionType, MethodType, ModuleType
from typing import Any, Final

from setpoint.controller import Controller

_PLACES: Final = (dict, list, set, deque, bytearray)
_VALUES: Final = (int, float, str, bytes, bool, tuple, frozenset, type(None))
_GONE: Final = object()


class GlobalState:
    """A copy of the program's state: the global variables of the modules that define the controllers' functions, and,
    for methods and callable objects among these functions, the attributes of the objects.

    *Caveats*: the copy covers only plain values and Python's own containers. Other objects of a module are not
    reset, nor are objects in closures of the functions. Create such objects in the factory.
    """

    def __init__(self, controllers: Iterable[Controller[Any]]) -> None:
        self._restores: list[Callable[[], None]] = []
        self._visited: set[int] = set()
        for controller in controllers:
            for function in (controller.reconcile, controller.finalizer_function):
                if function is not None:
                    self._look(function)

    def restore(self) -> None:
        """Sets all copied variables and attributes back to their copied values."""
        for restore in self._restores:
            restore()

    def _look(self, function: Any) -> None:
        if isinstance(function, MethodType):
            self._attributes(function.__self__)
            function = function.__func__
        elif not isinstance(function, FunctionType):
            self._attributes(function)
            function = type(function).__call__
        if not isinstance(function, FunctionType) or id(function) in self._visited:
            return
        self._visited.add(id(function))
        module = sys.modules.get(function.__module__ or "")
        if (
            isinstance(module, ModuleType)
            and id(module) not in self._visited
            and not module.__name__.startswith("setpoint.")
        ):
            self._visited.add(id(module))
            self._variables(vars(module))

    def _attributes(self, holder: Any) -> None:
        if id(holder) not in self._visited and hasattr(holder, "__dict__") and not isinstance(holder, ModuleType):
            self._visited.add(id(holder))
            self._variables(vars(holder))

    def _variables(self, names: Any) -> None:
        plain: dict[str, Any] = {}
        for name, value in list(names.items()):
            if name.startswith("__"):
                continue
            if isinstance(value, _PLACES):
                self._container(value)
            elif type(value) in _VALUES:
                plain[name] = value

        def restore() -> None:
            for name, value in plain.items():
                if names.get(name, _GONE) is not value:
                    names[name] = value

        self._restores.append(restore)

    def _container(self, value: Any) -> None:
        if id(value) in self._visited:
            return
        self._visited.add(id(value))
        try:
            before = copy.deepcopy(value)
        except Exception:  # noqa: BLE001 - what can't be copied is none of the plain things that this is about
            return

        def restore() -> None:
            if value != before:
                fresh = copy.deepcopy(before)
                value.clear()
                value.extend(fresh) if isinstance(value, (list, deque, bytearray)) else value.update(fresh)

        self._restores.append(restore)
