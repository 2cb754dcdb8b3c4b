"""Encodes objects, lists, statuses and watch events in Kubernetes' protobuf format.

The bytes are those of Go's encoder: fields are sorted by number, maps are sorted by key, and zero values are written
for fields that are not pointers in Go. The field numbers are data; see ``tools/generate_protobuf.py``.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import Any, Final

import msgspec
from msgspec import Raw

from setpoint.apiserver.objects.codec import decode, escaped
from setpoint.apiserver.objects.go_types import EXTENSIONS, META, GoField, is_message, numbered
from setpoint.meta import GroupVersion, GroupVersionKind, parse_time
from setpoint.models import UnknownKindError, definition_name

_MAGIC: Final = b"k8s\x00"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_REMEMBERED: Final = 1024
"""The number of objects whose bytes are cached, because many watches often send the same object."""
_LARGE: Final = 16 * 1024
"""Objects whose JSON has at least this many bytes are not cached."""
_ITEMS: Final = b"\x12"
"""The tag of the items in a list of any kind."""


def encode(document: Mapping[str, Any]) -> bytes:
    """The bytes of an object or list of a built-in kind, of a Status, or of metadata. The items of a list may be raw
    JSON.
    """
    api_version, kind = document.get("apiVersion", ""), document["kind"]
    message = _message_of(api_version, kind)
    assert message is not None, f"{api_version} {kind} has no form in protobuf"
    items = document.get("items")
    if items and isinstance(items[0], Raw):
        item = numbered(message)[2].type
        head = _compiled(message)({"metadata": document.get("metadata")})
        raw = b"".join((head, *_listed(item, items)))
    else:
        raw = _compiled(message)(document)
    type_meta = chunk(b"\x0a", api_version.encode()) + chunk(b"\x12", kind.encode())
    return b"".join((_MAGIC, chunk(b"\x0a", type_meta), chunk(b"\x12", raw), b"\x1a\x00\x22\x00"))


def frame(type_: bytes, document: bytes) -> bytes:
    """One watch event, preceded by its length in four bytes. ``document`` is the event's object as JSON."""
    opened = _remembered(document) if len(document) < _LARGE else encode(decode(document))
    event = chunk(b"\x0a", type_) + chunk(b"\x12", chunk(b"\x0a", opened))
    return len(event).to_bytes(4, "big") + event


@lru_cache(maxsize=_REMEMBERED)
def _remembered(document: bytes) -> bytes:
    return encode(decode(document))


@lru_cache(maxsize=_REMEMBERED)
def _message_of(api_version: str, kind: str) -> str | None:
    gvk = GroupVersionKind(*GroupVersion.parse(api_version), kind)
    if gvk.group == "apidiscovery.k8s.io":  # which OpenAPI does not describe
        return f"io.k8s.api.apidiscovery.{gvk.version}.{kind}"
    if gvk.group == "meta.k8s.io":
        name = f"{META}{kind}"  # of every version
        return name if kind.startswith("PartialObjectMetadata") else None
    for candidate in (kind, kind.removesuffix("List")):
        try:
            name = definition_name(GroupVersionKind(gvk.group, gvk.version, candidate))
        except UnknownKindError:
            continue
        name += kind.removeprefix(candidate)
        return name if is_message(name) else None
    name = f"{META}{kind}"
    return name if api_version in ("", "v1") and is_message(name) else None


def _listed(message: str, items: Sequence[Raw]) -> Iterable[bytes]:
    for item in items:
        yield _ITEMS
        encoded = _remembered_item(message, bytes(item)) if len(item) < _LARGE else _item(message, bytes(item))
        yield varint(len(encoded))
        yield encoded


def _item(message: str, document: bytes) -> bytes:
    return _compiled(message)(decode(document))


_remembered_item = lru_cache(maxsize=_REMEMBERED)(_item)


# -- messages ---------------------------------------------------------------------------------------------------------

Encoder = Callable[[Any], bytes]


class _Message:
    """Writes the messages of one type. The plan for its fields is made when the first message is written, since
    messages may contain others of the same type.
    """

    __slots__ = ("_name", "_plan")

    def __init__(self, name: str) -> None:
        self._name = name
        self._plan: list[tuple[str, Encoder, bytes]] | None = None

    def __call__(self, value: Mapping[str, Any] | None) -> bytes:
        plan = self._plan
        if plan is None:
            plan = self._plan = [_planned(number, field) for number, field in sorted(numbered(self._name).items())]
        value = value or {}
        parts = []
        get = value.get
        for name, write, absent in plan:
            if not name:  # its fields are this object's own
                parts.append(write(value))
            elif (content := get(name)) is not None:
                parts.append(write(content))
            elif absent:
                parts.append(absent)
        return b"".join(parts)


@cache
def _compiled(name: str) -> _Message:
    return _Message(name)


def _planned(number: int, field: GoField) -> tuple[str, Encoder, bytes]:
    """A field's name, the function that writes its value, and the bytes to write if the field is absent."""
    tag = _tag(number, field.type)
    if field.repeated:
        return field.name, _repeated(tag, field.type), b""
    if field.mapping:
        return field.name, _mapping(tag, field.type), b""
    write = _writer(tag, field.type)
    if field.pointer or field.type == "bytes":
        return field.name, write, b""
    return field.name, write, write(_ABSENT.get(field.type))


def _tag(number: int, kind: str) -> bytes:
    return varint(number << 3 | {"int": 0, "bool": 0, "double": 1}.get(kind, 2))


def _writer(tag: bytes, kind: str) -> Encoder:
    match kind:
        case "string":
            return lambda value: chunk(tag, value.encode())
        case "bytes":
            return lambda value: chunk(tag, base64.b64decode(value))
        case "int":
            return lambda value: tag + varint(int(value))
        case "bool":
            return lambda value: tag + (b"\x01" if value else b"\x00")
        case "double":
            return lambda value: tag + struct.pack("<d", value)
    inner = _SPECIAL.get(kind) or _compiled(kind)
    return lambda value: chunk(tag, inner(value))


def _repeated(tag: bytes, kind: str) -> Encoder:
    write = _writer(tag, kind)
    return lambda values: b"".join([write(value) for value in values])


def _mapping(tag: bytes, kind: str) -> Encoder:
    write, zero = _writer(_tag(2, kind), kind), _ABSENT.get(kind)

    def entries(values: Mapping[str, Any]) -> bytes:
        return b"".join(
            [
                chunk(tag, chunk(b"\x0a", key.encode()) + write(zero if values[key] is None else values[key]))
                for key in sorted(values, key=str.encode)
            ]
        )

    return entries


# -- messages with a JSON form of their own ---------------------------------------------------------------------------


def _time(value: str | None) -> bytes:
    if not value:
        return b""
    return b"\x08" + varint((parse_time(value) - _EPOCH) // timedelta(seconds=1)) + b"\x10\x00"


def _micro_time(value: str | None) -> bytes:
    if not value:
        return b""
    seconds, micros = divmod((parse_time(value) - _EPOCH) // timedelta(microseconds=1), 1_000_000)
    return b"\x08" + varint(seconds) + b"\x10" + varint(micros * 1000)


def _quantity(value: Any) -> bytes:
    return chunk(b"\x0a", str(value).encode())


def _int_or_string(value: int | str) -> bytes:
    if isinstance(value, str):
        return b"\x08\x01\x10\x00" + chunk(b"\x1a", value.encode())
    return b"\x08\x00\x10" + varint(int(value)) + b"\x1a\x00"


def _raw_json(value: Any) -> bytes:
    return b"" if value is None else chunk(b"\x0a", msgspec.json.encode(value))


def _raw_extension(value: Any) -> bytes:
    return b"" if value is None else chunk(b"\x0a", escaped(msgspec.json.encode(value)))


def _strings(values: Iterable[str]) -> bytes:
    return b"".join(chunk(b"\x0a", value.encode()) for value in values)


def _schema_or_bool(value: Any) -> bytes:
    if isinstance(value, bool):
        return b"\x08\x01" if value else b"\x08\x00"
    return b"\x08\x01" + chunk(b"\x12", _schema(value))


def _schema_or_several(value: Any) -> bytes:
    if isinstance(value, list):
        return b"".join(chunk(b"\x12", item.encode() if isinstance(item, str) else _schema(item)) for item in value)
    return chunk(b"\x0a", _schema(value))


_schema: Final = _compiled(EXTENSIONS + "JSONSchemaProps")
_SPECIAL: Final[dict[str, Encoder]] = {
    "strings": _strings,
    META + "Time": _time,
    META + "MicroTime": _micro_time,
    META + "FieldsV1": _raw_json,
    EXTENSIONS + "JSON": _raw_json,
    EXTENSIONS + "JSONSchemaPropsOrBool": _schema_or_bool,
    EXTENSIONS + "JSONSchemaPropsOrArray": _schema_or_several,
    EXTENSIONS + "JSONSchemaPropsOrStringArray": _schema_or_several,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": _raw_extension,
    "io.k8s.apimachinery.pkg.api.resource.Quantity": _quantity,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
}
_ABSENT: Final[dict[str, Any]] = {
    "string": "",
    "bytes": "",
    "int": 0,
    "bool": False,
    "double": 0.0,
    "strings": (),
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "0",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": 0,
}
"""Go's zero values by type, in JSON; all other types have null."""


# -- the wire ---------------------------------------------------------------------------------------------------------

_SHORT: Final = [bytes([number]) for number in range(0x80)]


def varint(value: int) -> bytes:
    """An integer as a varint; a negative integer is encoded as 64 bits in two's complement."""
    if 0 <= value < 0x80:
        return _SHORT[value]
    value &= 0xFFFFFFFFFFFFFFFF
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def chunk(tag: bytes, content: bytes) -> bytes:
    """A field that has a length: the tag, the length of ``content``, and ``content``."""
    return tag + varint(len(content)) + content
