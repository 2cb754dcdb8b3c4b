"""SharedInformer: the stream, the store and the handlers of one scope."""

from __future__ import annotations

import asyncio
import logging
from random import Random

from setpoint.cache.barriers import Barrier, Barriers
from setpoint.cache.errors import InformerStopped
from setpoint.cache.handler_registration import HandlerRegistration
from setpoint.cache.head_update import HeadUpdate
from setpoint.cache.informer_scope import Scope
from setpoint.cache.key_shard import KeyPart
from setpoint.cache.list_replacement import Replacement
from setpoint.cache.lister_watcher import ListerWatcher
from setpoint.cache.namespace_shard import Namespaces
from setpoint.cache.object_parser import Item, ObjectParser, UnexpectedKind
from setpoint.cache.object_record import version_number, version_of
from setpoint.cache.reflector import Reflector
from setpoint.cache.reflector_sink import EventType
from setpoint.cache.store import Store
from setpoint.cache.watch_options import WatchOptions
from setpoint.client.write_record import WriteRecord
from setpoint.concurrency import first as first_of
from setpoint.meta import DecodeError
from setpoint.meta.object_head import Head, head_of

logger = logging.getLogger("setpoint.cache")


class SharedInformer:
    """The stream, the store and the handlers of one `Scope`; an `Informer` is a user's handle to it.

    ``run`` does the work until it is stopped or cancelled, and can be called only once.
    """

    def __init__(
        self,
        source: ListerWatcher,
        scope: Scope,
        *,
        random: Random,
        options: WatchOptions | None = None,
    ) -> None:
        self.scope = scope
        self.has_selector = bool(scope.selector or scope.field_selector)
        """Whether the scope leaves out objects of its namespaces. Every write asks for this."""
        self.store = Store(
            ObjectParser(
                scope.resource,
                metadata_only=scope.metadata_only,
                projection=scope.projection,
                transform=scope.transform,
                keep_managed_fields=scope.keep_managed_fields,
            )
        )
        self.options = options if options is not None else WatchOptions()
        self.reflector = Reflector(source, scope, self, random=random, options=self.options, on_error=self._on_error)
        self.registrations: list[HandlerRegistration] = []
        self.barriers = Barriers(self.store)
        self._last_error: Exception | None = None
        self.consecutive_errors = 0
        self.changed = asyncio.Event()
        self.stopped = False
        self.handles = 0
        self.events = {"ADDED": 0, "MODIFIED": 0, "DELETED": 0}
        self.skipped = 0
        self.unreadable = 0
        self.sync_seconds: float | None = None
        self._synced = asyncio.Event()
        self._settled = asyncio.Event()
        """Set when the informer has synced, or has stopped."""
        self._replacement: Replacement | None = None
        self._listing: Namespaces | KeyPart | None = None
        self._listed: Namespaces | KeyPart | None = None
        """The part of the collection in the list being received, and in the last one, if the scope has a shard."""
        self._reached_number = 0
        self._tasks: asyncio.TaskGroup | None = None
        self._work: tuple[asyncio.Task[None], ...] = ()
        self._resync_wanted = asyncio.Event()

    @property
    def last_error(self) -> Exception | None:
        return self._last_error if self.reflector.failing else None

    @property
    def has_synced(self) -> bool:
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        """Waits until `has_synced`. Raises `InformerStopped` if the informer was stopped first."""
        await self._settled.wait()
        if not self.has_synced:
            raise InformerStopped(f"the informer of {self.scope.resource} was stopped before it had synced")

    async def wait_changed(self) -> None:
        """Waits until the informer next syncs, fails or is stopped."""
        self.changed.clear()
        await self.changed.wait()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                for registration in self.registrations:
                    self._start(registration)
                name = f"informer {self.scope.resource}"
                self._work = (
                    tasks.create_task(self._reflect(), name=f"{name}: reflector"),
                    tasks.create_task(self._resync(), name=f"{name}: resync"),
                )
                await self._settled.wait()
                if self.has_synced:
                    self.sync_seconds = loop.time() - started
        finally:
            self._tasks = None
            self.ended()

    async def _reflect(self) -> None:
        """Follows the collection; begins again with a list whenever the namespaces of the shard have changed."""
        shard = self.scope.shard
        while shard is not None:
            await first_of(self.reflector.run(), shard.changed.wait())
        await self.reflector.run()

    async def wait_listed(self) -> None:
        """Waits until the store has the objects that the shard, if there is one, has now."""
        while self.scope.shard is not None and self._listed is not self.scope.shard.part:
            await self.wait_changed()

    def covers(self, namespace: str) -> bool:
        """Whether the store has all objects of the namespace that the selectors select; ``""`` stands for all
        namespaces, and for cluster-scoped objects. A namespace that has just been assigned is not covered until it is
        listed.
        """
        listed = self._listed
        is_listed = self.scope.shard is None or (listed is not None and listed.covers(namespace))
        return is_listed and self.scope.covers(namespace)

    @property
    def is_divided(self) -> bool:
        """Whether the store leaves out objects of the namespaces that it covers, because they concern only keys of
        other processes.
        """
        shard = self.scope.shard
        return shard is not None and not (self._listed or shard.part).is_whole

    def holds(self, head: Head) -> bool:
        """Whether an object that the selectors select belongs in the store. Servers send objects of other shards."""
        shard = self.scope.shard
        return shard is None or shard.part.has(head)

    def stop(self) -> None:
        """Ends the stream and all waits. `run` returns when the running calls of handlers have ended."""
        self.ended()
        for task in self._work:
            task.cancel()

    def barrier_of(self, record: WriteRecord) -> Barrier | None:
        """The barrier of a write; None if the collection has the object neither before nor after the write. A write by
        which the object leaves the collection is a deletion for the cache.
        """
        scope, key = self.scope, record.key
        if not scope.covers(key.namespace):
            return None
        version = version_number(record.version)
        is_deletion = record.verb == "delete"
        if self.has_selector and (record.after is not None or is_deletion):
            is_selected = record.after is not None and scope.selects(record.labels or {}, record.after)
            if not is_selected and key not in self.store and self.barriers.unseen(key) is None:
                return None
            is_deletion = is_deletion or not is_selected
        if (
            self.is_divided  # an object that leaves the cache needs no care: the cache comes to the write's version
            and record.after is not None
            and key not in self.store
            and self.barriers.unseen(key) is None
            and not self.holds(head_of(record.after))
        ):
            return None
        # The version in the answer to a deletion may be that of the last state, which the cache has to reach, too.
        is_gone = record.verb != "delete" and record.is_gone
        return Barrier(version, record.version, record.uid, is_deletion or is_gone, is_gone)

    def ended(self) -> None:
        """Ends all waits, because the informer no longer runs."""
        self.stopped = True
        self._settled.set()
        for registration in list(self.registrations):
            registration.detach()
        self.barriers.close()
        self.changed.set()

    # -- handlers ------------------------------------------------------------------------------------------------------

    def add(self, registration: HandlerRegistration) -> None:
        """Registers handlers. They first receive the objects in the store as adds and then every later event, without a
        gap or a duplicate. Raises `InformerStopped` if the informer was stopped.
        """
        if self.stopped:
            raise InformerStopped(f"the informer of {self.scope.resource} has been stopped")
        registration.attach(self._forget)
        self.registrations.append(registration)
        records = [(key, record) for key in self.store if (record := self.store.record(key)) is not None]
        if records:
            registration.preload(records)
        if self.has_synced:
            registration.source_synced()
        if registration.resync:
            registration.next_resync = asyncio.get_running_loop().time() + registration.resync
            self._resync_wanted.set()
        if self._tasks is not None:
            self._start(registration)

    def _start(self, registration: HandlerRegistration) -> None:
        assert self._tasks is not None
        self._tasks.create_task(registration.run(), name=f"informer {self.scope.resource}: {registration.name}")
        registration.started = True

    def _forget(self, registration: HandlerRegistration) -> None:
        if registration in self.registrations:
            self.registrations.remove(registration)

    async def _resync(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._resync_wanted.clear()
            due = [
                registration.next_resync for registration in self.registrations if registration.next_resync is not None
            ]
            try:
                async with asyncio.timeout_at(min(due, default=None)):
                    await self._resync_wanted.wait()
            except TimeoutError:
                now = loop.time()
                for registration in list(self.registrations):
                    if registration.next_resync is not None and registration.next_resync <= now:
                        registration.next_resync = now + registration.resync
                        if self.has_synced:
                            registration.resync_all()

    # -- the reflector's sink ------------------------------------------------------------------------------------------

    def begin(self) -> None:
        self._listing = self.scope.shard.part if self.scope.shard is not None else None
        # The very first objects need not wait for the end of their list: the store is not yet guaranteed to be
        # complete.
        if self.has_synced or len(self.store):
            self._replacement = self.store.replacement()

    def item(self, raw: bytes) -> bool:
        item = self._read(raw)
        if item is None or not self.holds(item.head):
            return True
        target = self.store if self._replacement is None else self._replacement
        before = len(target)
        if self._replacement is not None:
            self._replacement.add(key_of(item.head), item)
        else:
            self._put(item, initial=True)
        return len(target) > before

    def unlisted(self, raw: bytes) -> None:
        item = self._read(raw)
        if item is None:
            return
        if self._replacement is not None:
            self._replacement.discard(key_of(item.head))
        else:
            self._remove(item)

    def finish(self, resource_version: str) -> None:
        replacement, self._replacement = self._replacement, None
        shard = self.scope.shard
        if shard is not None and shard.part is not self._listing:
            return  # the shard has changed since: another list is about to begin
        self._listed = self._listing
        first = not self.has_synced
        if replacement is not None:
            for key, old, new, same in replacement.finish():
                heads = HeadUpdate(self.store, old, new)
                for registration in list(self.registrations):
                    # Unchanged objects matter only to handlers with a resync.
                    if not same or registration.resync:
                        registration.offer(key, old, new, heads, initial=first and old is None, unknown=new is None)
        self._reached(resource_version)
        self._last_error = None
        self.consecutive_errors = 0
        if first:
            self._synced.set()
            self._settled.set()
            for registration in list(self.registrations):
                registration.source_synced()
        self.changed.set()

    def event(self, type: EventType, raw: bytes, ordered: bool) -> str:
        item = self._read(raw)
        if item is None:
            return ""
        version = item.head.resource_version
        if ordered:
            number = item.version
            if 0 < number <= self._reached_number:
                return ""  # a repeated event: applying it again could revive a deleted object
            self._reached_number = number
            if version:
                self.store.last_sync_resource_version = version
        shard = self.scope.shard
        if shard is not None and not shard.part.has(item.head):
            if not shard.part.is_whole:  # it may have been in the store until its owner changed
                self._remove(item)
                self.barriers.check(key_of(item.head))
            return version
        self.events[type] += 1
        if type == "DELETED":
            self._remove(item)
        else:
            self._put(item, initial=False)
        if self.barriers:
            self.barriers.check(key_of(item.head))
        return version

    def bookmark(self, resource_version: str) -> None:
        self._reached(resource_version)

    def flush(self) -> None:
        self.store.maintain()

    def _reached(self, resource_version: str) -> None:
        self.store.last_sync_resource_version = resource_version
        self._reached_number = version_number(resource_version)
        self.barriers.check_all()

    def _read(self, raw: bytes) -> Item | None:
        try:
            item = self.store.parser.read(raw)
        except (DecodeError, UnexpectedKind) as problem:
            self.skipped += 1
            logger.error("%s: skipped an object: %s", self.scope.resource, problem)
            return None
        if item.problem:
            self.unreadable += 1
            logger.error(
                "%s %s is kept, but can't be read: %s", self.scope.resource.kind, key_of(item.head), item.problem
            )
        return item

    def _put(self, item: Item, *, initial: bool) -> None:
        key = key_of(item.head)
        records = self.store.put(key, item)
        if records is None:
            return
        registrations = self.registrations
        if registrations:
            old, new = records
            heads = HeadUpdate(self.store, old, new, item.head)
            initial = initial and old is None
            for registration in registrations if len(registrations) == 1 else list(registrations):
                registration.offer(key, old, new, heads, initial)

    def _remove(self, item: Item) -> None:
        key = key_of(item.head)
        record = self.store.record(key)
        if record is None or 0 < item.version < version_of(record):
            return
        self.store.remove(key)
        # To handlers an object of another shard ends as it was when it left this one: with the owner that it had here.
        heads = HeadUpdate(self.store, record, None, last=item.head if self.holds(item.head) else None)
        for registration in list(self.registrations):
            registration.offer(key, record, None, heads)

    def _on_error(self, problem: Exception) -> None:
        self._last_error = problem
        self.consecutive_errors += 1
        self.changed.set()
        logger.warning("%s: %s", self.scope.resource, problem)


def key_of(head: Head) -> str:
    """`Head.key` as a plain string, which takes half the memory; stores keep keys in this form."""
    namespace = head.namespace
    return f"{namespace}/{head.name}" if namespace else head.name
