"""Between bytes, plain JSON values and models.

`decode` is strict about types first, because that is fast. What only Go's looseness would accept (``null`` for a
list, a required field left out, a number where a quantity's string is meant) is repaired on a second, slow attempt,
so that no answer of a real server is ever refused for being sloppy.
"""

from __future__ import annotations

import types
from collections.abc import Hashable, Mapping
from datetime import datetime
from functools import cache
from typing import Any, TypeVar, cast, get_args, get_origin

import msgspec
from msgspec import UNSET, Struct, UnsetType

from setpoint.meta.duration import Duration
from setpoint.meta.fields import alternatives, bare, fields_of, has_foreign, is_foreign, is_pydantic, is_record
from setpoint.meta.foreign import make_pydantic, prepare
from setpoint.meta.model import ApiModel, Object, resource_of
from setpoint.meta.quantity import Quantity
from setpoint.meta.time import MicroTime, format_micro_time, parse_time

M = TypeVar("M")
_RAW = "_raw"


class DecodeError(ValueError):
    """A document does not fit its model; the message names the kind, the key where known, and the field."""


def decode(kind: type[M], raw: bytes | memoryview | msgspec.Raw) -> M:
    """A fresh instance of ``kind`` from JSON. An `Object` remembers ``raw`` for later patches (see `raw_of`).

    Raises:
        DecodeError: not JSON, or a value can't be what its field says.
    """
    raw = bytes(raw)  # its own copy: an object must not keep alive the whole list that it came in
    made: M
    try:
        made = _decoder(cast("Hashable", kind)).decode(raw)
    except msgspec.ValidationError as problem:
        made = _repaired(kind, raw, problem)
    except msgspec.DecodeError as problem:
        raise DecodeError(f"not a {kind.__name__} but malformed JSON: {problem}") from None
    if isinstance(made, Object):
        vars(made)[_RAW] = raw
    return made


def from_wire(kind: type[M], value: Any) -> M:
    """A fresh instance of ``kind`` from plain JSON values (dicts, lists, strings, numbers).

    Raises:
        DecodeError: a value can't be what its field says.
    """
    return decode(kind, msgspec.json.encode(value))


def raw_of(obj: Object) -> bytes | None:
    """The JSON that ``obj`` was decoded from, or None for an object that was made by hand."""
    raw = vars(obj).get(_RAW)
    return raw if isinstance(raw, bytes) else None


def remember_raw(obj: Object, raw: bytes) -> None:
    """Makes ``raw`` the JSON that ``obj`` counts as read from."""
    vars(obj)[_RAW] = raw


def to_wire(value: Any) -> Any:
    """Plain JSON values of a model (or of a container of models): what is absent is left out, never null.

    An `Object` starts with ``apiVersion`` and ``kind``; a ``spec`` or ``status`` that says nothing is left out.
    """
    if isinstance(value, Object):
        if own := getattr(type(value), "__wire__", None):  # a kind without a model of its own
            return own(value)
        resource = resource_of(type(value))
        document: dict[str, Any] = {"apiVersion": resource.api_version, "kind": resource.kind}
        fields = _struct_to_wire(value)
        zeros = _zeros(type(value))
        for name, content in fields.items():
            if name not in zeros or content != zeros[name]:
                document[name] = content
        return document
    if isinstance(value, Struct) or is_foreign(type(value)):
        return _struct_to_wire(value)
    if isinstance(value, Mapping):
        return {key: to_wire(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_wire(item) for item in value]
    return msgspec.to_builtins(value, enc_hook=_encode_hook)


def encode(value: Any) -> bytes:
    """JSON of a model; see `to_wire`."""
    return msgspec.json.encode(to_wire(value))


def _struct_to_wire(value: Any) -> dict[str, Any]:
    kind = type(value)
    if _by_msgspec(cast("Hashable", kind)):
        plain: dict[str, Any] = msgspec.to_builtins(value, enc_hook=_encode_hook)
        return plain
    document: dict[str, Any] = {}
    for attribute, name, nullable in _fields(cast("Hashable", kind)):
        content = getattr(value, attribute)
        if content is UNSET or (content is None and not nullable):
            continue
        document[name] = to_wire(content)
    return document


@cache
def _by_msgspec(kind: Any) -> bool:
    """Whether msgspec writes this class as it must be: what is absent is left out by ``omit_defaults``."""
    if issubclass(kind, ApiModel):
        return True
    return issubclass(kind, Struct) and kind.__struct_config__.omit_defaults and not has_foreign(kind)


@cache
def _fields(kind: Any) -> tuple[tuple[str, str, bool], ...]:
    return tuple((item.name, item.encode_name, UnsetType in alternatives(item.type)) for item in fields_of(kind))


@cache
def _zeros(kind: type[Object]) -> dict[str, Any]:
    """What spec, status and metadata look like on the wire when nobody said anything in them."""
    zeros = {}
    for item in msgspec.structs.fields(kind):
        factory = item.default_factory
        if factory is not msgspec.NODEFAULT and item.encode_name in ("metadata", "spec", "status"):
            zeros[item.encode_name] = to_wire(factory())
    return zeros


def _encode_hook(value: Any) -> Any:
    if isinstance(value, MicroTime):
        return format_micro_time(value)
    if isinstance(value, Quantity | Duration):
        return str(value)
    if isinstance(value, str):  # an ObjectKey, or any other kind of str, which msgspec doesn't take for one
        return str.__str__(value)
    if isinstance(value, msgspec.Raw):
        return msgspec.json.decode(value)
    if is_foreign(type(value)):
        return to_wire(value)
    raise NotImplementedError(f"{type(value).__name__} has no JSON form")


def _decode_hook(kind: type, value: Any) -> Any:
    if kind is MicroTime:
        return MicroTime.of(parse_time(value))
    if kind is Quantity:
        return Quantity(value)
    if kind is Duration:
        return Duration.parse(value)
    if is_pydantic(kind):
        return make_pydantic(kind, value, _convert)
    raise NotImplementedError(f"{kind.__name__} has no JSON form")


@cache
def _decoder(kind: Hashable) -> msgspec.json.Decoder[Any] | _ForeignDecoder:
    return _ForeignDecoder(kind) if has_foreign(kind) else _native(kind)


@cache
def _native(kind: Hashable) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(cast("Any", kind), dec_hook=_decode_hook)


class _ForeignDecoder:
    """Decodes what has dataclasses or pydantic models inside, in two steps: their names aren't the wire's."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def decode(self, raw: bytes | memoryview | msgspec.Raw) -> Any:
        return _convert(prepare(self._kind, msgspec.json.decode(raw)), self._kind)


def _convert(value: Any, kind: Any) -> Any:
    # by way of JSON again, because msgspec.convert can't make a Raw
    return _native(cast("Hashable", kind)).decode(msgspec.json.encode(value))


# -- the slow attempt -------------------------------------------------------------------------------------------------


def _repaired(kind: type[M], raw: bytes, problem: msgspec.ValidationError) -> M:
    document = msgspec.json.decode(raw)
    try:
        return cast("M", _convert(prepare(kind, _repair(kind, document)), kind))
    except msgspec.ValidationError as final:
        raise DecodeError(f"{_describe(kind, document)}: {final}") from None
    except RecursionError:
        raise DecodeError(f"{_describe(kind, document)}: nested too deeply ({problem})") from None


def _describe(kind: type, document: Any) -> str:
    metadata = document.get("metadata") if isinstance(document, dict) else None
    if not isinstance(metadata, dict) or not metadata.get("name"):
        return kind.__name__
    namespace = metadata.get("namespace")
    return f"{kind.__name__} {namespace}/{metadata['name']}" if namespace else f"{kind.__name__} {metadata['name']}"


def _repair(annotation: Any, value: Any) -> Any:
    """``value`` as Go's decoder would have understood it for a field of this type."""
    choices = alternatives(annotation)
    if value is None:
        return None if types.NoneType in choices else _zero(choices[0])
    concrete = [choice for choice in choices if choice not in (types.NoneType, UnsetType)]
    if len(concrete) != 1:
        return value
    target = concrete[0]
    if target is msgspec.Raw:
        return msgspec.Raw(msgspec.json.encode(value))
    origin = get_origin(target) or target
    if is_record(origin) and isinstance(value, dict):
        return _repair_struct(origin, value)
    if origin is list and isinstance(value, list):
        (item,) = get_args(target) or (Any,)
        return [_repair(item, entry) for entry in value]
    if origin is dict and isinstance(value, dict):
        _, item = get_args(target) or (str, Any)
        return {key: _repair(item, entry) for key, entry in value.items()}
    if target is str and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return value


def _repair_struct(kind: type, value: dict[str, Any]) -> dict[str, Any]:
    repaired = dict(value)
    for item in fields_of(kind):
        name = item.encode_name
        if name in value:
            if value[name] is None and types.NoneType not in alternatives(item.type) and not item.required:
                del repaired[name]
            else:
                repaired[name] = _repair(item.type, value[name])
        elif item.required:
            repaired[name] = _zero(alternatives(item.type)[0])
    return repaired


def _zero(target: Any) -> Any:
    """The zero value that Go gives to a field that was not sent."""
    target = bare(target)
    origin = get_origin(target) or target
    if origin in (str, int, float, bool, list, dict):
        return origin()
    if origin is bytes:
        return ""
    if is_record(origin):
        return _repair_struct(origin, {})
    if isinstance(origin, type) and issubclass(origin, datetime):
        return "0001-01-01T00:00:00Z"
    return None


__all__ = ["DecodeError", "decode", "encode", "from_wire", "raw_of", "remember_raw", "to_wire"]
