"""Check: a whole simulation in a single call from a test."""

from __future__ import annotations

import asyncio
import os
import warnings
from pathlib import Path
from typing import Any, Final, Unpack

from setpoint.operator import Operator
from setpoint.simulation.faults.plan import PREFIX, Plan, PlanError
from setpoint.simulation.report.counterexample import Counterexample
from setpoint.simulation.report.counterexample_page import render_page
from setpoint.simulation.report.coverage_report import Report
from setpoint.simulation.scenario.simulation_options import Factory, Scenario, Setup, SetupOptions
from setpoint.simulation.search.search import DEFAULT_BUDGET, Budget, Progress, Search

REPLAY = "SETPOINT_REPLAY"
"""The environment variable that requests a replay instead of a search. Its value is a token or the path of a
counter-example's file.
"""

HALF: Final = 0.5
"""The share of the single faults that a search for some seconds has to try: with fewer, its caller is warned."""


def check(
    scenario: Scenario,
    factory: Factory | Operator[Any],
    *,
    budget: Budget | float = DEFAULT_BUDGET,
    seed: int = 0,
    workers: int | None = None,
    replay: str | Path | None = None,
    debug: bool = False,
    directory: str | Path | None = None,
    progress: Progress | None = None,
    **options: Unpack[SetupOptions],
) -> Report:
    """Runs a scenario without faults, then with every single fault that can make a difference, then with combinations.

    ```python
    def test_mykind_survives() -> None:
        sp.simulation.check(scenario, lambda: [make_controller()])
    ```

    Returns the report of the search if no promise is broken. Call `check` from an ordinary function, since it runs its
    own event loops in its own processes.

    Args:
        scenario: the actions of users: ``async def scenario(cluster)``, like the body of a test. Its waits (`settle`,
            `until`, `eventually`) divide the run into steps; some faults strike at the end of a step, and some last for
            one.
        factory: makes the controllers of one process; it is called for every process that starts. With ``fleet``, it
            may also return a `setpoint.Fleet`. A `setpoint.Operator` stands for its controllers, admissions, and its
            stand-in or lifespan.
        budget: seconds of real time, or a `Budget`; 60 s by default. Combinations are drawn after the single faults.
        seed: the seed of all random choices.
        workers: the number of processes that run at the same time; by default the number of cores, and under
            pytest-xdist this worker's share of them, at least one. With 0, all runs take place in this process, one
            after the other, which is slower but permits a debugger.
        replay: a token or the path of a counter-example's file. Only the plan in it and the scenario without faults are
            run. The environment variable ``SETPOINT_REPLAY`` has the same effect.
        debug: with ``replay``, the plan is run in this process, and ``breakpoint()`` is called where a fault strikes
            and where a promise is broken. The debugger's ``up`` leads to the line of your code that caused it.
        directory: the directory for the files of a counter-example; by default none are written.
        progress: a function that is called after each plan with faults that the search tries, with the report so far
            and the phase (``"single faults"``, ``"combinations"``, or ``""``).
        options: the cluster, the program's processes and the promises; see `SetupOptions`.

    Warns:
        UserWarning: the budget ended before the first fault or, if it is one of seconds, before half of the
            single faults; or there is an object that comes or goes without any fault, so that its existence can't be
            compared.

    Raises:
        Counterexample: a promise is broken.
        SetupFailed: the world could not be made.
        PlanError: ``replay`` does not contain a plan.
        RuntimeError: `check` was called from a coroutine.
        TypeError: the factory is not a function, or returned something other than controllers.
        ValueError: ``off`` has an unknown name, or more than one of leader election, sharding and a fleet is asked for.
    """
    if asyncio._get_running_loop() is not None:
        raise RuntimeError("check() runs loops of its own: call it from an ordinary function, not from a coroutine")
    setup = Setup.build(scenario, factory, **options)
    limits = budget if isinstance(budget, Budget) else Budget(seconds=float(budget))
    search = Search(setup, budget=limits, seed=seed, workers=workers, progress=progress)
    again = replay if replay is not None else os.environ.get(REPLAY)
    counterexample = search.best() if again is None else search.replay(read_plan(again)[0], debug=debug)
    if counterexample is not None:
        if directory is not None:
            for other in (counterexample, *counterexample.others):
                write(other, Path(directory))
        raise counterexample
    report = search.report
    if again is None:
        for message in report.warnings():
            warnings.warn(message, stacklevel=2)
        if limits.runs is None and 0 < report.singles < HALF * report.all_singles:
            warnings.warn(
                f"{report.singles} of {report.all_singles} single faults were tried: the budget is too small "
                "for this scenario",
                stacklevel=2,
            )
    return report


def read_plan(source: str | Path) -> tuple[Plan, str, str]:
    """The plan in ``source`` (a token or the path of a file), the digest of the code, and the name of the scenario.
    Raises PlanError if ``source`` does not contain a plan.
    """
    text = str(source)
    if text.strip().startswith(PREFIX):
        return Plan.load(text)
    try:
        content = Path(text).read_text("utf-8")
    except (OSError, ValueError) as problem:
        why = "the file does not exist" if isinstance(problem, FileNotFoundError) else problem
        raise PlanError(f"{text!r} is neither a token ({PREFIX}…) nor the file of a counter-example: {why}") from None
    try:
        return Plan.load(content)
    except PlanError as problem:
        raise PlanError(f"{text}: {problem}") from None


def write(counterexample: Counterexample, directory: Path) -> list[Path]:
    """Writes a counter-example to ``directory`` as YAML and as an HTML page. Returns the paths of all its files."""
    directory.mkdir(parents=True, exist_ok=True)
    stem = (
        f"counterexample-{counterexample.findings[0].oracle.replace(' ', '-')}-{counterexample.token[-8:].strip('-_')}"
    )
    for ending, text in (("yaml", counterexample.to_yaml()), ("html", render_page(counterexample))):
        file = directory / f"{stem}.{ending}"
        file.write_text(text, "utf-8")
        counterexample.files.append(file)
    return counterexample.files
