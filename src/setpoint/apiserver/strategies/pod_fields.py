"""Validation of fields that occur in several parts of a pod: paths, ports, references to the pod's own fields."""

from __future__ import annotations

import re
from typing import Any, Final

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.meta import Quantity
from setpoint.meta.names import qualified_name
from setpoint.schema import FieldError
from setpoint.schema.errors import invalid, not_supported, required

_MAX_ID: Final = 2**31 - 1
_PULL: Final = ("Always", "IfNotPresent", "Never")
_PORT_NAME: Final = re.compile("[-a-z0-9]+")
_LETTER: Final = re.compile("[a-z]")
_SUBSCRIPT: Final = re.compile(r"(.+)\['(.*)'\]", re.DOTALL)
_LABELS: Final = frozenset(
    {
        "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid",
        "spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName", "spec.schedulerName", "status.phase",
        "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
    }
)  # fmt: skip
_IN_VOLUMES: Final = (
    "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid",
)  # fmt: skip
_IN_VARIABLES: Final = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP",
    "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
_RESOURCES: Final = (
    "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage",
    "requests.memory",
)  # fmt: skip
_HUGE: Final = ("limits.hugepages-", "requests.hugepages-")
_UNITS: Final = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")


def between_errors(value: int, least: int, most: int, path: str) -> list[FieldError]:
    """The errors in a number that must be within a range."""
    return [] if least <= value <= most else [invalid(path, value, f"must be between {least} and {most}, inclusive")]


def id_errors(value: int | None, path: str) -> list[FieldError]:
    return [] if value is None else between_errors(value, 0, _MAX_ID, path)


def port_name_problems(name: str) -> list[str]:
    """The problems with the name of a port, which must be an IANA service name (RFC 6335); empty if it is valid."""
    problems = ["must be no more than 15 characters"] if len(name) > 15 else []
    if not _PORT_NAME.fullmatch(name):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _LETTER.search(name):
        problems.append("must contain at least one letter (a-z)")
    if "--" in name:
        problems.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def port_errors(port: Any, path: str) -> list[FieldError]:
    if isinstance(port, str):
        return [invalid(path, port, text) for text in port_name_problems(port)]
    return between_errors(port or 0, 1, 65535, path)


def pull_policy_errors(policy: str, path: str) -> list[FieldError]:
    if not policy:
        return [required(path)]
    return [] if policy in _PULL else [not_supported(path, policy, _PULL)]


def no_backsteps(target: str, path: str) -> list[FieldError]:
    return [invalid(path, target, "must not contain '..'")] if ".." in target.split("/") else []


def relative_path(target: str, path: str) -> list[FieldError]:
    errors = [invalid(path, target, "must be a relative path")] if target.startswith("/") else []
    return errors + no_backsteps(target, path)


def unreserved_path(target: str, path: str) -> list[FieldError]:
    """Like `relative_path`, for files that the node writes to a volume, in which names that begin with two dots are
    reserved.
    """
    errors = relative_path(target, path)
    if target.startswith("..") and not target.startswith("../"):
        errors.append(invalid(path, target, "must not start with '..'"))
    return errors


def downward_errors(item: JsonObject, path: str) -> list[FieldError]:
    """The errors in an item of a downward API volume."""
    field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if field is not None:
        errors = field_errors(field, f"{path}.fieldRef", volume=True)
        if resource is not None:
            errors.append(
                invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
            )
        return errors
    if resource is not None:
        return resource_errors(resource, f"{path}.resourceFieldRef", volume=True)
    return [required(path, "one of fieldRef and resourceFieldRef is required")]


def field_errors(reference: JsonObject, path: str, *, volume: bool = False) -> list[FieldError]:
    """The errors in a reference to a field of the pod. ``volume``: whether the value is written to a volume, for which
    fewer fields are allowed than for a variable.
    """
    target = reference.get("fieldPath", "")
    for name in ("apiVersion", "fieldPath"):
        if not reference.get(name):
            return [required(f"{path}.{name}")]
    match = _SUBSCRIPT.fullmatch(target)
    problem = ""
    if reference["apiVersion"] != "v1":
        problem = f"unsupported pod version: {reference['apiVersion']}"
    elif match and match[1] not in ("metadata.annotations", "metadata.labels"):
        problem = f"field label does not support subscript: {target}"
    elif not match and target not in _LABELS and target != "spec.host":
        problem = f"field label not supported: {target}"
    if problem:
        return [invalid(f"{path}.fieldPath", target, f"error converting fieldPath: {problem}")]
    if match:
        key = match[2].lower() if match[1] == "metadata.annotations" else match[2]
        return [invalid(path, key, text) for text in qualified_name(key)]
    target = "spec.nodeName" if target == "spec.host" else target
    allowed = _IN_VOLUMES if volume else _IN_VARIABLES
    return [] if target in allowed else [not_supported(f"{path}.fieldPath", target, allowed)]


def resource_errors(reference: JsonObject, path: str, *, volume: bool = False) -> list[FieldError]:
    """The errors in a reference to a resource of one of the pod's containers. ``volume``: whether the value is written
    to a volume; if so, the reference must name the container.
    """
    name = reference.get("resource", "")
    errors: list[FieldError] = []
    if volume and not reference.get("containerName"):
        errors.append(required(f"{path}.containerName"))
    elif not name:
        errors.append(required(f"{path}.resource"))
    elif name not in _RESOURCES and not name.startswith(_HUGE):
        errors.append(not_supported(f"{path}.resource", name, _RESOURCES))
    divisor = Quantity(reference.get("divisor") or "0")
    if divisor == Quantity("0"):
        return errors
    kind = name.partition(".")[2]
    kind = "hugepages" if name.startswith(_HUGE) else "local ephemeral storage" if kind == "ephemeral-storage" else kind
    if kind == "cpu" and str(divisor) not in ("1m", "1"):
        text = "only divisor's values 1m and 1 are supported with the cpu resource"
        errors.append(invalid(f"{path}.divisor", name, text))
    elif kind in ("memory", "hugepages", "local ephemeral storage") and str(divisor) not in _UNITS:
        text = f"only divisor's values {', '.join(_UNITS)} are supported with the {kind} resource"
        errors.append(invalid(f"{path}.divisor", name, text))
    return errors
