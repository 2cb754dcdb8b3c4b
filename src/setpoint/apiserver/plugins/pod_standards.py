"""The Pod Security Standards: the settings that the levels ``baseline`` and ``restricted`` forbid, for each
minor version of a policy.

Each check reports the forbidden settings of a pod with a reason and details, as
``k8s.io/pod-security-admission`` does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from setpoint.apiserver.plugins.pod_view import PodView, named, quoted, who_sets

JsonObject = dict[str, Any]
LEVELS: Final = ("privileged", "baseline", "restricted")
NEWEST: Final = 37
"""The newest minor version with its own checks; later versions, and ``latest``, use the same checks."""
_APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP_OF_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_OF_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
_CAPABILITIES: Final = frozenset(
    {
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP"),
        *("SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    }
)
_SYSCTLS: Final = {
    "kernel.shm_rmid_forced": 0,
    "net.ipv4.ip_local_port_range": 0,
    "net.ipv4.tcp_syncookies": 0,
    "net.ipv4.ping_group_range": 0,
    "net.ipv4.ip_unprivileged_port_start": 0,
    "net.ipv4.ip_local_reserved_ports": 27,
    "net.ipv4.tcp_keepalive_time": 29,
    "net.ipv4.tcp_fin_timeout": 29,
    "net.ipv4.tcp_keepalive_intvl": 29,
    "net.ipv4.tcp_keepalive_probes": 29,
    "net.ipv4.tcp_rmem": 32,
    "net.ipv4.tcp_wmem": 32,
    "net.ipv4.tcp_slow_start_after_idle": 37,
    "net.ipv4.tcp_notsent_lowat": 37,
}
"""The safe sysctls, each with the first minor version of the policy in which it is safe."""
_SELINUX: Final = {"": 0, "container_t": 0, "container_init_t": 0, "container_kvm_t": 0, "container_engine_t": 31}
_FREE_VOLUMES: Final = frozenset(
    {
        *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected"),
        "secret",
    }
)
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")


_Finding = tuple[str, str] | None
"""A reason with details; None if there is no violation."""


# -- baseline ---------------------------------------------------------------------------------------------------------


def _app_armor(pod: PodView) -> _Finding:
    def wrong(security: JsonObject) -> bool:
        profile = security.get("appArmorProfile")
        return profile is not None and profile.get("type") not in ("RuntimeDefault", "Localhost")

    profiles = [(name, security) for name, _, security in pod.containers if wrong(security)]
    kinds = {security["appArmorProfile"].get("type", "") for _, security in profiles}
    whole = wrong(pod.security)
    if whole:
        kinds.add(pod.security["appArmorProfile"].get("type", ""))
    annotations = sorted(
        f"{key}={json.dumps(value, ensure_ascii=False)}"
        for key, value in pod.annotations.items()
        if key.startswith(_APP_ARMOR) and value not in ("", "runtime/default") and not value.startswith("localhost/")
    )
    setters = [part for part in (who_sets(whole, [name for name, _ in profiles]),) if part]
    if annotations:
        setters.append("annotation" if len(annotations) == 1 else "annotations")
    values = sorted(kinds) + annotations
    if not setters:
        return None
    reason = "forbidden AppArmor profile" if len(values) == 1 else "forbidden AppArmor profiles"
    return reason, f"{' and '.join(setters)} must not set AppArmor profile type to {quoted(values)}"


def _added(pod: PodView, allowed: frozenset[str]) -> str:
    by_container = {
        name: [item for item in (security.get("capabilities") or {}).get("add") or () if item not in allowed]
        for name, _, security in pod.containers
    }
    bad = [name for name, items in by_container.items() if items]
    names = sorted({item for items in by_container.values() for item in items})
    if not bad:
        return ""
    return f"{named('container', bad)} must not include {quoted(names)} in securityContext.capabilities.add"


def _capabilities_baseline(pod: PodView) -> _Finding:
    text = _added(pod, _CAPABILITIES)
    return ("non-default capabilities", text) if text else None


def _host_namespaces(pod: PodView) -> _Finding:
    settings = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if pod.spec.get(name)]
    return ("host namespaces", ", ".join(settings)) if settings else None


def _host_paths(pod: PodView) -> _Finding:
    volumes = [item.get("name", "") for item in pod.spec.get("volumes") or () if item.get("hostPath") is not None]
    return ("hostPath volumes", named("volume", volumes)) if volumes else None


def _host_ports(pod: PodView) -> _Finding:
    by_container = {
        name: [str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")]
        for name, container, _ in pod.containers
    }
    bad = [name for name, ports in by_container.items() if ports]
    ports = sorted({port for container_ports in by_container.values() for port in container_ports})
    if not bad:
        return None
    noun = "hostPort" if len(ports) == 1 else "hostPorts"
    return "hostPort", f"{named('container', bad)} {'uses' if len(bad) == 1 else 'use'} {noun} {', '.join(ports)}"


def _hosts_of(container: JsonObject) -> Iterator[str]:
    hooks = container.get("lifecycle") or {}
    for action in (*(container.get(probe) for probe in _PROBES), hooks.get("postStart"), hooks.get("preStop")):
        for kind in ("httpGet", "tcpSocket"):
            host = ((action or {}).get(kind) or {}).get("host")
            if host:
                yield host


def _probed_hosts(pod: PodView) -> _Finding:
    by_container = {name: [*_hosts_of(container)] for name, container, _ in pod.containers}
    bad = sorted(name for name, hosts in by_container.items() if hosts)
    hosts = sorted({host for container_hosts in by_container.values() for host in container_hosts})
    if not bad:
        return None
    use = "uses" if len(bad) == 1 else "use"
    return "probe or lifecycle host", f"{named('container', bad)} {use} {named('probe or lifecycle host', hosts)}"


def _privileged(pod: PodView) -> _Finding:
    bad = [name for name, _, security in pod.containers if security.get("privileged")]
    return ("privileged", f"{named('container', bad)} must not set securityContext.privileged=true") if bad else None


def _proc_mount(pod: PodView) -> _Finding:
    mounts = [(name, security.get("procMount") or "Default") for name, _, security in pod.containers]
    bad = [name for name, value in mounts if value != "Default"]
    kinds = sorted({value for _, value in mounts if value != "Default"})
    if not bad:
        return None
    return "procMount", f"{named('container', bad)} must not set securityContext.procMount to {quoted(kinds)}"


def _proc_mount_baseline(pod: PodView) -> _Finding:
    return None if pod.own_users else _proc_mount(pod)


def _selinux(pod: PodView) -> _Finding:
    def wrong(security: JsonObject) -> bool:
        options = security.get("seLinuxOptions") or {}
        return bool(
            _SELINUX.get(options.get("type", ""), 99) > pod.version or options.get("user") or options.get("role")
        )

    whole = wrong(pod.security)
    bad = [name for name, _, security in pod.containers if wrong(security)]
    if not whole and not bad:
        return None
    options = [
        security.get("seLinuxOptions") or {} for security in (pod.security, *(item[2] for item in pod.containers))
    ]
    kinds = sorted({item["type"] for item in options if _SELINUX.get(item.get("type", ""), 99) > pod.version})
    data = [named("type", kinds)] if kinds else []
    data += [f"{name} may not be set" for name in ("user", "role") if any(item.get(name) for item in options)]
    text = f"{who_sets(whole, bad)} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}"
    return "seLinuxOptions", text


def _bad_seccomp(security: JsonObject) -> str | None:
    """The type of the seccomp profile if that type is not allowed; otherwise None."""
    profile = security.get("seccompProfile")
    if profile is None or profile.get("type") in ("Localhost", "RuntimeDefault"):
        return None
    return str(profile.get("type", ""))


def _set_seccomp(pod: PodView) -> _Finding:
    whole = _bad_seccomp(pod.security)
    by_container = {name: kind for name, _, security in pod.containers if (kind := _bad_seccomp(security)) is not None}
    kinds: list[str] = sorted({*by_container.values(), *([] if whole is None else [whole])})
    if not kinds:
        return None
    setters = who_sets(whole is not None, [*by_container])
    return "seccompProfile", f"{setters} must not set securityContext.seccompProfile.type to {quoted(kinds)}"


def _seccomp_annotations(pod: PodView) -> _Finding:
    keys = [_SECCOMP_OF_POD, *(f"{_SECCOMP_OF_CONTAINER}{name}" for name, _, _ in pod.containers)]
    allowed = ("runtime/default", "docker/default")
    annotations = sorted(
        {
            f"{key}={json.dumps(pod.annotations[key], ensure_ascii=False)}"
            for key in keys
            if key in pod.annotations
            and pod.annotations[key] not in allowed
            and not pod.annotations[key].startswith("localhost/")
        }
    )
    if not annotations:
        return None
    return (
        "seccompProfile",
        f"forbidden {'annotation' if len(annotations) == 1 else 'annotations'} {', '.join(annotations)}",
    )


def _sysctls(pod: PodView) -> _Finding:
    names = [item.get("name", "") for item in pod.security.get("sysctls") or ()]
    bad = [name for name in names if _SYSCTLS.get(name, 99) > pod.version]
    return ("forbidden sysctls", ", ".join(bad)) if bad else None


def _host_process(pod: PodView) -> _Finding:
    def wrong(security: JsonObject) -> bool:
        return bool((security.get("windowsOptions") or {}).get("hostProcess"))

    setters = who_sets(wrong(pod.security), [name for name, _, security in pod.containers if wrong(security)])
    return (
        ("hostProcess", f"{setters} must not set securityContext.windowsOptions.hostProcess=true") if setters else None
    )


# -- restricted -------------------------------------------------------------------------------------------------------


def _escalation(pod: PodView) -> _Finding:
    bad = [name for name, _, security in pod.containers if security.get("allowPrivilegeEscalation") is not False]
    if not bad or pod.is_windows:
        return None
    text = f"{named('container', bad)} must set securityContext.allowPrivilegeEscalation=false"
    return "allowPrivilegeEscalation != false", text


def _capabilities_restricted(pod: PodView) -> _Finding:
    if pod.is_windows:
        return None
    bad = [
        name
        for name, _, security in pod.containers
        if "ALL" not in ((security.get("capabilities") or {}).get("drop") or ())
    ]
    dropped = f'{named("container", bad)} must set securityContext.capabilities.drop=["ALL"]' if bad else ""
    texts = [text for text in (dropped, _added(pod, frozenset({"NET_BIND_SERVICE"}))) if text]
    return ("unrestricted capabilities", "; ".join(texts)) if texts else None


def _volumes(pod: PodView) -> _Finding:
    bad: list[str] = []
    kinds: set[str] = set()
    for volume in pod.spec.get("volumes") or ():
        sources = [name for name, value in volume.items() if name != "name" and value is not None]
        if not _FREE_VOLUMES & {*sources}:
            bad.append(volume.get("name", ""))
            kinds.add(sources[0] if sources else "unknown")
    if not bad:
        return None
    use = "uses" if len(bad) == 1 else "use"
    return "restricted volume types", f"{named('volume', bad)} {use} {named('restricted volume type', sorted(kinds))}"


def _not_root(pod: PodView) -> _Finding:
    if pod.own_users:
        return None
    pod_value = pod.security.get("runAsNonRoot")
    bad = [name for name, _, security in pod.containers if security.get("runAsNonRoot") is False]
    reason = "runAsNonRoot != true"
    if pod_value is False or bad:
        return reason, f"{who_sets(pod_value is False, bad)} must not set securityContext.runAsNonRoot=false"
    unset = [name for name, _, security in pod.containers if security.get("runAsNonRoot") is None and not pod_value]
    if not unset:
        return None
    return reason, f"pod or {named('container', unset)} must set securityContext.runAsNonRoot=true"


def _user(pod: PodView) -> _Finding:
    if pod.own_users:
        return None
    bad = [name for name, _, security in pod.containers if security.get("runAsUser") == 0]
    setters = who_sets(pod.security.get("runAsUser") == 0, bad)
    return ("runAsUser=0", f"{setters} must not set runAsUser=0") if setters else None


def _seccomp_restricted(pod: PodView) -> _Finding:
    if pod.is_windows:
        return None
    wrong = _set_seccomp(pod)
    if wrong is not None or pod.security.get("seccompProfile") is not None:
        return wrong
    unset = [name for name, _, security in pod.containers if security.get("seccompProfile") is None]
    if not unset:
        return None
    text = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return "seccompProfile", f"pod or {named('container', unset)} {text}"


class _Check(NamedTuple):
    """A check that applies from the minor version ``since`` up to, but not including, ``until``."""

    run: Callable[[PodView], _Finding]
    since: int = 0
    until: int = 1000


# In the order in which upstream reports them: by their ids, those of baseline first.
_BASELINE: Final = {
    "appArmorProfile": (_Check(_app_armor),),
    "capabilities_baseline": (_Check(_capabilities_baseline),),
    "hostNamespaces": (_Check(_host_namespaces),),
    "hostPathVolumes": (_Check(_host_paths),),
    "hostPorts": (_Check(_host_ports),),
    "hostProbesAndHostLifecycle": (_Check(_probed_hosts, 34),),
    "privileged": (_Check(_privileged),),
    "procMount": (_Check(_proc_mount_baseline),),
    "seLinuxOptions": (_Check(_selinux),),
    "seccompProfile_baseline": (_Check(_seccomp_annotations, 0, 19), _Check(_set_seccomp, 19)),
    "sysctls": (_Check(_sysctls),),
    "windowsHostProcess": (_Check(_host_process),),
}
_RESTRICTED: Final = {
    "allowPrivilegeEscalation": (_Check(_escalation, 8),),
    "capabilities_restricted": (_Check(_capabilities_restricted, 22),),
    "procMount_restricted": (_Check(_proc_mount, 35),),
    "restrictedVolumes": (_Check(_volumes),),
    "runAsNonRoot": (_Check(_not_root),),
    "runAsUser": (_Check(_user, 23),),
    "seccompProfile_restricted": (_Check(_seccomp_restricted, 19),),
}
_REPLACED: Final = {
    "capabilities_baseline": 22,
    "hostPathVolumes": 0,
    "procMount": 35,
    "seccompProfile_baseline": 19,
}
"""The checks of ``baseline`` that ``restricted`` replaces with stricter ones, each with the first minor version in
which it is replaced.
"""


def violations(level: str, version: int, metadata: JsonObject, spec: JsonObject) -> list[tuple[str, str]]:
    """The violations of a level by a pod, each with its reason and details. ``version`` is a minor version."""
    version = min(version, NEWEST)
    checks = [
        check
        for name, versions in _BASELINE.items()
        for check in versions
        if level == "baseline" or _REPLACED.get(name, 1000) > version
    ]
    if level == "restricted":
        checks += [check for versions in _RESTRICTED.values() for check in versions]
    elif level == "privileged":
        return []
    pod = PodView(metadata, spec, version)
    results = (check.run(pod) for check in checks if check.since <= version < check.until)
    return [finding for finding in results if finding is not None]
