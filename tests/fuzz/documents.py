"""Untrusted documents: nearly right, or right but for one place, or large, or deep, or nothing at all."""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import Any

from hypothesis import strategies as st
from tests.apiserver.harness import config_map, crd, deployment, mykind, pod

from setpoint.apiserver import ApiServer
from setpoint.schema import Schema

JSON = Any
NASTY_TEXTS = (
    "",
    " ",
    "a",
    "A b",
    "web",
    "default",
    "\x00",
    "\n",
    "é",
    "٣",
    "\ud800",
    "\udcff",
    "\u2028",
    "𝒳" * 70,
    "1",
    "-1",
    "0x10",
    "1_000",
    "1e9",
    "1E-400",
    "9" * 6000,
    "25%",
    "-5%",
    "a/b",
    "a//b",
    "/",
    "../..",
    "~",
    "~1",
    "%zz",
    "{}",
    "[]",
    "null",
    "*",
    "^(a+)+$",
    "(",
    "self.x",
    "[1,2].all(x, x > 0)",
    "'a'.matches('(a+)+$')",
    "10.0.0.0/33",
    "::1",
    "2026-11-22T00:00:00Z",
    "9999-99-99T99:99:99Z",
    "1h",
    "1Gi",
    "1e1000000Gi",
    "system:masters",
    "kubernetes.io/x",
    "x" * 300,
    "a=b,c in (d),!e",
    "=" * 50,
    ".spec.free",
    ".a[0]",
    ".items[*].x",
)
NASTY = (
    None,
    True,
    False,
    0,
    1,
    -1,
    65536,
    2**31,
    2**63,
    2**64,
    10**30,
    1.5,
    -0.0,
    1e308,
    [],
    {},
    [None],
    [[]],
    {"": None},
)
_KEYS = (
    "name",
    "namespace",
    "uid",
    "type",
    "key",
    "kind",
    "apiVersion",
    "value",
    "a",
    "",
    "f:a",
    ".",
    "k:{",
    "$patch",
    "$retainKeys",
    "$setElementOrder/a",
    "$deleteFromPrimitiveList/a",
    "é",
    "\ud800",
)

_ELEMENTS = (
    *("f:a", "f:spec", "f:data", ".", 'k:{"a":1}', "k:{", "v:1", "v:", "i:0", "i:x", "i:٣", "i:" + "9" * 5000, "x"),
)
"""Steps of managed fields."""

texts = st.sampled_from(NASTY_TEXTS) | st.text(max_size=8)
scalars = st.sampled_from(NASTY) | texts | st.integers(-10, 10**20) | st.floats(allow_nan=False, allow_infinity=False)


def values(depth: int = 3) -> st.SearchStrategy[JSON]:
    if depth == 0:
        return scalars
    inner = values(depth - 1)
    return scalars | st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS) | texts, inner, max_size=3)


@st.composite
def large(draw: st.DrawFn, item: JSON = None) -> JSON:
    """Many of one thing: what is quadratic shows itself."""
    count = draw(st.sampled_from([20, 500, 5_000, 20_000, 60_000, 120_000]))
    what = draw(st.sampled_from(["list", "twins", "map", "text", "deep list", "deep map", "numbered"]))
    match what:
        case "twins":
            return [copy.copy(item)] * count if item is not None else [{"name": "a", "uid": "b"}] * count
        case "numbered":
            thing = item if isinstance(item, dict) else {"name": "a", "uid": "b", "type": "c", "key": "d"}
            return [
                {key: f"{value}{n}" if isinstance(value, str) else value for key, value in thing.items()}
                for n in range(count)
            ]
        case "list":
            return [f"a{n}" for n in range(count)]
        case "map":
            return {f"a{n}": "b" for n in range(count)}
        case "text":
            return draw(st.sampled_from(["a", "a.", "-", "(", "é", "\\", "a,", "1", "a=b,"])) * count
        case _:
            value: JSON = "x"
            for _ in range(min(count, 5_000)):
                value = [value] if what == "deep list" else {"a": value}
            return value


@cache
def schemas() -> dict[str, Schema]:
    return {str(served.resource.gvk): served.schema for served in ApiServer().registry}


def of_schema(schema: Schema | None, depth: int = 5) -> st.SearchStrategy[JSON]:
    """A value much like one that the schema means, now and then another."""
    if schema is None or depth == 0:
        return values(1)
    right: st.SearchStrategy[JSON]
    if schema.enum:
        right = st.sampled_from(schema.enum)
    elif schema.int_or_string:
        right = st.integers(0, 100) | st.sampled_from(["1", "25%", "http"])
    elif schema.type == "object" or schema.properties:
        right = _object(schema, depth)
    elif schema.type == "array":
        right = st.lists(st.deferred(lambda: of_schema(schema.items, depth - 1)), max_size=2)
    elif schema.type == "integer":
        right = st.integers(0, 70_000)
    elif schema.type == "boolean":
        right = st.booleans()
    elif schema.type == "number":
        right = st.floats(0, 10)
    elif schema.type == "string":
        right = st.sampled_from(["a", "web", "default", "app", "10", "1h", "2026-01-01T00:00:00Z", "v1", "Pod"]) | texts
    else:
        right = values(2)
    return st.integers(0, 60).flatmap(lambda die: right if die else values(2))


@st.composite
def _object(draw: st.DrawFn, schema: Schema, depth: int) -> JSON:
    names = sorted(schema.properties)
    wanted = list(schema.required)
    if names:
        wanted += draw(st.lists(st.sampled_from(names), max_size=4))
    by_name = {name: draw(of_schema(schema.properties.get(name), depth - 1)) for name in dict.fromkeys(wanted)}
    if schema.additional is not None or not names:
        for name in draw(st.lists(st.sampled_from(_KEYS), max_size=2)):
            by_name[name] = draw(of_schema(schema.additional, depth - 1))
    return by_name


_managed = st.fixed_dictionaries(
    {
        "manager": texts,
        "operation": st.sampled_from(["Apply", "Update", "x"]),
        "apiVersion": st.sampled_from(["v1", "apps/v1", "x/y/z"]),
        "fieldsType": st.just("FieldsV1"),
        "fieldsV1": st.dictionaries(st.sampled_from(_ELEMENTS), values(2), max_size=3),
    }
)


@st.composite
def metadata(draw: st.DrawFn, name: str) -> JSON:
    result: dict[str, JSON] = {"name": name}
    for key in draw(
        st.lists(
            st.sampled_from(
                [
                    "labels",
                    "annotations",
                    "ownerReferences",
                    "finalizers",
                    "managedFields",
                    "resourceVersion",
                    "uid",
                    "namespace",
                    "generateName",
                    "deletionTimestamp",
                    "generation",
                    "creationTimestamp",
                    "name",
                ]
            ),
            max_size=2,
        )
    ):
        match key:
            case "labels" | "annotations":
                right = st.dictionaries(texts, texts, max_size=3)
            case "ownerReferences":
                one = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "b"}
                right = st.just([one]) | large(one) | st.lists(values(2), max_size=2)
            case "finalizers":
                right = st.lists(texts, max_size=3) | large()
            case "managedFields":
                right = st.lists(_managed, max_size=2)
            case _:
                right = texts
        result[key] = draw(right | values(2) | large())
    return result


def seeds() -> list[JSON]:
    return [pod(), config_map(data={"a": "b"}), deployment(), crd(), mykind(spec={"numpods": 3, "free": {"x": [1]}})]


def places(value: JSON, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    result = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in list(items)[:50] if len(path) < 12 else ():
        result += places(item, (*path, key))
    return result


def put(document: JSON, path: tuple[Any, ...], value: JSON) -> JSON:
    result = node = copy.copy(document)
    for step in path[:-1]:
        node[step] = node = copy.copy(node[step])
    node[path[-1]] = value
    return result


def at(document: JSON, path: tuple[Any, ...]) -> JSON:
    for step in path:
        document = document[step]
    return document


@st.composite
def spoiled(draw: st.DrawFn, document: JSON) -> JSON:
    """The document with other values at one or two places."""
    for _ in range(draw(st.integers(1, 2))):
        where = places(document)
        if not where:
            break
        path = draw(st.sampled_from(where))
        here = at(document, path)
        document = put(document, path, draw(values(2) | large(here[0] if isinstance(here, list) and here else None)))
    return document


def encoded(value: JSON) -> bytes:
    """JSON as Python writes it: lone surrogates become escapes, which JSON's grammar allows."""
    try:
        return json.dumps(value).encode()
    except (RecursionError, ValueError):
        return b'{"a":' * 5000 + b"1" + b"}" * 5000
