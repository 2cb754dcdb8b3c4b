"""Convergence: the end of a run, in which everything must reach its expected state and stay in it."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

from setpoint.simulation.faults.plan import Plan
from setpoint.simulation.injection.injector import FaultInjector
from setpoint.simulation.injection.user_steps import Steps
from setpoint.simulation.oracles.monitor import RENEWED, Monitor
from setpoint.simulation.sandbox.event_loop import SimulationLoop
from setpoint.simulation.world.control_plane import SimulatedControlPlane
from setpoint.simulation.world.quiescence import Quiescence
from setpoint.simulation.world.renewed_versions import VersionHost, renew_versions
from setpoint.simulation.world.supervisor import Supervisor

CONVERGE: Final = 2400.0
"""Seconds of virtual time within which the world must return to its expected state after the last fault."""
_BACK_OFF: Final = 1100.0
"""Seconds of virtual time after which the longest back-off of a work queue has run out."""
_HOUR: Final = 3600.0
_NEVER_STARTED: Final = (
    "the controllers of the process never started: its lifespan has not yielded. Informers deliver nothing before "
    "that, so do not wait for one in the lifespan"
)


class ConvergingRun(VersionHost, Protocol):
    """The interface of a run that `converge` and `check_quiescence` use."""

    @property
    def plan(self) -> Plan: ...
    @property
    def loop(self) -> SimulationLoop: ...
    @property
    def monitor(self) -> Monitor: ...
    @property
    def steps(self) -> Steps: ...
    @property
    def quiescence(self) -> Quiescence: ...
    @property
    def injector(self) -> FaultInjector: ...
    @property
    def control_plane(self) -> SimulatedControlPlane: ...
    @property
    def supervisor(self) -> Supervisor: ...


async def converge(world: ConvergingRun) -> None:
    """Ends all faults, waits until everything should be as expected, and checks what must hold then."""
    world.injector.over = world.trace.full = True
    world.steps.end_faults()
    for actor in (*world.control_plane.actors, *(process.actor for process in world.supervisor)):
        world.loop.resume(actor)
    world.supervisor.revive()
    wrong = any(fault.kind == "clock" for fault in world.injector.injected)
    for process in world.supervisor:
        process.offset = 0.0
    await world.quiescence.reach(CONVERGE)
    # A clock that went back an hour has put off by an hour what hangs on the time of day.
    await asyncio.sleep(_BACK_OFF + (_HOUR if wrong else 0.0))
    await world.quiescence.reach(CONVERGE)
    for process in world.supervisor.alive():
        if not process.has_started():
            world.monitor.report("hang", "process", _NEVER_STARTED)
    world.monitor.check_predicates()
    world.monitor.check_in_the_end()
    world.monitor.check_tasks(world.loop.started_tasks)


async def check_quiescence(world: ConvergingRun) -> None:
    """Lets everything happen that must not cause a write: all objects are looked at again, the processes are replaced,
    an hour passes and, in a run without faults, all objects get new versions. The judge reports the writes.
    """
    monitor, supervisor = world.monitor, world.supervisor
    monitor.quiet_phase = "by a resync"
    supervisor.resync()
    await world.quiescence.reach(30.0)
    monitor.quiet_phase = "after a restart"
    for process in supervisor.alive():
        process.kill()
    supervisor.start_all()
    await world.quiescence.reach(30.0)
    monitor.quiet_phase = "within an idle hour"
    await asyncio.sleep(_HOUR)
    await world.quiescence.reach(30.0)
    if not world.plan.faults:
        monitor.quiet_phase = RENEWED
        await renew_versions(world, supervisor.collections())
        await world.quiescence.reach(30.0)
