"""The position of a task or a thread: the lines of code at which it waits."""

from __future__ import annotations

import asyncio
import sys
from gc import get_referents
from types import AsyncGeneratorType, CoroutineType, FrameType, GeneratorType
from typing import Any, Final

_RUNNING: Final = (AsyncGeneratorType, CoroutineType, GeneratorType)


def stack_of(task: asyncio.Task[Any]) -> list[str]:
    """``file:line in function`` for each coroutine that the task is in, outermost first; empty if the task has ended.

    Call this function from the loop of the task, while the task waits. If the task waits for another task, the stack
    ends at the line that waits.
    """
    lines = []
    awaited: Any = task.get_coro()
    inner: Any
    while awaited is not None:
        if isinstance(awaited, AsyncGeneratorType):
            frame, inner = awaited.ag_frame, awaited.ag_await
        elif isinstance(awaited, CoroutineType):
            frame, inner = awaited.cr_frame, awaited.cr_await
        elif isinstance(awaited, GeneratorType):
            frame, inner = awaited.gi_frame, awaited.gi_yieldfrom
        else:
            # The awaitable of an `async for` has no reference to its generator; a future has none to its owner.
            awaited = next((referent for referent in get_referents(awaited) if isinstance(referent, _RUNNING)), None)
            continue
        if frame is None:
            break
        lines.append(_line(frame))
        awaited = inner
    return lines


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
