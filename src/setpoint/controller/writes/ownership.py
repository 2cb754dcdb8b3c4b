"""Ownership: owner references, with rules that are checked before the server or the garbage collector would enforce
them, and writes to exactly one object.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from random import Random
from typing import Any, Final, Literal, TypeVar

from setpoint.client import Client, Conflict, Invalid, NotFound, Patch, PatchType
from setpoint.client.apply_configuration import configuration_of
from setpoint.client.partial_metadata import metadata_only
from setpoint.controller.cache_reader import DeclaredInformers
from setpoint.controller.memory import Memory
from setpoint.controller.outcome import AdoptionError, Outdated, OwnerError, is_namesake
from setpoint.meta import Object, OwnerReference, Resource, raw_of, resource_of

K = TypeVar("K", bound=Object)
T = TypeVar("T", bound=Object)
_TRIES: Final = 5


def set_controller_reference(owner: Object, dependent: Object, *, block_owner_deletion: bool = True) -> bool:
    """Makes ``owner`` the managing controller of ``dependent``; returns whether that changed anything.

    An existing reference to the same owner is replaced, even if it names another version.

    Raises:
        OwnerError: another object is already the controller, or `check_scope` fails.
        ValueError: ``owner`` has no uid.
    """
    present = dependent.metadata.controller
    reference = owner.owner_reference(controller=True, block_owner_deletion=block_owner_deletion)
    if present is not None and present.uid != reference.uid:
        raise OwnerError(
            f"{dependent.kind} {dependent.key} is controlled by {present.kind} {present.name} already, "
            f"so {owner.kind} {owner.key} can't become its controller"
        )
    return _set(owner, dependent, reference)


def set_owner_reference(owner: Object, dependent: Object, *, block_owner_deletion: bool = False) -> bool:
    """Makes ``owner`` one of the owners of ``dependent``, but not its controller; returns whether that changed
    anything.

    Raises:
        OwnerError: `check_scope` fails.
        ValueError: ``owner`` has no uid.
    """
    return _set(owner, dependent, owner.owner_reference(controller=False, block_owner_deletion=block_owner_deletion))


def owned_copy(owner: Object, dependent: K) -> K:
    """A copy of ``dependent`` that ``owner`` controls. If the kind of ``dependent`` is namespaced and ``dependent``
    names no namespace, the copy is in the owner's namespace.

    Raises:
        OwnerError, ValueError: as for `set_controller_reference`.
    """
    dependent_copy = placed_copy(owner, dependent)
    set_controller_reference(owner, dependent_copy)
    return dependent_copy


def placed_copy(owner: Object, dependent: K) -> K:
    """A copy of ``dependent``. If the kind of ``dependent`` is namespaced and ``dependent`` names no namespace, the
    copy is in the owner's namespace.
    """
    dependent_copy = copy.copy(dependent)
    dependent_copy.metadata = copy.copy(dependent.metadata)
    if not dependent_copy.metadata.namespace and resource_of(type(dependent)).namespaced:
        dependent_copy.metadata.namespace = owner.namespace
    return dependent_copy


def remove_owner_reference(owner: Object, dependent: Object) -> bool:
    """Removes every reference to ``owner``; returns whether there was one."""
    references = [reference for reference in dependent.metadata.owner_references if not _same(reference, owner)]
    if len(references) == len(dependent.metadata.owner_references):
        return False
    dependent.metadata.owner_references = references
    return True


def is_owned_by(dependent: Object, owner: Object, *, controller: bool = False) -> bool:
    """Whether ``owner`` (by uid) is among the owners of ``dependent``; with ``controller``, whether ``owner`` controls
    ``dependent``.
    """
    return any(
        reference.uid == owner.uid and (reference.controller or not controller)
        for reference in dependent.metadata.owner_references
    )


def is_same_owner(reference: OwnerReference, owner: Object) -> bool:
    """Whether ``reference`` names an object with the kind and name of ``owner``, with any uid and version."""
    resource = resource_of(type(owner))
    group, slash, _ = reference.api_version.partition("/")
    return (reference.kind, group if slash else "", reference.name) == (resource.kind, resource.group, owner.name)


def check_scope(owner: Object, dependent: Object) -> None:
    """Checks that the owner is in the dependent's namespace or cluster-scoped. In any other case the garbage collector
    would delete the dependent.

    Raises:
        OwnerError: the owner is namespaced, and the dependent is in another namespace or cluster-scoped.
    """
    if not resource_of(type(owner)).namespaced:
        return
    if not resource_of(type(dependent)).namespaced:
        raise OwnerError(
            f"{owner.kind} {owner.key} is namespaced and can't own the cluster-scoped {dependent.kind} "
            f"{dependent.name}: clean such objects up with finalize()"
        )
    if dependent.namespace != owner.namespace:
        raise OwnerError(
            f"{owner.kind} {owner.key} can't own {dependent.kind} {dependent.key}: "
            "owner and dependent must be in one namespace. Write it with controlled=False and a label that names its "
            "owner, and "
            "clean such objects up with finalize()"
        )


def _set(owner: Object, dependent: Object, reference: OwnerReference) -> bool:
    check_scope(owner, dependent)
    references = dependent.metadata.owner_references
    for place, present in enumerate(references):
        if _same(present, owner):
            if present == reference:
                return False
            dependent.metadata.owner_references = [*references[:place], reference, *references[place + 1 :]]
            return True
    dependent.metadata.owner_references = [*references, reference]
    return True


def _same(reference: OwnerReference, owner: Object) -> bool:
    return is_same_owner(reference, owner) and (not owner.uid or reference.uid == owner.uid)


class ObjectWriter:
    """Writes to exactly one object: never to an earlier or later object with the same name.

    ``resource`` is that of the reconciled objects, ``field_manager`` the name under which their controller writes.
    """

    __slots__ = ("_client", "field_manager", "informers", "memory", "random", "resource")

    def __init__(
        self,
        client: Client,
        informers: DeclaredInformers,
        memory: Memory,
        resource: Resource,
        field_manager: str,
        random: Random,
    ) -> None:
        self._client = client
        self.informers = informers
        self.memory = memory
        self.resource = resource
        self.field_manager = field_manager
        self.random = random

    @property
    def may_begin_old(self) -> bool:
        """Whether the cache of the reconciled objects may begin with a list of any age, so an object in it may be gone
        or being deleted.
        """
        informer = self.informers.get(self.resource.gvr)
        return informer is not None and informer.may_begin_old

    async def apply(self, obj: T, body: dict[str, Any], uid: str, *, force: bool, before: bytes | None) -> T:
        """Applies ``body``, the wanted fields of ``obj``. With a ``uid``, only the object with that uid is changed.
        ``before`` is as in `WriteRecord`.

        Raises:
            Outdated: no object of that name has the uid any more.
            ApiError: the server refused.
        """
        if uid:
            body = {**body, "metadata": {**body["metadata"], "uid": uid}}
        try:
            return await self._client.patch(
                type(obj),
                obj.name,
                Patch(body, PatchType.APPLY, force=force, before=before),
                namespace=obj.namespace or None,
                field_manager=self.field_manager,
            )
        except (Conflict, Invalid) as problem:
            if not uid or not is_namesake(problem):
                raise
            raise Outdated(
                f"{obj.kind} {obj.key} is gone, or has been replaced by another object of the same name"
            ) from problem

    async def apply_child(self, owner: Object, child: T, *, read_live: bool, force: bool) -> T:
        """Applies a child that names its ``owner`` as its controller. With ``read_live`` the cache of the child's kind
        is not used: the child is read from the server, unless its uid is remembered from an earlier apply.

        Raises:
            Outdated: the object with that name still belongs to an earlier object with the owner's name, and must be
                deleted first; or the server shows that the owner is gone or being deleted, which the cache does not
                show yet; or the object with that name was replaced by another one at every attempt.
            AdoptionError: another owner controls the object with that name.
        """
        resource, key = resource_of(type(child)), child.key
        gvr, children = resource.gvr, self.memory.children
        is_cached = self.informers.covers(resource, key, child.labels) and not read_live
        if is_cached and self.informers.is_divided(gvr):
            is_cached = key in self.informers[gvr].store  # another process may know a namesake
        body = configuration_of(child, child.namespace, "")
        before = self.informers.document(resource, key)
        for attempt in range(_TRIES):
            uid = ""
            if is_cached and attempt == 0:
                head = self.informers[gvr].store.head(key)
                if head is not None:
                    _check_owner(owner, child, head.owner_references)
                    uid = head.uid
            elif attempt or not (uid := children.get(owner, gvr, key)):
                present = await self.read(child)
                if present is not None:
                    _check_owner(owner, child, present.metadata.owner_references)
                    uid = present.uid
            if not uid:
                await self._confirm(owner)
            try:
                answer = await self.apply(child, body, uid, force=force, before=before)
            except Outdated:
                continue
            if not is_cached:
                children.note(owner, gvr, key, answer.uid)
            return answer
        raise Outdated(f"{child.kind} {key} was replaced by another object at each of {_TRIES} attempts")

    async def patch(
        self, obj: T, patch: Mapping[str, Any] | list[dict[str, Any]], type: PatchType, subresource: str
    ) -> T:
        """Patches exactly the object that was read as ``obj``.

        Raises:
            Outdated: a different object now has that name.
            NotFound: no object with that name exists.
        """
        kind, space = obj.__class__, obj.namespace or None
        manager = None if type is PatchType.JSON else self.field_manager
        body: Any = dict(patch) if isinstance(patch, Mapping) else list(patch)
        uid, version, is_guarded = obj.uid, obj.metadata.resource_version, False
        if uid and isinstance(body, list):
            body = [{"op": "test", "path": "/metadata/uid", "value": uid}, *body]
        for attempt in range(_TRIES):
            if uid and isinstance(body, dict):
                metadata = {"uid": uid, **(body.get("metadata") or {})}
                # A status is written whatever uid is named with it, but never onto another version than the named one.
                is_guarded = bool(subresource and version) and (is_guarded or "resourceVersion" not in metadata)
                if is_guarded:
                    metadata["resourceVersion"] = version
                body["metadata"] = metadata
            try:
                return await self._client.patch(
                    kind,
                    obj.name,
                    Patch(body, type, before=raw_of(obj)),
                    namespace=space,
                    subresource=subresource,
                    field_manager=manager,
                )
            except (Conflict, Invalid) as problem:
                is_stale = is_guarded and isinstance(problem, Conflict) and not problem.causes
                is_unsure = is_stale or (isinstance(problem, Invalid) and isinstance(body, list))
                if not uid or not (is_unsure or is_namesake(problem)):
                    raise
                live = await self._client.get(metadata_only(kind), obj.name, namespace=space)
                if live.uid != uid:
                    raise Outdated(
                        f"{obj.kind} {obj.key} has been replaced by another object of the same name"
                    ) from problem
                if not is_stale or attempt == _TRIES - 1:
                    raise
                version = live.metadata.resource_version
        raise AssertionError("unreachable")

    async def _confirm(self, owner: Object) -> None:
        """If caches may begin with lists of any age, checks the owner on the server. Raises `Outdated` if no object
        with the owner's uid exists there any more, or if that object is being deleted and ``owner`` does not show it
        yet.
        """
        if not self.may_begin_old:
            return
        live = await self.read(owner)
        if live is None or live.uid != owner.uid or (live.is_deleting and not owner.is_deleting):
            raise Outdated(f"{owner.kind} {owner.key} is gone or being deleted, which the cache does not show yet")

    async def read(self, obj: Object) -> Object | None:
        """The metadata of the object with the name of ``obj`` on the server; None if there is none."""
        try:
            return await self._client.get(metadata_only(type(obj)), obj.name, namespace=obj.namespace or None)
        except NotFound:
            return None


def standing_of(owner: Object, child: Object, controller: OwnerReference | None) -> Literal["own", "free", "earlier"]:
    """The relation of ``owner`` to the existing object with the name of ``child``, which ``controller`` controls: the
    object is the owner's ``own``, or it is ``free`` because it has no controller, or it belongs to an ``earlier``
    object with the owner's name and will be deleted by the garbage collector.

    Raises:
        AdoptionError: another owner controls it.
    """
    if controller is None:
        return "free"
    if controller.uid == owner.uid:
        return "own"
    if is_same_owner(controller, owner):
        return "earlier"
    raise AdoptionError(
        f"{child.kind} {child.key} is controlled by {controller.kind} {controller.name}, so {owner.kind} {owner.key} "
        "can't have a child of that name: choose another name"
    )


def _check_owner(owner: Object, child: Object, references: Iterable[OwnerReference]) -> None:
    """Raises Outdated if the existing object has to be deleted first, and AdoptionError if it has another owner."""
    controller = next((reference for reference in references if reference.controller), None)
    if standing_of(owner, child, controller) == "earlier":
        raise Outdated(
            f"{child.kind} {child.key} belongs to an earlier {owner.kind} {owner.name}: waiting for it to be deleted"
        )
