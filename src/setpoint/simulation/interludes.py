"""Interludes: the faults that begin between steps, and those that last for a whole run."""

from __future__ import annotations

from random import Random
from typing import Protocol

from setpoint.simulation.actor import Actor
from setpoint.simulation.far import Far
from setpoint.simulation.history import History
from setpoint.simulation.judge import Judge
from setpoint.simulation.loop import SimulationLoop
from setpoint.simulation.plan import Fault
from setpoint.simulation.process import Process
from setpoint.simulation.processes import Processes
from setpoint.simulation.steps import Steps
from setpoint.simulation.strikes import Strikes
from setpoint.simulation.tape import Tape


class Acts(Protocol):
    """The interface of a run that its `Interludes` use."""

    @property
    def loop(self) -> SimulationLoop: ...
    @property
    def history(self) -> History: ...
    @property
    def tape(self) -> Tape: ...
    @property
    def judge(self) -> Judge: ...
    @property
    def steps(self) -> Steps: ...
    @property
    def strikes(self) -> Strikes: ...
    @property
    def processes(self) -> Processes: ...
    @property
    def far(self) -> Far | None: ...
    def called(self, who: str) -> list[Actor]: ...


class Interludes:
    """Carries out those faults of the plan that last for the whole run or begin between the user's steps."""

    def __init__(self, world: Acts) -> None:
        self._world = world

    def begin(self) -> None:
        """Begins the faults that last for the whole run, except those of single processes, which `prepare` sets up. A
        far cluster that is cut off from the start can be reached again after the fault's ``seconds`` or, without them,
        from the end of step 1.
        """
        for each in self._world.strikes.take("run"):
            if each.kind == "cut-off":
                self._cut_off(each, 1)

    def prepare(self, process: Process) -> None:
        """Sets up in a new process the faults that apply to every process of the run."""
        for each in self._world.strikes.planned("run"):
            if each.kind == "reverse-lists":
                process.wire.reverses = True
            elif each.kind == "shuffle":
                process.wire.rolls = Random(f"{each.get('seed', 0)} {process.number}")
            elif each.kind == "clock" and not self._world.strikes.over:
                process.offset = float(each.get("seconds", 0.0))

    def early(self, step: int) -> Fault | None:
        """The fault that makes the user go on without waiting at the end of this step; None if the user waits."""
        return next(iter(self._world.strikes.take(f"step {step}", "early")), None)

    async def at_rest(self, step: int, patience: float) -> None:
        """Carries out the faults at the end of a step, when nothing is left to do."""
        world = self._world
        for each in world.strikes.take(f"step {step}", "restart", "clock", "expire-all", "resync"):
            if each.kind == "clock":
                for process in world.processes:
                    process.offset += float(each.get("seconds", 0.0))
            elif each.kind == "restart":
                await self._restart(each, patience)
            elif each.kind == "expire-all":
                for process in world.processes:
                    for stream in list(process.wire.streams):
                        stream.fail()
            else:
                world.processes.resync()
            await world.steps.quiesce(patience)

    async def _restart(self, fault: Fault, patience: float) -> None:
        world, processes = self._world, self._world.processes
        behind: dict[str, int] = {}
        if name := fault.get("behind"):
            entry = next((each for each in world.history.entries if each.point == name), None)
            if entry is None:
                return  # there is no such state in this run
            kinds = processes.collections() if fault.get("kinds") == "all" else [entry.collection]
            behind = dict.fromkeys(kinds, entry.revision)
        for process in processes.alive():
            process.kill()
            world.tape.tell("controller", process.actor.name, "killed", "killed at rest")
        started = processes.start_all(behind)
        if not behind:
            return

        def catch_up() -> None:
            for process in started:
                for collection in behind:
                    process.wire.gate(collection).open()

        world.judge.begin_travel(catch_up)
        await world.steps.quiesce(patience)
        catch_up()
        await world.steps.quiesce(patience)
        world.judge.end_travel()

    def before_step(self, step: int) -> None:
        """Begins the faults that strike before the user's actions in this step. Each lasts for its ``seconds`` or,
        without them, until the end of this step or of a later one (``more`` steps later).
        """
        world = self._world
        for each in world.strikes.take(f"step {step}", "down", "pause", "cut-off"):
            if each.kind == "cut-off":
                self._cut_off(each, step)
                continue
            if each.kind == "down":
                for process in world.processes.alive():
                    process.kill()
                    world.tape.tell("controller", process.actor.name, "killed", "down while the user goes on")
                world.steps.over(step, world.processes.revive)
                continue
            actors = world.called(str(each.get("who", "controller")))
            for actor in actors:
                world.loop.pause(actor)

            def resume(actors: list[Actor] = actors) -> None:
                for actor in actors:
                    world.loop.resume(actor)

            if each.get("seconds"):
                world.steps.after(float(each.get("seconds")), resume)
            else:
                world.steps.over(step + int(each.get("more", 0)), resume)

    def _cut_off(self, fault: Fault, step: int) -> None:
        world = self._world
        if world.far is None:
            return
        world.far.cut_off()
        if fault.get("seconds"):
            world.steps.after(float(fault.get("seconds")), world.far.restore)
        else:
            world.steps.over(step, world.far.restore)
