"""Supervisor: starts, kills and restarts the processes of the program under test in one run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Final, Protocol

from setpoint.controller import watched_kinds
from setpoint.controller.history import Cause
from setpoint.meta import ObjectKey, resource_of
from setpoint.simulation.faults.plan import Fault
from setpoint.simulation.injection.injector import FaultInjector
from setpoint.simulation.injection.process_under_test import ProcessControl
from setpoint.simulation.sandbox.global_state import GlobalState
from setpoint.simulation.trace.trace import Trace
from setpoint.simulation.world.control_plane import SimulatedControlPlane
from setpoint.simulation.world.process import OperatorHost, Process

MOST_RESTARTS: Final = 5
"""The maximum number of times in one run that a process is restarted because one has ended by itself."""


class SupervisorHost(OperatorHost, Protocol):
    """The interface of a run that its `Supervisor` use."""

    @property
    def trace(self) -> Trace: ...
    @property
    def injector(self) -> FaultInjector: ...
    @property
    def control_plane(self) -> SimulatedControlPlane: ...


class Supervisor:
    """The processes of the program under test, the oldest first; ``last`` is the most recently started one."""

    last: Process

    def __init__(self, place: SupervisorHost) -> None:
        self._place = place
        self._setup = place.setup
        self._memory = GlobalState(self._setup.controllers())
        self._all: list[Process] = []
        self._started = 0
        self._ended = 0

    def __iter__(self) -> Iterator[Process]:
        return iter(self._all)

    def alive(self) -> list[Process]:
        return [process for process in self._all if process.alive]

    @property
    def wanted(self) -> int:
        """The number of processes that should run at the same time."""
        return self._setup.processes

    # -- beginnings ----------------------------------------------------------------------------------------------------

    def start_all(self, behind: dict[str, int] | None = None) -> list[Process]:
        """Starts as many processes as should run at the same time."""
        return [self.start(behind) for _ in range(self.wanted)]

    def start(self, behind: dict[str, int] | None = None) -> Process:
        place = self._place
        self._started += 1
        if not self.alive():
            self._memory.restore()
        process = Process(place, self._started, behind=behind)
        process.transport.reverses = not self._started % 2 and "order" not in self._setup.off  # no order is promised
        self._prepare(process)
        self._all = [*self.alive(), process]
        self.last = process
        note = f" and sees {', '.join(behind)} as of an older revision" if behind else ""
        place.trace.add("controller", process.actor.name, "starts", f"starts with empty memory{note}")
        process.start()
        return process

    def _prepare(self, process: Process) -> None:
        """Sets up in a new process the faults that apply to every process of the run."""
        injector = self._place.injector
        for fault in injector.planned("run"):
            if fault.kind == "reverse-lists":
                process.transport.reverses = True
            elif fault.kind == "shuffle":
                process.transport.random_order = Random(f"{fault.get('seed', 0)} {process.number}")
            elif fault.kind == "clock" and not injector.over:
                process.offset = float(fault.get("seconds", 0.0))

    def catch_up(self, collections: Iterable[str]) -> None:
        """Shows the current state of these kinds to processes that were started ``behind``."""
        for process in self.alive():
            for collection in collections:
                process.transport.gate(collection).open()

    def revive(self) -> bool:
        """Starts a process if none is alive. Returns whether it has started one."""
        if self.alive():
            return False
        self.start()
        return True

    def replace(self) -> None:
        """Starts a process if fewer are alive than should run at the same time."""
        if len(self.alive()) < self.wanted:
            self.start()

    # -- ends ----------------------------------------------------------------------------------------------------------

    def kill_all(self, why: str) -> None:
        for process in self.alive():
            process.kill()
            self._place.trace.add("controller", process.actor.name, "killed", why)

    def crash(self, process: ProcessControl, fault: Fault) -> None:
        """Kills a process; called from within that process's own code. A new process starts when the fault is over."""
        process.kill()
        self._place.trace.add("controller", process.actor.name, "killed", f"killed: {fault.kind}")
        self._place.steps.begin(fault, self.replace)

    def ended(self, process: Process, problem: BaseException) -> None:
        """Starts a new process 10 s after one has ended by itself, as a kubelet does, at most `MOST_RESTARTS` times in
        a run. Also reports the end as an error. With leader election, where a process ends when it loses its lease,
        only the ends after the last restart are reported.
        """
        place = self._place
        text = f"{type(problem).__name__}: {problem}"
        place.trace.add("controller", process.actor.name, "ended", f"ended: {text}")
        self._ended += 1
        if not self._setup.leader_election or self._ended > MOST_RESTARTS:
            place.monitor.report("error", "process", f"the process exited: {text}")
        if self._ended <= MOST_RESTARTS:
            place.steps.after(10.0, self.replace)

    # -- state ---------------------------------------------------------------------------------------------------------

    def busy(self) -> bool:
        """Whether any process has something to do now, is about to be elected, or is about to take over another
        process's keys.
        """
        return any(process.busy() for process in self._all) or self.electing()

    def electing(self) -> bool:
        """Whether no process is active, or keys are being handed over."""
        candidates = [process for process in self.alive() if process.actor.state == "running"]
        if self._setup.sharding:
            members = {process.member() for process in candidates}
            return any(process.members() != members for process in candidates)
        return bool(candidates) and not any(process.leads() for process in candidates)

    def leading(self) -> list[Process]:
        """The processes whose controllers are active. With sharding, only the active process that owns the most
        objects, because a fault hits one process.
        """
        leading = [process for process in self._all if process.leads()]
        return sorted(leading, key=lambda process: -process.owned())[:1] if self._setup.sharding else leading

    def retries(self) -> list[float]:
        """The loop times at which failed keys are tried again."""
        return [at for process in self._all for at in process.retries()]

    def pause(self, actor_name: str) -> Callable[[], None]:
        """Stops what a plan's ``actor_name`` names: a part of the control plane, or else the leading processes. Returns
        a function that lets it go on.
        """
        loop = self._place.loop
        parts = [actor for actor in self._place.control_plane.actors if actor.name == actor_name]
        actors = parts or [process.actor for process in self.leading()]
        for actor in actors:
            loop.pause(actor)

        def resume() -> None:
            for actor in actors:
                loop.resume(actor)

        return resume

    def strike(self, fault: Fault) -> None:
        """Carries out a fault at rest that does not restart the processes: their clocks jump, all their watches are
        ended with 410, or they reconcile everything again.
        """
        if fault.kind == "resync":
            self.resync()
        for process in self._all:
            if fault.kind == "clock":
                process.offset += float(fault.get("seconds", 0.0))
            elif fault.kind == "expire-all":
                for stream in list(process.transport.streams):
                    stream.fail()

    def resync(self) -> None:
        """Makes every process reconcile all its objects again, as after a start."""
        for process in self.alive():
            if process.manager is not None:
                for running in process.runs():
                    informer = running.informers.get(running.controller.resource.gvr)
                    for key in sorted(informer.store) if informer is not None else ():
                        head = informer.store.head(key) if informer is not None else None
                        if not all(test(None, head) for test in running.controller.watched[0].predicates):
                            continue
                        process.actor.call(running.enqueue, ObjectKey(key), Cause("sync", at=self._place.loop.time()))

    def collections(self) -> list[str]:
        """The kinds that the program watches: those that its controllers declare, and those of other watches."""
        declared = [str(resource_of(kind).group_resource) for kind in watched_kinds(self._setup.controllers())]
        return list(dict.fromkeys([*declared, *sorted(self._place.history.watched - self._place.history.unrecorded)]))
