"""Request bodies in Kubernetes' protobuf, decoded to JSON values.

client-go's clients of built-in kinds, for example in ``kubectl create namespace``, use only this format to create,
update and delete objects, and can't fall back to JSON. `setpoint.apiserver.responses.protobuf` encodes responses in the
same format.

The field numbers are data; see ``tools/generate_protobuf.py``. As in Go, unknown fields are dropped, and zeros are left
out where JSON would leave them out.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from setpoint.apiserver.objects.go_types import EXTENSIONS, META, is_message, numbered
from setpoint.meta import GroupVersion, GroupVersionKind, MicroTime, format_micro_time, format_time
from setpoint.models import UnknownKindError, definition_name

PROTOBUF_TYPE: Final = "application/vnd.kubernetes.protobuf"
_MAGIC: Final = b"k8s\x00"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ZERO_TIME: Final = -62135596800  # the first of January of the year 1, which Go means by no time at all
_DEPTH: Final = 100


def decode(body: bytes) -> dict[str, Any]:
    """The object in ``body`` as plain JSON values, with ``apiVersion`` and ``kind``.

    Raises:
        ValueError: the body is malformed, or its kind is not built in; the message says which of the two.
    """
    api_version, name, raw = _envelope(body)
    try:
        gvk = GroupVersionKind(*GroupVersion.parse(api_version), name)
        definition = definition_name(gvk)
    except (UnknownKindError, ValueError):
        raise ValueError(f'no kind "{name}" is registered for version "{api_version}" in protobuf') from None
    if not is_message(definition):
        raise ValueError(f'object of kind "{name}" in version "{api_version}" does not support protobuf')
    return {"apiVersion": api_version, "kind": name, **_message(definition, raw, 0)}


def decode_event(event: bytes) -> tuple[str, dict[str, Any]]:
    """The type of a watch event, and the ``kind`` and ``metadata`` of its object; the rest is not decoded. The metadata
    of a Status is empty.

    ``event`` is one frame of a stream without its length; see `setpoint.apiserver.responses.protobuf.frame`.

    Raises:
        ValueError: the event is malformed.
    """
    type_, obj = _part(memoryview(event), 1), _part(memoryview(event), 2)
    _, kind, raw = _envelope(bytes(_part(obj, 1)))
    metadata = {} if kind == "Status" else _message(META + "ObjectMeta", _part(raw, 1), 0)
    return _text(type_), {"kind": kind, "metadata": metadata}


def _envelope(body: bytes) -> tuple[str, str, memoryview]:
    """The apiVersion, the kind and the bytes of the object in ``body``. Raises ValueError if they are malformed."""
    if not body.startswith(_MAGIC):
        raise ValueError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    content = memoryview(body)[len(_MAGIC) :]
    if encoding := _part(content, 3):
        raise ValueError(f"protobuf: content encoding {_text(encoding)!r} is not supported")
    kind = _part(content, 1)
    return _text(_part(kind, 1)), _text(_part(kind, 2)), _part(content, 2)


def _part(data: memoryview, wanted: int) -> memoryview:
    """The content of the last field numbered ``wanted``, which must not be numeric; empty if there is no such field."""
    last = memoryview(b"")
    for number, _, value in _fields(data):
        if number == wanted:
            last = _view(value)
    return last


def _message(name: str, data: memoryview, depth: int) -> dict[str, Any]:
    if depth > _DEPTH:
        raise ValueError("protobuf: nested too deeply")
    fields = numbered(name)
    message: dict[str, Any] = {}
    for number, wire, value in _fields(data):
        field = fields.get(number)
        if field is None:
            continue
        if field.repeated:
            message.setdefault(field.name, []).extend(_items(field.type, wire, value, depth))
        elif field.mapping:
            key, item = "", _zero(field.type)
            for part, _, content in _fields(_view(value)):
                if part == 1:
                    key = _text(content)
                elif part == 2:
                    item = _value(field.type, content, depth)
            message.setdefault(field.name, {})[key] = item
        elif not field.name:
            message |= _value(field.type, value, depth)
        else:
            item = _value(field.type, value, depth)
            if item is not None and (item or field.pointer or field.always):
                message[field.name] = item
    return message


def _items(kind: str, wire: int, value: int | memoryview, depth: int) -> Iterator[Any]:
    if wire == 2 and kind in ("int", "bool"):  # packed
        data, place = _view(value), 0
        while place < len(data):
            number, place = _varint(data, place)
            yield _value(kind, number, depth)
    else:
        yield _value(kind, value, depth)


def _value(kind: str, value: int | memoryview, depth: int) -> Any:
    scalar = _SCALARS.get(kind)
    if scalar is not None:
        return scalar(value)
    schema = _SCHEMAS.get(kind)
    return _message(kind, _view(value), depth + 1) if schema is None else schema(_view(value), depth)


def _zero(kind: str) -> Any:
    return {"string": "", "bytes": "", "int": 0, "bool": False, "strings": []}.get(kind, {})


# -- scalars, and messages with a JSON form of their own --------------------------------------------------------------


def _view(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise ValueError("protobuf: a number where a message or text belongs")
    return value


def _bytes(value: int | memoryview) -> bytes:
    return bytes(_view(value))


def _text(value: int | memoryview) -> str:
    try:
        return _bytes(value).decode()
    except UnicodeDecodeError as problem:
        raise ValueError(f"protobuf: text that is not UTF-8: {problem}") from None


def _integer(value: int | memoryview) -> int:
    if not isinstance(value, int):
        raise ValueError("protobuf: a message or text where a number belongs")
    return value - (1 << 64) if value >= 1 << 63 else value


def _double(value: int | memoryview) -> float:
    data = _bytes(value)
    return float(struct.unpack("<d" if len(data) == 8 else "<f", data)[0])


def _moment(value: int | memoryview) -> datetime | None:
    numbers = {number: _integer(content) for number, _, content in _fields(_view(value))}
    seconds = numbers.get(1, 0)
    if not numbers or seconds == _ZERO_TIME:
        return None
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=numbers.get(2, 0) // 1000)
    except OverflowError:
        raise ValueError(f"protobuf: time out of range: {seconds} s") from None


def _time(value: int | memoryview) -> str | None:
    moment = _moment(value)
    return None if moment is None else format_time(moment)


def _micro_time(value: int | memoryview) -> str | None:
    moment = _moment(value)
    return None if moment is None else format_micro_time(MicroTime.of(moment))


def _quantity(value: int | memoryview) -> str:
    return next((_text(content) for number, _, content in _fields(_view(value)) if number == 1), "0")


def _int_or_string(value: int | memoryview) -> int | str:
    parts = {number: content for number, _, content in _fields(_view(value))}
    if _integer(parts.get(1, 0)) == 1:
        return _text(parts.get(3, memoryview(b"")))
    return _integer(parts.get(2, 0))


def _raw_json(value: int | memoryview) -> Any:
    for number, _, content in _fields(_view(value)):
        if number == 1:
            try:
                return msgspec.json.decode(_view(content))
            except msgspec.DecodeError as problem:
                raise ValueError(f"protobuf: embedded JSON: {problem}") from None
    return None


def _strings(value: int | memoryview) -> list[str]:
    return [_text(content) for number, _, content in _fields(_view(value)) if number == 1]


def _schema_or_bool(value: memoryview, depth: int) -> Any:
    parts = {number: content for number, _, content in _fields(value)}
    return _value(_SCHEMA, parts[2], depth) if 2 in parts else _integer(parts.get(1, 0)) != 0


def _schema_or_list(value: memoryview, depth: int) -> Any:
    several = [_value(_SCHEMA, content, depth) for number, _, content in _fields(value) if number == 2]
    return several or _first_schema(value, depth)


def _schema_or_texts(value: memoryview, depth: int) -> Any:
    several = [_text(content) for number, _, content in _fields(value) if number == 2]
    return several or _first_schema(value, depth)


def _first_schema(value: memoryview, depth: int) -> Any:
    return next((_value(_SCHEMA, content, depth) for number, _, content in _fields(value) if number == 1), None)


_SCHEMA: Final = EXTENSIONS + "JSONSchemaProps"
_SCHEMAS: Final[dict[str, Callable[[memoryview, int], Any]]] = {
    EXTENSIONS + "JSONSchemaPropsOrBool": _schema_or_bool,
    EXTENSIONS + "JSONSchemaPropsOrArray": _schema_or_list,
    EXTENSIONS + "JSONSchemaPropsOrStringArray": _schema_or_texts,
}
"""Unions of an OpenAPI schema and another type; in protobuf, each alternative has a separate field."""
_SCALARS: Final[dict[str, Callable[[int | memoryview], Any]]] = {
    "string": _text,
    "bytes": lambda value: base64.b64encode(_view(value)).decode(),
    "int": _integer,
    "bool": lambda value: _integer(value) != 0,
    "double": _double,
    "strings": _strings,
    META + "Time": _time,
    META + "MicroTime": _micro_time,
    META + "FieldsV1": _raw_json,
    EXTENSIONS + "JSON": _raw_json,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": _raw_json,
    "io.k8s.apimachinery.pkg.api.resource.Quantity": _quantity,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
}


# -- the wire ---------------------------------------------------------------------------------------------------------


def _fields(data: memoryview) -> Iterator[tuple[int, int, int | memoryview]]:
    """The number, wire type and content of each field."""
    place, end = 0, len(data)
    while place < end:
        tag, place = _varint(data, place)
        wire = tag & 7
        if wire == 0:
            value, place = _varint(data, place)
            yield tag >> 3, wire, value
            continue
        if wire == 2:
            size, place = _varint(data, place)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise ValueError(f"protobuf: illegal wire type {wire}")
        if place + size > end:
            raise ValueError("protobuf: unexpected EOF")
        yield tag >> 3, wire, data[place : place + size]
        place += size


def _varint(data: memoryview, place: int) -> tuple[int, int]:
    value = shift = 0
    while place < len(data):
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, place
        shift += 7
        if shift > 63:
            raise ValueError("protobuf: integer overflow")
    raise ValueError("protobuf: unexpected EOF")
