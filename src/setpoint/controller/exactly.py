"""Writes to exactly one object: never to another one of its name, whether earlier or later."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from setpoint.client import Conflict, Invalid, NotFound, PatchType
from setpoint.client.configuration import configuration_of
from setpoint.controller.failures import Outdated, is_namesake
from setpoint.controller.owner import AdoptionError, is_same_owner
from setpoint.meta import GroupVersionResource, Object, ObjectKey, resource_of

if TYPE_CHECKING:
    from setpoint.controller.context import Context
    from setpoint.controller.running import RunningController

T = TypeVar("T", bound=Object)
MAX_KNOWN: Final = 4096
_TRIES: Final = 5


class KnownChildren:
    """The uids of children that were applied without a cache to look into: of the `MAX_KNOWN` last ones."""

    __slots__ = ("_uids",)

    def __init__(self) -> None:
        self._uids: OrderedDict[tuple[str, GroupVersionResource, ObjectKey], str] = OrderedDict()

    def get(self, owner: Object, gvr: GroupVersionResource, key: ObjectKey) -> str:
        return self._uids.get((owner.uid, gvr, key), "")

    def note(self, owner: Object, gvr: GroupVersionResource, key: ObjectKey, uid: str) -> None:
        """``uid`` "" forgets the child."""
        place = (owner.uid, gvr, key)
        self._uids.pop(place, None)
        if uid:
            self._uids[place] = uid
        if len(self._uids) > MAX_KNOWN:
            self._uids.popitem(last=False)


async def apply_child(run: RunningController[Any], context: Context, child: T, *, force: bool) -> T:
    """Applies a child that names the reconciled object as its controller.

    Raises:
        Outdated: the object of that name belongs to an earlier object of the owner's name, and its end is awaited.
        AdoptionError: it is controlled by something else.
    """
    resource, key, owner = resource_of(type(child)), child.key, context.object
    gvr = resource.gvr
    cached = run.covers(resource, key, child.labels) and not (context.live and gvr in context.live)
    body = configuration_of(child, child.namespace, "")
    for attempt in range(_TRIES):
        uid = ""
        if cached and attempt == 0:
            head = run.informers[gvr].store.head(key)
            if head is not None:
                _check(owner, child, head.owner_references)
                uid = head.uid
        elif attempt or not (uid := run.children.get(owner, gvr, key)):
            try:
                present = await run.client.get(type(child), child.name, namespace=child.namespace or None)
            except NotFound:
                pass
            else:
                _check(owner, child, present.metadata.owner_references)
                uid = present.uid
        if uid:
            body["metadata"]["uid"] = uid
        else:
            body["metadata"].pop("uid", None)
        try:
            answer = await run.client.patch(
                type(child),
                child.name,
                body,
                type=PatchType.APPLY,
                namespace=child.namespace or None,
                force=force,
                field_manager=run.field_manager,
            )
        except (Conflict, Invalid) as problem:
            if not uid or not is_namesake(problem):
                raise
            run.children.note(owner, gvr, key, "")
        else:
            if not cached:
                run.children.note(owner, gvr, key, answer.uid)
            return answer
    raise Outdated(f"{child.kind} {key} comes and goes")


def _check(owner: Object, child: Object, references: Any) -> None:
    controller = next((reference for reference in references if reference.controller), None)
    if controller is None or controller.uid == owner.uid:
        return
    if is_same_owner(controller, owner):
        raise Outdated(
            f"{child.kind} {child.key} belongs to an earlier {owner.kind} {owner.name}: it is awaited that it goes"
        )
    raise AdoptionError(
        f"{child.kind} {child.key} is controlled by {controller.kind} {controller.name}, so {owner.kind} {owner.key} "
        "can't apply a child of that name: choose another one"
    )


async def patch_exactly(
    run: RunningController[Any],
    obj: T,
    patch: Mapping[str, Any] | list[dict[str, Any]],
    type: PatchType,
    subresource: str,
) -> T:
    """Patches the object that ``obj`` was read as.

    Raises:
        Outdated: the object of that name is another one by now.
        NotFound: there is none.
    """
    kind, space = obj.__class__, obj.namespace or None
    manager = None if type is PatchType.JSON else run.field_manager
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
            return await run.client.patch(
                kind, obj.name, body, type=type, namespace=space, subresource=subresource, field_manager=manager
            )
        except (Conflict, Invalid) as problem:
            stale = guarded and isinstance(problem, Conflict) and not problem.causes
            unsure = stale or (isinstance(problem, Invalid) and isinstance(body, list))
            if not uid or not (unsure or is_namesake(problem)):
                raise
            live = await run.client.get(kind, obj.name, namespace=space)
            if live.uid != uid:
                raise Outdated(f"{obj.kind} {obj.key} is another object by now") from problem
            if not stale or attempt == _TRIES - 1:
                raise
            version = live.metadata.resource_version
    raise AssertionError("unreachable")
