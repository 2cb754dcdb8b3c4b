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
    if not profile.startswith("localhost/"):
        return [invalid(path, profile, "must be a valid seccomp profile")]
    file = profile.removeprefix("localhost/")
    errors = [invalid(path, file, "must be a relative path")] if file.startswith("/") else []
    return errors + ([invalid(path, file, "must not contain '..'")] if ".." in file.split("/") else [])


def _app_armor_errors(container: str, profile: str, spec: JsonObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    kinds = ("containers", "initContainers", "ephemeralContainers")
    if all(item.get("name") != container for kind in kinds for item in spec.get(kind) or ()):
        errors.append(invalid(path, container, "container not found"))
    if profile not in ("", "runtime/default", "unconfined") and not profile.startswith("localhost/"):
        errors.append(invalid(path, profile, f"invalid AppArmor profile name: {quote(profile)}"))
    return errors
