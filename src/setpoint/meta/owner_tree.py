"""Trees of owners: the owners of an object above it, and the objects that it owns below it, each with its state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

MOST: Final = 200
"""The maximum number of owned objects in one tree."""
DEPTH: Final = 5
"""The maximum number of generations below an object, and of those above it."""

References = Sequence[Mapping[str, Any]]
"""The owner references of an object, as JSON."""


class TreeNode(msgspec.Struct, rename="camel", kw_only=True):
    """An object in a tree. ``resource`` is PLURAL or PLURAL.GROUP.

    ``state`` and ``text`` are a state and its reason, as `setpoint.meta.object_status.standing` gives them, and
    ``ready`` is the number of the object's parts that are ready. All three, and ``resource``, are ``""`` if only a
    reference names the object, and all three if only its metadata are known.
    """

    resource: str
    kind: str
    key: str
    state: str
    text: str
    ready: str
    owns: list[TreeNode]


def owned_tree(uid: str, below: Callable[[str], Iterable[tuple[str, TreeNode]]]) -> tuple[list[TreeNode], bool]:
    """The objects that the object with that uid owns, each with the objects that it owns in turn: at most `MOST`
    objects and `DEPTH` generations; and whether there are more than `MOST`. Each object appears once, however many
    owners it has.

    ``below(uid)`` yields the owned objects of one object, each with its uid and without further objects. No more of
    them are requested than fit.
    """
    met = {uid}
    has_more = False

    def children(owner: str, depth: int) -> list[TreeNode]:
        nonlocal has_more
        nodes: list[TreeNode] = []
        for child, node in below(owner) if depth and owner else ():
            if child in met:
                continue
            if len(met) > MOST:
                has_more = True
                break
            met.add(child)
            node.owns = children(child, depth - 1)
            nodes.append(node)
        return nodes

    return children(uid, DEPTH), has_more


def owners_above(
    references: References, resolve: Callable[[References], Iterable[tuple[TreeNode, References]]]
) -> list[list[TreeNode]]:
    """The owners that ``references`` name, then the owners of these, and so on: at most `DEPTH` generations, the
    nearest first.

    ``resolve`` returns a node for each reference, with the references of that owner.
    """
    levels: list[list[TreeNode]] = []
    met: set[str] = set()
    while len(levels) < DEPTH:
        fresh = {uid: reference for reference in references if (uid := str(reference.get("uid"))) not in met}
        if not fresh:
            break
        met.update(fresh)
        resolved = list(resolve([*fresh.values()]))
        levels.append([node for node, _ in resolved])
        references = [reference for _, further in resolved for reference in further]
    return levels


def references_of(obj: Mapping[str, Any]) -> References:
    """The owner references of ``obj``, an object as JSON, whatever it contains."""
    metadata = obj.get("metadata")
    references = metadata.get("ownerReferences") if isinstance(metadata, dict) else None
    return [reference for reference in references or () if isinstance(reference, dict)]


def unresolved(reference: Mapping[str, Any], namespace: str) -> TreeNode:
    """The node of an owner of which only the reference is known. ``namespace`` is that of the object that it owns."""
    name = str(reference.get("name"))
    key = f"{namespace}/{name}" if namespace else name
    return TreeNode(resource="", kind=str(reference.get("kind")), key=key, state="", text="", ready="", owns=[])
