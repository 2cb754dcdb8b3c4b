"""Rules for jobs: completions, parallelism, and the policies for failure and success."""

from __future__ import annotations

import re
from typing import Any, Final

from setpoint.apiserver.objects.label_selector import selector_of
from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.go_dump import dump
from setpoint.apiserver.strategies.job_indexes import count_indexes
from setpoint.apiserver.strategies.label_selectors import label_selector_errors
from setpoint.apiserver.strategies.pod_spec import template_errors
from setpoint.meta import SelectorError
from setpoint.meta.names import dns1123_label, dns1123_subdomain, qualified_name
from setpoint.schema import FieldError, copy_json, repeats
from setpoint.schema.errors import OMITTED, duplicate, invalid, not_supported, required, too_long, too_many

Errors = list[FieldError]
_RESTARTS: Final = ("OnFailure", "Never")
_NOT_NEGATIVE: Final = "must be greater than or equal to 0"
_IMMUTABLE: Final = "field is immutable"
_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_STATUSES: Final = ("False", "True", "Unknown")
_INDEXED: Final = "requires indexed completion mode"
_MOST: Final = 100_000
_MANY: Final = 10_000
_HIGH: Final = (
    f"must be less than or equal to {_MANY} when completions are above {_MOST} and used with backoff limit per index"
)
_PATH: Final = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
_PATH_RULE: Final = r"Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')"
_TWO_PARTS: Final = "violates the requirement that an index interval can have at most two parts separated by '-'"
_FREE: Final = ("nodeSelector", "tolerations", "schedulingGates")
"""The fields of the template's pod spec that may change while the job is suspended and has not started yet."""


def job_errors(obj: JsonObject, *, new: bool) -> Errors:
    """The errors in a job itself; `job_change_errors` finds those in an update. ``new``: whether the job is
    being created.
    """
    spec = obj["spec"]
    errors = (_generated_errors(obj) if new else []) + job_spec_errors(spec, "spec")
    selector = spec.get("selector")
    if selector is None:
        errors.append(required("spec.selector"))
    errors += label_selector_errors(selector, "spec.selector")
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    if not _matches(selector, labels):
        text = "`selector` does not match template `labels`"
        errors.append(invalid("spec.template.metadata.labels", labels or None, text))
    return errors + _name_errors(obj)


def _matches(selector: JsonObject | None, labels: dict[str, str]) -> bool:
    """Whether the selector matches the labels. False without a selector; True if the selector is invalid, which
    is a separate error.
    """
    if selector is None:
        return False
    try:
        return selector_of(selector).matches(labels)
    except SelectorError:
        return True


def _generated_errors(obj: JsonObject) -> Errors:
    spec, metadata = obj["spec"], obj["metadata"]
    if spec.get("manualSelector") or spec.get("selector") is None:
        return []
    uid, name = metadata.get("uid", ""), metadata.get("name", "")
    wanted = {
        "controller-uid": uid,
        "job-name": name,
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
    }
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    errors: Errors = []
    for key, value in wanted.items():
        field_path = "spec.template.metadata.labels"
        if key not in labels:
            errors.append(required(field_path, f"must be '{value}'"))
        elif labels[key] != value:
            errors.append(invalid(field_path, labels, f"must be '{value}'"))
    if not _matches(spec["selector"], wanted):
        errors.append(invalid("spec.selector", spec["selector"], "`selector` not auto-generated"))
    return errors


def _name_errors(obj: JsonObject) -> Errors:
    spec, name = obj["spec"], obj["metadata"].get("name", "")
    if spec.get("completionMode") != "Indexed" or not (spec.get("completions") or 0) > 0:
        return []
    host = f"{name}-{spec['completions'] - 1}"
    text = f"will not able to create pod with invalid DNS label: {host}"
    return [invalid("metadata.name", name, text)] if dns1123_label(host) else []


def job_spec_errors(spec: JsonObject, path: str) -> Errors:
    """The errors in the spec of a job or of a job template."""
    errors = [
        invalid(f"{path}.{name}", spec[name], _NOT_NEGATIVE)
        for name in (
            "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
            "backoffLimitPerIndex", "maxFailedIndexes",
        )
        if spec.get(name, 0) < 0
    ]  # fmt: skip
    per_index, failed = spec.get("backoffLimitPerIndex"), spec.get("maxFailedIndexes")
    if failed is not None and per_index is None:
        errors.append(required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    manager = spec.get("managedBy")
    if manager is not None:
        errors += _manager_errors(manager, f"{path}.managedBy")
        if len(manager) > 63:
            errors.append(too_long(f"{path}.managedBy", 63))
    mode = spec.get("completionMode")
    if mode not in (None, "NonIndexed", "Indexed"):
        errors.append(not_supported(f"{path}.completionMode", mode, ("NonIndexed", "Indexed")))
    if mode == "Indexed":
        errors += _indexed_errors(spec, path)
    elif mode in (None, "NonIndexed"):
        errors += [
            invalid(f"{path}.{name}", spec[name], _INDEXED)
            for name in ("backoffLimitPerIndex", "maxFailedIndexes")
            if spec.get(name) is not None
        ]
    if spec.get("podFailurePolicy") is not None:
        errors += _failure_errors(spec, f"{path}.podFailurePolicy")
    success = spec.get("successPolicy")
    if success is not None and mode != "Indexed":
        errors.append(invalid(f"{path}.successPolicy", dump("batch.SuccessPolicy", success), _INDEXED))
    elif success is not None:
        errors += _success_errors(spec, f"{path}.successPolicy")
    replacement = spec.get("podReplacementPolicy")
    allowed = ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
    if replacement is not None and replacement not in allowed:
        errors.append(not_supported(f"{path}.podReplacementPolicy", replacement, allowed))
    errors += template_errors(spec.get("template"), f"{path}.template", restart=("Always", "OnFailure", "Never"))
    return errors + _restart_errors(spec, f"{path}.template.spec.restartPolicy")


def _manager_errors(manager: str, path: str) -> Errors:
    if not manager:
        return [required(path)]
    host, _, rest = manager.partition("/")
    if not host or not rest:
        return [invalid(path, manager, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    errors = [invalid(path, host, text) for text in dns1123_subdomain(host)]
    return errors if _PATH.fullmatch(rest) else [*errors, invalid(path, rest, _PATH_RULE)]


def _restart_errors(spec: JsonObject, path: str) -> Errors:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy", "")
    if policy in ("", "Always"):
        return [required(path, 'valid values: "OnFailure", "Never"')]
    if policy not in _RESTARTS:
        return [not_supported(path, policy, _RESTARTS)]
    if spec.get("podFailurePolicy") is not None and policy != "Never":
        return [invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    return []


def _indexed_errors(spec: JsonObject, path: str) -> Errors:
    count, at_once, failed = spec.get("completions"), spec.get("parallelism"), spec.get("maxFailedIndexes")
    errors: Errors = []
    if count is None:
        errors.append(required(f"{path}.completions", "when completion mode is Indexed"))
    if at_once is not None and at_once > _MOST:
        text = f"must be less than or equal to {_MOST} when completion mode is Indexed"
        errors.append(invalid(f"{path}.parallelism", at_once, text))
    if count is not None and failed is not None and failed > count:
        errors.append(invalid(f"{path}.maxFailedIndexes", failed, "must be less than or equal to completions"))
    if failed is not None and failed > _MOST:
        errors.append(invalid(f"{path}.maxFailedIndexes", failed, f"must be less than or equal to {_MOST}"))
    if count is not None and count > _MOST and spec.get("backoffLimitPerIndex") is not None:
        if failed is None:
            text = f"must be specified when completions is above {_MOST}"
            errors.append(required(f"{path}.maxFailedIndexes", text))
        if at_once is not None and at_once > _MANY:
            errors.append(invalid(f"{path}.parallelism", at_once, _HIGH))
        if failed is not None and failed > _MANY:
            errors.append(invalid(f"{path}.maxFailedIndexes", failed, _HIGH))
    return errors


def _failure_errors(spec: JsonObject, path: str) -> Errors:
    rules = spec["podFailurePolicy"].get("rules") or []
    errors = [too_many(f"{path}.rules", len(rules), 20)] if len(rules) > 20 else []
    inner = (spec.get("template") or {}).get("spec") or {}
    names = {item.get("name", "") for key in ("containers", "initContainers") for item in inner.get(key) or []}
    for index, rule in enumerate(rules):
        field_path, action = f"{path}.rules[{index}]", rule.get("action", "")
        if not action:
            errors.append(required(f"{field_path}.action", f"valid values: {_quoted(_ACTIONS)}"))
        elif action == "FailIndex":
            if spec.get("backoffLimitPerIndex") is None:
                text = "requires the backoffLimitPerIndex to be set"
                errors.append(invalid(f"{field_path}.action", action, text))
        elif action not in _ACTIONS:
            errors.append(not_supported(f"{field_path}.action", action, _ACTIONS))
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or []
        if codes is not None:
            errors += _exit_code_errors(codes, names, f"{field_path}.onExitCodes")
        if conditions:
            errors += _condition_errors(conditions, f"{field_path}.onPodConditions")
        if codes is not None and conditions:
            text = "specifying both OnExitCodes and OnPodConditions is not supported"
            errors.append(invalid(field_path, OMITTED, text))
        if codes is None and not conditions:
            text = "specifying one of OnExitCodes and OnPodConditions is required"
            errors.append(invalid(field_path, OMITTED, text))
    return errors


def _quoted(values: tuple[str, ...]) -> str:
    return "[" + " ".join(f'"{value}"' for value in values) + "]"


def _condition_errors(conditions: list[JsonObject], path: str) -> Errors:
    errors = [too_many(path, len(conditions), 20)] if len(conditions) > 20 else []
    for index, condition in enumerate(conditions):
        field_path, kind, status = f"{path}[{index}]", condition.get("type", ""), condition.get("status", "")
        errors += [invalid(f"{field_path}.type", kind, text) for text in qualified_name(kind)]
        if not status:
            errors.append(required(f"{field_path}.status", f"valid values: {_quoted(_STATUSES)}"))
        elif status not in _STATUSES:
            errors.append(not_supported(f"{field_path}.status", status, _STATUSES))
    return errors


def _exit_code_errors(codes: JsonObject, names: set[str], path: str) -> Errors:
    operator, values, name = codes.get("operator", ""), codes.get("values") or [], codes.get("containerName")
    errors: Errors = []
    if not operator:
        errors.append(required(f"{path}.operator", f"valid values: {_quoted(('In', 'NotIn'))}"))
    elif operator not in ("In", "NotIn"):
        errors.append(not_supported(f"{path}.operator", operator, ("In", "NotIn")))
    if name is not None and name not in names:
        text = "must be one of the container or initContainer names in the pod template"
        errors.append(invalid(f"{path}.containerName", name, text))
    if not values:
        errors.append(invalid(f"{path}.values", codes.get("values"), "at least one value is required"))
    elif len(values) > 255:
        errors.append(too_many(f"{path}.values", len(values), 255))
    again = set(repeats(values))
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            errors.append(invalid(f"{path}.values[{index}]", value, "must not be 0 for the In operator"))
        if index in again:
            errors.append(duplicate(f"{path}.values[{index}]", value))
    if values != sorted(values):
        errors.append(invalid(f"{path}.values", values, "must be ordered"))
    return errors


# -- success ----------------------------------------------------------------------------------------------------------


def _success_errors(spec: JsonObject, path: str) -> Errors:
    rules, path = spec["successPolicy"].get("rules") or [], f"{path}.rules"
    errors: Errors = []
    if not rules:
        text = "at least one rules must be specified when the successPolicy is specified"
        errors.append(required(path, text))
    if len(rules) > 20:
        errors.append(too_many(path, len(rules), 20))
    completions = spec.get("completions") or 0
    for index, rule in enumerate(rules):
        field_path, count, indexes = f"{path}[{index}]", rule.get("succeededCount"), rule.get("succeededIndexes")
        if count is None and indexes is None:
            text = "at least one of succeededCount or succeededIndexes must be specified"
            errors.append(required(field_path, text))
        total = 0
        if indexes is not None:
            total, problem = count_indexes(indexes, completions)
            if problem:
                text = f"error parsing succeededIndexes: {problem}"
                errors.append(invalid(f"{field_path}.succeededIndexes", indexes, text))
        if count is None:
            continue
        at = f"{field_path}.succeededCount"
        if count < 0:
            errors.append(invalid(at, count, _NOT_NEGATIVE))
        if count > completions:
            text = f"must be less than or equal to {completions} (the number of specified completions)"
            errors.append(invalid(at, count, text))
        if indexes is not None and count > total:
            indexes_text = "the number of indexes in the specified succeededIndexes field"
            text = f"must be less than or equal to {total} ({indexes_text})"
            errors.append(invalid(at, count, text))
    return errors


# -- changes ----------------------------------------------------------------------------------------------------------


def job_change_errors(new: JsonObject, old: JsonObject) -> Errors:
    spec, before = new["spec"], old["spec"]
    errors: Errors = []
    count, at_once = spec.get("completions"), spec.get("parallelism")
    if spec.get("completionMode") != "Indexed":
        errors += _unchanged(spec, before, "completions", "")
    elif count not in (None, before.get("completions")) and count != at_once:
        text = "can only be modified in tandem with spec.parallelism"
        errors.append(invalid("spec.completions", count, text))
    errors += _unchanged(spec, before, "selector", "*v1.LabelSelector")
    errors += _template_errors(new, old)
    for name, kind in (
        ("completionMode", ""),
        ("podFailurePolicy", "batch.PodFailurePolicy"),
        ("backoffLimitPerIndex", ""),
        ("managedBy", ""),
        ("successPolicy", "batch.SuccessPolicy"),
    ):
        errors += _unchanged(spec, before, name, kind)
    return errors


def _unchanged(spec: JsonObject, before: JsonObject, name: str, kind: str) -> Errors:
    value = spec.get(name)
    if value == before.get(name):
        return []
    return [invalid(f"spec.{name}", dump(kind, value) if kind and value is not None else value, _IMMUTABLE)]


def _template_errors(new: JsonObject, old: JsonObject) -> Errors:
    template = new["spec"].get("template") or {}
    before: Any = old["spec"].get("template") or {}
    if old["spec"].get("suspend"):
        before = copy_json(before)
        if (old.get("status") or {}).get("startTime") is None:
            _copy_scheduling_fields(template, before)
        for key in ("containers", "initContainers"):
            ours, old_containers = (
                (template.get("spec") or {}).get(key) or [],
                (before.get("spec") or {}).get(key) or [],
            )
            for container, other in zip(ours, old_containers, strict=False):
                other.pop("resources", None)
                if "resources" in container:
                    other["resources"] = container["resources"]
        if template.get("spec") == before.get("spec"):
            return []
        return [invalid("spec.template.spec", dump("core.PodSpec", template.get("spec")), _IMMUTABLE)]
    if template == before:
        return []
    return [invalid("spec.template", dump("core.PodTemplateSpec", template), _IMMUTABLE)]


def _copy_scheduling_fields(template: JsonObject, before: JsonObject) -> None:
    spec, other = template.get("spec") or {}, before.setdefault("spec", {})
    for name in _FREE:
        other.pop(name, None)
        if name in spec:
            other[name] = spec[name]
    for name in ("labels", "annotations"):
        before.setdefault("metadata", {}).pop(name, None)
        if name in (template.get("metadata") or {}):
            before["metadata"][name] = template["metadata"][name]
    affinity = dict(other.get("affinity") or {})
    affinity.pop("nodeAffinity", None)
    if (spec.get("affinity") or {}).get("nodeAffinity") is not None:
        affinity["nodeAffinity"] = spec["affinity"]["nodeAffinity"]
    other.pop("affinity", None)
    if affinity or spec.get("affinity") == {}:
        other["affinity"] = affinity
