"""Rules for statuses: conditions, counts and other fields. They apply only to writes of ``status``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from setpoint.apiserver.strategies.rules import status_checks as checks
from setpoint.apiserver.strategies.rules.quotas import node_amounts, quota_amounts
from setpoint.apiserver.strategies.rules.rule_table import (
    Check,
    Place,
    Row,
    at_least,
    needed,
    one_of,
    row,
    unless_missing,
)
from setpoint.meta.names import qualified_name
from setpoint.schema import FieldError, repeats
from setpoint.schema.errors import duplicate, invalid, not_supported, required, too_long

Errors = list[FieldError]
_REASON: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_NOT_A_REASON: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  "
    f"or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '{_REASON.pattern}')"
)
_MESSAGE: Final = 32768
_REASONS: Final = 1024


# -- conditions --------------------------------------------------------------------------------------------------------


def _type(place: Place) -> Errors:
    if not place.value:
        return [required(place.path, "is required")]
    return [invalid(place.path, place.value, text) for text in qualified_name(place.value)]


def _condition_status(place: Place) -> Errors:
    if not place.value:
        return [required(place.path)]
    statuses = ("False", "True", "Unknown")
    return [] if place.value in statuses else [not_supported(place.path, place.value, statuses)]


def _signing_status(place: Place) -> Errors:
    """The errors in the status of a certificate request's condition. For ``Approved``, ``Denied`` and
    ``Failed``, only the status ``True`` is supported.
    """
    if not place.value or place.holder.get("type") not in ("Approved", "Denied", "Failed"):
        return _condition_status(place)
    return [] if place.value == "True" else [not_supported(place.path, place.value, ("True",))]


def _reason(place: Place) -> Errors:
    if not place.value:
        return [required(place.path)]
    if len(place.value) > _REASONS:
        return [too_long(place.path, _REASONS)]
    return [] if _REASON.fullmatch(place.value) else [invalid(place.path, place.value, _NOT_A_REASON)]


def _message(place: Place) -> Errors:
    return [too_long(place.path, _MESSAGE)] if len(place.value or "") > _MESSAGE else []


def _repeated(place: Place) -> Iterator[tuple[int, str]]:
    """The indexes and types of conditions whose type already occurs earlier in the list."""
    kinds = [condition.get("type", "") for condition in place.value or ()]
    for index in repeats(kinds):
        yield index, kinds[index]


def _distinct(place: Place) -> Errors:
    return [duplicate(f"{place.path}[{index}]", kind) for index, kind in _repeated(place)]


def _distinct_types(place: Place) -> Errors:
    return [duplicate(f"{place.path}[{index}].type", kind) for index, kind in _repeated(place)]


def _conditions(holder: str) -> tuple[Row, ...]:
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
    """A check that a count is not greater than the count ``other`` of the same status."""

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
    "poddisruptionbudgets.policy": (
        *_counts("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"),
        *_CONDITIONS,
    ),
    "services": (row("status.loadBalancer.ingress", checks.balanced),),
    "ingresses.networking.k8s.io": (
        row("status.loadBalancer.ingress[].ip", checks.address),
        row("status.loadBalancer.ingress[].hostname", checks.host_name),
    ),
    "persistentvolumeclaims": (
        row("status.capacity", checks.capacity),
        row("status.allocatedResourceStatuses", checks.resizes),
        row("status.allocatedResources", checks.allocated),
    ),
    "apiservices.apiregistration.k8s.io": (
        row("status.conditions[].status", one_of("True", "False", "Unknown", empty=True)),
    ),
    "flowschemas.flowcontrol.apiserver.k8s.io": _TYPES_ONLY,
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": _TYPES_ONLY,
    "certificatesigningrequests.certificates.k8s.io": (
        row("status.conditions[].type", needed()),
        row("status.conditions[].status", _signing_status),
        row("status.conditions", _distinct_types),
        row("status.certificate", checks.certificate),
    ),
    "storageversionmigrations.storagemigration.k8s.io": (
        row("status.resourceVersion", checks.version, checks.kept_version),
        *_CONDITIONS,
        row("status.conditions", checks.migration),
    ),
    "resourcequotas": (row("status.hard", quota_amounts), row("status.used", quota_amounts)),
    "nodes": (
        row("status.capacity", node_amounts),
        row("status.allocatable", node_amounts),
        row("status.declaredFeatures", checks.features),
        row("status.addresses", checks.distinct_addresses),
    ),
    "horizontalpodautoscalers.autoscaling": (
        *_counts("currentReplicas", "desiredReplicas"),
        row("status.conditions[].observedGeneration", at_least(0)),
    ),
    "volumeattachments.storage.k8s.io": (
        row("status.attachmentMetadata", unless_missing(checks.attachment)),
        row("status.attachError", unless_missing(checks.volume_error)),
        row("status.detachError", unless_missing(checks.volume_error)),
    ),
    "devicetaintrules.resource.k8s.io": _CONDITIONS,
    "resourceclaims.resource.k8s.io": _conditions("status.devices[]"),
    "validatingadmissionpolicies.admissionregistration.k8s.io": (
        row("status.typeChecking.expressionWarnings[].warning", needed()),
        row("status.typeChecking.expressionWarnings[].fieldRef", checks.reference),
        *_CONDITIONS,
    ),
}  # fmt: skip
