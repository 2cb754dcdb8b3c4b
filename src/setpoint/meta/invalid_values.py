"""Misfits: values that an API server stores although the class of their object does not allow them.

A bound of the class may have been tightened, a member may have left an enum, a program may have been rolled back to an
earlier class, or the server may accept more than the class. API servers let such objects be changed and deleted
(KEP-4008), so a controller must be able to see them, report on them and clean up after them.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar, cast, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Struct, UnsetType
from msgspec.structs import FieldInfo

from setpoint.meta.codec import convert, decode, remember_raw
from setpoint.meta.json_document import DecodeError, TooDeep, elements, members, plain
from setpoint.meta.model import Object
from setpoint.meta.model_fields import alternatives, fields_of, is_pydantic, is_record
from setpoint.meta.user_classes import Rejected, pydantic_field

M = TypeVar("M")
_NULL = b"null"


class Misfit(NamedTuple):
    """A value that does not fit its field. ``path`` names the field (``spec.tiers[2].size``); it is ``""`` if no single
    field is at fault. ``value`` is the value as it was read.
    """

    path: str
    problem: str
    value: Any = None

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}" if self.path else self.problem


def decode_as_read(kind: type[M], raw: bytes | memoryview | msgspec.Raw) -> tuple[M, list[Misfit]]:
    """Like `decode`, but a value that does not fit its field does not make it fail: the field then holds the plain JSON
    value as it was read (`msgspec.Raw` if it is nested too deeply), and the list names the field. The list is empty if
    the object fits its class.

    Raises:
        DecodeError: ``raw`` is not a JSON object.
    """
    raw = bytes(raw)
    misfits: list[Misfit] = []
    try:
        return decode(kind, raw), misfits
    except DecodeError as problem:
        obj = _record(kind, raw, "", misfits)
        if isinstance(obj, Object):
            remember_raw(obj, raw)
        return cast("M", obj), misfits or [Misfit("", str(problem), obj)]


def _read(
    annotation: Any, raw: bytes, path: str, misfits: list[Misfit], make: Callable[[Any, Any], Any] = convert
) -> Any:
    """The value of a field. ``make`` makes it from its type and the plain JSON value. If that fails, its parts are read
    one by one, so only the parts that do not fit stay as they are.
    """
    try:
        return make(annotation, plain(raw))
    except Exception as problem:  # noqa: BLE001 - a validator of the user's may raise anything
        before = len(misfits)
        try:
            value = _inside(annotation, raw, path, misfits)
        except RecursionError:
            value = msgspec.Raw(raw)
        if len(misfits) == before and isinstance(problem, Rejected):
            misfits += [Misfit(path + inner, text, part) for inner, text, part in problem.parts]
        elif len(misfits) == before:
            text = str(problem) if isinstance(problem, ValueError) else f"{type(problem).__name__}: {problem}"
            misfits.append(Misfit(path, " ".join(text.split()), value))
        return value


def _inside(annotation: Any, raw: bytes, path: str, misfits: list[Misfit]) -> Any:
    choices = [choice for choice in alternatives(annotation) if choice not in (types.NoneType, UnsetType)]
    target = get_origin(choices[0]) or choices[0] if len(choices) == 1 else None
    start = raw.lstrip()[:1]
    if start == b"{" and is_record(target):
        return _record(choices[0], raw, path, misfits)
    if start == b"{" and target is dict and (value_type := (*get_args(choices[0]), Any, Any)[1]) is not Any:
        return {key: _read(value_type, item, f"{path}[{key}]", misfits) for key, item in members(raw).items()}
    if start == b"[" and target is list:
        item_type = (*get_args(choices[0]), Any)[0]
        return [_read(item_type, item, f"{path}[{index}]", misfits) for index, item in enumerate(elements(raw))]
    try:
        return plain(raw)
    except TooDeep:
        return msgspec.Raw(raw)


def _record(kind: Any, raw: bytes, path: str, misfits: list[Misfit]) -> Any:
    texts = members(raw)
    values: dict[str, Any] = {}
    for field in fields_of(kind):
        place = f"{path}.{field.encode_name}" if path else field.encode_name
        text = texts.get(field.encode_name, _NULL)
        if text == _NULL and (field.encode_name not in texts or types.NoneType not in alternatives(field.type)):
            if field.default is not NODEFAULT:
                values[field.name] = field.default
                continue
            if field.default_factory is not NODEFAULT:
                values[field.name] = field.default_factory()
                continue
        if is_pydantic(kind):
            values[field.name] = _read(field.type, text, place, misfits, partial(_validated, kind, field))
        else:
            values[field.name] = _read(field.type, text, place, misfits)
    return _construct(get_origin(kind) or kind, values)


def _validated(kind: Any, field: FieldInfo, _: Any, value: Any) -> Any:
    """The value of a field of a pydantic model, with the checks that are on the field and not in its type."""
    return pydantic_field(kind, field, value, convert)


def _construct(kind: Any, values: dict[str, Any]) -> Any:
    """An instance with these values, without the checks of its class."""
    if is_pydantic(kind):
        return kind.model_construct(**values)
    try:
        return kind(**values)
    except Exception:  # noqa: BLE001 - a __post_init__ of the user's may raise anything
        if issubclass(kind, Struct):
            return _unchecked(cast("Hashable", kind))(**values)
        record = object.__new__(kind)
        for name, value in values.items():
            object.__setattr__(record, name, value)
        return record


@cache
def _unchecked(kind: Any) -> Any:
    """A subclass whose instances can be made although ``__post_init__`` of ``kind`` refuses their values."""
    namespace = {"__post_init__": lambda self: None, "__module__": kind.__module__, "__qualname__": kind.__qualname__}
    return msgspec.StructMeta.__new__(type(kind), kind.__name__, (kind,), namespace, kw_only=True)
