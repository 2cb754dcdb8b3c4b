"""Registration: one consumer of an informer's events, with its mailbox."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from traceback import clear_frames
from typing import Any

from setpoint.cache.errors import InformerStopped
from setpoint.cache.function_names import name_of
from setpoint.cache.head_update import HeadUpdate
from setpoint.cache.object_record import Record
from setpoint.cache.store import Store
from setpoint.meta.object_head import Head

logger = logging.getLogger("setpoint.cache")

OnAdd = Callable[[Head, bool], Any]
OnUpdate = Callable[[Head, Head], Any]
OnDelete = Callable[[Head, bool], Any]
OnChange = Callable[[HeadUpdate], Any]

_call: ContextVar[_Call | None] = ContextVar("setpoint_handler_call", default=None)
"""The call of a coroutine handler that the current task makes, or by which it was started."""

MIN_RESYNC = 1.0
_SLICE = 0.01


class _Entry:
    """The pending change of one object for one handler, from the last delivered state to the newest one."""

    __slots__ = ("initial", "last", "new", "old", "unknown")

    def __init__(self, old: Record | None, new: Record | None) -> None:
        self.old = old
        self.new = new
        self.last: Head | None = None
        self.initial = False
        self.unknown = False


class _Call:
    """A call of a coroutine handler."""

    __slots__ = ("is_running", "registration", "store")

    def __init__(self, registration: HandlerRegistration, store: Store) -> None:
        self.registration = registration
        self.store = store
        self.is_running = True


class HandlerRegistration:
    """The result of `Informer.add_event_handler`: a consumer with its own mailbox and its own pace.

    *Guarantees*, for each object and each registration

    - Calls come one at a time, in the order of the object's states. No state is delivered after a newer one, and only a
      resync delivers a state again.
    - The store and its indexes have the state (or a newer one) before the handler is called with it.
    - An add is the first call and a delete the last; between them are updates, all with the same uid. An object that
      was deleted and created again is delivered as a delete and an add, however quickly that happened.
    - ``on_add`` gets ``initial=True`` for objects that existed when the handler or the informer started.
    - A delete that happened while the watch was interrupted is delivered with ``final_state_unknown=True`` and the last
      known state.
    - A resync is an update whose old and new heads have the same resource version.

    *Caveats*

    - The calls for different objects may come in any order.
    - States may be skipped: a handler that is slower than the changes gets the newest state of each object. Its
      mailbox has at most one entry per object. An object that was created and deleted in between is not delivered.
    - Plain functions are called in the loop iteration that received the event, so they must not block.
      Coroutine functions are awaited one at a time.
    - An exception in a handler is logged and counted; the event counts as delivered.
    """

    def __init__(
        self,
        store: Store,
        *,
        on_add: OnAdd | None,
        on_update: OnUpdate | None,
        on_delete: OnDelete | None,
        on_change: OnChange | None = None,
        filter: Callable[[Head], bool] | None = None,
        resync: float = 0.0,
        name: str = "",
    ) -> None:
        self.name = name or name_of(on_add or on_update or on_change or on_delete)
        self.resync = max(resync, MIN_RESYNC) if resync else 0.0
        self.failures = 0
        self.problem: tuple[str, Exception] | None = None
        """The key of the first event that was lost because a handler raised an exception, and the exception. A reader
        may set it to None.
        """
        self.delivered = 0
        self._store = store
        self._on_add = on_add
        self._on_change = on_change if on_update is None else _with_both(on_update)
        self._on_delete = on_delete
        self._filter = filter
        self._mailbox: OrderedDict[str, _Entry] = OrderedDict()
        self._initial_pending = 0
        self._busy: Awaitable[Any] | None = None
        self._busy_key = ""
        self._busy_initial = False
        self._next_add: Head | None = None
        self._wakeup = asyncio.Event()
        self._synced = False
        self._settled = asyncio.Event()
        self._source_synced = False
        self._removed = False
        self._ended: asyncio.Event = asyncio.Event()
        self._remove: Callable[[HandlerRegistration], None] | None = None
        self.next_resync: float | None = None
        self.started = False

    # -- for users -----------------------------------------------------------------------------------------------------

    @property
    def has_synced(self) -> bool:
        """Whether the informer has synced and this handler has received all initial objects."""
        return self._synced

    @property
    def is_idle(self) -> bool:
        """Whether no event waits for this handler and none of its calls is running."""
        return not self._mailbox and self._busy is None

    @property
    def queued(self) -> int:
        """The number of objects with events that wait for this handler."""
        return len(self._mailbox)

    async def wait_synced(self) -> None:
        """Waits until `has_synced`.

        Raises:
            InformerStopped: the handler was removed, or its informer stopped, before it had synced.
        """
        await self._settled.wait()
        if not self._synced:
            raise InformerStopped(f"handler {self.name} was removed before it received all initial objects")

    async def remove(self) -> None:
        """Unregisters the handler. When this method returns, no call is running and none will follow. Removing it again
        does nothing.

        If the handler itself calls this method, or a task that the handler has started, the method returns at once, and
        the running call of the handler is the last.
        """
        self.detach()
        if self.started and not self._is_calling():
            await self._ended.wait()

    @property
    def is_removed(self) -> bool:
        return self._removed

    def _is_calling(self) -> bool:
        call = _call.get()
        return call is not None and call.is_running and call.registration is self

    # -- for the informer ----------------------------------------------------------------------------------------------

    def attach(self, remove: Callable[[HandlerRegistration], None]) -> None:
        """Sets ``remove``, which is called once, when the registration is removed."""
        self._remove = remove

    def detach(self) -> None:
        """Stops accepting events and drops the pending ones. A running call continues."""
        if not self._removed:
            self._removed = True
            self._mailbox.clear()
            self._wakeup.set()
            self._settled.set()
            if self._remove is not None:
                self._remove(self)

    def source_synced(self) -> None:
        """Notes that the whole first list has been offered."""
        self._source_synced = True
        self._check_synced()

    def offer(
        self,
        key: str,
        old: Record | None,
        new: Record | None,
        heads: HeadUpdate,
        initial: bool = False,
        *,
        unknown: bool = False,
    ) -> None:
        """Delivers a change at once if the mailbox is empty and no call is running; otherwise queues it."""
        if self._removed:
            return
        if not self._mailbox and self._busy is None:
            if initial:
                self._initial_pending += 1
            self._deliver(key, old, new, heads, initial, unknown)
            return
        entry = self._mailbox.get(key)
        if entry is None:
            entry = self._mailbox[key] = _Entry(old, new)
            entry.initial = initial
            if initial:
                self._initial_pending += 1
            self._wakeup.set()
        else:
            entry.new = new
            if new is None and entry.old is None:
                del self._mailbox[key]
                if entry.initial:
                    self._initial_done()
                return
        if new is None and entry.last is None:
            # The first deletion concerns the object that the handler knows; later ones others of the same name.
            entry.last, entry.unknown = heads.last, unknown

    def preload(self, records: Iterable[tuple[str, Record]]) -> None:
        """Puts existing objects into the mailbox as adds of the initial list."""
        for key, record in records:
            entry = self._mailbox[key] = _Entry(None, record)
            entry.initial = True
            self._initial_pending += 1
        self._wakeup.set()

    def resync_all(self) -> None:
        """Puts an update without a change into the mailbox for each object that has no pending change."""
        for key in self._store:
            if key not in self._mailbox:
                record = self._store.record(key)
                self._mailbox[key] = _Entry(record, record)
        self._wakeup.set()

    async def run(self) -> None:
        """Delivers pending events until the registration is removed. The informer owns the task that runs this."""
        loop = asyncio.get_running_loop()
        try:
            while not self._removed:
                await self._wakeup.wait()
                self._wakeup.clear()
                until = loop.time() + _SLICE
                turns = 0
                while True:
                    while self._busy is not None:
                        await self._finish_call()
                    if self._removed or not self._mailbox:
                        break
                    key, entry = self._mailbox.popitem(last=False)
                    heads = HeadUpdate(self._store, entry.old, entry.new, last=entry.last)
                    self._deliver(key, entry.old, entry.new, heads, entry.initial, entry.unknown)
                    turns += 1
                    if turns >= 256 or loop.time() > until:
                        await asyncio.sleep(0)
                        until = loop.time() + _SLICE
                        turns = 0
        finally:
            if inspect.iscoroutine(self._busy):
                self._busy.close()
            self._ended.set()

    # -- delivery ------------------------------------------------------------------------------------------------------

    def _deliver(
        self, key: str, old: Record | None, new: Record | None, heads: HeadUpdate, initial: bool, unknown: bool
    ) -> None:
        """Calls the handler. If the result must be awaited, `run` does so."""
        self.delivered += 1
        result = None
        try:
            if self._filter is not None:
                # An object that does not pass the filter does not exist for this handler.
                if old is not None and not self._filter(heads.old):
                    old = None
                if new is not None and not self._filter(heads.new):
                    new = None
            if new is None:
                if old is not None and self._on_delete is not None:
                    result = self._on_delete(*heads.ending(unknown))
            elif old is None:
                if self._on_add is not None:
                    result = self._on_add(heads.new, initial)
            elif not heads.same_object:
                # Another object of the same name: a delete and an add.
                self._next_add = heads.new
                if self._on_delete is not None:
                    result = self._on_delete(*heads.ending(unknown or heads.last is None))
            elif self._on_change is not None:
                result = self._on_change(heads)
        except Exception as problem:  # noqa: BLE001 - a handler’s failure is its own
            self._failed(key, problem)
        if result is not None and inspect.isawaitable(result):
            self._busy, self._busy_key, self._busy_initial = result, key, initial
            self._wakeup.set()
            return
        if initial:
            self._initial_done()
        if self._next_add is not None:
            self._deliver_next_add(key)

    def _deliver_next_add(self, key: str) -> None:
        head, self._next_add = self._next_add, None
        if head is None or self._on_add is None or self._removed:
            return
        try:
            result = self._on_add(head, False)
        except Exception as problem:  # noqa: BLE001 - a handler’s failure is its own
            self._failed(key, problem)
            return
        if result is not None and inspect.isawaitable(result):
            self._busy, self._busy_key, self._busy_initial = result, key, False
            self._wakeup.set()

    async def _finish_call(self) -> None:
        assert self._busy is not None
        call = _Call(self, self._store)
        _call.set(call)
        try:
            await self._busy
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # Not our own cancellation.
            self._failed(self._busy_key, RuntimeError("the handler awaited something that was cancelled"))
        except Exception as problem:  # noqa: BLE001 - a handler’s failure is its own
            self._failed(self._busy_key, problem)
        finally:
            call.is_running = False
        self._busy = None
        if self._busy_initial:
            self._initial_done()
        if self._next_add is not None:
            self._deliver_next_add(self._busy_key)

    def _failed(self, key: str, problem: Exception) -> None:
        self.failures += 1
        logger.exception("handler %s failed for %s; it continues with the next event", self.name, key)
        clear_frames(problem.__traceback__)  # their variables may be large
        if self.problem is None:
            self.problem = (key, problem)

    def _initial_done(self) -> None:
        self._initial_pending -= 1
        self._check_synced()

    def _check_synced(self) -> None:
        if self._source_synced and not self._initial_pending:
            self._synced = True
            self._settled.set()


def is_within_handler(store: Store) -> bool:
    """Whether the current task is a call of a handler of this store's informer, or was started by one. Such a task must
    not wait for the end of the informer, which waits for its handlers.
    """
    call = _call.get()
    return call is not None and call.is_running and call.store is store


def _with_both(on_update: OnUpdate) -> OnChange:
    return lambda heads: on_update(heads.old, heads.new)
