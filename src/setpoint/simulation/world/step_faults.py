"""Step faults: the faults that begin between steps, and those that last for a whole run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from setpoint.simulation.faults.plan import Fault
from setpoint.simulation.injection.injector import FaultInjector
from setpoint.simulation.injection.user_steps import Steps, Waits
from setpoint.simulation.oracles.monitor import Monitor
from setpoint.simulation.trace.history import History


class Processes(Protocol):
    """The processes of the program under test, in virtual or in real time.

    ``start_all`` starts them; with ``behind``, they first see the state of each of these kinds at a revision, until
    ``catch_up``. ``pause`` stops what a plan's ``who`` names, and returns a function that lets it go on.
    ``strike`` carries out a fault at rest that does not restart them.
    """

    def collections(self) -> list[str]: ...
    def start_all(self, behind: dict[str, int]) -> object: ...
    def catch_up(self, collections: Iterable[str]) -> None: ...
    def kill_all(self, why: str) -> None: ...
    def revive(self) -> object: ...
    def pause(self, actor_name: str, /) -> Callable[[], None]: ...
    def strike(self, fault: Fault) -> None: ...


class Severable(Protocol):
    """A cluster that can be cut off from the program."""

    def cut_off(self) -> None: ...
    def restore(self) -> None: ...


class StepFaultHost(Protocol):
    """The interface of a run that its `StepFaults` use."""

    @property
    def history(self) -> History: ...
    @property
    def monitor(self) -> Monitor: ...
    @property
    def steps(self) -> Steps: ...
    @property
    def quiescence(self) -> Waits: ...
    @property
    def injector(self) -> FaultInjector: ...
    @property
    def supervisor(self) -> Processes: ...
    @property
    def remote_cluster(self) -> Severable | None: ...


class StepFaults:
    """Carries out those faults of the plan that last for the whole run or begin between the user's steps."""

    def __init__(self, world: StepFaultHost) -> None:
        self._world = world

    def begin(self) -> None:
        """Begins the faults that last for the whole run, except those that every process begins with. A remote cluster
        that is cut off from the start can be reached again after the fault's ``seconds`` or, without them, from the end
        of step 1.
        """
        for fault in self._world.injector.take("run"):
            if fault.kind == "cut-off":
                self._cut_off(fault, 1)

    def early(self, step: int) -> Fault | None:
        """The fault that makes the user go on without waiting at the end of this step; None if the user waits."""
        return next(iter(self._world.injector.take(f"step {step}", "early")), None)

    async def at_rest(self, step: int, patience: float) -> None:
        """Carries out the faults at the end of a step, when nothing is left to do."""
        world = self._world
        for fault in world.injector.take(f"step {step}", "restart", "clock", "expire-all", "resync"):
            if fault.kind == "restart":
                await self._restart(fault, patience)
            else:
                world.supervisor.strike(fault)
            await world.quiescence.reach(patience)

    async def _restart(self, fault: Fault, patience: float) -> None:
        world, supervisor = self._world, self._world.supervisor
        behind: dict[str, int] = {}
        if name := fault.get("behind"):
            entry = next((candidate for candidate in world.history.entries if candidate.point == name), None)
            if entry is None:
                return  # there is no such state in this run
            kinds = supervisor.collections() if fault.get("kinds") == "all" else [entry.collection]
            behind = dict.fromkeys(kinds, entry.revision)
        supervisor.kill_all("killed while idle")
        supervisor.start_all(behind)
        if not behind:
            return

        def catch_up() -> None:
            supervisor.catch_up(behind)

        world.monitor.begin_old_lists(catch_up)
        await world.quiescence.reach(patience)
        catch_up()
        await world.quiescence.reach(patience)
        world.monitor.end_old_lists()

    def before_step(self, step: int) -> None:
        """Begins the faults that strike before the user's actions in this step. Each lasts for its ``seconds`` or,
        without them, until the end of this step or of a later one (``more`` steps later).
        """
        world = self._world
        for fault in world.injector.take(f"step {step}", "down", "pause", "cut-off"):
            if fault.kind == "cut-off":
                self._cut_off(fault, step)
                continue
            if fault.kind == "down":
                world.supervisor.kill_all("killed; no process runs during this step")
                world.steps.over(step, world.supervisor.revive)
                continue
            resume = world.supervisor.pause(str(fault.get("who", "controller")))
            if fault.get("seconds"):
                world.steps.after(float(fault.get("seconds")), resume)
            else:
                world.steps.over(step + int(fault.get("more", 0)), resume)

    def _cut_off(self, fault: Fault, step: int) -> None:
        world = self._world
        if world.remote_cluster is None:
            return
        world.remote_cluster.cut_off()
        if fault.get("seconds"):
            world.steps.after(float(fault.get("seconds")), world.remote_cluster.restore)
        else:
            world.steps.over(step, world.remote_cluster.restore)
