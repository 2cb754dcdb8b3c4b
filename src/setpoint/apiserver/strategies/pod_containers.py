"""Containers of a pod: what they run, listen on, mount and ask for, and how they are looked after."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from setpoint.apiserver.strategies.pod_fields import (
    between_errors,
    field_errors,
    no_backsteps,
    port_errors,
    port_name_problems,
    pull_policy_errors,
    relative_path,
    resource_errors,
)
from setpoint.apiserver.strategies.pod_security import container_security_errors
from setpoint.apiserver.strategies.strategy import JsonObject
from setpoint.meta import Quantity
from setpoint.meta.names import config_key, dns1123_label, dns1123_subdomain, qualified_name
from setpoint.schema import FieldError
from setpoint.schema.errors import duplicate, forbidden, invalid, not_found, not_supported, required, too_many

__all__ = ["container_resource_errors", "containers_errors", "pod_requirements_errors", "requirements_errors"]

Errors = list[FieldError]
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_VARIABLE: Final = re.compile("[ -<>-~]*")
_VARIABLE_RULE: Final = (
    "a valid environment variable name must consist only of printable ASCII characters other than '='"
)
_HEADER: Final = re.compile("[-A-Za-z0-9]+")
_HEADER_RULE: Final = (
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for "
    "validation is '[-A-Za-z0-9]+')"
)
_PROPAGATION: Final = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE: Final = ("Disabled", "Enabled", "IfPossible")
_MESSAGES: Final = ("File", "FallbackToLogsOnError")
_RESTARTS: Final = ("Always", "Never", "OnFailure")
_ONE_HANDLER: Final = "may not specify more than 1 handler type"
_NOT_NEGATIVE: Final = "must be greater than or equal to 0"
_SIDECARS_ONLY: Final = "may not be set for init containers without restartPolicy=Always"
_SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_NUMBERS: Final = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_EPHEMERAL: Final = (
    "ports", "resources", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "resizePolicy",
    "restartPolicy", "restartPolicyRules",
)  # fmt: skip
_STANDARD: Final = frozenset(
    {
        "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage",
        "limits.cpu", "limits.memory", "limits.ephemeral-storage", "pods", "resourcequotas", "services",
        "replicationcontrollers", "secrets", "configmaps", "persistentvolumeclaims", "storage", "requests.storage",
        "services.nodeports", "services.loadbalancers",
    }
)  # fmt: skip
_NOTHING: Final = Quantity("0")


def containers_errors(spec: JsonObject, path: str, volumes: dict[str, JsonObject], *, pod: bool) -> Errors:
    """Of all containers of a pod's spec. ``volumes``: those that are right."""
    grace = spec.get("terminationGracePeriodSeconds")
    containers = spec.get("containers") or []
    names: set[str] = set()
    errors: Errors = [] if containers else [required(f"{path}.containers")]
    for index, container in enumerate(containers):
        where, name = f"{path}.containers[{index}]", container.get("name", "")
        errors += _common(container, where, spec, volumes)
        if name in names:
            errors.append(duplicate(f"{where}.name", name))
        names.add(name)
        errors += _care(container, where, spec, grace)
        errors += _restart_errors(container, where)
    errors += _host_ports(containers, f"{path}.containers")
    errors += _init_errors(spec, path, volumes, set(names), grace)
    errors += _ephemeral_errors(spec, path, volumes)
    if pod:
        for key in ("containers", "initContainers"):
            for index, container in enumerate(spec.get(key) or ()):
                image = container.get("image", "")
                if image != image.strip():
                    text = "must not have leading or trailing whitespace"
                    errors.append(invalid(f"{path}.{key}[{index}].image", image, text))
    return errors


def _init_errors(
    spec: JsonObject, path: str, volumes: dict[str, JsonObject], names: set[str], grace: int | None
) -> Errors:
    errors: Errors = []
    for index, container in enumerate(spec.get("initContainers") or ()):
        where, name = f"{path}.initContainers[{index}]", container.get("name", "")
        errors += _common(container, where, spec, volumes)
        errors += _restart_errors(container, where)
        if name in names:
            errors.append(duplicate(f"{where}.name", name))
        elif name:
            names.add(name)
        errors += _host_ports([container], f"{path}.initContainers")
        sidecar = container.get("restartPolicy") == "Always"
        if sidecar:
            errors += _care(container, where, spec, grace)
        else:
            errors += [
                forbidden(f"{where}.{key}", _SIDECARS_ONLY)
                for key in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
                if container.get(key) is not None
            ]
            for number, policy in enumerate(container.get("resizePolicy") or ()):
                if policy.get("restartPolicy") == "RestartContainer":
                    text = "must not be set to 'RestartContainer' for non-sidecar initContainers"
                    errors.append(invalid(f"{where}.resizePolicy[{number}].restartPolicy", "RestartContainer", text))
    return errors


def _ephemeral_errors(spec: JsonObject, path: str, volumes: dict[str, JsonObject]) -> Errors:
    errors: Errors = []
    others = {item.get("name", "") for key in ("containers", "initContainers") for item in spec.get(key) or ()}
    names = set(others)
    for index, container in enumerate(spec.get("ephemeralContainers") or ()):
        where, name = f"{path}.ephemeralContainers[{index}]", container.get("name", "")
        errors += _common(container, where, spec, volumes)
        if container.get("image", "") != container.get("image", "").strip():
            text = "must not have leading or trailing whitespace"
            errors.append(invalid(f"{where}.image", container["image"], text))
        if name in names:
            errors.append(duplicate(f"{where}.name", name))
        names.add(name)
        target = container.get("targetContainerName", "")
        if target and target not in others:
            errors.append(not_found(f"{where}.targetContainerName", target))
        text = "cannot be set for an Ephemeral Container"
        errors += [forbidden(f"{where}.{key}", text) for key in _EPHEMERAL if container.get(key)]
        for number, mount in enumerate(container.get("volumeMounts") or ()):
            errors += [
                forbidden(f"{where}.volumeMounts[{number}].{key}", text)
                for key in ("subPath", "subPathExpr")
                if mount.get(key)
            ]
    return errors


def _common(container: JsonObject, path: str, spec: JsonObject, volumes: dict[str, JsonObject]) -> Errors:
    errors: Errors = []
    name = container.get("name", "")
    if not name:
        errors.append(required(f"{path}.name"))
    else:
        errors += [invalid(f"{path}.name", name, text) for text in dns1123_label(name)]
    if not container.get("image"):
        errors.append(required(f"{path}.image"))
    policy = container.get("terminationMessagePolicy", "")
    if not policy:
        errors.append(required(f"{path}.terminationMessagePolicy"))
    elif policy not in _MESSAGES:
        errors.append(not_supported(f"{path}.terminationMessagePolicy", policy, _MESSAGES))
    if container.get("ports"):
        errors += _ports(container["ports"], f"{path}.ports")
    if container.get("env"):
        errors += _variables(container["env"], f"{path}.env")
    if container.get("envFrom"):
        errors += _variables_from(container["envFrom"], f"{path}.envFrom")
    if container.get("volumeMounts"):
        errors += _mounts(container, f"{path}.volumeMounts", volumes)
    if container.get("volumeDevices"):
        errors += _devices(container, f"{path}.volumeDevices", volumes)
    errors += pull_policy_errors(container.get("imagePullPolicy", ""), f"{path}.imagePullPolicy")
    if container.get("resources"):
        claims = [item.get("name", "") for item in spec.get("resourceClaims") or ()]
        errors += requirements_errors(container["resources"], claims, f"{path}.resources")
    if container.get("resizePolicy"):
        errors += _resizing(container["resizePolicy"], spec.get("restartPolicy", ""), f"{path}.resizePolicy")
    if container.get("securityContext"):
        own = spec.get("hostUsers") is not False
        errors += container_security_errors(container["securityContext"], f"{path}.securityContext", host_users=own)
    return errors


def _ports(ports: list[JsonObject], path: str) -> Errors:
    errors: Errors = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        where, name, number = f"{path}[{index}]", port.get("name", ""), port.get("containerPort", 0)
        if name:
            problems = port_name_problems(name)
            errors += [invalid(f"{where}.name", name, text) for text in problems]
            if not problems and name in names:
                errors.append(duplicate(f"{where}.name", name))
            elif not problems:
                names.add(name)
        if not number:
            errors.append(required(f"{where}.containerPort"))
        else:
            errors += between_errors(number, 1, 65535, f"{where}.containerPort")
        if port.get("hostPort"):
            errors += between_errors(port["hostPort"], 1, 65535, f"{where}.hostPort")
        protocol = port.get("protocol", "")
        if not protocol:
            errors.append(required(f"{where}.protocol"))
        elif protocol not in _PROTOCOLS:
            errors.append(not_supported(f"{where}.protocol", protocol, _PROTOCOLS))
    return errors


def _host_ports(containers: list[JsonObject], path: str) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for index, container in enumerate(containers):
        for number, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            text = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if text in seen:
                errors.append(duplicate(f"{path}[{index}].ports[{number}].hostPort", text))
            seen.add(text)
    return errors


# -- variables --------------------------------------------------------------------------------------------------------


def _variable_errors(name: str, path: str) -> Errors:
    return [] if _VARIABLE.fullmatch(name) else [invalid(path, name, _VARIABLE_RULE)]


def _variables(variables: list[JsonObject], path: str) -> Errors:
    errors: Errors = []
    for index, variable in enumerate(variables):
        where, name, source = f"{path}[{index}]", variable.get("name", ""), variable.get("valueFrom")
        errors += _variable_errors(name, f"{where}.name") if name else [required(f"{where}.name")]
        if source is not None:
            errors += _value_from(source, bool(variable.get("value")), f"{where}.valueFrom")
    return errors


def _value_from(source: JsonObject, has_value: bool, path: str) -> Errors:
    given = [key for key in _SOURCES if source.get(key) is not None]
    errors: Errors = []
    for key in given:
        where, part = f"{path}.{key}", source[key]
        if key == "fieldRef":
            errors += field_errors(part, where)
        elif key == "resourceFieldRef":
            errors += resource_errors(part, where)
        elif key == "fileKeyRef":
            errors += _file_key(part, where)
        else:
            name = part.get("name", "")
            errors += [invalid(f"{where}.name", name, text) for text in dns1123_subdomain(name)]
            errors += _key(part.get("key", ""), f"{where}.key")
    if not given:
        text = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        errors.append(invalid(path, "", text))
    elif has_value:
        errors.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif len(given) > 1:
        errors.append(invalid(path, "", "may not have more than one field specified at a time"))
    return errors


def _key(key: str, path: str) -> Errors:
    return [invalid(path, key, text) for text in config_key(key)] if key else [required(path)]


def _file_key(part: JsonObject, path: str) -> Errors:
    key, volume, target = part.get("key", ""), part.get("volumeName", ""), part.get("path", "")
    errors = _variable_errors(key, f"{path}.key") if key else [required(f"{path}.key")]
    if volume:
        errors += [invalid(f"{path}.volumeName", volume, text) for text in dns1123_label(volume)]
    else:
        errors.append(required(f"{path}.volumeName"))
    return errors + (no_backsteps(target, f"{path}.path") if target else [required(f"{path}.path")])


def _variables_from(sources: list[JsonObject], path: str) -> Errors:
    errors: Errors = []
    for index, source in enumerate(sources):
        where = f"{path}[{index}]"
        if source.get("prefix"):
            errors += _variable_errors(source["prefix"], f"{where}.prefix")
        given = [key for key in ("configMapRef", "secretRef") if source.get(key) is not None]
        for key in given:
            name = source[key].get("name", "")
            if not name:
                errors.append(required(f"{where}.{key}.name"))
            else:  # (a name may be the beginning of one)
                problems = dns1123_subdomain(name[:-1] + "a" if name.endswith("-") else name)
                errors += [invalid(f"{where}.{key}.name", name, text) for text in problems]
        if not given:
            errors.append(invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(given) > 1:
            errors.append(invalid(path, "", "may not have more than one field specified at a time"))
    return errors


# -- mounts -----------------------------------------------------------------------------------------------------------


def _mounts(container: JsonObject, path: str, volumes: dict[str, JsonObject]) -> Errors:
    errors: Errors = []
    devices = {item.get("name", ""): item.get("devicePath", "") for item in container.get("volumeDevices") or ()}
    targets: set[str] = set()
    for index, mount in enumerate(container["volumeMounts"]):
        where, name, target = f"{path}[{index}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            errors.append(required(f"{where}.name"))
        if name not in volumes:
            errors.append(not_found(f"{where}.name", name))
        if not target:
            errors.append(required(f"{where}.mountPath"))
        if target in targets:
            errors.append(invalid(f"{where}.mountPath", target, "must be unique"))
        targets.add(target)
        if name in devices:
            errors.append(invalid(f"{where}.name", name, "must not already exist in volumeDevices"))
        if target in devices.values():
            text = "must not already exist as a path in volumeDevices"
            errors.append(invalid(f"{where}.mountPath", target, text))
        errors += _mount_paths(mount, where, path)
        privileged = bool((container.get("securityContext") or {}).get("privileged"))
        errors += _mount_manner(mount, path, privileged=privileged)
    return errors


def _mount_paths(mount: JsonObject, where: str, path: str) -> Errors:
    errors: Errors = []
    if mount.get("subPath"):
        errors += relative_path(mount["subPath"], f"{path}.subPath")
    expression = mount.get("subPathExpr")
    if expression:
        if mount.get("subPath"):
            text = "subPathExpr and subPath are mutually exclusive"
            errors.append(invalid(f"{where}.subPathExpr", expression, text))
        errors += relative_path(expression, f"{path}.subPathExpr")
    return errors


def _mount_manner(mount: JsonObject, path: str, *, privileged: bool) -> Errors:
    errors: Errors = []
    propagation, recursive = mount.get("mountPropagation"), mount.get("recursiveReadOnly")
    if propagation is not None:
        where = f"{path}.mountPropagation"
        if propagation not in _PROPAGATION:
            errors.append(not_supported(where, propagation, _PROPAGATION))
        if propagation == "Bidirectional" and not privileged:
            text = "Bidirectional mount propagation is available only to privileged containers"
            errors.append(forbidden(where, text))
    if recursive in ("Enabled", "IfPossible"):
        where = f"{path}.recursiveReadOnly"
        if not mount.get("readOnly"):
            errors.append(forbidden(where, "may only be specified when readOnly is true"))
        if propagation not in (None, "None"):
            text = "may only be specified when mountPropagation is None or not specified"
            errors.append(forbidden(where, text))
    elif recursive not in (None, "Disabled"):
        errors.append(not_supported(f"{path}.recursiveReadOnly", recursive, _RECURSIVE))
    return errors


def _devices(container: JsonObject, path: str, volumes: dict[str, JsonObject]) -> Errors:
    errors: Errors = []
    mounts = {item.get("name", ""): item.get("mountPath", "") for item in container.get("volumeMounts") or ()}
    names: set[str] = set()
    targets: set[str] = set()
    for index, device in enumerate(container["volumeDevices"]):
        where, name, target = f"{path}[{index}]", device.get("name", ""), device.get("devicePath", "")
        if not name:
            errors.append(required(f"{where}.name"))
        if name in names:
            errors.append(invalid(f"{where}.name", name, "must be unique"))
        volume = volumes.get(name)
        if volume is None:
            errors.append(not_found(f"{where}.name", name))
        elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
            text = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            errors.append(invalid(f"{where}.name", name, text))
        if not target:
            errors.append(required(f"{where}.devicePath"))
        if target in targets:
            errors.append(invalid(f"{where}.devicePath", target, "must be unique"))
        if ".." in target.split("/"):
            errors.append(invalid(f"{where}.devicePath", target, "can not contain backsteps ('..')"))
        else:
            targets.add(target)
        if name in mounts:
            errors.append(invalid(f"{where}.name", name, "must not already exist in volumeMounts"))
        if target in mounts.values():
            text = "must not already exist as a path in volumeMounts"
            errors.append(invalid(f"{where}.devicePath", target, text))
        if name:
            names.add(name)
    return errors


# -- resources --------------------------------------------------------------------------------------------------------


def _native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def container_resource_errors(name: str, path: str) -> Errors:
    """Of the name of something that a container may ask for."""
    errors = [invalid(path, name, text) for text in qualified_name(name)]
    if "/" not in name:
        huge = name.startswith("hugepages-")
        if not errors and name not in _STANDARD and not huge and not name.startswith("requests.hugepages-"):
            errors.append(invalid(path, name, "must be a standard resource type or fully qualified"))
        if name not in ("cpu", "memory", "ephemeral-storage") and not huge:
            errors.append(invalid(path, name, "must be a standard resource for containers"))
    elif not _native(name) and (name.startswith("requests.") or qualified_name(f"requests.{name}")):
        errors.append(invalid(path, name, "doesn't follow extended resource name standard"))
    return errors


def _amount_errors(name: str, amount: Quantity, path: str) -> Errors:
    errors = [] if amount >= _NOTHING else [invalid(path, str(amount), _NOT_NEGATIVE)]
    extended = not _native(name) and not name.startswith("requests.") and not qualified_name(f"requests.{name}")
    if extended and amount != Quantity(str(int(amount.value))):
        errors.append(invalid(path, str(amount), "must be an integer"))
    if name.startswith("hugepages-"):
        try:
            size = Quantity(name.removeprefix("hugepages-"))
        except ValueError:
            size = _NOTHING
        if size <= _NOTHING or amount.value % size.value:
            errors.append(invalid(path, str(amount), f"{amount} is not positive integer multiple of {name}"))
    return errors


_POD_LEVEL: Final = ("cpu", "hugepages-", "memory")


def _pod_resource_errors(name: str, path: str) -> Errors:
    errors = [invalid(path, name, text) for text in qualified_name(name)]
    huge = name.startswith("hugepages-")
    if not errors and "/" not in name and name not in _STANDARD and not huge:
        errors.append(invalid(path, name, "must be a standard resource type or fully qualified"))
    if not errors and name not in ("cpu", "memory") and not huge:
        errors.append(not_supported(path, name, _POD_LEVEL))
    return errors


def pod_requirements_errors(spec: JsonObject, path: str) -> Errors:
    """Of what a pod asks for as a whole."""
    resources, where = spec["resources"], f"{path}.resources"
    if (spec.get("os") or {}).get("name") == "windows":
        return [forbidden(where, "may not be set for a windows pod")]
    errors: Errors = []
    if resources.get("claims"):
        errors.append(forbidden(f"{where}.claims", "claims may not be set for Resources at pod-level"))
    claims = [item.get("name", "") for item in spec.get("resourceClaims") or ()]
    errors += requirements_errors(resources, claims, where, _pod_resource_errors)
    for name, amount in _together(spec).items():
        asked = (resources.get("requests") or {}).get(name)
        if asked is not None and amount > Quantity(asked):
            text = f"must be greater than or equal to aggregate container requests of {amount}"
            errors.append(invalid(f"{where}.requests[{name}]", str(Quantity(asked)), text))
    for index, container in enumerate(spec.get("containers") or ()):
        for name, limit in ((container.get("resources") or {}).get("limits") or {}).items():
            most = (resources.get("limits") or {}).get(name)
            if most is not None and Quantity(limit) > Quantity(most):
                at = f"{where}.containers[{index}][{name}].limits"
                errors.append(invalid(at, str(Quantity(limit)), f"must be less than or equal to pod limits of {most}"))
    return errors


def _together(spec: JsonObject) -> dict[str, Quantity]:
    """What the containers ask for: those that run at once their sum, or the greatest of those that run before."""
    running: dict[str, Quantity] = {}
    first: dict[str, Quantity] = {}
    for kind in ("initContainers", "containers"):
        for container in spec.get(kind) or ():
            asked = (container.get("resources") or {}).get("requests") or {}
            amounts = {name: Quantity(text) for name, text in asked.items()}
            if kind == "containers" or container.get("restartPolicy") == "Always":
                for name, amount in amounts.items():
                    running[name] = Quantity(running[name].value + amount.value) if name in running else amount
            else:
                for name, amount in amounts.items():
                    beside = running.get(name, _NOTHING).value
                    first[name] = max(first.get(name, _NOTHING), Quantity(beside + amount.value))
    return {name: max(running.get(name, _NOTHING), first.get(name, _NOTHING)) for name in running.keys() | first.keys()}


def requirements_errors(
    resources: JsonObject,
    claims: list[str],
    path: str,
    name_errors: Callable[[str, str], Errors] = container_resource_errors,
) -> Errors:
    """Of what a container asks for. ``claims``: the names of its pod's claims of devices."""
    errors: Errors = []
    limits = {name: Quantity(text) for name, text in (resources.get("limits") or {}).items()}
    requests = {name: Quantity(text) for name, text in (resources.get("requests") or {}).items()}
    for name, amount in limits.items():
        where = f"{path}.limits[{name}]"
        errors += name_errors(name, where) + _amount_errors(name, amount, where)
    for name, amount in requests.items():
        where = f"{path}.requests[{name}]"
        errors += name_errors(name, where) + _amount_errors(name, amount, where)
        limit, free = limits.get(name), _native(name) and not name.startswith("hugepages-")
        if limit is None:
            if not free:
                text = "Limit must be set for non overcommitable resources"
                errors.append(required(f"{path}.limits", text))
        elif not free and amount != limit:
            errors.append(invalid(f"{path}.requests", str(amount), f"must be equal to {name} limit of {limit}"))
        elif amount > limit:
            text = f"must be less than or equal to {name} limit of {limit}"
            errors.append(invalid(f"{path}.requests", str(amount), text))
    named = limits.keys() | requests.keys()
    if not named & {"cpu", "memory"} and any(name.startswith("hugepages-") for name in named):
        errors.append(forbidden(path, "HugePages require cpu or memory"))
    return errors + _claim_errors(resources.get("claims") or [], [name for name in claims if name], f"{path}.claims")


def _claim_errors(claims: list[JsonObject], known: list[str], path: str) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        where, name, request = f"{path}[{index}]", claim.get("name", ""), claim.get("request", "")
        if not name:
            errors.append(required(where))
            continue
        if name in seen:
            errors.append(duplicate(where, name))
        else:
            key = f"{name}/{request}" if request else name
            errors += [
                invalid(f"{where}.request", request, text) for text in (dns1123_label(request) if request else ())
            ]
            if key in seen:
                errors.append(duplicate(where, key))
            elif not request:
                errors += [duplicate(where, name) for other in seen if other.startswith(f"{name}/")]
            seen.add(key)
        if name not in known:
            names = f": {', '.join(sorted(set(known)))}" if known else " which is empty"
            error = not_found(where, name)
            text = f"must be one of the names in pod.spec.resourceClaims{names}"
            errors.append(FieldError(error.type, error.field, text, error.bad_value))
    return errors


def _resizing(policies: list[JsonObject], restart: str, path: str) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for index, policy in enumerate(policies):
        name, manner = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if name in seen:
            errors.append(duplicate(f"{path}[{index}]", name))
        seen.add(name)
        for value, allowed in ((name, ("cpu", "memory")), (manner, ("NotRequired", "RestartContainer"))):
            if not value:
                errors.append(required(path))
            elif value not in allowed:
                errors.append(not_supported(path, value, allowed))
        if restart == "Never" and manner != "NotRequired":
            text = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            errors.append(invalid(path, manner, text))
    return errors


# -- looking after ----------------------------------------------------------------------------------------------------


def _care(container: JsonObject, path: str, spec: JsonObject, grace: int | None) -> Errors:
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
    given = [kind for kind in kinds if handler.get(kind) is not None]
    if not given:
        return [required(path, "must specify a handler type")]
    kind, action, where = given[0], handler[given[0]], f"{path}.{given[0]}"
    errors: Errors = []
    if kind == "exec" and not action.get("command"):
        errors.append(required(f"{where}.command"))
    elif kind == "httpGet":
        errors += _http_get(action, where)
    elif kind == "tcpSocket":
        errors += port_errors(action.get("port"), f"{where}.port")
    elif kind == "grpc":
        errors += between_errors(action.get("port", 0), 1, 65535, f"{where}.port")
    elif kind == "sleep" and grace is not None and not 0 <= action.get("seconds", 0) <= grace:
        text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        errors.append(invalid(where, action.get("seconds", 0), text))
    return errors + [forbidden(f"{path}.{other}", _ONE_HANDLER) for other in given[1:]]


def _http_get(action: JsonObject, path: str) -> Errors:
    errors = [] if action.get("path") else [required(f"{path}.path")]
    errors += port_errors(action.get("port"), f"{path}.port")
    if action.get("scheme", "") not in ("HTTP", "HTTPS"):
        errors.append(not_supported(f"{path}.scheme", action.get("scheme", ""), ("HTTP", "HTTPS")))
    for header in action.get("httpHeaders") or ():
        if not _HEADER.fullmatch(header.get("name", "")):
            errors.append(invalid(f"{path}.httpHeaders", header.get("name", ""), _HEADER_RULE))
    return errors


def _restart_errors(container: JsonObject, path: str) -> Errors:
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
        where, codes = f"{path}.restartPolicyRules[{index}]", rule.get("exitCodes")
        actions = ("Restart", "RestartAllContainers")
        if rule.get("action", "") not in actions:
            errors.append(not_supported(f"{where}.action", rule.get("action", ""), actions))
        if codes is None:
            errors.append(required(f"{where}.exitCodes", "must be specified"))
            continue
        if codes.get("operator", "") not in ("In", "NotIn"):
            errors.append(not_supported(f"{where}.exitCodes.operator", codes.get("operator", ""), ("In", "NotIn")))
        if len(codes.get("values") or ()) > 255:
            errors.append(too_many(f"{where}.exitCodes.values", len(codes["values"]), 255))
    return errors
