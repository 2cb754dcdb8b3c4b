"""Conclusion: the end of a run, in which everything must reach its expected state and stay in it."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

from setpoint.simulation.judge import Judge
from setpoint.simulation.loop import SimulationLoop
from setpoint.simulation.plane import Plane
from setpoint.simulation.processes import Processes
from setpoint.simulation.steps import Steps
from setpoint.simulation.strikes import Strikes
from setpoint.simulation.tape import Tape

CONVERGE: Final = 2400.0
"""Seconds of virtual time within which the world must return to its expected state after the last fault."""
_BACK_OFF: Final = 1100.0
"""Seconds of virtual time after which the longest back-off of a work queue has run out."""
_HOUR: Final = 3600.0


class Concluded(Protocol):
    """The interface of a run that `conclude` uses."""

    @property
    def loop(self) -> SimulationLoop: ...
    @property
    def tape(self) -> Tape: ...
    @property
    def judge(self) -> Judge: ...
    @property
    def steps(self) -> Steps: ...
    @property
    def strikes(self) -> Strikes: ...
    @property
    def plane(self) -> Plane: ...
    @property
    def processes(self) -> Processes: ...


async def converge(world: Concluded) -> None:
    """Ends all faults, waits until everything should be as expected, and checks what must hold then."""
    steps = world.steps
    world.strikes.over = world.tape.full = True
    steps.end_faults()
    for actor in (*world.plane.actors, *(process.actor for process in world.processes)):
        world.loop.resume(actor)
    world.processes.revive()
    wrong = any(each.kind == "clock" for each in world.strikes.struck)
    for process in world.processes:
        process.offset = 0.0
    await steps.quiesce(CONVERGE)
    # A clock that went back an hour has put off by an hour what hangs on the time of day.
    await asyncio.sleep(_BACK_OFF + (_HOUR if wrong else 0.0))
    await steps.quiesce(CONVERGE)
    world.judge.check_predicates()
    world.judge.check_in_the_end()
    world.judge.check_tasks(world.loop.begun)


async def stay(world: Concluded) -> None:
    """Lets everything happen that must not cause a write: all objects are looked at again, the processes are replaced,
    and an hour passes. The judge reports the writes.
    """
    steps, judge, processes = world.steps, world.judge, world.processes
    judge.quiet_since = "when every object was looked at again"
    processes.resync()
    await steps.quiesce(30.0)
    judge.quiet_since = "after a restart"
    for process in processes.alive():
        process.kill()
    processes.start_all()
    await steps.quiesce(30.0)
    judge.quiet_since = "within an hour in which nothing happened"
    await asyncio.sleep(_HOUR)
    await steps.quiesce(30.0)
