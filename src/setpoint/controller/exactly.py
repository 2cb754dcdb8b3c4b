"""Writes to exactly one object: never to an earlier or later object with the same name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from setpoint.client import Conflict, Invalid, NotFound, Patch, PatchType
from setpoint.client.apply_configuration import configuration_of
from setpoint.client.partial_metadata import metadata_only
from setpoint.controller.environment import Environment
from setpoint.controller.failures import Outdated, is_namesake
from setpoint.controller.memory import Memory
from setpoint.controller.owner import AdoptionError, is_same_owner
from setpoint.meta import Object, raw_of, resource_of

T = TypeVar("T", bound=Object)
_TRIES: Final = 5


async def apply_child(env: Environment, memory: Memory, owner: Object, child: T, *, read_live: bool, force: bool) -> T:
    """Applies a child that names its ``owner`` as its controller. With ``read_live`` the cache of the child's kind is
    not used: the child is read from the server, unless its uid is remembered from an earlier apply.

    Raises:
        Outdated: the object with that name still belongs to an earlier object with the owner's name, and must be
            deleted first; or the server shows that the owner is gone or being deleted, which the cache does not show
            yet; or the object with that name was replaced by another one at every attempt.
        AdoptionError: another owner controls the object with that name.
    """
    resource, key = resource_of(type(child)), child.key
    gvr = resource.gvr
    cached = env.covers(resource, key, child.labels) and not read_live
    body = configuration_of(child, child.namespace, "")
    before = env.known(resource, key)
    for attempt in range(_TRIES):
        uid = ""
        head = env.informers[gvr].store.head(key) if cached and attempt == 0 else None
        if head is not None:
            _check(owner, child, head.owner_references)
            uid = head.uid
        elif not (cached and attempt == 0) and (attempt or not (uid := memory.children.get(owner, gvr, key))):
            try:
                present = await env.client.get(
                    metadata_only(type(child)), child.name, namespace=child.namespace or None
                )
            except NotFound:
                pass
            else:
                _check(owner, child, present.metadata.owner_references)
                uid = present.uid
        if uid:
            body["metadata"]["uid"] = uid
        else:
            await _confirm(env, owner)
            body["metadata"].pop("uid", None)
        try:
            answer = await env.client.patch(
                type(child),
                child.name,
                Patch(body, PatchType.APPLY, force=force, before=before),
                namespace=child.namespace or None,
                field_manager=env.field_manager,
            )
        except (Conflict, Invalid) as problem:
            if not uid or not is_namesake(problem):
                raise
            memory.children.note(owner, gvr, key, "")
        else:
            if not cached:
                memory.children.note(owner, gvr, key, answer.uid)
            return answer
    raise Outdated(f"{child.kind} {key} comes and goes")


async def _confirm(env: Environment, owner: Object) -> None:
    """If caches may begin with lists of any age, checks the owner on the server. Raises `Outdated` if no object with
    the owner's uid exists there any more, or if that object is being deleted and ``owner`` does not show it yet.
    """
    informer = env.informers.get(env.resource.gvr)
    if informer is None or not informer.may_begin_old:
        return
    try:
        found = await env.client.get(metadata_only(type(owner)), owner.name, namespace=owner.namespace or None)
    except NotFound:
        found = None
    if found is None or found.uid != owner.uid or (found.is_deleting and not owner.is_deleting):
        raise Outdated(f"{owner.kind} {owner.key} is gone or being deleted, which the cache does not show yet")


def _check(owner: Object, child: Object, references: Any) -> None:
    controller = next((reference for reference in references if reference.controller), None)
    if controller is None or controller.uid == owner.uid:
        return
    if is_same_owner(controller, owner):
        raise Outdated(
            f"{child.kind} {child.key} belongs to an earlier {owner.kind} {owner.name}: waiting for it to be deleted"
        )
    raise AdoptionError(
        f"{child.kind} {child.key} is controlled by {controller.kind} {controller.name}, so {owner.kind} {owner.key} "
        "can't apply a child of that name: choose another one"
    )


async def patch_exactly(
    env: Environment,
    obj: T,
    patch: Mapping[str, Any] | list[dict[str, Any]],
    type: PatchType,
    subresource: str,
) -> T:
    """Patches exactly the object that was read as ``obj``.

    Raises:
        Outdated: a different object now has that name.
        NotFound: no object with that name exists.
    """
    kind, space = obj.__class__, obj.namespace or None
    manager = None if type is PatchType.JSON else env.field_manager
    body: Any = dict(patch) if isinstance(patch, Mapping) else list(patch)
    uid, version, guarded = obj.uid, obj.metadata.resource_version, False
    if uid and isinstance(body, list):
        body = [{"op": "test", "path": "/metadata/uid", "value": uid}, *body]
    for attempt in range(_TRIES):
        if uid and isinstance(body, dict):
            metadata = {"uid": uid, **(body.get("metadata") or {})}
            # A status is written whatever uid is named with it, but never onto another version than the named one.
            guarded = bool(subresource and version) and (guarded or "resourceVersion" not in metadata)
            if guarded:
                metadata["resourceVersion"] = version
            body["metadata"] = metadata
        try:
            return await env.client.patch(
                kind,
                obj.name,
                Patch(body, type, before=raw_of(obj)),
                namespace=space,
                subresource=subresource,
                field_manager=manager,
            )
        except (Conflict, Invalid) as problem:
            stale = guarded and isinstance(problem, Conflict) and not problem.causes
            unsure = stale or (isinstance(problem, Invalid) and isinstance(body, list))
            if not uid or not (unsure or is_namesake(problem)):
                raise
            live = await env.client.get(metadata_only(kind), obj.name, namespace=space)
            if live.uid != uid:
                raise Outdated(f"{obj.kind} {obj.key} is another object by now") from problem
            if not stale or attempt == _TRIES - 1:
                raise
            version = live.metadata.resource_version
    raise AssertionError("unreachable")
