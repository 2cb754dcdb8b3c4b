"""Validation of a container's mounts: volumes as directories and as block devices."""

from __future__ import annotations

from typing import Final

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.pod_fields import (
    relative_path,
)
from setpoint.schema import FieldError
from setpoint.schema.errors import forbidden, invalid, not_found, not_supported, required

Errors = list[FieldError]
_PROPAGATION: Final = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE: Final = ("Disabled", "Enabled", "IfPossible")


def mount_errors(container: JsonObject, path: str, volumes: dict[str, JsonObject]) -> Errors:
    errors: Errors = []
    devices = {item.get("name", ""): item.get("devicePath", "") for item in container.get("volumeDevices") or ()}
    targets: set[str] = set()
    for index, mount in enumerate(container["volumeMounts"]):
        field_path, name, target = f"{path}[{index}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            errors.append(required(f"{field_path}.name"))
        if name not in volumes:
            errors.append(not_found(f"{field_path}.name", name))
        if not target:
            errors.append(required(f"{field_path}.mountPath"))
        if target in targets:
            errors.append(invalid(f"{field_path}.mountPath", target, "must be unique"))
        targets.add(target)
        if name in devices:
            errors.append(invalid(f"{field_path}.name", name, "must not already exist in volumeDevices"))
        if target in devices.values():
            text = "must not already exist as a path in volumeDevices"
            errors.append(invalid(f"{field_path}.mountPath", target, text))
        errors += _mount_paths(mount, field_path, path)
        privileged = bool((container.get("securityContext") or {}).get("privileged"))
        errors += _mount_manner(mount, path, privileged=privileged)
    return errors


def _mount_paths(mount: JsonObject, field_path: str, path: str) -> Errors:
    errors: Errors = []
    if mount.get("subPath"):
        errors += relative_path(mount["subPath"], f"{path}.subPath")
    expression = mount.get("subPathExpr")
    if expression:
        if mount.get("subPath"):
            text = "subPathExpr and subPath are mutually exclusive"
            errors.append(invalid(f"{field_path}.subPathExpr", expression, text))
        errors += relative_path(expression, f"{path}.subPathExpr")
    return errors


def _mount_manner(mount: JsonObject, path: str, *, privileged: bool) -> Errors:
    errors: Errors = []
    propagation, recursive = mount.get("mountPropagation"), mount.get("recursiveReadOnly")
    if propagation is not None:
        field_path = f"{path}.mountPropagation"
        if propagation not in _PROPAGATION:
            errors.append(not_supported(field_path, propagation, _PROPAGATION))
        if propagation == "Bidirectional" and not privileged:
            text = "Bidirectional mount propagation is available only to privileged containers"
            errors.append(forbidden(field_path, text))
    if recursive in ("Enabled", "IfPossible"):
        field_path = f"{path}.recursiveReadOnly"
        if not mount.get("readOnly"):
            errors.append(forbidden(field_path, "may only be specified when readOnly is true"))
        if propagation not in (None, "None"):
            text = "may only be specified when mountPropagation is None or not specified"
            errors.append(forbidden(field_path, text))
    elif recursive not in (None, "Disabled"):
        errors.append(not_supported(f"{path}.recursiveReadOnly", recursive, _RECURSIVE))
    return errors


def device_errors(container: JsonObject, path: str, volumes: dict[str, JsonObject]) -> Errors:
    errors: Errors = []
    mounts = {item.get("name", ""): item.get("mountPath", "") for item in container.get("volumeMounts") or ()}
    names: set[str] = set()
    targets: set[str] = set()
    for index, device in enumerate(container["volumeDevices"]):
        field_path, name, target = f"{path}[{index}]", device.get("name", ""), device.get("devicePath", "")
        if not name:
            errors.append(required(f"{field_path}.name"))
        if name in names:
            errors.append(invalid(f"{field_path}.name", name, "must be unique"))
        volume = volumes.get(name)
        if volume is None:
            errors.append(not_found(f"{field_path}.name", name))
        elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
            text = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            errors.append(invalid(f"{field_path}.name", name, text))
        if not target:
            errors.append(required(f"{field_path}.devicePath"))
        if target in targets:
            errors.append(invalid(f"{field_path}.devicePath", target, "must be unique"))
        if ".." in target.split("/"):
            errors.append(invalid(f"{field_path}.devicePath", target, "can not contain backsteps ('..')"))
        else:
            targets.add(target)
        if name in mounts:
            errors.append(invalid(f"{field_path}.name", name, "must not already exist in volumeMounts"))
        if target in mounts.values():
            text = "must not already exist as a path in volumeMounts"
            errors.append(invalid(f"{field_path}.devicePath", target, text))
        if name:
            names.add(name)
    return errors
