"""Access to fields, keys and elements."""

from __future__ import annotations

from setpoint.cel.errors import EvaluationError
from setpoint.cel.values import LISTS, MISSING, NONE, ListValue, MapValue, Optional, UInt, Value, show, type_of_value


def field_of(value: Value, name: str) -> Value:
    """The field ``value.name``. Raises EvaluationError if ``value`` is not a map or has no such field.

    If ``value`` is an optional, the field of its content is returned as an optional; an absent field is then not an
    error.
    """
    if isinstance(value, MapValue):
        member = value.find(name)
        if member is MISSING:
            raise EvaluationError(f"no such key: {name}")
        return member
    if isinstance(value, Optional):
        if value.present and not isinstance(value.value, MapValue):
            raise EvaluationError(f"no such key: {name}")
        return field_of_optional(value, name)
    if isinstance(value, LISTS):
        raise EvaluationError("unsupported index type 'string' in list")
    raise EvaluationError(f"no such key: {name}")


def field_of_optional(value: Value, name: str) -> Optional:
    """The field as an optional (``value.?name``); absent if ``value`` is absent, is not a map or has no such field."""
    if isinstance(value, Optional):
        if not value.present:
            return NONE
        value = value.value
    member = value.find(name) if isinstance(value, MapValue) else MISSING
    return NONE if member is MISSING else Optional(member)


def has_field(value: Value, name: str) -> bool:
    """Whether the field exists, as in ``has(value.name)``; False if ``value`` is not a map."""
    if isinstance(value, Optional):
        return field_of_optional(value, name).present
    return isinstance(value, MapValue) and value.find(name) is not MISSING


def index_of(value: Value, key: Value) -> Value:
    """The element ``value[key]``. Raises EvaluationError if ``value`` has no such element, or is not a list or map.

    If ``value`` is an optional, the element of its content is returned as an optional; an absent element is then not an
    error.
    """
    if isinstance(value, Optional):
        return index_of_optional(value, key)
    if isinstance(value, MapValue):
        member = value.find(key)
        if member is MISSING:
            raise EvaluationError(f"no such key: {show(key)}")
        return member
    if not isinstance(value, LISTS):
        raise EvaluationError(f"no such key: {show(key)}")
    index = _index(key)
    if not 0 <= index < len(value):
        raise EvaluationError(f"index out of bounds: {show(key)}")
    return value[index]


def index_of_optional(value: Value, key: Value) -> Optional:
    """The element as an optional (``value[?key]``), absent if there is no such element. Raises EvaluationError if
    ``key`` is not an integer and the container is a list.
    """
    if isinstance(value, Optional):
        if not value.present:
            return NONE
        value = value.value
    if isinstance(value, MapValue):
        member = value.find(key)
        return NONE if member is MISSING else Optional(member)
    if not isinstance(value, (list, ListValue)):
        return NONE
    index = _index(key)
    return Optional(value[index]) if 0 <= index < len(value) else NONE


def _index(key: Value) -> int:
    if type(key) is int or isinstance(key, UInt):
        return int(key)
    if isinstance(key, float):
        if key.is_integer():
            return int(key)
        raise EvaluationError(f"unsupported index value {show(key)} in list")
    raise EvaluationError(f"unsupported index type '{type_of_value(key).runtime_name}' in list")
