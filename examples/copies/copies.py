"""copies.py: copies of a Secret in all namespaces with certain labels, kept equal to it.

A Secret asks for copies with the annotation ``copies.example.com/to: team=red``, a label selector of namespaces. Owner
references don't reach into other namespaces, so a copy names its original in an annotation, and a finalizer removes the
copies before their original goes. A second controller looks at the copies, and removes those that have no original: a
request that was late made them. A Secret of that name that is not a copy is never touched.

python examples/copies/copies.py run --embedded
"""

from collections.abc import Mapping, Sequence

import setpoint as sp
from setpoint.client import NotFound
from setpoint.controller.predicates import objects_where
from setpoint.models.core_v1 import Namespace, Secret

TO = "copies.example.com/to"
FROM = "copies.example.com/from"
FINALIZER = "copies.example.com/copies"


def copy_of(original: Secret, namespace: str) -> Secret:
    copy = Secret.named(original.name, namespace, annotations={FROM: original.key})
    copy.type, copy.data = original.type, original.data
    return copy


async def spread(original: Secret, ctx: sp.Context, namespaces: set[str]) -> list[str]:
    """Makes the copies as they are wanted; returns the namespaces in which another Secret has the name."""
    occupied: list[str] = []
    new: list[Secret] = []
    changed: list[Secret] = []
    copies = await ctx.list(Secret, namespace="*", index=("copies", original.key))
    surplus = [copy for copy in copies if copy.namespace not in namespaces]
    for namespace in sorted(namespaces):
        existing = await ctx.get(Secret, original.name, namespace=namespace)
        if existing is None:
            new.append(copy_of(original, namespace))
        elif existing.annotations.get(FROM) != original.key:
            occupied.append(namespace)
        elif existing.type != original.type:
            surplus.append(existing)  # a type can't be changed; the copy comes back when this one is gone
        elif existing.data != original.data:
            existing.data = original.data
            changed.append(existing)
    if new or changed or surplus:
        await ctx.ensure_current()  # copies of an original that is gone would stay
    for copy in new:
        await ctx.create(copy, controlled=False)  # and no apply, which would merge with one that came meanwhile
    for copy in changed:
        await ctx.client.update(copy)
    for copy in surplus:
        await ctx.delete(copy)
    return occupied


async def reconcile(original: Secret, ctx: sp.Context) -> None:
    namespaces: set[str] = set()
    if TO in original.annotations and FROM not in original.annotations:
        matching = await ctx.list(Namespace, selector=original.annotations[TO])
        namespaces = {namespace.name for namespace in matching if not namespace.is_deleting} - {original.namespace}
    if occupied := await spread(original, ctx, namespaces):
        ctx.event("Warning", "Taken", f"there is another Secret {original.name} in {', '.join(occupied)}")


async def clean_up(original: Secret, ctx: sp.Context) -> None:
    await spread(original, ctx, set())


async def sweep(copy: Secret, ctx: sp.Context) -> None:
    """Deletes a copy that has no original. A request to make it may have waited on its way to the server until the
    original had gone."""
    origin = sp.ObjectKey(copy.annotations[FROM])
    original = await ctx.get(Secret, origin.name, namespace=origin.namespace)
    if original is None or not asks(original.annotations, original.metadata.finalizers):
        try:  # the cache may be behind
            original = await ctx.client.get(Secret, origin.name, namespace=origin.namespace)
        except NotFound:
            original = None
    if original is None or not asks(original.annotations, original.metadata.finalizers):
        await ctx.ensure_current()  # by now it may be a Secret of others
        await ctx.delete(copy)


def is_copy(head: sp.Head) -> bool:
    return FROM in head.annotations


def is_original(head: sp.Head) -> bool:
    return asks(head.annotations, head.finalizers)


def asks(annotations: Mapping[str, str], finalizers: Sequence[str]) -> bool:
    """Whether a Secret asks for copies, or has asked."""
    return (TO in annotations and FROM not in annotations) or FINALIZER in finalizers


def originals_by_name(head: sp.Head) -> list[str]:
    return [f"named {head.name}", "any"] if is_original(head) else []


def copied(head: sp.Head) -> list[str]:
    return [head.annotations[FROM]] if is_copy(head) else []


def originals_of(changed: sp.Head, caches: sp.CacheReader) -> list[sp.ObjectKey]:
    """The originals that a change of another Secret concerns: it was their copy, or it is in a copy's way."""
    return caches.lister(Secret).keys(index=("originals", f"named {changed.name}"))


def copies_of(changed: sp.Head, caches: sp.CacheReader) -> list[sp.ObjectKey]:
    return caches.lister(Secret).keys(index=("copies", changed.key))


def all_originals(changed: sp.Head, caches: sp.CacheReader) -> list[sp.ObjectKey]:
    return caches.lister(Secret).keys(index=("originals", "any"))


controller = (
    sp.Controller(Secret, reconcile, name="copies", predicates=[objects_where(is_original)])
    .index("originals", originals_by_name, as_=sp.Head)
    .index("copies", copied, as_=sp.Head)
    .watches(Secret, originals_of)
    .watches(Namespace, all_originals)
    .finalize(clean_up, name=FINALIZER)
    .needs(Secret, "create", "delete")
)

sweeper = (
    sp.Controller(Secret, sweep, name="copies-sweep", predicates=[objects_where(is_copy)])
    .index("copies", copied, as_=sp.Head)
    .watches(Secret, copies_of)
    .needs(Secret, "delete")
)
controllers = (controller, sweeper)

if __name__ == "__main__":
    sp.main(*controllers, name="copies.example.com")
