"""SyncContext: the context of a reconcile function that is no coroutine function."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from setpoint.client import PatchType
from setpoint.meta import Object

if TYPE_CHECKING:
    from setpoint.controller.context import AnySelector, Context

T = TypeVar("T", bound=Object)
R = TypeVar("R")


class SyncContext:
    """What `Context` is, for a function that runs in a thread: the same methods, which block the thread.

    The work itself is done in the event loop; the thread waits for it.
    """

    def __init__(self, context: Context, loop: asyncio.AbstractEventLoop) -> None:
        self._context = context
        self._loop = loop
        self.key = context.key
        self.causes = context.causes
        self.log = context.log

    @property
    def status(self) -> Any:
        """See `Context.status`."""
        return self._context.status

    def get(self, kind: type[T], name: str, *, namespace: str | None = None) -> T | None:
        """See `Context.get`."""
        return self._wait(self._context.get(kind, name, namespace=namespace))

    def list(self, kind: type[T], *, namespace: str | None = None, selector: AnySelector = None) -> builtins.list[T]:
        """See `Context.list`."""
        return self._wait(self._context.list(kind, namespace=namespace, selector=selector))

    def owned(self, kind: type[T]) -> builtins.list[T]:
        """See `Context.owned`."""

        async def read() -> builtins.list[T]:
            return self._context.owned(kind)

        return self._wait(read())

    def apply(self, obj: T, *, controlled: bool = True, force: bool = True) -> T:
        """See `Context.apply`."""
        return self._wait(self._context.apply(obj, controlled=controlled, force=force))

    def create(self, obj: T, *, controlled: bool = True) -> T:
        """See `Context.create`."""
        return self._wait(self._context.create(obj, controlled=controlled))

    def delete(self, obj: Object, *, propagation: str | None = None) -> None:
        """See `Context.delete`."""
        self._wait(self._context.delete(obj, propagation=propagation))

    def patch(self, obj: T, patch: Any, *, type: PatchType = PatchType.MERGE, subresource: str = "") -> T:
        """See `Context.patch`."""
        return self._wait(self._context.patch(obj, patch, type=type, subresource=subresource))

    def event(self, type: str, reason: str, message: str, *, action: str = "") -> None:
        """See `Context.event`."""
        self._loop.call_soon_threadsafe(lambda: self._context.event(type, reason, message, action=action))

    def _wait(self, work: Coroutine[Any, Any, R]) -> R:
        async def counted() -> R:
            from setpoint.controller.context import current  # a cycle otherwise: the context's module is above

            token = current.set(self._context)
            try:
                return await work
            finally:
                current.reset(token)

        return asyncio.run_coroutine_threadsafe(counted(), self._loop).result()
