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
from setpoint.simulation.actor import Actor
from setpoint.simulation.chance import Chance
from setpoint.simulation.cluster import SimulatedCluster
from setpoint.simulation.code import projects_of
from setpoint.simulation.complaints import heard
from setpoint.simulation.conclusion import CONVERGE, converge, stay
from setpoint.simulation.determinism import audited
from setpoint.simulation.direct import create_directly
from setpoint.simulation.entries import Entries
from setpoint.simulation.explained import explained
from setpoint.simulation.externals import using
from setpoint.simulation.far import Far
from setpoint.simulation.forms import starring
from setpoint.simulation.front import Front
from setpoint.simulation.history import History
from setpoint.simulation.interludes import Interludes
from setpoint.simulation.isolation import Isolation, isolated
from setpoint.simulation.judge import Judge
from setpoint.simulation.land import Land
from setpoint.simulation.life import Killed, Life
from setpoint.simulation.loop import SimulationLoop
from setpoint.simulation.plan import Fault, Plan
from setpoint.simulation.plane import Plane
from setpoint.simulation.port import Port
from setpoint.simulation.process import LEASE, Process
from setpoint.simulation.processes import Processes
from setpoint.simulation.result import Options, Point, Result
from setpoint.simulation.setup import Setup, awaited, failure_of
from setpoint.simulation.state import Snapshot
from setpoint.simulation.steps import Steps
from setpoint.simulation.strikes import Strikes
from setpoint.simulation.tape import Tape, user_line_of
from setpoint.simulation.telephone import Telephone
from setpoint.simulation.traffic import Traffic
from setpoint.simulation.wishes import Wishes
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
        self.chance = Chance()
        self.history = History(loop.time, self.chance.starred)
        if setup.processes > 1:
            self.history.untold |= {"leases.coordination.k8s.io"}
        self.tape = Tape(loop.time, self.history.called)
        self.server_actor = Actor("server", "server")
        self.harness = Actor("world", "world")
        self.plane = Plane(self)
        self.rests_expected: list[dict[str, int]] = []
        self.judge = Judge(self)
        self.entries = Entries()
        self.steps = Steps(self)
        self.strikes = Strikes(self, self.plan)
        self.interludes = Interludes(self)
        self.cluster = SimulatedCluster(
            self, objects=setup.objects, crds=setup.crds, nodes=setup.nodes, namespace=setup.namespace
        )
        self.server = self.cluster.server
        self.traffic = Traffic(self)
        self.front = Front(self.server, self.history)
        self.far = Far(self) if setup.fleet else None
        self.lands = [Land(self.history, self.chance)]
        if self.far is not None:
            self.lands.append(self.far.land)
        self.telephone = Telephone(self)
        self.port = Port(self)
        self.processes = Processes(self)
        self._projects = projects_of(setup)
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
        self.wishes = Wishes()

    def now(self) -> datetime:
        """The time of the server's wall clock."""
        return EPOCH + timedelta(seconds=self.loop.time() + self.options.shift)

    # -- before the run ------------------------------------------------------------------------------------------------

    async def warm(self) -> None:
        """Does everything that is the same in every run, up to the start of the controllers."""
        cluster, stack = self.cluster, self._stack
        await stack.enter_async_context(self.server)
        self.tape.names = len(self.setup.controllers()) > 1
        cluster.client = self.connect("user")
        for definition in cluster._definitions(kinds := cluster._custom_kinds()):
            await cluster._install(definition)
        if served := with_conversions(self.setup.webhooks, kinds):
            from setpoint.cache import InformerFactory
            from setpoint.webhook import Webhooks

            factory = await stack.enter_async_context(InformerFactory(self.connect("webhooks")))
            await cluster._local.serve(cluster.client, Webhooks(*served, factory=factory))
        await self.plane.start(cluster)
        if self.far is not None:
            await self.far.warm(stack)
        await self.steps.quiesce(30.0)
        for obj in self.setup.objects:
            await cluster.client.create(obj)
        await self.steps.quiesce(30.0)
        self.lands[0].begin()

    def connect(self, name: str) -> Client:
        return Client(self.port, namespace=self.setup.namespace, random=self.dice(name))

    async def handle(self, request: Request) -> Response:
        """The server's answer to the request."""
        return await self.front.handle(request)

    def dice(self, name: str) -> Random:
        made = Random(name)
        self._randoms.append(made)
        return made

    # -- the run -------------------------------------------------------------------------------------------------------

    async def run(self, plan: Plan, options: Options) -> Result:
        """Carries out one run. Errors of the scenario and the controllers are part of the result and are not raised."""
        self._began = time.process_time()
        self.plan, self.options, self.seed = plan, options, plan.seed
        self.tape.details = options.trace
        self.chance.seed = plan.seed
        self.chance.timed = starring(options.forms)
        for number, each in enumerate((*self._randoms, self.cluster.random, self.server.random)):
            each.seed(f"{plan.seed} {number}")
        self.strikes = Strikes(self, plan)
        self.rests_expected = [dict(each) for each in options.rests_expected]
        self.history.restart(self.loop.time, int(options.shift) % 1000)
        self.history.watchers.append(self.judge.changed)
        self.front.seed = str(plan.seed)
        if self.far is not None:
            self.far.begin(plan.seed, int(options.shift) % 1000)
        if options.rests:
            for land in self.lands:
                self._result.initial |= land.initial()
        saved = [copy.deepcopy(vars(external)) for external in self.setup.externals]
        self.loop.set_exception_handler(self._unhandled)
        using(self.telephone)
        start = self.loop.time()
        try:
            audit = audited(self._result.environment) if options.audit else nullcontext()
            self.loop.isolation = isolation = Isolation(self._refused, self._projects)
            with audit, self.chance.installed(), heard(self.judge.raised), isolated(isolation):
                self._main = asyncio.get_running_loop().create_task(self._story(), name="scenario")
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

    async def _story(self) -> None:
        steps, setup = self.steps, self.setup
        self.interludes.begin()
        self.processes.start_all()
        await steps.end(30.0)
        try:
            if self.options.direct is not None:
                wait = partial(steps.quiesce, 30.0) if self.options.apart else None
                await create_directly(self.options.direct, self.cluster.client, self.server, self.history, wait)
            else:
                await awaited(setup.scenario(self.cluster))
        except _CutOff:
            pass
        except Exception as problem:  # noqa: BLE001 - a scenario that fails is a result
            self._result.early = bool(self.plan.faults) and not self.options.patient
            if not isinstance(problem, AssertionError):
                self._result.problem = "".join(traceback.format_exception(problem))
            place = user_line_of(problem) if isinstance(problem, AssertionError) else ""
            self.judge.found("scenario", place or "scenario", failure_of(problem))
        else:
            await steps.end(30.0)
        await converge(self)
        self._result.end = self.snapshot()
        self._explain()
        if self.options.quiet:
            await stay(self)

    def _complete(self) -> Result:
        result, judge, tape = self._result, self.judge, self.tape
        if not result.end:
            result.end = self.snapshot()
        result.findings, result.cut = list(judge.findings), self._gave_up
        result.points = tape.points
        result.created, result.deleted = dict(judge.created), dict(judge.deleted)
        result.wrongly, result.acted = dict(judge.wrongly), sorted(judge.acted)
        result.gone = {step: dict(gone) for step, gone in judge.gone.items()}
        result.collected = sorted(judge.collected)
        result.provided = sorted(judge.provided)
        result.heard = sorted(self.history.heard - self.history.untold)
        result.ended = sorted(set().union(*(land.ended() for land in self.lands)))
        result.writes, result.steps = judge.writes, self.steps.number
        result.struck = self.strikes.numbers()
        result.digest = tape.digest()
        result.wished = self.wishes.documents()
        result.lost = self.wishes.lost(self.history.alive)
        if self.options.trace:
            result.trace = tape.lines
        return result

    def hung(self, why: str) -> Result:
        """The result of a run that the loop ended because virtual time no longer passed."""
        self.judge.found("hang", "process", why)
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

    def prepare(self, process: Process) -> None:
        self.interludes.prepare(process)

    def crash(self, life: Life, fault: Fault) -> None:
        self.processes.crash(life, fault)

    def ended(self, process: Process, problem: BaseException) -> None:
        self.processes.ended(process, problem)

    def life_of(self, actor: Actor) -> Life:
        return next(each for each in self.processes if each.actor is actor)

    def calling(self, actor: Actor) -> AbstractContextManager[None]:
        """Notes that the actor's process, if it is one of the program's, waits for an answer within the block."""
        life = next((each for each in self.processes if each.actor is actor), None)
        return nullcontext() if life is None else life.calling()

    @property
    def manager(self) -> Manager | None:
        """The manager of the most recently started process; None while that process is still starting."""
        return self.processes.last.manager

    def called(self, who: str) -> list[Actor]:
        """The actors that a plan's ``who`` names: a part of the control plane, or else the leading processes."""
        found = [actor for actor in self.plane.actors if actor.name == who]
        return found or [process.actor for process in self.processes.leading()]

    # -- what the parts ask for ----------------------------------------------------------------------------------------

    def busy(self) -> bool:
        """Whether any actor has something to do now."""
        return self.processes.busy() or self.plane.busy() or (self.far is not None and self.far.plane.busy())

    def electing(self) -> float:
        """The most seconds that it takes until a process has taken over; 0 if none is about to."""
        return 2 * LEASE if self.setup.processes > 1 and self.processes.electing() else 0.0

    def retries(self) -> list[float]:
        """The loop times at which failed and deferred keys are next due, in all processes and in the control plane."""
        far = [] if self.far is None else self.far.plane.retries()
        return [*self.processes.retries(), *self.plane.retries(), *far]

    def early(self, step: int) -> Fault | None:
        return self.interludes.early(step)

    async def at_rest(self, step: int, patience: float) -> None:
        await self.interludes.at_rest(step, patience)

    async def end_step(self, patience: float) -> None:
        await self.steps.end(patience)
        if self.options.stretch:
            await asyncio.sleep(self.options.stretch)
            await self.steps.quiesce(patience)
        self._cut_off()

    async def wait_until(self, condition: Any, within: float, why: str) -> None:
        await self.steps.wait_until(condition, within, why)
        self._cut_off()

    async def gone(self, obj: Object) -> None:
        """Waits while the object with the kind and name of ``obj`` is being deleted, since it can't be created again
        until then. Otherwise it would depend on a fault whether it is created. While it waits, it ends all faults,
        since a fault may be all that keeps the object from being deleted.
        """
        for _ in (None, *self.plan.faults):
            if not self._is_leaving(obj):
                return
            self.steps.end_faults()
            await self.steps.quiesce(CONVERGE)
            if not self.steps.lasting:  # else one has begun meanwhile, such as a crash while it was cleaned up
                return

    def _is_leaving(self, obj: Object) -> bool:
        return any(land.is_deleting(obj, self.setup.namespace) for land in self.lands)

    def came_to(self, step: int) -> None:
        """Begins a step. If ``branch`` has a different plan for the rest of the run, that plan replaces the current
        one.
        """
        job = self.branch(step)
        if job is not None:
            self.plan, self.options = job
            self.strikes = Strikes(self, self.plan)
            self._began = time.process_time()
        self.interludes.before_step(step)

    def _cut_off(self) -> None:
        if 0 < self.plan.stop < self.steps.number:
            raise _CutOff

    def rested(self) -> None:
        """Notes the state at the end of a step."""
        number = self.steps.number
        self.judge.check_predicates()
        self.tape.mark(Point(f"step {number}", "step", number))
        self.tape.tell("user", "user", "step", f"step {number} ends")
        self._result.there.append({subject: number for land in self.lands for subject, number in land.there().items()})
        if self.options.rests:
            self._result.rests.append(self.snapshot())
            self._result.wishes.append(self.wishes.text(self.history.alive))
            self._result.wished_at.append(self.wishes.paths())
        if number in self.options.looks:
            self._result.looks[number] = self.snapshot()

    def snapshot(self) -> Snapshot:
        outside = {each.name: self.entries.in_order(each.name, each.state()) for each in self.setup.externals}
        near, *others = self.lands
        found = near.snapshot(outside)
        for land in others:
            found |= land.snapshot()
        return self.chance.by_use(found)

    # -- the end -------------------------------------------------------------------------------------------------------

    def describe(self) -> str:
        return self.cluster.describe()

    def _explain(self) -> None:
        self._result.explained = "\n".join(line for each in self.processes.last.runs() for line in explained(each))

    def _refused(self, place: str, told: str) -> None:
        self.judge.found("error", place, told)

    def _unhandled(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        problem = context.get("exception")
        if isinstance(problem, BaseException) and not isinstance(problem, Killed):
            self.judge.found(
                "error", "task", f"nobody handled {type(problem).__name__}: {problem} ({context.get('message')})"
            )
