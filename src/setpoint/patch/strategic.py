"""Strategic merge patch: a merge patch that can merge lists by key (apimachinery's ``util/strategicpatch``).

Directives in patches:

* ``$patch: replace`` in an object: use this object instead of merging; in a list item: use this list instead of
  merging;
* ``$patch: delete`` in an object: empty it; in an item of a list with a merge key: delete the item with that key;
* ``$retainKeys: [names]``: drop all fields that are not named;
* ``$setElementOrder/LIST: [...]``: the order of the items (keys only) of LIST;
* ``$deleteFromPrimitiveList/LIST: [...]``: values to delete from LIST.

`Schema` declares the merge with ``patch_strategy`` and ``patch_merge_key``. Custom resources have no strategic merge
patch: API servers answer with 415.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

from setpoint.meta.json_values import json_equal, token
from setpoint.schema.schema_node import ANYTHING, Schema

from .go_text import go_text

_DIRECTIVE: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_ORDER: Final = "$setElementOrder/"
_DELETE: Final = "$deleteFromPrimitiveList/"


class StrategicPatchError(ValueError):
    """The patch has invalid directives, or lists contain items without their merge key."""


def apply(schema: Schema, document: Mapping[str, Any] | None, patch: Mapping[str, Any]) -> dict[str, Any]:
    """``document`` with ``patch`` merged into it. Neither argument is changed; the result may share parts with both.

    Raises StrategicPatchError if the patch has invalid directives, or if an item of a merged list lacks its merge key.
    """
    return _merge_map(schema, document or {}, patch)


def _child(schema: Schema, name: str) -> Schema:
    return schema.field(name) or ANYTHING


def without_directives(schema: Schema, document: Any, patch: Any) -> Any:
    """The patch as upstream shows it after it was applied to ``document``: maps that were merged with one of the
    document have no ``$patch`` and ``$retainKeys``.
    """
    if isinstance(patch, dict) and isinstance(document, dict):
        return {
            key: without_directives(_child(schema, key), document.get(key), value)
            for key, value in patch.items()
            if key not in (_DIRECTIVE, _RETAIN)
        }
    key = schema.patch_merge_key
    if not key or not isinstance(patch, list) or not isinstance(document, list):
        return patch
    items = {token(item.get(key)): item for item in document if isinstance(item, dict)}
    element, maps = schema.items or ANYTHING, [item for item in patch if isinstance(item, dict)]
    return [without_directives(element, items.get(token(item.get(key))), item) for item in maps]


def _strategy(schema: Schema) -> tuple[bool, str]:
    """Whether the strategy contains ``retainKeys`` (in which case fields that the patch does not name are dropped), and
    the other strategy: ``merge``, ``replace`` or ``""``.
    """
    others = [name for name in schema.patch_strategy if name != "retainKeys"]
    return len(others) != len(schema.patch_strategy), others[0] if others else ""


def _merge_map(schema: Schema, original: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    directive = patch.get(_DIRECTIVE)
    if directive == "replace":
        return {name: value for name, value in patch.items() if name != _DIRECTIVE}
    if directive == "delete":
        return {}
    if _DIRECTIVE in patch:
        text = f"unknown patch type: {go_text(directive)} in map: {go_text(patch)}"
        raise StrategicPatchError(text)
    result = dict(original)
    if _RETAIN in patch:
        _retain(result, patch)
    ordered = {name[len(_ORDER) :]: order for name, order in patch.items() if name.startswith(_ORDER)}
    for name, order in ordered.items():
        _merge_ordered(_child(schema, name), name, order, original, patch, result)
    for name, value in patch.items():
        if name.startswith(_ORDER) or name == _RETAIN or name in ordered:
            continue
        if name.startswith(_DELETE):
            current = result.get(name[len(_DELETE) :])
            if isinstance(current, list) and isinstance(value, list):
                _check_alike(current, value)
                deletions = _places(value, "")
                result[name[len(_DELETE) :]] = [item for item in current if token(item) not in deletions]
            continue
        _merge_field(_child(schema, name), name, value, result)
    return result


def _merge_field(schema: Schema, name: str, value: Any, result: dict[str, Any]) -> None:
    if value is None:
        result.pop(name, None)
        return
    current = result.get(name)
    if isinstance(value, dict) and isinstance(current, dict):
        result[name] = value if _strategy(schema)[1] == "replace" else _merge_map(schema, current, value)
    elif isinstance(value, list) and isinstance(current, list):
        result[name] = _merge_list(schema, current, value) if _strategy(schema)[1] == "merge" else value
    else:
        fresh = _fresh(value)
        if fresh is None:
            result.pop(name, None)
        else:
            result[name] = fresh


def _fresh(value: Any) -> Any:
    """The result of merging a value into nothing: the value without nulls in objects and without ``$patch``; None for
    an object with that directive. As in upstream, other directives stay, and are unknown fields.
    """
    if isinstance(value, dict):
        if _DIRECTIVE in value:
            return None
        cleaned: dict[str, Any] = {}
        for name, item in value.items():
            if item is None:
                continue
            inner = _fresh(item)
            if inner is not None:
                cleaned[name] = inner
        return cleaned
    if isinstance(value, list):
        return [_fresh(item) for item in value if not (isinstance(item, dict) and _DIRECTIVE in item)]
    return value


def _retain(result: dict[str, Any], patch: Mapping[str, Any]) -> None:
    retained = patch[_RETAIN]
    if not isinstance(retained, list):
        raise StrategicPatchError("invalid patch format of retainKeys")
    names = {name for name in retained if isinstance(name, str)}
    for name, value in patch.items():
        if name != _RETAIN and value is not None and not name.startswith((_ORDER, _DELETE)) and name not in names:
            raise StrategicPatchError(f"the patch sets {name!r}, which its {_RETAIN} list drops")
    for name in list(result):
        if name not in names:
            del result[name]


def _merge_ordered(
    schema: Schema, name: str, order: Any, original: Mapping[str, Any], patch: Mapping[str, Any], result: dict[str, Any]
) -> None:
    """Merges the list ``name`` and sorts its items into the order of the patch's ``$setElementOrder`` list."""
    key = schema.patch_merge_key
    before, changes = result.get(name), patch.get(name)
    for expected, items in (("list", order), ("list", before), ("list", changes)):
        if items is not None and not isinstance(items, list):
            raise StrategicPatchError(f"{_ORDER}{name}: {expected} expected, got {type(items).__name__}")
    _check_order(changes or [], order, key)
    if before is None and changes is None:
        return
    if changes is None:
        merged = before
    elif before is None:
        merged = _fresh(changes)
    elif _strategy(schema)[1] == "merge":
        merged = _merge_list(schema, before, changes)
    else:
        merged = changes
    assert isinstance(merged, list)
    ordered, others = _partition(merged, _places(order, key), key)
    result[name] = _interleave(others, ordered, order, original.get(name) or [], key)


def _check_order(changes: list[Any], order: list[Any], key: str) -> None:
    if not order:
        return
    plain_items = [item for item in changes if not (isinstance(item, dict) and _DIRECTIVE in item)]
    places = _places(order, key)
    positions = [_position(places, item, key) for item in plain_items]
    if -1 in positions or positions != sorted(positions):
        raise StrategicPatchError(
            f"The order in patch list:\n{go_text(changes)}\n doesn't match $setElementOrder list:\n{go_text(order)}\n"
        )


def _check_alike(original: list[Any], patch: list[Any]) -> None:
    """Raises StrategicPatchError if the items of both lists are not of one type."""
    if len({type(item) for item in (*original, *patch)}) > 1:
        raise StrategicPatchError(f"list element types are not identical: {go_text([original, patch])}")


def _merge_list(schema: Schema, original: list[Any], patch: list[Any]) -> list[Any]:
    items = original + patch
    if not items:
        return original
    _check_alike(original, patch)
    key = schema.patch_merge_key
    if not any(isinstance(item, dict) for item in items):
        merged = list(dict.fromkeys(items)) if not any(isinstance(item, list) for item in items) else items
        ordered, others = _partition(merged, _places(patch, ""), "")
        return _interleave(others, ordered, patch, original, "")
    if not key:
        raise StrategicPatchError("cannot merge lists of objects without a merge key")
    original, patch = _special_items(original, patch, key)
    merged = list(original)
    element = schema.items or ANYTHING
    places = _places(merged, key)
    for item in patch:
        position = places.setdefault(token(_key_of(item, key)), len(merged))
        if position == len(merged):
            merged.append(item)
        else:
            merged[position] = _merge_map(element, merged[position], item)
    ordered, others = _partition(merged, _places(patch, key), key)
    return _interleave(others, ordered, patch, original, key)


def _special_items(original: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Carries out the ``$patch`` directives among a list's items; returns the items that remain to be merged."""
    rest: list[Any] = []
    deletions: set[Hashable] = set()
    replace = False
    for item in patch:
        if not isinstance(item, dict):
            raise StrategicPatchError(f"items of a list with merge key {key!r} must be objects, got {item!r}")
        if _DIRECTIVE not in item:
            rest.append(item)
        elif item[_DIRECTIVE] == "delete":
            deletions.add(token(_key_of(item, key)))
        elif item[_DIRECTIVE] == "replace":
            replace = True
        elif item[_DIRECTIVE] == "merge":
            raise StrategicPatchError("merging lists cannot yet be specified in the patch")
        else:
            text = f"unknown patch type: {go_text(item[_DIRECTIVE])} in map: {go_text(item)}"
            raise StrategicPatchError(text)
    if deletions:
        original = [other for other in original if token(_key_of(other, key)) not in deletions]
    return (rest, []) if replace else (original, rest)


def _key_of(item: Any, key: str) -> Any:
    if not isinstance(item, dict) or key not in item:
        text = f"map: {go_text(item)} does not contain declared merge key: {key}"
        raise StrategicPatchError(text)
    return item[key]


def _places(items: Sequence[Any], key: str) -> dict[Hashable, int]:
    """The index of the first item with each key (or, without ``key``, with each value)."""
    places: dict[Hashable, int] = {}
    for position, item in enumerate(items):
        places.setdefault(token(_key_of(item, key) if key else item), position)
    return places


def _position(places: Mapping[Hashable, int], item: Any, key: str) -> int:
    """The index in ``places`` of the item with the same key (or, without ``key``, the same value), or -1."""
    return places.get(token(_key_of(item, key) if key else item), -1)


def _partition(items: Sequence[Any], places: Mapping[Hashable, int], key: str) -> tuple[list[Any], list[Any]]:
    """Two lists: the items that are in ``places``, and the other items."""
    ordered: list[Any] = []
    others: list[Any] = []
    for item in items:
        (others if _position(places, item, key) < 0 else ordered).append(item)
    return ordered, others


def _interleave(others: list[Any], ordered: list[Any], order: list[Any], before: list[Any], key: str) -> list[Any]:
    """``ordered``, sorted as in ``order``, combined with ``others``, which keep their order and positions from
    ``before``.
    """
    wanted, old_places = _places(order, key), _places(before, key) if others else {}
    ordered, others = _sorted(ordered, wanted, key), _sorted(others, old_places, key)
    result: list[Any] = []
    i = j = 0
    while i < len(others) and j < len(ordered):
        left, right = _position(old_places, others[i], key), _position(old_places, ordered[j], key)
        if 0 <= left < right:
            result.append(others[i])
            i += 1
        else:
            result.append(ordered[j])
            j += 1
    return result + ordered[j:] + others[i:]


def _sorted(items: list[Any], places: Mapping[Hashable, int], key: str) -> list[Any]:
    positions = [_position(places, item, key) for item in items]
    return [item for _, item in sorted(zip(positions, items, strict=True), key=itemgetter(0))]


def diff(schema: Schema, original: Mapping[str, Any], modified: Mapping[str, Any]) -> dict[str, Any]:
    """The two-way patch with ``apply(schema, original, patch) == modified`` (client-go's CreateTwoWayMergePatch).

    This requires that no object in ``modified`` holds a null, and that items of merged lists have different keys. The
    result shares parts with ``modified``. Raises StrategicPatchError if items lack their merge key.
    """
    return _diff_maps(schema, original, modified, False)


def _diff_maps(
    schema: Schema, original: Mapping[str, Any], modified: Mapping[str, Any], retain: bool
) -> dict[str, Any]:
    patch: dict[str, Any] = {}
    for name, after in modified.items():
        if name not in original:
            patch[name] = after
            continue
        before = original[name]
        if before is after or json_equal(before, after):
            continue
        child = _child(schema, name)
        retain_keys, strategy = _strategy(child)
        if isinstance(before, dict) and isinstance(after, dict) and strategy != "replace":
            inner = _diff_maps(child, before, after, retain_keys)
            if inner:
                patch[name] = inner
        elif isinstance(before, list) and isinstance(after, list) and strategy == "merge":
            _diff_lists(child, name, before, after, retain_keys, patch)
        else:
            patch[name] = after
    patch.update({name: None for name in original if name not in modified})
    if retain and patch:
        names = sorted(name for name, value in modified.items() if value is not None)
        if names:
            patch[_RETAIN] = names
    return patch


def _diff_lists(
    schema: Schema, name: str, before: list[Any], after: list[Any], retain: bool, patch: dict[str, Any]
) -> None:
    if not before:
        patch[name] = after
        return
    key = schema.patch_merge_key
    if not any(isinstance(item, dict) for item in before + after):
        old_places, has = _places(before, ""), _places(after, "")
        added = [item for item in after if token(item) not in old_places]
        deleted = sorted(dict.fromkeys(item for item in before if token(item) not in has), key=str)
        if added:
            patch[name] = added
        if deleted:
            patch[_DELETE + name] = deleted
        if after:
            patch[_ORDER + name] = after
        return
    if not key:
        patch[name] = after
        return
    element = schema.items or ANYTHING
    changes: list[Any] = []
    old_places, has = _places(before, key), _places(after, key)
    for item in after:
        position = _position(old_places, item, key)
        if position < 0:
            changes.append(item)
            continue
        inner = _diff_maps(element, before[position], item, retain)
        if inner:
            changes.append({**inner, key: item[key]})
    deletions = sorted((item[key] for item in before if _position(has, item, key) < 0), key=str)
    changes += [{_DIRECTIVE: "delete", key: value} for value in deletions]
    if changes:
        patch[name] = changes
    if after:
        patch[_ORDER + name] = [{key: item[key]} for item in after]
