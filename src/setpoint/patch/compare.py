"""The difference between two values, as sets of fields (structured-merge-diff's ``typed.Compare``)."""

from __future__ import annotations

from typing import Any

from setpoint.meta.json_values import json_equal
from setpoint.schema.schema_node import ANYTHING, UNSET, Schema

from .fieldset import EMPTY, FieldSet
from .typed import is_empty, is_granular, item_element, same


class Comparison:
    """The difference between two values. No path is in more than one of the sets, except the path of list items with
    equal keys: it is in two sets if only one of the values repeats the keys.
    """

    __slots__ = ("added", "modified", "removed")

    def __init__(self, removed: FieldSet = EMPTY, modified: FieldSet = EMPTY, added: FieldSet = EMPTY) -> None:
        self.removed = removed
        self.modified = modified
        self.added = added

    def __bool__(self) -> bool:
        return bool(self.removed) or bool(self.modified) or bool(self.added)

    def without(self, ignored: FieldSet) -> Comparison:
        """The same comparison without the fields in ``ignored`` and everything below them."""
        if not ignored:
            return self
        return Comparison(self.removed.without(ignored), self.modified.without(ignored), self.added.without(ignored))


def compare(schema: Schema, old: Any, new: Any) -> Comparison:
    """The fields that were removed, modified and added between two objects, ``old`` and ``new``."""
    result = Comparison(FieldSet(), FieldSet(), FieldSet())
    _compare_maps(schema, old if isinstance(old, dict) else {}, new if isinstance(new, dict) else {}, result)
    return result


def _compare_maps(schema: Schema, old: dict[str, Any], new: dict[str, Any], result: Comparison) -> None:
    properties, additional = schema.properties, schema.additional
    for name, after in new.items():
        before = old.get(name, UNSET)
        if before is after or (type(before) is type(after) and same(before, after)):
            continue
        _compare("f:" + name, properties.get(name) or additional or ANYTHING, before, after, result)
    for name, before in old.items():
        if name not in new:
            _compare("f:" + name, properties.get(name) or additional or ANYTHING, before, UNSET, result)


def _compare(element: str, schema: Schema, old: Any, new: Any, result: Comparison) -> None:
    if old is UNSET:
        _put_all(element, schema, new, result.added)
        return
    if new is UNSET:
        _put_all(element, schema, old, result.removed)
        return
    old_full = bool(old) and is_granular(schema, old)
    new_full = bool(new) and is_granular(schema, new)
    if not old_full and not new_full:  # a leaf, or both are empty
        if not json_equal(old, new):
            result.modified.members.add(element)
        return
    if (old_full and not new_full and not is_empty(schema, new)) or (
        new_full and not old_full and not is_empty(schema, old)
    ):
        result.modified.members.add(element)  # from a leaf to a tree or back
    inner = Comparison(FieldSet(), FieldSet(), FieldSet())
    if isinstance(old if old_full else new, dict):
        _compare_maps(schema, old if old_full else {}, new if new_full and isinstance(new, dict) else {}, inner)
    else:
        _compare_lists(schema, old if old_full else [], new if new_full and isinstance(new, list) else [], inner)
    for below, fields in (
        (inner.removed, result.removed),
        (inner.modified, result.modified),
        (inner.added, result.added),
    ):
        if below.members or below.children:
            fields.children[element] = below


def _put_all(element: str, schema: Schema, value: Any, fields: FieldSet) -> None:
    fields.members.add(element)
    if not value or not is_granular(schema, value):
        return
    below = FieldSet()
    if isinstance(value, dict):
        properties, other = schema.properties, schema.additional or ANYTHING
        for name, item in value.items():
            if isinstance(item, (dict, list)):
                _put_all("f:" + name, properties.get(name) or other, item, below)
            else:
                below.members.add("f:" + name)
    else:
        items = schema.items or ANYTHING
        for part, group in _grouped(schema, value).items():
            if len(group) == 1:
                _put_all(part, items, group[0], below)
            else:
                below.members.add(part)
    fields.children[element] = below


def _compare_lists(schema: Schema, old: list[Any], new: list[Any], result: Comparison) -> None:
    items = schema.items or ANYTHING
    old_items, new_items = _by_element(schema, old), _by_element(schema, new)
    if old_items is not None and new_items is not None:
        _compare_items(items, old_items, new_items, result)
        return
    before, after = _grouped(schema, old), _grouped(schema, new)
    for element in before | after:
        olds, news = before.get(element, []), after.get(element, [])
        if len(olds) <= 1 and len(news) <= 1:
            old_item, new_item = olds[0] if olds else UNSET, news[0] if news else UNSET
            if old_item is not new_item and not (type(old_item) is type(new_item) and same(old_item, new_item)):
                _compare(element, items, old_item, new_item, result)
        elif len(olds) > 1 and len(news) > 1:
            if not json_equal(olds, news):
                result.modified.members.add(element)
        elif len(olds) > 1:
            if news:
                _compare(element, items, UNSET, news[0], result)
            result.removed.members.add(element)
        else:
            if olds:
                _compare(element, items, olds[0], UNSET, result)
            result.added.members.add(element)


def _compare_items(items: Schema, old: dict[str, Any], new: dict[str, Any], result: Comparison) -> None:
    for element, after in new.items():
        before = old.get(element, UNSET)
        if before is not after and not (type(before) is type(after) and same(before, after)):
            _compare(element, items, before, after, result)
    for element, before in old.items():
        if element not in new:
            _compare(element, items, before, UNSET, result)


def _by_element(schema: Schema, value: list[Any]) -> dict[str, Any] | None:
    """The items by path element; None if two items have the same element."""
    by_element = {item_element(schema, item, position): item for position, item in enumerate(value)}
    return by_element if len(by_element) == len(value) else None


def _grouped(schema: Schema, value: list[Any]) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for position, item in enumerate(value):
        groups.setdefault(item_element(schema, item, position), []).append(item)
    return groups
