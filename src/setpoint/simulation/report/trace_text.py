"""Trace text: renders a trace for a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from setpoint.simulation.trace.result import Line

MOST = 60
_QUIET = frozenset({"reads"})
_LONGEST: Final = 4
"""The most lines of an attempt that is shown once if it is repeated."""


def format_trace(trace: Sequence[Line]) -> list[str]:
    """The trace as text, one line for each event except reads. Attempts that are repeated without another event in
    between are shown once, with their number. If there are more than `MOST` lines then, only that many are returned,
    from shortly before the first fault or finding on, and a last line gives the length of the trace.
    """
    visible = list(_without_repetitions([line for line in trace if line.kind not in _QUIET]))
    marked = [place for place, line in enumerate(visible) if line.kind in ("fault", "finding")]
    is_cut = len(visible) > MOST
    if is_cut and marked:
        first = max(0, min(marked) - MOST // 3)
        visible = visible[first : first + MOST]
    visible = visible[:MOST]
    lanes = max((len(line.actor) for line in visible), default=0)
    lines = []
    for line in visible:
        mark = {"fault": "!", "finding": "X", "killed": "!"}.get(line.kind, " ")
        acts = line.kind in ("writes", "calls")
        view = f"   (had seen {'; '.join(filter(None, (line.view, line.reads)))})" if line.view and acts else ""
        change = f": {line.change}" if line.change else ""
        place = f"   {shorten_place(line.place)}" if line.place and line.kind in ("writes", "calls") else ""
        lines.append(f"{mark} {line.at:10.3f}  {line.actor:<{lanes}}  {line.text}{change}{view}{place}")
    if is_cut:
        lines.append(f"  … {len(trace)} lines in total; the counter-example's file has all of them")
    return lines


def _without_repetitions(lines: Sequence[Line]) -> Iterator[Line]:
    """The lines, with one that counts them in the place of repetitions of the same few lines at other times, such as
    those of a counter that grows.
    """
    events = [
        msgspec.structs.replace(
            line, at=0.0, point="", content="", reads="", change=re.sub(r"\d+ → \d+", "", line.change)
        )
        for line in lines
    ]
    start = 0
    while start < len(lines):
        size, count = max(((size, _count(events, start, size)) for size in range(1, _LONGEST + 1)), key=_saved)
        yield from lines[start : start + size]
        end = start + size * count
        if count > 1:
            again = f"… the same {f'{size} lines' if size > 1 else 'line'} {count - 1} more times"
            yield Line(lines[end - 1].at, "", "", "repeats", again)
        start = end


def _count(events: Sequence[Line], start: int, size: int) -> int:
    """The number of times that the ``size`` events from ``start`` on follow one another; 1 for fewer than three."""
    count, block = 1, events[start : start + size]
    while events[start + count * size : start + (count + 1) * size] == block:
        count += 1
    return count if count > 2 else 1


def _saved(block: tuple[int, int]) -> tuple[int, int]:
    size, count = block
    return size * (count - 1), -size


def shorten_place(place: str) -> str:
    """``file:line`` without the folders."""
    return Path(place).name if place else ""
