"""Validation of a pod's containers: commands, ports, mounts and resources."""

from __future__ import annotations

from typing import Any, Final

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.pod_fields import (
    between_errors,
    port_name_problems,
    pull_policy_errors,
)
from setpoint.apiserver.strategies.pod_mounts import device_errors, mount_errors
from setpoint.apiserver.strategies.pod_probes import care_errors, restart_errors
from setpoint.apiserver.strategies.pod_resources import requirements_errors, resizing_errors
from setpoint.apiserver.strategies.pod_security import container_security_errors
from setpoint.apiserver.strategies.pod_variables import variables_errors, variables_from_errors
from setpoint.meta.names import dns1123_label
from setpoint.schema import FieldError
from setpoint.schema.errors import duplicate, forbidden, invalid, not_found, not_supported, required

Errors = list[FieldError]
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_MESSAGES: Final = ("File", "FallbackToLogsOnError")
_SIDECARS_ONLY: Final = "may not be set for init containers without restartPolicy=Always"
_EPHEMERAL: Final = (
    "ports", "resources", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "resizePolicy",
    "restartPolicy", "restartPolicyRules",
)  # fmt: skip


_UNSET: Final[dict[str, tuple[Any, ...]]] = {"resources": (None, {})}
"""The values that count as unset, by field; any other field is unset only if it is null."""


def containers_errors(spec: JsonObject, path: str, volumes: dict[str, JsonObject], *, pod: bool) -> Errors:
    """The errors in all containers of a pod's spec. ``volumes``: the valid volumes, by name. ``pod``: whether the spec
    is that of a pod, not of a template.
    """
    grace = spec.get("terminationGracePeriodSeconds")
    containers = spec.get("containers") or []
    names: set[str] = set()
    errors: Errors = [] if containers else [required(f"{path}.containers")]
    for index, container in enumerate(containers):
        field_path, name = f"{path}.containers[{index}]", container.get("name", "")
        errors += _common(container, field_path, spec, volumes)
        if name in names:
            errors.append(duplicate(f"{field_path}.name", name))
        names.add(name)
        errors += care_errors(container, field_path, grace)
        errors += restart_errors(container, field_path)
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
        field_path, name = f"{path}.initContainers[{index}]", container.get("name", "")
        errors += _common(container, field_path, spec, volumes)
        errors += restart_errors(container, field_path)
        if name in names:
            errors.append(duplicate(f"{field_path}.name", name))
        elif name:
            names.add(name)
        errors += _host_ports([container], f"{path}.initContainers")
        sidecar = container.get("restartPolicy") == "Always"
        if sidecar:
            errors += care_errors(container, field_path, grace)
        else:
            errors += [
                forbidden(f"{field_path}.{key}", _SIDECARS_ONLY)
                for key in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
                if container.get(key) is not None
            ]
            for number, policy in enumerate(container.get("resizePolicy") or ()):
                if policy.get("restartPolicy") == "RestartContainer":
                    text = "must not be set to 'RestartContainer' for non-sidecar initContainers"
                    errors.append(
                        invalid(f"{field_path}.resizePolicy[{number}].restartPolicy", "RestartContainer", text)
                    )
    return errors


def _ephemeral_errors(spec: JsonObject, path: str, volumes: dict[str, JsonObject]) -> Errors:
    errors: Errors = []
    others = {item.get("name", "") for key in ("containers", "initContainers") for item in spec.get(key) or ()}
    names = set(others)
    for index, container in enumerate(spec.get("ephemeralContainers") or ()):
        field_path, name = f"{path}.ephemeralContainers[{index}]", container.get("name", "")
        errors += _common(container, field_path, spec, volumes)
        if container.get("image", "") != container.get("image", "").strip():
            text = "must not have leading or trailing whitespace"
            errors.append(invalid(f"{field_path}.image", container["image"], text))
        if name in names:
            errors.append(duplicate(f"{field_path}.name", name))
        names.add(name)
        target = container.get("targetContainerName", "")
        if target and target not in others:
            errors.append(not_found(f"{field_path}.targetContainerName", target))
        text = "cannot be set for an Ephemeral Container"
        fields = [key for key in _EPHEMERAL if container.get(key) not in _UNSET.get(key, (None,))]
        errors += [forbidden(f"{field_path}.{key}", text) for key in fields]
        for number, mount in enumerate(container.get("volumeMounts") or ()):
            errors += [
                forbidden(f"{field_path}.volumeMounts[{number}].{key}", text)
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
        errors += variables_errors(container["env"], f"{path}.env")
    if container.get("envFrom"):
        errors += variables_from_errors(container["envFrom"], f"{path}.envFrom")
    if container.get("volumeMounts"):
        errors += mount_errors(container, f"{path}.volumeMounts", volumes)
    if container.get("volumeDevices"):
        errors += device_errors(container, f"{path}.volumeDevices", volumes)
    errors += pull_policy_errors(container.get("imagePullPolicy", ""), f"{path}.imagePullPolicy")
    if container.get("resources"):
        claims = [item.get("name", "") for item in spec.get("resourceClaims") or []]
        errors += requirements_errors(container["resources"], claims, f"{path}.resources")
    if container.get("resizePolicy"):
        errors += resizing_errors(container["resizePolicy"], spec.get("restartPolicy", ""), f"{path}.resizePolicy")
    if container.get("securityContext"):
        own = spec.get("hostUsers") is not False
        errors += container_security_errors(container["securityContext"], f"{path}.securityContext", host_users=own)
    return errors


def _ports(ports: list[JsonObject], path: str) -> Errors:
    errors: Errors = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        field_path, name, number = f"{path}[{index}]", port.get("name", ""), port.get("containerPort", 0)
        if name:
            problems = port_name_problems(name)
            errors += [invalid(f"{field_path}.name", name, text) for text in problems]
            if not problems and name in names:
                errors.append(duplicate(f"{field_path}.name", name))
            elif not problems:
                names.add(name)
        if not number:
            errors.append(required(f"{field_path}.containerPort"))
        else:
            errors += between_errors(number, 1, 65535, f"{field_path}.containerPort")
        if port.get("hostPort"):
            errors += between_errors(port["hostPort"], 1, 65535, f"{field_path}.hostPort")
        protocol = port.get("protocol", "")
        if not protocol:
            errors.append(required(f"{field_path}.protocol"))
        elif protocol not in _PROTOCOLS:
            errors.append(not_supported(f"{field_path}.protocol", protocol, _PROTOCOLS))
    return errors


def _host_ports(containers: list[JsonObject], path: str) -> Errors:
    errors: Errors = []
    ports: set[str] = set()
    for index, container in enumerate(containers):
        for number, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            text = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if text in ports:
                errors.append(duplicate(f"{path}[{index}].ports[{number}].hostPort", text))
            ports.add(text)
    return errors
