"""In process: carries out one run in this process, on a new event loop."""

from __future__ import annotations

import asyncio
import gc
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from setpoint.simulation.faults.plan import Plan
from setpoint.simulation.sandbox.event_loop import SimulationLoop
from setpoint.simulation.sandbox.log_suppression import suppress_logs
from setpoint.simulation.scenario.simulation_options import Setup
from setpoint.simulation.trace.result import Options, Result
from setpoint.simulation.world.world import World
from setpoint.testing.virtual_clock import Livelock

Choose = Callable[[], tuple[Plan, Options]]
Branch = Callable[[int], tuple[Plan, Options] | None]


def run_in_process(setup: Setup, plan: Plan, options: Options) -> Result:
    """Carries out one run in this process. A forked process would be faster, but a debugger could not follow it."""
    with suppress_destructor_errors():
        return run_world(setup, lambda: (plan, options))


def run_world(setup: Setup, choose: Choose, branch: Branch = lambda _step: None) -> Result:
    """Prepares a world, asks ``choose`` for the run to carry out, and carries it out. At the start of every step it
    asks ``branch`` whether to continue as a different run.
    """
    loop = SimulationLoop()
    asyncio.set_event_loop(loop)
    world: World | None = None

    async def whole() -> Result:
        nonlocal world
        candidate = World(setup, loop)
        await candidate.warm()
        candidate.branch = branch
        plan, options = choose()
        world = candidate
        return await candidate.run(plan, options)

    main = whole()
    with suppress_logs():
        try:
            return loop.run_until_complete(main)
        except Livelock as problem:
            if world is None:
                raise
            return world.hung(str(problem).partition(";")[0])
        finally:
            main.close()  # what a livelock has left open ends now, and not when Python collects it
            asyncio.set_event_loop(None)
            loop.close()


@contextmanager
def suppress_destructor_errors() -> Iterator[None]:
    """Suppresses the errors that Python reports when it closes the coroutines of killed processes. These errors are
    expected, since the event loop of the coroutines is already closed.
    """
    before = sys.unraisablehook
    sys.unraisablehook = lambda _: None
    try:
        with suppress_logs():
            yield
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # coroutines of the dead that were never awaited
                gc.collect()
    finally:
        sys.unraisablehook = before
