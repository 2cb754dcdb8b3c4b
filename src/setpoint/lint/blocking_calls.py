"""Blocking calls in coroutines."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from setpoint.lint.module import Mistake, Module, at

_CALLS: Final = frozenset((
    *("time.sleep", "os.system", "os.popen", "socket.create_connection", "socket.getaddrinfo"),
    *("urllib.request.urlopen", "urllib.request.urlretrieve"),
    *(f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "getoutput")),
    *(f"{library}.{verb}" for library in ("requests", "httpx") for verb in
      ("get", "post", "put", "patch", "delete", "head", "options", "request")),
))  # fmt: skip


def blocking_calls(module: Module) -> Iterator[Mistake]:
    """Calls in an ``async def`` that stop all other reconciles, watches and the renewal of leases until they end."""
    for function in module.functions:
        if not isinstance(function, ast.AsyncFunctionDef):
            continue
        for call, name in module.calls(function):
            if name in _CALLS and module.is_imported(call.func):
                remedy = (
                    "await asyncio.sleep" if name == "time.sleep" else "await asyncio.to_thread, or an async library"
                )
                yield at(call, f"{name} blocks the event loop in the coroutine {function.name}: use {remedy}")
