"""Trial: one run of a plan, with a new server, a new process of the program, and the users."""

from __future__ import annotations

import asyncio
import os
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from setpoint.apiserver import HttpFront
from setpoint.apiserver.http_types import Request, Response
from setpoint.client import Client, InProcessTransport
from setpoint.cluster import ControlPlane, GarbageCollector
from setpoint.concurrency import end
from setpoint.manager import Manager, ManagerOptions
from setpoint.meta.yaml_text import to_yaml
from setpoint.simulation.comparison.differences import find_differences
from setpoint.simulation.comparison.snapshot import Snapshot, make_snapshot
from setpoint.simulation.faults.plan import Fault, Plan
from setpoint.simulation.oracles.monitor import Monitor
from setpoint.simulation.sandbox.actor import ACTOR, Actor
from setpoint.simulation.scenario.setup import describe_failure, require_awaitable
from setpoint.simulation.trace.history import Entry, History
from setpoint.simulation.trace.operation import Operation
from setpoint.simulation.trace.result import Options, Point, Result
from setpoint.simulation.trace.trace import Trace
from setpoint.torture.cluster import TorturedCluster
from setpoint.torture.documents import as_object
from setpoint.torture.edge import Edge, deletes_now
from setpoint.torture.lives import TURN, Lives, ProgramError
from setpoint.torture.outcome import Expected, Outcome
from setpoint.torture.program import tail
from setpoint.torture.rest import Rest
from setpoint.torture.setup import Setup
from setpoint.torture.steps import Steps
from setpoint.torture.strikes import Strikes

_PATIENCE: Final = 30.0
"""The maximum time in seconds that a step waits until nothing is left to do."""


class Trial:
    """One run of a plan. `run` carries it out, in the running loop."""

    def __init__(
        self, setup: Setup, plan: Plan, expected: Expected, folder: Path, *, stay: float, told: Callable[[int], None]
    ) -> None:
        self.setup = setup
        self.plan = plan
        self.expected = expected
        self._folder = folder
        self._stay = stay
        self.history = History(self._clock)
        self.history.unrecorded |= {"leases.coordination.k8s.io"}
        self.trace = Trace(self._clock)
        self.steps = Steps()
        self.injector = Strikes(plan, self.trace)
        self.monitor = Monitor(self)
        self.lives = Lives(self, told=told)
        self.edge = Edge(self)
        self.rest = Rest(self)
        self.cluster = TorturedCluster(self)
        self.server = self.cluster.server
        self.options = Options()
        self.rests_expected = [dict(each) for each in expected.stays]
        self.resting = False
        self.changed_at = 0.0
        self._began = 0.0
        self._waited = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self._main: asyncio.Task[None] | None = None
        self._gave_up = ""
        self._failed = ""
        self._warm_at = 0
        self._told: int | None = None
        self._plane: list[Callable[[], bool]] = []
        self._outcome = Outcome(Result())

    def _clock(self) -> float:
        return asyncio.get_running_loop().time() - self._began

    # -- the run -------------------------------------------------------------------------------------------------------

    async def run(self) -> Outcome:
        """Runs the trial and returns its outcome. Failures of the program or the scenario are part of the outcome, and
        are not raised. If the run is cancelled, the program is killed.
        """
        loop = asyncio.get_running_loop()
        self._began = loop.time()
        outcome, result = self._outcome, self._outcome.result
        try:
            async with AsyncExitStack() as stack:
                await self._warm(stack)
                self._main = loop.create_task(self._story(), name="scenario")
                minding = loop.create_task(self.lives.mind(), name="minding the program")
                try:
                    await asyncio.wait((self._main,))
                finally:
                    left = [self._main, minding, *self._tasks]
                    for task in left:
                        task.cancel()
                    self.lives.kill("")
                    await end(left, within=5.0)
                    self._complete()
                if not self._main.cancelled() and (problem := self._main.exception()) is not None:
                    raise problem
        except ProgramError as problem:
            self._failed = str(problem)
        outcome.failed = self._failed
        outcome.log = tail(self.log)
        result.virtual = self._clock()
        used = os.times()
        result.seconds = used.user + used.system + used.children_user + used.children_system
        return outcome

    @property
    def log(self) -> Path:
        return self._folder / "program.log"

    @property
    def kubeconfig(self) -> Path:
        return self._folder / "kubeconfig"

    @property
    def is_disturbed(self) -> bool:
        """Whether the plan has any faults."""
        return bool(self.plan.faults)

    async def _warm(self, stack: AsyncExitStack) -> None:
        """Prepares everything up to the start of the program."""
        cluster = self.cluster
        await stack.enter_async_context(self.server)
        cluster.client = await stack.enter_async_context(
            Client(InProcessTransport(self._asked_by_user), namespace=self.setup.namespace)
        )
        await self._start_plane(stack)
        crds = [each for each in self.setup.before if each.get("kind") == "CustomResourceDefinition"]
        for definition in [*crds, *cluster._definitions(cluster._custom_kinds())]:
            await cluster.install(definition)
        for document in self.setup.before:
            if document not in crds:
                await cluster.client.apply(await as_object(cluster.client, document), field_manager="test")
        for obj in self.setup.objects:
            await cluster.client.create(obj)
        front = await stack.enter_async_context(HttpFront(self.edge, grace=0.1))
        self.url = front.url
        self.kubeconfig.write_text(to_yaml([front.kubeconfig()]))
        await self.rest.since(lambda: self.changed_at, 0.1, 10.0)
        self._warm_at = self.history.revision
        self.history.restart(self._clock)
        self.history.watchers += [self._changed, self.monitor.changed]

    async def _start_plane(self, stack: AsyncExitStack) -> None:
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

    async def _asked_by_user(self, request: Any) -> Response:
        if request.method not in ("GET", "HEAD") and self.history.recording:
            said = Operation.of(request)
            told = said.stem() if said is not None else f"{request.method} {request.path}"
            self.trace.tell("user", "user", "asks", told)
        operation: Request = request
        return await self.server.handle(operation)

    async def _story(self) -> None:
        result = self._outcome.result
        self.lives.start()
        await self.lives.contact()
        await self.end_step()
        try:
            await require_awaitable(self.setup.scenario(self.cluster))
        except ProgramError:
            raise
        except Exception as problem:  # noqa: BLE001 - a scenario that fails is a result
            result.early = bool(self.plan.faults) and self.steps.lasting
            if not isinstance(problem, AssertionError):
                result.problem = "".join(traceback.format_exception(problem))
            self.monitor.report("scenario", "scenario", describe_failure(problem))
        else:
            await self.end_step()
        await self._conclude()

    async def _conclude(self) -> None:
        """Ends the faults, and checks that everything then reaches its expected state and stays in that state."""
        self.injector.over = self.trace.full = True
        self.steps.end_faults()
        await self._converge(self.setup.converge)
        self.monitor.check_predicates()
        self.monitor.check_in_the_end()
        result = self._outcome.result
        result.end = self.snapshot()
        self._outcome.hears = sorted(self.edge.watched())
        result.explained = tail(self.log)
        if self._differs(self.expected.end):
            return
        self._told = len(self.trace.lines)
        self.monitor.quiet_phase = "while nothing happened any more"
        await asyncio.sleep(max(self._stay, 2 * self.expected.silence))
        self.monitor.quiet_phase = "after a restart"
        self.lives.kill("killed when everything was done")
        self.lives.start()
        await self.lives.contact()
        await self.rest.within(_PATIENCE)

    def _complete(self) -> None:
        result, monitor = self._outcome.result, self.monitor
        if not result.end:
            result.end = self.snapshot()
        result.findings, result.cut = list(monitor.findings), self._gave_up
        result.points = self.trace.points
        result.created, result.deleted = dict(monitor.created), dict(monitor.deleted)
        result.wrong_deletions, result.acted = dict(monitor.wrong_deletions), sorted(monitor.acted)
        result.writes, result.steps = monitor.writes, self.steps.number
        result.struck = self.injector.numbers()
        # The restart to see that nothing is written any more does not belong to the story, unless something is.
        told = len(self.trace.lines) if self._told is None else self._told
        after = [line for line in self.trace.lines[told:] if line.what in ("writes", "finding")]
        result.trace = [*self.trace.lines[:told], *after]
        self._outcome.longest = self.edge.longest

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
        asyncio.get_running_loop().call_soon(self.steps.end_faults)
        return True

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs ``work`` in a task, concurrently with the rest of the trial."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- what the parts ask for ----------------------------------------------------------------------------------------

    def heard_from(self) -> bool:
        """Whether the program has sent a request since it was last started."""
        return bool(self.edge.requests)

    def forget(self) -> None:
        """Resets the record of the program's requests and events, because the program is being started again."""
        self.edge.forget()

    def is_idle(self) -> bool:
        """Whether the control plane has nothing to do."""
        return all(idle() for idle in self._plane)

    # -- faults --------------------------------------------------------------------------------------------------------

    def _changed(self, entry: Entry) -> None:
        self.changed_at = asyncio.get_running_loop().time()
        self.edge.changed(entry)

    async def _at_rest(self, step: int) -> None:
        """Applies the faults at the end of a step, when the cluster is at rest."""
        for each in self.injector.take(f"step {step}", "restart", "expire-all"):
            if each.kind == "expire-all":
                for gate in self.edge.gates.values():
                    for stream in list(gate.streams):
                        stream.expire()
                await self.rest.within(_PATIENCE)
            else:
                await self._restart(each)

    async def _restart(self, fault: Fault) -> None:
        behind = None
        if name := fault.get("behind"):
            behind = next((entry for entry in self.history.entries if entry.point == name), None)
        self.lives.kill("killed at rest")
        if behind is not None:
            gate = self.edge.gate(behind.collection)
            gate.shut(behind.revision + 1)
            self.edge.streams_lists = False
            self.monitor.begin_travel(gate.open)
            self.steps.begin(fault, gate.open, seconds=3.0)
        self.lives.start()
        await self.rest.within(_PATIENCE)
        self.monitor.end_travel()

    def _before_step(self, step: int) -> None:
        """Applies the faults that last until the end of the step ``step``."""
        for each in self.injector.take(f"step {step}", "down", "pause"):
            if each.kind == "down":
                self.lives.down(step)
            else:
                self.lives.pause(step)

    # -- rest ----------------------------------------------------------------------------------------------------------

    async def end_step(self) -> None:
        """Ends one of the user's steps."""
        number = self.steps.number
        if self.injector.take(f"step {number}", "early"):
            await asyncio.sleep(TURN)
        else:
            await self._settle(number)
            while self.steps.end_effects():
                await self._settle(number)
            self.resting = True
            await self._at_rest(number)
            self.resting = False
        self._rested(number)
        self.steps.number += 1
        self.history.step = self.steps.number
        self._before_step(self.steps.number)

    async def _settle(self, number: int) -> None:
        """Waits until nothing is left to do. If there was a fault, and none is still in effect, it then waits for a
        limited time until the state is that of the undisturbed run.
        """
        await self.rest.within(_PATIENCE)
        rests = self.expected.rests
        if number < len(rests) and self.injector.struck and not self.steps.lasting and not self._waited:
            self._waited = not await self._until_equal(rests[number], self.setup.converge / 3)

    async def _converge(self, bound: float) -> None:
        self.lives.revive()
        await self.rest.within(_PATIENCE)
        await self._until_equal(self.expected.end, bound)

    async def _until_equal(self, expected: Snapshot | None, bound: float) -> bool:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + bound
        while self._differs(expected):
            if loop.time() >= deadline:
                return False
            await asyncio.sleep(0.1)
            await self.rest.within(max(deadline - loop.time(), 0.0))
        return True

    def _differs(self, expected: Snapshot | None) -> bool:
        return expected is not None and bool(find_differences(expected, self.snapshot(), self.expected.masks))

    async def wait_until(self, condition: Callable[[], Awaitable[bool]], within: float, why: str) -> None:
        """Waits at most ``within`` seconds (in a run with faults, no more than `Setup.converge`) until the condition
        holds, and ends the step. If the condition does not come true while faults last, the faults are ended, and the
        wait begins anew, for `Setup.converge` seconds.

        Raises:
            AssertionError: the condition did not come true in time.
        """
        held = await self.rest.holds(condition, min(within, self.setup.converge) if self.plan.faults else within)
        while not held and self.steps.lasting:
            self.steps.end_faults()
            held = await self.rest.holds(condition, self.setup.converge)
        if not held:
            raise AssertionError(why or "what the scenario waits for does not come true")
        await self.end_step()

    async def gone(self, collection: str, namespace: str, name: str) -> None:
        """In a run with faults, waits at most `Setup.converge` seconds while the object is being deleted, since its
        name can't be used before the object is gone. All faults are ended first, because a fault may be all that keeps
        the object.
        """

        async def is_gone() -> bool:
            record = self.history.get(collection, namespace, name)
            return record is None or not deletes_now(record.value)

        if self.plan.faults and not await is_gone():
            self.steps.end_faults()
            await self.rest.holds(is_gone, self.setup.converge)

    def _rested(self, number: int) -> None:
        self.monitor.check_predicates()
        self.trace.mark(Point(f"step {number}", "step", number))
        self.trace.tell("user", "user", "step", f"step {number} ends")
        there: dict[str, int] = {}
        for collection, label in self.history.alive.values():
            there[f"{collection} {label}"] = there.get(f"{collection} {label}", 0) + 1
        self._outcome.result.there.append(there)
        if not self.plan.faults:
            self._outcome.result.rests.append(self.snapshot())

    def snapshot(self) -> Snapshot:
        return make_snapshot(self.history.documents(), self.history.called, since=self._warm_at)


@contextmanager
def _acting(actor: Actor) -> Iterator[None]:
    """Makes the tasks that are created within the block belong to this actor."""
    token = ACTOR.set(actor)
    try:
        yield
    finally:
        ACTOR.reset(token)
