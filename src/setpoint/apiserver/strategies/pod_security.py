"""Validation of security contexts: the users of containers, and their isolation from the node."""

from __future__ import annotations

import re
from typing import Any, Final

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.go_dump import dump
from setpoint.apiserver.strategies.pod_fields import id_errors, relative_path
from setpoint.meta.names import dns1123_subdomain
from setpoint.meta.text_escaping import quote
from setpoint.schema import FieldError
from setpoint.schema.errors import Shown, duplicate, forbidden, invalid, not_supported, required, too_long

Errors = list[FieldError]
_PROFILES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_LONGEST_PROFILE: Final = 4095
_SEGMENT: Final = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL: Final = re.compile(rf"({_SEGMENT}[\./])*{_SEGMENT}")
_SYSCTL_RULE: Final = rf"must have at most 253 characters and match regex ^({_SEGMENT}[\./])*{_SEGMENT}$"
_OF_THE_NODE: Final = {
    "kernel.sem": "ipc", "kernel.shm": "ipc", "kernel.msg": "ipc", "fs.mqueue.": "ipc", "net.": "net",
}  # fmt: skip
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_NETBIOS: Final = re.compile(r'[^\\/:\*\?"<>|\.][^\\/:\*\?"<>|]{0,14}')
_DOMAIN: Final = re.compile(
    r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*"
)
_BAD_USER: Final = re.compile(r'["/\\:;|=,\+\*\?<>@\[\]]')
_NOT_ON_WINDOWS: Final = "cannot be set for a windows pod"
_POD_FIELDS: Final = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls", "runAsUser",
    "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy",
)  # fmt: skip
_CONTAINER_FIELDS: Final = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged",
    "allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup",
)  # fmt: skip


def pod_security_errors(spec: JsonObject, path: str) -> Errors:
    context, path = spec.get("securityContext"), f"{path}.securityContext"
    if not context:
        return []
    errors: Errors = []
    for name in ("fsGroup", "runAsUser", "runAsGroup"):
        errors += id_errors(context.get(name), f"{path}.{name}")
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        errors += id_errors(group, f"{path}.supplementalGroups[{index}]")
    errors += _sysctls(context.get("sysctls") or [], spec, f"{path}.sysctls")
    errors += _one_of(context.get("fsGroupChangePolicy"), ("Always", "OnRootMismatch"), f"{path}.fsGroupChangePolicy")
    errors += _seccomp(context, path) + _windows(context, path) + _app_armor(context, path)
    errors += _one_of(context.get("supplementalGroupsPolicy"), ("Merge", "Strict"), f"{path}.supplementalGroupsPolicy")
    return errors + _one_of(
        context.get("seLinuxChangePolicy"), ("MountOption", "Recursive"), f"{path}.seLinuxChangePolicy"
    )


def _one_of(value: Any, allowed: tuple[str, ...], path: str) -> Errors:
    return [] if value is None or value in allowed else [not_supported(path, value, allowed)]


def _sysctls(sysctls: list[JsonObject], spec: JsonObject, path: str) -> Errors:
    errors: Errors = []
    previous: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        field_path, name = f"{path}[{index}].name", sysctl.get("name", "")
        if not name:
            errors.append(required(field_path))
        elif len(name) > 253 or not _SYSCTL.fullmatch(name):
            errors.append(invalid(field_path, name, _SYSCTL_RULE))
        elif name in previous:
            errors.append(duplicate(field_path, name))
        previous.add(name)
        plain = name.replace("/", ".")
        space = next((space for start, space in _OF_THE_NODE.items() if plain.startswith(start)), "")
        for flag, kind in (("hostNetwork", "net"), ("hostIPC", "ipc")):
            if space == kind and spec.get(flag):
                errors.append(invalid(field_path, name, f"may not be specified when '{flag}' is true"))
    return errors


def container_security_errors(context: JsonObject, path: str, *, host_users: bool) -> Errors:
    """The errors in a container's security context. ``host_users``: whether the pod shares the node's user
    namespace.
    """
    errors: Errors = []
    for name in ("runAsUser", "runAsGroup"):
        errors += id_errors(context.get(name), f"{path}.{name}")
    mount = context.get("procMount")
    errors += _one_of(mount, ("Default", "Unmasked"), f"{path}.procMount")
    if mount == "Unmasked" and host_users:
        errors.append(invalid(f"{path}.procMount", mount, "`hostUsers` must be false to use `Unmasked`"))
    errors += _seccomp(context, path)
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            text = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            errors.append(invalid(path, _bad_value(context), text))
        if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
            text = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            errors.append(invalid(path, _bad_value(context), text))
    return errors + _windows(context, path) + _app_armor(context, path)


def _bad_value(context: JsonObject) -> Any:
    return dump("core.SecurityContext", context)


def _seccomp(context: JsonObject, path: str) -> Errors:
    profile, path = context.get("seccompProfile"), f"{path}.seccompProfile"
    if profile is None:
        return []
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    errors: Errors = []
    if not kind:
        errors.append(required(f"{path}.type", "type is required when seccompProfile is set"))
    elif kind not in _PROFILES:
        errors.append(not_supported(f"{path}.type", kind, _PROFILES))
    if kind == "Localhost":
        if local is None:
            text = "must be set when seccomp type is Localhost"
            return [*errors, required(f"{path}.localhostProfile", text)]
        return errors + relative_path(local, f"{path}.localhostProfile")
    if local is not None:
        bad_value = Shown(f'{{"Type":{quote(kind)},"LocalhostProfile":{quote(local)}}}')
        errors.append(invalid(f"{path}.localhostProfile", bad_value, "can only be set when seccomp type is Localhost"))
    return errors


def _app_armor(context: JsonObject, path: str) -> Errors:
    profile, path = context.get("appArmorProfile"), f"{path}.appArmorProfile"
    if profile is None:
        return []
    kind, local, field_path = profile.get("type", ""), profile.get("localhostProfile"), f"{path}.localhostProfile"
    if not kind:
        return [required(f"{path}.type", "type is required when appArmorProfile is set")]
    if kind not in _PROFILES:
        return [not_supported(f"{path}.type", kind, _PROFILES)]
    if kind != "Localhost":
        text = "can only be set when AppArmor type is Localhost"
        return [] if local is None else [invalid(field_path, local, text)]
    needed = required(field_path, "must be set when AppArmor type is Localhost")
    if local is None:
        return [needed]
    errors = [invalid(field_path, local, "must not be padded with whitespace")] if local != local.strip() else []
    if not errors and not local:
        errors.append(needed)
    return [*errors, too_long(field_path, _LONGEST_PROFILE)] if len(local) > _LONGEST_PROFILE else errors


def _windows(context: JsonObject, path: str) -> Errors:
    options, path = context.get("windowsOptions"), f"{path}.windowsOptions"
    if not options:
        return []
    name, text = options.get("gmsaCredentialSpecName"), options.get("gmsaCredentialSpec")
    errors: Errors = []
    if name is not None:
        errors += [invalid(f"{path}.gmsaCredentialSpecName", name, problem) for problem in dns1123_subdomain(name)]
    if text == "":
        errors.append(invalid(f"{path}.gmsaCredentialSpec", text, "gmsaCredentialSpec cannot be an empty string"))
    elif text is not None and len(text.encode()) > 64 * 1024:
        errors.append(invalid(f"{path}.gmsaCredentialSpec", text, "gmsaCredentialSpec size must be under 64 KiB"))
    user = options.get("runAsUserName")
    if user is not None:
        errors += [
            invalid(f"{path}.runAsUserName", user, f"runAsUserName{problem}") for problem in _user_problems(user)
        ]
    return errors


def _user_problems(name: str) -> list[str]:
    if not name:
        return [" cannot be an empty string"]
    if _CONTROL.search(name):
        return [" cannot contain control characters"]
    parts = name.split("\\")
    if len(parts) > 2:
        return [" cannot contain more than one backslash"]
    domain, user = parts if len(parts) == 2 else ("", name)
    problems: list[str] = []
    if len(domain) >= 256:
        problems.append("'s Domain length must be under 256 characters")
    if len(parts) == 2 and not (_NETBIOS.fullmatch(domain) or _DOMAIN.fullmatch(domain)):
        problems.append("'s Domain doesn't match the NetBios nor the DNS format")
    if not user:
        problems.append("'s User cannot be empty")
    elif len(user) > 104:
        problems.append("'s User length must not be longer than 104 characters")
    if user and not user.strip(". "):
        problems.append("'s User cannot contain only periods or spaces")
    if _BAD_USER.search(user):
        problems.append("'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return problems


# -- fields by operating system ---------------------------------------------------------------------------------------


def _containers(spec: JsonObject, path: str) -> list[tuple[JsonObject, str]]:
    return [
        (container, f"{path}.{key}[{index}]")
        for key in ("initContainers", "containers", "ephemeralContainers")
        for index, container in enumerate(spec.get(key) or ())
    ]


def host_process_errors(spec: JsonObject, path: str) -> Errors:
    """The errors in containers that run as host processes on a Windows node."""
    errors: Errors = []
    own = ((spec.get("securityContext") or {}).get("windowsOptions") or {}).get("hostProcess")
    everyone = _containers(spec, path)
    count = 0
    for container, field_path in everyone:
        its = ((container.get("securityContext") or {}).get("windowsOptions") or {}).get("hostProcess")
        if own is not None and its is not None and own != its:
            text = f"pod hostProcess value must be identical if both are specified, was {str(own).lower()}"
            errors.append(invalid(f"{field_path}.securityContext.windowsOptions.hostProcess", its, text))
        count += bool(its if its is not None else own)
    if count and count != len(everyone):
        text = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        errors.append(invalid(path, "", text))
    if count and not spec.get("hostNetwork"):
        text = "hostNetwork must be true if pod contains any hostProcess containers"
        errors.append(invalid(f"{path}.hostNetwork", False, text))
    return errors


def system_errors(spec: JsonObject, path: str) -> Errors:
    """The errors in ``os``, and for fields that the pod's operating system (``os.name``) does not support."""
    system = spec.get("os")
    if system is None:
        return []
    name, field_path = system.get("name", ""), f"{path}.os"
    if not name:
        return [required(f"{field_path}.name")]
    if name not in ("linux", "windows"):
        return [not_supported(field_path, name, ("linux", "windows"))]
    context = spec.get("securityContext") or {}
    if name == "linux":
        text = "windows options cannot be set for a linux pod"
        contexts = [(context, f"{path}.securityContext")]
        contexts += [
            (container.get("securityContext") or {}, f"{at}.securityContext")
            for container, at in _containers(spec, path)
        ]
        return [
            forbidden(f"{at}.windowsOptions", text)
            for context, at in contexts
            if context.get("windowsOptions") is not None
        ]
    errors = [
        forbidden(f"{path}.securityContext.{key}", _NOT_ON_WINDOWS)
        for key in _POD_FIELDS
        if context.get(key) is not None
    ]
    errors += [forbidden(f"{path}.{key}", _NOT_ON_WINDOWS) for key in ("hostUsers",) if spec.get(key) is not None]
    errors += [forbidden(f"{path}.{key}", _NOT_ON_WINDOWS) for key in ("hostPID", "hostIPC") if spec.get(key)]
    if spec.get("shareProcessNamespace") is not None:
        errors.append(forbidden(f"{path}.shareProcessNamespace", _NOT_ON_WINDOWS))
    return errors + [
        forbidden(f"{at}.securityContext.{key}", _NOT_ON_WINDOWS)
        for container, at in _containers(spec, path)
        for key in _CONTAINER_FIELDS
        if (container.get("securityContext") or {}).get(key) is not None
    ]
