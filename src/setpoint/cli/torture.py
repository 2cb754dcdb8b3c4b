"""``setpoint torture``: applies the simulation's faults to a program in any language, through an embedded server."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from setpoint.apps.error_reports import UsageError
from setpoint.cli.program_loader import SourceError, loaded
from setpoint.cli.simulate import named_scenario, off_but, parse_budget, tell
from setpoint.crd import CustomResource
from setpoint.meta import Object
from setpoint.meta.text_escaping import visible
from setpoint.simulation import Counterexample, PlanError, Predicate
from setpoint.simulation.check import read_plan
from setpoint.simulation.search.search import FOUND
from setpoint.torture import ProgramError, ScenarioError, Search, Setup
from setpoint.torture.documents import read_documents
from setpoint.torture.scenario import read_plain
from setpoint.torture.workers import WorkerError

_EVERY: Final = 10.0
"""Seconds between two lines of progress if the output is not a terminal."""


def torture(
    command: Sequence[str],
    *,
    scenario: str,
    before: Sequence[Path],
    budget: str,
    faults: str | None,
    off: Sequence[str],
    ignore: Sequence[str],
    replay: str | None,
    workers: int | None,
    repeat: int,
    converge: float,
    silence: float | None,
    start_within: float,
    every: bool,
    directory: Path,
) -> int:
    """Runs the program under faults and prints the findings. Returns the exit status, which is 1 if there is a finding.

    Raises:
        UsageError: an argument is invalid.
    """
    if not command:
        raise UsageError(
            "name the program to torture after --, as in: setpoint torture --scenario scenario.yaml -- "
            "./manager --kubeconfig {kubeconfig}"
        )
    if not hasattr(__import__("os"), "fork"):
        raise UsageError("torture needs a system with fork, such as Linux or macOS")
    try:
        with ExitStack() as stack:
            known = _setup(stack, scenario)
            documents = [each for path in before for each in read_documents(path)]
            setup = Setup(
                command=command,
                before=[*documents, *known.pop("before")],
                off={**off_but(faults), **_reasons("--off", off)},
                ignore=_reasons("--ignore", ignore),
                converge=converge,
                silence=silence,
                start_within=start_within,
                **known,
            )
            limits = parse_budget(budget)
            with _Live() as live:
                search = Search(setup, budget=limits, workers=workers, repeat=repeat, progress=live.told)
                found: list[Counterexample] = []
                if replay is not None:
                    plan, code, _ = read_plan(replay)
                    if code and code != setup.code():
                        live.say("the program or the scenario has changed since this finding")
                    found += [again for again in [search.replay(plan)] if again is not None]
                    live.clear()
                    tell(found, directory)
                else:
                    for each in search.findings():
                        found.append(each)
                        live.clear()
                        tell([each], directory)
                        if not every:
                            search.report.ended = FOUND
                            break
    except (PlanError, ProgramError, ScenarioError, SourceError, WorkerError) as problem:
        raise UsageError(str(problem)) from None
    sys.stdout.write(visible(f"{search.report}\n") if replay is None else "")
    sys.stdout.write(f"{len(found)} finding{'s' * (len(found) != 1)}\n" if found else "no findings\n")
    return 1 if found else 0


def _setup(stack: ExitStack, source: str) -> dict[str, Any]:
    """Those arguments of the setup that come from the scenario file."""
    path = Path(source)
    if path.suffix in (".yaml", ".yml", ".json"):
        plain = read_plain(path)
        return {"scenario": plain, "name": source, "source": path, "before": plain.before}
    file = source.partition(".py:")[0] + ".py" if ".py:" in source else source
    found = stack.enter_context(loaded(source if file != source else f"{source}:scenario"))
    named, module = named_scenario(found), found.module
    said = {
        name: _all_of(module, name, kind)
        for name, kind in (("objects", Object), ("predicates", Predicate), ("crds", (type, dict)))
    }
    for each in said["crds"]:
        if isinstance(each, type) and not issubclass(each, CustomResource):
            raise UsageError(f"--scenario {source}: crds has {each.__name__}, which is not a CustomResource")
    return {"scenario": named, "name": source, "source": Path(file), "before": [], **said}


def _all_of(module: Any, name: str, kind: Any) -> list[Any]:
    """The module's list with the name ``name``; empty if there is none. Raises `UsageError` if the list is invalid."""
    found = getattr(module, name, [])
    if not isinstance(found, list | tuple) or not all(isinstance(each, kind) for each in found):
        kinds = {"objects": "objects", "predicates": "predicates", "crds": "CustomResource classes or definitions"}
        raise UsageError(f"{module.__file__}: {name} must be a list of {kinds[name]}")
    return list(found)


def _reasons(option: str, given: Sequence[str]) -> dict[str, str]:
    """The reasons by name, from texts of the form ``NAME=REASON``. Raises `UsageError` for a text of a different
    form.
    """
    found = {}
    for each in given:
        name, equals, why = each.partition("=")
        if not equals or not why.strip():
            raise UsageError(
                f"{option} {each!r}: give the reason, as in {option} '{name or 'quiet'}=it notes the time'"
            )
        found[name.strip()] = why.strip()
    return found


class _Live:
    """Shows the progress: on a terminal as a line that is rewritten, otherwise as a line from time to time."""

    def __init__(self) -> None:
        self._console: Any = None
        self._status: Any = None
        self._last = time.monotonic()
        self._said = -1

    def __enter__(self) -> _Live:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._console = Console(stderr=True)
            self._status = Live(console=self._console, auto_refresh=False, transient=True)
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def say(self, text: str) -> None:
        """Prints a line that is not rewritten."""
        if self._console is not None:
            self._console.print(visible(text), highlight=False, markup=False)
        else:
            sys.stderr.write(visible(f"{text}\n"))
            sys.stderr.flush()

    def clear(self) -> None:
        """Clears the progress line, before something is written to standard output."""
        if self._status is not None:
            self._status.update("", refresh=True)

    def told(self, what: str, search: Search) -> None:
        if what == "undisturbed":
            self.say(_undisturbed(search))
            return
        told = _line(what, search)
        if self._status is not None:
            from rich.spinner import Spinner
            from rich.text import Text

            self._status.update(Spinner("dots", Text(told)), refresh=True)
        elif time.monotonic() - self._last >= _EVERY and search.report.runs != self._said:
            self._last, self._said = time.monotonic(), search.report.runs
            self.say(told)


def _undisturbed(search: Search) -> str:
    points = ", ".join(f"{count} {name}" for name, count in sorted(search.report.points.items()))
    watched = ", ".join(sorted(search.expected.hears)) or "nothing"
    return (
        f"without faults: {search.seconds:.1f} s; {points}; watched: {watched}; "
        f"{search.expected.silence:.1f} s without a write are taken for rest"
    )


def _line(what: str, search: Search) -> str:
    report = search.report
    told = f"{report.singles} of {report.all_singles} single faults, " if report.all_singles else ""
    found = f", {search.found} finding{'s' * (search.found != 1)}" if search.found else ""
    return f"{told}{report.runs} runs in {search.seconds:.0f} s, {search.workers} at once{found}; {what}"
