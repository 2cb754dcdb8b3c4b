"""Reconciler: one attempt for one key, from the barrier to the status patch."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import Token, copy_context
from threading import current_thread, get_ident
from typing import Any, Generic, NoReturn, TypeVar, cast

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
from setpoint.controller import finalizer
from setpoint.controller.barriers import Abandoned
from setpoint.controller.context import Context, current
from setpoint.controller.declaration import Declaration
from setpoint.controller.echo import expect_echo
from setpoint.controller.environment import Environment
from setpoint.controller.failures import Outdated, ReconcileTimeout, describe
from setpoint.controller.hotloop import SOON
from setpoint.controller.memory import Memory
from setpoint.controller.outcome import After, Done, Held, InvalidObject, Outcome, Retry
from setpoint.controller.status_writer import StatusWriter
from setpoint.controller.sync_context import SyncContext
from setpoint.controller.told import Told
from setpoint.controller.tracing import find_tracer, reconcile_span
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
_UNTRACED = nullcontext()


class Reconciler(Generic[K]):
    """Calls the user's function for a key, and takes the steps before and after the call that make it safe.

    The order is: wait for the barriers, read the object, add the finalizer, call the function (with its deadline),
    write the status if it changed, remove the finalizer if the clean-up is done. After that nothing is written.
    """

    def __init__(
        self,
        declared: Declaration[K],
        env: Environment,
        memory: Memory,
        told: Told,
        failures: Callable[[ObjectKey], int],
    ) -> None:
        self._controller = declared
        self._env = env
        self._memory = memory
        self._told = told
        self._failures = failures
        self._gvr = declared.resource.gvr
        self._untyped = dynamic(declared.resource)
        self._pool: ThreadPoolExecutor | None = None
        self._in_threads: dict[ObjectKey, asyncio.Future[Any]] = {}
        self.threads: dict[ObjectKey, int] = {}
        """The identifiers of the threads in which plain functions run, by the keys that they handle."""
        self._reconcile = self._callable(declared.reconcile)
        self._finalize = self._callable(declared.finalizer_function) if declared.finalizer_function else None
        self._finalize_misfit = self._finalize
        if declared.defaulters or declared.validators:
            from setpoint.controller.checks import checked_first  # brings the schema room along

            self._reconcile = checked_first(self._reconcile, declared.defaulters, declared.validators)
            if self._finalize is not None:
                self._finalize = checked_first(self._finalize, declared.defaulters, declared.validators)
        self._tracer = find_tracer()
        self._status = StatusWriter(declared, env, memory)

    async def handle(self, key: ObjectKey) -> Outcome | None:
        """Makes one attempt for the key and returns its outcome. Exceptions of the user's function propagate."""
        memory, told = self._memory, self._told
        if memory.hot.slowed:
            head = self._env.informers[self._gvr].store.head(key)
            wait = await memory.hot.hold(key, head.generation if head is not None else None)
            if wait:
                return Held(wait, "slowed down: it is in a hot loop")
        causes = told.causes.take(key, asyncio.get_running_loop().time())
        behind: frozenset[GroupVersionResource] = frozenset()
        settled = 0.0
        if memory.barriers.pending(key):
            clock = asyncio.get_running_loop().time
            began = clock()
            try:
                behind = await memory.barriers.settle(key)
            except Abandoned:
                return None
            settled = clock() - began
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
            if obj is not None and (memory.orphans.doubts(key) or memory.orphans.is_gone(obj.uid)):
                cached, age = obj.uid, None
                obj, misfits = await self._read_live(key)
                memory.orphans.asked(key, cached, obj.uid if obj is not None else "")
        if obj is None:
            memory.forget(key)
            return None
        metadata = obj.metadata
        deleting = metadata.deletion_timestamp is not None
        cleaning = deleting and self._finalize is not None and self._controller.finalizer in metadata.finalizers
        if deleting and not cleaning and not self._controller.reconcile_deleting:
            return None
        context = Context(
            self._env,
            memory,
            obj,
            causes,
            wrote=told.wrote,
            failures=self._failures(key),
            age=age,
            settled=settled,
        )
        told.running[key] = context
        token: Token[Context | None] | None = current.set(context)
        span = _UNTRACED if self._tracer is None else reconcile_span(self._tracer, self._controller.name, context)
        try:
            with span:
                if behind:
                    told.metrics.stale_reads += 1
                    await self._prefetch(context, behind)
                if cleaning:
                    outcome = await self._clean_up(obj, context, misfits)
                elif misfits:
                    await self._refuse(obj, context, misfits)
                else:
                    if (
                        not deleting
                        and self._finalize is not None
                        and self._controller.finalizer not in metadata.finalizers
                    ):
                        obj = await self._add_finalizer(obj, context)
                    outcome = await self._attempt(self._reconcile, obj, context)
                if isinstance(outcome, After) and outcome.seconds < SOON and self._spun(obj):
                    told.metrics.hot_loops += 1
                return outcome
        except GeneratorExit:
            token = None  # its loop has ended: what destroys the task now runs in another context
            raise
        finally:
            context.close()
            if token is not None:
                current.reset(token)

    def _spun(self, obj: K) -> bool:
        """Whether the key became hot by asking for its next reconcile at once."""
        return self._memory.hot.spun(obj.key, obj.metadata.generation, self._controller.resource)

    def close(self) -> None:
        """Shuts down the thread pool, if one exists, without waiting. A function that is already running in the pool
        runs to its end.
        """
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        for running in list(self._in_threads.values()):
            running.cancel()  # no task waits for it any more

    # -- the function --------------------------------------------------------------------------------------------------

    async def _attempt(self, function: Callable[[K, Context], Any], obj: K, context: Context) -> Outcome | None:
        """Calls the function and writes the status, even if the function raises; returns the function's outcome."""
        draft = self._status.draft(obj)
        try:
            if self._controller.timeout is None:
                outcome = _checked(await function(obj, context), self._controller.name)
            else:
                outcome = _checked(await self._limited(function, obj, context), self._controller.name)
        except Exception as problem:
            await self._status.failed(problem, draft, obj, context)
            raise
        await self._status.succeeded(draft, obj, context)
        return outcome

    async def _limited(self, function: Callable[[K, Context], Any], obj: K, context: Context) -> Any:
        timeout = self._controller.timeout
        if timeout is None:
            return await function(obj, context)
        scope = asyncio.timeout(timeout)
        try:
            async with scope:
                return await function(obj, context)
        except TimeoutError as problem:
            if scope.expired():
                raise ReconcileTimeout(f"reconcile took longer than {timeout:g} s and was cancelled") from problem
            raise

    def _callable(self, function: Any) -> Callable[[K, Context], Any]:
        called = function if inspect.isroutine(function) else type(function).__call__
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called):
            return cast("Callable[[K, Context], Any]", function)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._controller.workers, thread_name_prefix=self._controller.name)
        pool, name = self._pool, self._env.name

        async def in_thread(obj: K, context: Context) -> Any:
            # A thread can't be cancelled: that of an attempt which took too long has to end before the key's next.
            while (earlier := self._in_threads.get(context.key)) is not None:
                await asyncio.wait((earlier,))
            loop = asyncio.get_running_loop()
            blocking = SyncContext(context, loop)
            begun = given_up = False

            def call(run: Callable[..., Any]) -> Any:
                nonlocal begun
                begun = True  # in this order, and in the other below: at least one of the two sides sees the other
                thread = current_thread()
                self.threads[context.key] = get_ident()
                before, thread.name = thread.name, f"{name} {context.key}"
                try:
                    return None if given_up else run(function, obj, blocking)
                finally:
                    thread.name = before

            running = self._in_threads[context.key] = loop.run_in_executor(pool, call, copy_context().run)
            running.add_done_callback(lambda _: self._left_thread(context, running, given_up))
            try:
                result = await asyncio.shield(running)
            except asyncio.CancelledError:
                given_up = True
                if not begun:
                    running.cancel()
                raise
            finally:
                blocking.close()
            return await result if inspect.isawaitable(result) else result

        return in_thread

    def _left_thread(self, context: Context, running: asyncio.Future[Any], given_up: bool) -> None:
        del self._in_threads[context.key]
        self.threads.pop(context.key, None)
        if given_up and not running.cancelled() and (problem := running.exception()) is not None:
            context.log.warning("a function failed after its reconcile had ended", extra={"error": describe(problem)})

    # -- the object ----------------------------------------------------------------------------------------------------

    def _decoded(self, document: bytes | None) -> tuple[K | None, Sequence[Misfit]]:
        """The object, and its values that do not fit the class; None if there is no object."""
        return (None, ()) if document is None else decode_as_read(self._controller.kind, document)

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
            found = await self._env.client.get(self._untyped, key.name, namespace=key.namespace or None)
        except NotFound:
            return None, ()
        return self._decoded(raw_of(found))

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
        memory.barriers.forget(context.key)  # no sooner: what could not be read is in doubt at the next attempt, too
        for gvr, objects in live.items():
            self._catch_up(context.key, resource_of(kinds[gvr]), places[gvr], objects.heads)
        context.live = {gvr: objects.items for gvr, objects in live.items()}
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
            known = store.resource_version(head.key)
            if known is None or not version.isdecimal() or known < int(version):
                barriers.wrote(key, resource, head.key, head.uid, version, deletion=False)
        for cached in list(store.namespace(namespace) if namespace else store):
            if cached not in present and (gone := store.head(cached)) is not None:
                barriers.wrote(key, resource, gone.key, gone.uid, "", deletion=True)

    # -- finalizer -----------------------------------------------------------------------------------------------------

    async def _add_finalizer(self, obj: K, context: Context) -> K:
        patch = finalizer.added(obj, self._controller.finalizer)
        patched = await self._patch_finalizers(self._controller.kind, obj, patch)
        if patched is None:
            raise Outdated(f"{obj.kind} {obj.key} is gone")
        expect_echo(self._memory.echoes, obj, patched, ignoring=("finalizers",))
        context.object = patched
        return patched

    async def _clean_up(self, obj: K, context: Context, misfits: Sequence[Misfit]) -> Outcome | None:
        # Defaults are made for objects that fit their class, and must not keep another one from going.
        finalize = self._finalize_misfit if misfits else self._finalize
        assert finalize is not None
        if misfits:
            context.log.warning("cleaning up with the values as read", extra={"problem": _misfit_message(misfits)})
        draft = self._status.draft(obj)
        try:
            outcome = _checked(await self._limited(finalize, obj, context), self._controller.name)
        except Exception as problem:
            await self._status.failed(problem, draft, obj, context)
            raise
        done = outcome is None or isinstance(outcome, Done)
        if not done or any(each != self._controller.finalizer for each in obj.metadata.finalizers):
            await self._status.succeeded(draft, obj, context)  # else the object goes, and its status with it
        if done:
            patch = finalizer.removed(obj, self._controller.finalizer)
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
