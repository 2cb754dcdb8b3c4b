"""Rules for the workloads of ``apps``: selectors, templates, and rollout strategies."""

from __future__ import annotations

import re
from typing import Any, Final

from setpoint.apiserver.objects.label_selector import selector_of
from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.claims import claim_errors
from setpoint.apiserver.strategies.go_dump import dump
from setpoint.apiserver.strategies.label_selectors import label_selector_errors
from setpoint.apiserver.strategies.pod_spec import template_errors
from setpoint.meta import SelectorError
from setpoint.meta.names import dns1123_label
from setpoint.schema import FieldError
from setpoint.schema.errors import forbidden, invalid, not_supported, required

Errors = list[FieldError]
_NOT_NEGATIVE: Final = "must be greater than or equal to 0"
_IMMUTABLE: Final = "field is immutable"
_MISMATCH: Final = "`selector` does not match template `labels`"
_NO_DEADLINE: Final = "activeDeadlineSeconds in {} is not Supported"
_PERCENT: Final = re.compile("[0-9]+%")
_WHOLE: Final = re.compile("[-+]?[0-9]{1,18}")
_PERCENT_RULE: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
    "validation is '[0-9]+%')"
)


def _counts(spec: JsonObject, *names: str) -> Errors:
    return [invalid(f"spec.{name}", spec[name], _NOT_NEGATIVE) for name in names if (spec.get(name) or 0) < 0]


def _selector_errors(selector: JsonObject | None, kind: str) -> Errors:
    if selector is None:
        return [required("spec.selector")]
    errors = label_selector_errors(selector, "spec.selector")
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        errors.append(invalid("spec.selector", selector, f"empty selector is invalid for {kind}"))
    return errors


def _template(spec: JsonObject, kind: str, problem: str | None, *, template: JsonObject | None = None) -> Errors:
    """The errors in a workload's template, including a mismatch with the selector.

    ``problem``: the error for an invalid selector; None if that error is reported elsewhere. ``template``:
    the template to validate, if it is not the spec's own.
    """
    selector, own = spec.get("selector"), spec.get("template") or {}
    labels = (own.get("metadata") or {}).get("labels")
    errors: Errors = []
    try:
        fits = selector is not None and selector_of(selector).matches(labels or {})
    except SelectorError:
        if problem is not None:
            return [invalid("spec.selector", dump("*v1.LabelSelector", selector), problem)]
        fits = True
    if not fits:
        errors.append(invalid("spec.template.metadata.labels", labels, _MISMATCH))
    errors += template_errors(template or own, "spec.template", restart=("Always",))
    if (own.get("spec") or {}).get("activeDeadlineSeconds") is not None:
        errors.append(forbidden("spec.template.spec.activeDeadlineSeconds", _NO_DEADLINE.format(kind)))
    return errors


def _same_selector(spec: JsonObject, old: JsonObject | None) -> Errors:
    if old is None or spec.get("selector") == old.get("selector"):
        return []
    return [invalid("spec.selector", dump("*v1.LabelSelector", spec.get("selector")), _IMMUTABLE)]


def deployment_errors(spec: JsonObject, old: JsonObject | None) -> Errors:
    """The errors in the spec of a Deployment; ``old`` is the spec before an update."""
    errors = _counts(spec, "replicas") + _selector_errors(spec.get("selector"), "deployment")
    errors += _template(spec, "ReplicaSet", "invalid label selector")
    strategy = spec.get("strategy") or {}
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            text = "may not be specified when strategy `type` is 'Recreate'"
            errors.append(forbidden("spec.strategy.rollingUpdate", text))
    elif kind == "RollingUpdate":
        errors += _rolling_deployment(rolling or {}, "spec.strategy.rollingUpdate")
    else:
        bad_value = dump("apps.DeploymentStrategy", strategy)
        errors.append(not_supported("spec.strategy", bad_value, ("Recreate", "RollingUpdate")))
    errors += _counts(spec, "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= (spec.get("minReadySeconds") or 0):
        errors.append(invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))
    return errors + _same_selector(spec, old)


def _rolling_deployment(rolling: JsonObject, path: str) -> Errors:
    least, most = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    errors = share_errors(least, f"{path}.maxUnavailable") + share_errors(most, f"{path}.maxSurge")
    if not _share(least) and not _share(most):
        errors.append(invalid(f"{path}.maxUnavailable", least, "may not be 0 when `maxSurge` is 0"))
    return errors + _too_much(least, f"{path}.maxUnavailable")


def share_errors(value: Any, path: str) -> Errors:
    """The errors in a number or a percentage."""
    if isinstance(value, str):
        return [] if _PERCENT.fullmatch(value) else [invalid(path, value, _PERCENT_RULE)]
    return [invalid(path, value, _NOT_NEGATIVE)] if value < 0 else []


def _share(value: Any) -> int:
    if isinstance(value, int):
        return value
    digits = value.removesuffix("%") if _PERCENT.fullmatch(value) else value
    return int(digits) if _WHOLE.fullmatch(digits) else 0  # as in upstream, a text that is a plain number counts


def _too_much(value: Any, path: str) -> Errors:
    if isinstance(value, str) and _PERCENT.fullmatch(value) and _share(value) > 100:
        return [invalid(path, value, "must not be greater than 100%")]
    return []


def replica_set_errors(spec: JsonObject, old: JsonObject | None) -> Errors:
    """The errors in the spec of a ReplicaSet; ``old`` is the spec before an update."""
    errors = _counts(spec, "replicas", "minReadySeconds") + _selector_errors(spec.get("selector"), "deployment")
    return errors + _template(spec, "ReplicaSet", "invalid label selector") + _same_selector(spec, old)


def controller_errors(spec: JsonObject) -> Errors:
    errors = _counts(spec, "minReadySeconds")
    selector, template = spec.get("selector") or {}, spec.get("template")
    if not selector:
        errors.append(required("spec.selector"))
    errors += _counts(spec, "replicas")
    if template is None:
        return [*errors, required("spec.template")]
    labels = (template.get("metadata") or {}).get("labels") or {}
    if selector and not selector.items() <= labels.items():
        errors.append(invalid("spec.template.metadata.labels", labels or None, _MISMATCH))
    errors += template_errors(template, "spec.template")
    if (template.get("spec") or {}).get("activeDeadlineSeconds") is not None:
        text = _NO_DEADLINE.format("ReplicationController")
        errors.append(forbidden("spec.template.spec.activeDeadlineSeconds", text))
    return errors


def daemon_set_errors(spec: JsonObject, old: JsonObject | None) -> Errors:
    """The errors in the spec of a DaemonSet; ``old`` is the spec before an update."""
    selector = spec.get("selector")
    errors = _same_selector(spec, old) + label_selector_errors(selector, "spec.selector")
    if selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        errors.append(invalid("spec.selector", selector, "empty selector is invalid for daemonset"))
    errors += _template(spec, "DaemonSet", None)
    errors += _counts(spec, "minReadySeconds")
    strategy, path = spec.get("updateStrategy") or {}, "spec.updateStrategy"
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "RollingUpdate":
        errors += _rolling_daemons(rolling or {}, f"{path}.rollingUpdate")
    elif kind != "OnDelete":
        bad_value = dump("apps.DaemonSetUpdateStrategy", strategy)
        errors.append(not_supported(path, bad_value, ("RollingUpdate", "OnDelete")))
    return errors + _counts(spec, "revisionHistoryLimit")


def _rolling_daemons(rolling: JsonObject, path: str) -> Errors:
    values = [(rolling.get(name, 0), f"{path}.{name}") for name in ("maxUnavailable", "maxSurge")]
    errors = [error for value, field_path in values for error in share_errors(value, field_path)]
    errors += [error for value, field_path in values for error in _too_much(value, field_path)]
    least, most = (_share(value) for value, _ in values)
    if least and most:
        text = "may not be set when maxUnavailable is non-zero"
        errors.append(invalid(f"{path}.maxSurge", rolling.get("maxSurge"), text))
    elif not least and not most:
        errors.append(required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return errors


# -- stateful sets ----------------------------------------------------------------------------------------------------


def stateful_set_errors(spec: JsonObject, old: JsonObject | None) -> Errors:
    """The errors in the spec of a StatefulSet; ``old`` is the spec before an update."""
    errors: Errors = []
    management, claims = spec.get("podManagementPolicy", ""), spec.get("volumeClaimTemplates") or []
    if management not in ("OrderedReady", "Parallel"):
        text = "must be 'OrderedReady' or 'Parallel'"
        errors.append(invalid("spec.podManagementPolicy", management, text))
    errors += _stateful_strategy(spec.get("updateStrategy") or {}, "spec.updateStrategy")
    retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    for name in ("whenDeleted", "whenScaled") if retention else ():
        if retention.get(name, "") not in ("Retain", "Delete"):
            field_path = f"spec.persistentVolumeClaimRetentionPolicy.{name}"
            errors.append(not_supported(field_path, retention.get(name, ""), ("Retain", "Delete")))
    for index, claim in enumerate(claims if old is None else ()):  # immutable, so not checked again
        errors += claim_errors(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{index}].spec")
    errors += _counts(spec, "replicas", "minReadySeconds")
    start = (spec.get("ordinals") or {}).get("start", 0)
    if start < 0:
        errors.append(invalid("spec.ordinals.start", start, _NOT_NEGATIVE))
    service = spec.get("serviceName", "")
    if service and old is None:
        errors += [invalid("spec.serviceName", service, text) for text in dns1123_label(service)]
    errors += _selector_errors(spec.get("selector"), "statefulset")
    errors += _template(spec, "StatefulSet", "", template=_with_claims(spec, claims))
    if old is None:
        return errors
    for name, kind in (
        ("selector", "*v1.LabelSelector"),
        ("volumeClaimTemplates", "[]core.PersistentVolumeClaim"),
        ("serviceName", "s"),
        ("podManagementPolicy", "s"),
    ):
        now, before = _untyped(spec.get(name)), _untyped(old.get(name))
        if (now or None) != (before or None):
            errors.append(invalid(f"spec.{name}", dump(kind, now), _IMMUTABLE))
    return errors


def _untyped(value: Any) -> Any:
    """A list of claims without kind and apiVersion, which do not count as changes; any other value is unchanged."""
    if not isinstance(value, list):
        return value
    return [{key: item for key, item in claim.items() if key not in ("apiVersion", "kind")} for claim in value]


def _stateful_strategy(strategy: JsonObject, path: str) -> Errors:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if not kind:
        return [required(path)]
    if kind == "OnDelete":
        if rolling is None:
            return []
        bad_value = dump("apps.RollingUpdateStatefulSetStrategy", rolling)
        return [invalid(f"{path}.rollingUpdate", bad_value, "only allowed for updateStrategy 'RollingUpdate'")]
    if kind != "RollingUpdate":
        bad_value = dump("apps.StatefulSetUpdateStrategy", strategy)
        return [invalid(path, bad_value, "must be 'RollingUpdate' or 'OnDelete'")]
    errors: Errors = []
    partition, most = (rolling or {}).get("partition", 0), (rolling or {}).get("maxUnavailable")
    if partition < 0:
        errors.append(invalid(f"{path}.rollingUpdate.partition", partition, _NOT_NEGATIVE))
    if most is not None:
        field_path = f"{path}.rollingUpdate.maxUnavailable"
        errors += share_errors(most, field_path)
        if not _share(most):
            errors.append(invalid(field_path, most, "cannot be 0"))
        errors += _too_much(most, field_path)
    return errors


def _with_claims(spec: JsonObject, claims: list[JsonObject]) -> JsonObject:
    """The template as the pods will have it: with a volume for each claim, and without host name and subdomain."""
    template = spec.get("template") or {}
    inner = {key: value for key, value in (template.get("spec") or {}).items() if key not in ("hostname", "subdomain")}
    names = {(claim.get("metadata") or {}).get("name", "") for claim in claims}
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in sorted(names)]
    others = [volume for volume in inner.get("volumes") or () if volume.get("name", "") not in names]
    return {**template, "spec": {**inner, "volumes": volumes + others}}
