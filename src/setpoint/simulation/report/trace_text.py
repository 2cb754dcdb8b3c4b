"""Trace text: renders a trace for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from setpoint.simulation.trace.result import Line

MOST = 60
_QUIET = frozenset({"reads"})


def format_trace(trace: Sequence[Line]) -> list[str]:
    """The trace as text, one line for each event except reads. If there are more than `MOST` such events, only that
    many lines are returned, from shortly before the first fault or finding on, and a last line gives the length of the
    trace.
    """
    visible = [line for line in trace if line.kind not in _QUIET]
    marked = [place for place, line in enumerate(visible) if line.kind in ("fault", "finding")]
    if len(visible) > MOST and marked:
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
    if len(lines) < len([line for line in trace if line.kind not in _QUIET]):
        lines.append(f"  … {len(trace)} lines in total; the counter-example's file has all of them")
    return lines


def shorten_place(place: str) -> str:
    """``file:line`` without the folders."""
    return Path(place).name if place else ""
