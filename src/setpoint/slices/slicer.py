"""Long synchronous work, done in slices so that other tasks can run between two slices.

Code that walks large values reports its progress (`pace`, `spend`) at any depth of the call stack. Outside a `Slicer`
the reports have no effect. Inside a `Slicer` the code is suspended after a number of steps and goes on in its next
slice. Steps are counted, not timed, so the same work is cut at the same places on every machine. If greenlets are not
available for this Python, all work is done in one slice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable
from threading import get_ident
from typing import Any, Final, Generic, TypeVar, cast

try:
    import greenlet as _kit  # pyright: ignore[reportMissingImports]
except ImportError:  # there is none for this Python, so work is done in one slice
    _kit = None
getcurrent: Final[Callable[[], Any]] = object if _kit is None else _kit.getcurrent
_Greenlet: Any = object if _kit is None else _kit.greenlet
_Exit: Any = SystemExit if _kit is None else _kit.GreenletExit

__all__ = ["Slicer", "Work", "in_slices", "pace", "spend"]

T = TypeVar("T")
_SLICE: Final = 4096
"""The number of steps in a slice. One step is the examination of one value: some microseconds on a slow machine."""
_BYTES: Final = 6
"""The binary logarithm of the number of bytes that C code reads or writes in one step."""
_MANY: Final = 128
"""The number of items that are counted together. A longer list or map is counted in parts of this length."""


_at_work: Final[set[_Worker]] = set()
"""The workers that are in a slice now, in any thread. The set is usually empty, because small requests are handled
without a worker. Checking it first is much faster than calling `getcurrent` for each of their many lists and maps.
"""


def pace(items: Collection[T]) -> Iterable[T]:
    """``items``, to iterate over once. One step is counted for each item. The work may pause before the first item and,
    if there are many items, between items.
    """
    if not _at_work:
        return items
    worker = getcurrent()
    if type(worker) is not _Worker:
        return items
    count = len(items)
    if count > _MANY:
        return _in_parts(items, worker)
    worker.left -= count + 1
    if worker.left < 0:
        worker.pause()
    return items


def _in_parts(items: Iterable[T], worker: _Worker) -> Generator[T, None, None]:
    count = 0
    for item in items:
        yield item
        count += 1
        if count == _MANY:
            count = 0
            worker.left -= _MANY
            if worker.left < 0:
                worker.pause()


def spend(size: int) -> None:
    """Reports that C code, which cannot be interrupted, is about to read or write ``size`` bytes. If that takes longer
    than the rest of the slice, the work may pause first; code that takes longer than a whole slice gets a slice of its
    own.
    """
    if not _at_work:
        return
    worker = getcurrent()
    if type(worker) is _Worker:
        cost = size >> _BYTES
        worker.left -= cost
        if worker.left < 0:
            worker.pause()
            worker.left = max(worker.left - cost, 0)


def in_slices() -> bool:
    """Whether the caller's work is done in slices, so that it pays to divide what C code does at once."""
    return bool(_at_work) and type(getcurrent()) is _Worker


class _Worker(_Greenlet):  # type: ignore[misc]
    """A reusable greenlet. Creating a greenlet takes ten times as long as reusing one."""

    left = 0
    may_pause: Callable[[], bool] = staticmethod(bool)
    answer: Any = None
    """The result of the work and its exception, until `Work.go` takes them."""

    def pause(self) -> None:
        self.left = _SLICE
        if self.may_pause():
            self.parent.switch(_PAUSED)


def _serve() -> None:
    """Runs one piece of work after another; the function of a worker.

    Python's garbage collector does not see the objects to which a suspended greenlet's frames refer. So the frames of
    an idle worker refer neither to the last answer, whose traceback would keep a whole server alive, nor to the worker
    itself.
    """
    while True:
        work = cast("Any", getcurrent()).parent.switch()
        answer: tuple[Any, BaseException | None]
        try:
            answer = (work(), None)
        except _Exit:
            raise
        except BaseException as problem:  # noqa: BLE001 - it is raised where the work was started
            answer = (None, problem)
        cast("Any", getcurrent()).answer = answer
        del work, answer


_PAUSED: Final = object()


class Work(Generic[T]):
    """A piece of work that is done in slices. ``result`` is its result, once `go` has returned True."""

    __slots__ = ("_may_pause", "_slicer", "_work", "_worker", "paused", "result")

    def __init__(self, slicer: Slicer, work: Callable[[], T], may_pause: Callable[[], bool]) -> None:
        self._slicer = slicer
        self._work: Callable[[], T] | None = work
        self._may_pause = may_pause
        self._worker: _Worker | None = None
        self.paused = False
        """Whether the work was suspended at least once."""
        self.result: T

    def go(self) -> bool:
        """Runs the next slice; returns whether the work is done. Raises the exception of work that has failed."""
        if _kit is None:
            self.result = cast("Callable[[], T]", self._work)()
            return True
        worker = self._worker
        here: Any = getcurrent()
        if worker is None:
            worker = self._worker = self._slicer._take()
            worker.may_pause = self._may_pause
        worker.left = _SLICE
        if worker.parent is not here:
            worker.parent = here
        worker.gr_context = here.gr_context
        work, self._work = self._work, None
        _at_work.add(worker)
        try:
            paused = worker.switch(work) is _PAUSED
        finally:
            _at_work.discard(worker)
        if paused:
            self.paused = True
            return False
        self._worker = None
        (result, problem), worker.answer = worker.answer, None
        self._slicer._give_back(worker)
        if problem is not None:
            try:
                raise problem
            finally:
                del problem  # its traceback has this frame
        self.result = result
        return True

    def close(self) -> None:
        """Ends work that is not done. Only its ``finally`` blocks still run."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.parent = getcurrent()
            worker.may_pause = bool
            worker.throw()


class Slicer:
    """Does work in slices, for one event loop. The caller of `start` must call `Work.go` until the work is done, or
    close it with `Work.close`.
    """

    __slots__ = ("_idle", "_thread")

    def __init__(self) -> None:
        self._idle: list[_Worker] = []
        self._thread = 0

    def start(self, work: Callable[[], T], may_pause: Callable[[], bool]) -> Work[T]:
        """A new piece of work, which begins with the first call of `Work.go`. ``may_pause`` is called at the end of
        each slice; if it returns False, the work immediately continues with another slice.
        """
        return Work(self, work, may_pause)

    def _take(self) -> _Worker:
        thread = get_ident()
        if self._idle and thread == self._thread:
            return self._idle.pop()
        if thread != self._thread:  # a greenlet belongs to the thread that made it
            self._idle.clear()
            self._thread = thread
        worker = _Worker(_serve)
        worker.switch()
        return worker

    def _give_back(self, worker: _Worker) -> None:
        worker.may_pause = bool
        worker.gr_context = None
        if len(self._idle) < 4:
            self._idle.append(worker)
