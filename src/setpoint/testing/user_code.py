"""User code: tells the code of the program under test from that of this framework, of Python and of libraries."""

from __future__ import annotations

import asyncio
import dis
import sys
from pathlib import Path
from types import FrameType
from typing import Any, Final

HOME: Final = str(Path(__file__).resolve().parents[1])
"""The folder of this framework's code."""
_PYTHON = str(Path(sys.modules["asyncio"].__file__ or "").resolve().parent.parent)


def find_user_line() -> str:
    """``file:line`` of the innermost call that is in the user's code; ``""`` if there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_users(frame):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        if frame.f_code.co_name == "_run_once":  # below the loop there is no code that does this
            return ""
        frame = frame.f_back
    return ""


def find_awaiting_line(task: asyncio.Task[Any]) -> str:
    """``file:line`` of the innermost call in the user's code that the task waits in; ``""`` if there is none."""
    coro: Any = task.get_coro()
    place = ""
    while (frame := getattr(coro, "cr_frame", None)) is not None:
        place = f"{frame.f_code.co_filename}:{frame.f_lineno}" if is_users(frame) else place
        coro = getattr(coro, "cr_await", None)
    return place


def find_user_line_of(problem: BaseException) -> str:
    """``file:line`` of the innermost call in the traceback that is in the user's code; ``""`` if there is none."""
    trace, place = problem.__traceback__, ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        place = f"{file}:{trace.tb_lineno}" if is_users_file(file) else place
        trace = trace.tb_next
    return place


def find_line_of_bug(problem: BaseException) -> str:
    """``file:line`` of the innermost call in the traceback; ``""`` if a ``raise`` statement outside this framework
    raised the exception, which is on purpose.
    """
    trace = problem.__traceback__
    if trace is None:
        return ""
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    is_raised = dis.opname[code.co_code[trace.tb_lasti]] in ("RAISE_VARARGS", "RERAISE")
    return "" if is_raised and not code.co_filename.startswith(HOME) else f"{code.co_filename}:{trace.tb_lineno}"


def is_users(frame: FrameType) -> bool:
    """Whether the code is the user's: not this framework's, Python's or a library's."""
    return is_users_file(frame.f_code.co_filename)


def is_users_file(name: str) -> bool:
    """Whether the file is the user's: not this framework's, Python's or a library's."""
    return not name.startswith((HOME, _PYTHON, "<")) and "site-packages" not in name
