"""Rules for a pod's spec, in the order in which a kube-apiserver checks them."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.addresses import address_errors
from setpoint.apiserver.strategies.label_selectors import labels_errors
from setpoint.apiserver.strategies.pod_annotations import annotation_errors, profile_conflicts
from setpoint.apiserver.strategies.pod_containers import containers_errors
from setpoint.apiserver.strategies.pod_fields import between_errors
from setpoint.apiserver.strategies.pod_resources import pod_requirements_errors, requirements_errors
from setpoint.apiserver.strategies.pod_scheduling import (
    affinity_errors,
    naming_errors,
    resolving_errors,
    spreading_errors,
    toleration_errors,
)
from setpoint.apiserver.strategies.pod_security import host_process_errors, pod_security_errors, system_errors
from setpoint.apiserver.strategies.pod_volumes import volumes_errors
from setpoint.meta.names import dns1123_label, dns1123_subdomain, qualified_name
from setpoint.schema import FieldError
from setpoint.schema.errors import duplicate, forbidden, invalid, not_found, not_supported, required

Errors = list[FieldError]
_RESTART: Final = ("Always", "OnFailure", "Never")
_DNS: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_WITH_NODE: Final = "must match `containerPort` when `hostNetwork` is true"
_NOT_APART: Final = "when `hostUsers` is false"
_ENCODER: Final = msgspec.json.Encoder()
_KEPT: Final = 256
"""The maximum number of specs without errors that are remembered."""
_KEPT_BYTES: Final = 4096
"""The maximum size of a remembered spec as JSON, in bytes."""
_SOUND: Final[set[tuple[bytes, str | None]]] = set()
"""Specs without errors, as JSON, each with the part of the pod's name on which the errors depend (see `_name_part`)."""


def template_errors(template: Any, path: str, *, restart: tuple[str, ...] = ("Always",)) -> Errors:
    """The errors in a pod template. ``restart``: the restart policies that its owner allows."""
    if not isinstance(template, dict) or not isinstance(template.get("spec"), dict):
        return []
    errors = labels_errors((template.get("metadata") or {}).get("labels"), f"{path}.labels")
    for key in (template.get("metadata") or {}).get("annotations") or ():
        errors += [invalid(f"{path}.annotations", key, text) for text in qualified_name(key.lower())]
    spec = template["spec"]
    errors += annotation_errors(template.get("metadata"), spec, f"{path}.annotations")
    errors += pod_spec_errors(spec, f"{path}.spec")
    errors += profile_conflicts(template.get("metadata"), spec, f"{path}.spec")
    if spec.get("ephemeralContainers"):
        text = "ephemeral containers not allowed in pod template"
        errors.append(forbidden(f"{path}.spec.ephemeralContainers", text))
    policy = spec.get("restartPolicy")
    if policy not in restart and restart != _RESTART:
        errors.append(not_supported(f"{path}.spec.restartPolicy", policy, restart))
    return errors


def pod_spec_errors(spec: JsonObject, path: str, *, pod: str | None = None) -> Errors:
    """The errors in a pod's spec. ``pod``: the name of the pod; None in a template.

    The errors depend on nothing else, and controllers create many pods with the same spec, so the specs that had no
    errors are remembered and not checked again.
    """
    key = (_ENCODER.encode(spec), _name_part(spec, pod))
    if key in _SOUND:
        return []
    errors = _spec_errors(spec, path, pod)
    if not errors and len(key[0]) <= _KEPT_BYTES:
        if len(_SOUND) >= _KEPT:
            _SOUND.clear()
        _SOUND.add(key)
    return errors


def _name_part(spec: JsonObject, pod: str | None) -> str | None:
    """The pod's name if the names of claims for its volumes contain it, otherwise empty; None in a template."""
    return pod if pod is None or spec.get("volumes") else ""


def _spec_errors(spec: JsonObject, path: str, pod: str | None) -> Errors:
    errors: Errors = []
    volumes, wrong = volumes_errors(spec.get("volumes") or [], f"{path}.volumes", pod or "")
    errors += wrong
    errors += _resource_claims(spec.get("resourceClaims"), f"{path}.resourceClaims")
    errors += containers_errors(spec, path, volumes, pod=pod is not None)
    if spec.get("resources") is not None:
        errors += pod_requirements_errors(spec, path)
    if spec.get("hostNetwork"):
        errors += _ports_of_the_node(spec, path, pod=pod is not None)
    for key, allowed in (("restartPolicy", _RESTART), ("dnsPolicy", _DNS)):
        if spec.get(key) not in allowed:
            errors.append(not_supported(f"{path}.{key}", spec.get(key), allowed))
    errors += labels_errors(spec.get("nodeSelector"), f"{path}.nodeSelector")
    errors += pod_security_errors(spec, path)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(invalid(f"{path}.shareProcessNamespace", True, text))
    errors += affinity_errors(spec.get("affinity"), f"{path}.affinity")
    errors += resolving_errors(spec, path)
    errors += _gates(spec, path)
    errors += spreading_errors(spec.get("topologySpreadConstraints"), f"{path}.topologySpreadConstraints")
    errors += host_process_errors(spec, path)
    if spec.get("hostUsers") is False:
        errors += _own_users(spec, path)
    errors += naming_errors(spec, path)
    account = spec.get("serviceAccountName", "")
    if spec.get("serviceAccount", "") != account:
        text = f'must be the same as serviceAccountName: "{account}"'
        errors.append(invalid(f"{path}.deprecatedServiceAccount", spec.get("serviceAccount", ""), text))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None:
        errors += between_errors(deadline, 1, 2**31 - 1, f"{path}.activeDeadlineSeconds")
    errors += toleration_errors(spec.get("tolerations"), f"{path}.tolerations")
    errors += requirements_errors({"limits": spec.get("overhead")}, [], f"{path}.overhead")
    errors += _rest(spec, path)
    return errors


def _resource_claims(claims: list[JsonObject] | None, path: str) -> Errors:
    errors: Errors = []
    previous: set[str] = set()
    for index, claim in enumerate(claims or ()):
        field_path, name = f"{path}[{index}]", claim.get("name", "")
        if not name:
            errors.append(required(f"{field_path}.name"))
        elif name in previous:
            errors.append(duplicate(f"{field_path}.name", name))
        else:
            errors += [invalid(f"{field_path}.name", name, text) for text in dns1123_label(name)]
            previous.add(name)
        sources = [claim.get(key) for key in ("resourceClaimName", "resourceClaimTemplateName")]
        bad_value = {"Name": name, "ResourceClaimName": sources[0], "ResourceClaimTemplateName": sources[1]}
        if None not in sources:
            text = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            errors.append(invalid(field_path, bad_value, text))
        elif sources == [None, None]:
            text = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            errors.append(invalid(field_path, bad_value, text))
        for key in ("resourceClaimName", "resourceClaimTemplateName"):
            if claim.get(key) is not None:
                errors += [invalid(f"{field_path}.{key}", claim[key], text) for text in dns1123_subdomain(claim[key])]
    return errors


def _ports_of_the_node(spec: JsonObject, path: str, *, pod: bool) -> Errors:
    return [
        invalid(f"{path}.containers[{index}].ports[{number}].hostPort", port.get("hostPort", 0), _WITH_NODE)
        for index, container in enumerate(spec.get("containers") or ())
        for number, port in enumerate(container.get("ports") or ())
        if (pod or port.get("hostPort")) and port.get("hostPort", 0) != port.get("containerPort", 0)
    ]


def _gates(spec: JsonObject, path: str) -> Errors:
    errors: Errors = []
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        name, field_path = gate.get("conditionType", ""), f"{path}.readinessGates[{index}].conditionType"
        errors += [invalid(field_path, name, text) for text in qualified_name(name)]
    previous: set[str] = set()
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        name, field_path = gate.get("name", ""), f"{path}.schedulingGates[{index}]"
        errors += [invalid(field_path, name, text) for text in qualified_name(name)]
        if name in previous:
            errors.append(duplicate(field_path, name))
        previous.add(name)
    return errors


def _own_users(spec: JsonObject, path: str) -> Errors:
    shared = (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC"))
    errors = [forbidden(f"{path}.{field}", _NOT_APART) for key, field in shared if spec.get(key)]
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            if container.get("volumeDevices"):
                errors.append(forbidden(f"{path}.{kind}[{index}].volumeDevices", _NOT_APART))
    return errors


def _rest(spec: JsonObject, path: str) -> Errors:
    errors: Errors = []
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        field_path = f"{path}.hostAliases[{index}]"
        errors += address_errors(alias.get("ip", ""), f"{field_path}.ip")
        for number, name in enumerate(alias.get("hostnames") or ()):
            errors += [invalid(f"{field_path}.hostnames[{number}]", name, text) for text in dns1123_subdomain(name)]
    for key in ("priorityClassName", "runtimeClassName"):
        name = spec.get(key)
        if name or (name is not None and key == "runtimeClassName"):
            errors += [invalid(f"{path}.{key}", name, text) for text in dns1123_subdomain(name)]
    policy = spec.get("preemptionPolicy")
    if policy == "":
        errors.append(required(f"{path}.preemptionPolicy"))
    elif policy not in (None, "PreemptLowerPriority", "Never"):
        errors.append(not_supported(f"{path}.preemptionPolicy", policy, ("PreemptLowerPriority", "Never")))
    errors += system_errors(spec, path)
    return errors + _file_volumes(spec, path)


def _file_volumes(spec: JsonObject, path: str) -> Errors:
    """The errors in variables that are read from files; the files must be in an ``emptyDir`` volume."""
    errors: Errors = []
    volumes = {volume.get("name", ""): volume for volume in spec.get("volumes") or ()}
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            for number, variable in enumerate(container.get("env") or ()):
                reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
                if reference is None:
                    continue
                name = reference.get("volumeName", "")
                field_path = f"{path}.{kind}[{index}].env[{number}].valueFrom.fileKeyRef.volumeName"
                if name not in volumes:
                    errors.append(not_found(field_path, name))
                elif volumes[name].get("emptyDir") is None:
                    errors.append(invalid(field_path, name, "referenced volume must be of type emptyDir"))
    return errors
