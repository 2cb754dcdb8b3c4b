"""Strikes: where the faults of a plan hit a run."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from setpoint.simulation.actor import Actor
from setpoint.simulation.asked import Asked
from setpoint.simulation.externals import ExternalError
from setpoint.simulation.history import Entry
from setpoint.simulation.plan import Fault, Plan
from setpoint.simulation.process import Killed, Process
from setpoint.simulation.result import Point

if TYPE_CHECKING:
    from setpoint.simulation.stream import Gate
    from setpoint.simulation.wire import Wire
    from setpoint.simulation.world import World


class Strikes:
    """Looks up what the plan has for each point that the run comes by, and does it. ``struck`` are the faults that took
    place; each does once."""

    def __init__(self, world: World, plan: Plan) -> None:
        self._world = world
        self._at: dict[str, list[Fault]] = {}
        self.struck: list[Fault] = []
        self.over = False
        """Whether the time of faults has passed."""
        for each in plan.faults:
            self._at.setdefault(each.at, []).append(each)
        self._always = [each for each in self._at.get("run", ()) if each.kind == "lag"]

    def _take(self, point: str, *kinds: str) -> list[Fault]:
        """The plan's faults at this point, told of and marked as struck."""
        if self.over:
            return []
        found = [each for each in self._at.get(point, ()) if not kinds or each.kind in kinds]
        fresh = [each for each in found if each not in self.struck]
        for each in fresh:
            self.struck.append(each)
            self._world.tape.tell("world", "world", "fault", str(each), point=point)
            if self._world.options.debug:
                breakpoint()
        return fresh

    # -- the run -------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begins the faults that hold for the whole run."""
        self._take("run")

    def prepare(self, process: Process) -> None:
        """Begins the faults that hold for every process of the run."""
        for each in self._at.get("run", ()):
            if each.kind == "reverse-lists":
                process.wire.reverses = True
            elif each.kind == "shuffle":
                process.wire.rolls = Random(f"{each.get('seed', 0)} {process.number}")
            elif each.kind == "clock" and not self.over:
                process.offset = float(each.get("seconds", 0.0))

    # -- requests ------------------------------------------------------------------------------------------------------

    def request(self, process: Process, asked: Asked) -> tuple[str, list[Fault]]:
        """The point of a request, and the faults that hit it."""
        tape = self._world.tape
        point = tape.number(asked.stem())
        if asked.is_read:
            step = self._world.steps.number
            tape.mark(Point(point, "read", step, asked.collection, asked.verb, process=process.number))
            tape.tell("controller", process.actor.name, "reads", asked.stem(), point=point)
        return point, self._take(point)

    # -- changes -------------------------------------------------------------------------------------------------------

    def change(self, wire: Wire, gate: Gate, entry: Entry) -> None:
        """A change has come up to the gate of a process."""
        if gate.since is not None or self.over:
            return
        for each in self._take(entry.point, "lag", "hang-up", "expire"):
            if each.kind == "lag":
                self._hold(wire, gate, entry.revision, each)
            elif each.kind == "hang-up":
                for stream in list(gate.streams):
                    stream.hang_up()
            else:
                for stream in list(gate.streams):
                    stream.fail()
        if gate.since is None:
            for each in self._always:
                if each.get("collection") == entry.collection:
                    self._hold(wire, gate, entry.revision, each)

    def _hold(self, wire: Wire, gate: Gate, revision: int, fault: Fault) -> None:
        gate.shut(revision)
        self._world.steps.begin(fault, lambda: gate.open(expired=bool(fault.get("relist"))))

    # -- external systems ----------------------------------------------------------------------------------------------

    def external(self, name: str, actor: Actor) -> tuple[str, list[Fault]]:
        world = self._world
        point = world.tape.number(f"call {world.history.named(name)}")
        world.tape.tell("controller", actor.name, "calls", name, point=point)
        return point, self._take(point)

    def external_trouble(self, faults: list[Fault], point: str, *, before: bool) -> Fault | None:
        """Raises what the call raises; returns the fault if the process is to die here, or has to wait."""
        for each in faults:
            if before and each.kind in ("crash-before", "slow-request", "freeze"):
                return each
            if not before and each.kind in ("crash-after", "slow-answer"):
                return each
            if before and each.kind == "external-fails":
                raise ExternalError(f"{point}: connection refused", effect=False)
            if not before and each.kind == "external-lost":
                raise ExternalError(f"{point}: connection reset before the answer came", effect=True)
        return None

    def die_now(self, actor: Actor, fault: Fault) -> None:
        process = next(each for each in self._world.processes if each.actor is actor)
        self._world.crash(process, fault)
        raise Killed

    # -- steps ---------------------------------------------------------------------------------------------------------

    def early(self, step: int) -> Fault | None:
        """Whether the user does not wait at the end of this step."""
        return next(iter(self._take(f"step {step}", "early")), None)

    async def at_rest(self, step: int, patience: float) -> None:
        """The faults at the end of a step, when all is quiet."""
        world = self._world
        for each in self._take(f"step {step}", "restart", "clock", "expire-all", "resync"):
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
                world.resync()
            await world.steps.quiesce(patience)

    async def _restart(self, fault: Fault, patience: float) -> None:
        world = self._world
        behind: dict[str, int] = {}
        if name := fault.get("behind"):
            entry = next((each for each in world.history.entries if each.point == name), None)
            if entry is None:
                return  # there is no such state in this run
            kinds = world.collections() if fault.get("kinds") == "all" else [entry.collection]
            behind = dict.fromkeys(kinds, entry.revision)
        for process in [each for each in world.processes if each.alive]:
            process.kill()
            world.tape.tell("controller", process.actor.name, "killed", "killed at rest")
        started = [world.start_process(behind) for _ in range(2 if world.setup.leader_election else 1)]
        if not behind:
            return
        world.judge.begin_travel()

        def catch_up() -> None:
            for process in started:
                for collection in behind:
                    process.wire.gate(collection).open()

        await world.steps.quiesce(patience)
        catch_up()
        await world.steps.quiesce(patience)
        world.judge.end_travel()

    def before_step(self, step: int) -> None:
        """The faults that last over what the user does in this step."""
        world = self._world
        for each in self._take(f"step {step}", "down", "pause"):
            if each.kind == "down":
                for process in [process for process in world.processes if process.alive]:
                    process.kill()
                    world.tape.tell("controller", process.actor.name, "killed", "down while the user goes on")
                world.steps.over(step, world.revive)
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
