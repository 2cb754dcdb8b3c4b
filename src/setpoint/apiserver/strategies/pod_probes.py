"""Validation of probes, lifecycle hooks and restart rules of containers."""

from __future__ import annotations

import re
from typing import Final

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.pod_fields import (
    between_errors,
    port_errors,
)
from setpoint.schema import FieldError
from setpoint.schema.errors import forbidden, invalid, not_supported, required, too_many

Errors = list[FieldError]
_HEADER: Final = re.compile("[-A-Za-z0-9]+")
_HEADER_RULE: Final = (
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for "
    "validation is '[-A-Za-z0-9]+')"
)
_RESTARTS: Final = ("Always", "Never", "OnFailure")
_ONE_HANDLER: Final = "may not specify more than 1 handler type"
_NOT_NEGATIVE: Final = "must be greater than or equal to 0"
_NUMBERS: Final = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")


def care_errors(container: JsonObject, path: str, grace: int | None) -> Errors:
    """The errors in a container's probes and lifecycle hooks. ``grace``: the pod's grace period in seconds; if it is
    None, the length of a ``sleep`` is not checked.
    """
    errors: Errors = []
    cycle = container.get("lifecycle")
    if cycle is not None:
        for key in ("postStart", "preStop"):
            if cycle.get(key) is not None:
                errors += _handler(
                    cycle[key], f"{path}.lifecycle.{key}", grace, ("exec", "httpGet", "tcpSocket", "sleep")
                )
    for key in ("livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(key) is not None:
            errors += _probe(container[key], f"{path}.{key}", grace, readiness=key == "readinessProbe")
    return errors


def _probe(probe: JsonObject, path: str, grace: int | None, *, readiness: bool) -> Errors:
    errors = _handler(probe, path, grace, ("exec", "httpGet", "tcpSocket", "grpc"))
    errors += [invalid(f"{path}.{name}", probe[name], _NOT_NEGATIVE) for name in _NUMBERS if probe.get(name, 0) < 0]
    seconds = probe.get("terminationGracePeriodSeconds")
    if seconds is not None and seconds <= 0:
        errors.append(invalid(f"{path}.terminationGracePeriodSeconds", seconds, "must be greater than 0"))
    if readiness and seconds is not None:
        text = "must not be set for readinessProbes"
        errors.append(invalid(f"{path}.terminationGracePeriodSeconds", seconds, text))
    if not readiness and probe.get("successThreshold", 0) != 1:
        errors.append(invalid(f"{path}.successThreshold", probe.get("successThreshold", 0), "must be 1"))
    return errors


def _handler(handler: JsonObject, path: str, grace: int | None, kinds: tuple[str, ...]) -> Errors:
    handlers = [kind for kind in kinds if handler.get(kind) is not None]
    if not handlers:
        return [required(path, "must specify a handler type")]
    kind, action, field_path = handlers[0], handler[handlers[0]], f"{path}.{handlers[0]}"
    errors: Errors = []
    if kind == "exec" and not action.get("command"):
        errors.append(required(f"{field_path}.command"))
    elif kind == "httpGet":
        errors += _http_get(action, field_path)
    elif kind == "tcpSocket":
        errors += port_errors(action.get("port"), f"{field_path}.port")
    elif kind == "grpc":
        errors += between_errors(action.get("port", 0), 1, 65535, f"{field_path}.port")
    elif kind == "sleep" and grace is not None and not 0 <= action.get("seconds", 0) <= grace:
        text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        errors.append(invalid(field_path, action.get("seconds", 0), text))
    return errors + [forbidden(f"{path}.{other}", _ONE_HANDLER) for other in handlers[1:]]


def _http_get(action: JsonObject, path: str) -> Errors:
    errors = [] if action.get("path") else [required(f"{path}.path")]
    errors += port_errors(action.get("port"), f"{path}.port")
    if action.get("scheme", "") not in ("HTTP", "HTTPS"):
        errors.append(not_supported(f"{path}.scheme", action.get("scheme", ""), ("HTTP", "HTTPS")))
    for header in action.get("httpHeaders") or ():
        if not _HEADER.fullmatch(header.get("name", "")):
            errors.append(invalid(f"{path}.httpHeaders", header.get("name", ""), _HEADER_RULE))
    return errors


def restart_errors(container: JsonObject, path: str) -> Errors:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or []
    errors: Errors = []
    if policy is None:
        if rules:
            text = "must specify restartPolicy when restart rules are used"
            errors.append(required(f"{path}.restartPolicy", text))
        if "initContainers" in path:
            return errors
    elif policy not in _RESTARTS:
        errors.append(not_supported(f"{path}.restartPolicy", policy, _RESTARTS))
    if len(rules) > 20:
        errors.append(too_many(f"{path}.restartPolicyRules", len(rules), 20))
    for index, rule in enumerate(rules):
        field_path, codes = f"{path}.restartPolicyRules[{index}]", rule.get("exitCodes")
        actions = ("Restart", "RestartAllContainers")
        if rule.get("action", "") not in actions:
            errors.append(not_supported(f"{field_path}.action", rule.get("action", ""), actions))
        if codes is None:
            errors.append(required(f"{field_path}.exitCodes", "must be specified"))
            continue
        if codes.get("operator", "") not in ("In", "NotIn"):
            errors.append(not_supported(f"{field_path}.exitCodes.operator", codes.get("operator", ""), ("In", "NotIn")))
        if len(codes.get("values") or ()) > 255:
            errors.append(too_many(f"{field_path}.exitCodes.values", len(codes["values"]), 255))
    return errors
