"""Tape: the events of a run, in order, and the names of its points."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from types import FrameType

from setpoint.controller.context import current
from setpoint.simulation.result import Line, Point

_HOME = str(Path(__file__).resolve().parent.parent)
_PYTHON = str(Path(sys.modules["asyncio"].__file__ or "").resolve().parent.parent)


class Tape:
    """Records the events of a run. Its digest covers all events; two runs of the same plan have the same digest if the
    code under test is deterministic.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.lines: list[Line] = []
        self.points: list[Point] = []
        self.full = False
        """Whether further points are ignored, because no more faults strike."""
        self._numbers: Counter[str] = Counter()

    def tell(self, lane: str, who: str, what: str, text: str, *, point: str = "", content: str = "") -> None:
        """Adds one line to the trace. For a write, a read or an external call in a reconcile, the line also has the
        object that the reconcile had seen and the line of the user's code.
        """
        saw, place = "", ""
        if what in ("writes", "reads", "calls"):
            context = current.get()
            if context is not None:
                seen = context.object
                saw = f"{seen.kind} {seen.key} of generation {seen.metadata.generation}"
                if context.live is None and context.age is not None:
                    saw += " from its cache"
            place = user_line() if context is not None else ""
        self.lines.append(Line(round(self.clock(), 6), lane, who, what, text, point, saw, content, place))

    def mark(self, point: Point) -> None:
        """Adds a point at which a fault can strike."""
        if not self.full:
            self.points.append(point)

    def number(self, stem: str) -> str:
        """The name of the next point with this stem: the stem and a number."""
        self._numbers[stem] += 1
        return f"{stem} #{self._numbers[stem]}"

    def digest(self) -> str:
        state = blake2b(digest_size=8)
        for line in self.lines:
            state.update(f"{line.at} {line.lane} {line.what} {line.text} {line.saw} {line.content}\n".encode())
        return state.hexdigest()


def user_line() -> str:
    """``file:line`` of the innermost call that is in the user's code; ``""`` if there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_users(frame):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        if frame.f_code.co_name == "_run_once":  # below the loop there is no code that does this
            return ""
        frame = frame.f_back
    return ""


def user_line_of(problem: BaseException) -> str:
    """``file:line`` of the innermost call in the traceback that is in the user's code; ``""`` if there is none."""
    trace, place = problem.__traceback__, ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        place = f"{file}:{trace.tb_lineno}" if is_users_file(file) else place
        trace = trace.tb_next
    return place


def is_users(frame: FrameType) -> bool:
    """Whether the code is the user's: not this framework's, Python's or a library's."""
    return is_users_file(frame.f_code.co_filename)


def is_users_file(name: str) -> bool:
    """Whether the file is the user's: not this framework's, Python's or a library's."""
    return not name.startswith((_HOME, _PYTHON, "<")) and "site-packages" not in name
