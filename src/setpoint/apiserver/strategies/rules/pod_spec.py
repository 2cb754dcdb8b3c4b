"""Of pods and templates: what single fields of a pod's spec may hold."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final

from setpoint.apiserver.strategies.rules.row import Place, Row, Table, between, named, needed, one_of, qualified, row
from setpoint.meta.names import dns1123_subdomain
from setpoint.schema import FieldError
from setpoint.schema.errors import forbidden, invalid, required

__all__ = ["POD_SPEC"]

_IP: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "sleep")
_SINGLE_SUCCESS: Final = ("livenessProbe", "startupProbe")


def _address(place: Place) -> list[FieldError]:
    try:
        ip_address(place.value or "")
    except ValueError:
        return [invalid(place.path, place.value or "", _IP)]
    return []


def _one_success(place: Place) -> list[FieldError]:
    value = place.value or 0
    return [invalid(place.path, value, "must be 1")] if value != 1 else []


def _handler(place: Place) -> list[FieldError]:
    if place.value is None:
        return []
    given = [name for name in _HANDLERS if place.value.get(name) is not None]
    if not given:
        return [required(place.path, "must specify a handler type")]
    return [forbidden(f"{place.path}.{name}", "may not specify more than 1 handler type") for name in given[1:]]


def _token_time(place: Place) -> list[FieldError]:
    if place.value is None or place.value >= 600:
        return []
    return [invalid(place.path, place.value, "may not specify a duration less than 10 minutes")]


def _priority_class(place: Place) -> list[FieldError]:
    value = place.value or ""
    return [invalid(place.path, value, text) for text in dns1123_subdomain(value)] if value else []


def _container(kind: str) -> tuple[Row, ...]:
    return (
        row(f"{kind}[].name", needed()),
        row(f"{kind}[].terminationMessagePolicy", one_of("File", "FallbackToLogsOnError")),
        row(f"{kind}[].restartPolicy", one_of("Always", "Never", "OnFailure")),
        row(f"{kind}[].securityContext.procMount", one_of("Default", "Unmasked")),
        row(f"{kind}[].securityContext.seccompProfile.type", one_of("Localhost", "RuntimeDefault", "Unconfined")),
        row(f"{kind}[].securityContext.appArmorProfile.type", one_of("Localhost", "RuntimeDefault", "Unconfined")),
        row(f"{kind}[].volumeMounts[].name", needed()),
        row(f"{kind}[].volumeMounts[].mountPath", needed()),
        row(f"{kind}[].volumeMounts[].mountPropagation", one_of("Bidirectional", "HostToContainer", "None")),
        row(f"{kind}[].resizePolicy[].restartPolicy", one_of("NotRequired", "RestartContainer", empty=True)),
        row(f"{kind}[].resizePolicy[].resourceName", one_of("cpu", "memory", empty=True)),
        row(f"{kind}[].lifecycle.postStart", _handler),
        row(f"{kind}[].lifecycle.preStop", _handler),
        row(f"{kind}[].ports[].hostPort", between(0, 65535, "must be between 1 and 65535, inclusive")),
        *(row(f"{kind}[].{probe}.successThreshold", _one_success) for probe in _SINGLE_SUCCESS),
    )


POD_SPEC: Final = Table(
    (
        *_container("containers"),
        *_container("initContainers"),
        row("preemptionPolicy", one_of("PreemptLowerPriority", "Never")),
        row("os.name", one_of("linux", "windows", empty=True)),
        row("serviceAccountName", named(dns1123_subdomain)),
        row("runtimeClassName", named(dns1123_subdomain)),
        row("priorityClassName", _priority_class),
        row("hostnameOverride", named(dns1123_subdomain)),
        row("schedulerName", named(dns1123_subdomain)),
        row("readinessGates[].conditionType", qualified),
        row("schedulingGates[].name", qualified),
        row("hostAliases[].ip", _address),
        row("hostAliases[].hostnames[]", named(dns1123_subdomain, empty=True)),
        row("dnsConfig.nameservers[]", _address),
        row("dnsConfig.searches[]", named(lambda name: dns1123_subdomain(name.rstrip(".")))),
        row("dnsConfig.options[].name", needed("must not be empty")),
        row("tolerations[].key", qualified),
        row("tolerations[].effect", one_of("NoSchedule", "PreferNoSchedule", "NoExecute")),
        row("topologySpreadConstraints[].topologyKey", needed("can not be empty"), qualified),
        row("topologySpreadConstraints[].whenUnsatisfiable", one_of("DoNotSchedule", "ScheduleAnyway", empty=True)),
        row("topologySpreadConstraints[].maxSkew", between(1, 2**31, "must be greater than zero", missing=True)),
        row("topologySpreadConstraints[].nodeAffinityPolicy", one_of("Honor", "Ignore")),
        row("topologySpreadConstraints[].nodeTaintsPolicy", one_of("Honor", "Ignore")),
        row("securityContext.fsGroupChangePolicy", one_of("Always", "OnRootMismatch")),
        row("securityContext.supplementalGroupsPolicy", one_of("Merge", "Strict")),
        row("securityContext.seccompProfile.type", one_of("Localhost", "RuntimeDefault", "Unconfined")),
        row("securityContext.appArmorProfile.type", one_of("Localhost", "RuntimeDefault", "Unconfined")),
        row("securityContext.sysctls[].name", needed()),
        row("volumes[].name", needed()),
        row("volumes[].configMap.name", needed()),
        row("volumes[].secret.secretName", needed()),
        row("volumes[].persistentVolumeClaim.claimName", needed()),
        row("volumes[].hostPath.path", needed()),
        row("volumes[].projected.sources[].secret.name", needed()),
        row("volumes[].projected.sources[].configMap.name", needed()),
        row("volumes[].projected.sources[].serviceAccountToken.path", needed()),
        row("volumes[].projected.sources[].serviceAccountToken.expirationSeconds", _token_time),
    )
)
