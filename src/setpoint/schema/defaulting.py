"""Applies defaults and removes nulls, by the rules of structural defaulting."""

from __future__ import annotations

from setpoint.meta.json_values import JSON, copy_json

from .schema_node import UNSET, Schema


def apply_defaults(schema: Schema, value: JSON) -> None:
    """Fills ``value`` (in place) with the schema's defaults.

    A null in a field that does not allow null counts as absent: it is removed, or replaced by the
    default if there is one. Defaults are applied inside values that exist or were defaulted themselves;
    a parent without a default is never created for them.
    """
    drop_nulls(schema, value)
    fill_defaults(schema, value)


def drop_nulls(schema: Schema | None, value: JSON) -> None:
    """Removes (in place) null fields whose schema neither allows null nor has a default. Fields without
    a schema stay.
    """
    if isinstance(value, dict):
        dropped: list[str] = []
        for key, item in value.items():
            if item is None:
                child = None if schema is None else schema.field(key)
                if child is not None and not child.nullable and child.default is UNSET:
                    dropped.append(key)
            elif isinstance(item, (dict, list)) and schema is not None:
                child = schema.properties.get(key) or schema.additional
                if child is not None:
                    drop_nulls(child, item)
        for key in dropped:
            del value[key]
    elif isinstance(value, list) and schema is not None and schema.items is not None:
        for item in value:
            if isinstance(item, (dict, list)):
                drop_nulls(schema.items, item)


def fill_defaults(schema: Schema, value: JSON) -> None:
    """Like `apply_defaults`, but a null that is neither allowed nor has a default stays, to be refused later."""
    if isinstance(value, dict):
        properties, additional = schema.properties, schema.additional
        for key, child in properties.items():
            if child.default is not UNSET:
                present = value.get(key, UNSET)
                if present is UNSET or (present is None and not child.nullable):
                    value[key] = copy_json(child.default)
        for key, item in value.items():
            field = properties.get(key, additional)
            if field is None:
                continue
            if item is None and not field.nullable and field.default is not UNSET:
                item = value[key] = copy_json(field.default)
            if isinstance(item, (dict, list)):
                fill_defaults(field, item)
    elif isinstance(value, list):
        items = schema.items
        if items is None:
            return
        for index, item in enumerate(value):
            if item is None and not items.nullable and items.default is not UNSET:
                value[index] = item = copy_json(items.default)
            if isinstance(item, (dict, list)):
                fill_defaults(items, item)
