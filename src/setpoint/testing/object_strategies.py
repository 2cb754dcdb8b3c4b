"""Objects that a schema accepts, for property-based tests (needs hypothesis)."""

from __future__ import annotations

import math
import string
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from setpoint.crd import Versions
from setpoint.meta import Object, resource_of
from setpoint.schema import Schema, validate
from setpoint.testing.pattern_strategies import texts_of

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

JSON = Any
_HEAD = ("apiVersion", "kind", "metadata")
_DEPTH = 4
"""The depth from which objects have only required fields: that of the containers in a pod template. If deeper objects
had all fields, generating them might not end.
"""
_WORD = string.ascii_lowercase + string.digits


def objects_of(kind: type[Object]) -> SearchStrategy[dict[str, JSON]]:
    """A hypothesis strategy for plain JSON objects that are valid against the schema of a custom resource's class.

    Their metadata has a name, a namespace and fields that servers set (uid, resourceVersion), and sometimes a
    generation, labels, annotations and finalizers. CEL rules are not evaluated.
    """
    resource = resource_of(kind)
    schema = Versions.of(kind).schemas[resource.version]
    return _objects(schema, resource.api_version, resource.kind)


def values_of(schema: Schema) -> SearchStrategy[JSON]:
    """A hypothesis strategy for plain JSON values that ``schema`` accepts."""
    return _value(schema).filter(lambda value: not validate(schema, value))


def _objects(schema: Schema, api_version: str, kind: str) -> SearchStrategy[dict[str, JSON]]:
    from hypothesis import strategies as st

    content = schema.replace(properties={name: part for name, part in schema.properties.items() if name not in _HEAD})
    head = {"apiVersion": st.just(api_version), "kind": st.just(kind), "metadata": _metadata()}
    documents = st.tuples(st.fixed_dictionaries(head), _object(content)).map(lambda parts: parts[0] | parts[1])
    return documents.filter(lambda document: not validate(schema, document))


def _metadata() -> SearchStrategy[dict[str, JSON]]:
    from hypothesis import strategies as st

    words = st.text(_WORD, min_size=1, max_size=8)
    texts = st.dictionaries(words, words, min_size=1, max_size=3)
    return st.fixed_dictionaries(
        {"name": words, "namespace": words, "uid": st.uuids().map(str), "resourceVersion": st.just("1")},
        optional={
            "labels": texts,
            "annotations": texts,
            "generation": st.integers(1, 9),
            "finalizers": st.lists(words.map(lambda word: f"example.com/{word}"), min_size=1, max_size=2, unique=True),
        },
    )


def _value(schema: Schema, depth: int = 0) -> SearchStrategy[JSON]:
    from hypothesis import strategies as st

    values = _not_null(schema, depth)
    return st.none() | values if schema.nullable else values


def _not_null(schema: Schema, depth: int) -> SearchStrategy[JSON]:
    from hypothesis import strategies as st

    if schema.enum is not None:
        return st.sampled_from([value for value in schema.enum if value is not None])
    strategies: dict[str, Callable[[Schema], SearchStrategy[JSON]]] = {
        "object": lambda schema: _object(schema, depth),
        "array": lambda schema: _list(schema, depth),
        "string": _text,
        "integer": _integer,
        "number": _number,
        "boolean": lambda _: st.booleans(),
    }
    if schema.int_or_string:
        return st.integers(0, 2**31 - 1) if schema.pattern else st.integers(0, 2**31 - 1) | _text(schema)
    if schema.type:
        return strategies[schema.type](schema)
    return _anything()


def _anything() -> SearchStrategy[JSON]:
    from hypothesis import strategies as st

    scalars = st.booleans() | st.integers(-9, 9) | st.text(_WORD, max_size=3)
    names = st.text(_WORD, min_size=1, max_size=3)
    return st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2), max_leaves=4
    )


def _object(schema: Schema, depth: int = 0) -> SearchStrategy[dict[str, JSON]]:
    from hypothesis import strategies as st

    fields = {
        name: _value(part, depth + 1)
        for name, part in schema.properties.items()
        if depth < _DEPTH or name in schema.required
    }
    needed = {name: fields.pop(name) for name in schema.required if name in fields}
    if schema.embedded_resource:
        names = st.text(_WORD, min_size=1, max_size=5)
        needed |= {"apiVersion": st.just("example.com/v1"), "kind": st.just("Sample")}
        needed |= {"metadata": st.fixed_dictionaries({"name": names})}
    fixed = st.fixed_dictionaries(needed, optional=fields)
    free = _anything() if schema.preserve_unknown and not schema.properties else None
    values = free if schema.additional is None else _value(schema.additional, depth + 1)
    if values is None:
        return fixed
    keys = st.text(_WORD + ".-_", min_size=1, max_size=6)
    low = schema.min_properties or 0
    high = min(schema.max_properties if schema.max_properties is not None else low + 3, low + 3)
    others = st.dictionaries(keys, values, min_size=low, max_size=high)
    return st.tuples(others, fixed).map(lambda parts: parts[0] | parts[1])


def _list(schema: Schema, depth: int) -> SearchStrategy[list[JSON]]:
    from hypothesis import strategies as st

    low = schema.min_items or 0
    high = min(schema.max_items if schema.max_items is not None else low + 3, low + 3)
    items = _anything() if schema.items is None else _value(schema.items, depth)
    if schema.list_type == "map":
        keys = schema.list_map_keys
        return st.lists(
            items, min_size=low, max_size=high, unique_by=lambda item: repr([item.get(key) for key in keys])
        )
    if schema.list_type == "set":
        return st.lists(items, min_size=low, max_size=high, unique_by=repr)
    return st.lists(items, min_size=low, max_size=high)


def _text(schema: Schema) -> SearchStrategy[str]:
    from hypothesis import strategies as st

    low, high = schema.min_length or 0, schema.max_length
    if schema.pattern:
        return texts_of(schema.pattern).filter(
            lambda text: low <= len(text) <= (high if high is not None else len(text))
        )
    if schema.format in ("date-time", "date"):
        moments = st.datetimes().map(lambda moment: moment.replace(microsecond=0).isoformat() + "Z")
        return moments if schema.format == "date-time" else st.dates().map(str)
    if schema.format == "byte":
        return st.binary(max_size=6).map(_base64)
    if schema.format == "uuid":
        return st.uuids().map(str)
    if schema.format in ("ipv4", "ipv6"):
        return st.ip_addresses(v=4 if schema.format == "ipv4" else 6).map(str)
    if schema.format == "duration":
        return st.integers(0, 10**6).map(lambda seconds: f"{seconds}s")
    return st.text(min_size=low, max_size=low + 8 if high is None else min(high, low + 8))


def _base64(value: bytes) -> str:
    from base64 import b64encode

    return b64encode(value).decode()


def _integer(schema: Schema) -> SearchStrategy[int]:
    from hypothesis import strategies as st

    width = 31 if schema.format == "int32" else 63
    step = int(schema.multiple_of or 1)
    low = -(2**width) if schema.minimum is None else math.ceil(schema.minimum)
    high = 2**width - 1 if schema.maximum is None else math.floor(schema.maximum)
    low += bool(schema.exclusive_minimum and low == schema.minimum)
    high -= bool(schema.exclusive_maximum and high == schema.maximum)
    return st.integers(-(-low // step), high // step).map(lambda value: value * step)


def _number(schema: Schema) -> SearchStrategy[float]:
    from hypothesis import strategies as st

    if schema.multiple_of:
        step = schema.multiple_of
        return st.integers(-1000, 1000).map(lambda value: value * step)
    low = -1e9 if schema.minimum is None else float(schema.minimum)
    high = max(1e9, low) if schema.maximum is None else float(schema.maximum)
    return st.floats(
        min(low, high),
        high,
        allow_nan=False,
        exclude_min=schema.exclusive_minimum,
        exclude_max=schema.exclusive_maximum,
    )
