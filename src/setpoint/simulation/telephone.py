"""Telephone: the calls of controllers to external systems, and the faults that hit them."""

from __future__ import annotations

import asyncio
from typing import Any, Final, Protocol

from setpoint.simulation.actor import Actor
from setpoint.simulation.entries import Entries
from setpoint.simulation.judge import Judge
from setpoint.simulation.life import Killed, Life
from setpoint.simulation.loop import SimulationLoop
from setpoint.simulation.plan import Fault
from setpoint.simulation.result import Point
from setpoint.simulation.steps import Steps
from setpoint.simulation.strikes import Strikes
from setpoint.simulation.tape import Tape

LATENCY: Final = 0.001


class Operator(Protocol):
    """The interface of a run that its `Telephone` uses."""

    @property
    def entries(self) -> Entries: ...
    @property
    def judge(self) -> Judge: ...
    @property
    def loop(self) -> SimulationLoop: ...
    @property
    def steps(self) -> Steps: ...
    @property
    def strikes(self) -> Strikes: ...
    @property
    def tape(self) -> Tape: ...
    def life_of(self, actor: Actor) -> Life: ...
    def crash(self, life: Life, fault: Fault) -> None: ...


class Telephone:
    """Decides the outcome of each call to an external system; `externals.call` asks it."""

    def __init__(self, world: Operator) -> None:
        self._world = world

    def external_point(self, name: str, actor: Actor, *, waits: bool) -> tuple[str, list[Fault]]:
        """The name of the point at which an external system is called, and the faults that hit the call. ``waits`` is
        false for a synchronous call, which can't be delayed.

        Raises:
            Killed: the process is dead. A ``finally`` block of a killed process must not reach the system.
        """
        if actor.state == "dead":
            raise Killed
        return self._world.strikes.external(name, actor, waits=waits)

    async def external_gate(self, point: str, faults: list[Fault], actor: Actor, *, before: bool) -> None:
        """Delays the request of a call (with ``before``) or its answer, or kills or freezes the process, as a fault
        demands.

        Raises:
            ExternalError: a fault makes the call fail.
        """
        world = self._world
        if before:
            await asyncio.sleep(LATENCY)
        fault = world.strikes.external_trouble(faults, point, before=before)
        if fault is None:
            return
        if fault.kind.startswith("crash") or fault.kind == "freeze":
            life = world.life_of(actor)
            await (life.freeze(fault) if fault.kind == "freeze" else life.die(fault))
            return
        await world.steps.pass_by(fault)

    def external_gate_now(self, point: str, faults: list[Fault], actor: Actor, *, before: bool) -> None:
        """Kills the process if a fault demands it, before or after a synchronous call.

        Raises:
            Killed: the process dies.
            ExternalError: a fault makes the call fail.
        """
        world = self._world
        fault = world.strikes.external_trouble(faults, point, before=before)
        if fault is not None:
            with world.loop.acting():
                world.crash(world.life_of(actor), fault)
            raise Killed

    def external_done(self, point: str, told: str, *, changed: bool, empty: bool, waits: bool) -> None:
        """Notes the system's answer. ``changed`` says whether the call changed the system's state, ``empty`` whether a
        fault can make the system answer that there is nothing, and ``waits`` whether a fault can delay the call.
        """
        world = self._world
        world.tape.mark(Point(point, "external", world.steps.number, changed=changed, empty=empty, waits=waits))
        world.tape.tell("external", "external", "answers", told, point=point)
        world.judge.called_outside()

    def external_changed(self, name: str, before: Any, after: Any) -> None:
        """Notes the plain states of the system called ``name`` before and after a call has been carried out."""
        self._world.entries.called(name, before, after)
