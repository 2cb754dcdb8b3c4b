"""The traceback of an error in a user's code, without the frames of this framework around the user's frames."""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from types import TracebackType
from typing import Final

from setpoint.meta.text_escaping import visible

_OURS: Final = f"{Path(__file__).resolve().parents[1]}{os.sep}"


def user_frames(problem: BaseException) -> tuple[list[traceback.FrameSummary], str]:
    """The frames of the user's code, outermost first, and the traceback as Python prints it.

    Frames of this package and of Python's import system are left out if they come before the first or after the last of
    the user's frames.
    """
    begin = problem.__traceback__
    while begin is not None and _is_ours(begin):
        begin = begin.tb_next
    last, frame = None, begin
    while frame is not None:
        last = frame if not _is_ours(frame) else last
        frame = frame.tb_next
    if last is not None:
        last.tb_next = None
    frames = list(traceback.extract_tb(begin))
    return frames, visible("".join(traceback.format_exception(type(problem), problem, begin)))


def _is_ours(frame: TracebackType) -> bool:
    file = frame.tb_frame.f_code.co_filename
    return file.startswith((_OURS, "<frozen importlib")) or file.endswith("importlib/__init__.py")
