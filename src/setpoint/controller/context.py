"""Context: what a reconcile function can do beside looking at its object."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from datetime import datetime
from typing import Any, TypeVar

from setpoint.client import Client, Conflict, NotFound, PatchType, WriteRecord
from setpoint.controller.cause import Cause
from setpoint.controller.children import Children
from setpoint.controller.context_reads import AnySelector, ContextReads
from setpoint.controller.environment import Environment
from setpoint.controller.exactly import apply_child, patch_exactly
from setpoint.controller.failures import maybe_done
from setpoint.controller.log import BoundLogger
from setpoint.controller.memory import Memory
from setpoint.controller.owner import owned_copy, placed_copy
from setpoint.controller.timeline import Write
from setpoint.meta import (
    Condition,
    GroupVersionResource,
    Object,
    Selector,
    resource_of,
    set_condition,
)

T = TypeVar("T", bound=Object)
S = TypeVar("S")

current: ContextVar[Context | None] = ContextVar("setpoint_reconcile", default=None)
"""The context of the reconcile that the running task works for; writes are counted to it."""


class Context(ContextReads):
    """One reconcile: its object's status, reads, writes, events, log.

    *Reads.* `get` and `list` answer from the cache for every kind that the controller declares (its own, `owns`,
    `watches`, `reads`), and ask the server for every other kind; `owned` and `lister` are for declared kinds only.
    The results are the caller's own copies. Reads see every write that earlier reconciles of this key made.

    *Writes* go to the server at once. They are not undone if the reconcile fails later: write so that doing it again
    is harmless. `apply` is.

    *Status.* `status` is the object's own status: change it in place. It is written once, when the function has
    returned or raised an exception, and only if it changed.

    A context is for one call of the function. Don't keep it.
    """

    __slots__ = ("_log", "_memory", "_wrote", "age", "causes", "failures", "kept", "settled", "writes")

    def __init__(
        self,
        env: Environment,
        memory: Memory,
        obj: Object,
        causes: tuple[Cause, ...],
        *,
        wrote: Callable[[Context, WriteRecord], None],
        failures: int = 0,
        age: float | None = None,
        settled: float = 0.0,
    ) -> None:
        super().__init__(env, obj)
        self._memory = memory
        self._wrote = wrote
        self._log: BoundLogger | None = None
        self.kept: builtins.list[tuple[GroupVersionResource, Selector, builtins.list[dict[str, str]]]] = []
        """The calls of `keep` so far: resource, selector and labels of each."""
        self.causes = causes
        """The changes of objects that led to this reconcile, oldest first, at most 16."""
        self.failures = failures
        """The number of times this key has failed, or asked for a retry, since its last success."""
        self.writes: builtins.list[Write] = []
        """The writes of this reconcile so far."""
        self.age = age
        """Seconds since the cache that ``object`` was read from had heard from the server; None if ``object`` was read
        from the server."""
        self.settled = settled
        """Seconds that the caches took to show what the last reconcile wrote."""

    # -- what is there -------------------------------------------------------------------------------------------------

    @property
    def controller(self) -> str:
        """The controller's name."""
        return self._env.controller

    @property
    def run_name(self) -> str:
        """The name of this run of the controller: with the cluster's, in a fleet."""
        return self._env.name

    @property
    def guarded(self) -> bool:
        """Whether the controller's keys are shared with other processes, or its leader's."""
        return self._env.is_guarded

    @property
    def cluster(self) -> str:
        """The name of the object's cluster in a fleet (`setpoint.manager.Fleet`); ``""`` in the manager's own."""
        return self._env.cluster

    @property
    def client(self) -> Client:
        """The client, for everything that has no short form here. Writes through it count as this
        reconcile's: the next reconcile of the key will see them."""
        return self._env.client

    def state(self, kind: type[S]) -> S:
        """The object that the program's lifespan yields, such as an HTTP session; it is a ``kind``.

        Raises:
            LookupError: the program has no lifespan.
            TypeError: its lifespan yields an object of another class.
        """
        return self._env.program.of(kind)

    @property
    def status(self) -> Any:
        """The status of the object, to be changed in place.

        Raises:
            AttributeError: the kind has none.
        """
        try:
            return self.object.status  # type: ignore[attr-defined]
        except AttributeError:
            raise AttributeError(f"{type(self.object).__name__} has no status") from None

    @property
    def log(self) -> BoundLogger:
        """A logger that says controller, kind, key and reconcile id with every record."""
        if self._log is None:
            self._log = self._env.log.bind(key=self.key, reconcile_id=self._env.new_id())
        return self._log

    def now(self) -> datetime:
        """The wall-clock time, aware, in UTC. For intervals use the running loop's ``time()``."""
        return self._env.now()

    def set_condition(self, type: str, status: str | bool, reason: str, message: str = "") -> bool:
        """Sets a condition in the status; returns whether that changed anything.

        Transition time and observed generation are filled in. ``reason`` is one CamelCase word.
        """
        word = status if isinstance(status, str) else ("True" if status else "False")
        counts = "status" in self._env.resource.subresources  # else this very write would move it
        generation = self.object.metadata.generation if counts else 0
        condition = Condition(type=type, status=word, reason=reason, message=message, observed_generation=generation)
        return set_condition(self.status.conditions, condition, now=self.now())

    # -- writing -------------------------------------------------------------------------------------------------------

    async def apply(
        self, obj: T, *, controlled: bool = True, force: bool = True, takes_over: Collection[str] = ()
    ) -> T:
        """Server-side apply: makes the fields that ``obj`` names what it says, under this controller's name.

        ``takes_over`` names managers that wrote the object with updates before, such as an earlier version of this
        program or ``kubectl-client-side-apply``: their fields become this controller's, so that those which ``obj`` no
        longer names are removed (`Client.take_over`). That costs a read for each object and life of this process.

        The namespace defaults to that of the reconciled object, which becomes the controller of ``obj`` unless
        ``controlled`` is False. Applying the same again changes nothing.

        A controlled child is written as exactly the object that is there (by its uid). One that belongs to an earlier
        object of the reconciled one's name is not taken over: it is the garbage collector's, and the reconcile is put
        off until it is gone. Where the controller declares no cache of that kind, the first time is preceded by a
        read, for which the permission ``get`` is needed.

        Raises:
            OwnerError: the reconciled object can't own ``obj``; see `setpoint.controller.owner`.
            AdoptionError: something else controls the object of that name (an `OwnerError`).
            Outdated: it belongs to an earlier object of this name; see `setpoint.controller.failures`.
            ApiError: the server refused.
        """
        env = self._env
        prepared = self._prepared(obj, controlled)
        resource = resource_of(type(obj))
        place = (resource.gvr, prepared.key)
        if takes_over and not self._memory.has_taken_over(self.key, place):
            with suppress(NotFound):
                await env.client.take_over(prepared, takes_over, field_manager=env.field_manager)
            self._memory.took_over(self.key, place)
        if controlled:
            read_live = self.live is not None and resource.gvr in self.live
            return await apply_child(env, self._memory, self.object, prepared, read_live=read_live, force=force)
        before = env.known(resource, prepared.key)
        return await env.client.apply(prepared, force=force, field_manager=env.field_manager, before=before)

    async def keep(
        self,
        kind: type[T],
        wanted: Iterable[T],
        *,
        selector: AnySelector = None,
        adopt: bool = False,
        force: bool = True,
    ) -> builtins.list[T]:
        """Makes the children of one kind as they are wanted, and returns them: level-based creation, change and
        deletion in one call.

            pods = await ctx.keep(Pod, [pod_of(mykind, number) for number in range(mykind.spec.numpods)])

        The children of a kind are the objects that the reconciled object controls, in the declared cache; with
        ``selector`` only those whose labels match it. Each wanted object is prepared as by `apply`. Those that have
        ``generate_name`` instead of a name must be alike; what counts is how many there are.

        Returns the wanted children in the order in which they were given (generated names last), as they are after
        this call. A child that is being deleted is left out: it comes back when it is gone.

        *Guarantees*

        - A child that is missing or different is applied (server-side, under this controller's name): fields that the
          wanted object names become what it says, also if another manager has changed them; fields that it no longer
          names are removed; others' fields stay. A child that is not wanted is deleted, exactly that object (by its
          uid), and in the background what belongs to it. Deletions come first.
        - Nothing is sent for a child that was applied in the same way before by this process, if the cache shows that
          its wanted fields still hold what they held after that. So a reconcile that finds all in order writes nothing.
        - It may be called again at any time: after a crash, a lost answer or a failed reconcile the next call ends in
          the same state. Generated names are drawn before the request is sent; where an answer was lost, the next
          reconcile of the key looks live, and what is not there is sent again under the same name, so that there is
          never one too many.
        - An object with another owner is not touched. An object of a wanted name that has no controller is taken over
          only with ``adopt``, or if it was this object's before.
        - While the reconciled object is being deleted, nothing is created or changed, only deleted.
        - Where caches begin with lists of any age (``InformerFactory(first_list="any")``), nothing is deleted before
          a live read has shown that the reconciled object is still as the cache has it; else the reconcile is put off.

        *Caveats*: a new process applies every child once, which changes nothing on the server. If another manager
        changes a list in which there are wanted items, that child is applied once more. An object that another
        client creates under a wanted name, so recently that the cache does not show it, is merged with.

        At most eight requests are under way at once; for a key that has failed before, one first, then two, then
        four. When some fail, those that were begun are awaited, and no other is begun; next time they come last, so
        that one which is always refused does not block the others for ever. When all deletions that failed were
        refused, and when a wanted name has another owner, the other wanted children are still applied.

        Raises:
            UndeclaredRead: the controller declares no cache of that kind.
            ValueError: a wanted object has no name, is wanted twice, would not be found by the selector or in the
                cache; or an earlier call in the same reconcile would undo this one.
            AdoptionError: an object of a wanted name has no owner, or another one (an `OwnerError`).
            OwnerError: the reconciled object can't own a wanted one; see `setpoint.controller.owner`.
            Outdated: caches begin with lists of any age, and the reconciled object is not what its cache shows.
            Conflict: without ``force``, when another manager owns a field with another value.
            ApiError: the server refused; an `ExceptionGroup` if several failed.
        """
        children = Children(self, self._env, self._memory, kind, Selector.of(selector), adopt=adopt, force=force)
        return await children.keep(wanted)

    async def create(self, obj: T, *, controlled: bool = True) -> T:
        """Creates ``obj``, prepared as by `apply`. With ``generate_name`` the server finds a name.

        If the answer is lost, or the reconcile is cancelled before it comes, the object may exist or not:
        then the key's next reconcile reads that kind live.

        Raises:
            AlreadyExists: there is an object of that name.
            OwnerError: as for `apply`.
        """
        prepared = self._prepared(obj, controlled)
        try:
            return await self._env.client.create(prepared, field_manager=self._env.field_manager)
        except BaseException as problem:
            if maybe_done(problem):
                self._memory.barriers.doubt(self.key, resource_of(type(obj)).gvr)
            raise

    async def delete(
        self, obj: Object, *, propagation: str | None = None, grace_period_seconds: int | None = None
    ) -> None:
        """Deletes exactly this object: another one of its name, created since, is left alone. That it is gone
        already, or being deleted, is fine."""
        if obj.is_deleting and propagation is None and grace_period_seconds is None:
            return
        try:
            await self._env.client.delete(
                obj,
                propagation=propagation,  # type: ignore[arg-type]
                grace_period_seconds=grace_period_seconds,
            )
        except (NotFound, Conflict) as problem:
            if isinstance(problem, Conflict) and not obj.uid:
                raise
            # There is none of that name, or the one of that name has another uid by now: ours is gone.
            self._wrote(self, WriteRecord(resource_of(type(obj)), obj.key, obj.uid, "", "delete", obj.labels))

    async def patch(
        self,
        obj: T,
        patch: Mapping[str, Any] | builtins.list[dict[str, Any]],
        *,
        type: PatchType | None = None,
        subresource: str = "",
    ) -> T:
        """Patches exactly this object on the server; returns what it became. A list of operations is a JSON patch, a
        mapping a merge patch, unless ``type`` says otherwise.

        Another object of its name, created since, is left alone, if ``obj`` has a uid. Which version of it is patched
        does not matter, unless the patch names one. So this is for values that hold whatever the object has become: a
        patch that got no answer in time may be carried out after later ones. A value that was computed from the object
        as it was read, such as a size, is for ``client.update``, which conflicts with any other version.

        Raises:
            Outdated: the object of that name is another one by now; the reconcile is tried again.
            NotFound: there is none any more.
            ApiError: the server refused.
        """
        return await patch_exactly(self._env, obj, patch, type or PatchType.of(patch), subresource)

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

        ``about`` is another object that the event is about, such as one that this reconcile deletes. Never waits and
        never fails: events are sent in the background, similar ones together, too many not at all.
        """
        self._env.event(about or self.object, type, reason, message, action=action, related=related)

    # -- inside --------------------------------------------------------------------------------------------------------

    def _prepared(self, obj: T, controlled: bool) -> T:
        return owned_copy(self.object, obj) if controlled else placed_copy(self.object, obj)


__all__ = ["Context", "current"]
