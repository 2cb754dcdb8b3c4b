"""A whole cluster inside a test: API server, control plane and controllers, in virtual time, without a socket.

```python
@sp.testing.virtual_time
async def test_as_many_pods_run_as_the_spec_says() -> None:
    async with sp.testing.cluster(controller) as cluster:
        await cluster.apply(Mykind.named("sample", "default", spec=MykindSpec(numpods=3)))
        await cluster.settle()
        assert len(await cluster.list(Pod)) == 3
```
"""

from __future__ import annotations

import asyncio
import builtins
import inspect
import warnings
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Final, Self, TypeAlias, TypeVar

import msgspec

from setpoint.apiserver import Access, AccessRecord, ApiServer, MemoryStorage
from setpoint.apiserver.bootstrap.default_objects import create_user_roles
from setpoint.apiserver.http_types import SYSTEM_ADMIN
from setpoint.client import Client, InProcessTransport, NotFound, Transport
from setpoint.cluster import ControlPlane, HollowNode, HollowPods, LocalWebhooks, PodBehaviour
from setpoint.cluster.controller_registry import names_of
from setpoint.cluster.nodes.behaviour import as_annotated
from setpoint.controller import Controller, RunningController, watched_kinds
from setpoint.crd import CustomResource, crd_for
from setpoint.crd.files import is_defined_in, read_definitions, warning_of_class, without_webhook
from setpoint.manager import Lifespan, Manager, ManagerOptions
from setpoint.meta import LabelSelector, Object, Selector, resource_of
from setpoint.models import KUBERNETES
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.models.core_v1 import Pod
from setpoint.operator import Operator
from setpoint.permissions import access_reviews, declared, leases
from setpoint.testing.failure_reports import LostEvent, NotSettled, described, errors_of, unsettled_keys
from setpoint.testing.faults import Faults
from setpoint.testing.mistakes import Mistake, Mistakes, watching
from setpoint.testing.permissions import USER, MissingPermission, RoleOfControllers, report
from setpoint.testing.virtual_clock import EPOCH, VirtualTimeLoop, wait_all_tasks_blocked
from setpoint.webhook import Admission, Converter, Policy, Webhooks, with_conversions
from setpoint.webhook.policy import apply_policies

K = TypeVar("K", bound=Object)
Definitions: TypeAlias = type[CustomResource] | Mapping[str, Any] | str | Path
"""CustomResourceDefinitions: a class, a document, or the path of a file or folder."""
PATIENCE: Final = 35.0
"""Seconds of virtual time for which `Cluster.settle` follows retries: longer than a `Journal` waits."""
_STEP: Final = 0.05
_SLACK: Final = 1.02
"""The factor for the patience of `Cluster.settle`: a wait that is as long as it begins a moment after the call."""


class Cluster:
    """The cluster of ``async with cluster(...)``: the server, the running controllers, and shortcuts for verbs.

    ``client`` is an administrator's client, ``server`` is the server's core, and ``manager`` runs the controllers under
    test. ``control_plane`` runs the cluster's own controllers and the hollow nodes; it is None if they don't run.
    ``faults`` makes the controllers' requests fail. With ``rbac``, ``access`` records the access that the controllers
    requested. If a controller fails, leaving the block raises its error, so the test fails.
    """

    client: Client
    manager: Manager
    faults: Faults
    control_plane: ControlPlane | None

    def __init__(
        self,
        *controllers: Controller[Any] | Operator[Any],
        objects: Iterable[Object] = (),
        crds: Iterable[Definitions] | None = None,
        nodes: int | Sequence[HollowNode] = 1,
        behaviour: Callable[[Pod], PodBehaviour | None] | None = None,
        webhooks: Iterable[Admission[Any] | Converter | Policy] = (),
        control_plane: bool | Iterable[str] = True,
        lifespan: Lifespan | None = None,
        rbac: bool = True,
        kubernetes: str = KUBERNETES,
    ) -> None:
        self._controllers = tuple(_controllers_of(controllers))
        operator = next((part.for_tests() for part in controllers if isinstance(part, Operator)), None)
        if operator is not None:
            webhooks = (*operator.admissions, *operator.policies, *webhooks)
        self._lifespan = lifespan or (None if operator is None else operator.lifespan_of())
        self._objects = tuple(objects)
        self._classes, self._definitions_given = _split(crds)
        parts = tuple(webhooks)
        self._served = tuple(part for part in parts if not isinstance(part, Policy))
        self._policies = tuple(part for part in parts if isinstance(part, Policy))
        self._local = LocalWebhooks()
        self._nodes = nodes
        self._behaviour = behaviour or as_annotated
        self._plane = names_of(control_plane)
        self._wrap: Callable[[Transport], Transport] = lambda inner: inner
        self.random = Random(0)
        storage = MemoryStorage()
        self.access = AccessRecord(ignore={SYSTEM_ADMIN.name})
        authorizer = None
        self._record = AccessRecord.from_environment()
        rbac = rbac and self._record is None  # a record holds the requests that are made where nothing is refused
        if rbac:
            grants = declared(self._controllers, self._served) | leases() | access_reviews()
            authorizer = RoleOfControllers(storage, grants)
        self.server = ApiServer(
            storage=storage,
            now=self.now,
            random=Random(1),
            webhook_caller=self._local,
            access=Access(authorizer=authorizer, access_record=self.access if rbac else None),
            kubernetes=kubernetes,
        )
        self._user = USER if rbac else None
        self._stack = AsyncExitStack()

    def over(self, wrap: Callable[[Transport], Transport]) -> Self:
        """Makes the controllers' connection go through ``wrap(connection)``, for instance to count requests; returns
        the cluster, which must not have been entered yet.
        """
        self._wrap = wrap
        return self

    def now(self) -> datetime:
        """The wall-clock time (UTC) that corresponds to the loop's time."""
        return EPOCH + timedelta(seconds=asyncio.get_running_loop().time())

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.server)
            create_user_roles(self.server.state)
            self.client = await stack.enter_async_context(
                Client(InProcessTransport(self.server.handle), random=self.random)
            )
            # The controllers' own connection: faults that a test injects do not affect the rest.
            handler = self.server.handle if self._record is None else self._record.noting(self.server.handle)
            self.faults = Faults(self._wrap(InProcessTransport(handler, user=self._user)))
            client = await stack.enter_async_context(Client(self.faults, random=self.random))
            self._mistakes = Mistakes()
            stack.enter_context(watching(self._mistakes))
            self.manager = Manager(
                client,
                controllers=tuple(map(self._mistakes.watched, self._controllers)),
                lifespan=self._lifespan,
                options=ManagerOptions(now=self.now, random=self.random, instance="test"),
            )
            kinds = self._custom_kinds()
            for definition in self._definitions(kinds):
                await self._install(definition)
            await apply_policies(self.client, self._policies, "test")
            if served := with_conversions(self._served, kinds):
                await self.serve(*served)
            self.control_plane = None
            if self._plane is not None:
                plane = ControlPlane(
                    self.client,
                    server=self.server,
                    nodes=self._nodes,
                    pods=HollowPods(behaviour=self._behaviour),
                    controllers=self._plane,
                    now=self.now,
                    random=self.random,
                )
                self.server.kubelets = plane.kubelets
                self.control_plane = await stack.enter_async_context(plane)
            for obj in self._objects:
                await self.client.create(obj)
            await stack.enter_async_context(self.manager)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        missing = report(self.access, self._kind_of)
        fault = self._fault()
        if error is not None:
            if failed := [line for running in self._running() for line in errors_of(running)]:
                error.add_note("\n".join(("reconciles that failed:", *(f"  {line}" for line in failed))))
            if missing:
                error.add_note(missing)
            if fault is not None:
                error.add_note(str(fault))
        answered = await self._stack.__aexit__(kind, error, traceback)
        if missing and error is None:
            raise MissingPermission(missing)
        if fault is not None and error is None:
            raise fault
        return answered

    def _kind_of(self, group: str, version: str, plural: str) -> str | None:
        served = self.server.registry.find(group, version, plural)
        return None if served is None else served.resource.kind

    # -- time ----------------------------------------------------------------------------------------------------------

    async def settle(self, patience: float = PATIENCE, *, failing: bool = False) -> None:
        """Waits until nothing is left to do: every event is delivered, every queue is empty, and no reconcile is
        running.

        Retries (failures, ``retry()``, hot loops, and delayed work of the control plane) are followed for ``patience``
        seconds of virtual time. Requeues that the controllers under test requested with ``after()`` are not waited for,
        so a controller that polls settles, too.

        Raises:
            NotSettled: after that time, a key still fails, waits for an external system, is in a hot loop or is being
                reconciled, or a controller has not begun; the message has the reason.
            LostEvent: a mapping function, a predicate or an index function raised an exception. The end of the block
                raises this error, too, for events that were lost since.
            AssertionError: a reconcile changed its object, outside of the status, and did not write it; or the
                controllers' code did not await a coroutine, or blocked the event loop (``time.sleep``, a connection, a
                subprocess). The message has the line. The end of the block raises this error, too.

        With ``failing``, for tests about failures, these errors are not raised.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + patience * _SLACK
        while True:
            await wait_all_tasks_blocked()
            now = loop.time()
            due = self._next_due()
            if due is None or due > deadline:
                break
            await asyncio.sleep(max(due - now, 0.0))
        fault = self._fault()
        if failing:
            return
        if fault is not None:
            raise fault
        if unsettled := [line for running in self._running() for line in unsettled_keys(running)]:
            text = "\n  ".join(unsettled)
            raise NotSettled(f"not settled after {patience:g} s:\n  {text}")

    def _fault(self) -> AssertionError | None:
        """The events that were lost, or else the other mistakes of the controllers since the last call; None if there
        are none.
        """
        lost_events, mistakes = (
            [line for running in self._running() for line in running.take_lost_events()],
            self._mistakes.take(),
        )
        if lost_events:
            return LostEvent("\n  ".join(("events were lost:", *lost_events)))
        return Mistake("\n  ".join(("mistakes of the controllers:", *mistakes))) if mistakes else None

    def _running(self) -> builtins.list[RunningController[Any]]:
        return list(self.manager.controllers.values())

    async def eventually(
        self, condition: Callable[[], bool | Awaitable[bool]], *, within: float = 60.0, why: str = ""
    ) -> None:
        """Waits until ``condition()`` holds, while virtual time passes.

        Raises:
            AssertionError: the condition is still false after ``within`` seconds of virtual time. The message begins
                with ``why`` if it is given.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within
        while True:
            await wait_all_tasks_blocked()
            result = condition()
            if await result if inspect.isawaitable(result) else result:
                return
            if loop.time() >= deadline:
                text = why or f"still false after {within:g} s: {condition!r}"
                raise AssertionError(f"{text}\n{self.describe()}")
            await asyncio.sleep(min(_next_event(), deadline) - loop.time())

    async def until(self, condition: Callable[[], bool | Awaitable[bool]], *, within: float = 3600.0) -> None:
        """Waits for ``condition()`` as users do: like `eventually`, but longer by default. In a simulated scenario,
        this ends a step.
        """
        await self.eventually(condition, within=within)

    async def serve(self, *served: Admission[Any] | Converter) -> None:
        """Adds webhooks to the server, and applies the definitions of the kinds that they convert.

        A test can use it to show the effects of an upgrade on existing objects.
        """
        await self._local.serve(self.client, Webhooks(*served, factory=self.manager.factory))

    def running(self, name: str) -> RunningController[Any]:
        """The run of the controller under test with that name. Raises `KeyError` if there is none."""
        return self.manager.controllers[name]

    def describe(self) -> str:
        """A report for error messages: the activity of every controller under test, and the last error of every failing
        key.
        """
        return "\n".join(line for running in self._running() for line in described(running))

    def _next_due(self) -> float | None:
        """The loop time at which the next work is due; None if there is none."""
        due: list[float] = []
        running = [(controller, False) for controller in self.manager.controllers.values()]
        if self.control_plane is not None:
            running += [(controller, True) for controller in self.control_plane.manager.controllers.values()]
            if not self.control_plane.idle():
                due.append(_next_event())
        for controller, everything in running:
            if controller.state in ("stopped", "new"):
                continue
            if controller.state != "running" or not controller.idle():
                due.append(_next_event())
            for key, state in controller.queue.states().items():
                at = controller.queue.ready_at(key) if "delayed" in state else None
                if at is not None and (
                    everything or controller.queue.num_requeues(key) or key in controller.activity.hot_loops.slowed
                ):
                    due.append(at)
        return min(due, default=None)

    # -- verbs ---------------------------------------------------------------------------------------------------------

    async def get(self, kind: type[K], name: str, namespace: str | None = None) -> K:
        """The object as it is on the server. Without ``namespace``, the object is in the cluster's default namespace.
        Raises `NotFound` if it does not exist.
        """
        return await self.client.get(kind, name, namespace=namespace)

    async def find(self, kind: type[K], name: str, namespace: str | None = None) -> K | None:
        """The object as it is on the server; None if it does not exist. Without ``namespace``, the object is in the
        cluster's default namespace.
        """
        try:
            return await self.client.get(kind, name, namespace=namespace)
        except NotFound:
            return None

    async def list(
        self,
        kind: type[K],
        *,
        namespace: str | None = None,
        selector: str | Mapping[str, str] | LabelSelector | Selector | None = None,
    ) -> Sequence[K]:
        """The objects of a kind in all namespaces, or in the given one, ordered by key."""
        objects = await self.client.list(kind, namespace=namespace, selector=selector)
        return sorted(objects.items, key=lambda obj: obj.key)

    async def create(self, obj: K) -> K:
        return await self.client.create(obj)

    async def apply(self, obj: K) -> K:
        return await self.client.apply(obj, field_manager="test")

    async def update(self, obj: K) -> K:
        return await self.client.update(obj)

    async def delete(self, obj: Object, **options: Any) -> None:
        await self.client.delete(obj, **options)

    # -- custom resources ----------------------------------------------------------------------------------------------

    def _custom_kinds(self) -> builtins.list[type[CustomResource]]:
        kinds_given = self._classes if self._classes is not None else watched_kinds(self._controllers)
        kinds = [kind for kind in kinds_given if issubclass(kind, CustomResource)]
        return [kind for kind in kinds if not is_defined_in(self._definitions_given, kind)]

    def _definitions(self, kinds: Iterable[type[CustomResource]]) -> builtins.list[Mapping[str, Any]]:
        versions: dict[tuple[str, str], builtins.list[type[CustomResource]]] = {}
        for kind in kinds:
            resource = resource_of(kind)
            versions.setdefault((resource.group, resource.kind), []).append(kind)
        for classes in versions.values():
            if classes[0].definition.installed_by:
                warnings.warn(warning_of_class(classes[0], 'crds=["FILE"]'), stacklevel=3)
        return [*self._definitions_given, *(crd_for(*classes) for classes in versions.values())]

    async def _install(self, definition: Mapping[str, Any]) -> None:
        path = resource_of(CustomResourceDefinition).path()
        await self.client.request("POST", path, body=msgspec.json.encode(definition))
        name = definition["metadata"]["name"]
        while not (await self.client.get(CustomResourceDefinition, name)).is_established:  # noqa: ASYNC110
            await asyncio.sleep(_STEP)


def _controllers_of(parts: Sequence[Controller[Any] | Operator[Any]]) -> Iterable[Controller[Any]]:
    if len(parts) > 1 and any(isinstance(part, Operator) for part in parts):
        raise TypeError("cluster() takes either one Operator or controllers")
    for part in parts:
        if isinstance(part, Operator):
            yield from part.controllers_for()
        elif isinstance(part, Controller):
            yield part
        else:
            raise TypeError(f"cluster() takes an Operator, or controllers as separate arguments, not {part!r}")


def _split(
    crds: Iterable[Definitions] | None,
) -> tuple[tuple[type[CustomResource], ...] | None, builtins.list[Mapping[str, Any]]]:
    """The classes to install, or None for those of the kinds that the controllers watch; and the definitions."""
    if crds is None:
        return None, []
    sources = tuple(crds)
    definitions: builtins.list[Mapping[str, Any]] = []
    for source in sources:
        if isinstance(source, str | Path):
            definitions += map(without_webhook, read_definitions(source))
        elif not isinstance(source, type):
            definitions.append(source)
    only_paths = bool(sources) and all(isinstance(source, str | Path) for source in sources)
    return None if only_paths else tuple(source for source in sources if isinstance(source, type)), definitions


def _next_event() -> float:
    """The loop time at which something can change next."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)  # otherwise settling would have been impossible
    due = loop.next_timer()
    return loop.time() + _STEP if due is None else max(due, loop.time())


def cluster(
    *controllers: Controller[Any] | Operator[Any],
    objects: Iterable[Object] = (),
    crds: Iterable[Definitions] | None = None,
    nodes: int | Sequence[HollowNode] = 1,
    behaviour: Callable[[Pod], PodBehaviour | None] | None = None,
    webhooks: Iterable[Admission[Any] | Converter | Policy] = (),
    control_plane: bool | Iterable[str] = True,
    lifespan: Lifespan | None = None,
    rbac: bool = True,
    kubernetes: str = KUBERNETES,
) -> Cluster:
    """A cluster in which ``controllers`` run, for ``async with``. An `Operator` in their place stands for its
    controllers, admissions and policies, and for its stand-in or lifespan.

    Use it in virtual time (`virtual_time`); the cluster ends with the block.

    Args:
        objects: objects to create before the controllers start.
        crds: the CustomResourceDefinitions to install: CustomResource classes, documents, and paths of YAML and JSON
            files or of folders of them, whose conversion webhooks are left out. By default, or if only paths are given,
            the custom kinds that the controllers watch are installed from their classes, unless a path defines them;
            for kinds with ``installed_by`` a warning says so.
        nodes: the number of hollow nodes, or a description of each; with 0, every pod stays pending
            while there is no Node.
        behaviour: a function that returns the behaviour of a hollow pod (`setpoint.cluster.PodBehaviour`), or None to
            leave it to the pod's annotations.
        webhooks: admissions and conversions that the server calls, in this process, and policies that it enforces.
            Conversions that the installed classes list are called automatically.
        control_plane: whether the cluster's own controllers and hollow nodes run, or the names of the controllers to
            run, as for ``setpoint server --controllers``: ``["*", "-deployment"]``.
        lifespan: the lifespan of the controllers' program, as for `setpoint.Manager`.
        rbac: whether the controllers are limited to the permissions that their declarations need, as with the role that
            their program's `manifests` prints. A refusal fails the test (`MissingPermission`), even if the reconcile
            continues. ``setpoint rbac``, which looks for missing permissions, lifts this limit.
        kubernetes: the version whose kinds and fields the server has, such as ``1.33``; from 1.31 to that of the
            models, the default. Newer kinds are not served; newer fields, and those that are off by default there, are
            dropped with the warning of an unknown field.

    Raises:
        TypeError: an argument among ``controllers`` is neither a controller nor the only `Operator`.
        VersionError: ``kubernetes`` is not such a version.
        DefinitionFileError: a path in ``crds`` can't be read or has no definition.
    """
    return Cluster(
        *controllers,
        objects=objects,
        crds=crds,
        nodes=nodes,
        behaviour=behaviour,
        webhooks=webhooks,
        control_plane=control_plane,
        lifespan=lifespan,
        rbac=rbac,
        kubernetes=kubernetes,
    )
