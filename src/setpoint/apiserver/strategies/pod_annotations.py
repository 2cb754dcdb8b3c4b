"""Annotations of pods that upstream checks: mirror pods, the cost of a deletion, seccomp and AppArmor profiles."""

from __future__ import annotations

from typing import Any, Final

from setpoint.meta.go_integers import NumberError, parse_int
from setpoint.meta.text_escaping import quote
from setpoint.schema import FieldError
from setpoint.schema.errors import forbidden, invalid

JsonObject = dict[str, Any]
_MIRROR: Final = "kubernetes.io/config.mirror"
_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_SECCOMP: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_OF: Final = "container.seccomp.security.alpha.kubernetes.io/"
_LOCAL: Final = "localhost/"
_APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"


def annotation_errors(metadata: JsonObject | None, spec: JsonObject, path: str) -> list[FieldError]:
    annotations: dict[str, str] = (metadata or {}).get("annotations") or {}
    errors: list[FieldError] = []
    if _MIRROR in annotations and not spec.get("nodeName"):
        text = "must set spec.nodeName if mirror pod annotation is set"
        errors.append(invalid(f"{path}[{_MIRROR}]", annotations[_MIRROR], text))
    if _COST in annotations and not _is_cost(annotations[_COST]):
        errors.append(invalid(f"{path}[{_COST}]", annotations[_COST], "must be a 32bit integer"))
    for key, value in annotations.items():
        if key == _SECCOMP or key.startswith(_SECCOMP_OF):
            errors += _seccomp_errors(value, f"{path}.{key}")
        elif key.startswith(_APP_ARMOR):
            errors += _app_armor_errors(key.removeprefix(_APP_ARMOR), value, spec, f"{path}[{key}]")
    return errors


def set_profiles(pod: JsonObject) -> None:
    """Gives the containers of a new pod (in place) the AppArmor profiles that its annotations name."""
    annotations, spec = pod["metadata"].get("annotations") or {}, pod["spec"]
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        annotation = annotations.get(_APP_ARMOR + container.get("name", ""), "")
        profile = {"unconfined": {"type": "Unconfined"}, "runtime/default": {"type": "RuntimeDefault"}}.get(annotation)
        if annotation.startswith(_LOCAL):
            profile = {"type": "Localhost", "localhostProfile": annotation.removeprefix(_LOCAL)}
        if profile not in (None, (spec.get("securityContext") or {}).get("appArmorProfile")):
            context = container.setdefault("securityContext", {})
            context["appArmorProfile"] = context.get("appArmorProfile") or profile


def profile_conflicts(metadata: JsonObject | None, spec: JsonObject, path: str) -> list[FieldError]:
    """The errors where a security context in ``spec``, which is at ``path``, has another profile than the annotations
    of the pod or template of pods.
    """
    annotations: dict[str, str] = (metadata or {}).get("annotations") or {}
    if not annotations:
        return []
    context: JsonObject = spec.get("securityContext") or {}
    errors = _conflict("seccomp", annotations.get(_SECCOMP), context.get("seccompProfile"), path)
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            name, own = container.get("name", ""), container.get("securityContext") or {}
            place, armor = f"{path}.{kind}[{index}]", own.get("appArmorProfile") or context.get("appArmorProfile")
            errors += _conflict("seccomp", annotations.get(_SECCOMP_OF + name), own.get("seccompProfile"), place)
            errors += _conflict("apparmor", annotations.get(_APP_ARMOR + name), armor, place)
    return errors


def _conflict(name: str, annotation: str | None, profile: JsonObject | None, path: str) -> list[FieldError]:
    if annotation is None or profile is None:
        return []
    path = f"{path}.securityContext.{'seccompProfile' if name == 'seccomp' else 'appArmorProfile'}"
    default = ("runtime/default", "docker/default")[: 2 if name == "seccomp" else 1]
    kind = profile.get("type")
    wanted = {"Unconfined": ("unconfined",), "RuntimeDefault": default}.get(kind or "")
    if (wanted and annotation not in wanted) or (kind == "Localhost" and not annotation.startswith(_LOCAL)):
        return [forbidden(f"{path}.type", f"{name} type in annotation and field must match")]
    if kind == "Localhost" and annotation.removeprefix(_LOCAL) != profile.get("localhostProfile"):
        return [forbidden(f"{path}.localhostProfile", f"{name} profile in annotation and field must match")]
    return []


def annotation_changes(new: JsonObject, old: JsonObject, path: str) -> list[FieldError]:
    """The errors in a change of a pod's annotations from those of the metadata ``old`` to those of ``new``."""
    now, before = new.get("annotations") or {}, old.get("annotations") or {}
    errors: list[FieldError] = []
    for keys, verb in ((before, "remove or update"), (now.keys() - before.keys(), "add")):
        for key in sorted(keys):
            if key in before and now.get(key) == before[key]:
                continue
            if key.startswith(_APP_ARMOR):
                errors.append(forbidden(f"{path}[{key}]", f"may not {verb} AppArmor annotations"))
            elif key == _MIRROR:
                errors.append(forbidden(f"{path}[{key}]", f"may not {verb} mirror pod annotation"))
    return errors


def _is_cost(text: str) -> bool:
    if text.startswith("+") or (text.startswith("0") and text != "0"):
        return False
    try:
        parse_int(text, 32)
    except NumberError:
        return False
    return True


def _seccomp_errors(profile: str, path: str) -> list[FieldError]:
    if profile in ("runtime/default", "docker/default", "unconfined"):
        return []
    if not profile.startswith(_LOCAL):
        return [invalid(path, profile, "must be a valid seccomp profile")]
    file = profile.removeprefix(_LOCAL)
    errors = [invalid(path, file, "must be a relative path")] if file.startswith("/") else []
    return errors + ([invalid(path, file, "must not contain '..'")] if ".." in file.split("/") else [])


def _app_armor_errors(container: str, profile: str, spec: JsonObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    kinds = ("containers", "initContainers", "ephemeralContainers")
    if all(item.get("name") != container for kind in kinds for item in spec.get(kind) or ()):
        errors.append(invalid(path, container, "container not found"))
    if profile not in ("", "runtime/default", "unconfined") and not profile.startswith(_LOCAL):
        errors.append(invalid(path, profile, f"invalid AppArmor profile name: {quote(profile)}"))
    return errors
