"""Instances of users' dataclasses and pydantic models, made from plain JSON values.

msgspec converts dataclasses by the names of their attributes; pydantic makes its models itself, with their validators.
This file contains the step that both need first: it replaces wire names with the names that the class's constructor
takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args, get_origin

from msgspec import Struct
from msgspec.structs import FieldInfo

from setpoint.meta.model_fields import alternatives, fields_of, has_foreign, is_foreign, is_pydantic, key_of

Convert = Callable[[Any, Any], Any]
"""Converts a plain JSON value to an instance of a type: ``convert(value, type)``."""


class Rejected(ValueError):
    """A value that pydantic rejects. ``parts`` has the path (``.sizes[2]``), problem and value of each part that
    is at fault; the message has the paths and problems in one line, without pydantic's heading and links.
    """

    def __init__(self, problem: Any, skip: int = 0) -> None:
        """``problem`` is pydantic's ``ValidationError``; the first ``skip`` steps of each path are left out."""
        self.parts: list[tuple[str, str, Any]] = []
        for error in problem.errors(include_url=False, include_context=False):
            steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in error["loc"][skip:])
            self.parts.append(("".join(steps), " ".join(error["msg"].split()), error["input"]))
        super().__init__("; ".join(f"{path.lstrip('.')}: {text}".removeprefix(": ") for path, text, _ in self.parts))


def prepare(annotation: Any, value: Any) -> Any:
    """``value`` with wire names replaced by the attribute names of dataclasses, which ``msgspec.convert`` expects.

    The values of pydantic models stay as they are; `make_pydantic` handles them.
    """
    if value is None or not has_foreign(annotation):
        return value
    for choice in alternatives(annotation):
        target = get_origin(choice) or choice
        if isinstance(value, dict):
            if is_pydantic(target):
                return value
            if is_foreign(target):
                return {
                    item.name: prepare(item.type, value[item.encode_name])
                    for item in fields_of(target)
                    if item.encode_name in value
                }
            if isinstance(target, type) and issubclass(target, Struct):
                inner = {item.encode_name: item.type for item in fields_of(choice)}
                return {key: prepare(inner[key], item) if key in inner else item for key, item in value.items()}
        copied = _container(choice, value, prepare)
        if copied is not None:
            return copied
    return value


def make_pydantic(kind: Any, value: Any, convert: Convert) -> Any:
    """An instance of a pydantic model, validated by pydantic. ``convert`` makes the setpoint models inside it.

    Raises:
        Rejected: pydantic rejects the value.
    """
    prepared = _keywords(kind, value, convert) if isinstance(value, dict) else value
    try:
        return kind.model_validate(prepared)
    except ValueError as problem:
        raise Rejected(problem) from problem


def pydantic_field(kind: Any, field: FieldInfo, value: Any, convert: Convert) -> Any:
    """The value of one field of a pydantic model, validated without regard to the other fields.

    Raises:
        Rejected: pydantic rejects the value. A validator of the field may raise any other exception.
    """
    model, prepared = kind.model_construct(), _inside(field.type, value, convert)
    vars(model).clear()
    try:
        kind.__pydantic_validator__.validate_assignment(model, field.name, prepared)
    except Exception as problem:
        if field.name in vars(model):  # it is valid by itself; a validator of the whole model missed other fields
            return getattr(model, field.name)
        if isinstance(problem, ValueError):
            raise Rejected(problem, skip=1) from problem
        raise
    return getattr(model, field.name)


def _keywords(kind: type, value: dict[str, Any], convert: Convert) -> dict[str, Any]:
    return {
        key_of(kind, item.name): _inside(item.type, value[item.encode_name], convert)
        for item in fields_of(kind)
        if item.encode_name in value
    }


def _inside(annotation: Any, value: Any, convert: Convert) -> Any:
    """The value for a field of a pydantic model, in the form that pydantic accepts."""
    if value is None:
        return None
    for choice in alternatives(annotation):
        target = get_origin(choice) or choice
        if is_foreign(target) and isinstance(value, dict):
            return _keywords(target, value, convert)
        if target is bytes and isinstance(value, str):  # pydantic would take the letters of the base64 for the bytes
            return convert(value, bytes)
        if isinstance(target, type) and (issubclass(target, Struct) or target.__module__.startswith("setpoint.")):
            return convert(value, choice)
        copied = _container(choice, value, lambda inner, item: _inside(inner, item, convert))
        if copied is not None:
            return copied
    return value


def _container(choice: Any, value: Any, convert: Callable[[Any, Any], Any]) -> Any:
    """A list or a map with each of its items converted; None if ``choice`` or ``value`` is neither."""
    target, arguments = get_origin(choice) or choice, get_args(choice)
    if not isinstance(target, type) or not arguments:
        return None
    if isinstance(value, list) and issubclass(target, list | tuple | set | frozenset):
        return [convert(arguments[0], item) for item in value]
    if isinstance(value, dict) and issubclass(target, Mapping):
        return {key: convert(arguments[1], item) for key, item in value.items()}
    return None
