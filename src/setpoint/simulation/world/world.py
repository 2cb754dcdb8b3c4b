"""World: controllers, server, control plane and users in one virtual time, for one run of a plan."""

from __future__ import annotations

import asyncio
import copy
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Any

from setpoint.apiserver.http_types import Response
from setpoint.client import Client
from setpoint.client.transport import Request
from setpoint.manager import Manager
from setpoint.meta import Object
from setpoint.simulation.comparison.cluster_state import ClusterState
from setpoint.simulation.comparison.deterministic_random import RandomValues
from setpoint.simulation.comparison.external_lists import ExternalLists
from setpoint.simulation.comparison.snapshot import Snapshot
from setpoint.simulation.comparison.timestamped_names import make_name_replacer
from setpoint.simulation.faults.plan import Fault, Plan
from setpoint.simulation.injection.injector import FaultInjector
from setpoint.simulation.injection.process_under_test import Killed, ProcessControl
from setpoint.simulation.injection.user_steps import Steps
from setpoint.simulation.network.deterministic_server import DeterministicServer
from setpoint.simulation.network.user_transport import UserTransport
from setpoint.simulation.network.write_handler import WriteHandler
from setpoint.simulation.oracles.determinism import audit_nondeterminism
from setpoint.simulation.oracles.monitor import Monitor
from setpoint.simulation.oracles.reported_entries import ReportedEntries
from setpoint.simulation.sandbox.actor import Actor
from setpoint.simulation.sandbox.event_loop import SimulationLoop
from setpoint.simulation.sandbox.logged_exceptions import report_logged_exceptions
from setpoint.simulation.sandbox.side_effect_guard import Isolation, isolated
from setpoint.simulation.scenario.code_digest import list_projects
from setpoint.simulation.scenario.desired_state import DesiredState
from setpoint.simulation.scenario.externals import use_external_calls
from setpoint.simulation.scenario.simulation_options import Setup, describe_failure, require_awaitable
from setpoint.simulation.trace.history import History
from setpoint.simulation.trace.result import Options, Point, Result
from setpoint.simulation.trace.trace import Trace
from setpoint.simulation.world.control_plane import SimulatedControlPlane
from setpoint.simulation.world.controller_explanations import explain_controller
from setpoint.simulation.world.convergence import CONVERGE, check_quiescence, converge
from setpoint.simulation.world.external_calls import ExternalCalls
from setpoint.simulation.world.process import LEASE, Process
from setpoint.simulation.world.quiescence import Quiescence
from setpoint.simulation.world.remote_cluster import RemoteCluster
from setpoint.simulation.world.scenario_cluster import SimulatedCluster
from setpoint.simulation.world.single_step_creation import create_directly
from setpoint.simulation.world.step_faults import StepFaults
from setpoint.simulation.world.supervisor import Supervisor
from setpoint.testing.user_code import find_user_line_of
from setpoint.testing.virtual_clock import EPOCH
from setpoint.webhook import with_conversions


class _CutOff(BaseException):
    """Ends a scenario whose remaining steps are not needed."""


class World:
    """The simulated world. `warm` prepares it once, and `run` carries out one run in it. For several runs, fork the
    process between `warm` and `run`, or make a new world for each.
    """

    def __init__(self, setup: Setup, loop: SimulationLoop) -> None:
        self.setup = setup
        self.loop = loop
        self.plan = Plan()
        self.options = Options()
        self.seed = 0
        self.random_values = RandomValues()
        self.history = History(loop.time, self.random_values.starred)
        if setup.processes > 1:
            self.history.unrecorded |= {"leases.coordination.k8s.io"}
        self.trace = Trace(loop.time, self.history.called)
        self.server_actor = Actor("server", "server")
        self.harness = Actor("world", "world")
        self.control_plane = SimulatedControlPlane(self)
        self.expected_counts: list[dict[str, int]] = []
        self.monitor = Monitor(self)
        self.entries = ExternalLists()
        self.steps = Steps(self)
        self.quiescence = Quiescence(self)
        self.injector = FaultInjector(self, self.plan)
        self.step_faults = StepFaults(self)
        self.cluster = SimulatedCluster(self, objects=setup.objects, crds=setup.crds, nodes=setup.nodes)
        self.server = self.cluster.server
        self.write_handler = WriteHandler(self)
        self.deterministic_server = DeterministicServer(self.server, self.history)
        self.remote_cluster = RemoteCluster(self) if setup.fleet else None
        self.cluster_states = [ClusterState(self.history, self.random_values.starred)]
        if self.remote_cluster is not None:
            self.cluster_states.append(self.remote_cluster.cluster_state)
        self.external_calls = ExternalCalls(self)
        self.user_transport = UserTransport(self)
        self.supervisor = Supervisor(self)
        self._projects = list_projects(setup)
        self._stack = AsyncExitStack()
        self.resting = False
        """Whether a step is about to end, because all consequences of the user's actions have been dealt with."""
        self._main: asyncio.Task[None] | None = None
        self._gave_up = ""
        self._result = Result()
        self._randoms: list[Random] = []
        self.branch: Callable[[int], tuple[Plan, Options] | None] = lambda _step: None
        """Called at the start of every step; returns a different plan for the rest of the run, or None."""
        self._began = 0.0
        self.desired_state = DesiredState()

    def now(self) -> datetime:
        """The time of the server's wall clock."""
        return EPOCH + timedelta(seconds=self.loop.time() + self.options.shift)

    # -- before the run ------------------------------------------------------------------------------------------------

    async def warm(self) -> None:
        """Does everything that is the same in every run, up to the start of the controllers."""
        cluster, stack = self.cluster, self._stack
        await stack.enter_async_context(self.server)
        self.trace.names = len(self.setup.controllers()) > 1
        cluster.client = self.connect("user")
        for definition in cluster._definitions(kinds := cluster._custom_kinds()):
            await cluster._install(definition)
        if served := with_conversions(self.setup.webhooks, kinds):
            from setpoint.cache import InformerFactory
            from setpoint.webhook import Webhooks

            factory = await stack.enter_async_context(InformerFactory(self.connect("webhooks")))
            await cluster._local.serve(cluster.client, Webhooks(*served, factory=factory))
        await self.control_plane.start(cluster)
        if self.remote_cluster is not None:
            await self.remote_cluster.warm(stack)
        await self.quiescence.reach(30.0)
        for obj in self.setup.objects:
            await cluster.client.create(obj)
        await self.quiescence.reach(30.0)
        self.cluster_states[0].begin()

    def connect(self, name: str) -> Client:
        return Client(self.user_transport, namespace=self.setup.namespace, random=self.make_random(name))

    async def handle(self, request: Request) -> Response:
        """The server's answer to the request."""
        return await self.deterministic_server.handle(request)

    def make_random(self, name: str) -> Random:
        random = Random(name)
        self._randoms.append(random)
        return random

    # -- the run -------------------------------------------------------------------------------------------------------

    async def run(self, plan: Plan, options: Options) -> Result:
        """Carries out one run. Errors of the scenario and the controllers are part of the result and are not raised."""
        self._began = time.process_time()
        self.plan, self.options, self.seed = plan, options, plan.seed
        self.trace.details = options.trace
        self.random_values.seed = plan.seed
        self.random_values.timed = make_name_replacer(options.forms)
        for number, item in enumerate((*self._randoms, self.cluster.random, self.server.random)):
            item.seed(f"{plan.seed} {number}")
        self.injector = FaultInjector(self, plan)
        self.expected_counts = [dict(item) for item in options.expected_counts]
        self.history.restart(self.loop.time, int(options.shift) % 1000)
        self.history.watchers.append(self.monitor.changed)
        if not plan.faults:  # a lost entry is a finding without faults; with faults, the end state shows it
            self.history.watchers.append(ReportedEntries(self.monitor).changed)
        self.deterministic_server.seed = str(plan.seed)
        if self.remote_cluster is not None:
            self.remote_cluster.begin(plan.seed, int(options.shift) % 1000)
        if options.rest_states:
            for cluster_state in self.cluster_states:
                self._result.initial |= cluster_state.initial()
        saved = [copy.deepcopy(vars(external)) for external in self.setup.externals]
        self.loop.set_exception_handler(self._unhandled)
        use_external_calls(self.external_calls)
        start = self.loop.time()
        try:
            audit = audit_nondeterminism(self._result.environment) if options.audit else nullcontext()
            self.loop.isolation = isolation = Isolation(self._refused, self._projects)
            with (
                audit,
                self.random_values.installed(),
                report_logged_exceptions(self.monitor.report_exception),
                isolated(isolation),
            ):
                self._main = asyncio.get_running_loop().create_task(self._run_scenario(), name="scenario")
                await asyncio.wait((self._main,))
            if not self._main.cancelled() and (problem := self._main.exception()) is not None:
                raise problem
            result = self._complete()
        finally:
            for external, state in zip(self.setup.externals, saved, strict=True):
                vars(external).clear()
                vars(external).update(state)
        result.virtual = self.loop.time() - start
        result.seconds = time.process_time() - self._began
        return result

    async def _run_scenario(self) -> None:
        steps, setup = self.steps, self.setup
        self.step_faults.begin()
        self.supervisor.start_all()
        await steps.end(30.0)
        try:
            if self.options.direct is not None:
                wait = partial(self.quiescence.reach, 30.0) if self.options.apart else None
                await create_directly(self.options.direct, self.cluster.client, self.server, self.history, wait)
            else:
                await require_awaitable(setup.scenario(self.cluster))
        except _CutOff:
            pass
        except Exception as problem:  # noqa: BLE001 - a scenario that fails is a result
            self._result.early = bool(self.plan.faults) and not self.options.patient
            if not isinstance(problem, AssertionError):
                self._result.problem = "".join(traceback.format_exception(problem))
            place = find_user_line_of(problem) if isinstance(problem, AssertionError) else ""
            self.monitor.report("scenario", place or "scenario", describe_failure(problem))
        else:
            await steps.end(30.0)
        await converge(self)
        self._result.end = self.snapshot()
        self._explain()
        if self.options.quiet:
            await check_quiescence(self)

    def _complete(self) -> Result:
        result, monitor, trace = self._result, self.monitor, self.trace
        if not result.end:
            result.end = self.snapshot()
        monitor.summarize(result)
        result.cut, result.points = self._gave_up, trace.points
        result.watched = sorted(self.history.watched - self.history.unrecorded)
        result.ended = sorted(set().union(*(cluster_state.ended() for cluster_state in self.cluster_states)))
        result.steps = self.steps.number
        result.injected = self.injector.numbers()
        result.digest = trace.digest()
        result.desired_objects = self.desired_state.documents()
        result.missing_objects = self.desired_state.missing(self.history.alive)
        if self.options.trace:
            result.trace = trace.lines
        return result

    def hung(self, why: str) -> Result:
        """The result of a run that the loop ended because virtual time no longer passed."""
        self.monitor.report("hang", "process", why)
        return self._complete()

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
        self.harness.call(self.loop.call_soon, self.steps.end_faults)
        return True

    # -- processes -----------------------------------------------------------------------------------------------------

    def crash(self, process: ProcessControl, fault: Fault) -> None:
        self.supervisor.crash(process, fault)

    def ended(self, process: Process, problem: BaseException) -> None:
        self.supervisor.ended(process, problem)

    def process_of(self, actor: Actor) -> ProcessControl:
        return next(process for process in self.supervisor if process.actor is actor)

    def calling(self, actor: Actor) -> AbstractContextManager[None]:
        """Notes that the actor's process, if it is one of the program's, waits for an answer within the block."""
        process = next((candidate for candidate in self.supervisor if candidate.actor is actor), None)
        return nullcontext() if process is None else process.calling()

    @property
    def manager(self) -> Manager | None:
        """The manager of the most recently started process; None while that process is still starting."""
        return self.supervisor.last.manager

    # -- services of the parts -----------------------------------------------------------------------------------------

    def busy(self) -> bool:
        """Whether any actor has something to do now."""
        return (
            self.supervisor.busy()
            or self.control_plane.busy()
            or (self.remote_cluster is not None and self.remote_cluster.control_plane.busy())
        )

    def call_later(self, seconds: float, call: Callable[[], None]) -> object:
        """Calls the function after ``seconds``, as a part of the simulation and of no process."""
        return self.harness.call(self.loop.call_later, seconds, call)

    def electing(self) -> float:
        """The most seconds that it takes until a process has taken over; 0 if none is about to."""
        return 2 * LEASE if self.setup.processes > 1 and self.supervisor.electing() else 0.0

    def retries(self) -> list[float]:
        """The loop times at which failed and deferred keys are next due, in all processes and in the control plane."""
        remote_cluster = [] if self.remote_cluster is None else self.remote_cluster.control_plane.retries()
        return [*self.supervisor.retries(), *self.control_plane.retries(), *remote_cluster]

    def early(self, step: int) -> Fault | None:
        return self.step_faults.early(step)

    async def at_rest(self, step: int, patience: float) -> None:
        await self.step_faults.at_rest(step, patience)

    async def end_step(self, patience: float) -> None:
        await self.steps.end(patience)
        if self.options.stretch:
            await asyncio.sleep(self.options.stretch)
            await self.quiescence.reach(patience)
        self._cut_off()

    async def wait_until(self, condition: Any, within: float, why: str) -> None:
        await self.steps.wait_until(condition, within, why)
        self._cut_off()

    async def wait_for_deletion(self, obj: Object) -> None:
        """Waits while the object with the kind and name of ``obj`` is being deleted, since it can't be created again
        until then. Otherwise it would depend on a fault whether it is created. While it waits, it ends all faults,
        since a fault may be all that keeps the object from being deleted.
        """
        for _ in (None, *self.plan.faults):
            if not any(cluster_state.is_deleting(obj, self.setup.namespace) for cluster_state in self.cluster_states):
                return
            self.steps.end_faults()
            await self.quiescence.reach(CONVERGE)
            if not self.steps.lasting:  # else one has begun meanwhile, such as a crash while it was cleaned up
                return

    def begin_step(self, step: int) -> None:
        """Begins a step. If ``branch`` has a different plan for the rest of the run, that plan replaces the current
        one.
        """
        job = self.branch(step)
        if job is not None:
            self.plan, self.options = job
            self.injector = FaultInjector(self, self.plan)
            self._began = time.process_time()
        self.step_faults.before_step(step)

    def _cut_off(self) -> None:
        if 0 < self.plan.stop < self.steps.number:
            raise _CutOff

    def record_step(self) -> None:
        """Notes the state at the end of a step."""
        number = self.steps.number
        self.monitor.check_predicates()
        self.trace.mark(Point(f"step {number}", "step", number))
        self.trace.add("user", "user", "step", f"step {number} ends")
        self._result.object_counts.append(
            {
                subject: number
                for cluster_state in self.cluster_states
                for subject, number in cluster_state.object_counts().items()
            }
        )
        if self.options.rest_states:
            self._result.rest_states.append(self.snapshot())
            self._result.desired_states.append(self.desired_state.text(self.history.alive))
            self._result.desired_paths.append(self.desired_state.paths())
        if number in self.options.looks:
            self._result.looks[number] = self.snapshot()

    def snapshot(self) -> Snapshot:
        outside = {
            external.name: self.entries.in_order(external.name, external.state()) for external in self.setup.externals
        }
        first, *others = self.cluster_states
        state = first.snapshot(outside)
        for cluster_state in others:
            state |= cluster_state.snapshot()
        return self.random_values.by_use(state)

    # -- the end -------------------------------------------------------------------------------------------------------

    def describe(self) -> str:
        return self.cluster.describe()

    def _explain(self) -> None:
        """Only runs that may be shown are explained: it takes longer than ten writes."""
        if not (self.options.trace or self.options.rest_states):
            return
        self._result.explanation = "\n".join(
            line for running in self.supervisor.last.runs() for line in explain_controller(running)
        )

    def _refused(self, place: str, message: str) -> None:
        self.monitor.report("error", place, message)

    def _unhandled(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        problem = context.get("exception")
        if isinstance(problem, BaseException) and not isinstance(problem, Killed):
            self.monitor.report(
                "error", "task", f"unhandled {type(problem).__name__}: {problem} ({context.get('message')})"
            )
