"""Views of the demo: a live picture on a terminal, plain lines anywhere else."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from setpoint.apps.chronos import Entry

Row = tuple[str, str, str, str]  # kind, name, state, details

_COLOURS = {"create": "green", "update": "yellow", "delete": "red"}
_STATES = {"Running": "green", "Pending": "yellow", "Terminating": "red"}


class View(Protocol):
    """The target of the demo's reports. ``pause`` is how many seconds a person needs to see what a step did, ``pages``
    whether there is a person who may open pages."""

    pause: float
    pages: bool

    def __enter__(self) -> View: ...
    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def offer(self, pages: Sequence[tuple[str, str]]) -> None: ...
    def begin(self, step: str) -> None: ...
    def end(self, note: str) -> None: ...
    def show_change(self, entry: Entry) -> None: ...
    def objects(self, rows: Sequence[Row]) -> None: ...


class PlainView:
    """A line for each step and each thing that Chronos saw; for pipes and logs."""

    pause = 0.0
    pages = False

    def __init__(self, console: Console) -> None:
        self._console = console
        self._step = ""

    def __enter__(self) -> PlainView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def offer(self, pages: Sequence[tuple[str, str]]) -> None:
        for label, address in pages:
            self._line(f"demo: {label}: {address}")

    def begin(self, step: str) -> None:
        self._step = step
        self._line(f"demo: {step} ...")

    def end(self, note: str) -> None:
        self._line(f"demo: {self._step}: {note}")

    def show_change(self, entry: Entry) -> None:
        self._line(f"chronos: {entry.text()}")

    def objects(self, rows: Sequence[Row]) -> None:
        pass

    def _line(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


class LiveView:
    """The steps, a table of the objects there are, and the last of what Chronos saw."""

    pause = 0.8
    pages = True

    def __init__(self, console: Console) -> None:
        self._pages: Sequence[tuple[str, str]] = ()
        self._steps: list[tuple[str, str]] = []
        self._log_lines = min(14, max(3, console.height - 20))
        self._entries: deque[Entry] = deque(maxlen=self._log_lines)
        self._rows: Sequence[Row] = ()
        self._live = Live(console=console, auto_refresh=False, transient=False)

    def __enter__(self) -> LiveView:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._draw()
        self._live.__exit__(kind, problem, trace)

    def offer(self, pages: Sequence[tuple[str, str]]) -> None:
        self._pages = pages
        self._draw()

    def begin(self, step: str) -> None:
        self._steps.append((step, ""))
        self._draw()

    def end(self, note: str) -> None:
        step, _ = self._steps[-1]
        self._steps[-1] = (step, note)
        self._draw()

    def show_change(self, entry: Entry) -> None:
        self._entries.append(entry)
        self._draw()

    def objects(self, rows: Sequence[Row]) -> None:
        if rows != self._rows:
            self._rows = rows
            self._draw()

    def _draw(self) -> None:
        self._live.update(Group(self._page_list(), self._step_list(), self._object_table(), self._log()), refresh=True)

    def _page_list(self) -> Table:
        grid = Table.grid(padding=(0, 1))
        for label, address in self._pages:
            grid.add_row(Text(label, "dim"), Text(address, f"underline link {address}"))
        return grid

    def _step_list(self) -> Table:
        grid = Table.grid(padding=(0, 1))
        for step, note in self._steps:
            mark = Text("✔", "bold green") if note else Text("…", "bold yellow")
            grid.add_row(mark, escape(step), Text(note, "dim"))
        return grid

    def _object_table(self) -> Table:
        table = Table(title="objects", title_justify="left", expand=True, border_style="blue")
        for heading in ("kind", "name", "state", "where"):
            table.add_column(heading)
        for kind, name, state, details in self._rows:
            table.add_row(kind, name, Text(state, _STATES.get(state, "")), Text(details, "dim"))
        if not self._rows:
            table.add_row(Text("none", "dim"), "", "", "")
        return table

    def _log(self) -> Panel:
        lines = Text()
        for entry in self._entries:
            lines.append(f"{entry.event:<7}", _COLOURS[entry.event])
            lines.append(f"{entry.key:<24} {entry.state.phase:<12} ready {entry.state.ready} ")
            lines.append(f"on {entry.state.node or 'no node yet'}\n", "dim")
        return Panel(
            lines, title="what Chronos saw", title_align="left", border_style="blue", height=self._log_lines + 2
        )


def view_for(console: Console) -> View:
    """A live picture on a terminal, plain lines where the output goes anywhere else."""
    return LiveView(console) if console.is_terminal else PlainView(console)
