"""DefaultStorageClass, DefaultIngressClass, PersistentVolumeClaimResize: plugins for the classes of claims and
ingresses.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from setpoint.apiserver.requests.admission import AdmissionAttributes
from setpoint.meta import Quantity, parse_time

JsonObject = dict[str, Any]

_STORAGE: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_INGRESS: Final = "ingressclass.kubernetes.io/is-default-class"
_INGRESS_CLASS: Final = "kubernetes.io/ingress.class"


def default_storage_class(attributes: AdmissionAttributes) -> None:
    """Gives a new claim without a class the newest default class; an empty class name counts as a class."""
    if attributes.old is not None or attributes.subresource:
        return
    spec = attributes.spec
    if spec.get("storageClassName") is not None or _CLASS in _annotations(attributes.new):
        return
    name = _newest(attributes.stored("storageclasses.storage.k8s.io"), _STORAGE)
    if name:
        spec["storageClassName"] = name


def default_ingress_class(attributes: AdmissionAttributes) -> None:
    """Gives a new ingress without a class the newest default class."""
    if attributes.old is not None or attributes.subresource:
        return
    spec = attributes.spec
    if spec.get("ingressClassName") is not None or _INGRESS_CLASS in _annotations(attributes.new):
        return
    name = _newest(attributes.stored("ingressclasses.networking.k8s.io"), (_INGRESS,))
    if name:
        spec["ingressClassName"] = name


def resize_claim(attributes: AdmissionAttributes) -> None:
    """Refuses a larger size for a claim that is not bound, or whose class does not allow expansion.

    Raises ApiStatusError (403).
    """
    if attributes.old is None or attributes.subresource:
        return
    if _size(attributes.new) <= _size(attributes.old):
        return
    if (attributes.old.get("status") or {}).get("phase") != "Bound":
        raise attributes.forbidden("Only bound persistent volume claims can be expanded")
    name = _class_of(attributes.new)
    storage_class = attributes.get("storageclasses.storage.k8s.io", name) if name else None
    if name != _class_of(attributes.old) or storage_class is None or not storage_class.get("allowVolumeExpansion"):
        raise attributes.forbidden(
            "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
            "support resize"
        )


def _newest(classes: Iterable[JsonObject], annotations: tuple[str, ...]) -> str:
    """The name of the default class that was created last; of classes created at the same time, the first by
    name. Empty if there is no default class.
    """
    defaults = [
        storage_class
        for storage_class in classes
        if any(_annotations(storage_class).get(name) == "true" for name in annotations)
    ]
    if not defaults:
        return ""
    defaults.sort(key=lambda storage_class: storage_class["metadata"]["name"])
    name: str = max(defaults, key=lambda storage_class: parse_time(storage_class["metadata"]["creationTimestamp"]))[
        "metadata"
    ]["name"]
    return name


def _annotations(obj: JsonObject) -> dict[str, str]:
    return obj["metadata"].get("annotations") or {}


def _class_of(claim: JsonObject) -> str:
    name: str = _annotations(claim).get(_CLASS) or (claim.get("spec") or {}).get("storageClassName") or ""
    return name


def _size(claim: JsonObject) -> Quantity:
    requests = ((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}
    return Quantity(requests.get("storage", "0"))
