"""Schema keywords from a field's metadata (`Field`, ``annotated_types``, pydantic's ``Field``)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import UNSET

from setpoint.crd.cel_rule import document_of
from setpoint.crd.field import KUBERNETES, FieldOptions
from setpoint.meta import to_wire
from setpoint.regexp import compile_pattern

JSONSchema = dict[str, Any]
_WORDS = ("ge", "gt", "le", "lt", "multiple_of", "pattern", "min_length", "max_length", "title", "description", "examples")  # fmt: skip  # noqa: E501
_BOUNDS = (
    ("ge", "minimum", ""),
    ("gt", "minimum", "exclusiveMinimum"),
    ("le", "maximum", ""),
    ("lt", "maximum", "exclusiveMaximum"),
    ("multiple_of", "multipleOf", ""),
)
_LENGTHS = {"string": ("minLength", "maxLength"), "array": ("minItems", "maxItems"), "object": ("minProperties", "maxProperties")}  # fmt: skip  # noqa: E501


def metas_of(extras: Iterable[Any]) -> Iterator[msgspec.Meta]:
    """The extras of an annotation, as msgspec's ``Meta``. Extras of other types are skipped, because they don't affect
    the schema.

    Raises:
        ValueError: a ``msgspec.Meta`` has a pattern; `Field` must declare it instead.
    """
    for extra in extras:
        if isinstance(extra, msgspec.Meta):
            if extra.pattern is not None:
                raise ValueError(
                    f"msgspec.Meta(pattern={extra.pattern!r}) is matched with Python's engine by every decode, "
                    "and untrusted input can block it forever: use setpoint's Field(pattern=...)"
                )
            yield extra
        elif type(extra).__module__.partition(".")[0] in ("annotated_types", "pydantic"):
            # They are distinguished by their attributes, so that neither package has to be installed.
            if hasattr(extra, "metadata"):
                yield from metas_of(extra.metadata)
            constraints = {word: getattr(extra, word, None) for word in _WORDS}
            constraints = {word: value for word, value in constraints.items() if value is not None}
            compiled = constraints.pop("pattern", None)
            pattern = compiled.pattern if isinstance(compiled, re.Pattern) else compiled
            if constraints or pattern is not None:
                yield msgspec.Meta(**constraints, extra={KUBERNETES: FieldOptions(pattern=pattern)})


def options_of(metas: Iterable[msgspec.Meta]) -> list[FieldOptions]:
    return [meta.extra[KUBERNETES] for meta in metas if meta.extra and KUBERNETES in meta.extra]


def apply(schema: JSONSchema, metas: Iterable[msgspec.Meta]) -> None:
    """Adds the keywords of ``metas`` to ``schema``; a later keyword overrides an earlier one.

    Raises:
        ValueError: a keyword does not apply to this schema, or a pattern is not valid. ``schema`` is then unchanged.
    """
    result = dict(schema)
    for meta in metas:
        _apply_meta(result, meta)
        for option in options_of([meta]):
            _apply_options(result, option)
    for keyword, value in result.items():
        if schema.get(keyword) is not value and (odd := infinite_in(value)):
            raise ValueError(f"its {keyword} contains {odd}, which JSON can't represent; leave it out")
    if "pattern" in result:
        compile_pattern(result["pattern"])  # as in API servers: no look-around, no back-references
    schema.clear()
    schema.update(result)


def infinite_in(value: Any) -> str:
    """The first number in a value that JSON does not have, as Python writes it; empty if there is none."""
    if isinstance(value, float):
        return "" if math.isfinite(value) else str(value)
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next(filter(None, map(infinite_in, parts)), "")


def _apply_meta(schema: JSONSchema, meta: msgspec.Meta) -> None:
    for source, keyword, flag in _BOUNDS:
        value = getattr(meta, source)
        if value is not None:
            schema[keyword] = value
            schema.pop(f"exclusive{keyword.capitalize()}", None)
            if flag:
                schema[flag] = True
    low, high = _LENGTHS.get(schema.get("type", ""), ("minLength", "maxLength"))
    if meta.min_length is not None:
        schema[low] = meta.min_length
    if meta.max_length is not None:
        schema[high] = meta.max_length
    if meta.description:
        schema["description"] = meta.description
    if meta.title:
        schema["title"] = meta.title
    if meta.examples:
        schema["example"] = to_wire(meta.examples[0])
    if meta.extra_json_schema:
        schema.update(meta.extra_json_schema)


def _apply_options(schema: JSONSchema, option: FieldOptions) -> None:
    if option.format:
        schema["format"] = option.format
    if option.pattern is not None:
        schema["pattern"] = option.pattern
    if option.nullable:
        schema["nullable"] = True
    if option.list_type:
        if schema.get("type") != "array":
            raise ValueError(f"list_type={option.list_type!r} on something that is not a list")
        schema["x-kubernetes-list-type"] = option.list_type
    if option.list_map_keys:
        _check_map_keys(schema, option.list_map_keys)
        schema["x-kubernetes-list-map-keys"] = list(option.list_map_keys)
    if option.map_type:
        if schema.get("type") != "object":
            raise ValueError(f"map_type={option.map_type!r} on something that is not a map or an object")
        schema["x-kubernetes-map-type"] = option.map_type
    if option.preserve_unknown_fields:
        schema["x-kubernetes-preserve-unknown-fields"] = True
    if option.embedded_resource:
        schema["x-kubernetes-embedded-resource"] = True
    if option.default is not UNSET:
        schema["default"] = to_wire(option.default)
    if option.min_properties is not None:
        schema["minProperties"] = option.min_properties
    if option.max_properties is not None:
        schema["maxProperties"] = option.max_properties
    if option.rules:
        rules = [document_of(rule) for rule in option.rules]
        schema["x-kubernetes-validations"] = schema.get("x-kubernetes-validations", []) + rules


def _check_map_keys(schema: JSONSchema, keys: tuple[str, ...]) -> None:
    items = schema.get("items", {})
    for key in keys:
        if key not in items.get("properties", {}):
            raise ValueError(f"list_map_keys names {key!r}, which the list's items don't have (use the wire name)")
        if key not in items.get("required", ()) and "default" not in items["properties"][key]:
            raise ValueError(f"list_map_keys names {key!r}, which must be required or have a default")
