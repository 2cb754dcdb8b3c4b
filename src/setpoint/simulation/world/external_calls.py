"""External calls: the calls of controllers to external systems, and the faults that hit them."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

from setpoint.simulation.comparison.external_lists import ExternalLists
from setpoint.simulation.faults.plan import Fault
from setpoint.simulation.injection.injector import FaultInjector
from setpoint.simulation.injection.process_under_test import Killed, ProcessControl
from setpoint.simulation.injection.user_steps import Steps
from setpoint.simulation.oracles.monitor import Monitor
from setpoint.simulation.sandbox.actor import Actor
from setpoint.simulation.sandbox.event_loop import SimulationLoop
from setpoint.simulation.trace.result import Point
from setpoint.simulation.trace.trace import Trace

LATENCY: Final = 0.001


class ExternalCallHost(Protocol):
    """The interface of a run that its `ExternalCalls` uses."""

    @property
    def entries(self) -> ExternalLists: ...
    @property
    def monitor(self) -> Monitor: ...
    @property
    def loop(self) -> SimulationLoop: ...
    @property
    def steps(self) -> Steps: ...
    @property
    def injector(self) -> FaultInjector: ...
    @property
    def trace(self) -> Trace: ...
    def process_of(self, actor: Actor) -> ProcessControl: ...
    def calling(self, actor: Actor) -> AbstractContextManager[None]: ...
    def crash(self, process: ProcessControl, fault: Fault) -> None: ...
    @property
    def harness(self) -> Actor: ...


class ExternalCalls:
    """Decides the outcome of each call to an external system; `externals.call` asks it."""

    def __init__(self, world: ExternalCallHost) -> None:
        self._world = world

    def external_point(self, name: str, actor: Actor, *, waits: bool) -> tuple[str, list[Fault]]:
        """The name of the point at which an external system is called, and the faults that hit the call. ``waits`` is
        false for a synchronous call, which can't be delayed.

        Raises:
            Killed: the process is dead. A ``finally`` block of a killed process must not reach the system.
        """
        if actor.state == "dead":
            raise Killed
        return self._world.injector.external(name, actor, waits=waits)

    async def external_gate(
        self, point: str, faults: list[Fault], actor: Actor, late: Callable[[], Any] | None = None
    ) -> None:
        """Delays the request of a call or (without ``late``) its answer, or kills or freezes the process, as a fault
        demands. ``late`` carries out the call after its caller has given up.

        Raises:
            ExternalError: a fault makes the call fail.
        """
        world = self._world
        if late is not None:
            with world.calling(actor):
                await asyncio.sleep(LATENCY)
        fault = self._trouble(faults, point, late)
        if fault is None:
            return
        if fault.kind.startswith("crash") or fault.kind == "freeze":
            process = world.process_of(actor)
            await (process.freeze(fault) if fault.kind == "freeze" else process.die(fault))
            return
        with world.calling(actor):
            await world.steps.pass_by(fault)

    def external_gate_sync(
        self, point: str, faults: list[Fault], actor: Actor, late: Callable[[], Any] | None = None
    ) -> None:
        """Kills the process if a fault demands it, before or (without ``late``) after a synchronous call. ``late``
        carries out the call after its caller has given up.

        Raises:
            Killed: the process dies.
            ExternalError: a fault makes the call fail.
        """
        world = self._world
        with world.loop.acting():
            fault = self._trouble(faults, point, late)
        if fault is not None:
            with world.loop.acting():
                world.crash(world.process_of(actor), fault)
            raise Killed

    def _trouble(self, faults: list[Fault], point: str, late: Callable[[], Any] | None) -> Fault | None:
        """The fault that makes the process die, freeze or wait; None if no fault does."""
        world = self._world

        async def arrive() -> None:
            assert late is not None
            try:
                result = late()
                if inspect.isawaitable(result):
                    await result
                text = f"carries out, late: {point}"
            except Exception as problem:  # noqa: BLE001 - the system refuses the call, whose caller is gone
                text = f"refuses, late: {point} ({type(problem).__name__})"
            world.trace.add("external", "external", "late", text)
            world.monitor.check_externals()

        def begin() -> None:
            world.harness.start(arrive(), name="late call")

        return world.injector.external_trouble(faults, point, before=late is not None, late=begin)

    def external_done(
        self, point: str, text: str, *, changed: bool, empty: bool, waits: bool, ordered: bool = False
    ) -> None:
        """Notes the system's answer. ``changed`` says whether the call changed the system's state, ``empty`` whether a
        fault can make the system answer that there is nothing, ``waits`` whether a fault can delay the call, and
        ``ordered`` whether the system compares it with those before.
        """
        world = self._world
        world.trace.mark(
            Point(point, "external", world.steps.number, changed=changed, empty=empty, waits=waits, ordered=ordered)
        )
        world.trace.add("external", "external", "answers", text, point=point)
        world.monitor.check_externals()

    def external_changed(self, name: str, before: Any, after: Any) -> None:
        """Notes the plain states of the system called ``name`` before and after a call has been carried out."""
        self._world.entries.called(name, before, after)
