"""Profiles of a running process: its CPU time, its allocations, and the waits of its tasks."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

import msgspec

from setpoint.manager.http_server import Answer

if TYPE_CHECKING:
    import tracemalloc

PATH: Final = "/debug/profile"
DEFAULT_SECONDS: Final = 10.0
MAX_SECONDS: Final = 120.0
RATE: Final = 100
"""The number of samples per second."""
MAX_FRAMES: Final = 64
MAX_STACKS: Final = 20_000
"""The maximum number of distinct stacks in a profile; any further stacks are counted together."""
_HEAP_FRAMES: Final = 12
_HEAP_LINES: Final = 60

Stack = tuple[str, ...]
"""The frames of a stack, outermost first."""


class Profiler:
    """The profiles below `PATH`.

    - ``/debug/profile/cpu?seconds=10&format=collapsed``: all threads, sampled `RATE` times a second, as ``collapsed``
      stacks (for flame graphs) or ``speedscope`` (a file for speedscope.app). ``pstats`` records every call in
      the event loop's thread instead, in the format of `pstats.Stats`; the process is slower meanwhile;
    - ``/debug/profile/heap?seconds=10&format=text``: memory allocated in that time and not yet freed (tracemalloc,
      which makes allocations slower meanwhile): ``text`` by line, or ``collapsed`` stacks weighted by bytes;
    - ``/debug/profile/tasks``: the stacks of all tasks and threads; equal stacks are combined.

    Only one profile is taken at a time. No profile shows the content of objects.
    """

    def __init__(self) -> None:
        self._busy = False

    async def answer(self, path: str, query: Mapping[str, list[str]], _headers: Mapping[str, str]) -> Answer:
        takers: dict[str, dict[str, Callable[[float], Awaitable[Answer]]]] = {
            "cpu": {"collapsed": _collapsed_cpu, "speedscope": _speedscope_cpu, "pstats": _pstats_cpu},
            "heap": {"text": _text_heap, "collapsed": _collapsed_heap},
            "tasks": {"text": _tasks},
        }
        if path not in takers:
            return Answer(404, f"available: {', '.join(f'{PATH}/{name}' for name in takers)}\n".encode())
        formats = takers[path]
        chosen = query.get("format", [next(iter(formats))])[-1]
        if chosen not in formats:
            return Answer(400, f"format={chosen}: available: {', '.join(formats)}\n".encode())
        text = query.get("seconds", [str(DEFAULT_SECONDS)])[-1]
        try:
            seconds = float(text)
        except ValueError:
            seconds = 0.0
        if not 0 < seconds <= MAX_SECONDS:
            return Answer(400, f"seconds={text}: it must be more than 0 and at most {MAX_SECONDS:g}\n".encode())
        if self._busy:
            return Answer(409, b"another profile is being taken; try again when it is done\n")
        self._busy = True
        try:
            return await formats[chosen](seconds)
        finally:
            self._busy = False


# -- time --------------------------------------------------------------------------------------------------------------


async def _collapsed_cpu(seconds: float) -> Answer:
    return _collapsed(await asyncio.to_thread(sample, seconds))


async def _speedscope_cpu(seconds: float) -> Answer:
    document = speedscope(await asyncio.to_thread(sample, seconds))
    return Answer(200, msgspec.json.encode(document), "application/json")


async def _pstats_cpu(seconds: float) -> Answer:
    import cProfile
    import marshal

    profile: Any = cProfile.Profile()
    try:
        profile.enable()
    except ValueError as problem:  # another profiler is active
        return Answer(409, f"{problem}\n".encode())
    try:
        await asyncio.sleep(seconds)
    finally:
        profile.disable()
    profile.create_stats()
    return Answer(200, marshal.dumps(profile.stats), "application/octet-stream")


def sample(seconds: float) -> Counter[Stack]:
    """The number of samples of each stack, over all threads except the calling thread, which this function blocks."""
    me = threading.get_ident()
    samples: Counter[Stack] = Counter()
    until = time.monotonic() + seconds
    while True:
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        for thread, frame in sys._current_frames().items():
            if thread != me:
                stack = (
                    names.get(thread, "thread"),
                    *reversed([_place(frame_of_stack) for frame_of_stack in _frames(frame)]),
                )
                samples[stack if stack in samples or len(samples) < MAX_STACKS else ("other stacks",)] += 1
        remaining = until - time.monotonic()
        if remaining <= 0:
            return samples
        time.sleep(min(1 / RATE, remaining))


def speedscope(samples: Counter[Stack]) -> dict[str, Any]:
    frames: dict[str, int] = {}
    stacks = [[frames.setdefault(place, len(frames)) for place in stack] for stack in samples]
    total = sum(samples.values())
    return {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [{"name": place} for place in frames]},
        "profiles": [
            {
                "type": "sampled",
                "name": "setpoint",
                "unit": "none",
                "startValue": 0,
                "endValue": total,
                "samples": stacks,
                "weights": list(samples.values()),
            }
        ],
    }


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    for _ in range(MAX_FRAMES):
        if frame is None:
            return
        yield frame
        frame = frame.f_back


def _place(frame: FrameType, line: int | None = None) -> str:
    code = frame.f_code
    qualified_name = f"{frame.f_globals.get('__name__', code.co_filename)}.{code.co_qualname}"
    return qualified_name if line is None else f"{qualified_name}:{line}"


def _collapsed(stacks: Counter[Stack]) -> Answer:
    lines = [f"{';'.join(stack)} {count}" for stack, count in stacks.most_common()]
    return Answer(200, "\n".join([*lines, ""]).encode())


# -- memory ------------------------------------------------------------------------------------------------------------


async def _text_heap(seconds: float) -> Answer:
    snapshot = await _snapshot(seconds)
    statistics = snapshot.statistics("lineno")
    total = sum(statistic.size for statistic in statistics)
    blocks = sum(statistic.count for statistic in statistics)
    lines = [
        f"{total} bytes in {blocks} blocks were allocated in {seconds:g} s and have not been freed; "
        f"{len(gc.get_objects())} objects are tracked in all",
        f"{'bytes':>12} {'blocks':>9}  where",
    ]
    for statistic in statistics[:_HEAP_LINES]:
        frame = statistic.traceback[0]
        lines.append(f"{statistic.size:>12} {statistic.count:>9}  {frame.filename}:{frame.lineno}")
    return Answer(200, "\n".join([*lines, ""]).encode())


async def _collapsed_heap(seconds: float) -> Answer:
    snapshot = await _snapshot(seconds)
    stacks: Counter[Stack] = Counter()
    for statistic in snapshot.statistics("traceback"):
        stacks[tuple(f"{frame.filename}:{frame.lineno}" for frame in statistic.traceback)] += statistic.size
    return _collapsed(stacks)


async def _snapshot(seconds: float) -> tracemalloc.Snapshot:
    import tracemalloc  # with pickle

    mine = not tracemalloc.is_tracing()
    if mine:
        tracemalloc.start(_HEAP_FRAMES)
    try:
        await asyncio.sleep(seconds)
        snapshot = await asyncio.to_thread(tracemalloc.take_snapshot)
    finally:
        if mine:
            tracemalloc.stop()
    return snapshot.filter_traces([tracemalloc.Filter(False, tracemalloc.__file__)])


# -- tasks -------------------------------------------------------------------------------------------------------------


async def _tasks(_seconds: float) -> Answer:
    alike: dict[Stack, list[str]] = {}
    for task in asyncio.all_tasks():
        alike.setdefault(tuple(_waits(task.get_coro())), []).append(task.get_name())
    lines = [f"{sum(map(len, alike.values()))} tasks"]
    for stack, names in sorted(alike.items(), key=lambda item: -len(item[1])):
        first_names = ", ".join(sorted(names)[:5]) + (", ..." if len(names) > 5 else "")
        lines += ["", f"{len(names)} at: {first_names}", *(f"    {place}" for place in stack)]
    names_of = {thread.ident: thread.name for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():
        lines += ["", f"thread {names_of.get(ident, ident)}", *(f"    {_place(f, f.f_lineno)}" for f in _frames(frame))]
    return Answer(200, "\n".join([*lines, ""]).encode())


def _waits(coro: Any) -> Iterator[str]:
    """The stack from the task's coroutine down to the innermost awaitable; `asyncio.Task.get_stack` gives only the
    first frame.
    """
    for _ in range(MAX_FRAMES):
        if coro is None:
            return
        for kind in ("cr", "gi", "ag"):
            if hasattr(coro, f"{kind}_frame"):
                frame = getattr(coro, f"{kind}_frame")
                if frame is not None:
                    yield _place(frame, frame.f_lineno)
                coro = getattr(coro, "gi_yieldfrom" if kind == "gi" else f"{kind}_await")
                break
        else:
            if type(coro).__name__ != "FutureIter":  # every chain ends with one
                yield f"<{type(coro).__name__}>"
            return
