"""Roles, cluster roles and their bindings: rules must be valid and must not grant permissions that their writer
lacks.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from setpoint.apiserver.authorization.escalation import check_binding, check_role
from setpoint.apiserver.resources.strategy import JsonObject, Strategy
from setpoint.apiserver.resources.write_context import WriteContext
from setpoint.apiserver.strategies.label_selectors import label_selector_errors
from setpoint.meta.names import path_segment
from setpoint.schema import FieldError
from setpoint.schema.errors import invalid, required

_GROUP: Final = "rbac.authorization.k8s.io"


class _Guarded(Strategy):
    """A kind whose writers may not grant permissions that they lack; `_check` raises ApiStatusError (403) if they
    try.
    """

    name_rule = staticmethod(path_segment)
    create_on_update = True

    def __init__(self, *, namespaced: bool) -> None:
        self._namespaced = namespaced

    def prepare_create(self, call: WriteContext, obj: JsonObject) -> None:
        self._check(call, obj, None)

    def prepare_update(self, call: WriteContext, new: JsonObject, old: JsonObject) -> None:
        self._check(call, new, old)

    @abstractmethod
    def _check(self, call: WriteContext, new: JsonObject, old: JsonObject | None) -> None: ...


class Roles(_Guarded):
    """Roles or cluster roles. ``namespaced``: whether they belong to a namespace and therefore have no non-resource
    URLs.
    """

    says_required = True

    def _check(self, call: WriteContext, new: JsonObject, old: JsonObject | None) -> None:
        if call.authorizer is not None:
            check_role(
                call.authorizer,
                call.user,
                call.name,
                new,
                old,
                namespaced=self._namespaced,
                note_refusal=call.note_refusal,
            )

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
            field_path = f"{path}.nonResourceURLs"
            if self._namespaced:
                errors.append(invalid(field_path, addresses, "namespaced rules cannot apply to non-resource URLs"))
            if any(rule.get(name) for name in ("apiGroups", "resources", "resourceNames")):
                text = "rules cannot apply to both regular resources and non-resource URLs"
                errors.append(invalid(field_path, addresses, text))
            return errors + verbs
        if not rule.get("apiGroups"):
            errors.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
        if not rule.get("resources"):
            errors.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
        return errors + verbs


class Bindings(_Guarded):
    """Role bindings. ``namespaced``: whether they belong to a namespace."""

    def default(self, obj: JsonObject) -> None:
        reference = obj.setdefault("roleRef", {})
        if isinstance(reference, dict):
            reference.setdefault("apiGroup", _GROUP)
        for subject in obj.get("subjects") or ():
            if subject.get("kind") in ("User", "Group"):
                subject.setdefault("apiGroup", _GROUP)

    def _check(self, call: WriteContext, new: JsonObject, old: JsonObject | None) -> None:
        if call.authorizer is not None:
            check_binding(
                call.authorizer, call.user, new, old, namespaced=self._namespaced, note_refusal=call.note_refusal
            )


def _aggregation_errors(rule: JsonObject) -> list[FieldError]:
    selectors, path = rule.get("clusterRoleSelectors") or [], "aggregationRule.clusterRoleSelectors"
    if not selectors:
        return [required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")]
    errors: list[FieldError] = []
    for index, selector in enumerate(selectors):
        selector_errors = label_selector_errors(selector, f"{path}[{index}]")
        if selector_errors:
            selector_errors.append(invalid(f"{path}[{index}]", None, "invalid label selector."))
        errors += selector_errors
    return errors
