"""The fields of ``spec`` that handlers of a kopf operator read, as fields of a class."""

from __future__ import annotations

import ast
import json
import keyword
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from setpoint.meta.model_fields import wire_name

_TYPES: Final = {"bool": bool, "int": int, "float": float, "str": str}
_RESERVED: Final = frozenset({*_TYPES, *keyword.kwlist, "msgspec"})
"""Names that an attribute of the class can't have: Python's keywords, and names that the lines below it use."""
_WORD_BEGINS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|\W+")


class Guess(NamedTuple):
    """A field's type and default, as Python source; ``type`` is ``Any`` if the handlers don't show the type."""

    type: str
    default: str


def fields_read(node: ast.AST) -> dict[str, Guess]:
    """The fields that a handler reads, by their wire names, with types guessed from their defaults."""
    fields: dict[str, Guess] = {}
    for inner in ast.walk(node):
        name: object = None
        default: object = None
        if isinstance(inner, ast.Subscript) and _is_spec(inner.value) and isinstance(inner.slice, ast.Constant):
            name = inner.slice.value
        elif (
            isinstance(inner, ast.Call)
            and isinstance(inner.func, ast.Attribute)
            and inner.func.attr == "get"
            and _is_spec(inner.func.value)
            and inner.args
            and isinstance(inner.args[0], ast.Constant)
        ):
            name = inner.args[0].value
            if len(inner.args) == 2 and isinstance(inner.args[1], ast.Constant):
                default = inner.args[1].value
        if isinstance(name, str) and _attribute(name).isidentifier():
            kind = next((word for word, type_ in _TYPES.items() if type(default) is type_), "Any")
            guess = Guess(kind, _literal(default) if kind != "Any" else "None")
            if name not in fields or fields[name].type == "Any":
                fields[name] = guess
    return fields


def class_body(fields: Mapping[str, Guess]) -> list[str]:
    """The lines of a class with these fields, without indentation. A field's wire name is stated explicitly if it does
    not follow from the attribute's name.
    """
    lines: dict[str, str] = {}
    for name, guess in sorted(fields.items()):
        attribute = _attribute(name)
        while attribute in lines or attribute in _RESERVED:
            attribute += "_"
        default = guess.default
        if wire_name(attribute) != name:
            default = f"msgspec.field(name={_literal(name)}, default={default})"
        lines[attribute] = f"{attribute}: {guess.type} = {default}"
    return [line for _, line in sorted(lines.items())]


def _attribute(name: str) -> str:
    return "_".join(filter(None, _WORD_BEGINS.sub("_", name).lower().split("_")))


def _literal(value: object) -> str:
    """The value as Python source, with the quotes that formatters prefer."""
    if isinstance(value, str) and not ('"' in value and "'" not in value):
        return json.dumps(value, ensure_ascii=False)
    return repr(value)


def _is_spec(node: ast.expr) -> bool:
    """Whether the expression is the spec: ``spec`` or ``body["spec"]``."""
    if isinstance(node, ast.Name):
        return node.id == "spec"
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == "spec"
