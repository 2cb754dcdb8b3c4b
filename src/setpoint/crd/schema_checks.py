"""Checks that a schema's defaults fit it, that its rules compile and are not too expensive, and that an API server
would accept it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from setpoint.meta.text_escaping import unicode_text
from setpoint.schema import FieldError, Schemas, structural, to_aggregate_message, unknown_fields, validate

_STEP = re.compile(r"\.?properties\[([^\]]+)\]|\.?(items)\b|\.?(additionalProperties)\b|\.?([^.\[]+(?:\[\d+\])?)")

_RULE = re.compile(r"(.*)\.x-kubernetes-validations\[(\d+)\](?:\.(\w+))?")


def default_problem(schema: dict[str, Any]) -> str:
    """A message with the errors in the schema's own default; ``""`` if there are none. If a rule does
    not compile, no rule is evaluated.
    """
    node = Schemas({}).parse(schema)
    if unknown := unknown_fields(node, schema["default"]):
        return f"it has unknown fields: {', '.join(unknown)}"
    problems = validate(node, schema["default"], "default")
    # a server's message for a value outside of an object contains an empty path
    return to_aggregate_message(problems or _broken_rules(schema)).replace(":  in body ", ": ")


def _broken_rules(schema: dict[str, Any]) -> list[FieldError]:
    if not _has_rules(schema) or _rule_errors(schema):
        return []  # `schema_problems` reports it
    from setpoint.cel.rules import RuleValidator

    return RuleValidator(schema, root=False).validate(schema["default"], path="default")[0]


def text_problem(document: Any) -> str:
    """The error if a string in these JSON values contains half of a surrogate pair, which JSON and YAML can't
    represent; otherwise ``""``.
    """
    try:
        msgspec.json.encode(document)
    except UnicodeEncodeError:
        text = next(text for text in _texts(document) if unicode_text(text) != text)
        return f"{text!r} holds half of a surrogate pair, so it is not Unicode and can't be sent; escape it"
    return ""


def _texts(document: Any) -> Iterator[str]:
    parts = [document]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            parts += [*part, *part.values()]
        elif isinstance(part, list):
            parts += part
        elif isinstance(part, str):
            yield part


def schema_problems(schema: dict[str, Any], *, has_status: bool) -> Iterator[str]:
    """The errors with which an API server would refuse the schema, each as ``.spec.field: message``."""
    errors = structural.check(schema, "", status_subresource=has_status)
    for error in errors:
        yield f"{place_of(error.field)}: an API server would refuse this: {error.message}"
    for error in () if errors else _rule_errors(schema):
        yield _rule_problem(schema, error)


def _rule_errors(schema: dict[str, Any]) -> list[FieldError]:
    if not _has_rules(schema):
        return []
    # Importing CEL takes longer than importing everything else that declares a class, so it is only imported for rules.
    from setpoint.cel.rules import rule_errors

    return rule_errors(schema, "")


def _has_rules(part: Any) -> bool:
    if isinstance(part, dict):
        return "x-kubernetes-validations" in part or any(map(_has_rules, part.values()))
    return isinstance(part, list) and any(map(_has_rules, part))


def _rule_problem(schema: dict[str, Any], error: FieldError) -> str:
    """The error in one line, with the rule's path and position."""
    why = error.detail.splitlines()[0].replace("compilation failed: ERROR: <input>:", "at ")
    match = _RULE.fullmatch(error.field)
    if match is None:
        return f"{place_of(error.field)}: {why}"
    path, position, part = match[1], int(match[2]), match[3] or "rule"
    rules: list[dict[str, Any]] = _node_at(schema, path).get("x-kubernetes-validations", [])
    text = rules[position].get(part if part in ("messageExpression", "fieldPath") else "rule", "")
    part_text = "" if part == "rule" else f", {part}"
    return f"{place_of(path)}: rule {position + 1} of {len(rules)}{part_text} ({text!r}): {why}"


def _node_at(schema: dict[str, Any], path: str) -> dict[str, Any]:
    node = schema
    for name, items, values, keyword in _STEP.findall(path):
        inner = node["properties"][name] if name else node[items or values or keyword]
        node = inner
    return node


def place_of(path: str) -> str:
    """A path such as ``.properties[spec].items.pattern``, rewritten as ``.spec.[].pattern``."""
    steps = []
    for name, items, values, keyword in _STEP.findall(path):
        steps.append(name or (items and "[]") or (values and "*") or keyword)
    return "".join(f".{step}" for step in steps)
