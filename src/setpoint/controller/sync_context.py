"""SyncContext: the context of a reconcile function that is not a coroutine function, and the threads in which such
functions run.
"""

from __future__ import annotations

import asyncio
import builtins
import inspect
from collections.abc import Awaitable, Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from datetime import datetime
from threading import current_thread, get_ident
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from setpoint.cache import Head, Lister
from setpoint.client import PatchType
from setpoint.controller.context_reads import ended
from setpoint.controller.outcome import describe
from setpoint.meta import Object, ObjectKey

if TYPE_CHECKING:
    from setpoint.blocking import Client
    from setpoint.blocking.portal import Portal
    from setpoint.controller.context import Context
    from setpoint.controller.context_reads import AnySelector


T = TypeVar("T", bound=Object)
S = TypeVar("S")
R = TypeVar("R")


class SyncContext:
    """The `Context` of a function that runs in a thread: the same methods, which block the thread.

    The event loop does the work, and the thread waits for it. After the end of the reconcile every method that reads or
    writes objects, and `event`, raises a RuntimeError, so a thread that goes on cannot disturb the next reconcile of
    the key. A thread goes on when its reconcile is cancelled at the timeout, because a thread can't be stopped.
    """

    def __init__(self, context: Context, loop: asyncio.AbstractEventLoop) -> None:
        from setpoint.blocking.portal import Portal  # only for controllers that have such functions

        self._context = context
        self._portal: Portal = Portal(loop, closed=ended(context.key))
        self._client: Client | None = None
        self.object = context.object
        self.key = context.key
        self.causes = context.causes
        self.cluster = context.cluster
        self.log = context.log

    def close(self) -> None:
        """Ends all calls that are still under way for the reconcile; no new call begins after that."""
        self._portal.close()

    @property
    def controller(self) -> str:
        """See `Context.controller`."""
        return self._context.controller

    @property
    def client(self) -> Client:
        """The client without ``await``; see `Context.client`."""
        if self._client is None:
            from setpoint.blocking import Client

            self._client = Client(self._context.client, portal=self._portal)
        return self._client

    def state(self, kind: type[S]) -> S:
        """See `Context.state`."""
        return self._context.state(kind)

    @property
    def failures(self) -> int:
        """See `Context.failures`."""
        return self._context.failures

    def now(self) -> datetime:
        """See `Context.now`."""
        return _called(self._portal, self._context.now)

    def set_condition(self, type: str, status: str | bool, reason: str, message: str = "") -> bool:
        """See `Context.set_condition`."""
        return _called(self._portal, lambda: self._context.set_condition(type, status, reason, message))

    def lister(self, kind: type[T]) -> SyncLister[T]:
        """See `Context.lister`."""
        return SyncLister(self._context.lister(kind), self._portal)

    def get(self, kind: type[T], name: str, *, namespace: str | None = None) -> T | None:
        """See `Context.get`."""
        return self._portal.run(self._context.get(kind, name, namespace=namespace))

    def list(
        self,
        kind: type[T],
        *,
        namespace: str | None = None,
        selector: AnySelector = None,
        index: tuple[str, str] | None = None,
    ) -> builtins.list[T]:
        """See `Context.list`."""
        return self._portal.run(self._context.list(kind, namespace=namespace, selector=selector, index=index))

    def ensure_current(self) -> None:
        """See `Context.ensure_current`."""
        self._portal.run(self._context.ensure_current())

    def caught_up(self, *kinds: type[Object], timeout: float = 10.0) -> None:
        """See `Context.caught_up`."""
        self._portal.run(self._context.caught_up(*kinds, timeout=timeout))

    def owned(self, kind: type[T]) -> builtins.list[T]:
        """See `Context.owned`."""
        return _called(self._portal, lambda: self._context.owned(kind))

    def keep(
        self,
        kind: type[T],
        wanted: Iterable[T],
        *,
        selector: AnySelector = None,
        adopt: bool = False,
        force: bool = True,
        prune: bool = True,
        at_most_deletions: int | None = None,
    ) -> builtins.list[T]:
        """See `Context.keep`."""
        work = self._context.keep(
            kind,
            builtins.list(wanted),
            selector=selector,
            adopt=adopt,
            force=force,
            prune=prune,
            at_most_deletions=at_most_deletions,
        )
        return self._portal.run(work)

    def apply(self, obj: T, *, controlled: bool = True, force: bool = True, takes_over: Collection[str] = ()) -> T:
        """See `Context.apply`."""
        work = self._context.apply(obj, controlled=controlled, force=force, takes_over=takes_over)
        return self._portal.run(work)

    def create(self, obj: T, *, controlled: bool = True) -> T:
        """See `Context.create`."""
        return self._portal.run(self._context.create(obj, controlled=controlled))

    def delete(self, obj: Object, *, propagation: str | None = None, grace_period_seconds: int | None = None) -> None:
        """See `Context.delete`."""
        self._portal.run(self._context.delete(obj, propagation=propagation, grace_period_seconds=grace_period_seconds))

    def patch(self, obj: T, patch: Any, *, type: PatchType | None = None, subresource: str = "") -> T:
        """See `Context.patch`."""
        return self._portal.run(self._context.patch(obj, patch, type=type, subresource=subresource))

    def event(
        self,
        type: str,
        reason: str,
        message: str,
        *,
        action: str = "",
        related: Object | None = None,
        about: Object | None = None,
    ) -> None:
        """See `Context.event`."""
        _called(
            self._portal,
            lambda: self._context.event(type, reason, message, action=action, related=related, about=about),
        )


class SyncLister(Generic[T]):
    """A `Lister` for a thread other than the event loop's."""

    def __init__(self, lister: Lister[T], portal: Portal) -> None:
        self._lister = lister
        self._portal = portal

    def get(self, key: str, namespace: str | None = None) -> T:
        """See `Lister.get`."""
        return _called(self._portal, lambda: self._lister.get(key, namespace))

    def try_get(self, key: str, namespace: str | None = None) -> T | None:
        """See `Lister.try_get`."""
        return _called(self._portal, lambda: self._lister.try_get(key, namespace))

    def head(self, key: str, namespace: str | None = None) -> Head | None:
        """See `Lister.head`."""
        return _called(self._portal, lambda: self._lister.head(key, namespace))

    def list(
        self, *, namespace: str | None = None, selector: AnySelector = None, index: tuple[str, str] | None = None
    ) -> builtins.list[T]:
        """See `Lister.list`."""
        return _called(self._portal, lambda: self._lister.list(namespace=namespace, selector=selector, index=index))

    def heads(
        self, *, namespace: str | None = None, selector: AnySelector = None, index: tuple[str, str] | None = None
    ) -> builtins.list[Head]:
        """See `Lister.heads`."""
        return _called(self._portal, lambda: self._lister.heads(namespace=namespace, selector=selector, index=index))

    def keys(
        self, *, namespace: str | None = None, selector: AnySelector = None, index: tuple[str, str] | None = None
    ) -> builtins.list[ObjectKey]:
        """See `Lister.keys`."""
        return _called(self._portal, lambda: self._lister.keys(namespace=namespace, selector=selector, index=index))

    def by_owner(self, uid: str) -> builtins.list[T]:
        """See `Lister.by_owner`."""
        return _called(self._portal, lambda: self._lister.by_owner(uid))


def _called(portal: Portal, function: Callable[[], R]) -> R:
    """The result of ``function``, called in the event loop's thread."""

    async def call() -> R:
        return function()

    return portal.run(call())


class FunctionThreads:
    """The threads in which a controller's plain functions run, each with a `SyncContext`."""

    def __init__(self, run_name: str, controller: str, workers: int) -> None:
        self._run_name = run_name
        self._controller = controller
        self._workers = workers
        self._pool: ThreadPoolExecutor | None = None
        self._calls: dict[ObjectKey, asyncio.Future[Any]] = {}
        self.at_work: set[int] = set()
        """The identifiers of the threads that run a function now, even if its reconcile was cancelled."""
        self.identifiers: dict[ObjectKey, int] = {}
        """The identifiers of the threads, by the keys that they handle."""

    def coroutine_function(self, function: Any) -> Callable[[Any, Context], Awaitable[Any]]:
        """``function``, if it is a coroutine function, otherwise a coroutine function that calls it in a thread."""
        called = function if inspect.isroutine(function) else type(function).__call__
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called):
            return cast("Callable[[Any, Context], Awaitable[Any]]", function)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix=self._controller)
        pool, name = self._pool, self._run_name

        async def in_thread(obj: Object, context: Context) -> Any:
            # A thread can't be cancelled: that of an attempt which took too long has to end before the key's next.
            while (earlier := self._calls.get(context.key)) is not None:
                await asyncio.wait((earlier,))
            loop = asyncio.get_running_loop()
            blocking = SyncContext(context, loop)
            has_begun = given_up = False

            def call(run: Callable[..., Any]) -> Any:
                nonlocal has_begun
                has_begun = True  # in this order, and in the other below: at least one of the two sides sees the other
                thread = current_thread()
                self.identifiers[context.key] = get_ident()
                self.at_work.add(get_ident())
                before, thread.name = thread.name, f"{name} {context.key}"
                try:
                    return None if given_up else run(function, obj, blocking)
                except StopIteration as problem:  # which no future takes (PEP 479 does the same in a coroutine)
                    raise RuntimeError("the function raised StopIteration") from problem
                finally:
                    self.at_work.discard(get_ident())
                    thread.name = before

            running = self._calls[context.key] = loop.run_in_executor(pool, call, copy_context().run)
            running.add_done_callback(lambda _: self._remove(context, running, given_up))
            try:
                result = await asyncio.shield(running)
            except asyncio.CancelledError:
                given_up = True
                if not has_begun:
                    running.cancel()
                raise
            finally:
                blocking.close()
            return await result if inspect.isawaitable(result) else result

        return in_thread

    def close(self) -> None:
        """Shuts down the thread pool, if one exists, without waiting. A function that is already running in the pool
        runs to its end.
        """
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        for running in list(self._calls.values()):
            running.cancel()  # no task waits for it any more

    def _remove(self, context: Context, running: asyncio.Future[Any], given_up: bool) -> None:
        del self._calls[context.key]
        self.identifiers.pop(context.key, None)
        if given_up and not running.cancelled() and (problem := running.exception()) is not None:
            context.log.warning("a function failed after its reconcile had ended", extra={"error": describe(problem)})
