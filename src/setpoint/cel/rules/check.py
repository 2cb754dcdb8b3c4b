"""Checks whether an API server would accept the rules of a schema: they must compile and not be too expensive.

A rule's cost is the highest cost of one evaluation times the number of times that its field can occur. These two
factors follow from ``maxItems``, ``maxProperties`` and ``maxLength``, or otherwise from the size of the largest
request.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from setpoint.cel.names import escaped
from setpoint.cel.rules.compile import CompiledRule, compile_rules
from setpoint.cel.rules.field_path import field_path
from setpoint.cel.schema_types import MAX_REQUEST, Declared, Definition, declare
from setpoint.cel.values import MAX_UINT
from setpoint.schema import FieldError
from setpoint.schema.errors import Shown, forbidden, internal_error, invalid

RULE_LIMIT: Final = 10_000_000
"""The cost limit of one rule, over all occurrences of its field."""
SCHEMA_LIMIT: Final = 100_000_000
"""The cost limit for all rules of a schema together."""

_RULES: Final = "x-kubernetes-validations"
_HINT: Final = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)


def rule_errors(definition: Definition, path: str) -> list[FieldError]:
    """The errors with which an API server refuses the rules of a version's schema, which must be structural.

    ``path`` is the prefix of the errors' field paths, as in ``setpoint.schema.structural.check``.
    """
    if not _has_rules(definition):
        return []
    errors = list(_path_errors(definition, path))
    if errors:
        return errors
    checker = _Checker()
    checker.check(definition, _Place(path, declare(definition, "self", root=True), 1))
    return checker.errors + checker.total_errors(path)


def _has_rules(node: Any) -> bool:
    if isinstance(node, str) or not isinstance(node, (dict, list, Mapping)):  # most values are strings
        return False
    if isinstance(node, list):
        return any(map(_has_rules, node))
    return bool(node.get(_RULES)) or any(map(_has_rules, node.values()))


def _parts(node: Definition, path: str) -> Iterator[tuple[Definition, str]]:
    """The schemas directly below ``node``, with their paths."""
    for keyword in ("additionalProperties", "items", "not"):
        child = node.get(keyword)
        if isinstance(child, Mapping):
            yield child, f"{path}.{keyword}"
    for name, child in (node.get("properties") or {}).items():
        yield child, f"{path}.properties[{name}]"
    for keyword in ("allOf", "oneOf", "anyOf"):
        for index, child in enumerate(node.get(keyword) or ()):
            yield child, f"{path}.{keyword}[{index}]"


def _path_errors(node: Definition, path: str) -> Iterator[FieldError]:
    for child, child_path in _parts(node, path):
        yield from _path_errors(child, child_path)
    for index, rule in enumerate(node.get(_RULES) or ()):
        field = rule.get("fieldPath") or ""
        if field and field_path(field, node) is None:
            yield invalid(f"{path}.{_RULES}[{index}].fieldPath", field, "must be a valid path")


class _Place(msgspec.Struct):
    """A place in the schema, and how often it can occur in one object (None if there is no limit)."""

    path: str
    declared: Declared | None
    times: int | None
    uncorrelatable: str = ""
    """The path of the outermost enclosing list whose items have no keys; empty if there is none."""


class _Checker(msgspec.Struct):
    errors: list[FieldError] = msgspec.field(default_factory=list)
    total: int = 0
    expensive: list[tuple[int, str]] = msgspec.field(default_factory=list)

    def check(self, node: Definition, place: _Place) -> None:
        times = _product(place.times, _occurrences(node))
        declared = place.declared
        additional = node.get("additionalProperties")
        inner = declared.item if declared is not None else None
        if isinstance(additional, Mapping):
            child_path = f"{place.path}.additionalProperties"
            self.check(additional, _Place(child_path, inner, times, place.uncorrelatable))
        for name, child in (node.get("properties") or {}).items():
            child_path = f"{place.path}.properties[{name}]"
            child_declared = declared.fields.get(escaped(name) or "") if declared is not None else None
            self.check(child, _Place(child_path, child_declared or _declared(child), times, place.uncorrelatable))
        items = node.get("items")
        if isinstance(items, Mapping):
            uncorrelatable = place.uncorrelatable
            if node.get("x-kubernetes-list-type") != "map":
                uncorrelatable = uncorrelatable or place.path
            self.check(items, _Place(f"{place.path}.items", inner, times, uncorrelatable))
        if node.get(_RULES):
            self._rules(node, place)

    def _rules(self, node: Definition, place: _Place) -> None:
        rules_path = f"{place.path}.{_RULES}"
        if place.declared is None:
            text = "failed to construct type information for x-kubernetes-validations rules: unable to convert "
            self.errors.append(
                internal_error(rules_path, f"internal error: {text}structural schema to CEL declarations")
            )
            return
        times = place.times
        if times is None:
            times = MAX_REQUEST // (place.declared.smallest + 1)
        for index, rule in enumerate(compile_rules(node, place.declared)):
            self._rule(rule, f"{rules_path}[{index}]", times, place.uncorrelatable)

    def _rule(self, rule: CompiledRule, path: str, times: int, uncorrelatable: str) -> None:
        self._cost(_product(rule.cost, times) or 0, f"{path}.rule", "estimated rule cost")
        if rule.error:
            self.errors.append(invalid(f"{path}.rule", _rule_value(rule.document), rule.error))
        if rule.message_error:
            self.errors.append(invalid(f"{path}.messageExpression", _rule_value(rule.document), rule.message_error))
        elif rule.message_program is not None:
            self._cost(rule.message_cost, f"{path}.messageExpression", "estimated messageExpression cost")
        if rule.uses_old and uncorrelatable:
            text = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelatable}"
            self.errors.append(invalid(f"{path}.rule", rule.document["rule"], text))
        elif not rule.uses_old and rule.document.get("optionalOldSelf") is not None:
            text = "may not be set if oldSelf is not used in rule"
            self.errors.append(invalid(f"{path}.optionalOldSelf", rule.document["optionalOldSelf"], text))

    def _cost(self, cost: int, path: str, subject: str) -> None:
        if cost > RULE_LIMIT:
            self.errors.append(forbidden(path, _too_much(subject, cost, RULE_LIMIT)))
        self.total = min(self.total + cost, MAX_UINT)
        if cost >= SCHEMA_LIMIT // 100:
            self.expensive.append((cost, path))

    def total_errors(self, path: str) -> list[FieldError]:
        if self.total <= SCHEMA_LIMIT:
            return []
        worst = sorted(self.expensive, key=lambda entry: -entry[0])[:4]
        text = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        errors = [forbidden(rule_path, text) for _, rule_path in worst]
        subject = f"{_RULES} estimated rule cost total for entire OpenAPIv3 schema"
        return [*errors, forbidden(path, _too_much(subject, self.total, SCHEMA_LIMIT))]


def _declared(node: Definition) -> Declared | None:
    """The type of a property that expressions can't name."""
    return declare(node, "self", root=bool(node.get("x-kubernetes-embedded-resource")))


def _occurrences(node: Definition) -> int | None:
    """The number of times that a part can occur in one value: the limit on the items of a list or the entries of a map
    (None if there is no limit), and 1 for any other type.
    """
    most: int | None
    if node.get("type") == "object" and node.get("additionalProperties") is not None:
        most = node.get("maxProperties")
    elif node.get("type") == "array":
        most = node.get("maxItems")
    else:
        return 1
    return None if most is None else max(most, 0)


def _product(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else min(left * right, MAX_UINT)


def _too_much(subject: str, cost: int, limit: int) -> str:
    factor = cost / limit
    factor_text = "more than 100x" if factor > 100 else f"{factor:.6f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{subject} exceeds budget by factor of {factor_text} {_HINT}"


def _rule_value(rule: Mapping[str, Any]) -> Shown:
    """The rule as API servers show it in messages."""
    fields = {
        "Rule": rule.get("rule") or "",
        "Message": rule.get("message") or "",
        "MessageExpression": rule.get("messageExpression") or "",
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath") or "",
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    return Shown(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))
