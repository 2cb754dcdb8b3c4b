"""Values as a kube-apiserver shows them in its errors: Go's structs, field by field, including fields
that are not set.

A kube-apiserver validates objects in an internal form, in which the names and the order of the fields
differ from those in the API. For each struct of that form, the table lists the fields with their
internal names, their names in the API (with dots for nested fields) and their types: ``s`` text, ``i``
integer, ``f`` floating-point number, ``b`` boolean, ``Q`` quantity, ``I`` integer or text, ``T`` time,
``B`` bytes, ``R`` any JSON, or a struct; a prefix of ``*`` means a pointer, ``[]`` a list, ``{}`` a
map, ``?`` a field that is left out if it is not set.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec

from setpoint.schema.errors import Shown

_ZEROS: Final = {
    "s": "\"\"", "B": "null", "i": "0", "f": "0", "b": "false", "Q": "\"0\"", "I": "0", "T": "null", "R": "null",
}  # fmt: skip


def dump(kind: str, value: Any) -> Any:
    """The text that a kube-apiserver shows for ``value``, a value in the form of the API. ``kind`` is its type, written
    as in the table.
    """
    text = _text(kind, value)
    return Shown(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


@cache
def _structs() -> dict[str, list[tuple[str, str, str]]]:
    from setpoint import zstd

    packed = files("setpoint.apiserver.strategies").joinpath("go_structs.json.zst").read_bytes()
    return msgspec.json.decode(zstd.decompress(packed), type=dict[str, list[tuple[str, str, str]]])


def _text(kind: str, value: Any) -> str:
    if kind[0] == "*":
        return "null" if value is None else _text(kind[1:], value)
    if kind[:2] == "[]":
        return "null" if value is None else f"[{','.join(_text(kind[2:], item) for item in value)}]"
    if kind[:2] == "{}":
        entries = (f"{_json(key)}:{_text(kind[2:], value[key])}" for key in sorted(value or {}))
        return "null" if value is None else f"{{{','.join(entries)}}}"
    if kind in _ZEROS:
        return _ZEROS[kind] if value is None else _json(value)
    parts = []
    for name, field, type_ in _structs()[kind]:
        fields = value or {}
        for step in field.split("."):
            fields = (fields or {}).get(step)
        if type_[0] == "?" and (fields is None or (not fields and type_[1] != "*")):
            continue
        parts.append(f'"{name}":{_text(type_.lstrip("?"), fields)}')
    return f"{{{','.join(parts)}}}"


_json: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode
