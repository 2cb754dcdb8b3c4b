"""Rules for CSI drivers, CSI nodes, storage capacities and volume attachments."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from setpoint.apiserver.strategies.claims import access_mode_errors
from setpoint.apiserver.strategies.go_dump import dump
from setpoint.apiserver.strategies.pod_volumes import caseless, driver_name_errors
from setpoint.apiserver.strategies.rules.rule_table import (
    IMMUTABLE,
    Place,
    Row,
    amount,
    at_least,
    immutable,
    named,
    one_of,
    row,
    selector,
    settled,
    unless_missing,
)
from setpoint.apiserver.strategies.rules.storage import source_errors
from setpoint.meta.names import dns1123_subdomain, qualified_name
from setpoint.schema import FieldError, repeats
from setpoint.schema.errors import duplicate, forbidden, invalid, not_supported, required


def _attacher(place: Place) -> list[FieldError]:
    """The errors in the name of a driver. For a new object upstream uses declarative validation, whose
    wording differs.
    """
    errors = driver_name_errors(place.value or "", place.path)
    if place.old is not None:
        return errors
    return [replace(error, detail=caseless(error.detail).replace("bytes", "characters")) for error in errors]


def _attached(place: Place) -> list[FieldError]:
    source, path = place.value or {}, place.path
    name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    text = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    if name is None and inline is None:
        return [required(path, text)]
    format_errors = [
        invalid(f"{path}.persistentVolumeName", name, problem) for problem in dns1123_subdomain(name or "")
    ]
    if name is not None and inline is not None:
        return [forbidden(path, text), *format_errors]
    if name == "":
        words = "must specify non empty persistentVolumeName"
        return [required(f"{path}.persistentVolumeName", words), *format_errors]
    if name is not None:
        return format_errors
    return _inline(inline or {}, f"{path}.inlineVolumeSpec")


def _inline(spec: dict[str, Any], path: str) -> list[FieldError]:
    text = "may not be specified in the context of inline volumes"
    errors = [forbidden(f"{path}.{name}", text) for name in ("claimRef", "capacity") if spec.get(name) is not None]
    if spec.get("csi") is None:
        errors.append(required(f"{path}.csi", "has to be specified in the context of inline volumes"))
    errors += access_mode_errors(spec.get("accessModes"), f"{path}.accessModes")
    if spec.get("persistentVolumeReclaimPolicy", "Retain") != "Retain":
        only = "may only be Retain in the context of inline volumes"
        errors.append(forbidden(f"{path}.persistentVolumeReclaimPolicy", only))
    if spec.get("nodeAffinity") is not None:
        errors.append(forbidden(f"{path}.nodeAffinity", text))
    if spec.get("volumeMode") not in (None, "Filesystem"):
        only = "may not specify volumeMode other than Filesystem in the context of inline volumes"
        errors.append(forbidden(f"{path}.volumeMode", only))
    errors += source_errors(spec, path)
    return errors + ([forbidden(f"{path}.storageClassName", text)] if spec.get("storageClassName") else [])


def _drivers(place: Place) -> list[FieldError]:
    errors: list[FieldError] = []
    names: set[str] = set()
    before = {item.get("name"): item for item in ((place.old or {}).get("spec") or {}).get("drivers") or ()}
    changed = [
        item
        for item in place.value or ()
        if item.get("name") in before and {**item, "allocatable": None} != {**before[item["name"]], "allocatable": None}
    ]
    for index, item in enumerate(place.value or ()):
        path, name, node = f"{place.path}[{index}]", item.get("name", ""), item.get("nodeID", "")
        errors += driver_name_errors(name, f"{path}.name")
        if not node:
            errors.append(required(f"{path}.nodeID"))
        if len(node) > 256:
            errors.append(invalid(f"{path}.nodeID", node, "must be 256 characters or less"))
        count = (item.get("allocatable") or {}).get("count")
        if count is not None and count < 0:
            errors.append(invalid(f"{path}.allocatable.count", count, "must be greater than or equal to 0"))
        if name in names:
            errors.append(duplicate(f"{path}.name", name))
        names.add(name)
        keys: list[str] = item.get("topologyKeys") or []
        again = set(repeats(keys))
        for number, key in enumerate(keys):
            if not key:
                errors.append(required(path))
            errors += [invalid(path, key, text) for text in qualified_name(key)]
            if number in again:
                errors.append(duplicate(path, key))
    values = (dump("storage.CSINodeDriver", {**item, "allocatable": None}) for item in changed)
    return errors + [invalid(place.path, item, IMMUTABLE) for item in values]


def _lifecycle_modes(place: Place) -> list[FieldError]:
    allowed = ("Persistent", "Ephemeral")
    return [not_supported(place.path, mode, allowed) for mode in place.value or () if mode not in allowed]


def _token_requests(place: Place) -> list[FieldError]:
    errors: list[FieldError] = []
    previous: set[str] = set()
    for index, item in enumerate(place.value or ()):
        path, audience, seconds = f"{place.path}[{index}]", item.get("audience", ""), item.get("expirationSeconds")
        if audience in previous:
            errors.append(duplicate(f"{path}.audience", audience))
            continue
        previous.add(audience)
        if seconds is not None and seconds < 600:
            text = "may not specify a duration less than 10 minutes"
            errors.append(invalid(f"{path}.expirationSeconds", seconds, text))
        if seconds is not None and seconds > 1 << 32:
            text = "may not specify a duration larger than 2^32 seconds"
            errors.append(invalid(f"{path}.expirationSeconds", seconds, text))
    return errors


def _tokens_in_secrets(place: Place) -> list[FieldError]:
    if place.value is None or place.holder.get("tokenRequests"):
        return []
    text = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
    return [invalid(place.path, place.value, text)]


def _attach_kept(place: Place) -> list[FieldError]:
    """The error for a change to ``spec.attachRequired``. Upstream's message misspells the field's name, and so does
    this one.
    """
    return [invalid("spec.attachedRequired", error.bad_value, error.detail) for error in immutable(place)]


def _kept_selector(place: Place) -> list[FieldError]:
    """The error for a changed selector, which the message shows with its fields in the order of Go's struct."""
    bad_value = dump("*v1.LabelSelector", place.value)
    return [invalid(error.field, bad_value, IMMUTABLE) for error in immutable(place)]


RULES: Final[dict[str, tuple[Row, ...]]] = {
    "volumeattachments.storage.k8s.io": (
        row("spec.source", _attached),
        row("spec.nodeName", named(dns1123_subdomain, empty=True)),
        row("spec.attacher", _attacher),
        row("spec", settled),
    ),
    "csidrivers.storage.k8s.io": (
        row("spec.attachRequired", _attach_kept),
        row("spec.nodeAllocatableUpdatePeriodSeconds", at_least(10, "must be greater than or equal to 10 seconds")),
        row("spec.fsGroupPolicy", unless_missing(one_of("File", "None", "ReadWriteOnceWithFSType", empty=True))),
        row("spec.tokenRequests", _token_requests),
        row("spec.volumeLifecycleModes", _lifecycle_modes, immutable),
        row("spec.serviceAccountTokenInSecrets", _tokens_in_secrets),
    ),
    "csinodes.storage.k8s.io": (row("spec.drivers", _drivers),),
    "csistoragecapacities.storage.k8s.io": (
        row("nodeTopology", selector, _kept_selector),
        row("storageClassName", named(dns1123_subdomain, empty=True), immutable),
        row("capacity", amount),
    ),
}
