"""Objects made from a schema: the smallest that the schema accepts, and one with every field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from setpoint.regexp import compile_pattern
from setpoint.schema import UNSET, Schema, apply_defaults, copy_json, validate

JSON = Any
_TEXTS = {
    "date-time": "2006-01-02T15:04:05Z",
    "date": "2006-01-02",
    "byte": "c2V0cG9pbnQ=",
    "duration": "1h30m0s",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "cidr": "192.0.2.0/24",
    "email": "someone@example.com",
    "hostname": "example.com",
    "uri": "https://example.com/",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "mac": "00:00:5e:00:53:01",
}
_TRIED = ("sample", "a", "1", "1m", "10Mi", "30s", "a-b", "A", "/a", "a.b", "v1", "a:b", "", "0", "SAMPLE", "1.2.3")
_IMPOSSIBLE = object()


def samples_of(schema: Schema, api_version: str, kind: str) -> list[dict[str, JSON]]:
    """The smallest object and one with every field set, each also with the schema's defaults. Objects that are not
    valid are left out.

    For a string with a ``pattern``, a few texts are tried; the field is left out if none matches. CEL rules are not
    evaluated.
    """
    head = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "sample", "namespace": "default"}}
    content = schema.replace(
        properties={name: part for name, part in schema.properties.items() if name not in ("metadata", *head)}
    )
    samples = []
    for full in (False, True):
        sample = _value(content, full)
        if isinstance(sample, dict):
            defaulted = copy_json(sample)
            apply_defaults(content, defaulted)
            samples += [sample, defaulted]
    unique = [sample for index, sample in enumerate(samples) if sample not in samples[:index]]
    return [head | sample for sample in unique if not validate(schema, head | sample)]


def _value(schema: Schema, full: bool) -> JSON:
    if schema.enum:
        return schema.enum[-1 if full and schema.enum[-1] is not None else 0]
    if schema.default is not UNSET and schema.type not in ("object", "array") and not full:
        return copy_json(schema.default)
    if schema.type == "object" or schema.embedded_resource:
        return _object(schema, full)
    if schema.type == "array":
        return _list(schema, full)
    if schema.type == "boolean":
        return full
    if schema.int_or_string or schema.type == "string":
        return next(_texts(schema), 1 if schema.int_or_string else _IMPOSSIBLE)
    if schema.type in ("integer", "number"):
        return _number(schema, full)
    return {"any": "thing"} if full else "anything"


def _object(schema: Schema, full: bool) -> JSON:
    document: dict[str, JSON] = {}
    if schema.embedded_resource:
        document = {"apiVersion": "example.com/v1", "kind": "Sample", "metadata": {"name": "inner"}}
    for name, part in schema.properties.items():
        if not full and name not in schema.required:
            continue
        value = _value(part, full)
        if value is not _IMPOSSIBLE:
            document.setdefault(name, value)
        elif name in schema.required:
            return _IMPOSSIBLE
    if schema.additional is not None and (full or schema.min_properties):
        for index in range(max(schema.min_properties or 1, 1)):
            value = _value(schema.additional, full)
            if value is not _IMPOSSIBLE:
                document[f"key{index}"] = value
    if schema.preserve_unknown and not schema.properties and full:
        document.setdefault("free", "form")
    return document


def _list(schema: Schema, full: bool) -> JSON:
    length = max(schema.min_items or 0, 1 if full else 0)
    if schema.max_items is not None:
        length = min(length, schema.max_items)
    item = None if schema.items is None else _value(schema.items, full)
    return _IMPOSSIBLE if length and item is _IMPOSSIBLE else [copy_json(item) for _ in range(length)]


def _texts(schema: Schema) -> Iterator[str]:
    pattern = compile_pattern(schema.pattern) if schema.pattern else None
    tried = [schema.default, _TEXTS.get(schema.format), *_TRIED, "a" * (schema.min_length or 0)]
    for text in tried:
        if not isinstance(text, str) or (pattern and not pattern.matches(text)):
            continue
        if len(text) >= (schema.min_length or 0) and (schema.max_length is None or len(text) <= schema.max_length):
            yield text


def _number(schema: Schema, full: bool) -> JSON:
    whole = schema.type == "integer"
    step = schema.multiple_of or (1 if whole else 0.5)
    low, high = schema.minimum, schema.maximum
    if low is not None and schema.exclusive_minimum:
        low += step
    if high is not None and schema.exclusive_maximum:
        high -= step
    wanted = (high if high is not None and high < 7 else max(7, low or 0)) if full else (low or 0)
    if not full and high is not None and wanted > high:
        wanted = high
    value = -(-wanted // step) * step if not (full and high == wanted) else wanted // step * step
    return int(value) if whole else value
