"""Rules for volumes, claims and storage classes."""

from __future__ import annotations

import math
from typing import Any, Final

from msgspec.structs import replace

from setpoint.apiserver.strategies.claims import access_mode_errors, claim_errors
from setpoint.apiserver.strategies.go_dump import dump
from setpoint.apiserver.strategies.node_selectors import node_selector_errors
from setpoint.apiserver.strategies.pod_fields import no_backsteps
from setpoint.apiserver.strategies.pod_volumes import driver_name_errors, iscsi_errors, kind_errors
from setpoint.apiserver.strategies.rules.rule_table import (
    IMMUTABLE,
    Check,
    Place,
    Row,
    frozen,
    named,
    needed,
    one_of,
    row,
    settled,
    unless_missing,
)
from setpoint.meta import Quantity
from setpoint.meta.names import dns1123_label, dns1123_subdomain, qualified_name
from setpoint.schema import FieldError, repeats
from setpoint.schema.errors import duplicate, forbidden, invalid, not_supported, required, too_long

_POLICIES: Final = ("Delete", "Recycle", "Retain")
_ONE_TYPE: Final = "may not specify more than 1 volume type"
# In the order in which they are checked; if a volume has several, all but the first are refused.
_SOURCES: Final = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte", "cephfs",
    "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume",
    "azureDisk", "scaleIO", "local", "storageos", "csi",
)  # fmt: skip
_CLAIM_FROZEN: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)
_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_ZERO: Final = Quantity("0")
_NOT_POSITIVE: Final = "must be greater than zero"


def _access_modes(place: Place) -> list[FieldError]:
    return access_mode_errors(place.value, place.path)


# -- volumes ----------------------------------------------------------------------------------------------------------


def _capacity(place: Place) -> list[FieldError]:
    capacity = place.value or {}
    errors = [] if capacity else [required(place.path)]
    if set(capacity) != {"storage"}:
        errors.append(not_supported(place.path, place.value, ("storage",)))
    for name, value in capacity.items():
        field_path = f"{place.path}[{name}]"
        amount = Quantity(value)
        if amount < _ZERO:
            errors.append(invalid(field_path, math.floor(amount), "must be a valid resource quantity"))
        if amount <= _ZERO:
            errors.append(invalid(field_path, value, _NOT_POSITIVE))
    return errors


def volume_source(place: Place) -> list[FieldError]:
    """The errors in a PersistentVolume's source, and in the fields that depend on it. A volume must have exactly one
    source.
    """
    spec, path = place.value or {}, place.path
    return source_errors(spec, path) + _class_errors(spec, path)


def source_errors(spec: dict[str, Any], path: str) -> list[FieldError]:
    """The errors in the source of a volume: a volume must have exactly one."""
    sources = [name for name in _SOURCES if spec.get(name) is not None]
    if not sources:
        return [required(path, "must specify a volume type")]
    field_names = {"cephfs": "cephFS"}
    errors = [
        forbidden(f"{path}.{field_names.get(name, name)}", _ONE_TYPE) for name in sources[1:] if name != "flexVolume"
    ]
    if "flexVolume" in sources[1:]:
        errors += kind_errors("flexVolume", spec["flexVolume"], f"{path}.flexVolume")
    if sources[0] == "local" and spec.get("nodeAffinity") is None:
        errors.append(required(f"{path}.nodeAffinity", "Local volume requires node affinity"))
    return _source_errors(sources[0], spec[sources[0]], path) + errors


def _class_errors(spec: dict[str, Any], path: str) -> list[FieldError]:
    name = spec.get("volumeAttributesClassName")
    errors = [required(f"{path}.volumeAttributesClassName", "an empty string is disallowed")] if name == "" else []
    if name is not None and spec.get("csi") is None:
        errors.append(required(f"{path}.csi", "has to be specified when using volumeAttributesClassName"))
    return errors


def _source_errors(name: str, source: dict[str, Any], path: str) -> list[FieldError]:
    field_path = f"{path}.persistentDisk" if name == "gcePersistentDisk" else f"{path}.{name}"
    if name == "csi":
        errors = driver_name_errors(source.get("driver") or "", f"{field_path}.driver")
        if not source.get("volumeHandle"):
            errors.append(required(f"{field_path}.volumeHandle"))
        for key in _CSI_SECRETS:
            if source.get(key) is not None:
                errors += _secret_errors(source[key], f"{field_path}.{key}")
        return errors
    if name == "iscsi":
        errors = iscsi_errors(source, field_path, "must be valid format")
        if source.get("secretRef") is not None and not source["secretRef"].get("name"):
            errors.append(required(f"{field_path}.secretRef.name"))
        return errors
    if name == "local":
        text = source.get("path", "")
        return no_backsteps(text, f"{field_path}.path") if text else [required(f"{field_path}.path")]
    errors = kind_errors(name, source, field_path)
    secret = source.get("secretRef")
    if name in ("cinder", "storageos") and secret is not None and not secret.get("namespace"):
        errors.append(required(f"{field_path}.secretRef.namespace"))
    if name == "azureFile" and source.get("secretNamespace") == "":
        errors.append(required(f"{field_path}.secretNamespace"))
    endpoints = source.get("endpointsNamespace")
    if name == "glusterfs" and endpoints == "":
        text = "if the endpointnamespace is set, it must be a valid namespace name"
        errors.append(invalid(f"{field_path}.endpointsNamespace", endpoints, text))
    elif name == "glusterfs" and endpoints is not None:
        errors += [invalid(f"{field_path}.endpointsNamespace", endpoints, text) for text in dns1123_label(endpoints)]
    return errors


_CSI_SECRETS: Final = (
    "controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef",
)  # fmt: skip


_LATER: Final = "controllerExpandSecretRef"


def _secret_errors(secret: dict[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for key, rule in (("name", dns1123_subdomain), ("namespace", dns1123_label)):
        value = secret.get(key, "")
        if not value:
            errors.append(required(f"{path}.{key}"))
        else:
            errors += [invalid(f"{path}.{key}", value, text) for text in rule(value)]
    return errors


def _source_kept(place: Place) -> list[FieldError]:
    before = (place.old or {}).get("spec")
    driver, old_source = (place.value or {}).get("csi"), (before or {}).get("csi")
    if driver and old_source and old_source.get(_LATER) is None:  # this field may be set later
        place = replace(place, value={**place.value, "csi": {**driver, _LATER: None}})
        before = {**(before or {}), "csi": {**old_source, _LATER: None}}
    if before is None or {name: (place.value or {}).get(name) for name in _SOURCES} == {
        name: before.get(name) for name in _SOURCES
    }:
        return []
    return [forbidden("spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation")]


def _beta_class_kept(place: Place) -> list[FieldError]:
    before = ((place.old or {}).get("metadata") or {}).get("annotations") or {}
    now = (place.value or {}).get(_BETA_CLASS, "")
    is_unchanged = place.old is None or before.get(_BETA_CLASS, "") == now
    return [] if is_unchanged else [invalid(f"{place.path}.{_BETA_CLASS}", now, IMMUTABLE)]


def _mode_kept(place: Place) -> list[FieldError]:
    before = ((place.old or {}).get("spec") or {}).get("volumeMode")
    is_unchanged = place.old is None or before == place.value
    return [] if is_unchanged else [invalid("volumeMode", place.value, IMMUTABLE)]


def _affinity_kept(place: Place) -> list[FieldError]:
    before = ((place.old or {}).get("spec") or {}).get("nodeAffinity")
    if before is None or before == place.value:
        return []
    bad_value = dump("*core.VolumeNodeAffinity", place.value)
    return [invalid("nodeAffinity", bad_value, f"{IMMUTABLE}, except for updating from beta label to GA")]


def _affinity(place: Place) -> list[FieldError]:
    if place.value is None:
        return []
    if place.value.get("required") is None:
        return [required(f"{place.path}.required", "must specify required node constraints")]
    return node_selector_errors(place.value["required"], f"{place.path}.required")


# -- claims -----------------------------------------------------------------------------------------------------------


def _claim(place: Place) -> list[FieldError]:
    return claim_errors(place.value or {}, place.path, (place.old or {}).get("spec"))


def _claim_kept(place: Place) -> list[FieldError]:
    if place.old is None:
        return []
    new, old = dict(place.value or {}), dict(place.old.get("spec") or {})
    for name in ("volumeName", "storageClassName"):  # fields that are not set may be set later
        if old.get(name) is None:
            old[name] = new.get(name)
    if ((place.old.get("status") or {}).get("phase")) == "Bound":
        old["volumeAttributesClassName"] = new.get("volumeAttributesClassName")
        sizes = {"storage": ((new.get("resources") or {}).get("requests") or {}).get("storage")}
        resources = old.get("resources") or {}
        old["resources"] = {**resources, "requests": {**(resources.get("requests") or {}), **sizes}}
    same = all(new.get(key) == old.get(key) for key in new.keys() | old.keys())
    errors = [] if same else [forbidden(place.path, _CLAIM_FROZEN)]
    request, before = (
        Quantity(((spec.get("resources") or {}).get("requests") or {}).get("storage") or "0")
        for spec in (place.value or {}, place.old.get("spec") or {})
    )
    capacity = Quantity(((place.old.get("status") or {}).get("capacity") or {}).get("storage") or "0")
    if request < before and request <= capacity:
        field_path = f"{place.path}.resources.requests.storage"
        errors.append(forbidden(field_path, "field can not be less than status.capacity"))
    return errors


# -- classes ----------------------------------------------------------------------------------------------------------


def _parameters(*, needs: bool) -> Check:
    def check(place: Place) -> list[FieldError]:
        parameters = place.value or {}
        errors = [too_long(place.path, 512)] if len(parameters) > 512 else []
        errors += [invalid(place.path, "", "field can not be empty.") for key in parameters if not key]
        if sum(len(key.encode()) + len(value.encode()) for key, value in parameters.items()) > 256 * 1024:
            errors.append(too_long(place.path, 256 * 1024))
        if needs and not parameters:
            errors.append(required(place.path, "must contain at least one key/value pair"))
        return errors

    return check


def _topologies(place: Place) -> list[FieldError]:
    errors: list[FieldError] = []
    shapes: set[frozenset[tuple[str, frozenset[str]]]] = {frozenset()}
    for index, term in enumerate(place.value or ()):
        path = f"{place.path}[{index}].matchLabelExpressions"
        keys: dict[str, frozenset[str]] = {}
        for number, item in enumerate(term.get("matchLabelExpressions") or ()):
            field_path, key, values = f"{path}[{number}]", item.get("key", ""), item.get("values") or []
            if not values:
                errors.append(required(f"{field_path}.values"))
            errors += [duplicate(f"{field_path}.values[{position}]", values[position]) for position in repeats(values)]
            errors += [invalid(f"{field_path}.key", key, text) for text in qualified_name(key)]
            if key in keys:
                errors.append(duplicate(f"{field_path}.key", key))
            keys[key] = frozenset(values)
        shape = frozenset(keys.items())
        if shape in shapes:
            errors.append(duplicate(path, ""))
        shapes.add(shape)
    return errors


def _lower_name(place: Place) -> list[FieldError]:
    name = (place.value or "").lower()
    return [invalid(place.path, name, text) for text in qualified_name(name) if name]


RULES: Final[dict[str, tuple[Row, ...]]] = {
    "persistentvolumes": (
        row("spec.accessModes", _access_modes),
        row("spec.capacity", _capacity),
        row("spec.persistentVolumeReclaimPolicy", one_of(*_POLICIES)),
        row("spec.nodeAffinity", _affinity, _affinity_kept),
        row("spec", volume_source),
        row("spec.storageClassName", named(dns1123_subdomain)),
        row("spec.volumeMode", unless_missing(one_of("Block", "Filesystem", empty=True)), _mode_kept),
        row("spec.volumeAttributesClassName", named(dns1123_subdomain)),
        row("spec", _source_kept),
    ),
    "persistentvolumeclaims": (
        row("spec", _claim),
        row("spec", _claim_kept),
        row("metadata.annotations", _beta_class_kept),
        row("spec.volumeMode", _mode_kept),
    ),
    "storageclasses.storage.k8s.io": (
        row("provisioner", needed(), unless_missing(_lower_name), settled),
        row("parameters", _parameters(needs=False), settled),
        row("reclaimPolicy", one_of("Delete", "Retain"), settled),
        row("volumeBindingMode", unless_missing(one_of("Immediate", "WaitForFirstConsumer", empty=True)), settled),
        row("allowedTopologies", _topologies),
    ),
    "volumeattributesclasses.storage.k8s.io": (
        row(
            "driverName",
            needed(),
            unless_missing(_lower_name),
            frozen("updates to driverName are forbidden."),
        ),
        row("parameters", _parameters(needs=True), frozen("updates to parameters are forbidden.")),
    ),
}
