"""Injector: injects the faults of a plan at the points that a run reaches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from setpoint.simulation.faults.plan import Fault, Plan
from setpoint.simulation.injection.user_steps import Steps
from setpoint.simulation.injection.watch_stream import WatchGate
from setpoint.simulation.sandbox.actor import Actor
from setpoint.simulation.scenario.externals import ExternalError
from setpoint.simulation.trace.history import Entry, History
from setpoint.simulation.trace.operation import Operation
from setpoint.simulation.trace.result import Options, Point
from setpoint.simulation.trace.trace import Trace

DELAYS: Final = ("slow-request", "slow-answer", "freeze")
"""The kinds of faults that delay a call to an external system."""
LONGEST_LAG: Final = 3600.0
"""The seconds after which a watch has caught up, however long the user's step is."""


class InjectorHost(Protocol):
    """The interface of a run that its `FaultInjector` use."""

    @property
    def trace(self) -> Trace: ...
    @property
    def history(self) -> History: ...
    @property
    def steps(self) -> Steps: ...
    @property
    def options(self) -> Options: ...


class FaultInjector:
    """Looks up the plan's faults for each point that the run reaches. Each fault strikes once; ``struck`` has the
    faults that have struck.
    """

    def __init__(self, world: InjectorHost, plan: Plan) -> None:
        self._world = world
        self._plan = plan
        self._at: dict[str, list[Fault]] = {}
        self.injected: list[Fault] = []
        self.over = False
        """Whether faults no longer strike, because the run is being concluded."""
        for fault in plan.faults:
            self._at.setdefault(fault.at, []).append(fault)
        self._always = [fault for fault in self.planned("run") if fault.kind == "lag"]

    def planned(self, point: str) -> list[Fault]:
        """The plan's faults at the point."""
        return self._at.get(point, [])

    def take(self, point: str, *kinds: str) -> list[Fault]:
        """Returns the plan's faults at the point that have not struck yet, limited to ``kinds`` if any are given. The
        faults are written to the trace and count as struck from now on. The list is empty if ``over`` is true.
        """
        if self.over:
            return []
        planned = [fault for fault in self.planned(point) if not kinds or fault.kind in kinds]
        fresh = [fault for fault in planned if fault not in self.injected]
        for fault in fresh:
            self.injected.append(fault)
            self._world.trace.add("world", "world", "fault", str(fault), point=point)
            if self._world.options.debug:
                breakpoint()
        return fresh

    def numbers(self) -> list[int]:
        """The positions in the plan of the faults that have struck."""
        return [place for place, fault in enumerate(self._plan.faults) if fault in self.injected]

    # -- requests ------------------------------------------------------------------------------------------------------

    def request(self, actor: Actor, number: int, operation: Operation) -> tuple[str, list[Fault]]:
        """The name of the point at which process ``number`` makes a request, and the faults that hit the request."""
        trace = self._world.trace
        point = trace.number(operation.stem())
        if operation.is_read:
            trace.mark(
                Point(point, "read", self._world.steps.number, operation.collection, operation.verb, process=number)
            )
            trace.add("controller", actor.name, "reads", operation.stem(), point=point)
        return point, self.take(point)

    # -- changes -------------------------------------------------------------------------------------------------------

    def change(self, gate: WatchGate, entry: Entry) -> None:
        """Carries out the faults that hit a change when it arrives at the gate of a process."""
        if gate.since is not None or self.over:
            return
        for fault in self.take(entry.point, "lag", "hang-up", "expire"):
            if fault.kind == "lag":
                self._hold(gate, entry.revision, fault)
            elif fault.kind == "hang-up":
                for stream in list(gate.streams):
                    stream.hang_up()
            else:
                for stream in list(gate.streams):
                    stream.fail()
        if gate.since is None:
            for fault in self._always:
                if fault.get("collection") == entry.collection:
                    self._hold(gate, entry.revision, fault)

    def _hold(self, gate: WatchGate, revision: int, fault: Fault) -> None:
        gate.shut(revision)
        self._world.steps.begin(fault, lambda: gate.open(expired=bool(fault.get("relist"))), most=LONGEST_LAG)

    # -- external systems ----------------------------------------------------------------------------------------------

    def external(self, name: str, actor: Actor, *, waits: bool) -> tuple[str, list[Fault]]:
        """The name of the point at which an external system is called, and the faults that hit the call. With
        ``waits=False``, the faults that delay a call are left out.
        """
        world = self._world
        point = world.trace.number(f"call {world.history.named(name)}")
        world.trace.add("controller", actor.name, "calls", name, point=point)
        kinds = [fault.kind for fault in self.planned(point) if waits or fault.kind not in DELAYS]
        return point, self.take(point, *kinds) if kinds else []

    def external_trouble(
        self, faults: list[Fault], point: str, *, before: bool, late: Callable[[], object] = lambda: None
    ) -> Fault | None:
        """The fault that makes the process die, freeze or wait before or after a call; None if no fault does. ``late``
        carries out a call whose caller has given up.

        Raises:
            ExternalError: a fault makes the call fail.
        """
        for fault in faults:
            if before and fault.kind in ("crash-before", "slow-request", "freeze"):
                return fault
            if not before and fault.kind in ("crash-after", "slow-answer"):
                return fault
            if before and fault.kind == "external-late":
                self._world.steps.begin(fault, late)
                raise ExternalError(f"{point}: no answer in time", effect=True)
            if before and fault.kind == "external-fails":
                raise ExternalError(f"{point}: connection refused", effect=False)
            if not before and fault.kind == "external-lost":
                raise ExternalError(f"{point}: connection reset before the answer came", effect=True)
        return None
