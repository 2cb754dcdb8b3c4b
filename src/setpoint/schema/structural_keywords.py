"""Checks the keywords in the schema of a CustomResourceDefinition, and their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

from setpoint.meta.json_values import JSON, repeats

from .errors import FieldError, forbidden, invalid, not_supported, required

_Definition = Mapping[str, JSON]
_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_META: Final = ("metadata", "kind", "apiVersion")
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_LIST_TYPE: Final = "x-kubernetes-list-type"
_MAP_TYPE: Final = "x-kubernetes-map-type"
_MAP_KEYS: Final = "x-kubernetes-list-map-keys"
_RULES: Final = "x-kubernetes-validations"
_UNSUPPORTED_NAMES: Final = frozenset(_UNSUPPORTED)
_COLLECTIONS: Final = frozenset({_LIST_TYPE, _MAP_TYPE, _MAP_KEYS})


def keyword_errors(definition: _Definition, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    _check(definition, path, _Place(root=True), errors)
    return errors


class _Place(msgspec.Struct, frozen=True):
    root: bool = False
    inside_meta: bool = False
    no_defaults: str | None = None
    """The reason why defaults are not allowed here, or None if they are."""


def _check(node: JSON, path: str, place: _Place, errors: list[FieldError]) -> None:
    if not isinstance(node, (dict, Mapping)):  # the first is found sooner
        return
    _keywords(node, path, place, errors)
    _lists_and_maps(node, path, errors)
    _rules(node, path, errors)
    inner = replace(place, root=False) if place.root else place
    properties: Mapping[str, _Definition] = node.get("properties") or {}
    additional = node.get("additionalProperties")
    if additional is not None:
        if properties and additional is not True:
            errors.append(
                forbidden(f"{path}.additionalProperties", "additionalProperties and properties are mutual exclusive")
            )
        meta = "inside additionalProperties applying to object metadata"
        _check(
            additional,
            f"{path}.additionalProperties",
            replace(inner, no_defaults=meta) if place.inside_meta else inner,
            errors,
        )
    for name, child in properties.items():
        child_place = inner
        if name in _META and (place.root or node.get("x-kubernetes-embedded-resource")):
            child_place = replace(
                inner, inside_meta=True, no_defaults=f"in top-level {name}" if place.root else inner.no_defaults
            )
        _check(child, f"{path}.properties[{name}]", child_place, errors)
    if "not" in node:
        _check(node["not"], f"{path}.not", inner, errors)
    for keyword in ("allOf", "oneOf", "anyOf"):
        if keyword in node:
            for index, part in enumerate(node[keyword] or ()):
                _check(part, f"{path}.{keyword}[{index}]", inner, errors)
    if "items" in node:
        _check(node["items"], f"{path}.items", inner, errors)
    for keyword in _UNSUPPORTED_NAMES & {"definitions", "patternProperties", "dependencies"} & node.keys():
        for name, part in (node[keyword] or {}).items():
            _check(part, f"{path}.{keyword}[{name}]", inner, errors)


def _keywords(node: _Definition, path: str, place: _Place, errors: list[FieldError]) -> None:
    kind = node.get("type") or ""
    if kind and kind not in _TYPES:
        errors.append(not_supported(f"{path}.type", kind, _TYPES))
    if node.get("default") is not None and place.no_defaults is not None:
        errors.append(forbidden(f"{path}.default", f"must not be set {place.no_defaults}"))
    if not _UNSUPPORTED_NAMES.isdisjoint(node):
        errors.extend(
            forbidden(f"{path}.{keyword}", f"{keyword} is not supported")
            for keyword in _UNSUPPORTED
            if node.get(keyword)
            or (keyword in ("$ref", "additionalItems", "dependencies") and node.get(keyword) is not None)
        )
    if kind == "null":
        errors.append(forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative"))
    if isinstance(node.get("items"), list):
        errors.append(forbidden(f"{path}.items", "items must be a schema object and not an array"))
    if place.inside_meta and node.get("x-kubernetes-embedded-resource"):
        errors.append(forbidden(f"{path}.x-kubernetes-embedded-resource", "must not be used inside of resource meta"))
    if node.get("uniqueItems"):
        reason = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        errors.append(forbidden(f"{path}.uniqueItems", reason))
    if node.get("x-kubernetes-preserve-unknown-fields") is False:
        errors.append(invalid(f"{path}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined"))


def _lists_and_maps(node: _Definition, path: str, errors: list[FieldError]) -> None:
    if _COLLECTIONS.isdisjoint(node):
        return
    kind = node.get("type") or ""
    map_type, list_type, keys = node.get(_MAP_TYPE), node.get(_LIST_TYPE), node.get(_MAP_KEYS) or ()
    for keyword, value, wanted in ((_MAP_TYPE, map_type, "object"), (_LIST_TYPE, list_type, "array")):
        if value is not None and kind != wanted:
            reason = f"must be {wanted} if {keyword} is specified"
            errors.append(invalid(f"{path}.type", kind, reason) if kind else required(f"{path}.type", reason))
    if map_type is not None and map_type not in ("atomic", "granular"):
        errors.append(not_supported(f"{path}.{_MAP_TYPE}", map_type, ("atomic", "granular")))
    items = node.get("items")
    item: _Definition | None = items if isinstance(items, Mapping) else None
    if list_type == "set" and kind == "array" and item is not None:
        reason = f"must be atomic as item of a list with {_LIST_TYPE}=set"
        if item.get("type") == "array" and item.get(_LIST_TYPE) not in (None, "atomic"):
            errors.append(invalid(f"{path}.items.{_LIST_TYPE}", item.get(_LIST_TYPE), reason))
        if item.get("type") == "object" and item.get(_MAP_TYPE) != "atomic":
            errors.append(invalid(f"{path}.items.{_MAP_TYPE}", item.get(_MAP_TYPE), reason))
    if list_type is not None and list_type not in ("atomic", "set", "map"):
        errors.append(not_supported(f"{path}.{_LIST_TYPE}", list_type, ("atomic", "set", "map")))
    if keys and list_type != "map":
        reason = f"must be map if {_MAP_KEYS} is non-empty"
        field = f"{path}.{_LIST_TYPE}"
        errors.append(required(field, reason) if list_type is None else invalid(field, list_type, reason))
    if list_type == "map":
        _map_list(node, list(keys), path, errors)
    if list_type in ("map", "set") and item is not None and item.get("nullable"):
        errors.append(forbidden(f"{path}.items.nullable", f"cannot be nullable when {_LIST_TYPE} is {list_type}"))


def _map_list(node: _Definition, keys: list[str], path: str, errors: list[FieldError]) -> None:
    if not keys:
        errors.append(required(f"{path}.{_MAP_KEYS}", f"must not be empty if {_LIST_TYPE} is map"))
    item = node.get("items")
    if item is None:
        errors.append(required(f"{path}.items", f"must have a schema if {_LIST_TYPE} is map"))
        return
    if not isinstance(item, Mapping):
        errors.append(invalid(f"{path}.items", item, f"must only have a single schema if {_LIST_TYPE} is map"))
        return
    if item.get("type") != "object":
        reason = f"must be object if parent array's {_LIST_TYPE} is map"
        errors.append(invalid(f"{path}.items.type", item.get("type") or "", reason))
        return
    properties: Mapping[str, _Definition] = item.get("properties") or {}
    again = set(repeats(keys))
    for index, key in enumerate(keys):
        if index in again:
            errors.append(invalid(f"{path}.{_MAP_KEYS}", keys, "must not contain duplicate entries"))
        field = properties.get(key)
        key_path = f"{path}.items.properties[{key}]"
        if field is None:
            errors.append(invalid(f"{path}.{_MAP_KEYS}", keys, "entries must all be names of item properties"))
            continue
        if field.get("type") in ("array", "object"):
            reason = f"must be a scalar type if parent array's {_LIST_TYPE} is map"
            errors.append(invalid(f"{key_path}.type", item.get("type"), reason))
        if key not in (item.get("required") or ()) and field.get("default") is None:
            reason = f"this property is in {_MAP_KEYS}, so it must have a default or be a required property"
            errors.append(required(f"{key_path}.default", reason))
        if field.get("nullable"):
            errors.append(
                forbidden(f"{key_path}.nullable", f"this property is in {_MAP_KEYS}, so it cannot be nullable")
            )


def _rules(node: _Definition, path: str, errors: list[FieldError]) -> None:
    for index, rule in enumerate(node.get(_RULES) or ()):
        rule_path = f"{path}.{_RULES}[{index}]"
        text, message = rule.get("rule") or "", rule.get("message") or ""
        if not text.strip():
            errors.append(required(f"{rule_path}.rule", "rule is not specified"))
        elif message and not message.strip():
            errors.append(invalid(f"{rule_path}.message", message, "must be non-empty if specified"))
        elif _has_line_break(message.strip()):
            errors.append(invalid(f"{rule_path}.message", message, "must not contain line breaks"))
        elif _has_line_break(text.strip()) and not message:
            errors.append(required(f"{rule_path}.message", "message must be specified if rule contains line breaks"))
        expression = rule.get("messageExpression") or ""
        if expression and not expression.strip():
            errors.append(
                required(f"{rule_path}.messageExpression", "messageExpression must be non-empty if specified")
            )
        if rule.get("reason") is not None and rule["reason"] not in _REASONS:
            errors.append(not_supported(f"{rule_path}.reason", rule["reason"], _REASONS))
        field_path = rule.get("fieldPath") or ""
        if field_path and not field_path.strip():
            errors.append(invalid(f"{rule_path}.fieldPath", field_path, "must be non-empty if specified"))
        if _has_line_break(field_path):
            errors.append(invalid(f"{rule_path}.fieldPath", field_path, "must not contain line breaks"))


def _has_line_break(text: str) -> bool:
    return "\n" in text or "\r" in text
