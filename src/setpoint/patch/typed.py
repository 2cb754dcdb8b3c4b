"""Values interpreted by their schema: the tree walks of server-side apply.

The schema determines how a value merges: objects merge field by field unless ``map_type`` is atomic; lists
are replaced as a whole unless ``list_type`` is ``set`` or ``map``; everything else is a leaf. Without a schema,
objects merge by field and lists are atomic. Semantics: structured-merge-diff's ``typed``.
"""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

from setpoint.schema.schema_node import ANYTHING, UNSET, Schema

from .fieldset import EMPTY, FieldSet, path_text
from .fieldset import key as key_element
from .fieldset import value as value_element
from .go_text import go_text

_GRANULAR: Final = frozenset({"set", "map"})
_encode: Final = msgspec.json.Encoder().encode


class TypedError(ValueError):
    """A list does not fit its schema: an item of a map-list has no keys or is not an object, or an item of a set is
    null, a list or an object.
    """


def field_set(schema: Schema, value: Any) -> FieldSet:
    """The fields that a manager owns after applying ``value``: its leaves, list items, keys of maps, and empty
    objects.
    """
    if isinstance(value, dict) and schema.map_type != "atomic":
        return _map_fields(schema, value)
    if isinstance(value, list) and schema.list_type in _GRANULAR:
        return _list_fields(schema, value)
    return FieldSet()


def _map_fields(schema: Schema, value: dict[str, Any]) -> FieldSet:
    members: set[str] = set()
    children: dict[str, FieldSet] = {}
    properties = schema.properties
    for name, item in value.items():
        element = "f:" + name
        child = properties.get(name)
        if child is None:
            members.add(element)
            child = schema.additional or ANYTHING
        if isinstance(item, dict):
            if not item or child.map_type == "atomic":
                members.add(element)
            else:
                children[element] = _map_fields(child, item)
        elif isinstance(item, list) and child.list_type in _GRANULAR:
            if item:
                children[element] = _list_fields(child, item)
        else:
            members.add(element)
    return FieldSet(members, children)


def _list_fields(schema: Schema, value: list[Any]) -> FieldSet:
    members: set[str] = set()
    children: dict[str, FieldSet] = {}
    items = schema.items or ANYTHING
    for position, item in enumerate(value):
        element = item_element(schema, item, position)
        if element in members:
            children.pop(element, None)  # items with equal keys are owned together, as one leaf
            continue
        members.add(element)
        if isinstance(item, dict) and items.map_type != "atomic":
            inner = _map_fields(items, item)
            if inner.members or inner.children:
                children[element] = inner
    return FieldSet(members, children)


def item_element(schema: Schema, item: Any, position: int) -> str:
    """The path element that identifies an item of a set or map-list. Raises TypedError if there is none."""
    if schema.list_type == "set":
        if isinstance(item, (dict, list)) or item is None:
            kind = "an explicit null" if item is None else "a map type" if isinstance(item, dict) else "a list type"
            raise TypedError(f"element {position}: associative list without keys has an element that's {kind}")
        return value_element(item)
    if not isinstance(item, dict):
        kind = "a null element" if item is None else "non-map elements"
        raise TypedError(f"element {position}: associative list with keys may not have {kind}")
    keys: dict[str, Any] = {}
    names = schema.list_map_keys
    for name in names:
        value = item.get(name, UNSET)
        if value is UNSET and schema.items is not None:
            declared = schema.items.properties.get(name)
            value = UNSET if declared is None else declared.zero if declared.default is UNSET else declared.default
        if value is not UNSET:
            keys[name] = value
    if not keys:
        listed = " ".join(f'"{name}"' for name in names)
        raise TypedError(
            f"element {position}: associative list with keys has an element that omits all key fields [{listed}]"
            " (and doesn't have default values for any key fields)"
        )
    return key_element(keys)


def is_granular(schema: Schema, value: Any) -> bool:
    """Whether ``value`` merges part by part: an object by field, a set or map-list by item."""
    if isinstance(value, dict):
        return schema.map_type != "atomic"
    return isinstance(value, list) and schema.list_type in _GRANULAR


def is_empty(schema: Schema, value: Any) -> bool:
    """Whether ``value`` is null, or an object, set or map-list without parts."""
    return value is None or (not value and is_granular(schema, value))


def same(old: Any, new: Any) -> bool:
    """Whether two values of the same type are certain to be equal; False for equal objects whose fields are in
    different orders. Raises RecursionError for values that are nested too deeply.
    """
    if isinstance(old, (dict, list)):
        # Most values that are not equal differ in the first fields; the encoder distinguishes true from 1, unlike ==.
        return len(old) == len(new) and bool(old == new) and _encode(old) == _encode(new)
    return bool(old == new)


def merge(schema: Schema, live: Any, applied: Any) -> Any:
    """``applied`` merged over ``live``. Neither is changed; the result shares parts with both, and is ``live`` if
    nothing changes.

    Items of map-lists and sets keep the order of ``applied``; items that are only in ``live`` keep their places between
    them.
    """
    if live is UNSET or live is applied:
        return applied
    if isinstance(applied, dict):
        if not isinstance(live, dict) or not live or schema.map_type == "atomic":
            return live if type(live) is dict and same(live, applied) else applied
        properties, additional = schema.properties, schema.additional
        result = live
        for name, item in applied.items():
            before = live.get(name, UNSET)
            if isinstance(item, (dict, list)) and before is not UNSET and before is not None:
                after = merge(properties.get(name) or additional or ANYTHING, before, item)
            elif type(item) is type(before) and item == before:
                continue
            else:
                after = before if item is None and before and _has_structure(schema, name, before) else item
            if after is not before:
                if result is live:
                    result = dict(live)
                result[name] = after
        return result
    if isinstance(applied, list):
        if not isinstance(live, list) or schema.list_type not in _GRANULAR or not live:
            return live if type(live) is list and same(live, applied) else applied
        return _merge_lists(schema, live, applied) if applied else live
    return applied


def _has_structure(schema: Schema, name: str, value: Any) -> bool:
    """Whether the value is granular content that stays unchanged when a null is merged over it."""
    return is_granular(schema.field(name) or ANYTHING, value)


def _merge_lists(schema: Schema, live: list[Any], applied: list[Any]) -> list[Any]:
    items = schema.items or ANYTHING
    left = [item_element(schema, item, position) for position, item in enumerate(live)]
    right = [item_element(schema, item, position) for position, item in enumerate(applied)]
    live_items: dict[str, Any] = {}
    for element, item in zip(left, live, strict=True):
        live_items[element] = None if element in live_items else item  # items with equal keys are replaced, not merged
    applied_items = dict(zip(right, applied, strict=True))
    shared = iter([element for element in right if element in live_items])
    next_shared = next(shared, None)
    merged: set[str] = set()
    result: list[Any] = []
    i = j = 0
    while i < len(left) or j < len(right):
        if i < len(left) and j < len(right):
            element = left[i]
            if element == right[j]:
                merged.add(element)
                result.append(merge(items, live_items[element], applied_items[element]))
                i, j, next_shared = i + 1, j + 1, next(shared, None)
                continue
            if element in applied_items and next_shared is not None and next_shared != element:
                i += 1
                continue
        if i < len(left):
            element = left[i]
            if element not in applied_items:
                result.append(live[i])
                i += 1
                continue
            if element in merged:
                i += 1
        if j < len(right):
            element = right[j]
            merged.add(element)
            before = live_items.get(element)
            result.append(applied_items[element] if before is None else merge(items, before, applied_items[element]))
            j += 1
            if next_shared == element:
                next_shared = next(shared, None)
    if len(result) == len(live) and all(
        merged_item is live_item for merged_item, live_item in zip(result, live, strict=True)
    ):
        return live
    return result


def remove(schema: Schema, value: Any, fields: FieldSet) -> Any:
    """``value`` without the members of ``fields``. Objects and lists that lose their last content become null.

    ``value`` is not changed; the result shares unchanged parts with it.
    """
    if isinstance(value, dict):
        if schema.map_type == "atomic" or not value:
            return value
        members, children = fields.members, fields.children
        result: dict[str, Any] = {}
        for name, item in value.items():
            element = "f:" + name
            if element in members:
                continue
            below = children.get(element)
            if below is not None:
                item = remove(schema.field(name) or ANYTHING, item, below)
            result[name] = item
        return result or None
    if isinstance(value, list):
        if schema.list_type not in _GRANULAR or not value:
            return value
        remaining: list[Any] = []
        for position, item in enumerate(value):
            element = item_element(schema, item, position)
            if element in fields.members:
                continue
            below = fields.children.get(element)
            if below is not None:
                item = remove(schema.items or ANYTHING, item, below)
            remaining.append(item)
        return remaining or None
    return value


def ensure_named(schema: Schema | None, fields: FieldSet) -> FieldSet:
    """``fields`` plus every field that the schema declares and that has some of ``fields`` below it. Sets of owned
    fields leave out such parents.
    """
    if not fields.children:
        return fields
    members = set(fields.members)
    children: dict[str, FieldSet] = {}
    for element, below in fields.children.items():
        child: Schema | None = None
        if schema is not None:
            if element[0] == "f":
                child = schema.properties.get(element[2:])
                if child is not None:
                    members.add(element)
                else:
                    child = schema.additional
            else:
                child = schema.items
        children[element] = ensure_named(child, below)
    return FieldSet(members, children)


def reconcile(schema: Schema, fields: FieldSet) -> FieldSet:
    """``fields`` that were recorded under an older schema, adapted to this schema: a field that became atomic
    replaces its parts.
    """
    changed: dict[str, FieldSet] | None = None
    members = fields.members
    for element, below in fields.children.items():
        if element[0] == "f":
            child = schema.properties.get(element[2:]) or schema.additional or ANYTHING
        else:
            child = schema.items or ANYTHING
        atomic = child.map_type == "atomic" or (child.type == "array" and child.list_type not in _GRANULAR)
        if not atomic and not below.children:
            continue
        inner = EMPTY if atomic else reconcile(child, below)
        if inner is not below:
            if changed is None:
                changed = dict(fields.children)
            if atomic:
                members = members | {element}
                del changed[element]
            else:
                changed[element] = inner
    return fields if changed is None else FieldSet(members, changed)


_EXPECTED: Final[dict[str, tuple[type | tuple[type, ...], str]]] = {
    "string": (str, "string"),
    "boolean": (bool, "boolean"),
    "integer": ((int, float), "numeric (int or float)"),
    "number": ((int, float), "numeric (int or float)"),
    "object": (dict, "map"),
    "array": (list, "list"),
}


_GO_TYPES: Final = {str: "string", bool: "bool", int: "int64", float: "float64", dict: "map[string]interface {}"}


def _go_value(expected: str, value: Any) -> str:
    """A value of a wrong type in structured-merge-diff's format, which depends on the expected type."""
    if expected == "string":
        inner = json.dumps(value) if isinstance(value, str | int | float) else go_text(value)
        return f"&value.valueUnstructured{{Value:{inner}}}"
    if expected in ("object", "array", "boolean"):
        return f"&{{{go_text(value)}}}"
    return _GO_TYPES.get(type(value), "[]interface {}")


def type_errors(schema: Schema, value: Any) -> list[str]:
    """The reasons why ``value`` cannot be applied, as ``path: reason``: wrong types, undeclared fields, list items
    without keys or with equal keys. Empty if it can be applied.
    """
    return [f"{path}: {reason}" for path, reason in _type_errors(schema, value) or ()]


def _type_errors(schema: Schema, value: Any) -> list[tuple[str, str]] | None:
    # Paths are built only on the way up from an error.
    if value is None:
        return None
    if schema.type:
        kinds, expected = _EXPECTED[schema.type]
        if not isinstance(value, kinds) or (value.__class__ is bool and schema.type in ("integer", "number")):
            return [("", f"expected {expected}, got {_go_value(schema.type, value)}")]
    elif schema.any_of and isinstance(value, dict | list):  # as of quantities, which are strings or numbers
        return [("", f"expected any scalar, got {_go_value('object', value)}")]
    errors: list[tuple[str, str]] = []
    if isinstance(value, dict):
        properties, additional = schema.properties, schema.additional
        for name, item in value.items():
            child = properties.get(name)
            if child is None:
                child = additional
                if child is None:
                    if properties and not schema.preserve_unknown:
                        errors.append((f".{name}", "field not declared in schema"))
                    continue
            if item.__class__ is str and child.type == "string":
                continue
            inner = _type_errors(child, item)
            if inner:
                errors += [(f".{name}{path}", reason) for path, reason in inner]
    elif isinstance(value, list):
        granular, items = schema.list_type in _GRANULAR, schema.items
        previous: set[str] = set()
        for position, item in enumerate(value):
            element = f"i:{position}"
            if granular:
                try:
                    element = item_element(schema, item, position)
                except TypedError as error:
                    errors.append(("", str(error)))
                    continue
                if element in previous:
                    errors.append(("", f"duplicate entries for key {path_text((element,))}"))
                previous.add(element)
            inner = None if items is None else _type_errors(items, item)
            if inner:
                prefix = path_text((element,))
                errors += [(prefix + path, reason) for path, reason in inner]
    return errors
