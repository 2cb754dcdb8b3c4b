"""Repair: turns values that only Go's decoder would accept into values that a strict decoder accepts.

Real servers send ``null`` for a list, leave out a required field, or send a number for a quantity, which is a string.
The steps for a class are derived from its annotations once; after that, an object costs one pass over its fields.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable
from datetime import UTC, date, datetime
from functools import cache
from typing import Any, Final, Literal, NamedTuple, cast, get_args, get_origin
from uuid import UUID

import msgspec
from msgspec import Struct, UnsetType

from setpoint.meta.duration import Duration, nearest_duration
from setpoint.meta.model_fields import alternatives, bare, fields_of, is_record
from setpoint.meta.quantity import Quantity
from setpoint.meta.time_format import nearest_time

Repair = Callable[[Any], Any]
"""Turns a plain JSON value into one that a strict decoder accepts."""


class _Field(NamedTuple):
    name: str
    repair: Repair | None
    removes_null: bool
    required: bool
    zero: Callable[[], Any]


def repaired(kind: Any, value: Any) -> Any:
    """``value`` (plain JSON values) as Go's decoder would understand it for a field of type ``kind``."""
    repair = _repair_of(kind)
    return value if repair is None else repair(value)


def _repair_of(annotation: Any) -> Repair | None:
    """The repair for values of this type, or None if such values never need one."""
    choices = alternatives(annotation)
    inner = _inner(choices)
    if types.NoneType in choices:
        return None if inner is None else lambda value: None if value is None else inner(value)
    zero = _zero_of(choices[0])
    if inner is None:
        return lambda value: zero() if value is None else value
    return lambda value: zero() if value is None else inner(value)


def _inner(choices: tuple[Any, ...]) -> Repair | None:
    """The repair for values of these types that are not null; None if there is none."""
    concrete = [choice for choice in choices if choice not in (types.NoneType, UnsetType)]
    if len(concrete) != 1:
        return None
    target = concrete[0]
    if target is msgspec.Raw:
        return lambda value: msgspec.Raw(msgspec.json.encode(value))
    origin = get_origin(target) or target
    if is_record(origin):
        return lambda value: _record(origin, value) if isinstance(value, dict) else value
    if origin in (list, set, frozenset, tuple):
        return _list_of((get_args(target) or (Any,))[0])
    if origin is dict:
        return _dict_of((get_args(target) or (str, Any))[1])
    if isinstance(origin, type) and issubclass(origin, datetime):
        return lambda value: nearest_time(value) if isinstance(value, str) else value
    return _SCALARS.get(target)


def _list_of(annotation: Any) -> Repair | None:
    repair = _repair_of(annotation)
    if repair is None:
        return None
    return lambda value: [repair(item) for item in value] if isinstance(value, list) else value


def _dict_of(annotation: Any) -> Repair | None:
    repair = _repair_of(annotation)
    if repair is None:
        return None
    return lambda value: {key: repair(item) for key, item in value.items()} if isinstance(value, dict) else value


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _date(value: Any) -> Any:
    return f"0001{value[4:]}" if isinstance(value, str) and value.startswith("0000-") else value


def _uuid(value: Any) -> Any:
    try:
        return str(UUID(value))
    except (ValueError, AttributeError, TypeError):
        return value


def _duration(value: Any) -> Any:
    return nearest_duration(value) if isinstance(value, str) else value


_SCALARS: Final[dict[Any, Repair]] = {str: _text, int: _whole, date: _date, UUID: _uuid, Duration: _duration}


def _record(kind: type, value: dict[str, Any]) -> dict[str, Any]:
    repaired = dict(value)
    for name, repair, removes_null, required, zero in _fields(cast("Hashable", kind)):
        if name in value:
            content = value[name]
            if content is None and removes_null:
                del repaired[name]
            elif repair is not None:
                repaired[name] = repair(content)
        elif required:
            repaired[name] = zero()
    return repaired


@cache
def _fields(kind: Any) -> tuple[_Field, ...]:
    """The fields of a class with their repairs. This is called when a value arrives and not while a repair is built,
    because a class may contain itself.
    """
    fields = []
    for item in fields_of(kind):
        choices = alternatives(item.type)
        removes_null = types.NoneType not in choices and not item.required
        field = _Field(item.encode_name, _repair_of(item.type), removes_null, item.required, _zero_of(choices[0]))
        fields.append(field)
    return tuple(fields)


def zero_value(annotation: Any) -> Any:
    """Go's zero value for a field of this type, without regard to the field's bounds. For a choice of constants it is
    the first one.
    """
    choices = alternatives(annotation)
    if types.NoneType in choices:
        return None
    target = bare(choices[0])
    origin = get_origin(target) or target
    if isinstance(origin, type) and issubclass(origin, Struct):
        return target(**{item.name: zero_value(item.type) for item in fields_of(target) if item.required})
    if origin is Literal:
        return get_args(target)[0]
    if origin is bytes:
        return b""
    if isinstance(origin, type) and issubclass(origin, datetime):
        return origin(1, 1, 1, tzinfo=UTC)
    if origin is date:
        return date.min
    if origin is Quantity:
        return Quantity("0")
    return origin() if origin in (str, int, float, bool, list, dict) else None


def _zero_of(target: Any) -> Callable[[], Any]:
    """A function that returns Go's zero value for an absent field."""
    target = bare(target)
    origin = get_origin(target) or target
    if origin in (str, int, float, bool, list, dict):
        return cast("Callable[[], Any]", origin)
    if origin is bytes:
        return str
    if is_record(origin):
        return lambda: _record(origin, {})
    if isinstance(origin, type) and issubclass(origin, datetime):
        return lambda: "0001-01-01T00:00:00Z"
    return lambda: None
