"""Checks the structure of a schema: each field's type must be declared outside the logic (``allOf``, ``anyOf``,
``oneOf``, ``not``) that restricts the field's value (KEP-2335).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from setpoint.meta.json_values import JSON
from setpoint.regexp import PatternError, compile_pattern

from .builtin_patterns import OWN_PATTERNS
from .errors import FieldError, forbidden, invalid, required

_Definition = Mapping[str, JSON]
_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
_TYPE_MISSING: Final = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_INT_OR_STRING_FLAG: Final = "x-kubernetes-int-or-string"
# Keywords that logic (allOf, anyOf, oneOf, not) must leave to the structure, with the servers' messages.
_FORBIDDEN_IN_LOGIC: Final = (
    ("type", "must be empty to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    (_PRESERVE, "must be false to be structural"),
    (_EMBEDDED, "must be false to be structural"),
    (_INT_OR_STRING_FLAG, "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)


def form_errors(definition: _Definition, path: str) -> list[FieldError]:
    """The errors that make ``definition`` non-structural, sorted by message."""
    errors: list[FieldError] = []
    _structure(definition, "root", path, errors)
    _complete(definition, definition, path, path, errors)
    by_text = {str(error): error for error in errors}
    return [by_text[text] for text in sorted(by_text)]


def _structure(node: _Definition, level: str, path: str, errors: list[FieldError]) -> None:
    kind: str = node.get("type") or ""
    properties: Mapping[str, _Definition] = node.get("properties") or {}
    additional = node.get("additionalProperties")
    embedded = bool(node.get(_EMBEDDED))
    if kind == "array" and node.get("items") is None:
        errors.append(required(f"{path}.items", "must be specified"))
    if isinstance(node.get("items"), Mapping):
        _structure(node["items"], "item", f"{path}.items", errors)
    for name, child in properties.items():
        _structure(child, "field", f"{path}.properties[{name}]", errors)
    if additional is not None:
        if level == "root":
            errors.append(forbidden(f"{path}.additionalProperties", "must not be used at the root"))
        if isinstance(additional, Mapping):
            _structure(additional, "field", f"{path}.additionalProperties", errors)
        if embedded:
            errors.append(forbidden(f"{path}.additionalProperties", f"must not be used if {_EMBEDDED} is set"))
    if node.get(_INT_OR_STRING_FLAG):
        for flag in (_PRESERVE, _EMBEDDED):
            if node.get(flag):
                errors.append(invalid(f"{path}.{flag}", True, f"must be false if {_INT_OR_STRING_FLAG} is true"))
    all_of: Sequence[_Definition] = node.get("allOf") or ()
    _values(
        node,
        node.get("anyOf") == _INT_OR_STRING,
        bool(all_of) and all_of[0].get("anyOf") == _INT_OR_STRING,
        path,
        errors,
    )
    if embedded and kind != "object":
        reason = f"must be object if {_EMBEDDED} is true"
        errors.append(invalid(f"{path}.type", kind, reason) if kind else required(f"{path}.type", reason))
    elif not kind and not node.get(_INT_OR_STRING_FLAG) and not node.get(_PRESERVE):
        errors.append(required(f"{path}.type", _TYPE_MISSING[level]))
    if level == "root" and kind and kind != "object":
        errors.append(invalid(f"{path}.type", kind, "must be object at the root"))
    _metadata(properties, level, embedded, path, errors)
    if embedded and not node.get(_PRESERVE) and not properties:
        errors.append(required(f"{path}.properties", f"must not be empty if {_EMBEDDED} is true without {_PRESERVE}"))


def _metadata(
    properties: Mapping[str, _Definition], level: str, embedded: bool, path: str, errors: list[FieldError]
) -> None:
    if level != "root" and not embedded:
        return
    for name in ("kind", "apiVersion"):
        if name in properties and properties[name].get("type") != "string":
            errors.append(
                invalid(f"{path}.properties[{name}].type", properties[name].get("type", ""), "must be string")
            )
    metadata = properties.get("metadata")
    if metadata is None:
        return
    path = f"{path}.properties[metadata]"
    if metadata.get("type") != "object":
        errors.append(invalid(f"{path}.type", metadata.get("type", ""), "must be object"))
    if level == "root":
        names = set(metadata.get("properties") or ())
        rest = any(value for key, value in metadata.items() if key not in ("type", "default", "properties"))
        if rest or not names <= {"name", "generateName"}:
            reason = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            errors.append(forbidden(path, reason))


def _values(
    node: _Definition, skip_any_of: bool, skip_all_of_any_of: bool, path: str, errors: list[FieldError]
) -> None:
    if not skip_any_of:
        for index, part in enumerate(node.get("anyOf") or ()):
            _logic(part, False, f"{path}.anyOf[{index}]", errors)
    for index, part in enumerate(node.get("allOf") or ()):
        _logic(part, skip_all_of_any_of and index == 0, f"{path}.allOf[{index}]", errors)
    for index, part in enumerate(node.get("oneOf") or ()):
        _logic(part, False, f"{path}.oneOf[{index}]", errors)
    if node.get("not") is not None:
        _logic(node["not"], False, f"{path}.not", errors)
    if node.get("pattern") and node["pattern"] not in OWN_PATTERNS:
        try:
            compile_pattern(node["pattern"])
        except PatternError as error:
            reason = f"must be a valid regular expression, but isn't: {error}"
            errors.append(invalid(f"{path}.pattern", node["pattern"], reason))


def _logic(node: _Definition, skip_any_of: bool, path: str, errors: list[FieldError]) -> None:
    _values(node, skip_any_of, False, path, errors)
    if isinstance(node.get("items"), Mapping):
        _logic(node["items"], False, f"{path}.items", errors)
    properties: Mapping[str, _Definition] = node.get("properties") or {}
    for name, child in properties.items():
        _logic(child, False, f"{path}.properties[{name}]", errors)
    if node.get("additionalProperties") not in (None, False):
        errors.append(forbidden(f"{path}.additionalProperties", "must be undefined to be structural"))
    for keyword, reason in _FORBIDDEN_IN_LOGIC:
        value = node.get(keyword)
        if value or (keyword == "default" and value is not None):
            errors.append(forbidden(f"{path}.{keyword}", reason))
    if "metadata" in properties:
        errors.append(forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context"))


def _complete(logic: _Definition, node: _Definition, path: str, said_at: str, errors: list[FieldError]) -> None:
    """Adds to ``errors`` an error for each field that the logic mentions but the structure does not declare."""
    for keyword in ("allOf", "anyOf", "oneOf"):
        parts: Sequence[_Definition] = logic.get(keyword) or ()
        for index, part in enumerate(parts):
            _complete_part(part, node, path, f"{said_at}.{keyword}[{index}]", errors)
    if logic.get("not") is not None:
        _complete_part(logic["not"], node, path, f"{said_at}.not", errors)


def _complete_part(part: _Definition, node: _Definition, path: str, said_at: str, errors: list[FieldError]) -> None:
    _complete(part, node, path, said_at, errors)
    if isinstance(part.get("items"), Mapping):
        if isinstance(node.get("items"), Mapping):
            _complete_part(part["items"], node["items"], f"{path}.items", f"{said_at}.items", errors)
        else:
            errors.append(required(f"{path}.items", f"because it is defined in {said_at}.items"))
    for name, child in (part.get("properties") or {}).items():
        inner, defined_at = f"{path}.properties[{name}]", f"{said_at}.properties[{name}]"
        own = (node.get("properties") or {}).get(name)
        if own is None:
            errors.append(required(inner, f"because it is defined in {defined_at}"))
        else:
            _complete_part(child, own, inner, defined_at, errors)
