"""Memory: the facts that one run remembers about each key between its reconciles."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from setpoint.cache import Informer
from setpoint.cache.barriers import Barrier, Barriers
from setpoint.concurrency import Deadline
from setpoint.meta import GroupVersionResource, Object, ObjectKey, Selector, raw_of
from setpoint.patch import merge_patch

MAX_SELECTORS: Final = 64


class Applied(NamedTuple):
    """The record of a child that this process applied.

    ``desired`` is a digest of the fields that were sent, and ``carried`` is a digest of the same fields as the server
    stored them (with defaults, values in the server's spelling, and the changes made by webhooks). ``version`` is the
    newest resource version that is known to hold the stored values.
    """

    uid: str
    desired: bytes
    carried: bytes
    version: str


class ManagedChildren(NamedTuple):
    """The record of the children that one `Context.keep` of a key manages: the children that were applied, those whose
    last write failed, and the names that were drawn for new children that may or may not exist.
    """

    applied: dict[ObjectKey, Applied]
    failed: set[ObjectKey]
    drawn: set[ObjectKey]


KeepCall: TypeAlias = tuple[GroupVersionResource, Selector | None, list[dict[str, str]]]
"""A call to `Context.keep`: its resource, its selector (None if it deletes nothing) and its objects' labels."""


class AppliedChildren:
    """The applied children of all keys. Each child takes about 500 bytes. They are forgotten when the process ends.

    For each key, only the `MAX_SELECTORS` pairs of resource and selector that `Context.keep` used last are remembered.
    """

    __slots__ = ("_keys",)

    def __init__(self) -> None:
        self._keys: dict[ObjectKey, dict[tuple[GroupVersionResource, str], ManagedChildren]] = {}

    def of(self, key: ObjectKey, gvr: GroupVersionResource, selector: Selector) -> ManagedChildren:
        """The record of the children of ``key`` that one `Context.keep` manages; it is created if it does not exist."""
        sorts = self._keys.setdefault(key, {})
        place = (gvr, str(selector))
        children = sorts[place] = sorts.pop(place) if place in sorts else ManagedChildren({}, set(), set())
        if len(sorts) > MAX_SELECTORS:
            del sorts[next(iter(sorts))]
        return children

    def forget(self, key: ObjectKey) -> None:
        """Forgets the children of a key whose object is gone or belongs to another process. The next process that
        reconciles the key applies every child once.
        """
        self._keys.pop(key, None)


MAX_KNOWN: Final = 1024


class KnownChildren:
    """For each key, the uids of the last `MAX_KNOWN` children that were applied without a cache that could show
    them.
    """

    __slots__ = ("_keys",)

    def __init__(self) -> None:
        self._keys: dict[ObjectKey, dict[tuple[str, GroupVersionResource, ObjectKey], str]] = {}

    def get(self, owner: Object, gvr: GroupVersionResource, key: ObjectKey) -> str:
        return self._keys.get(owner.key, {}).get((owner.uid, gvr, key), "")

    def note(self, owner: Object, gvr: GroupVersionResource, key: ObjectKey, uid: str) -> None:
        """Remembers the uid of a child."""
        uids = self._keys.setdefault(owner.key, {})
        place = (owner.uid, gvr, key)
        uids.pop(place, None)
        uids[place] = uid
        if len(uids) > MAX_KNOWN:
            del uids[next(iter(uids))]

    def forget(self, key: ObjectKey) -> None:
        self._keys.pop(key, None)


SOON: Final = 60.0
"""The owner of a child is suspect if the child is deleted within this number of seconds after the last write to it."""
MAX_WRITTEN: Final = 4096
MAX_DELETED: Final = 1024


class SuspectOwners:
    """The objects that have to be read from the server before children are made for them.

    A cache that is behind may show an object that is already gone. The garbage collector deletes new children of such
    an object at once; that event leads to the next reconcile, and so on, until the cache has caught up.
    """

    __slots__ = ("_deleted", "_suspects", "_write_times")

    def __init__(self) -> None:
        self._write_times: OrderedDict[str, float] = OrderedDict()
        self._suspects: set[ObjectKey] = set()
        self._deleted: OrderedDict[str, None] = OrderedDict()

    def note_write(self, uid: str, *, deleted: bool) -> None:
        """Notes that a reconcile has created, changed or deleted the object with that uid."""
        self._write_times.pop(uid, None)
        now = asyncio.get_running_loop().time()
        while self._write_times and (
            len(self._write_times) >= MAX_WRITTEN or now - next(iter(self._write_times.values())) > SOON
        ):
            self._write_times.popitem(last=False)
        if not deleted:
            self._write_times[uid] = now

    def note_deletion(self, uid: str, owner: ObjectKey) -> None:
        """Notes that a child of ``owner`` was deleted."""
        written_at = self._write_times.get(uid)
        if written_at is not None and asyncio.get_running_loop().time() - written_at <= SOON:
            self._suspects.add(owner)

    def is_suspect(self, key: ObjectKey) -> bool:
        """Whether the object has to be read from the server."""
        return key in self._suspects

    def note_answer(self, key: ObjectKey, cached: str, live: str) -> None:
        """Notes the server's answer. ``cached`` is the uid in the cache, and ``live`` is the uid on the server, ``""``
        if the object does not exist there.
        """
        self._suspects.discard(key)
        if cached != live:
            self._deleted[cached] = None
            if len(self._deleted) > MAX_DELETED:
                self._deleted.popitem(last=False)

    def is_gone(self, uid: str) -> bool:
        """Whether the server has answered that no object with that uid exists any more."""
        return uid in self._deleted

    def forget(self, key: ObjectKey) -> None:
        self._suspects.discard(key)


def expect_echo(
    echoes: dict[ObjectKey, tuple[str, ...]],
    before: Object,
    after: Object,
    *,
    status: dict[str, Any] | None = None,
    ignoring: Collection[str] = (),
) -> None:
    """Remembers the version ``after`` if this controller alone changed the object since ``before``: the event that such
    a write causes must not end the back-off of a failing key.

    ``status`` is the merge patch of the status that was sent; ``ignoring`` names other changes that the write made to
    the metadata.
    """
    raw, answer = raw_of(before), raw_of(after)
    if raw is None or answer is None:
        return
    wanted, answered = msgspec.json.decode(raw), msgspec.json.decode(answer)
    if status is not None:
        wanted["status"] = merge_patch.apply(wanted.get("status", {}), status)
    for document in (wanted, answered):
        for name in ("managedFields", "resourceVersion", *ignoring):
            document["metadata"].pop(name, None)
    if wanted == answered:
        key = before.key
        versions = echoes.get(key, (before.metadata.resource_version,))
        echoes[key] = (*versions, after.metadata.resource_version)


DEADLINE: Final = 10.0
"""Seconds to wait for a cache before the reconcile reads live instead."""


class Abandoned(Exception):
    """The controller is stopping, so a wait for a cache was ended early."""


class WriteBarriers:
    """The writes that the next reconcile of each key has to see. Other keys do not wait.

    A cache knows which writes it has not seen yet (`setpoint.cache.barriers`); this class knows which objects the last
    reconcile of each key wrote.

    *Guarantees*: after `wait` has returned the empty set, every cache in ``informers`` shows every write that was
    noted for the key, or a newer state.

    *Caveats*: writes to kinds without a cache are not waited for, because such kinds are read live anyway. Nothing has
    to survive a restart: a new process begins with fresh caches.
    """

    def __init__(self, informers: Mapping[GroupVersionResource, Informer[Any]], *, deadline: float = DEADLINE) -> None:
        self._informers = informers
        self._deadline = deadline
        self._targets: dict[ObjectKey, dict[tuple[GroupVersionResource, ObjectKey], None]] = {}
        self._stale: dict[ObjectKey, set[GroupVersionResource]] = {}
        self._waits: dict[Deadline, None] = {}  # in their order, as sets are not
        self._abandoned = False

    def note(self, key: ObjectKey, gvr: GroupVersionResource, target: ObjectKey, barrier: Barrier) -> None:
        """Notes that the cache has to show ``barrier``, a state of the object ``target``, before the next reconcile of
        ``key`` begins.
        """
        self._informers[gvr].shared.barriers.note(target, barrier)
        self.expect(key, gvr, target)

    def expect(self, key: ObjectKey, gvr: GroupVersionResource, target: ObjectKey) -> None:
        """Notes that the cache has to show what it has not yet seen of the object ``target`` before the next reconcile
        of ``key`` begins.
        """
        self._targets.setdefault(key, {})[gvr, target] = None

    def writers_of(self, gvr: GroupVersionResource, target: ObjectKey) -> list[ObjectKey]:
        """The keys whose last reconcile wrote the object ``target``, or read it from the server."""
        return [key for key, targets in self._targets.items() if (gvr, target) in targets]

    def mark_stale(self, key: ObjectKey, *gvrs: GroupVersionResource) -> None:
        """Marks the caches of the resources as stale, so `wait` returns them and they are read live. Call this method
        when a create has ended without an answer, or when a cache is behind and a live read has failed. Resources
        without a cache are ignored.
        """
        if cached := self._informers.keys() & gvrs:
            self._stale.setdefault(key, set()).update(cached)

    def forget(self, key: ObjectKey) -> None:
        self._targets.pop(key, None)
        self._stale.pop(key, None)

    def pending(self, key: ObjectKey) -> bool:
        """Whether `wait` has anything to do."""
        return key in self._targets or key in self._stale

    async def wait(self, key: ObjectKey) -> frozenset[GroupVersionResource]:
        """Waits until the caches show the key's writes, but not beyond the deadline.

        Returns the resources that have to be read live because their cache is behind or because they are marked (see
        `mark_stale`). They stay marked until `forget`: if reading them fails, the next attempt reads them live again.

        Raises:
            Abandoned: the controller is stopping; see `abandon`.
        """
        behind = set(self._stale.get(key, ()))
        deadline = asyncio.get_running_loop().time() + self._deadline
        for gvr, target in list(self._targets.get(key, ())):
            if gvr not in behind and not await self._wait(self._informers[gvr].shared.barriers, target, deadline):
                behind.add(gvr)
        # Only now: a reconcile that is cancelled while it waits must not take the barriers along.
        self.forget(key)
        self.mark_stale(key, *behind)
        return frozenset(behind)

    def abandon(self) -> None:
        """Ends every current and future `wait` with `Abandoned`, because the controller is stopping."""
        self._abandoned = True
        for wait in self._waits:
            wait.expire()
        self._waits.clear()

    async def _wait(self, barriers: Barriers, target: ObjectKey, deadline: float) -> bool:
        """Whether the cache has seen the newest write to the object before the deadline."""
        barrier = barriers.unseen(target)
        if barrier is None or barriers.seen(target, barrier):
            return True
        if self._abandoned:
            raise Abandoned
        wait = Deadline(deadline)
        try:
            async with wait:
                self._waits[wait] = None
                return await barriers.wait(target, barrier, None)
        except TimeoutError:
            if self._abandoned:
                raise Abandoned from None
            return False
        finally:
            self._waits.pop(wait, None)


class Memory:
    """The facts about each key: writes that caches do not show yet, applied children, owners that may be gone.

    The memory does not outlive the process, and correctness does not depend on it: a new process begins with an empty
    one.
    """

    __slots__ = ("_taken_over", "applied", "barriers", "children", "echoes", "suspects")

    def __init__(self, informers: Mapping[GroupVersionResource, Informer[Any]]) -> None:
        self.barriers = WriteBarriers(informers)
        self.applied = AppliedChildren()
        self.children = KnownChildren()
        self.suspects = SuspectOwners()
        self.echoes: dict[ObjectKey, tuple[str, ...]] = {}
        """For each key, the versions of its object before and after the writes of the last reconcile. An update from
        one of these versions to another carries no new information.
        """

        self._taken_over: dict[ObjectKey, set[tuple[GroupVersionResource, ObjectKey]]] = {}

    def note_taken_over(self, key: ObjectKey, place: tuple[GroupVersionResource, ObjectKey]) -> None:
        """Notes that a reconcile of ``key`` has taken over the fields of the object at ``place``."""
        self._taken_over.setdefault(key, set()).add(place)

    def has_taken_over(self, key: ObjectKey, place: tuple[GroupVersionResource, ObjectKey]) -> bool:
        """Whether a reconcile of ``key`` has taken over the fields of the object at ``place`` in this process."""
        return place in self._taken_over.get(key, ())

    def forget(self, key: ObjectKey) -> None:
        """Forgets a key whose object is gone, or that belongs to another process."""
        self.barriers.forget(key)
        self.applied.forget(key)
        self.children.forget(key)
        self.suspects.forget(key)
        self.echoes.pop(key, None)
        self._taken_over.pop(key, None)
