"""Go's structs for the built-in kinds: their fields, in JSON and in protobuf.

A type is the name of a message or a scalar. It may begin with prefixes: ``!`` (written even if it is zero), ``*`` (a
pointer), ``[]`` (a list) or ``{}`` (a map whose keys are strings).
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

import msgspec

META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
EXTENSIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
_LEAVES: Final = frozenset(
    {
        "string",
        "bytes",
        "int",
        "bool",
        "double",
        "strings",
        META + "Time",
        META + "MicroTime",
        META + "FieldsV1",
        "io.k8s.apimachinery.pkg.runtime.RawExtension",
        "io.k8s.apimachinery.pkg.api.resource.Quantity",
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        EXTENSIONS + "JSON",
        EXTENSIONS + "JSONSchemaPropsOrArray",
        EXTENSIONS + "JSONSchemaPropsOrBool",
        EXTENSIONS + "JSONSchemaPropsOrStringArray",
    }
)
"""The types that have a special form in JSON."""


class GoField(NamedTuple):
    """A field of a Go struct: its JSON name (empty if the fields of its type belong to the outer struct), its type, and
    the prefixes of the type.
    """

    name: str
    type: str
    repeated: bool
    mapping: bool
    pointer: bool
    always: bool
    """Whether the field is not ``omitempty``, that is, written even if it is zero."""


def is_message(name: str) -> bool:
    return name in _table()


@cache
def numbered(message: str) -> dict[int, GoField]:
    """The fields of a message (see `is_message`) by protobuf number, in the order of the Go struct."""
    return {int(number): _go_field(*field) for number, field in _table()[message].items()}


def go_fields(message: str) -> list[GoField] | None:
    """The fields of the struct ``message``; None if they are not known, or if the type has a special form in JSON."""
    return None if message in _LEAVES or not is_message(message) else [*numbered(message).values()]


def _go_field(name: str, text: str) -> GoField:
    kind = text.lstrip("!")
    plain = kind.lstrip("*")
    type_ = plain.removeprefix("[]").removeprefix("{}").lstrip("*")
    return GoField(name, type_, plain[:2] == "[]", plain[:2] == "{}", kind[:1] == "*", text[:1] == "!")


@cache
def _table() -> dict[str, dict[str, tuple[str, str]]]:
    """The fields of each message: the JSON name and the type, by number."""
    from setpoint import zstd

    packed = files("setpoint.apiserver.objects").joinpath("protobuf.json.zst").read_bytes()
    return msgspec.json.decode(zstd.decompress(packed), type=dict[str, dict[str, tuple[str, str]]])
