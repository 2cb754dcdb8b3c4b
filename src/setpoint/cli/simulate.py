"""``simulate``: runs the simulation of a program's controllers from the command line."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TextIO, cast

from setpoint.apps.error_reports import UsageError
from setpoint.cli.finding_formats import Format, Location, Problem, document, place_of
from setpoint.cli.program_loader import Loaded, SourceError, loaded
from setpoint.cli.simulate_flags import SimulateFlags
from setpoint.controller import Controller
from setpoint.manager import Lifespan
from setpoint.meta.text_escaping import visible
from setpoint.simulation import Budget, Counterexample, PlanError, Recording, RecordingError, Search, Setup, SetupFailed
from setpoint.simulation.check import read_plan, write
from setpoint.simulation.faults.catalog import SWITCHES
from setpoint.simulation.oracles.catalog import ORACLES
from setpoint.simulation.report.coverage_report import Report
from setpoint.simulation.scenario.code_digest import digest_files
from setpoint.simulation.scenario.generator import NoScenario, generate_scenario
from setpoint.simulation.scenario.simulation_options import Scenario, check_scenario
from setpoint.simulation.trace.result import Finding, Line
from setpoint.webhook import Admission

_BUDGET = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|runs?)?")


def simulate(
    controllers: Sequence[Controller[Any]],
    admissions: Sequence[Admission[Any]],
    flags: SimulateFlags,
    stream: TextIO,
    *,
    lifespan: Lifespan | None = None,
    notes: Sequence[str] = (),
) -> int:
    """Runs the simulation and writes its findings to the stream; returns the exit status: 1 if there is a finding, 130
    if Ctrl-C has ended the search before. ``notes`` are printed with the report.

    Raises:
        UsageError: an argument is invalid.
    """
    scenario, replay, directory = flags.scenario, flags.replay, flags.directory
    plan = code = None
    search: Search | None = None
    counterexamples: list[Counterexample] = []
    text = stream if flags.output == "text" else sys.stderr
    live = _progress if flags.progress or sys.stderr.isatty() else None
    try:
        if replay is not None:
            plan, code, _ = read_plan(replay)
        with ExitStack() as stack:
            if flags.recording is not None:
                source_scenario = Recording(flags.recording).scenario(list(controllers), mine=flags.mine)
            elif scenario is None:
                source_scenario = generate_scenario(list(controllers))
            else:
                source_scenario = named_scenario(stack.enter_context(loaded(scenario)))
            setup = Setup(
                scenario=source_scenario,
                factory=lambda: list(controllers),
                webhooks=tuple(admissions),
                lifespan=lifespan,
                off=off_but(flags.faults),
            )
            search = Search(setup, budget=parse_budget(flags.budget), seed=flags.seed, progress=live)
            search.report.notes += notes
            if plan is not None:
                if code and code != digest_files(setup):
                    _say("the code has changed since this finding, so the faults may hit other requests")
                counterexamples += [again for again in [search.replay(plan, debug=flags.debug)] if again is not None]
                print_counterexamples(counterexamples, directory, text)
            else:
                best = None if flags.every else search.best()
                likeliest = [] if best is None else [best, *best.others]
                for counterexample in search.findings() if flags.every else likeliest:
                    counterexamples.append(counterexample)
                    print_counterexamples([counterexample], directory, text)
    except KeyboardInterrupt:
        if search is None or plan is not None:
            raise
        search.report.ended = "the search was interrupted"
        _end_line()
        text.write(visible(f"{search.report}\n"))
        _write_document(stream, flags.output, counterexamples, controllers)
        _say("interrupted")
        return 1 if counterexamples else 130  # as shells expect of Ctrl-C
    except SourceError as problem:
        raise UsageError(f"--scenario {problem}") from None
    except (PlanError, RecordingError, NoScenario, SetupFailed) as problem:
        raise UsageError(str(problem)) from None
    _end_line()
    _write_document(stream, flags.output, counterexamples, controllers)
    text.write(visible(f"{search.report}\n") if plan is None else "")
    text.write(
        f"{len(counterexamples)} finding{'s' * (len(counterexamples) != 1)}\n" if counterexamples else "no findings\n"
    )
    return 1 if counterexamples else 0


def parse_budget(text: str) -> Budget:
    """The budget in a text such as ``60s``, ``5m``, ``1h`` or ``500runs``. Raises `UsageError` if the text has a
    different form.
    """
    match = _BUDGET.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"--budget {text!r}: give a duration, such as 60s or 5m, or a number of runs, such as 500runs")
    number, unit = float(match[1]), match[2] or "s"
    if unit.startswith("run"):
        return Budget(runs=int(number))
    return Budget(seconds=number * {"s": 1, "m": 60, "h": 3600}[unit])


def off_but(faults: str | None) -> dict[str, str]:
    """The faults to switch off so that only ``faults`` are left, each with a reason; empty if ``faults`` is None.
    Raises `UsageError` if a fault does not exist.
    """
    if faults is None:
        return {}
    wanted = [name.strip() for name in faults.split(",") if name.strip()]
    if unknown := [name for name in wanted if name not in SWITCHES]:
        raise UsageError(f"--faults: there is no fault {unknown[0]!r}; there are: {', '.join(SWITCHES)}")
    return {name: "not among --faults" for name in SWITCHES if name not in wanted}


def named_scenario(source: Loaded) -> Scenario:
    """The scenario that the source names. Raises `UsageError` if it does not name one function, or if that is not a
    scenario.
    """
    functions = [value for value in (source.named or {}).values() if callable(value)]
    if len(functions) != 1:
        raise UsageError(f"--scenario {source.source}: name one function, as in test_mykind.py:scenario")
    scenario = cast("Scenario", functions[0])
    try:
        check_scenario(scenario)
    except TypeError as problem:
        raise UsageError(f"--scenario {source.source}: {problem}") from None
    return scenario


def print_counterexamples(
    counterexamples: Sequence[Counterexample], directory: Path, stream: TextIO | None = None
) -> None:
    """Prints counter-examples, by default to stdout, and writes their files."""
    place: TextIO = sys.stdout if stream is None else stream
    for counterexample in counterexamples:
        _end_line()
        place.write(visible(f"{counterexample.describe()}\n"))
        for file in write(counterexample, directory):
            place.write(f"written: {file}\n")
        place.write("\n")
        place.flush()


def _write_document(
    stream: TextIO,
    output: Format,
    counterexamples: Sequence[Counterexample],
    controllers: Sequence[Controller[Any]],
) -> None:
    if output == "text":
        return
    problems = []
    for counterexample in counterexamples:
        for finding in counterexample.findings:
            details = {
                "subject": finding.subject,
                "faults": [str(fault) for fault in counterexample.plan.faults],
                "replay": counterexample.token,
                "files": [str(file) for file in counterexample.files],
            }
            cause = f" {counterexample.cause}" if counterexample.plan.faults else ""
            message = f"{finding.message}.{cause} Replay: simulate --replay {counterexample.token}"
            place = _place(finding, counterexample.trace, controllers)
            problems.append(Problem(finding.oracle, message, place, details))
    stream.write(document(output, "setpoint simulate", ORACLES, problems))


def _place(finding: Finding, trace: Sequence[Line], controllers: Sequence[Controller[Any]]) -> Location | None:
    """The line that wrote the finding's object last, or else the reconcile function, if there is one controller."""
    function = place_of(controllers[0].reconcile) if len(controllers) == 1 else None
    name = finding.subject.partition(" ")[2]
    for line in reversed(trace):
        file, _, number = line.place.rpartition(":")
        if not name or name not in line.text or not number.isdecimal():
            continue
        if Path(file).is_file():
            return Location(Path(file), int(number))
        if function is not None and function.file.name == Path(file).name:
            return Location(function.file, int(number))
    return function


def _progress(report: Report, phase: str) -> None:
    if report.runs % 5 == 0:
        covered = sum(len(set().union(*switches.values())) for switches in report.disturbed.values())
        text = f"{report.runs} runs, {report.singles} of {report.all_singles} single faults"
        text += f", {report.combinations} combinations" if report.combinations else ""
        text += f", {covered} of {sum(report.points.values())} points disturbed, {phase}"
        sys.stderr.write(f"\r\x1b[K{text}" if sys.stderr.isatty() else f"{text}\n")
        sys.stderr.flush()


def _end_line() -> None:
    """Clears the line of progress, if there is one."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def _say(text: str) -> None:
    sys.stderr.write(visible(f"{text}\n"))
