"""Rules of a pod's spec beyond names and amounts: ports, variables, probes, volumes, where it may run, as whom."""

from __future__ import annotations

import re
from typing import Any, Final

from setpoint.apiserver.strategies.strategy import JsonObject
from setpoint.meta.names import dns1123_label, dns1123_subdomain, label_value, qualified_name
from setpoint.schema import FieldError
from setpoint.schema.errors import forbidden, invalid, not_supported, required

__all__ = ["container_errors", "placing_errors", "port_name_problems", "volume_errors"]

_VARIABLE: Final = re.compile("[ -<>-~]+")
_VARIABLE_RULE: Final = (
    "a valid environment variable name must consist only of printable ASCII characters other than '='"
)
_PORT_NAME: Final = re.compile("[-a-z0-9]+")
_LETTER: Final = re.compile("[a-z]")
_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_NUMBERS: Final = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_RESOURCES: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
_MAX_ID: Final = 2**31 - 1


def port_name_problems(name: str) -> list[str]:
    """What is wrong with the name of a port (IANA's service names)."""
    problems = ["must be no more than 15 characters"] if len(name) > 15 else []
    if not _PORT_NAME.fullmatch(name):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    elif not _LETTER.search(name):
        problems.append("must contain at least one letter (a-z)")
    if "--" in name:
        problems.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def container_errors(container: JsonObject, path: str) -> list[FieldError]:
    """Its ports' names, its variables, its resources' names and its probes."""
    errors: list[FieldError] = []
    for index, port in enumerate(container.get("ports") or ()):
        name = port.get("name") or ""
        if name:
            errors += [invalid(f"{path}.ports[{index}].name", name, text) for text in port_name_problems(name)]
    for index, variable in enumerate(container.get("env") or ()):
        name, where = variable.get("name") or "", f"{path}.env[{index}].name"
        if not name:
            errors.append(required(where))
        elif not _VARIABLE.fullmatch(name):
            errors.append(invalid(where, name, _VARIABLE_RULE))
    resources = container.get("resources") or {}
    for key in ("limits", "requests"):
        for name in resources.get(key) or {}:
            errors += _resource_name_errors(name, f"{path}.resources.{key}[{name}]")
    for key in _PROBES:
        if container.get(key) is not None:
            errors += _probe_errors(container[key], f"{path}.{key}")
    return errors


def _resource_name_errors(name: str, path: str) -> list[FieldError]:
    if problems := qualified_name(name):
        return [invalid(path, name, text) for text in problems]
    if "/" in name or name in _RESOURCES or name.startswith("hugepages-"):
        return []
    return [
        invalid(path, name, "must be a standard resource type or fully qualified"),
        invalid(path, name, "must be a standard resource for containers"),
    ]


def _probe_errors(probe: JsonObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    given = [name for name in _HANDLERS if probe.get(name) is not None]
    if not given:
        errors.append(required(path, "must specify a handler type"))
    errors += [forbidden(f"{path}.{name}", "may not specify more than 1 handler type") for name in given[1:]]
    for name in ("httpGet", "tcpSocket"):
        port = (probe.get(name) or {}).get("port")
        where = f"{path}.{name}.port"
        if isinstance(port, str):
            errors += [invalid(where, port, text) for text in port_name_problems(port)]
        elif isinstance(port, int) and not 1 <= port <= 65535:
            errors.append(invalid(where, port, "must be between 1 and 65535, inclusive"))
    errors += [
        invalid(f"{path}.{name}", probe[name], "must be greater than or equal to 0")
        for name in _NUMBERS
        if isinstance(probe.get(name), int) and probe[name] < 0
    ]
    return errors


def volume_errors(volume: JsonObject, path: str) -> list[FieldError]:
    """A volume has one source."""
    given = [name for name, value in volume.items() if name != "name" and value is not None]
    return [forbidden(f"{path}.{name}", "may not specify more than 1 volume type") for name in given[1:]]


def placing_errors(spec: JsonObject, path: str) -> list[FieldError]:
    """Where a pod may run, under which name and as which user."""
    errors: list[FieldError] = []
    for key, value in (spec.get("nodeSelector") or {}).items():
        where = f"{path}.nodeSelector"
        errors += [invalid(where, key, text) for text in qualified_name(key)]
        errors += [invalid(where, value, text) for text in label_value(value)]
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        operator = toleration.get("operator")
        if operator not in (None, "", "Equal", "Exists", "Lt", "Gt"):
            where = f"{path}.tolerations[{index}].operator"
            errors.append(not_supported(where, operator, ("Equal", "Exists")))
    for key, rule in (("hostname", dns1123_label), ("subdomain", dns1123_label), ("nodeName", dns1123_subdomain)):
        if spec.get(key):
            errors += [invalid(f"{path}.{key}", spec[key], text) for text in rule(spec[key])]
    errors += _identity_errors(spec.get("securityContext"), f"{path}.securityContext")
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            where = f"{path}.{kind}[{index}].securityContext"
            errors += _identity_errors(container.get("securityContext"), where)
    return errors


def _identity_errors(context: Any, path: str) -> list[FieldError]:
    if not isinstance(context, dict):
        return []
    return [
        invalid(f"{path}.{name}", context[name], f"must be between 0 and {_MAX_ID}, inclusive")
        for name in ("runAsUser", "runAsGroup", "fsGroup")
        if isinstance(context.get(name), int) and not 0 <= context[name] <= _MAX_ID
    ]
