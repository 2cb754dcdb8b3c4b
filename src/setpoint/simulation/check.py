"""Check: a whole simulation in a single call from a test."""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from setpoint.cache.watch_options import FirstList
from setpoint.manager import Lifespan
from setpoint.meta import Object
from setpoint.simulation.faults.plan import PREFIX, Plan, PlanError
from setpoint.simulation.report.counterexample import Counterexample
from setpoint.simulation.report.html_page import render_page
from setpoint.simulation.report.report import Report
from setpoint.simulation.scenario.externals import External
from setpoint.simulation.scenario.predicates import Predicate
from setpoint.simulation.scenario.setup import Factory, Scenario, Setup, freeze_options
from setpoint.simulation.search.search import DEFAULT_BUDGET, Budget, Progress, Search
from setpoint.testing.clusters import Definitions
from setpoint.webhook import Admission, Converter

REPLAY = "SETPOINT_REPLAY"
"""The environment variable that requests a replay instead of a search. Its value is a token or the path of a
counter-example's file.
"""

HALF: Final = 0.5
"""The share of the single faults that a search for some seconds has to try: with fewer, its caller is warned."""


def check(
    scenario: Scenario,
    factory: Factory,
    *,
    objects: Iterable[Object] = (),
    crds: Iterable[Definitions] | None = None,
    nodes: int = 1,
    control_plane: bool | Iterable[str] = True,
    webhooks: Iterable[Admission[Any] | Converter] = (),
    namespace: str = "default",
    externals: Iterable[External] = (),
    predicates: Iterable[Predicate] = (),
    leader_election: bool = False,
    sharding: bool = False,
    fleet: bool = False,
    lifespan: Lifespan | None = None,
    first_list: FirstList = "newest",
    off: Mapping[str, str] | None = None,
    ignore: Mapping[str, str] | None = None,
    budget: Budget | float = DEFAULT_BUDGET,
    seed: int = 0,
    workers: int | None = None,
    replay: str | Path | None = None,
    debug: bool = False,
    directory: str | Path | None = None,
    progress: Progress | None = None,
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
            may also return a `setpoint.Fleet`.
        objects: the objects that exist before the controllers start.
        crds, nodes, control_plane, webhooks, namespace: as for `setpoint.testing.cluster`.
        externals: systems outside the cluster; see `External`.
        predicates: see `always`, `never`, `eventually`.
        leader_election: whether two processes of the program run and compete for a lease.
        sharding: whether two processes of the program run and share the keys; each has a lease of its own.
        fleet: whether the controllers run in two clusters (`setpoint.Fleet`): ``near``, which is the scenario's, and
            ``far``, which faults can cut off. Users act in the same way in both. If the factory returns both
            controllers and a `setpoint.Fleet`, the controllers run only in ``near``, the fleet's controllers run in
            both clusters, and users act only in ``near``.
        lifespan: a function that opens an object in each process of the program, as for `setpoint.Manager`.
        first_list: the version that the caches' first lists ask for, as for `InformerFactory`. With either value, the
            search tries restarts in which a process first lists an older state, from a server that can't stream lists;
            see the switch ``time-travel``.
        off: the faults and oracles to switch off, by name, each with the reason (which the report shows).
        ignore: fields that are not compared, each with the reason: ``{"pods status.podIP": "drawn from a pool"}``.
        budget: seconds of real time, or a `Budget`; 60 s by default. Combinations are drawn after the single faults.
        seed: the seed of all random choices.
        workers: the number of processes that run at the same time; by default the number of cores. With 0, all runs
            take place in this process, one after the other, which is slower but permits a debugger.
        replay: a token or the path of a counter-example's file. Only the plan in it and the scenario without faults are
            run. The environment variable ``SETPOINT_REPLAY`` has the same effect.
        debug: with ``replay``, the plan is run in this process, and ``breakpoint()`` is called where a fault strikes
            and where a promise is broken. The debugger's ``up`` leads to the line of your code that caused it.
        directory: the directory for the files of a counter-example; by default none are written.
        progress: a function that is called after each plan with faults that the search tries, with the report so far
            and the phase (``"single faults"``, ``"combinations"``, or ``""``).

    Warns:
        UserWarning: the budget was used up before the first fault or, if it is one of seconds, before half of the
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
    if leader_election + sharding + fleet > 1:
        raise ValueError("a simulation has leader_election, sharding or a fleet, not several of them")
    setup = Setup(
        scenario=scenario,
        factory=factory,
        nodes=nodes,
        control_plane=control_plane if isinstance(control_plane, (bool, str)) else tuple(control_plane),
        namespace=namespace,
        leader_election=leader_election,
        sharding=sharding,
        fleet=fleet,
        lifespan=lifespan,
        first_list=first_list,
        off=dict(off or {}),
        ignore=dict(ignore or {}),
        **freeze_options(objects=objects, crds=crds, webhooks=webhooks, externals=externals, predicates=predicates),
    )
    limits = budget if isinstance(budget, Budget) else Budget(seconds=float(budget))
    search = Search(setup, budget=limits, seed=seed, workers=workers, progress=progress)
    again = replay if replay is not None else os.environ.get(REPLAY)
    found = search.best() if again is None else search.replay(read_plan(again)[0], debug=debug)
    if found is not None:
        if directory is not None:
            for each in (found, *found.others):
                write(each, Path(directory))
        raise found
    report = search.report
    if again is None:
        for told in report.warnings():
            warnings.warn(told, stacklevel=2)
        if limits.runs is None and 0 < report.singles < HALF * report.of_singles:
            warnings.warn(
                f"{report.singles} of {report.of_singles} single faults were tried: the budget is too small "
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


def write(found: Counterexample, directory: Path) -> list[Path]:
    """Writes a counter-example to ``directory`` as YAML and as an HTML page. Returns the paths of all its files."""
    directory.mkdir(parents=True, exist_ok=True)
    stem = f"counterexample-{found.findings[0].oracle.replace(' ', '-')}-{found.token[-8:].strip('-_')}"
    for ending, text in (("yaml", found.to_yaml()), ("html", render_page(found))):
        file = directory / f"{stem}.{ending}"
        file.write_text(text, "utf-8")
        found.files.append(file)
    return found.files
