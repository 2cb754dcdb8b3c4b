"""Type errors as Go's JSON decoder words them, because that is what users of the real server know and search for."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from setpoint.apiserver.objects.go_form import QUANTITY_PROBLEM
from setpoint.apiserver.objects.go_times import time_problem
from setpoint.apiserver.objects.go_types import META, GoField, go_fields
from setpoint.meta import GroupVersionKind
from setpoint.models import definition_name, schemas
from setpoint.schema import FieldError

_NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_DECODER = re.compile(r"json: cannot unmarshal (\w+)(?: (\S+))? into Go struct field \S+ of type (.+)")
_PARSED = {"IntOrString": "int32", "Time": "string", "MicroTime": "string", "Duration": "string"}
"""Go types that decode a number or a text themselves."""
_UNION = re.compile(r"(?<=JSONSchemaProps)Or\w+")
"""In the names of types that are a schema or something else."""
_SOURCES = {"array": "slice", "object": "map"}
_STEP = re.compile(r"[^.\[\]]+|\[[^\]]*\]")
_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
_UID = "types.UID"
_WITH_UID = frozenset({"ObjectMeta", "OwnerReference", "ObjectReference", "Preconditions"})
_GO = {"integer": "int", "number": "float64", "boolean": "bool", "string": "string", "array": "slice", "object": "map"}


def type_problem(kind: GroupVersionKind | None, obj: dict[str, Any], error: FieldError, raw: bytes) -> str:
    """The message of Go's decoder for ``error``, from the schema validation of ``obj``: a wrong type, or an integer
    that is out of range. ``kind`` is a built-in kind; None for a custom resource. ``raw`` is the text from which the
    value was decoded; a message shows numbers as they stand there.

    The message is empty for base64 and times that Go accepts although they violate the schema's format.
    """
    steps, value = _value_at(obj, error.field)
    if isinstance(value, str):
        if "must be of type date-time" in error.detail:
            return time_problem(value)
        if "must be of type byte" in error.detail:
            wrong = bad_byte(value)
            return "" if wrong is None else f"illegal base64 data at input byte {wrong}"
    struct, wanted = _described(kind, steps)
    if wanted == "resource.Quantity":
        return QUANTITY_PROBLEM
    names = ".".join(_fields(kind, steps))
    if kind is None:  # whose metadata is decoded by itself
        names = names.removeprefix("metadata.")
    if wanted == "string" and steps[-1] == "uid" and struct in _WITH_UID:
        wanted = _UID
    json_type = {dict: "object", list: "array", str: "string", bool: "bool"}.get(type(value), "number")
    if isinstance(value, int | float) and json_type == "number" and wanted.startswith("int"):
        json_type = f"number {_as_written(value, raw)}"
    return f"json: cannot unmarshal {json_type} into Go struct field {struct}.{names} of type {wanted}"


def restored(problem: str, *, whole: bool = True) -> str:
    """A message of Go's decoder in the words of the converter that strategic merge patches go through. ``whole``: a
    number that the message does not show is an integer.
    """
    match = _DECODER.fullmatch(problem)
    if match is None:
        return f"error decoding from json: {problem}" if problem.startswith("illegal base64") else problem
    source, number, wanted = _SOURCES.get(match[1], match[1]), match[2] or "", match[3]
    if source == "number" and wanted.startswith("int") and not number.lstrip("-").isdecimal():
        return f"cannot convert float64 to {wanted}"
    sort = source if source != "number" else "int64" if whole else "float64"
    if wanted.startswith("[]"):
        return f"cannot restore slice from {sort}"
    if wanted.startswith("map["):
        return f"cannot restore map from {sort}"
    if source == "number" and whole and wanted in ("string", _UID):
        return f"cannot convert int64 to {wanted}"
    if wanted in ("bool", "string", _UID) or wanted.startswith("int"):
        return f"unrecognized type: {'string' if wanted == _UID else wanted}"
    return f"cannot restore struct from: {sort}"


def _as_written(number: float, raw: bytes) -> str:
    """The number's text in ``raw``, with a fraction or exponent if it has one; Python's text if it is not there."""
    texts = [match[0].decode() for match in _NUMBER.finditer(raw) if float(match[0]) == number]
    alike = (text for text in texts if isinstance(number, int) == text.lstrip("-").isdecimal())
    return next(alike, texts[0] if texts else str(number))


def bad_byte(text: str) -> int | None:
    """The offset in ``text`` at which Go's base64 decoder reports an error: the first invalid character, or the
    incomplete last group. None if the text is valid; it may contain line breaks.
    """
    digits = 0
    for position, character in enumerate(text):
        if character in "\r\n":
            continue
        if character not in _BASE64:
            return position
        digits += 1
    try:
        base64.b64decode(text.replace("\r", "").replace("\n", ""), validate=True)
    except binascii.Error:
        return len(text) - digits % 4
    return None


def _fields(kind: GroupVersionKind | None, steps: list[str]) -> list[str]:
    """The steps that are fields of structs, and the structs that others embed; list positions and map keys are left
    out.
    """
    message = "" if kind is None else definition_name(kind)
    names: list[str] = []
    is_map = False
    for step in steps:
        if step[0] == "[":
            continue
        if is_map:
            is_map = False
            continue
        embedding, field = _embedding(message, step)
        names += [*embedding, step]
        is_map = field is not None and field.mapping
        message = META + "ObjectMeta" if step == "metadata" and kind is None else field.type if field else ""
    return names


def _embedding(message: str, name: str) -> tuple[list[str], GoField | None]:
    """The field ``name`` of a struct, and the names of the embedded structs that lead to it."""
    fields = go_fields(message) or ()
    own = next((field for field in fields if field.name == name), None)
    if own is not None:
        return [], own
    for field in fields:
        if not field.name:
            inner, member = _embedding(field.type, name)
            if member is not None:
                return [field.type.rpartition(".")[2], *inner], member
    return [], None


def _resolved(definitions: Any, node: dict[str, Any]) -> dict[str, Any]:
    reference = node.get("$ref") or next((item["$ref"] for item in node.get("allOf", ()) if "$ref" in item), "")
    definition: dict[str, Any] = definitions.get(reference.rpartition("/")[2], {}) if reference else node
    return definition


def _value_at(obj: Any, path: str) -> tuple[list[str], Any]:
    """The steps of a path and the value there. A step is a key of an object, unchanged (it may contain dots and
    brackets), or the index of a list item, such as ``[3]``.
    """
    steps: list[str] = []
    value = obj
    while path:
        rest = path.removeprefix(".") if steps else path
        step = _step(rest, value)
        if not step:
            break
        value = _inner(value, step)
        steps.append(step)
        path = rest[len(step) :]
    return steps, value


def _step(path: str, value: Any) -> str:
    """The first step of a path into ``value``; empty if there is none."""
    keys: list[str] = [*value] if isinstance(value, dict) else []
    match = _STEP.match(path)
    return max((key for key in keys if _begins(path, key)), key=len, default="") or (match[0] if match else "")


def _inner(value: Any, step: str) -> Any:
    if isinstance(value, list) and step[0] == "[" and step[1:-1].isdecimal():
        return value[int(step[1:-1])]
    if isinstance(value, dict):
        return value.get(step if step in value else step.strip("[]"))
    return value


def _begins(path: str, key: str) -> bool:
    return path.startswith(key) and path[len(key) : len(key) + 1] in ("", ".", "[")


def _described(kind: GroupVersionKind | None, steps: list[str]) -> tuple[str, str]:
    """The Go names of the struct to which the field belongs and of the field's type."""
    definitions = schemas()
    name = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    if kind is not None:
        name = definition_name(kind)
    elif steps and steps[0] == "metadata":
        steps = steps[1:]
    struct = name.rpartition(".")[2]
    node: dict[str, Any] = definitions[name]
    wanted = struct
    for step in steps:
        if "properties" in node:
            struct = name.rpartition(".")[2]
        if step[0] == "[":
            node = node.get("items") or {}
        else:
            node = node.get("properties", {}).get(step) or node.get("additionalProperties") or {}
        reference = node.get("$ref") or next((item["$ref"] for item in node.get("allOf", ()) if "$ref" in item), "")
        if reference:
            name = _UNION.sub("", reference.rpartition("/")[2])
            package, _, short = name.rpartition(".")
            wanted = _PARSED.get(short) or f"{package.rpartition('.')[2]}.{short}"
            node = definitions.get(name, {})
            if "properties" in node:
                continue
        wanted = _go_type(node, wanted if reference else "")
    return struct, wanted


def _go_type(node: dict[str, Any], named: str) -> str:
    kind = node.get("type", "")
    if node.get("format") == "byte":
        return "[]uint8"
    if kind == "integer":
        return str(node.get("format") or "int64")
    if kind == "array":
        items = node.get("items") or {}
        reference = items.get("$ref") or next((item["$ref"] for item in items.get("allOf", ()) if "$ref" in item), "")
        if reference:
            package, _, short = reference.rpartition("/")[2].rpartition(".")
            return f"[]{package.rpartition('.')[2]}.{short}"
        return f"[]{_go_type(items, '')}"
    if kind == "object" and node.get("additionalProperties"):
        if str(node["additionalProperties"].get("$ref", "")).endswith(".Quantity"):
            return "v1.ResourceList"
        return f"map[string]{_go_type(node['additionalProperties'], '') or 'interface {}'}"
    return named or _GO.get(kind, kind)
