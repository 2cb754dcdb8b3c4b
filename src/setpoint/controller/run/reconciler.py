"""Reconciler: one attempt for one key, from the barrier to the status patch."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from contextvars import Token
from typing import Any, Generic, NamedTuple, NoReturn, TypeAlias, TypeVar

from setpoint.cache.barriers import Barrier
from setpoint.cache.object_record import version_number
from setpoint.client import (
    ApiError,
    Conflict,
    Invalid,
    NotFound,
    ObjectList,
    PatchType,
    TooManyRequests,
    TransportError,
    dynamic,
)
from setpoint.client.partial_metadata import metadata_only
from setpoint.controller.context import Context, current
from setpoint.controller.declaration import Declaration
from setpoint.controller.environment import Environment
from setpoint.controller.history import AttemptStart
from setpoint.controller.hotloop import SOON
from setpoint.controller.memory import Abandoned, expect_echo
from setpoint.controller.outcome import (
    AWAITED_CANCELLED,
    After,
    Done,
    Held,
    InvalidObject,
    Outcome,
    Outdated,
    Paused,
    ReconcileTimeout,
    Retry,
)
from setpoint.controller.run.activity_records import Activity
from setpoint.controller.telemetry import find_tracer, reconcile_span, sampled_trace
from setpoint.controller.writes.ownership import ObjectWriter
from setpoint.controller.writes.status_writer import StatusWriter
from setpoint.meta import (
    DecodeError,
    GroupVersionResource,
    Head,
    Misfit,
    Object,
    ObjectKey,
    Resource,
    decode_as_read,
    raw_of,
    resource_of,
)

K = TypeVar("K", bound=Object)
T = TypeVar("T", bound=Object)
Function: TypeAlias = Callable[[K, Context], Awaitable[Outcome | None]]
_UNTRACED = nullcontext()


class Functions(NamedTuple, Generic[K]):
    """The functions of a controller, as coroutine functions. Those named ``misfit`` are called instead of the others
    for an object that is being deleted and does not fit its class.
    """

    reconcile: Function[K]
    reconcile_misfit: Function[K]
    finalize: Function[K] | None = None
    finalize_misfit: Function[K] | None = None


class Reconciler(Generic[K]):
    """Calls the user's function for a key, and takes the steps before and after the call that make it safe.

    The order is: wait for the barriers, read the object, add the finalizer, call the function (with its deadline),
    write the status if it changed, remove the finalizer if the clean-up is done. After that nothing is written.
    """

    def __init__(
        self,
        declared: Declaration[K],
        env: Environment,
        writer: ObjectWriter,
        activity: Activity,
        functions: Functions[K],
        failures: Callable[[ObjectKey], int],
    ) -> None:
        self._controller = declared
        self._env = env
        self._writer = writer
        self._memory = memory = writer.memory
        self._activity = activity
        self._failures = failures
        self._gvr = declared.resource.gvr
        self._untyped = dynamic(declared.resource)
        self._functions = functions
        self._tracer = find_tracer()
        self._status = StatusWriter(declared, env, memory)

    async def handle(self, key: ObjectKey) -> Outcome | None:
        """Makes one attempt for the key and returns its outcome. Exceptions of the user's function propagate."""
        memory, activity = self._memory, self._activity
        if activity.hot_loops.slowed:
            head = self._env.informers[self._gvr].store.head(key)
            wait = await activity.hot_loops.hold(key, head.generation if head is not None else None)
            if wait:
                return Held(wait, "slowed down: it is in a hot loop")
        causes = activity.causes.take(key, asyncio.get_running_loop().time())
        behind: frozenset[GroupVersionResource] = frozenset()
        cache_wait = 0.0
        if memory.barriers.pending(key):
            clock = asyncio.get_running_loop().time
            began = clock()
            try:
                behind = await memory.barriers.wait(key)
            except Abandoned:
                return None
            cache_wait = clock() - began
        if memory.echoes:
            memory.echoes.pop(key, None)
        obj: K | None
        age = None
        if self._gvr in behind:
            obj, misfits = await self._read_live(key)
        else:
            informer = self._env.informers[self._gvr]
            obj, misfits = self._decoded(informer.store.get(key))
            age = informer.age()
            if obj is not None and (memory.suspects.is_suspect(key) or memory.suspects.is_gone(obj.uid)):
                cached, age = obj.uid, None
                obj, misfits = await self._read_live(key)
                memory.suspects.note_answer(key, cached, obj.uid if obj is not None else "")
        if obj is None:
            activity.forget(key)
            return None
        metadata = obj.metadata
        deleting = metadata.deletion_timestamp is not None
        cleaning = (
            deleting and self._functions.finalize is not None and self._controller.finalizer in metadata.finalizers
        )
        if deleting and not cleaning and not self._controller.reconcile_deleting:
            return None
        why = self._pause_of(obj)
        if why and (self._env.controller_pause() or self._status.shows_pause(obj, why)):
            return Paused(why)
        start = AttemptStart(causes, self._failures(key), age, cache_wait)
        context = Context(self._env, self._writer, obj, start)
        activity.begin(context)
        token: Token[Context | None] | None = current.set(context)
        span = (
            _UNTRACED
            if self._tracer is None
            else reconcile_span(self._tracer, self._controller.name, obj, causes, start.failures)
        )
        try:
            with span as started_span:
                context._trace = sampled_trace(started_span)
                if behind:
                    activity.metrics.stale_reads += 1
                    await self._prefetch(context, behind)
                outcome: Outcome | None
                if why:
                    await self._status.paused(obj, context, why)
                    return Paused(why)
                if misfits and deleting:
                    context.log.warning(
                        "the object does not fit its class; cleaning up with its values as they were read",
                        extra={"problem": _misfit_message(misfits)},
                    )
                if cleaning:
                    outcome = await self._clean_up(obj, context, misfits)
                elif misfits and not deleting:
                    await self._refuse(obj, context, misfits)
                else:
                    if (
                        not deleting
                        and self._functions.finalize is not None
                        and self._controller.finalizer not in metadata.finalizers
                    ):
                        obj = await self._add_finalizer(obj, context)
                    function = self._functions.reconcile_misfit if misfits else self._functions.reconcile
                    outcome = await self._attempt(function, obj, context)
                if isinstance(outcome, After) and outcome.seconds < SOON and self._is_requeue_loop(obj):
                    activity.metrics.hot_loops += 1
                return outcome
        except GeneratorExit:
            token = None  # its loop has ended: what destroys the task now runs in another context
            raise
        finally:
            context._close()
            if token is not None:
                current.reset(token)

    def _pause_of(self, obj: K) -> str:
        """The reason why there is no reconcile of the object now; ``""`` if there is one."""
        deleting = obj.metadata.deletion_timestamp is not None
        why = self._env.controller_pause() or self._controller.controls.pause_message(
            obj.metadata.annotations, deleting=deleting
        )
        if not why:
            self._activity.resume(obj.key)
        elif self._activity.pause(obj.key, why) and deleting:
            self._env.event(obj, "Warning", "DeletionPaused", why)
        return why

    def _is_requeue_loop(self, obj: K) -> bool:
        """Whether the key became hot by asking for its next reconcile at once."""
        return self._activity.hot_loops.count_requeue(obj.key, obj.metadata.generation, self._controller.resource)

    # -- the function --------------------------------------------------------------------------------------------------

    async def _attempt(self, function: Function[K], obj: K, context: Context) -> Outcome | None:
        """Calls the function and writes the status, even if the function raises; returns the function's outcome."""
        draft = self._status.draft(obj)
        try:
            outcome = await self._call(function, obj, context)
        except Exception as problem:
            await self._status.failed(problem, draft, obj, context)
            raise
        await self._status.succeeded(draft, obj, context)
        return outcome

    async def _call(self, function: Function[K], obj: K, context: Context) -> Outcome | None:
        """Calls the function, within the controller's deadline. A cancellation that is not the worker's becomes an
        error: the function awaited something that was cancelled.
        """
        timeout = self._controller.timeout
        try:
            if timeout is None:
                return _checked(await function(obj, context), self._controller.name)
            scope = asyncio.timeout(timeout)
            try:
                async with scope:
                    return _checked(await function(obj, context), self._controller.name)
            except TimeoutError as problem:
                if scope.expired():
                    raise ReconcileTimeout(f"reconcile took longer than {timeout:g} s and was cancelled") from problem
                raise
        except asyncio.CancelledError:
            worker = asyncio.current_task()
            if worker is None or worker.cancelling():
                raise
            raise RuntimeError(AWAITED_CANCELLED) from None

    # -- the object ----------------------------------------------------------------------------------------------------

    def _decoded(self, document: bytes | None) -> tuple[K | None, Sequence[Misfit]]:
        """The object, and its values that do not fit the class; None if there is no object. Where only metadata is
        watched, no other field matters.
        """
        if document is None:
            return None, ()
        obj, misfits = decode_as_read(self._controller.kind, document)
        return obj, () if self._controller.metadata_only else misfits

    async def _read_live(self, key: ObjectKey) -> tuple[K | None, Sequence[Misfit]]:
        try:
            obj = await self._env.client.get(self._controller.kind, key.name, namespace=key.namespace or None)
        except NotFound:
            return None, ()
        except DecodeError:
            return await self._read_misfit(key)
        return obj, ()

    async def _read_misfit(self, key: ObjectKey) -> tuple[K | None, Sequence[Misfit]]:
        try:
            untyped = await self._env.client.get(self._untyped, key.name, namespace=key.namespace or None)
        except NotFound:
            return None, ()
        return self._decoded(raw_of(untyped))

    async def _refuse(self, obj: K, context: Context, misfits: Sequence[Misfit]) -> NoReturn:
        """Reports an object that does not fit its class, in its status. Raises `InvalidObject`, or the error that kept
        the status from being written, if it may be written later.
        """
        problem = InvalidObject(_misfit_message(misfits))
        unwritten = await self._status.failed(problem, self._status.draft(obj), obj, context)
        if isinstance(unwritten, TransportError | Conflict | TooManyRequests) or (
            isinstance(unwritten, ApiError) and unwritten.code >= 500
        ):
            raise unwritten
        raise problem

    async def _prefetch(self, context: Context, behind: frozenset[GroupVersionResource]) -> None:
        """Reads from the server the resources whose caches are behind, so the context's reads are up to date."""
        env, memory = self._env, self._memory
        kinds = {resource_of(watch.kind).gvr: watch.kind for watch in self._controller.watched}
        live: dict[GroupVersionResource, ObjectList[Any]] = {}
        places: dict[GroupVersionResource, str] = {}
        for gvr in sorted(behind):  # a set has another order in every process
            kind, scope = kinds[gvr], env.informers[gvr].shared.scope
            space = scope.namespace or (context.object.namespace if resource_of(kind).namespaced else "")
            answer = await env.client.list(
                kind, namespace=space or None, selector=scope.selector, field_selector=scope.field_selector
            )
            live[gvr], places[gvr] = answer, space
        memory.barriers.forget(context.key)  # no sooner: what could not be read is stale at the next attempt, too
        for gvr, objects in live.items():
            self._catch_up(context.key, resource_of(kinds[gvr]), places[gvr], objects.heads)
        context._live = {gvr: objects.items for gvr, objects in live.items()}
        context.log.warning("the cache is behind, reading live", extra={"resources": sorted(map(str, behind))})

    def _catch_up(self, key: ObjectKey, resource: Resource, namespace: str, heads: Sequence[Head]) -> None:
        """Makes the next reconcile wait until the cache shows the objects that were read live. Otherwise it could
        see an older state than this reconcile.
        """
        barriers = self._memory.barriers
        store = self._env.informers[resource.gvr].store
        present = set()
        for head in heads:
            present.add(head.key)
            version = head.resource_version
            cached_version = store.resource_version(head.key)
            if cached_version is None or not version.isdecimal() or cached_version < int(version):
                barriers.note(key, resource.gvr, head.key, Barrier(version_number(version), version, head.uid))
        for cached in list(store.namespace(namespace) if namespace else store):
            if cached not in present and (deleted := store.head(cached)) is not None:
                barriers.note(key, resource.gvr, deleted.key, Barrier(0, "", deleted.uid, True))

    # -- finalizer -----------------------------------------------------------------------------------------------------

    async def _add_finalizer(self, obj: K, context: Context) -> K:
        patch = patch_to_add(obj, self._controller.finalizer)
        patched = await self._patch_finalizers(self._controller.kind, obj, patch)
        if patched is None:
            raise Outdated(f"{obj.kind} {obj.key} is gone")
        expect_echo(self._memory.echoes, obj, patched, ignoring=("finalizers",))
        context.object = patched
        return patched

    async def _clean_up(self, obj: K, context: Context, misfits: Sequence[Misfit]) -> Outcome | None:
        # Defaults are made for objects that fit their class, and must not keep another one from going.
        finalize = self._functions.finalize_misfit if misfits else self._functions.finalize
        assert finalize is not None
        draft = self._status.draft(obj)
        try:
            outcome = await self._call(finalize, obj, context)
        except Exception as problem:
            await self._status.failed(problem, draft, obj, context)
            raise
        done = outcome is None or isinstance(outcome, Done)
        if not done or any(name != self._controller.finalizer for name in obj.metadata.finalizers):
            await self._status.succeeded(draft, obj, context)  # else the object goes, and its status with it
        if done:
            patch = patch_to_remove(obj, self._controller.finalizer)
            await self._patch_finalizers(metadata_only(self._controller.resource), obj, patch)
        return outcome

    async def _patch_finalizers(self, kind: type[T], obj: K, patch: list[dict[str, Any]]) -> T | None:
        """Patches the finalizers and returns the resulting object as ``kind``; None if the object is gone. Raises
        `Outdated` if the object is not the one for which the patch was made.
        """
        try:
            return await self._env.client.patch(
                kind, obj.name, patch, type=PatchType.JSON, namespace=obj.namespace or None
            )
        except NotFound:
            return None
        except (Invalid, Conflict) as problem:
            raise Outdated(f"{obj.kind} {obj.key} has changed: {problem.message}") from problem


def _misfit_message(misfits: Sequence[Misfit]) -> str:
    return f"the object does not fit its class: {'; '.join(map(str, misfits))}"


def _checked(outcome: Any, name: str) -> Outcome | None:
    if outcome is None or isinstance(outcome, Done | After | Retry):
        return outcome
    raise TypeError(
        f"the reconcile function of controller {name!r} returned {outcome!r}: return done(), after(seconds), "
        "retry(reason) or None"
    )


def patch_to_add(obj: Object, name: str) -> list[dict[str, Any]]:
    """The JSON patch that adds the finalizer; [] if the object has it already."""
    finalizers = obj.metadata.finalizers
    if name in finalizers:
        return []
    if not finalizers:
        return [
            {"op": "test", "path": "/metadata/resourceVersion", "value": obj.metadata.resource_version},
            {"op": "test", "path": "/metadata/uid", "value": obj.uid},
            {"op": "add", "path": "/metadata/finalizers", "value": [name]},
        ]
    return [
        {"op": "test", "path": "/metadata/uid", "value": obj.uid},
        {"op": "test", "path": "/metadata/finalizers", "value": finalizers},
        {"op": "add", "path": "/metadata/finalizers/-", "value": name},
    ]


def patch_to_remove(obj: Object, name: str) -> list[dict[str, Any]]:
    """The JSON patch that removes every occurrence of the finalizer; [] if there is none."""
    finalizers = obj.metadata.finalizers
    places = [place for place, finalizer in enumerate(finalizers) if finalizer == name]
    if not places:
        return []
    return [
        {"op": "test", "path": "/metadata/uid", "value": obj.uid},
        {"op": "test", "path": "/metadata/finalizers", "value": finalizers},
        *({"op": "remove", "path": f"/metadata/finalizers/{place}"} for place in reversed(places)),
    ]
