"""Objects of built-in kinds as Go's structs hold and write them.

A Go struct can't tell an empty text, list, map or zero from one that was left out, unless the field is a pointer; and a
field that is not ``omitempty``, or a struct within a struct, is always written. So what a caller sent is brought into
one form: `shorten` drops what Go would forget and writes amounts and times canonically, `complete` adds what Go says
of itself. Which field is what stands in the table of protobuf messages, which is made of Go's own types.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from setpoint.apiserver.objects.go_types import GoField, go_fields
from setpoint.meta import MicroTime, Quantity, format_micro_time, format_time, parse_time
from setpoint.models import definition_name
from setpoint.schema import copy_json

if TYPE_CHECKING:
    from setpoint.apiserver.resources.registry import Served

__all__ = ["QUANTITY_PROBLEM", "complete", "shorten", "zero_of"]

JsonObject = dict[str, Any]
QUANTITY_PROBLEM: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_INT_OR_STRING: Final = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_TIME: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.Time"
_MICRO_TIME: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_SCALARS: Final[dict[str, Any]] = {"string": "", "bytes": "", "int": 0, "double": 0, "bool": False}
_LEAVES: Final[dict[str, Any]] = {**_SCALARS, _QUANTITY: "0", _INT_OR_STRING: 0, _TIME: None, _MICRO_TIME: None}
_EMPTY: Final = ("", 0, None)


@dataclass(slots=True)
class _Plan:
    """Of one struct: its fields, and those that are always written, with their zero values."""

    fields: dict[str, GoField] = field(default_factory=dict)
    always: dict[str, Any] = field(default_factory=dict)


@cache
def _plan(message: str) -> _Plan | None:
    """None for messages that are not in the table: their JSON is what was sent."""
    found = go_fields(message)
    if found is None:
        return None
    plan = _Plan()
    for item in found:
        if not item.name:
            inner = _plan(item.type)
            if inner is not None:
                plan.fields |= inner.fields
                plan.always |= inner.always
            continue
        plan.fields[item.name] = item
        if item.repeated or item.mapping or item.pointer:
            if item.always:
                plan.always[item.name] = None
        elif item.type in _LEAVES:
            if item.always or item.type not in _SCALARS:
                plan.always[item.name] = _LEAVES[item.type]
        elif (inner := _plan(item.type)) is not None:
            plan.always[item.name] = inner.always
    if message == _META:
        plan.always = {}
    return plan


def shorten(served: Served, obj: JsonObject) -> None:
    """Drops (in place) what Go would forget. Raises ValueError for an amount that is none."""
    plan = None if served.custom else _plan(definition_name(served.resource.gvk))
    if plan is not None:
        _shorten(plan, obj, top=True)


def _shorten(plan: _Plan, obj: JsonObject, *, top: bool = False) -> None:
    doomed: list[str] = []
    for key, value in obj.items():
        known = plan.fields.get(key)
        if known is None or (top and key == "metadata"):
            continue
        if known.repeated or known.mapping:
            if not value:
                doomed.append(key)
            elif known.type not in _SCALARS:
                obj[key] = _items(known.type, value)
        elif known.type in _LEAVES:
            if value is None or (not known.pointer and known.type in _SCALARS and value in _EMPTY):
                doomed.append(key)
            elif known.type not in _SCALARS:
                obj[key] = _leaf(known.type, value)
        elif value is None:
            doomed.append(key)
        elif isinstance(value, dict):
            inner = _plan(known.type)
            if inner is not None:
                _shorten(inner, value)
    for key in doomed:
        del obj[key]


def _items(kind: str, value: Any) -> Any:
    if kind in _LEAVES:
        if isinstance(value, dict):
            return {key: _leaf(kind, item) for key, item in value.items()}
        return [_leaf(kind, item) for item in value]
    inner = _plan(kind)
    if inner is not None:
        for item in value.values() if isinstance(value, dict) else value:
            if isinstance(item, dict):
                _shorten(inner, item)
    return value


def _leaf(kind: str, value: Any) -> Any:
    if kind == _QUANTITY:
        try:
            return str(Quantity(value)) if value is not None else "0"
        except ValueError:
            raise ValueError(QUANTITY_PROBLEM) from None
    if value and kind == _TIME:
        return format_time(parse_time(value))
    if value and kind == _MICRO_TIME:
        return format_micro_time(MicroTime.of(parse_time(value)))
    return value


def complete(served: Served, obj: JsonObject) -> None:
    """Adds (in place) the zero values that Go always writes."""
    plan = None if served.custom else _plan(definition_name(served.resource.gvk))
    if plan is not None:
        _complete(plan, obj)


def _complete(plan: _Plan, obj: JsonObject) -> None:
    for key, value in obj.items():
        known = plan.fields.get(key)
        if not value or known is None or known.type in _LEAVES or known.type == _META:
            continue
        inner = _plan(known.type)
        if inner is None:
            continue
        if known.repeated or known.mapping:
            for item in value.values() if known.mapping else value:
                if isinstance(item, dict):
                    _complete(inner, item)
        elif isinstance(value, dict):
            _complete(inner, value)
    for key, zero in plan.always.items():
        if key not in obj or (obj[key] == {} and zero):
            obj[key] = copy_json(zero)


def zero_of(served: Served) -> JsonObject:
    """What every object of the kind has, whatever was sent; nobody owns it."""
    plan = None if served.custom else _plan(definition_name(served.resource.gvk))
    return {} if plan is None else {key: copy_json(value) for key, value in plan.always.items()}
