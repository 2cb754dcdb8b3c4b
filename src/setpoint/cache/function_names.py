"""Names of functions, for logs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from inspect import unwrap
from pathlib import PurePath
from typing import Any


def name_of(function: Callable[..., Any] | None) -> str:
    """The function's module and qualified name; ``"handler"`` for None."""
    if function is None:
        return "handler"
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    module = getattr(function, "__module__", "")
    return f"{module}.{name}" if module else name


def place_of(function: Callable[..., Any]) -> str:
    """The line at which a function is defined, as ``(operator.py:12)``; ``""`` if it is not written in Python."""
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(unwrap(function), "__code__", None)
    return f"({PurePath(code.co_filename).name}:{code.co_firstlineno})" if code is not None else ""
