"""ValidatingAdmissionPolicies: what they say about one request.

https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from setpoint.apiserver.admission.activation import namespace_of, values_for
from setpoint.apiserver.admission.conditions import CONDITION_LIMIT, ConditionFailed
from setpoint.apiserver.admission.policy import POLICY_LIMIT, Binding, Policy, PolicyError
from setpoint.apiserver.errors import ApiStatusError, forbidden
from setpoint.apiserver.requests.admission import AdmissionAttributes
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.cel.admission import BudgetSpent, Expression, admission_environment, compile_admission
from setpoint.cel.types import BOOL, NULL, STRING
from setpoint.cel.values import Value

__all__ = ["ValidatingPolicy", "check_policies"]

JsonObject = dict[str, Any]
Converted = Callable[[JsonObject | None, ServedResource], JsonObject | None]
"""An object in another version."""

_MESSAGE_LIMIT: Final = 5 * 1024
_CODES: Final = {"Forbidden": 403, "RequestEntityTooLarge": 413}
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Denial:
    message: str
    reason: str = "Invalid"


@dataclass(frozen=True, slots=True)
class _Validation:
    document: JsonObject
    expression: Expression
    message: Expression | None


class ValidatingPolicy(Policy):
    """One policy with its bindings."""

    @cached_property
    def _validations(self) -> list[_Validation]:
        made: list[_Validation] = []
        environment = self.environment
        plain = admission_environment(params=self.param_kind is not None, authorizer=False, variables=self._types)
        for document in self.spec.get("validations") or ():
            text = document.get("messageExpression")
            message = compile_admission(text, plain, (STRING,)) if text else None
            expression = compile_admission(document["expression"], environment, (BOOL,))
            made.append(_Validation(document, expression, message))
        return made

    @cached_property
    def _annotations(self) -> list[tuple[str, Expression]]:
        return [
            (document["key"], compile_admission(document["valueExpression"], self.environment, (STRING, NULL)))
            for document in self.spec.get("auditAnnotations") or ()
        ]

    def judge(self, values: Mapping[str, Value]) -> list[_Denial]:
        """The denials of the request, for one binding and one parameter at a time."""
        if self.conditions:
            try:
                if not self.conditions.hold(self.evaluation(values, CONDITION_LIMIT)):
                    return []
            except ConditionFailed as problem:
                return [_Denial(str(problem))]
        evaluation = self.evaluation(values, POLICY_LIMIT)
        denials: list[_Denial] = []
        try:
            found = [(validation, *evaluation.evaluate(validation.expression)) for validation in self._validations]
            for validation, value, why in found:
                if why:
                    denials += () if self.ignores_failure else (_Denial(why),)
                elif value is not True:
                    text = ""
                    if validation.message is not None:
                        text = _message(*evaluation.evaluate(validation.message))
                    denials.append(_denial(validation.document, text))
            return denials + self._annotated(values)
        except BudgetSpent as spent:
            return [] if self.ignores_failure else [_Denial(str(spent))]

    def _annotated(self, values: Mapping[str, Value]) -> list[_Denial]:
        """Logs the audit annotations. Returns a denial for each that can't be evaluated."""
        denials: list[_Denial] = []
        evaluation = self.evaluation(values, POLICY_LIMIT)
        for key, expression in self._annotations:
            value, problem = evaluation.evaluate(expression)
            if problem:
                denials += () if self.ignores_failure else (_Denial(problem),)
            elif isinstance(value, str) and value.strip():
                _log.info("audit: %s/%s: %s", self.name, key, value.strip())
        return denials


def _message(value: Value, problem: str) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if problem or not text or len(text.encode()) > _MESSAGE_LIMIT or "\n" in text:
        _log.info("messageExpression gives no message: %s", problem or "it is empty, too long or has line breaks")
        return ""
    return text


def _denial(document: JsonObject, text: str) -> _Denial:
    message = text or (document.get("message") or "").strip()
    return _Denial(
        message or f"failed expression: {document['expression'].strip()}", document.get("reason") or "Invalid"
    )


def check_policies(
    call: Call, policies: Sequence[ValidatingPolicy], attributes: AdmissionAttributes, converted: Converted
) -> list[str]:
    """The warnings of all policies about the request. Raises ApiStatusError for the first denial."""
    warnings: list[str] = []
    denied: list[tuple[str, _Denial]] = []
    for policy in policies:
        target = policy.applies(attributes, call.state)
        if target is None:
            continue
        if problem := policy.unusable(call.state):
            if not policy.ignores_failure:
                where = f"ValidatingAdmissionPolicy '{policy.name}' denied request: "
                denied.append((where, _Denial(f"failed to configure policy: {problem}")))
            continue
        for binding in policy.bound(attributes, call.state):
            where = f"ValidatingAdmissionPolicy '{policy.name}' with binding '{binding.name}' denied request: "
            try:
                params = policy.params(binding, attributes, call)
            except PolicyError as unfit:
                if not policy.ignores_failure:
                    denied.append((where, _Denial(f"failed to configure binding: {unfit}")))
                continue
            for param in params:
                for denial in policy.judge(_values(call, attributes, target, converted) | {"params": param}):
                    _act(policy, binding, denial, warnings)
                    if "Deny" in binding.actions:
                        denied.append((where, denial))
    if denied:
        where, denial = denied[0]
        raise _refused(attributes, where + denial.message, denial.reason)
    return warnings


def _act(policy: ValidatingPolicy, binding: Binding, denial: _Denial, warnings: list[str]) -> None:
    if "Warn" in binding.actions:
        warnings.append(
            f"Validation failed for ValidatingAdmissionPolicy '{policy.name}' with binding '{binding.name}': "
            f"{denial.message}"
        )
    if "Audit" in binding.actions:
        _log.info("audit: %s with binding %s: %s", policy.name, binding.name, denial.message)


def _values(
    call: Call, attributes: AdmissionAttributes, target: ServedResource, converted: Converted
) -> dict[str, Value]:
    obj, old = converted(attributes.obj, target), converted(attributes.old, target)
    values = values_for(attributes, target, call.user, obj, old)
    return values | {"namespaceObject": namespace_of(attributes, call.storage)}


def _refused(attributes: AdmissionAttributes, message: str, reason: str) -> ApiStatusError:
    error = forbidden(attributes.served.group_resource, attributes.shown_name, message, [{"message": message}])
    error.status["reason"] = reason
    error.status["code"] = error.code = _CODES.get(reason, 422)
    return error
