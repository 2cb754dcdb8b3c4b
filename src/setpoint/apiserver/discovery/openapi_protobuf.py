"""OpenAPI documents of version 2 in protobuf (gnostic's ``openapi.v2.Document``), which kubectl requests.

Each message type is a table from the JSON names of its fields to their numbers and writers. A member that is not in the
table is an extension if its name begins with ``x-``; the value of an extension is written as YAML. Maps are written as
lists of named values.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from setpoint.apiserver.responses.protobuf import chunk, varint

Writer = Callable[[Any], Iterable[bytes]]
"""A function that returns the encoded entries of one field; a repeated field has several."""


def encode(document: Mapping[str, Any]) -> bytes:
    """The bytes of the document, whose members are plain JSON values."""
    return _message(_DOCUMENT, document)


def _message(fields: Mapping[str, tuple[int, Writer]], value: Mapping[str, Any]) -> bytes:
    numbered: list[tuple[int, bytes]] = []
    for key, content in value.items():
        number, write = fields.get(key) or (fields["x-"] if key.startswith("x-") else (0, None))
        if write is None or content is None:
            continue
        if key not in fields:
            content = (key, content)
        numbered += [(number, part) for part in write(content)]
    numbered.sort(key=lambda item: abs(item[0]))  # stable, so that what is repeated keeps its order
    return b"".join(part if number < 0 else chunk(_tag(number), part) for number, part in numbered)


def _tag(number: int) -> bytes:
    return varint(number << 3 | 2)


# -- forms of fields --------------------------------------------------------------------------------------------------


def _text(value: Any) -> Iterable[bytes]:
    return [str(value).encode()] if value != "" else []


def _texts(values: Any) -> Iterable[bytes]:
    return [str(value).encode() for value in ([values] if isinstance(values, str) else values)]


def _any(value: Any) -> bytes:
    return chunk(b"\x12", msgspec.json.encode(value) + b"\n")  # JSON is YAML


def _anything(value: Any) -> Iterable[bytes]:
    return [_any(value)]


def _things(values: Any) -> Iterable[bytes]:
    return [_any(value) for value in values]


def _extension(item: tuple[str, Any]) -> Iterable[bytes]:
    name, value = item
    return [chunk(b"\x0a", name.encode()) + chunk(b"\x12", _any(value))]


def _single(fields: Mapping[str, tuple[int, Writer]]) -> Writer:
    return lambda value: [_message(fields, value)]


def _schema(value: Any) -> Iterable[bytes]:
    return [_message(_SCHEMA, value)]


def _schemas(values: Any) -> Iterable[bytes]:
    return [_message(_SCHEMA, value) for value in values]


def _schema_or_bool(value: Any) -> Iterable[bytes]:
    if isinstance(value, bool):
        return [b"\x10\x01" if value else b"\x10\x00"]
    return [chunk(b"\x0a", _message(_SCHEMA, value))]


def _named(write: Writer) -> Writer:
    """A writer that writes a map as a list of messages, each with a name and a value; ``write`` writes the values."""
    return lambda values: [
        b"".join((chunk(b"\x0a", name.encode()), *(chunk(b"\x12", part) for part in write(value))))
        for name, value in sorted(values.items())
    ]


def _inside(number: int, write: Writer) -> Writer:
    """A writer for a message with a single field, which has this ``number`` and is written by ``write``."""
    tag = _tag(number)
    return lambda value: [b"".join(chunk(tag, part) for part in write(value))]


def _scalar(number: int) -> tuple[int, Writer]:
    """The field number and the writer for a boolean or an integer. The number is negative as a sign for `_message` that
    the writer adds the tag itself.
    """
    return -number, lambda value: [varint(number << 3) + varint(int(value))] if value else []


def _double(number: int) -> tuple[int, Writer]:
    return -number, lambda value: [varint(number << 3 | 1) + struct.pack("<d", value)] if value else []


def _parameter(value: Mapping[str, Any]) -> bytes:
    if value["in"] == "body":
        return chunk(b"\x0a", _message(_BODY_PARAMETER, value))
    place = {"header": 1, "formData": 2, "query": 3, "path": 4}[value["in"]]
    fields = _QUERY_PARAMETER if place in (2, 3) else _PATH_PARAMETER
    return chunk(b"\x12", chunk(_tag(place), _message(fields, value)))


def _parameters(values: Any) -> Iterable[bytes]:
    return [chunk(b"\x0a", _parameter(value)) for value in values]


def _requirements(values: Any) -> Iterable[bytes]:
    write = _inside(1, _named(_inside(1, _texts)))
    return [part for value in values for part in write(value)]


# -- the messages -----------------------------------------------------------------------------------------------------

Fields = dict[str, tuple[int, Writer]]
_SCHEMA: Final[Fields] = {
    "$ref": (1, _text),
    "format": (2, _text),
    "title": (3, _text),
    "description": (4, _text),
    "default": (5, _anything),
    "multipleOf": _double(6),
    "maximum": _double(7),
    "exclusiveMaximum": _scalar(8),
    "minimum": _double(9),
    "exclusiveMinimum": _scalar(10),
    "maxLength": _scalar(11),
    "minLength": _scalar(12),
    "pattern": (13, _text),
    "maxItems": _scalar(14),
    "minItems": _scalar(15),
    "uniqueItems": _scalar(16),
    "maxProperties": _scalar(17),
    "minProperties": _scalar(18),
    "required": (19, _texts),
    "enum": (20, _things),
    "additionalProperties": (21, _schema_or_bool),
    "type": (22, _inside(1, _texts)),
    "items": (23, _inside(1, _schema)),
    "allOf": (24, _schemas),
    "properties": (25, _inside(1, _named(_schema))),
    "discriminator": (26, _text),
    "readOnly": _scalar(27),
    "example": (30, _anything),
    "x-": (31, _extension),
}
_BODY_PARAMETER: Final[Fields] = {
    "description": (1, _text),
    "name": (2, _text),
    "in": (3, _text),
    "required": _scalar(4),
    "schema": (5, _schema),
    "x-": (6, _extension),
}
_PATH_PARAMETER: Final[Fields] = {
    "required": _scalar(1),
    "in": (2, _text),
    "description": (3, _text),
    "name": (4, _text),
    "type": (5, _text),
    "format": (6, _text),
    "uniqueItems": _scalar(18),
    "x-": (22, _extension),
}
_QUERY_PARAMETER: Final[Fields] = {
    "required": _scalar(1),
    "in": (2, _text),
    "description": (3, _text),
    "name": (4, _text),
    "type": (6, _text),
    "format": (7, _text),
    "uniqueItems": _scalar(20),
    "x-": (23, _extension),
}
_RESPONSE: Final[Fields] = {
    "description": (1, _text),
    "schema": (2, _inside(1, _schema)),
    "x-": (5, _extension),
}
_OPERATION: Final[Fields] = {
    "tags": (1, _texts),
    "summary": (2, _text),
    "description": (3, _text),
    "operationId": (5, _text),
    "produces": (6, _texts),
    "consumes": (7, _texts),
    "parameters": (8, _parameters),
    "responses": (9, _inside(1, _named(_inside(1, _single(_RESPONSE))))),
    "schemes": (10, _texts),
    "deprecated": _scalar(11),
    "x-": (13, _extension),
}
_PATH_ITEM: Final[Fields] = {
    "get": (2, _single(_OPERATION)),
    "put": (3, _single(_OPERATION)),
    "post": (4, _single(_OPERATION)),
    "delete": (5, _single(_OPERATION)),
    "options": (6, _single(_OPERATION)),
    "head": (7, _single(_OPERATION)),
    "patch": (8, _single(_OPERATION)),
    "parameters": (9, _parameters),
    "x-": (10, _extension),
}
_INFO: Final[Fields] = {
    "title": (1, _text),
    "version": (2, _text),
    "description": (3, _text),
    "x-": (7, _extension),
}
_API_KEY: Final[Fields] = {
    "type": (1, _text),
    "name": (2, _text),
    "in": (3, _text),
    "description": (4, _text),
}
_DOCUMENT: Final[Fields] = {
    "swagger": (1, _text),
    "info": (2, _single(_INFO)),
    "paths": (8, _inside(2, _named(_single(_PATH_ITEM)))),
    "definitions": (9, _inside(1, _named(_schema))),
    "security": (12, _requirements),
    "securityDefinitions": (13, _inside(1, _named(_inside(2, _single(_API_KEY))))),
    "x-": (16, _extension),
}
