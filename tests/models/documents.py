"""Random documents that are valid for a schema, as a server might send them."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st
from tests.models.catalog import EXTENSIONS, META

from setpoint.meta import format_micro_time, format_time
from setpoint.models import schemas

_DEEP = 5
_PROPS = EXTENSIONS + "JSONSchemaProps"
_HAND_WRITTEN = META  # its strings and numbers are "" and 0 when absent, so the documents have none of those

_names = st.text("abcxyz-0.", min_size=1, max_size=6)
_texts = st.text(max_size=6)
_moments = st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1))
_quantities = st.from_regex(r"[1-9][0-9]{0,3}(m|k|Mi|Gi)?", fullmatch=True)
_json: st.SearchStrategy[Any] = st.recursive(
    st.booleans() | st.integers(-(2**53), 2**53) | _texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_names, inner, max_size=2),
    max_leaves=4,
)


@st.composite
def documents(draw: st.DrawFn, definition: str) -> Any:
    """A document for a definition, with few of the optional fields, but any of them."""
    return _value(draw, {"$ref": definition}, 0, owner="")


def _value(draw: st.DrawFn, schema: dict[str, Any], depth: int, owner: str) -> Any:
    reference = schema.get("$ref")
    if reference is not None:
        return _named(draw, reference, depth)
    match schema["type"]:
        case "array":
            size = 1 if depth > _DEEP else draw(st.integers(1, 2))
            return [_value(draw, schema["items"], depth + 1, owner) for _ in range(size)]
        case "object" if "additionalProperties" in schema:
            keys = draw(st.lists(_names, min_size=1, max_size=2, unique=True))
            return {key: _value(draw, schema["additionalProperties"], depth + 1, owner) for key in keys}
        case "string" if schema.get("format") == "byte":
            return base64.b64encode(draw(st.binary(max_size=6))).decode()
        case "string":
            return draw(_names if owner.startswith(_HAND_WRITTEN) else _texts)
        case "integer":
            bits = 31 if schema.get("format") == "int32" else 53
            return draw(st.integers(1 if owner.startswith(_HAND_WRITTEN) else -(2**bits), 2**bits - 1))
        case "number":
            return draw(st.integers(-1000, 1000) | st.floats(-1e6, 1e6).filter(lambda number: number != int(number)))
        case "boolean":
            return True if owner.startswith(_HAND_WRITTEN) else draw(st.booleans())
    raise AssertionError(f"no documents for {schema}")


def _named(draw: st.DrawFn, name: str, depth: int) -> Any:
    match name.rpartition(".")[2]:
        case "Time":
            return format_time(draw(_moments).replace(tzinfo=UTC))
        case "MicroTime":
            return format_micro_time(draw(_moments).replace(tzinfo=UTC))
        case "Quantity":
            return draw(_quantities)
        case "IntOrString":
            return draw(st.integers(0, 2**31 - 1) | _names)
        case "JSON" | "RawExtension":
            return draw(_json)
        case "FieldsV1":
            return draw(st.dictionaries(_names, _json, max_size=2))
        case "JSONSchemaPropsOrArray":
            return _named(draw, _PROPS, depth + 1) if draw(st.booleans()) else [_named(draw, _PROPS, depth + 1)]
        case "JSONSchemaPropsOrBool":
            return _named(draw, _PROPS, depth + 1) if draw(st.booleans()) else draw(st.booleans())
        case "JSONSchemaPropsOrStringArray":
            return (
                _named(draw, _PROPS, depth + 1)
                if draw(st.booleans())
                else draw(st.lists(_names, min_size=1, max_size=2))
            )
    return _struct(draw, name, depth)


def _struct(draw: st.DrawFn, name: str, depth: int) -> dict[str, Any]:
    definition = schemas()[name]
    properties = definition.get("properties", {})
    wanted = set(definition.get("required", ()))
    if depth == 0:
        wanted |= {"metadata", "spec", "status"} & properties.keys()
    elif "metadata" in properties:
        # Go has no way to leave out a struct: a template has its metadata, and a claim in a StatefulSet its status, be
        # they empty.
        wanted |= {"metadata", "spec"} | ({"status"} & properties.keys())
    if name == META + "Condition":
        wanted |= {"observedGeneration"}  # setpoint always says which generation a condition is about
    optional = sorted(properties.keys() - wanted)
    if optional and depth <= _DEEP:
        wanted |= set(draw(st.lists(st.sampled_from(optional), max_size=3, unique=True)))
    if "x-kubernetes-group-version-kind" in definition:
        wanted -= {"apiVersion", "kind"}
    return {key: _value(draw, properties[key], depth + 1, name) for key in sorted(wanted)}
