"""Context: what a reconcile function can do beside looking at its object."""

from __future__ import annotations

import builtins
import copy
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from setpoint.cache import Lister
from setpoint.client import ApiError, Client, Conflict, NotFound, PatchType, TransportError
from setpoint.controller.cause import Cause
from setpoint.controller.log import BoundLogger
from setpoint.controller.owner import set_controller_reference
from setpoint.controller.timeline import Write
from setpoint.meta import (
    Condition,
    GroupVersionResource,
    LabelSelector,
    Object,
    ObjectKey,
    Resource,
    Selector,
    resource_of,
    set_condition,
)

if TYPE_CHECKING:
    from setpoint.controller.running import RunningController

T = TypeVar("T", bound=Object)
AnySelector = str | Mapping[str, str] | LabelSelector | Selector | None

current: ContextVar[Context | None] = ContextVar("setpoint_reconcile", default=None)
"""The context of the reconcile that the running task works for; writes are counted to it."""


class UndeclaredRead(LookupError):
    """A cached read of a kind for which the controller declares no cache."""


class Context:
    """One reconcile: its object's status, reads, writes, events, log.

    *Reads.* `get` and `list` answer from the cache for every kind that the controller declares (its own, `owns`,
    `watches`, `reads`), and ask the server for every other kind; `owned` and `lister` are for declared kinds only.
    What they return is the caller's own copy. They see every write that earlier reconciles of this key made.

    *Writes* go to the server at once. They are not undone if the reconcile fails later: write so that doing it again
    is harmless. `apply` is.

    *Status.* `status` is the object's own status: change it in place. It is written once, when the function has
    returned or raised an exception, and only if it changed.

    A context is for one call of the function. Don't keep it.
    """

    __slots__ = ("_log", "_run", "causes", "key", "live", "object", "writes")

    def __init__(self, run: RunningController[Any], obj: Object, causes: tuple[Cause, ...]) -> None:
        self._run = run
        self._log: BoundLogger | None = None
        self.live: dict[GroupVersionResource, builtins.list[Any]] | None = None
        """What was read live because the cache is behind; filled in by the reconciler."""
        self.object = obj
        """The object that is reconciled; the same that the function is given."""
        self.key: ObjectKey = obj.key
        self.causes = causes
        """What led to this reconcile: which object's which change, oldest first, at most 16."""
        self.writes: builtins.list[Write] = []
        """What was written so far."""

    # -- what is there -------------------------------------------------------------------------------------------------

    @property
    def controller(self) -> str:
        """The controller's name."""
        return self._run.name

    @property
    def client(self) -> Client:
        """The client, for everything that has no short form here. What is written through it counts as this
        reconcile's: the key's next one will see it."""
        return self._run.client

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
            self._log = self._run.log.bind(key=self.key, reconcile_id=self._run.new_id())
        return self._log

    @property
    def failures(self) -> int:
        """How often this key has failed, or asked for a retry, since it was last fine."""
        return self._run.loop.queue.num_requeues(self.key)

    def now(self) -> datetime:
        """The wall-clock time, aware, in UTC. For intervals use the running loop's ``time()``."""
        return self._run.now()

    def set_condition(self, type: str, status: str | bool, reason: str, message: str = "") -> bool:
        """Sets a condition in the status; returns whether that changed anything.

        Transition time and observed generation are filled in. ``reason`` is one CamelCase word.
        """
        word = status if isinstance(status, str) else ("True" if status else "False")
        generation = self.object.metadata.generation
        condition = Condition(type=type, status=word, reason=reason, message=message, observed_generation=generation)
        return set_condition(self.status.conditions, condition, now=self.now())

    # -- reading -------------------------------------------------------------------------------------------------------

    def lister(self, kind: type[T]) -> Lister[T]:
        """The cache of a declared kind.

        Raises:
            UndeclaredRead: the controller declares none.
        """
        informer = self._run.informers.get(resource_of(kind).gvr)
        if informer is None:
            name = kind.__name__
            raise UndeclaredRead(
                f"controller {self._run.name!r} declares no cache of {name}: add .owns({name}), .watches({name}, ...) "
                f"or .reads({name}), or read live with ctx.client"
            )
        lister: Lister[T] = informer.lister
        return lister

    async def get(self, kind: type[T], name: str, *, namespace: str | None = None) -> T | None:
        """An object by name, None if there is none. ``namespace`` defaults to that of the reconciled object."""
        resource = resource_of(kind)
        space = self._namespace(resource, namespace)
        live = self.live
        if (live is None or resource.gvr not in live) and self._cached(resource, space):
            found: T | None = self._run.informers[resource.gvr].lister.try_get(ObjectKey.of(space, name))
            return found
        try:
            return await self._run.client.get(kind, name, namespace=space or None)
        except NotFound:
            return None

    async def list(
        self, kind: type[T], *, namespace: str | None = None, selector: AnySelector = None
    ) -> builtins.list[T]:
        """The objects whose labels match. ``namespace`` defaults to that of the reconciled object, ``"*"`` is all."""
        resource = resource_of(kind)
        space = "" if namespace == "*" else self._namespace(resource, namespace)
        live = self.live
        if (live is None or resource.gvr not in live) and self._cached(resource, space):
            return self.lister(kind).list(namespace=space or None, selector=selector)
        answer = await self._run.client.list(kind, namespace=space or None, selector=selector)
        return answer.items

    def owned(self, kind: type[T]) -> builtins.list[T]:
        """The objects of a declared kind that have the reconciled object among their owners, ordered by key.

        Raises:
            UndeclaredRead: the controller declares no cache of that kind.
        """
        gvr = resource_of(kind).gvr
        uid = self.object.uid
        if self.live is not None and gvr in self.live:
            found: builtins.list[T] = [
                item
                for item in self.live[gvr]
                if any(reference.uid == uid for reference in item.metadata.owner_references)
            ]
        else:
            found = self.lister(kind).by_owner(uid)
        found.sort(key=_key)
        return found

    # -- writing -------------------------------------------------------------------------------------------------------

    async def apply(self, obj: T, *, controlled: bool = True, force: bool = True) -> T:
        """Server-side apply: makes the fields that ``obj`` names what it says, under this controller's name.

        The namespace defaults to that of the reconciled object, which becomes the controller of ``obj`` unless
        ``controlled`` is False. Applying the same again changes nothing.

        Raises:
            OwnerError: the reconciled object can't own ``obj``; see `setpoint.controller.owner`.
            ApiError: the server refused.
        """
        prepared = self._child(obj, controlled)
        answer = await self._run.client.apply(prepared, force=force, field_manager=self._run.field_manager)
        self._run.answered(self, answer)
        return answer

    async def create(self, obj: T, *, controlled: bool = True) -> T:
        """Creates ``obj``, prepared as by `apply`. With ``generate_name`` the server finds a name.

        If the answer to such a create is lost, nobody knows whether there is an object now: then the key's next
        reconcile reads that kind live.

        Raises:
            AlreadyExists: there is an object of that name.
            OwnerError: as for `apply`.
        """
        prepared = self._child(obj, controlled)
        try:
            answer = await self._run.client.create(prepared, field_manager=self._run.field_manager)
        except TransportError as problem:
            if problem.sent:
                self._run.barriers.doubt(self.key, resource_of(type(obj)))
            raise
        except ApiError as problem:
            if problem.code >= 500:
                self._run.barriers.doubt(self.key, resource_of(type(obj)))
            raise
        self._run.answered(self, answer)
        return answer

    async def delete(
        self, obj: Object, *, propagation: str | None = None, grace_period_seconds: int | None = None
    ) -> None:
        """Deletes exactly this object: another one of its name, created since, is left alone. That it is gone
        already, or being deleted, is fine."""
        if obj.is_deleting and propagation is None and grace_period_seconds is None:
            return
        try:
            await self._run.client.delete(
                obj,
                propagation=propagation,  # type: ignore[arg-type]
                grace_period_seconds=grace_period_seconds,
            )
        except NotFound:
            self._run.wrote(self, resource_of(type(obj)), obj.key, obj.uid, "", "delete")
        except Conflict:
            if obj.uid:  # the object of that name has another uid by now: ours is gone
                self._run.wrote(self, resource_of(type(obj)), obj.key, obj.uid, "", "delete")
            else:
                raise

    async def patch(
        self,
        obj: T,
        patch: Mapping[str, Any] | builtins.list[dict[str, Any]],
        *,
        type: PatchType = PatchType.MERGE,
        subresource: str = "",
    ) -> T:
        """Patches ``obj`` on the server: a merge patch, or what ``type`` says; returns what it became."""
        answer = await self._run.client.patch(
            obj.__class__,
            obj.name,
            dict(patch) if isinstance(patch, Mapping) else patch,
            type=type,
            namespace=obj.namespace or None,
            subresource=subresource,
            field_manager=None if type is PatchType.JSON else self._run.field_manager,
        )
        self._run.answered(self, answer)
        return answer

    def event(self, type: str, reason: str, message: str, *, action: str = "", related: Object | None = None) -> None:
        """Reports an event about the object: ``type`` is ``Normal`` or ``Warning``, ``reason`` one CamelCase word.

        Never waits and never fails: events are sent in the background, similar ones together, too many not at all.
        """
        self._run.event(self.object, type, reason, message, action=action, related=related)

    # -- inside --------------------------------------------------------------------------------------------------------

    def _namespace(self, resource: Resource, namespace: str | None) -> str:
        if not resource.namespaced:
            return ""
        space = self.object.namespace if namespace is None else namespace
        if not space:
            raise ValueError(f"{resource.kind} is namespaced and {self.object.kind} {self.key} is not: say namespace=")
        return space

    def _cached(self, resource: Resource, namespace: str) -> bool:
        """Whether the declared cache holds all of that namespace ("" is all of them)."""
        scope = self._run.scopes.get(resource.gvr)
        return scope is not None and (not scope or scope == namespace)

    def _child(self, obj: T, controlled: bool) -> T:
        """A copy of ``obj`` that is in the right namespace and knows its owner."""
        made = copy.copy(obj)
        made.metadata = copy.copy(obj.metadata)
        if not made.metadata.namespace and resource_of(type(obj)).namespaced:
            made.metadata.namespace = self.object.namespace
        if controlled:
            set_controller_reference(self.object, made)
        return made


def _key(obj: Object) -> str:
    return obj.key


__all__ = ["Context", "UndeclaredRead", "current"]
