"""Finds the values that a version can't hold, and restores them.

``loss(before, after)`` compares an object with the same object after a conversion to another version and back, and
returns a tree of the lost values; ``restore(tree, after)`` restores them. With each lost value, the tree stores the
value that the conversion back gives instead. If the conversion back later gives a different value, the field has been
changed in between, and the lost value is obsolete. Items of lists are found by their keys or, if they have none, by
their whole content after the conversion back, so items may be added, removed and reordered.
"""

from __future__ import annotations

import hashlib
from typing import Any, TypeAlias

import msgspec

from setpoint.crd.field_path import EACH, ENTRY, MISSING, Steps
from setpoint.schema import Schema, json_equal

JSON = Any
Tree: TypeAlias = dict[str, Any]
"""A plain JSON value, so that it can be stored in an annotation. It has one of these forms:

* ``{"f": {field: tree}, "r": 1}``: the fields of an object; with ``r``, the other version does not have the
  object, so it is created if it is missing;
* ``{"k": [names], "i": [[[values], tree], ...]}``: the items of a list with keys;
* ``{"i": [[mark, tree, index], ...]}``: the items of a list without keys, identified by the mark of the item after the
  conversion back and, among items with equal marks, by index;
* ``{"v": value, "w": mark}``: a lost value, and the mark of the value that the conversion back gives instead; without
  ``v`` there was no value before, without ``w`` there is none after the conversion back.

The mark of a scalar is the scalar itself, that of a list or an object is a digest.
"""


def loss(before: JSON, after: JSON, schema: Schema | None, others: frozenset[Steps], steps: Steps = ()) -> Tree | None:
    """A tree of the differences that `restore` has to undo in ``after`` to get ``before``; None if ``before`` and
    ``after`` are equal.

    ``others`` are the paths of objects that the other version does not have.
    """
    if before is after or json_equal(before, after):
        return None
    if isinstance(before, dict) and isinstance(after, dict):
        fields = {}
        for name in before.keys() | after.keys():
            tree = loss(
                before.get(name, MISSING),
                after.get(name, MISSING),
                None if schema is None else schema.field(name),
                others,
                (*steps, ENTRY if schema is not None and schema.additional and name not in schema.properties else name),
            )
            if tree is not None:
                fields[name] = tree
        return {"f": fields, "r": 1} if steps in others else {"f": fields}
    if isinstance(before, list) and isinstance(after, list):
        items = _items_lost(before, after, schema, others, (*steps, EACH))
        if items is not None:
            return items
    leaf: Tree = {}
    if before is not MISSING:
        leaf["v"] = before
    if after is not MISSING:
        leaf["w"] = _mark(after)
    return leaf


def _items_lost(
    before: list[JSON], after: list[JSON], schema: Schema | None, others: frozenset[Steps], steps: Steps
) -> Tree | None:
    if len(before) != len(after) or not all(isinstance(item, dict) for item in (*before, *after)):
        return None
    inner = None if schema is None else schema.items
    keys = list(schema.list_map_keys) if schema is not None and schema.list_type == "map" else []
    values = [[item.get(key) for key in keys] for item in after]
    keyed = bool(keys) and values == [[item.get(key) for key in keys] for item in before]
    items = []
    for index, (old, new, value) in enumerate(zip(before, after, values, strict=True)):
        tree = loss(old, new, inner, others, steps)
        if tree is not None:
            items.append([value, tree] if keyed else [_mark(new), tree, index])
    return {"k": keys, "i": items} if keyed else {"i": items}


def largest(tree: Tree) -> str:
    """The path of the field that takes most of the tree: ``spec.template``."""
    path = []
    while fields := tree.get("f"):
        name, tree = max(fields.items(), key=lambda field: len(msgspec.json.encode(field[1])))
        path.append(name)
    return ".".join(path)


def restore(tree: JSON, after: JSON) -> JSON:
    """``after`` with the values of the tree, or `MISSING` if there was no value; ``after`` itself is not changed.

    Invalid parts of the tree are ignored, because any client can edit the annotation, and an object that can't be
    converted can't even be deleted.
    """
    if not isinstance(tree, dict):
        return after
    if isinstance(tree.get("f"), dict):
        if after is MISSING and tree.get("r"):
            after = {}
        elif not isinstance(after, dict):
            return after
        restored = dict(after)
        for name, inner in tree["f"].items():
            value = restore(inner, restored.get(name, MISSING))
            if value is MISSING:
                restored.pop(name, None)
            else:
                restored[name] = value
        return restored
    if isinstance(tree.get("i"), list):
        return _with_items(tree, after) if isinstance(after, list) else after
    if ("w" in tree) == (after is MISSING) or (after is not MISSING and tree.get("w") != _mark(after)):
        return after
    return tree.get("v", MISSING)


def _with_items(tree: Tree, after: list[JSON]) -> list[JSON]:
    stored_keys = tree.get("k")
    keys = [key for key in stored_keys if isinstance(key, str)] if isinstance(stored_keys, list) else []
    marks: list[JSON] = [
        [item.get(key) for key in keys] if keys and isinstance(item, dict) else _mark(item) for item in after
    ]
    restored = list(after)
    free = set(range(len(marks)))
    entries = [entry for entry in tree["i"] if isinstance(entry, list) and len(entry) in (2, 3)]
    moved = []
    for mark, inner, *place in entries:
        index = place[0] if place and isinstance(place[0], int) else -1
        if index in free and marks[index] == mark:
            restored[index] = restore(inner, restored[index])
            free.discard(index)
        else:
            moved.append((mark, inner))
    for mark, inner in moved:
        for index in sorted(free):
            if marks[index] == mark:
                restored[index] = restore(inner, restored[index])
                free.discard(index)
                break
    return restored


def _mark(value: JSON) -> JSON:
    """The value itself if it is a scalar. For a list or an object, a list that contains only its digest."""
    if isinstance(value, dict | list):
        return [hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()[:16]]
    return value
