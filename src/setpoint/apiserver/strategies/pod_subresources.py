"""The parts of a pod that subresources write: ``resize`` writes the resources of containers, and
``ephemeralcontainers`` writes the ephemeral containers.
"""

from __future__ import annotations

from typing import Final

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.pod_resources import qos_class
from setpoint.apiserver.strategies.pod_spec import pod_spec_errors
from setpoint.schema import FieldError, copy_json, json_equal
from setpoint.schema.errors import forbidden, invalid

RESIZE: Final = "resize"
EPHEMERAL: Final = "ephemeralcontainers"

Errors = list[FieldError]
_LISTS: Final = ("initContainers", "containers")
_MIRROR: Final = "kubernetes.io/config.mirror"
_WHOLE: Final = "[]"
"""The path of the whole pod, as upstream prints it."""
_RESIZED: Final = ("cpu", "memory")


def with_resources(old: JsonObject, new: JsonObject) -> JsonObject:
    """The spec ``old`` with the resources, resize policies and container order of the spec ``new``; `resize_errors`
    refuses a different order.
    """
    result: JsonObject = copy_json(old)
    if "resources" in new:
        result["resources"] = new["resources"]
    for key in _LISTS:
        if key not in result and not new.get(key):
            continue
        by_name = {item["name"]: item for item in result.get(key) or []}
        result[key] = [_with_part(by_name.get(item.get("name", ""), item), item) for item in new.get(key) or []]
    return result


def _with_part(container: JsonObject, new: JsonObject) -> JsonObject:
    others = {name: value for name, value in container.items() if name not in ("resources", "resizePolicy")}
    return others | {name: new[name] for name in ("resources", "resizePolicy") if name in new}


def with_ephemeral_containers(old: JsonObject, new: JsonObject) -> JsonObject:
    result: JsonObject = copy_json(old)
    result.pop("ephemeralContainers", None)
    if new.get("ephemeralContainers"):
        result["ephemeralContainers"] = new["ephemeralContainers"]
    return result


def resize_errors(pod: JsonObject, old: JsonObject) -> Errors:
    if _is_static(old):
        return [forbidden(_WHOLE, "static pods cannot be resized")]
    new, before = pod["spec"], old["spec"]
    if (before.get("os") or {}).get("name") == "windows":
        return [forbidden(_WHOLE, "windows pods cannot be resized")]
    errors = pod_spec_errors(new, "spec", pod=pod["metadata"].get("name", ""))
    quality = (old.get("status") or {}).get("qosClass") or qos_class(before)
    if quality != qos_class(new):
        errors.append(invalid("spec", quality, "Pod QOS Class may not change as a result of resizing"))
    if others := _other_containers(new, before):
        return errors + others
    for key in _LISTS:
        for index, (container, was) in enumerate(zip(new.get(key) or (), before.get(key) or (), strict=True)):
            for part in ("requests", "limits"):
                if set(_amounts(was, part)) - set(_amounts(container, part)):
                    text = f"resource {part} cannot be removed"
                    errors.append(forbidden(f"spec.{key}[{index}].resources.{part}", text))
    if not json_equal(_without_resized(new), _without_resized(before)):
        errors.append(forbidden("spec", "only cpu and memory resources are mutable"))
    return errors


def ephemeral_errors(pod: JsonObject, old: JsonObject) -> Errors:
    if _is_static(old):
        return [forbidden(_WHOLE, "static pods do not support ephemeral containers")]
    errors = pod_spec_errors(pod["spec"], "spec", pod=pod["metadata"].get("name", ""))
    after = {item.get("name"): item for item in pod["spec"].get("ephemeralContainers") or ()}
    for container in old["spec"].get("ephemeralContainers") or ():
        name = container["name"]
        if not json_equal(after.get(name), container):
            change = "changed" if name in after else "removed"
            # The newline is in upstream's message as well.
            text = f'existing ephemeral containers "{name}" may not be {change}\n'
            errors.append(forbidden("spec.ephemeralContainers", text))
    return errors


def _is_static(pod: JsonObject) -> bool:
    return _MIRROR in (pod["metadata"].get("annotations") or {})


def _other_containers(new: JsonObject, old: JsonObject) -> Errors:
    errors: Errors = []
    for key in _LISTS:
        now, before = ([item.get("name", "") for item in spec.get(key) or ()] for spec in (new, old))
        if len(now) != len(before):
            errors.append(forbidden(f"spec.{key}", f"{_list_name(key)} may not be added or removed on resize"))
            continue
        text = f"{_list_name(key)} may not be renamed or reordered on resize"
        for index, (name, was) in enumerate(zip(now, before, strict=True)):
            if name != was:
                errors.append(forbidden(f"spec.{key}[{index}].name", text))
    return errors


def _list_name(key: str) -> str:
    return "containers" if key == "containers" else "initContainers"


def _amounts(container: JsonObject, part: str) -> JsonObject:
    return (container.get("resources") or {}).get(part) or {}


def _without_resized(spec: JsonObject) -> JsonObject:
    result: JsonObject = copy_json(spec)
    for whole in (result, *(item for key in _LISTS for item in result.get(key) or ())):
        resources = whole.pop("resources", None) or {}
        remaining = {name: value for name, value in resources.items() if name not in ("requests", "limits")}
        for part in ("requests", "limits"):
            others = {name: value for name, value in (resources.get(part) or {}).items() if name not in _RESIZED}
            if others:
                remaining[part] = others
        if remaining:
            whole["resources"] = remaining
    return result
