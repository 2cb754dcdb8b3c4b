"""The verdicts of ValidatingAdmissionPolicies on one request.

https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import msgspec

from setpoint.apiserver.admission.admission_policy import POLICY_LIMIT, Binding, Policy, PolicyError
from setpoint.apiserver.admission.cel_variables import namespace_of, values_for
from setpoint.apiserver.admission.match_conditions import CONDITION_LIMIT, ConditionFailed
from setpoint.apiserver.errors import ApiStatusError, forbidden
from setpoint.apiserver.requests.admission import AdmissionAttributes
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.cel.admission import BudgetSpent, Expression, admission_environment, compile_admission
from setpoint.cel.types import BOOL, NULL, STRING
from setpoint.cel.values import Value

JsonObject = dict[str, Any]
Converted = Callable[[JsonObject | None, ServedResource], JsonObject | None]
"""A function that converts an object to the version of a resource; it returns None for None."""

_MESSAGE_LIMIT: Final = 5 * 1024
_FAILURES: Final = "validation.policy.admission.k8s.io/validation_failure"
_MOST_FAILURES: Final = 50
_ANNOTATION_LIMIT: Final = 10 * 1024
"""The maximum length of an audit annotation's value, in bytes; longer values are cut."""
_CODES: Final = {"Forbidden": 403, "RequestEntityTooLarge": 413}
_log = logging.getLogger(__name__)


class _Denial(msgspec.Struct, frozen=True):
    """A denial by one validation; ``index`` is the position of the validation in the policy."""

    message: str
    reason: str = "Invalid"
    index: int = 0


class _Verdict(msgspec.Struct):
    """The result of a policy. ``annotations`` are for the audit log; ``errors`` are failures to compute annotations,
    which deny the request whatever the binding's actions are.
    """

    denials: list[_Denial] = msgspec.field(default_factory=list)
    annotations: list[tuple[str, str]] = msgspec.field(default_factory=list)
    errors: list[_Denial] = msgspec.field(default_factory=list)


class _Validation(msgspec.Struct, frozen=True):
    document: JsonObject
    expression: Expression
    message: Expression | None


class ValidatingPolicy(Policy):
    """One validating policy with its bindings."""

    @cached_property
    def _validations(self) -> list[_Validation]:
        validations: list[_Validation] = []
        environment = self.environment
        plain = admission_environment(params=self.param_kind is not None, authorizer=False, variables=self._types)
        for document in self.spec.get("validations") or ():
            text = document.get("messageExpression")
            message = compile_admission(text, plain, (STRING,)) if text else None
            expression = compile_admission(document["expression"], environment, (BOOL,))
            validations.append(_Validation(document, expression, message))
        return validations

    @cached_property
    def _annotations(self) -> list[tuple[str, Expression]]:
        return [
            (document["key"], compile_admission(document["valueExpression"], self.environment, (STRING, NULL)))
            for document in self.spec.get("auditAnnotations") or ()
        ]

    def judge(self, values: Mapping[str, Value]) -> _Verdict:
        """The verdict on the request for one binding and one parameter object."""
        if self.conditions:
            try:
                if not self.conditions.hold(self.evaluation(values, CONDITION_LIMIT)):
                    return _Verdict()
            except ConditionFailed as problem:
                return _Verdict([_Denial(str(problem))])
        evaluation = self.evaluation(values, POLICY_LIMIT)
        verdict = _Verdict()
        try:
            results = [(validation, *evaluation.evaluate(validation.expression)) for validation in self._validations]
            for index, (validation, value, reason) in enumerate(results):
                if reason:
                    verdict.denials += () if self.ignores_failure else (_Denial(reason, index=index),)
                elif value is not True:
                    text = ""
                    if validation.message is not None:
                        text = _message(*evaluation.evaluate(validation.message))
                    verdict.denials.append(_denial(validation.document, text, index))
            self._annotate(values, verdict)
        except BudgetSpent as spent:
            return _Verdict([] if self.ignores_failure else [_Denial(str(spent))])
        return verdict

    def _annotate(self, values: Mapping[str, Value], verdict: _Verdict) -> None:
        evaluation = self.evaluation(values, POLICY_LIMIT)
        for key, expression in self._annotations:
            value, problem = evaluation.evaluate(expression)
            if problem:
                verdict.errors += () if self.ignores_failure else (_Denial(problem),)
            elif isinstance(value, str) and value.strip():
                cut = value.strip().encode()[:_ANNOTATION_LIMIT].decode(errors="ignore")
                verdict.annotations.append((key, cut))


def _message(value: Value, problem: str) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if problem or not text or len(text.encode()) > _MESSAGE_LIMIT or "\n" in text:
        _log.info("messageExpression gives no message: %s", problem or "it is empty, too long or has line breaks")
        return ""
    return text


def _denial(document: JsonObject, text: str, index: int) -> _Denial:
    message = text or (document.get("message") or "").strip()
    return _Denial(
        message or f"failed expression: {document['expression'].strip()}", document.get("reason") or "Invalid", index
    )


def check_policies(
    call: Call, policies: Sequence[ValidatingPolicy], attributes: AdmissionAttributes, converted: Converted
) -> list[str]:
    """The warnings of all policies about the request. The policies' audit annotations are added to the
    request's audit event. Raises ApiStatusError for the first denial.
    """
    warnings: list[str] = []
    denied: list[tuple[str, _Denial]] = []
    failures: list[JsonObject] = []
    for policy in policies:
        target = policy.applies(attributes, call.state)
        if target is None:
            continue
        if problem := policy.unusable(call.state):
            if not policy.ignores_failure:
                prefix = f"ValidatingAdmissionPolicy '{policy.name}' denied request: "
                denied.append((prefix, _Denial(f"failed to configure policy: {problem}")))
            continue
        annotations: dict[str, list[str]] = {}
        for binding in policy.bound(attributes, call.state):
            prefix = f"ValidatingAdmissionPolicy '{policy.name}' with binding '{binding.name}' denied request: "
            try:
                params = policy.params(binding, attributes, call)
            except PolicyError as unfit:
                if not policy.ignores_failure:
                    denied.append((prefix, _Denial(f"failed to configure binding: {unfit}")))
                continue
            for param in params:
                verdict = policy.judge(_values(call, attributes, target, converted) | {"params": param})
                for denial in verdict.denials:
                    if "Warn" in binding.actions:
                        warnings.append(
                            f"Validation failed for ValidatingAdmissionPolicy '{policy.name}' with binding "
                            f"'{binding.name}': {denial.message}"
                        )
                    if "Audit" in binding.actions:
                        failures.append(_failure(policy, binding, denial))
                    if "Deny" in binding.actions:
                        denied.append((prefix, denial))
                denied += [(prefix, error) for error in verdict.errors]
                for key, value in verdict.annotations:
                    values = annotations.setdefault(key, [])
                    values += () if value in values else (value,)
        for key, texts in annotations.items():
            call.annotate(f"{policy.name}/{key}", ", ".join(texts))
    if failures:
        call.annotate(_FAILURES, msgspec.json.encode(failures[:_MOST_FAILURES]).decode())
    if denied:
        prefix, denial = denied[0]
        raise _refused(attributes, prefix + denial.message, denial.reason)
    return warnings


def _failure(policy: ValidatingPolicy, binding: Binding, denial: _Denial) -> JsonObject:
    """A failed validation, in the form shown in the audit log."""
    return {
        "message": denial.message,
        "policy": policy.name,
        "binding": binding.name,
        "expressionIndex": denial.index,
        "validationActions": binding.actions,
    }


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
