"""Mistakes that pass a test unseen and do harm in production: code that blocks the event loop, coroutines that are not
awaited, and changes to the reconciled object that are never written.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import CoroutineType
from typing import Any, Final, SupportsIndex, TypeVar

from setpoint.cache.function_names import place_of
from setpoint.controller import Context, Controller
from setpoint.controller.context import current
from setpoint.meta import Object, to_wire
from setpoint.patch.json_diff import diff
from setpoint.testing.user_code import find_user_line

C = TypeVar("C", bound=Controller[Any])
_BLOCKING: Final = frozenset({"socket.connect", "socket.getaddrinfo", "subprocess.Popen"})
"""The audit events of calls that block a thread, besides ``time.sleep``, which has none before Python 3.13."""
_REMEDY: Final = "use an asynchronous library, asyncio.to_thread, or a plain function as reconcile function"


class Mistake(AssertionError):
    """A controller under test blocks the event loop, never awaits a coroutine, or changes its object and never writes
    it.
    """


class Mistakes:
    """The mistakes of the controllers of one test, with their lines. Make it in the task of the test, whose own code is
    not judged.

    *Caveats*: an extension module that opens sockets by itself, and code that computes for a long time, are not seen.
    """

    def __init__(self) -> None:
        self._task = asyncio.current_task()
        self._thread = threading.get_ident()
        self._lines: dict[str, None] = {}

    def take(self) -> list[str]:
        """The mistakes since the last call, each once."""
        lines = [*self._lines]
        self._lines.clear()
        return lines

    def watched(self, controller: C) -> C:
        """A copy of the controller whose reconcile function is judged."""
        function: Any = controller.reconcile
        place = place_of(function)

        def judge(obj: Object, before: dict[str, Any]) -> None:
            context = current.get()
            if context is not None and (paths := _unwritten(obj, before, context)):
                self._lines[
                    f"{controller.name}: the reconcile of {obj.key} changed {', '.join(paths)} of its object and never "
                    f"wrote the change {place}: write it with ctx.patch or ctx.client.update, set defaults with "
                    "Controller.defaults, or change a copy"
                ] = None

        async def reconcile(obj: Object, ctx: Any) -> Any:
            before = _document(obj)
            outcome = await function(obj, ctx)
            judge(obj, before)
            return outcome

        def reconcile_in_thread(obj: Object, ctx: Any) -> Any:
            before = _document(obj)
            outcome = function(obj, ctx)
            if not inspect.isawaitable(outcome):
                judge(obj, before)
            return outcome

        called = function if inspect.isroutine(function) else type(function).__call__
        is_coroutine = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)
        judged = copy.copy(controller)
        judged.reconcile = functools.wraps(function)(reconcile if is_coroutine else reconcile_in_thread)
        return judged

    def note_call(self, call: str) -> None:
        """Notes a call that blocks the calling thread, if that is the loop's and the code is not the test's own."""
        if threading.get_ident() != self._thread:
            return
        if place := self._place():
            self._lines[f"{call} at {place} blocks the event loop, so nothing else runs meanwhile: {_REMEDY}"] = None

    def note_unawaited(self, coroutine: CoroutineType[Any, Any, Any]) -> None:
        """Notes a coroutine that has been dropped without an await, unless the test itself has dropped it."""
        if place := self._place():
            self._lines[
                f"{coroutine.cr_code.co_qualname}() at {place} was not awaited, so it did nothing: write await before "
                "it, in a coroutine function"
            ] = None

    def _place(self) -> str:
        """The line of the user's code that the calling thread runs; ``""`` if it runs none but the test's own."""
        try:
            task = asyncio.current_task()
        except RuntimeError:  # no loop is running
            return find_user_line() if threading.get_ident() != self._thread else ""
        return find_user_line() if task is not self._task else ""


def _document(obj: Object) -> dict[str, Any]:
    """The object without its status, which the framework writes."""
    return {name: to_wire(getattr(obj, name)) for name in obj.__struct_fields__ if name != "status"}


def _unwritten(obj: Object, before: dict[str, Any], context: Context) -> list[str]:
    """The paths of the values outside of the status that were changed, unless the object was written."""
    if any(
        write.kind == obj.kind
        and write.key == obj.key
        and not (write.fields and all(path.startswith("status") for path in write.fields))
        for write in context._writes
    ):
        return []
    return [operation["path"][1:].replace("/", ".") for operation in diff(before, _document(obj))]


_watching: list[Mistakes] = []
"""The mistakes of the tests under way: of one, unless a test makes two clusters."""


def _audit(
    event: str,
    arguments: tuple[Any, ...],
    watching: Sequence[Mistakes] = _watching,  # bound here, because the interpreter clears the module at its end
) -> None:
    if watching and event in _BLOCKING:
        if event == "socket.connect" and arguments[0].gettimeout() == 0.0:
            return
        for mistakes in watching:
            mistakes.note_call(event)


@functools.cache
def _listen() -> None:
    """Adds the hook that all tests of this process share, since Python can't remove one."""
    sys.addaudithook(_audit)


@contextmanager
def watching(mistakes: Mistakes) -> Iterator[None]:
    """Notes calls that block the loop, and coroutines that are not awaited, until the block ends."""
    _listen()
    sleep, warn = time.sleep, warnings._warn_unawaited_coroutine  # type: ignore[attr-defined]
    _watching.append(mistakes)
    time.sleep = _judged(sleep, mistakes)

    def warn_and_note(coroutine: CoroutineType[Any, Any, Any]) -> None:
        mistakes.note_unawaited(coroutine)
        warn(coroutine)

    warnings._warn_unawaited_coroutine = warn_and_note  # type: ignore[attr-defined]
    try:
        yield
    finally:
        warnings._warn_unawaited_coroutine = warn  # type: ignore[attr-defined]
        time.sleep = sleep
        _watching.remove(mistakes)


def _judged(sleep: Callable[[float | SupportsIndex], None], mistakes: Mistakes) -> Any:
    @functools.wraps(sleep)
    def judged(seconds: float | SupportsIndex) -> None:
        mistakes.note_call(f"time.sleep({seconds})")
        sleep(seconds)

    return judged
