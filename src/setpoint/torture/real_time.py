"""A world in real time: one run of a plan, with a new server, a process of the program, and the users."""

from __future__ import annotations

import asyncio
import os
import traceback
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

from setpoint.apiserver import HttpFront
from setpoint.apiserver.http_types import Response
from setpoint.client import Client, InProcessTransport
from setpoint.cluster import ControlPlane, GarbageCollector
from setpoint.concurrency import end
from setpoint.manager import Manager, ManagerOptions
from setpoint.meta import Object
from setpoint.meta.yaml_text import to_yaml
from setpoint.simulation.comparison.cluster_state import ClusterState
from setpoint.simulation.comparison.snapshot import Snapshot
from setpoint.simulation.faults.plan import Fault, Plan
from setpoint.simulation.injection.injector import FaultInjector
from setpoint.simulation.injection.user_steps import PATIENCE, Steps
from setpoint.simulation.network.write_handler import WriteHandler
from setpoint.simulation.oracles.monitor import Monitor
from setpoint.simulation.sandbox.actor import ACTOR, Actor
from setpoint.simulation.scenario.simulation_options import describe_failure, require_awaitable
from setpoint.simulation.trace.history import Entry, History
from setpoint.simulation.trace.operation import Operation
from setpoint.simulation.trace.result import Point, Result
from setpoint.simulation.trace.trace import Trace
from setpoint.simulation.world.step_faults import StepFaults
from setpoint.torture.cluster import ProgramCluster
from setpoint.torture.documents import as_object
from setpoint.torture.edge import Edge
from setpoint.torture.expectations import Expectations
from setpoint.torture.program import tail
from setpoint.torture.quiescence import Quiescence
from setpoint.torture.setup import Setup
from setpoint.torture.supervisor import ProgramError, Supervisor


class RealTimeWorld:
    """The world of one run in real time. `run` carries the run out, in the running loop.

    ``folder`` is the run's own. ``started`` is called with the id of every process of the program.
    """

    def __init__(
        self, setup: Setup, plan: Plan, options: Expectations, folder: Path, *, started: Callable[[int], None]
    ) -> None:
        self.setup = setup
        self.plan = plan
        self.options = options
        self.started = started
        self.log = folder / "program.log"
        self.kubeconfig = folder / "kubeconfig"
        self.url = ""
        self.history = History(self._clock)
        self.history.unrecorded |= {"leases.coordination.k8s.io"}
        self.cluster_state = ClusterState(self.history)
        self.trace = Trace(self._clock)
        self.harness = Actor("world", "world")
        self.steps = Steps(self)
        self.injector = FaultInjector(self, plan)
        self.step_faults = StepFaults(self)
        self.monitor = Monitor(self)
        self.write_handler = WriteHandler(self)
        self.edge = Edge(self)
        self.supervisor = Supervisor(self)
        self.quiescence = Quiescence(self)
        self.cluster = ProgramCluster(self)
        self.server = self.cluster.server
        self.remote_cluster = None
        self.expected_counts = [dict(finding) for finding in options.expected_counts]
        self.resting = False
        self.changed_at = 0.0
        self._began = 0.0
        self._main: asyncio.Task[None] | None = None
        self._gave_up = ""
        self._lines: int | None = None
        """The number of lines of the trace before the restart after which nothing may be written any more."""
        self._plane: list[Callable[[], bool]] = []
        self._result = Result()

    def _clock(self) -> float:
        return asyncio.get_running_loop().time() - self._began

    # -- the run -------------------------------------------------------------------------------------------------------

    async def run(self) -> Result:
        """Carries out the run. Failures of the scenario, and those of the program under faults, are part of the result
        and are not raised. If the run is cancelled, the program is killed.

        Raises:
            ProgramError: the program can't be tested.
        """
        loop = asyncio.get_running_loop()
        self._began = loop.time()
        result = self._result
        async with AsyncExitStack() as stack:
            await self._warm(stack)
            self._main = loop.create_task(self._run_scenario(), name="scenario")
            restarting = loop.create_task(self.supervisor.restart_on_exit(), name="restarting the program")
            try:
                await asyncio.wait((self._main,))
            finally:
                tasks = [self._main, restarting]
                for task in tasks:
                    task.cancel()
                self.supervisor.kill_all()
                await end(tasks, within=5.0)
                self._complete()
            if not self._main.cancelled() and (problem := self._main.exception()) is not None:
                raise problem
        result.virtual = self._clock()
        used = os.times()
        result.seconds = used.user + used.system + used.children_user + used.children_system
        return result

    @property
    def is_disturbed(self) -> bool:
        """Whether the plan has any faults."""
        return bool(self.plan.faults)

    async def _warm(self, stack: AsyncExitStack) -> None:
        """Prepares everything up to the start of the program."""
        cluster = self.cluster
        await stack.enter_async_context(self.server)
        cluster.client = await stack.enter_async_context(
            Client(InProcessTransport(self._handle_user), namespace=self.setup.namespace)
        )
        await self._start_control_plane(stack)
        crds = [document for document in self.setup.before if document.get("kind") == "CustomResourceDefinition"]
        for definition in [*crds, *cluster._definitions(cluster._custom_kinds())]:
            await cluster.install(definition)
        for document in self.setup.before:
            if document not in crds:
                await cluster.client.apply(await as_object(cluster.client, document), field_manager="test")
        for obj in self.setup.objects:
            await cluster.client.create(obj)
        front = await stack.enter_async_context(HttpFront(self.edge, grace=0.1))
        self.url = front.url
        self.kubeconfig.write_text(to_yaml([front.kubeconfig()]), encoding="utf-8")
        await self.quiescence.settle_for(0.1, 10.0)
        self.cluster_state.begin()
        self.history.restart(self._clock)
        self.history.watchers += [self._note_change, self.monitor.changed]

    async def _start_control_plane(self, stack: AsyncExitStack) -> None:
        """Starts the garbage collector and the other controllers that every cluster has."""
        client = await stack.enter_async_context(Client(InProcessTransport(self.server.handle)))
        with _acting(Actor("control plane", "control plane")):
            others = await stack.enter_async_context(
                ControlPlane(client, nodes=self.setup.nodes, controllers=("*", "-garbage-collector"))
            )
        manager = Manager(client, options=ManagerOptions(instance="garbage-collector", shutdown_timeout=5.0))
        collector = GarbageCollector(client, manager.factory, others.resources)
        manager.add(collector)
        with _acting(Actor("garbage collector", "garbage collector")):
            await stack.enter_async_context(manager)
        self._plane = [others.idle, collector.idle]

    async def _handle_user(self, request: Any) -> Response:
        """The answer to a request of the scenario."""
        if request.method not in ("GET", "HEAD") and self.history.recording:
            operation = Operation.of(request)
            text = operation.stem() if operation is not None else f"{request.method} {request.path}"
            self.trace.add("user", "user", "asks", text)
        return await self.handle(request)

    async def handle(self, request: Any) -> Response:
        """The server's answer to the request."""
        return await self.server.handle(request)

    def drain(self) -> None:
        self.server.drain()

    async def _run_scenario(self) -> None:
        self.step_faults.begin()
        self.supervisor.start()
        await self.supervisor.contact()
        await self.end_step(PATIENCE)
        try:
            await require_awaitable(self.setup.scenario(self.cluster))
        except ProgramError:
            raise
        except Exception as problem:  # noqa: BLE001 - a scenario that fails is a result
            self._result.early = self.is_disturbed and not self.options.patient
            if not isinstance(problem, AssertionError):
                self._result.problem = "".join(traceback.format_exception(problem))
            self.monitor.report("scenario", "scenario", describe_failure(problem))
        else:
            await self.end_step(PATIENCE)
        await self._conclude()

    async def _conclude(self) -> None:
        """Ends the faults, and checks that everything then reaches its expected state and stays in that state."""
        self.injector.over = self.trace.full = True
        self.steps.end_faults()
        self.supervisor.revive()
        await self.quiescence.settle()
        await self.quiescence.equality(self.options.expected_end, self.setup.converge)
        self.monitor.check_predicates()
        self.monitor.check_in_the_end()
        result = self._result
        result.end = self.snapshot()
        result.watched = self.supervisor.collections()
        result.explanation = tail(self.log)
        if self.quiescence.differs(self.options.expected_end):
            return
        self._lines = len(self.trace.lines)
        self.monitor.quiet_phase = "while it was idle"
        await asyncio.sleep(max(self.options.stay, 2 * self.options.quiet_period))
        self.monitor.quiet_phase = "after a restart"
        self.supervisor.kill_all("killed while idle")
        self.supervisor.start()
        await self.supervisor.contact()
        await self.quiescence.settle()

    def _complete(self) -> None:
        result = self._result
        if not result.end:
            result.end = self.snapshot()
        self.monitor.summarize(result)
        result.cut, result.points = self._gave_up, self.trace.points
        result.ended = sorted(self.cluster_state.ended())
        result.steps, result.injected = self.steps.number, self.injector.numbers()
        # The restart to see that nothing is written any more does not belong to the story, unless something is.
        count = len(self.trace.lines) if self._lines is None else self._lines
        after = [line for line in self.trace.lines[count:] if line.kind in ("writes", "finding")]
        result.trace = [*self.trace.lines[:count], *after]
        result.longest_pause = self.edge.longest_pause

    def give_up(self, why: str) -> None:
        """Ends a run that would otherwise go on forever."""
        if not self._gave_up and self._main is not None:
            self._gave_up = why
            self._main.cancel()

    def catch_up(self) -> bool:
        """Ends what lasts of the faults, as soon as the change that is being judged is over. Returns False if nothing
        lasts.
        """
        if not self.steps.lasting:
            return False
        self.call_later(0.0, self.steps.end_faults)
        return True

    # -- services of the parts -----------------------------------------------------------------------------------------

    def call_later(self, seconds: float, call: Callable[[], None]) -> object:
        return asyncio.get_running_loop().call_later(seconds, call)

    def is_idle(self) -> bool:
        """Whether the control plane has nothing to do."""
        return all(idle() for idle in self._plane)

    def _note_change(self, entry: Entry) -> None:
        self.changed_at = asyncio.get_running_loop().time()
        self.edge.changed(entry)

    def describe(self) -> str:
        """The program's last line."""
        return tail(self.log, 1)

    def snapshot(self) -> Snapshot:
        return self.cluster_state.snapshot()

    # -- steps ---------------------------------------------------------------------------------------------------------

    async def end_step(self, patience: float) -> None:
        await self.steps.end(patience)

    async def wait_until(self, condition: Callable[[], Awaitable[bool]], within: float, why: str) -> None:
        await self.steps.wait_until(condition, within, why)

    async def wait_for_deletion(self, obj: Object) -> None:
        """In a run with faults, waits at most `Setup.converge` seconds while the object is being deleted, since its
        name can't be used before the object is gone. All faults are ended first, because a fault may be all that keeps
        the object.
        """

        async def is_gone() -> bool:
            return not self.cluster_state.is_deleting(obj, self.setup.namespace)

        if self.plan.faults and not await is_gone():
            self.steps.end_faults()
            await self.quiescence.holds(is_gone, self.setup.converge)

    def early(self, step: int) -> Fault | None:
        return self.step_faults.early(step)

    async def at_rest(self, step: int, patience: float) -> None:
        await self.step_faults.at_rest(step, patience)

    def record_step(self) -> None:
        """Notes the state at the end of a step."""
        number = self.steps.number
        self.monitor.check_predicates()
        self.trace.mark(Point(f"step {number}", "step", number))
        self.trace.add("user", "user", "step", f"step {number} ends")
        self._result.object_counts.append(self.cluster_state.object_counts())
        if self.options.rest_states:
            self._result.rest_states.append(self.snapshot())

    def begin_step(self, step: int) -> None:
        self.step_faults.before_step(step)


@contextmanager
def _acting(actor: Actor) -> Iterator[None]:
    """Makes the tasks that are created within the block belong to this actor."""
    token = ACTOR.set(actor)
    try:
        yield
    finally:
        ACTOR.reset(token)
