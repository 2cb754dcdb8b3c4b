"""Statuses: their conditions, counts and addresses. These rows are looked at in writes of ``status`` alone."""

from __future__ import annotations

import base64
import ipaddress
import re
from collections.abc import Iterator
from typing import Final

from cryptography import x509

from setpoint.apiserver.strategies.pod_fields import NOT_AN_IP
from setpoint.apiserver.strategies.rules.row import Check, Place, Row, at_least, needed, one_of, row
from setpoint.apiserver.strategies.strategy import JsonObject
from setpoint.meta.names import dns1123_subdomain, qualified_name
from setpoint.meta.text import quote
from setpoint.schema import FieldError
from setpoint.schema.errors import duplicate, forbidden, invalid, not_supported, required, too_long

__all__ = ["RULES"]

Errors = list[FieldError]
_REASON: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_NOT_A_REASON: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  "
    f"or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '{_REASON.pattern}')"
)
_MESSAGE: Final = 32768
_REASONS: Final = 1024
_CLAIM_RESIZES: Final = (
    "ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible",
    "NodeResizePending",
)  # fmt: skip


# -- conditions --------------------------------------------------------------------------------------------------------


def _type(place: Place) -> Errors:
    if not place.value:
        return [required(place.path, "is required")]
    return [invalid(place.path, place.value, text) for text in qualified_name(place.value)]


def _condition_status(place: Place) -> Errors:
    if not place.value:
        return [required(place.path)]
    known = ("False", "True", "Unknown")
    return [] if place.value in known else [not_supported(place.path, place.value, known)]


def _reason(place: Place) -> Errors:
    if not place.value:
        return [required(place.path)]
    if len(place.value) > _REASONS:
        return [too_long(place.path, _REASONS)]
    return [] if _REASON.fullmatch(place.value) else [invalid(place.path, place.value, _NOT_A_REASON)]


def _message(place: Place) -> Errors:
    return [too_long(place.path, _MESSAGE)] if len(place.value or "") > _MESSAGE else []


def _repeated(place: Place) -> Iterator[tuple[int, str]]:
    """The indexes and types of conditions whose type another one before has."""
    seen: set[str] = set()
    for index, condition in enumerate(place.value or ()):
        kind = condition.get("type", "")
        if kind in seen:
            yield index, kind
        seen.add(kind)


def _distinct(place: Place) -> Errors:
    return [duplicate(f"{place.path}[{index}]", kind) for index, kind in _repeated(place)]


def _distinct_types(place: Place) -> Errors:
    return [duplicate(f"{place.path}[{index}].type", kind) for index, kind in _repeated(place)]


def _conditions(holder: str) -> tuple[Row, ...]:
    """Conditions of apimachinery (``metav1.Condition``)."""
    path = f"{holder}.conditions[]"
    return (
        row(f"{holder}.conditions", _distinct),
        row(f"{path}.type", _type),
        row(f"{path}.status", _condition_status),
        row(f"{path}.observedGeneration", at_least(0, "must be greater than or equal to zero")),
        row(f"{path}.lastTransitionTime", needed()),
        row(f"{path}.reason", _reason),
        row(f"{path}.message", _message),
    )


_CONDITIONS: Final = _conditions("status")
_TYPES_ONLY: Final = (row("status.conditions[].type", needed()), row("status.conditions", _distinct_types))


# -- counts ------------------------------------------------------------------------------------------------------------


def _counts(*names: str) -> tuple[Row, ...]:
    return tuple(row(f"status.{name}", at_least(0)) for name in names)


def _at_most(other: str, text: str) -> Check:
    """A count that is not greater than another one of the same status."""

    def check(place: Place) -> Errors:
        count = place.value or 0
        return [invalid(place.path, count, text)] if count > (place.holder.get(other) or 0) else []

    return check


_OF_ALL: Final = _at_most("replicas", "cannot be greater than status.replicas")
_READY: Final = _at_most("readyReplicas", "cannot be greater than readyReplicas")
_READY_IN_FULL: Final = _at_most("readyReplicas", "cannot be greater than status.readyReplicas")
_REPLICAS: Final = (
    *_counts("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "terminatingReplicas"),
    *_counts("observedGeneration"),
    *(row(f"status.{name}", _OF_ALL) for name in ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")),
    row("status.availableReplicas", _READY),
)


# -- addresses ---------------------------------------------------------------------------------------------------------


def _address(place: Place) -> Errors:
    if not place.value:
        return []
    try:
        ipaddress.ip_address(place.value)
    except ValueError:
        return [invalid(place.path, place.value, NOT_AN_IP)]
    return []


def _host_name(place: Place) -> Errors:
    name = place.value
    if not name:
        return []
    errors: Errors = [invalid(place.path, name, text) for text in dns1123_subdomain(name)]
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return errors
    return [*errors, invalid(place.path, name, "must be a DNS name, not an IP address")]


def _mode(place: Place) -> Errors:
    address = place.holder.get("ip")
    if place.value is None:
        return [required(place.path, "must be specified when `ip` is set")] if address else []
    if not address:
        return [forbidden(place.path, "may not be specified when `ip` is not set")]
    return [] if place.value in ("Proxy", "VIP") else [not_supported(place.path, place.value, ("Proxy", "VIP"))]


def _balanced(place: Place) -> Errors:
    if not place.value:
        return []
    if place.obj["spec"].get("type") != "LoadBalancer":
        return [forbidden(place.path, "may only be used when `spec.type` is 'LoadBalancer'")]
    errors: Errors = []
    for index, item in enumerate(place.value):
        for name, check in (("ip", _address), ("ipMode", _mode), ("hostname", _host_name)):
            errors += check(Place(item.get(name), f"{place.path}[{index}].{name}", item, place.obj, place.old))
    return errors


# -- jobs --------------------------------------------------------------------------------------------------------------


def _has(status: JsonObject, kind: str) -> bool:
    return any(item.get("type") == kind and item.get("status") == "True" for item in status.get("conditions") or ())


def _completed(place: Place) -> Errors:
    complete = _has(place.holder, "Complete")
    if place.value is None:
        return [required(place.path, "completionTime is required for Complete jobs")] if complete else []
    if not complete:
        return [invalid(place.path, place.value, "cannot set completionTime when there is no Complete=True condition")]
    return []


def _no_more_ready(place: Place) -> Errors:
    if place.value is None or place.value <= (place.holder.get("active") or 0):
        return []
    return [invalid(place.path, place.value, "cannot set more ready pods than active")]


def _indexes(name: str) -> Check:
    def check(place: Place) -> Errors:
        spec = place.obj.get("spec") or {}
        if name == "failedIndexes" and place.value is not None and spec.get("backoffLimitPerIndex") is None:
            text = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
            return [invalid(place.path, place.value, text)]
        errors: Errors = []
        if name == "completedIndexes" and place.value and spec.get("completionMode") != "Indexed":
            text = "cannot set non-empty completedIndexes when non-indexed completion mode"
            errors.append(invalid(place.path, place.value, text))
        if problem := _problem_of(place.value or "", spec.get("completions")):
            errors.append(invalid(place.path, place.value, f"error parsing {name}: {problem}"))
        return errors

    return check


def _problem_of(text: str, completions: int | None) -> str:
    """The first thing that is wrong with a list of indexes such as ``1,3-5``."""
    last = -1
    for part in text.split(",") if text else ():
        limits = part.split("-")
        if len(limits) > 2:
            most = "an index interval can have at most two parts separated by '-'"
            return f"the fragment {quote(part)} violates the requirement that {most}"
        for limit in limits:
            if not re.fullmatch(r"[+-]?[0-9]+", limit):
                return f"cannot convert string to integer for index: {quote(limit)}"
            if completions is not None and int(limit) >= completions:
                return f"too large index: {quote(limit)}"
            if int(limit) <= last:
                return f"non-increasing order, previous: {last}, current: {int(limit)}"
            last = int(limit)
    return ""


# -- others ------------------------------------------------------------------------------------------------------------


def _version(place: Place) -> Errors:
    """A resource version, which is a number."""
    text = place.value or ""
    if not text or re.fullmatch(r"[1-9][0-9]*", text):
        return []
    return [invalid(place.path, text, f"resource version is not well formed: {text}")]


def _certificate(place: Place) -> Errors:
    if not place.value:
        return []
    try:
        x509.load_pem_x509_certificates(base64.b64decode(place.value))
    except ValueError:
        return [invalid(place.path, "<certificate data>", "must contain at least one CERTIFICATE PEM block")]
    return []


def _resizes(place: Place) -> Errors:
    errors: Errors = []
    for name, state in (place.value or {}).items():
        errors += [invalid(place.path, name, text) for text in qualified_name(name)]
        if state not in _CLAIM_RESIZES:
            errors.append(not_supported(place.path, name, _CLAIM_RESIZES))
    return errors


RULES: Final[dict[str, tuple[Row, ...]]] = {
    "replicasets.apps": _REPLICAS,
    "replicationcontrollers": _REPLICAS,
    "statefulsets.apps": (
        *_counts("replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
        *_counts("observedGeneration", "collisionCount"),
        *(
            row(f"status.{name}", _OF_ALL)
            for name in ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
        ),
        row("status.availableReplicas", _READY_IN_FULL),
    ),
    "deployments.apps": (
        *_counts("observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas"),
        *_counts("unavailableReplicas", "terminatingReplicas", "collisionCount"),
        *(row(f"status.{name}", _OF_ALL) for name in ("updatedReplicas", "readyReplicas", "availableReplicas")),
        row("status.availableReplicas", _READY),
    ),
    "daemonsets.apps": _counts(
        "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady", "observedGeneration",
        "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount",
    ),
    "jobs.batch": (
        *_counts("active", "succeeded", "failed", "ready", "terminating"),
        row("status.ready", _no_more_ready),
        row("status.completionTime", _completed),
        row("status.completedIndexes", _indexes("completedIndexes")),
        row("status.failedIndexes", _indexes("failedIndexes")),
    ),
    "poddisruptionbudgets.policy": (
        *_counts("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"),
        *_CONDITIONS,
    ),
    "services": (row("status.loadBalancer.ingress", _balanced),),
    "ingresses.networking.k8s.io": (
        row("status.loadBalancer.ingress[].ip", _address),
        row("status.loadBalancer.ingress[].hostname", _host_name),
    ),
    "persistentvolumeclaims": (row("status.allocatedResourceStatuses", _resizes),),
    "apiservices.apiregistration.k8s.io": (
        row("status.conditions[].status", one_of("True", "False", "Unknown", empty=True)),
    ),
    "flowschemas.flowcontrol.apiserver.k8s.io": _TYPES_ONLY,
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": _TYPES_ONLY,
    "certificatesigningrequests.certificates.k8s.io": (
        row("status.conditions[].type", needed()),
        row("status.conditions[].status", _condition_status),
        row("status.conditions", _distinct_types),
        row("status.certificate", _certificate),
    ),
    "storageversionmigrations.storagemigration.k8s.io": (row("status.resourceVersion", _version), *_CONDITIONS),
    "devicetaintrules.resource.k8s.io": _CONDITIONS,
    "resourceclaims.resource.k8s.io": _conditions("status.devices[]"),
    "validatingadmissionpolicies.admissionregistration.k8s.io": _CONDITIONS,
}  # fmt: skip
