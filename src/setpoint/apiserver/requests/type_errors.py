"""Type checks of objects of built-in kinds.

Every write needs this check, so each object is first decoded with the kind's generated model, whose decoder is written
in C. Only if that fails or is not possible is the object validated against the schema. This validation finds the field
and the reason for the error, and its result is decisive.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

import msgspec

from setpoint.apiserver.objects.go_form import join_bytes
from setpoint.apiserver.requests import go_type_messages
from setpoint.apiserver.requests.schema_unions import schema_union_problem
from setpoint.meta import GroupVersionKind, MicroTime, Quantity, parse_time
from setpoint.meta.json_values import MAX_INT64, MIN_INT64, whole_numbers
from setpoint.models import UnknownKindError, kind_for
from setpoint.schema import OBJECT_META, ErrorType, FieldError, Schema, drop_nulls, validate

# Required by the published schema, but the real server takes their absence for a zero value.
_NOT_REALLY_REQUIRED: Final = frozenset(
    {
        "template",
        "rules",
        "endpoints",
        "revision",
        "value",
        "podSelector",
        "status",
        "metadata",
        "conditions",
        "driver",
        "drivers",
    }
)
_LONG: Final = re.compile(rb"[0-9]{10}")
"""An integer that may not fit into 32 bits."""
_FRACTION: Final = re.compile(rb"[0-9][.eE][-+0-9]")
_ODD_NUMBER: Final = re.compile(rb"[:,\[\s][-+]?[0-9](?:[0-9]{9}|[0-9.]*[eE]|[0-9]*\.[0-9]+\s*(?:[,}\]\r\n]|$))")
"""A number that may not fit into an integer, though the models' decoder takes it. A sign counts only where a value
begins: a third of all uids have a part such as ``-4e``.
"""


class _ManagedFields(msgspec.Struct, rename="camel"):
    manager: str | None = None
    operation: str | None = None
    api_version: str | None = None
    time: datetime | None = None
    fields_type: str | None = None
    fields_v1: dict[str, Any] | None = None
    subresource: str | None = None


def type_errors(
    kind: GroupVersionKind | None, schema: Schema, obj: dict[str, Any], raw: bytes
) -> tuple[str, list[FieldError]]:
    """The error of Go's decoder (empty if there is none), and an error for each missing field.

    ``kind`` is a built-in kind with this ``schema``, or None for a custom resource, of which only the metadata is
    checked, because its schema covers the rest. ``raw`` is the document from which the object was decoded, or the patch
    that produced it; it is needed to check odd numbers more closely. Nulls in lists and maps, which Go treats as empty
    values, are replaced by empty values (in place).
    """
    if kind is None:
        schema, value, path = OBJECT_META, obj["metadata"], "metadata"
    else:
        value, path = obj, ""
        spec = schema.properties.get("spec")
        if spec is not None and spec.required and obj.get("spec") is None:
            obj["spec"] = {}
        if kind.kind == "CustomResourceDefinition" and (problem := schema_union_problem(obj)):
            return problem, []
        if _fits(kind, obj) and not _ODD_NUMBER.search(raw):
            return "", []
        if (place := _float_path(schema, obj, "")) and _ODD_NUMBER.search(raw):
            return go_type_messages.type_problem(kind, obj, FieldError(ErrorType.TYPE_INVALID, place[1:]), raw), []
    errors = validate(schema, value, path)
    wrong = any(error.type is ErrorType.TYPE_INVALID for error in errors)
    if wrong and kind is not None and join_bytes(kind, obj):
        errors = validate(schema, value, path)
    for error in errors:
        if error.type is ErrorType.TYPE_INVALID and error.bad_value != "null":
            problem = go_type_messages.type_problem(kind, obj, error, raw)
            if problem:
                return problem, []
        if error.type is ErrorType.INVALID and "must be of type integer" in error.detail:
            located = FieldError(error.type, error.detail.rpartition(" in ")[2], error.detail)
            return go_type_messages.type_problem(kind, obj, located, raw), []
    if any(error.bad_value == "null" for error in errors):
        empty_nulls(schema, value)
        errors = validate(schema, value, path)
    return "", [error for error in errors if error.type is ErrorType.REQUIRED and _really_required(error.field)]


def convert_numbers(schema: Schema, value: dict[str, Any], raw: bytes) -> None:
    """Converts numbers (in place) as upstream's converter does, which the results of strategic merge patches ``raw`` go
    through: whole numbers are integers, and an integer loses its high bits in a field of 32 bits.
    """
    if may_have_floats(raw):
        whole_numbers(value)
    if _LONG.search(raw):
        _wrap(schema, value)


def _wrap(schema: Schema | None, value: Any) -> Any:
    if schema is None:
        return value
    if isinstance(value, dict):
        for key, item in value.items():
            value[key] = _wrap(schema.field(key), item)
    elif isinstance(value, list):
        value[:] = [_wrap(schema.items, item) for item in value]
    elif schema.format == "int32" and type(value) is int and MIN_INT64 <= value <= MAX_INT64:
        return (value + 2**31) % 2**32 - 2**31
    return value


def may_have_floats(raw: bytes) -> bool:
    """Whether a number in the text may have a fraction or an exponent; True also if only a string looks so."""
    return _FRACTION.search(raw) is not None


def _float_path(schema: Schema | None, value: Any, path: str) -> str:
    """The path of the first float in a field that holds an integer: Go's decoder refuses ``1.0`` there."""
    if schema is None:
        return ""
    if isinstance(value, float):
        return path if schema.type == "integer" or schema.int_or_string else ""
    inner: Iterable[tuple[Schema | None, Any, str]] = ()
    if isinstance(value, dict):
        inner = ((schema.field(key), item, f"{path}.{key}") for key, item in value.items())
    elif isinstance(value, list):
        inner = ((schema.items, item, f"{path}[{index}]") for index, item in enumerate(value))
    return next(filter(None, (_float_path(*part) for part in inner)), "")


def empty_nulls(schema: Schema, value: Any) -> None:
    """Replaces nulls in lists and maps with empty values and removes fields that are null (in place), as Go's decoder
    does.
    """
    _fill_nulls(schema, value)
    drop_nulls(schema, value)


def _fill_nulls(schema: Schema | None, value: Any) -> None:
    if isinstance(value, dict) and schema is not None:
        for key, item in value.items():
            if item is None and key not in schema.properties and schema.additional is not None:
                value[key] = _zero(schema.additional)
            elif isinstance(item, dict | list):
                _fill_nulls(schema.field(key), item)
    elif isinstance(value, list) and schema is not None and schema.items is not None:
        for index, item in enumerate(value):
            if item is None:
                value[index] = _zero(schema.items)
            elif isinstance(item, dict | list):
                _fill_nulls(schema.items, item)


def _zero(schema: Schema) -> Any:
    match schema.type:
        case "object":
            return {}
        case "array":
            return []
        case "string":
            return ""
        case "integer" | "number":
            return 0
        case "boolean":
            return False
        case _:
            return None


def _really_required(field: str) -> bool:
    return not field.startswith(("status.", "metadata.managedFields", "metadata.ownerReferences")) and (
        field.rpartition(".")[2] not in _NOT_REALLY_REQUIRED
    )


def _fits(kind: GroupVersionKind, obj: dict[str, Any]) -> bool:
    model = _model(kind)
    if model is None:
        return False
    metadata = obj.get("metadata")
    try:
        if type(metadata) is dict and "managedFields" in metadata:  # whose trees the model holds undecoded
            metadata = dict(metadata)
            msgspec.convert(metadata.pop("managedFields"), list[_ManagedFields] | None)
            obj = {**obj, "metadata": metadata}
        msgspec.convert(obj, model, dec_hook=_decode)
    except (msgspec.ValidationError, RecursionError):
        return False
    return kind.kind != "StatefulSet" or _names_fit(obj)


def _names_fit(obj: dict[str, Any]) -> bool:
    """Whether ``apiVersion`` and ``kind`` in the claim templates of a StatefulSet are strings, null or missing. No
    other built-in kind contains objects that have these fields, and the models do not check them.
    """
    within = (obj.get("spec") or {}).get("volumeClaimTemplates") or ()
    return all(isinstance(claim.get(key), str | None) for claim in within if claim for key in ("apiVersion", "kind"))


@lru_cache(maxsize=512)
def _model(kind: GroupVersionKind) -> type | None:
    try:
        return kind_for(kind)
    except UnknownKindError:
        return None


def _decode(kind: type, value: Any) -> Any:
    if kind is MicroTime:
        return MicroTime.of(parse_time(value))
    if kind is Quantity:
        return Quantity(value)
    raise NotImplementedError(f"{kind.__name__} has no JSON form")
