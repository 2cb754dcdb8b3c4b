"""Validation of the fields of custom objects that the scale subresource shows (upstream's ``ValidateScaleSpec`` and
``ValidateScaleStatus``).
"""

from __future__ import annotations

from typing import Any, Final

from setpoint.apiserver.resources.registry import ScalePaths
from setpoint.patch.go_text import go_text
from setpoint.schema import FieldError
from setpoint.schema.errors import invalid

_MOST: Final = 2**31 - 1
_GO_TYPES: Final = {bool: "bool", str: "string", int: "int64", float: "float64", list: "[]interface {}"}


def scale_errors(paths: ScalePaths, obj: dict[str, Any]) -> list[FieldError]:
    """The errors in the fields of an object at ``paths``, as far as they are there."""
    errors: list[FieldError] = []
    for path in (paths.replicas, paths.status_replicas):
        value, problem = _nested(obj, path, int)
        if not problem and value is not None and value < 0:
            problem = "should be a non-negative integer"
        elif not problem and value is not None and value > _MOST:
            problem = f"should be less than or equal to {_MOST}"
        if problem:
            errors.append(invalid(_text(path), value or 0, problem))
    if paths.selector:
        _, problem = _nested(obj, paths.selector, str)
        if problem:
            errors.append(invalid(_text(paths.selector), "", problem))
    return errors


def _nested(obj: Any, path: tuple[str, ...], wanted: type) -> tuple[Any, str]:
    """The value at ``path``, None if there is none, and what keeps Go's accessor from reading it."""
    value = obj
    for index, step in enumerate(path):
        if value is None:
            return None, ""
        if not isinstance(value, dict):
            return None, _not_of_type(path[: index + 1], value, "map[string]interface{}")
        if step not in value:
            return None, ""
        value = value[step]
    if type(value) is not wanted:
        return None, _not_of_type(path, value, _GO_TYPES[wanted])
    return value, ""


def _not_of_type(path: tuple[str, ...], value: Any, wanted: str) -> str:
    sort = "<nil>" if value is None else _GO_TYPES.get(type(value), "map[string]interface {}")
    return f"{_text(path)} accessor error: {go_text(value)} is of the type {sort}, expected {wanted}"


def _text(path: tuple[str, ...]) -> str:
    return ".".join(("", *path))
