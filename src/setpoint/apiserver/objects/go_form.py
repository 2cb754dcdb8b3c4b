"""Objects of built-in kinds as Go's structs hold and write them.

A Go struct can't distinguish an empty string, list, map or zero from a missing field, unless the field is a pointer;
and a field that is not ``omitempty``, or a struct within a struct, is always written. So incoming objects are brought
into one form: `shorten` drops the values that Go would not keep and writes quantities and times canonically; `complete`
adds the zero values that Go always writes. The table of protobuf messages, which is generated from Go's types, says how
to treat each field.
"""

from __future__ import annotations

import base64
import re
from decimal import ROUND_UP, Decimal
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import replace

from setpoint.apiserver.objects.go_times import time_problem
from setpoint.apiserver.objects.go_types import GoField, go_fields
from setpoint.meta import GroupVersionKind, MicroTime, Quantity, format_micro_time, format_time, parse_time
from setpoint.models import definition_name
from setpoint.schema import copy_json

if TYPE_CHECKING:
    from setpoint.apiserver.resources.registry import ServedResource

JsonObject = dict[str, Any]
QUANTITY_PROBLEM: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_QUANTITY_FORM: Final = re.compile(r"[+-]?[0-9.]+[eEinumkKMGTP]+[-+]?[0-9]*", re.ASCII)
_SUFFIX_PROBLEM: Final = "unable to parse quantity's suffix"
_QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_INT_OR_STRING: Final = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_TIME: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.Time"
_MICRO_TIME: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_SECONDS: Final = len("2006-01-02T15:04:05")
_CORE: Final = "io.k8s.api.core.v1."
_RESOURCES: Final = "ResourceList"
_MILLI: Final = Decimal("0.001")
_FINE: Final = Decimal(10**15)
"""Greater amounts that are finer than a thousandth do not fit into 64 bits."""
_MICROS: Final = re.compile(r"\.\d{6}(?!\d)", re.ASCII)
_SCALARS: Final[dict[str, Any]] = {"string": "", "bytes": "", "int": 0, "double": 0, "bool": False}
_LEAVES: Final[dict[str, Any]] = {**_SCALARS, _QUANTITY: "0", _INT_OR_STRING: 0, _TIME: None, _MICRO_TIME: None}


# The treatment of a field. Scalars and bytes are forgotten if they are zero, pointers to scalars if they are null,
# amounts and times if they are null, else written canonically; lists and maps are forgotten if they are empty.
_SCALAR, _BYTES, _POINTER, _LEAF, _STRUCT, _LIST, _SCALARS_OF, _LEAVES_OF, _STRUCTS_OF = range(9)
_EMPTY_IS_INVALID: Final = {
    "io.k8s.api.autoscaling.v2.HPAScalingRules": ("policies",),
    "io.k8s.api.core.v1.EphemeralContainerCommon": ("ports", "resizePolicy", "restartPolicyRules"),
}
"""Lists that are invalid if they are empty but not if they are missing."""
_META_LISTS: Final = ("finalizers", "managedFields", "ownerReferences")
_EMPTY_IS_INVALID_IN: Final = {
    ("io.k8s.api.core.v1.PodSpec", "resources"): ("claims",),
    ("io.k8s.api.core.v1.PersistentVolumeClaimTemplate", "metadata"): _META_LISTS,
    ("io.k8s.api.resource.v1.ResourceClaimTemplateSpec", "metadata"): _META_LISTS,
}
"""Further lists of this kind, by the message and the field that contain their struct. Where the same struct occurs
elsewhere, an empty list is dropped.
"""
_APART: Final = "+"
"""The separator in the names of plans that consist of a message name and list names (see `_EMPTY_IS_INVALID_IN`)."""


class _Plan(msgspec.Struct):
    """The plan for one struct: its fields, and the fields that are always written, with their zero values."""

    fields: dict[str, tuple[int, str]] = msgspec.field(default_factory=dict)
    """The treatment and the type of each field, by name."""
    always: dict[str, Any] = msgspec.field(default_factory=dict)
    structs: dict[str, str] = msgspec.field(default_factory=dict)
    """The types, by field name, of the fields whose structs contain a field that is always written."""


@cache
def _plan(message: str) -> _Plan | None:
    """The plan for a message; None if the fields of the message are not known, in which case its JSON stays as it was
    sent.
    """
    message, _, apart = message.partition(_APART)
    fields = go_fields(message)
    if fields is None:
        return None
    plan = _Plan()
    for item in fields:
        if not item.name:
            inner = _plan(item.type)
            if inner is not None:
                plan.fields |= inner.fields
                plan.always |= inner.always
                plan.structs |= inner.structs
            continue
        several = item.repeated or item.mapping
        lists = _EMPTY_IS_INVALID_IN.get((message, item.name))
        kind = f"{item.type}{_APART}{' '.join(lists)}" if lists else item.type
        if item.mapping and kind == _QUANTITY and message.startswith(_CORE):
            kind = _RESOURCES
        plan.fields[item.name] = _sort(item, several), kind
        if item.type not in _LEAVES and (item.type == _META or _says_something(item.type)):
            plan.structs[item.name] = item.type
        if several or item.pointer:
            if item.always:
                plan.always[item.name] = None
        elif item.type in _LEAVES:
            if item.always or item.type not in _SCALARS:
                plan.always[item.name] = _LEAVES[item.type]
        elif (inner := _plan(item.type)) is not None:
            plan.always[item.name] = inner.always
    if message == _META:
        plan.always = {}
    for name in (*_EMPTY_IS_INVALID.get(message, ()), *apart.split()):
        plan.fields[name] = _LIST, plan.fields[name][1]
    return plan


@cache
def _says_something(message: str) -> bool:
    """Whether the struct, at any depth, has a field that is written even if it is zero."""
    names: set[str] = set()
    ahead = [message]
    while ahead:
        name = ahead.pop()
        if name in names or name == _META:
            continue
        names.add(name)
        for item in go_fields(name) or ():
            if item.always or not (item.pointer or item.repeated or item.mapping or item.type in _SCALARS):
                return True
            ahead.append(item.type)
    return False


def _sort(item: GoField, several: bool) -> int:
    if item.type in _SCALARS:
        if several or item.pointer:
            return _SCALARS_OF if several else _POINTER
        return _BYTES if item.type == "bytes" else _SCALAR
    if item.type in _LEAVES:
        return _LEAVES_OF if several else _LEAF
    return _STRUCTS_OF if several else _STRUCT


def _plan_of(served: ServedResource) -> _Plan | None:
    return None if served.custom else _plan_of_kind(served.resource.gvk)


@cache
def _plan_of_kind(kind: GroupVersionKind) -> _Plan | None:
    """The plan for a kind, without the object's own metadata, which is cleaned elsewhere."""
    plan = _plan(definition_name(kind))
    if plan is None:
        return None
    fields = {name: field for name, field in plan.fields.items() if name != "metadata"}
    structs = {name: kind for name, kind in plan.structs.items() if name != "metadata"}
    return replace(plan, fields=fields, structs=structs)


def shorten(served: ServedResource, obj: JsonObject) -> bool:
    """Drops (in place) the values that Go would not keep, and writes quantities and times in their canonical form.
    Returns whether the kind is known. Raises ValueError for an invalid quantity or time.
    """
    plan = _plan_of(served)
    if plan is not None:
        _shorten(plan, obj)
    return plan is not None


def _shorten(plan: _Plan, obj: JsonObject) -> None:
    dropped: list[str] | None = None
    fields = plan.fields
    for key, value in obj.items():
        field = fields.get(key)
        if field is None:
            continue
        sort, kind = field
        if sort == _SCALAR and value:
            continue
        if value is None or (sort <= _BYTES and not value):
            dropped = [key] if dropped is None else [*dropped, key]
        elif sort == _BYTES:
            obj[key] = _one_line(value)
        elif sort == _LIST:
            for item in value:
                if type(item) is dict:
                    _shorten(_plan(kind) or _Plan(), item)
        elif sort == _STRUCT:
            if (inner := _plan(kind)) is not None and type(value) is dict:
                _shorten(inner, value)
        elif sort == _LEAF:
            obj[key] = _leaf(kind, value)
        elif sort > _STRUCT:
            if not value:
                dropped = [key] if dropped is None else [*dropped, key]
            elif kind == "bytes" and type(value) is dict:
                obj[key] = {name: _one_line(item) for name, item in value.items()}
            elif sort == _LEAVES_OF:
                if type(value) is dict:
                    obj[key] = {name: _leaf(kind, item) for name, item in value.items()}
                else:
                    obj[key] = [_leaf(kind, item) for item in value]
            elif sort == _STRUCTS_OF and (inner := _plan(kind)) is not None:
                for item in value.values() if type(value) is dict else value:
                    if type(item) is dict:
                        _shorten(inner, item)
    if dropped is not None:
        for key in dropped:
            del obj[key]


def join_bytes(kind: GroupVersionKind, obj: JsonObject) -> bool:
    """Replaces (in place) byte fields of a built-in kind given as lists of numbers, which Go's decoder also accepts,
    with base64. Returns whether there were any.
    """
    plan = _plan_of_kind(kind)
    return plan is not None and _join(plan, obj)


def _join(plan: _Plan, obj: JsonObject) -> bool:
    changed = False
    for key, value in obj.items():
        sort, kind = plan.fields.get(key, (_LEAF, ""))
        if kind == "bytes":
            holder, names = (value, [*value]) if type(value) is dict else (obj, [key])
            for name in names:
                numbers = holder[name]
                if type(numbers) is list and all(type(item) is int and 0 <= item < 256 for item in numbers):
                    holder[name] = base64.b64encode(bytes(numbers)).decode()
                    changed = True
        elif sort in (_STRUCT, _STRUCTS_OF) and (inner := _plan(kind)) is not None:
            for item in value if type(value) is list else [value]:
                changed |= type(item) is dict and _join(inner, item)
    return changed


def _one_line(value: Any) -> Any:
    """Base64 without line breaks, which Go's decoder ignores."""
    return value.replace("\r", "").replace("\n", "") if type(value) is str else value


def _leaf(kind: str, value: Any) -> Any:
    return _canonical_text(kind, value) if type(value) is str else _canonical(kind, value)


def _canonical(kind: str, value: Any) -> Any:
    if kind in (_QUANTITY, _RESOURCES):
        if type(value) is float:  # JSON's numbers beyond 64 bits become floats here, and Go reads their digits
            value = f"{Decimal(repr(value)):f}"
        try:
            amount = Quantity("0" if value is None else value)
        except ValueError:
            raise ValueError(_SUFFIX_PROBLEM if _QUANTITY_FORM.fullmatch(str(value)) else QUANTITY_PROBLEM) from None
        if kind == _RESOURCES and amount.value < _FINE:  # the default of resources rounds them up
            amount += Quantity(f"{amount.value.quantize(_MILLI, ROUND_UP) - amount.value:f}")
        return str(amount)
    if value and kind == _TIME:
        try:
            return format_time(parse_time(value))
        except ValueError as error:
            raise ValueError(time_problem(value) or str(error)) from None
    if value and kind == _MICRO_TIME:
        rest = value[_SECONDS:]
        if not _MICROS.match(rest):
            text = f'parsing time "{value}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "{rest}" as ".000000"'
            raise ValueError(text)
        return format_micro_time(MicroTime.of(parse_time(value)))
    return value


_canonical_text = lru_cache(maxsize=4096)(_canonical)  # the same few quantities and times are in most objects


def complete(served: ServedResource, obj: JsonObject) -> None:
    """Adds (in place) the zero values that Go always writes."""
    plan = _plan_of(served)
    if plan is not None:
        _complete(plan, obj)


def _complete(plan: _Plan, obj: JsonObject) -> None:
    for key, kind in plan.structs.items():
        value = obj.get(key)
        if value is None or (inner := _plan(kind)) is None:
            continue
        if type(value) is list:
            for item in value:
                if type(item) is dict:
                    _complete(inner, item)
        elif plan.fields[key][0] == _STRUCT:
            _complete(inner, value)
        else:
            for item in value.values():
                if type(item) is dict:
                    _complete(inner, item)
    for key, zero in plan.always.items():
        if key not in obj or (zero and obj[key] == {}):
            obj[key] = copy_json(zero) if type(zero) is dict else zero


def zero_of(served: ServedResource) -> JsonObject:
    """The fields that Go writes in each object of the kind, with their zero values; empty for custom resources. The
    result is shared and must not be changed.
    """
    plan = _plan_of(served)
    return {} if plan is None else plan.always
