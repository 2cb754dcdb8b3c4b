"""Step faults: the faults that begin between steps, and those that last for a whole run."""

from __future__ import annotations

from random import Random
from typing import Protocol

from setpoint.simulation.faults.plan import Fault
from setpoint.simulation.injection.injector import FaultInjector
from setpoint.simulation.injection.steps import Steps
from setpoint.simulation.oracles.monitor import Monitor
from setpoint.simulation.sandbox.actor import Actor
from setpoint.simulation.sandbox.event_loop import SimulationLoop
from setpoint.simulation.trace.history import History
from setpoint.simulation.trace.trace import Trace
from setpoint.simulation.world.process import Process
from setpoint.simulation.world.remote_cluster import RemoteCluster
from setpoint.simulation.world.supervisor import Supervisor


class StepFaultHost(Protocol):
    """The interface of a run that its `StepFaults` use."""

    @property
    def loop(self) -> SimulationLoop: ...
    @property
    def history(self) -> History: ...
    @property
    def trace(self) -> Trace: ...
    @property
    def monitor(self) -> Monitor: ...
    @property
    def steps(self) -> Steps: ...
    @property
    def injector(self) -> FaultInjector: ...
    @property
    def supervisor(self) -> Supervisor: ...
    @property
    def remote_cluster(self) -> RemoteCluster | None: ...
    def called(self, who: str) -> list[Actor]: ...


class StepFaults:
    """Carries out those faults of the plan that last for the whole run or begin between the user's steps."""

    def __init__(self, world: StepFaultHost) -> None:
        self._world = world

    def begin(self) -> None:
        """Begins the faults that last for the whole run, except those of single processes, which `prepare` sets up. A
        far cluster that is cut off from the start can be reached again after the fault's ``seconds`` or, without them,
        from the end of step 1.
        """
        for fault in self._world.injector.take("run"):
            if fault.kind == "cut-off":
                self._cut_off(fault, 1)

    def prepare(self, process: Process) -> None:
        """Sets up in a new process the faults that apply to every process of the run."""
        for fault in self._world.injector.planned("run"):
            if fault.kind == "reverse-lists":
                process.transport.reverses = True
            elif fault.kind == "shuffle":
                process.transport.random_order = Random(f"{fault.get('seed', 0)} {process.number}")
            elif fault.kind == "clock" and not self._world.injector.over:
                process.offset = float(fault.get("seconds", 0.0))

    def early(self, step: int) -> Fault | None:
        """The fault that makes the user go on without waiting at the end of this step; None if the user waits."""
        return next(iter(self._world.injector.take(f"step {step}", "early")), None)

    async def at_rest(self, step: int, patience: float) -> None:
        """Carries out the faults at the end of a step, when nothing is left to do."""
        world = self._world
        for fault in world.injector.take(f"step {step}", "restart", "clock", "expire-all", "resync"):
            if fault.kind == "clock":
                for process in world.supervisor:
                    process.offset += float(fault.get("seconds", 0.0))
            elif fault.kind == "restart":
                await self._restart(fault, patience)
            elif fault.kind == "expire-all":
                for process in world.supervisor:
                    for stream in list(process.transport.streams):
                        stream.fail()
            else:
                world.supervisor.resync()
            await world.steps.quiesce(patience)

    async def _restart(self, fault: Fault, patience: float) -> None:
        world, supervisor = self._world, self._world.supervisor
        behind: dict[str, int] = {}
        if name := fault.get("behind"):
            entry = next((candidate for candidate in world.history.entries if candidate.point == name), None)
            if entry is None:
                return  # there is no such state in this run
            kinds = supervisor.collections() if fault.get("kinds") == "all" else [entry.collection]
            behind = dict.fromkeys(kinds, entry.revision)
        for process in supervisor.alive():
            process.kill()
            world.trace.tell("controller", process.actor.name, "killed", "killed while idle")
        started = supervisor.start_all(behind)
        if not behind:
            return

        def catch_up() -> None:
            for process in started:
                for collection in behind:
                    process.transport.gate(collection).open()

        world.monitor.begin_travel(catch_up)
        await world.steps.quiesce(patience)
        catch_up()
        await world.steps.quiesce(patience)
        world.monitor.end_travel()

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
                for process in world.supervisor.alive():
                    process.kill()
                    world.trace.tell(
                        "controller", process.actor.name, "killed", "killed; no process runs during this step"
                    )
                world.steps.over(step, world.supervisor.revive)
                continue
            actors = world.called(str(fault.get("who", "controller")))
            for actor in actors:
                world.loop.pause(actor)

            def resume(actors: list[Actor] = actors) -> None:
                for actor in actors:
                    world.loop.resume(actor)

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
