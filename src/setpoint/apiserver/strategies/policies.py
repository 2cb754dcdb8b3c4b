"""Admission policies and their bindings: defaults and validation (upstream's admissionregistration/validation)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from setpoint.apiserver.resources.strategy import METADATA, JsonObject
from setpoint.apiserver.strategies.admission_configuration import AdmissionConfiguration
from setpoint.apiserver.strategies.conditions import condition_errors, expression_errors
from setpoint.apiserver.strategies.label_selectors import label_selector_errors
from setpoint.apiserver.strategies.webhooks import rule_errors
from setpoint.cel.admission import admission_environment
from setpoint.cel.lexer import RESERVED
from setpoint.cel.types import ANY, BOOL, DYN, NULL, STRING, Type, list_of, struct
from setpoint.meta.names import dns1035_label, dns1123_subdomain, path_segment, qualified_name
from setpoint.schema import FieldError, repeats
from setpoint.schema.errors import duplicate, forbidden, invalid, not_supported, required

_NAME: Final = re.compile("[_a-zA-Z][_a-zA-Z0-9]*")
_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS: Final = ("Audit", "Deny", "Warn")
_MUTABLE: Final = ("*", "CONNECT", "CREATE", "UPDATE")
_MOST_ANNOTATIONS: Final = 20
_MOST_TEXT: Final = 5 * 1024
_TEXTS: Final = frozenset({"parameterNotFoundAction", "patchType", "reinvocationPolicy"})
"""The fields whose empty value counts as missing."""


class AdmissionPolicies(AdmissionConfiguration):
    """Mutating or validating admission policies. The default failure policy is ``Fail``."""

    status_keeps = METADATA

    def default(self, obj: JsonObject) -> None:
        spec = obj.get("spec")
        if spec is None:
            spec = obj["spec"] = {}
        if isinstance(spec, dict):
            spec.setdefault("failurePolicy", "Fail")
            _default_resources(spec.get("matchConstraints"))

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        spec = obj.get("spec") or {}
        errors = _one_of(spec, "failurePolicy", ("Fail", "Ignore"), "spec")
        if spec.get("paramKind") is not None:
            errors += _param_kind_errors(spec["paramKind"], "spec.paramKind")
        constraints = spec.get("matchConstraints")
        if constraints is None:
            errors.append(required("spec.matchConstraints"))
        else:
            errors += _resources_errors(constraints, "spec.matchConstraints")
            if not constraints.get("resourceRules"):
                errors.append(required("spec.matchConstraints.resourceRules"))
            if self._mutating:
                errors += _operation_errors(constraints, "spec.matchConstraints")
        params = spec.get("paramKind") is not None
        errors += condition_errors(spec.get("matchConditions") or (), "spec.matchConditions", params=params)
        if old is not None and (old.get("spec") or {}) == spec:
            return errors
        types: dict[str, Type] | None = {} if spec.get("variables") or self._mutating else None
        environment = admission_environment(params=params, variables=types, patches=self._mutating)
        for index, variable in enumerate(spec.get("variables") or ()):
            assert types is not None
            field_path = f"spec.variables[{index}]"
            name, text = variable.get("name") or "", variable.get("expression") or ""
            if not name.strip():
                errors.append(required(f"{field_path}.name", "name is not specified"))
            elif not _NAME.fullmatch(name) or name in RESERVED:
                errors.append(invalid(f"{field_path}.name", name, "must be a valid CEL identifier"))
            if not text.strip():
                errors.append(required(f"{field_path}.expression", "expression is not specified"))
                continue
            problems, expression = expression_errors(text, environment, (ANY,), f"{field_path}.expression")
            errors += problems
            types[name] = expression.type or DYN
        if self._mutating:
            errors += _one_of(spec, "reinvocationPolicy", ("IfNeeded", "Never"), "spec")
            return errors + _mutation_errors(spec, params, types)
        return errors + _validation_errors(obj, spec, params, types)


class PolicyBindings(AdmissionConfiguration):
    """The bindings of mutating or validating policies."""

    def default(self, obj: JsonObject) -> None:
        spec = obj.get("spec")
        if isinstance(spec, dict):
            _default_resources(spec.get("matchResources"))

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        spec = obj.get("spec") or {}
        name = spec.get("policyName") or ""
        errors = [] if name else [required("spec.policyName")]
        if name:
            errors += [invalid("spec.policyName", name, text) for text in dns1123_subdomain(name)]
        if spec.get("paramRef") is not None:
            errors += _param_ref_errors(spec["paramRef"], "spec.paramRef")
        if spec.get("matchResources") is not None:
            errors += _resources_errors(spec["matchResources"], "spec.matchResources")
            if self._mutating:
                errors += _operation_errors(spec["matchResources"], "spec.matchResources")
        return errors if self._mutating else errors + _action_errors(spec.get("validationActions") or [])


def _default_resources(resources: object) -> None:
    if not isinstance(resources, dict):
        return
    resources.setdefault("matchPolicy", "Equivalent")
    resources.setdefault("namespaceSelector", {})
    resources.setdefault("objectSelector", {})
    for key in ("resourceRules", "excludeResourceRules"):
        for rule in resources.get(key) or ():
            rule.setdefault("scope", "*")


def _one_of(spec: JsonObject, key: str, allowed: tuple[str, ...], path: str) -> list[FieldError]:
    value = spec.get(key)
    if value is None or (value == "" and key in _TEXTS):
        return [required(f"{path}.{key}")]
    return [] if value in allowed else [not_supported(f"{path}.{key}", value, allowed)]


def _param_kind_errors(kind: JsonObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    version, name = kind.get("apiVersion") or "", kind.get("kind") or ""
    if not version:
        errors.append(required(f"{path}.apiVersion"))
    elif version.count("/") > 1:
        errors.append(invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}"))
    else:
        group, _, short = version.rpartition("/")
        problems = [(group, ",".join(dns1123_subdomain(group)))] if group else []
        problems.append((short, ",".join(dns1035_label(short))))
        errors += [invalid(f"{path}.apiVersion", part, text) for part, text in problems if text]
    if not name:
        errors.append(required(f"{path}.kind"))
    elif problems_of := dns1035_label(name.lower()):
        text = f"may have mixed case, but should otherwise match: {','.join(problems_of)}"
        errors.append(invalid(f"{path}.kind", name, text))
    return errors


_MATCHES: Final = ("Equivalent", "Exact")


def _resources_errors(resources: JsonObject, path: str) -> list[FieldError]:
    policy = resources.get("matchPolicy")
    errors = [] if policy in _MATCHES else [not_supported(f"{path}.matchPolicy", policy, _MATCHES)]
    for key in ("namespaceSelector", "objectSelector"):
        errors += label_selector_errors(resources.get(key) or {}, f"{path}.{key}")
    for key in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(resources.get(key) or ()):
            field_path = f"{path}.{key}[{index}]"
            names = rule.get("resourceNames") or []
            again = set(repeats(names))
            for position, name in enumerate(names):
                place = f"{field_path}.resourceNames[{position}]"
                errors += [invalid(place, name, text) for text in path_segment(name)]
                if position in again:
                    errors.append(duplicate(place, name))
            errors += rule_errors(rule, field_path)
    return errors


def _operation_errors(resources: JsonObject, path: str) -> list[FieldError]:
    return [
        not_supported(f"{path}.resourceRules.operations", operation, _MUTABLE)
        for rule in resources.get("resourceRules") or ()
        for operation in rule.get("operations") or ()
        if operation not in _MUTABLE
    ]


def _validation_errors(
    obj: JsonObject, spec: JsonObject, params: bool, types: dict[str, Type] | None
) -> list[FieldError]:
    environment = admission_environment(params=params, variables=types)
    plain = admission_environment(params=params, variables=types, authorizer=False)
    validations, annotations = spec.get("validations") or [], spec.get("auditAnnotations") or []
    if not validations and not annotations:
        text = "validations or auditAnnotations must contain at least one item"
        return [required("spec.validations", text), required("spec.auditAnnotations", text)]
    errors: list[FieldError] = []
    for index, validation in enumerate(validations):
        field_path = f"spec.validations[{index}]"
        text = validation.get("expression") or ""
        if not text.strip():
            errors.append(required(f"{field_path}.expression", "expression is not specified"))
        else:
            errors += expression_errors(text, environment, (BOOL,), f"{field_path}.expression")[0]
        message = validation.get("messageExpression") or ""
        if message and not message.strip():
            errors.append(invalid(f"{field_path}.messageExpression", message, "must be non-empty if specified"))
        elif message:
            errors += expression_errors(message, plain, (STRING,), f"{field_path}.messageExpression")[0]
        text_message = validation.get("message") or ""
        if text_message and not text_message.strip():
            errors.append(invalid(f"{field_path}.message", text_message, "must be non-empty if specified"))
        elif "\n" in text_message.strip() or "\r" in text_message.strip():
            errors.append(invalid(f"{field_path}.message", text_message, "must not contain line breaks"))
        if validation.get("reason") is not None and validation["reason"] not in _REASONS:
            errors.append(not_supported(f"{field_path}.reason", validation["reason"], _REASONS))
    if len(annotations) > _MOST_ANNOTATIONS:
        text = f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"
        errors.append(invalid("spec.auditAnnotations", annotations, text))
    names: set[str] = set()
    for index, annotation in enumerate(annotations):
        field_path = f"spec.auditAnnotations[{index}]"
        key, text = annotation.get("key") or "", (annotation.get("valueExpression") or "").strip()
        name = f"{obj['metadata'].get('name', '')}/{key}"
        errors += [invalid(f"{field_path}.key", name, problem) for problem in qualified_name(name)]
        if key in names:
            errors.append(duplicate(f"{field_path}.key", key))
        names.add(key)
        if not text:
            errors.append(required(f"{field_path}.valueExpression", "valueExpression is not specified"))
        elif len(text.encode()) > _MOST_TEXT:
            errors.append(required(f"{field_path}.valueExpression", f"must not exceed {_MOST_TEXT} bytes in length"))
        else:
            errors += expression_errors(text, environment, (STRING, NULL), f"{field_path}.valueExpression")[0]
    return errors


def _mutation_errors(spec: JsonObject, params: bool, types: dict[str, Type] | None) -> list[FieldError]:
    environment = admission_environment(params=params, variables=types, patches=True)
    mutations = spec.get("mutations") or []
    if not mutations:
        return [required("spec.mutations", "mutations must contain at least one item")]
    errors: list[FieldError] = []
    forms = {
        "JSONPatch": ("jsonPatch", list_of(struct("JSONPatch"))),
        "ApplyConfiguration": ("applyConfiguration", struct("Object")),
    }
    for index, mutation in enumerate(mutations):
        field_path = f"spec.mutations[{index}]"
        kind = mutation.get("patchType") or ""
        if kind not in forms:
            errors += _one_of(mutation, "patchType", ("ApplyConfiguration", "JSONPatch"), field_path)
            continue
        key, wanted = forms[kind]
        for other, (other_key, _) in forms.items():
            if other != kind and mutation.get(other_key) is not None:
                text = f"must not be specified when patchType is {kind}"
                errors.append(invalid(f"{field_path}.{other_key}", f"{{{other_key}}}", text))
        if mutation.get(key) is None:
            errors.append(required(f"{field_path}.{key}", f"must be specified when patchType is {kind}"))
            continue
        text = (mutation[key].get("expression") or "").strip()
        if not text:
            errors.append(required(f"{field_path}.{key}.expression"))
        else:
            errors += expression_errors(text, environment, (wanted,), f"{field_path}.{key}.expression")[0]
    return errors


def _param_ref_errors(ref: JsonObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    name, selector = ref.get("name") or "", ref.get("selector")
    exclusive = "name and selector are mutually exclusive"
    if name:
        errors += [invalid(f"{path}.name", name, text) for text in path_segment(name)]
        if selector is not None:
            errors.append(forbidden(f"{path}.name", exclusive))
    if selector is not None:
        errors += label_selector_errors(selector, f"{path}.selector")
        if name:
            errors.append(forbidden(f"{path}.selector", exclusive))
    if not name and selector is None:
        errors.append(required(path, "one of name or selector must be specified"))
    return errors + _one_of(ref, "parameterNotFoundAction", ("Deny", "Allow"), path)


def _action_errors(actions: Iterable[str]) -> list[FieldError]:
    path = "spec.validationActions"
    listed = list(actions)
    errors: list[FieldError] = []
    again = set(repeats(listed))
    for index, action in enumerate(listed):
        if action not in _ACTIONS:
            errors.append(not_supported(f"{path}[{index}]", action, _ACTIONS))
        if index in again:
            errors.append(duplicate(f"{path}[{index}]", action))
    if "Deny" in listed and "Warn" in listed:
        reason = "repeating the same validation failure information in the API response and headers serves no purpose"
        errors.append(invalid(path, listed, f"must not contain both Deny and Warn ({reason})"))
    if not listed:
        errors.append(required(path))
    return errors
