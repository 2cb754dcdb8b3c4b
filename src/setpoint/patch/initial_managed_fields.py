"""The ``managedFields`` of a new object: its creator owns all of its fields.

No comparison is needed: the fields are collected in their JSON form in one pass over the object and its schema. The few
fields that no manager owns are removed afterwards.
"""

from __future__ import annotations

from typing import Any

from setpoint.meta.json_values import json_equal
from setpoint.schema.schema_node import ANYTHING, Schema

from .fieldset import EMPTY, FieldSet
from .managed_fields import NEVER_OWNED, entry_json
from .typed import is_empty, is_granular, item_element

Fields = dict[str, Any]
"""Fields in their JSON form: each path element is mapped to the fields below it, or to an empty mapping
if it is a leaf. The element ``.`` means that an object or item with fields below it is itself a
member.
"""


def create(
    schema: Schema,
    new: dict[str, Any],
    manager: str,
    *,
    api_version: str,
    subresource: str = "",
    now: str | None,
    ignored: FieldSet = EMPTY,
    zero: dict[str, Any],
) -> list[dict[str, Any]]:
    """The managedFields of ``new``, an object without managedFields that ``manager`` creates. They are the ones that
    `update` would return for a change from ``zero`` to ``new``.

    ``zero``: the fields that the server gives every object of the kind, with zero values (or objects that
    contain only such fields). A field of ``new`` with the same value as in ``zero`` has no owner. The other
    parameters are those of `apply`. Inputs are never changed.

    Raises TypedError if a list of ``new`` does not fit the schema.
    """
    fields = _fields(schema, new)
    _take_zero(schema, fields, new, zero)
    _take(fields, ignored)
    _take_alone(fields, NEVER_OWNED)
    fields.pop(".", None)
    return [entry_json(manager or "unknown", "Update", api_version, now, fields, subresource)] if fields else []


def _fields(schema: Schema, value: Any) -> Fields:
    """All fields of an object or list, in the order of API servers; empty if its schema treats it as one value."""
    if not value:
        return {}
    if type(value) is dict:
        if schema.map_type == "atomic":
            return {}
        fields: Fields = {".": {}}
        properties, other = schema.properties, schema.additional or ANYTHING
        for name in sorted(value):
            item = value[name]
            if type(item) is dict or type(item) is list:
                fields["f:" + name] = _fields(properties.get(name, other), item)
            else:
                fields["f:" + name] = {}
        return fields
    if not is_granular(schema, value):
        return {}
    by_element: dict[str, Any] = {}
    for position, item in enumerate(value):
        element = item_element(schema, item, position)
        by_element[element] = (
            None if element in by_element else item
        )  # items with equal keys are owned together, as one leaf
    items = schema.items or ANYTHING
    return {".": {}, **{element: _fields(items, by_element[element]) for element in sorted(by_element)}}


def _take_zero(schema: Schema, fields: Fields, new: dict[str, Any], zero: dict[str, Any]) -> None:
    """Removes from ``fields`` each field whose value is the same in ``zero``. An object that ``zero`` also has is no
    longer a member itself, but its fields that ``zero`` does not have are kept.
    """
    for name, before in zero.items():
        if name not in new:
            continue
        element, after = "f:" + name, new[name]
        inner = fields[element]
        if before is after and not inner:
            del fields[element]
            continue
        below = schema.field(name) or ANYTHING
        if not inner:
            if is_empty(below, after) if before and is_granular(below, before) else json_equal(before, after):
                del fields[element]
        elif before is None or is_granular(below, before):
            inner.pop(".")
            if before:
                _take_zero(below, inner, after, before)
                if not inner:
                    del fields[element]


def _take(fields: Fields, ignored: FieldSet) -> None:
    """Removes from ``fields`` the members of ``ignored`` and everything below them."""
    for element in ignored.members:
        fields.pop(element, None)
    for element, below in ignored.children.items():
        inner = fields.get(element)
        if inner:
            _take(inner, below)
            _settle(fields, element)


def _take_alone(fields: Fields, unowned: FieldSet) -> None:
    """Removes from ``fields`` the members of ``unowned``, but keeps the fields below them."""
    for element in unowned.members:
        inner = fields.get(element)
        if inner:
            inner.pop(".", None)
        else:
            fields.pop(element, None)
    for element, below in unowned.children.items():
        inner = fields.get(element)
        if inner:
            _take_alone(inner, below)
            _settle(fields, element)


def _settle(fields: Fields, element: str) -> None:
    """Updates the JSON form of an element after fields below it were removed: it is dropped if nothing is left, and
    becomes a leaf if only ``.`` is left.
    """
    inner = fields[element]
    if not inner:
        del fields[element]
    elif len(inner) == 1 and "." in inner:
        fields[element] = {}
