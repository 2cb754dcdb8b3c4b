"""The types of mutating policies: ``Object{spec: Object.spec{...}}`` and ``JSONPatch{op: "add", ...}``."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, Final

from setpoint.cel.errors import EvaluationError
from setpoint.cel.schema_values import plain_of
from setpoint.cel.types import DYN, STRING, Type, struct
from setpoint.cel.values import LISTS, MISSING, MapValue, Value

_OPERATION: Final = {"op": STRING, "path": STRING, "from": STRING, "value": DYN}


class PatchTypes:
    """The types ``Object``, ``Object.any.field`` and ``JSONPatch``."""

    def field(self, struct: str, name: str) -> Type | None:
        if struct == "JSONPatch":
            return _OPERATION.get(name)
        if struct == "Object" or struct.startswith("Object."):
            return DYN
        raise KeyError(struct)

    def named(self, name: str) -> Type | None:
        is_known = name in ("JSONPatch", "Object") or name.startswith("Object.")
        return struct(name) if is_known else None

    def make(self, name: str, fields: dict[str, Value]) -> Value:
        """The value of a struct literal."""
        return JsonPatchOperation(fields) if name == "JSONPatch" else PatchObject(name, fields)


class _Record(MapValue):
    """The fields of a struct literal."""

    __slots__ = ("fields",)

    def __init__(self, fields: dict[str, Value]) -> None:
        self.fields = fields

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self) -> Iterator[Value]:
        return iter(self.fields)

    def find(self, key: Value) -> Value:
        return self.fields.get(key, MISSING) if isinstance(key, str) else MISSING


class PatchObject(_Record):
    """A literal of type ``Object``, or of the type of a field in it, such as ``Object.spec``."""

    __slots__ = ("name",)

    def __init__(self, name: str, fields: dict[str, Value]) -> None:
        super().__init__(fields)
        self.name = name


class JsonPatchOperation(_Record):
    """One operation of a JSON patch."""

    __slots__ = ()

    def document(self) -> dict[str, Any]:
        """The operation as JSON. Raises EvaluationError if its value has no JSON form, or contains an ``Object`` whose
        type does not match the field that holds it.
        """
        document = {key: value for key, value in self.fields.items() if key != "value"}
        if "value" in self.fields:
            value = self.fields["value"]
            document["value"] = patch_value(value, value.name if isinstance(value, PatchObject) else "")
        return document


def patch_value(value: Value, name: str) -> Any:
    """The value as JSON. If it is an ``Object`` literal, its type must be ``name``; an empty ``name`` allows any type.
    Literals inside it must have the types of the fields that hold them. Raises EvaluationError for a wrong type, or if
    the value has no JSON form.
    """
    if isinstance(value, PatchObject):
        if name and value.name != name:
            raise EvaluationError(
                f'type mismatch: unexpected type name "{value.name}", expected "{name}", which matches field name path '
                "from root Object type"
            )
        return {key: patch_value(item, f"{value.name}.{key}") for key, item in value.fields.items()}
    if isinstance(value, LISTS):
        return [patch_value(item, name) for item in value]
    if isinstance(value, _Record):
        raise EvaluationError("a JSONPatch can't be part of an object")
    if isinstance(value, MapValue):
        document: dict[str, Any] = {}
        for key in value:
            if not isinstance(key, str):
                raise EvaluationError(f'map key "{key}" is not a string')
            document[key] = patch_value(value.find(key), name)
        return document
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return plain_of(value)
