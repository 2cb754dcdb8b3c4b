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
from setpoint.cli.simulate import named_scenario, off_but, parse_budget, print_counterexamples
from setpoint.cli.torture_flags import TortureFlags
from setpoint.crd import CustomResource
from setpoint.meta import Object
from setpoint.meta.text_escaping import visible
from setpoint.meta.yaml_files import SUFFIXES, YamlFileError
from setpoint.simulation import Counterexample, PlanError, Predicate, Search, SetupFailed
from setpoint.simulation.check import read_plan
from setpoint.simulation.oracles.catalog import check_switches
from setpoint.simulation.report.coverage_report import Report
from setpoint.torture import RealTimeRunner, ScenarioError, Setup
from setpoint.torture.documents import read_documents
from setpoint.torture.scenario import read_plain

_EVERY: Final = 10.0
"""Seconds between two lines of progress if the output is not a terminal."""


def torture(
    command: Sequence[str],
    scenario: str,
    flags: TortureFlags,
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
            options = _setup(stack, scenario)
            documents = [document for path in flags.before for document in read_documents(path)]
            setup = Setup(
                command=command,
                before=[*documents, *options.pop("before")],
                off={**off_but(flags.faults), **_switches(flags.off)},
                ignore=_reasons("--ignore", flags.ignore),
                converge=flags.converge,
                quiet_period=flags.quiet_period,
                start_within=flags.start_within,
                **options,
            )
            limits = parse_budget(flags.budget)
            with _Live() as live:
                live.runs = RealTimeRunner(setup, workers=flags.workers, repeat=flags.repeat, tick=live.tick)
                search = Search(live.runs, budget=limits, progress=live.note)
                counterexamples: list[Counterexample] = []
                if flags.replay is not None:
                    plan, code, _ = read_plan(flags.replay)
                    if code and code != setup.code():
                        live.say(
                            "the program or the scenario has changed since this finding, so the faults may hit other "
                            "requests"
                        )
                    counterexamples += [again for again in [search.replay(plan)] if again is not None]
                    live.clear()
                    print_counterexamples(counterexamples, flags.directory)
                else:
                    best = None if flags.every else search.best()
                    likeliest = [] if best is None else [best, *best.others]
                    for counterexample in search.findings() if flags.every else likeliest:
                        counterexamples.append(counterexample)
                        live.clear()
                        print_counterexamples([counterexample], flags.directory)
    except (PlanError, ScenarioError, SetupFailed, SourceError, YamlFileError) as problem:
        raise UsageError(str(problem)) from None
    sys.stdout.write(visible(f"{search.report}\n") if flags.replay is None else "")
    sys.stdout.write(
        f"{len(counterexamples)} finding{'s' * (len(counterexamples) != 1)}\n" if counterexamples else "no findings\n"
    )
    return 1 if counterexamples else 0


def _setup(stack: ExitStack, source: str) -> dict[str, Any]:
    """Those arguments of the setup that come from the scenario file."""
    path = Path(source)
    if path.suffix in SUFFIXES:
        plain = read_plain(path)
        return {"scenario": plain, "name": source, "source": path, "before": plain.before}
    file = source.partition(".py:")[0] + ".py" if ".py:" in source else source
    program = stack.enter_context(loaded(source if file != source else f"{source}:scenario"))
    named, module = named_scenario(program), program.module
    options = {
        name: _all_of(module, name, kind)
        for name, kind in (("objects", Object), ("predicates", Predicate), ("crds", (type, dict)))
    }
    for kind in options["crds"]:
        if isinstance(kind, type) and not issubclass(kind, CustomResource):
            raise UsageError(f"--scenario {source}: crds has {kind.__name__}, which is not a CustomResource")
    return {"scenario": named, "name": source, "source": Path(file), "before": [], **options}


def _all_of(module: Any, name: str, kind: Any) -> list[Any]:
    """The module's list with the name ``name``; empty if there is none. Raises `UsageError` if the list is invalid."""
    values = getattr(module, name, [])
    if not isinstance(values, list | tuple) or not all(isinstance(value, kind) for value in values):
        kinds = {"objects": "objects", "predicates": "predicates", "crds": "CustomResource classes or definitions"}
        raise UsageError(f"{module.__file__}: {name} must be a list of {kinds[name]}")
    return list(values)


def _reasons(option: str, texts: Sequence[str]) -> dict[str, str]:
    """The reasons by name, from texts of the form ``NAME=REASON``. Raises `UsageError` for a text of a different
    form.
    """
    reasons = {}
    for text in texts:
        name, equals, why = text.partition("=")
        if not equals or not why.strip():
            raise UsageError(
                f"{option} {text!r}: give the reason, as in {option} '{name or 'quiet'}=it notes the time'"
            )
        reasons[name.strip()] = why.strip()
    return reasons


def _switches(texts: Sequence[str]) -> dict[str, str]:
    """The faults and oracles to switch off. Raises `UsageError` for one that does not exist."""
    reasons = _reasons("--off", texts)
    try:
        check_switches(reasons)
    except ValueError as problem:
        raise UsageError(f"--off: {problem}") from None
    return reasons


class _Live:
    """Shows the progress: on a terminal as a line that is rewritten, otherwise as a line from time to time."""

    runs: RealTimeRunner

    def __init__(self) -> None:
        self._console: Any = None
        self._status: Any = None
        self._began = self._last = time.monotonic()
        self._last_count = -1
        self._phase = ""
        self._report: Report | None = None
        self._is_undisturbed_shown = False

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

    def note(self, report: Report, phase: str) -> None:
        """Notes what a search has tried."""
        if not self._is_undisturbed_shown:
            self._is_undisturbed_shown = True
            self.say(self._describe_undisturbed(report))
        self._report, self._phase = report, phase
        self.tick()

    def tick(self) -> None:
        """Shows the progress, at least about once a second."""
        if self._status is not None:
            from rich.spinner import Spinner
            from rich.text import Text

            self._status.update(Spinner("dots", Text(self._line())), refresh=True)
        elif time.monotonic() - self._last >= _EVERY and self.runs.count != self._last_count:
            self._last, self._last_count = time.monotonic(), self.runs.count
            self.say(self._line())

    def _describe_undisturbed(self, report: Report) -> str:
        points = ", ".join(f"{count} {name}" for name, count in sorted(report.points.items()))
        expectations = self.runs.expectations
        watched = ", ".join(sorted(expectations.watched)) or "nothing"
        return (
            f"without faults: {report.seconds:.1f} s; {points}; watched: {watched}; "
            f"{expectations.quiet_period:.1f} s without a write count as settled"
        )

    def _line(self) -> str:
        report, runs = self._report, self.runs
        singles = f"{report.singles} of {report.all_singles} single faults, " if report is not None else ""
        seconds = time.monotonic() - self._began
        phase = self._phase or "without faults"
        return f"{singles}{runs.count} runs in {seconds:.0f} s, {runs.size} at once; {phase}"
