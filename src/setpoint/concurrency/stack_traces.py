"""The position of a task or a thread: the lines of code at which it waits."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable
from gc import get_referents
from types import AsyncGeneratorType, CoroutineType, FrameType, GeneratorType
from typing import Any, Final

_RUNNING: Final = (AsyncGeneratorType, CoroutineType, GeneratorType)


def stack_of(task: asyncio.Task[Any]) -> list[str]:
    """``file:line in function`` for each coroutine that the task is in, outermost first; empty if the task has ended.

    Call this function from the loop of the task, while the task waits. If it waits for another task, by ``await`` or
    `asyncio.wait`, the stack goes on in that task; if it waits for several, the stack ends there.
    """
    lines = []
    awaited: Any = task.get_coro()
    inner: Any
    followed = {task}
    while awaited is not None:
        if isinstance(awaited, AsyncGeneratorType):
            frame, inner = awaited.ag_frame, awaited.ag_await
        elif isinstance(awaited, CoroutineType):
            frame, inner = awaited.cr_frame, awaited.cr_await
        elif isinstance(awaited, GeneratorType):
            frame, inner = awaited.gi_frame, awaited.gi_yieldfrom
        else:
            # The awaitable of an `async for` has no reference to its generator; a future has none to its owner.
            referents = get_referents(awaited)
            awaited = next((referent for referent in referents if isinstance(referent, _RUNNING)), None)
            if awaited is None:
                awaited = _coroutine_of(referents, followed)
            continue
        if frame is None:
            break
        lines.append(_line(frame))
        awaited = _coroutine_of(frame.f_locals["fs"], followed) if frame.f_code is asyncio.wait.__code__ else inner
    return lines


def _coroutine_of(waited: Iterable[Any], followed: set[asyncio.Task[Any]]) -> Any:
    """The coroutine of the only task among the objects that has not ended; None if there is none, or it is one of
    ``followed``, to which it is added.
    """
    pending = {item for item in waited if isinstance(item, asyncio.Task) and not item.done()}
    if len(pending) != 1 or pending & followed:
        return None
    followed |= pending
    return pending.pop().get_coro()


def stack_of_thread(ident: int) -> list[str]:
    """The stack of the thread with that identifier, in the form of `stack_of`, whether the thread waits or works; empty
    if the thread has ended.
    """
    lines: list[str] = []
    frame = sys._current_frames().get(ident)
    while frame is not None:
        lines.append(_line(frame))
        frame = frame.f_back
    return lines[::-1]


def _line(frame: FrameType) -> str:
    return f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_qualname}"


def task_report(task: asyncio.Task[Any]) -> str:
    """The task's name, followed by the lines of its stack (see `stack_of`)."""
    return "\n".join((f"  {task.get_name()}", *(f"    {line}" for line in stack_of(task))))
