"""Roles and cluster roles: their rules must make sense. What they allow nobody asks here."""

from __future__ import annotations

from setpoint.apiserver.strategies.label_selectors import label_selector_errors
from setpoint.apiserver.strategies.strategy import JsonObject, Strategy
from setpoint.meta.names import path_segment
from setpoint.schema import FieldError
from setpoint.schema.errors import invalid, required

__all__ = ["Roles"]


class Roles(Strategy):
    """``namespaced``: whether they are of one namespace, where only resources are."""

    name_rule = staticmethod(path_segment)
    create_on_update = True

    def __init__(self, *, namespaced: bool) -> None:
        self._namespaced = namespaced

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        errors: list[FieldError] = []
        for index, rule in enumerate(obj.get("rules") or ()):
            errors += self._rule_errors(rule, f"rules[{index}]")
        aggregation = obj.get("aggregationRule")
        if aggregation is not None:
            errors += _aggregation_errors(aggregation)
        return errors

    def _rule_errors(self, rule: JsonObject, path: str) -> list[FieldError]:
        errors: list[FieldError] = []
        verbs = [] if rule.get("verbs") else [required(f"{path}.verbs")]
        addresses = rule.get("nonResourceURLs")
        if addresses:
            where = f"{path}.nonResourceURLs"
            if self._namespaced:
                errors.append(invalid(where, addresses, "namespaced rules cannot apply to non-resource URLs"))
            if any(rule.get(name) for name in ("apiGroups", "resources", "resourceNames")):
                text = "rules cannot apply to both regular resources and non-resource URLs"
                errors.append(invalid(where, addresses, text))
            return errors + verbs
        if not rule.get("apiGroups"):
            errors.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
        if not rule.get("resources"):
            errors.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
        return errors + verbs


def _aggregation_errors(rule: JsonObject) -> list[FieldError]:
    selectors, path = rule.get("clusterRoleSelectors") or [], "aggregationRule.clusterRoleSelectors"
    if not selectors:
        return [required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")]
    errors: list[FieldError] = []
    for index, selector in enumerate(selectors):
        found = label_selector_errors(selector, f"{path}[{index}]")
        if found:
            found.append(invalid(f"{path}[{index}]", None, "invalid label selector."))
        errors += found
    return errors
