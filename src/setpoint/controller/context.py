"""Context: everything that a reconcile function can do besides reading its own object."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from datetime import datetime
from typing import Any, Final, TypeVar

from setpoint.client import Conflict, NotFound, PatchType, UnreadableAnswer, WriteRecord, dynamic
from setpoint.controller.context_reads import AnySelector, ContextReads
from setpoint.controller.environment import Environment
from setpoint.controller.history import AttemptStart
from setpoint.controller.outcome import maybe_done
from setpoint.controller.writes.children import Children
from setpoint.controller.writes.ownership import ObjectWriter, owned_copy, placed_copy
from setpoint.meta import (
    Condition,
    Object,
    Selector,
    decode_as_read,
    raw_of,
    resource_of,
    set_condition,
)
from setpoint.meta.condition import MAX_MESSAGE

T = TypeVar("T", bound=Object)
S = TypeVar("S")

_NO_START: Final = AttemptStart()

current: ContextVar[Context | None] = ContextVar("setpoint_reconcile", default=None)
"""The context of the reconcile that the current task belongs to. The task's writes are attributed to that reconcile."""


class Context(ContextReads):
    """One reconcile: the status of its object, its reads, writes and events, and its log.

    *Reads.* `get` and `list` answer from the cache for every kind that the controller declares (its own, `owns`,
    `watches`, `reads`), and ask the server for every other kind, and for namespaces that the cache does not cover. If
    the cache has a selector, `list` finds only the objects that it selects, and `get` asks the server for the others.
    `owned` and `lister` are for declared kinds only. The results are the caller's own copies. Reads show every write
    that this reconcile and earlier reconciles of this key made, or a newer state; they neither wait nor make a request
    for it. `caught_up` waits for the writes of other keys.

    *Writes* go to the server at once. They are not undone if the reconcile fails later, so use writes that are harmless
    to repeat, such as `apply`.

    *Status.* Change ``obj.status``, of the object that the function is given, in place. It is written once, when the
    function has returned or raised an exception, and only if it changed.

    A context is valid for one call to the function. After the end of the reconcile, every method that reads or writes
    objects, `event` and `client` raise a RuntimeError, so a task that the function has left behind cannot disturb the
    next reconcile of the key.
    """

    __slots__ = ("_env", "_writer")

    def __init__(self, env: Environment, writer: ObjectWriter, obj: Object, start: AttemptStart = _NO_START) -> None:
        super().__init__(env.informers, env.caches, obj, start, log=env.log, random=env.random)
        self._env = env
        self._writer = writer

    # -- properties ----------------------------------------------------------------------------------------------------

    @property
    def controller(self) -> str:
        """The controller's name."""
        return self._env.controller

    @property
    def run_name(self) -> str:
        """The name of this run of the controller; in a fleet it includes the name of the cluster."""
        return self._env.name

    @property
    def guarded(self) -> bool:
        """Whether writes have to be guarded against another process that may take over the key because it shares the
        controller's keys or takes part in the leader election.
        """
        return self._env.is_guarded

    @property
    def cluster(self) -> str:
        """The name of the object's cluster in a fleet (`setpoint.manager.Fleet`); ``""`` in the manager's own
        cluster.
        """
        return self._env.cluster

    def state(self, kind: type[S]) -> S:
        """The object that the program's lifespan yields, such as an HTTP session. It is an instance of ``kind``.

        Raises:
            LookupError: the program has no lifespan.
            TypeError: its lifespan yields an object of another class.
        """
        return self._env.program.of(kind)

    def now(self) -> datetime:
        """The wall-clock time in UTC, with a time zone. For intervals use the running loop's ``time()``."""
        return self._env.now()

    def set_condition(self, type: str, status: str | bool, reason: str, message: str = "") -> bool:
        """Sets a condition in the status; returns whether that changed anything.

        Transition time and observed generation are filled in. ``reason`` is one CamelCase word. ``message`` is cut to
        32,768 characters, the limit of ``metav1.Condition``.

        Raises:
            AttributeError: the kind has no status, or its status has no conditions.
        """
        word = status if isinstance(status, str) else ("True" if status else "False")
        counts = "status" in self._env.resource.subresources  # else this very write would move it
        generation = self.object.metadata.generation if counts else 0
        condition = Condition(
            type=type, status=word, reason=reason, message=message[:MAX_MESSAGE], observed_generation=generation
        )
        try:
            conditions = self.object.status.conditions  # type: ignore[attr-defined]
        except AttributeError:
            raise AttributeError(f"{self.object.kind} has no status, or one without conditions") from None
        return set_condition(conditions, condition, now=self.now())

    # -- writing -------------------------------------------------------------------------------------------------------

    async def apply(
        self, obj: T, *, controlled: bool = True, force: bool = True, takes_over: Collection[str] = ()
    ) -> T:
        """Sets the fields that ``obj`` names to the values in ``obj`` by server-side apply, under this controller's
        name.

        ``takes_over`` names field managers that used to write the object with updates, such as an earlier version of
        this program or ``kubectl-client-side-apply``: their fields become this controller's, so the fields that ``obj``
        no longer names are removed (`Client.take_over`). That costs one read for each object in the lifetime of this
        process.

        The namespace defaults to that of the reconciled object, which becomes the controller of ``obj`` unless
        ``controlled`` is False. Applying the same object again changes nothing.

        A write to a controlled child names the uid of the existing object, so it never changes a different object. A
        child that belongs to an earlier object with the name of the reconciled object is not taken over: the garbage
        collector deletes it, and the reconcile is put off until it is gone. If the controller declares no cache of that
        kind, the object is read before the first write; the read needs the permission ``get``.

        If caches begin with lists of any age (``WatchOptions(first_list="any")``), no child is created before a live
        read of the reconciled object has shown that it is neither gone nor being deleted; otherwise the reconcile is
        put off.

        Raises:
            OwnerError: the reconciled object can't own ``obj``; see `setpoint.controller.writes.ownership`.
            AdoptionError: another owner controls the object with that name (an `OwnerError`).
            Outdated: the child belongs to an earlier object with the owner's name, or the reconciled object is gone;
                see `setpoint.controller.outcome`.
            ApiError: the server refused.
        """
        client, manager, memory = self.client, self._env.field_manager, self._writer.memory
        prepared = self._prepared(obj, controlled)
        resource = resource_of(type(obj))
        place = (resource.gvr, prepared.key)
        if takes_over and not memory.has_taken_over(self.key, place):
            with suppress(NotFound):
                await client.take_over(prepared, takes_over, field_manager=manager)
            memory.note_taken_over(self.key, place)
        if controlled:
            read_live = self._live is not None and resource.gvr in self._live
            return await self._writer.apply_child(self.object, prepared, read_live=read_live, force=force)
        before = self._informers.document(resource, prepared.key)
        return await client.apply(prepared, force=force, field_manager=manager, before=before)

    async def keep(
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
        """Creates, changes and deletes children of one kind until they are as wanted, and returns them. The call is
        level-based.

            pods = await ctx.keep(Pod, [pod_of(mykind, number) for number in range(mykind.spec.numpods)])

        The children of a kind are the objects that the reconciled object controls, in the declared cache; with
        ``selector`` only those whose labels match it. Each wanted object is prepared as in `apply`. Wanted objects that
        have ``generate_name`` instead of a name must be alike; only their number counts.

        A list that comes from a source that may fail, such as an inventory, can be empty by mistake. With ``prune``
        False nothing is deleted: children that are not wanted stay as they are. With ``at_most_deletions``, a call that
        would delete more children than that makes no write at all and raises `TooManyDeletions`. The bound holds for
        each call, also while the reconciled object is being deleted; the garbage collector deletes the children then.

        Returns the wanted children in the order in which they were given (generated names last), as they are after this
        call. A child that is being deleted is left out; the reconcile after its removal creates it again.

        *Guarantees*

        - A child that is missing or different is applied (server-side, under this controller's name): each field that
          the wanted object names gets the wanted value, even if another manager has changed it; fields that the wanted
          object no longer names are removed; the fields of other managers stay. A child that is not wanted is deleted
          by its uid, so a later object with its name is safe; its dependents are deleted in the background. Deletions
          come first.
        - Nothing is sent for a child that this process has already applied in the same way, if the cache shows that the
          wanted fields still have the values that the server stored then. So a reconcile that finds everything in order
          writes nothing.
        - It may be called again at any time: after a crash, a lost answer or a failed reconcile the next call ends in
          the same state. Generated names are drawn before the request is sent; after a lost answer the next reconcile
          of the key sends each missing child again under the same name, so no surplus child is created.
        - An object with another owner is not touched. An object with a wanted name and without a controller is taken
          over only with ``adopt``, or if it belonged to this object before.
        - While the reconciled object is being deleted, children are only deleted, not created or changed.
        - If caches begin with lists of any age (``WatchOptions(first_list="any")``), nothing is deleted or created
          before a live read has shown that the reconciled object is still as in the cache; otherwise the reconcile is
          put off.

        *Caveats*: a new process applies every child once, which changes nothing on the server. If another manager
        changes a list that contains wanted items, that child is applied once more. If another client has created
        an object under a wanted name so recently that the cache does not show it, the wanted fields are merged into
        that object.

        At most eight requests are under way at once; for a key that has failed before, one first, then two, then four.
        When a request fails, the requests under way are awaited and no other request is begun. The next call writes the
        failed children last, so a child that is always refused does not block the other children. If the only failures
        are deletions that the server refused, or wanted names that objects of another owner already have, the other
        wanted children are still applied.

        Raises:
            UndeclaredRead: the controller declares no cache of that kind.
            TypeError: a wanted object is not of that kind.
            ValueError: ``at_most_deletions`` is negative; or a wanted object has no name, is wanted twice, or would not
                be found by the selector or in the cache; or objects with the same ``generate_name`` differ; or an
                earlier call in the same reconcile would undo this one.
            AdoptionError: an object with a wanted name has no controller or a different one (an `OwnerError`).
            OwnerError: the reconciled object can't own a wanted object; see `setpoint.controller.writes.ownership`.
            Outdated: caches begin with lists of any age, and the reconciled object is not as its cache shows it.
            Conflict: without ``force``, another manager owns a field with a different value.
            TooManyDeletions: more than ``at_most_deletions`` children would be deleted.
            ApiError: the server refused; an `ExceptionGroup` if several failed.
        """
        self._check_open()
        children = Children(self, self._writer, kind, Selector.of(selector), adopt=adopt, force=force)
        return await children.keep(wanted, prune=prune, at_most_deletions=at_most_deletions)

    async def create(self, obj: T, *, controlled: bool = True) -> T:
        """Creates ``obj``, which is prepared as in `apply`, and returns the created object. With ``generate_name`` the
        server chooses the name.

        If the answer is lost, or the reconcile is cancelled before the answer comes, the object may or may not exist.
        In that case the next reconcile of the key reads that kind live.

        Raises:
            AlreadyExists: an object with that name exists.
            OwnerError: as for `apply`.
            ApiError: the server refused.
        """
        client = self.client
        prepared = self._prepared(obj, controlled)
        try:
            return await client.create(prepared, field_manager=self._env.field_manager)
        except BaseException as problem:
            if maybe_done(problem):
                self._writer.memory.barriers.mark_stale(self.key, resource_of(type(obj)).gvr)
            raise

    async def delete(
        self, obj: Object, *, propagation: str | None = None, grace_period_seconds: int | None = None
    ) -> None:
        """Deletes exactly the object that was read as ``obj``, not a later object with its name. An object that is
        already gone or being deleted is not an error.
        """
        client = self.client
        if obj.is_deleting and propagation is None and grace_period_seconds is None:
            return
        try:
            await client.delete(
                obj,
                propagation=propagation,  # type: ignore[arg-type]
                grace_period_seconds=grace_period_seconds,
            )
        except (NotFound, Conflict) as problem:
            if isinstance(problem, Conflict) and not obj.uid:
                raise
            # There is none of that name, or the one of that name has another uid by now: ours is gone.
            client.note_write(WriteRecord(resource_of(type(obj)), obj.key, obj.uid, "", "delete", obj.labels))

    async def patch(
        self,
        obj: T,
        patch: Mapping[str, Any] | builtins.list[dict[str, Any]],
        *,
        type: PatchType | None = None,
        subresource: str = "",
    ) -> T:
        """Patches exactly this object on the server and returns the result. A list of operations is a JSON patch and a
        mapping is a merge patch, unless ``type`` says otherwise.

        If ``obj`` has a uid, a later object with its name is left alone. The patch applies to any version of the
        object, unless the patch names a version. So use this method for values that are right whatever the object has
        become: a patch that got no answer in time may be carried out after later patches. For a value that was computed
        from the object as it was read, such as a size, use ``client.update``, which conflicts with any other version.

        Raises:
            Outdated: a different object now has the name; the reconcile is tried again.
            NotFound: the object does not exist any more.
            ApiError: the server refused.
        """
        client = self.client
        try:
            return await self._writer.patch(obj, patch, type or PatchType.of(patch), subresource)
        except UnreadableAnswer:
            kind = obj.__class__
            if not decode_as_read(kind, raw_of(obj) or b"{}")[1]:
                raise
            # It is patched, and fits its class no more than before.
            live = await client.get(dynamic(resource_of(kind)), obj.name, namespace=obj.namespace or None)
            version = live.metadata.resource_version
            client.note_write(WriteRecord(resource_of(kind), live.key, live.uid, version, "patch", live.labels))
            return decode_as_read(kind, raw_of(live) or b"{}")[0]

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
        """Reports an event about the object: ``type`` is ``Normal`` or ``Warning``, ``reason`` one CamelCase word.

        ``about`` is a different object that the event is about, such as one that this reconcile deletes. Events are
        sent in the background: the call does not wait, similar events are combined, and excess events are dropped.

        Raises:
            ValueError: ``type`` is neither of the two, or ``reason`` is empty or longer than 128 characters.
        """
        self._check_open()
        if about is None or about.uid == self.object.uid:
            self._warning = f"{reason}: {message}" if type == "Warning" else ""
        self._env.event(about or self.object, type, reason, message, action=action, related=related)

    # -- inside --------------------------------------------------------------------------------------------------------

    def _prepared(self, obj: T, controlled: bool) -> T:
        return owned_copy(self.object, obj) if controlled else placed_copy(self.object, obj)
