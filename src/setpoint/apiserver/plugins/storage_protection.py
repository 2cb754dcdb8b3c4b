"""StorageObjectInUseProtection: adds finalizers to volumes and claims.

The controllers of a control plane remove the finalizers; without a control plane, the finalizers stay.
"""

from __future__ import annotations

from typing import Final

from setpoint.apiserver.requests.admission import AdmissionAttributes

PROTECTED: Final = {
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "persistentvolumes": "kubernetes.io/pv-protection",
    "volumeattributesclasses.storage.k8s.io": "kubernetes.io/vac-protection",
}


def protect(attributes: AdmissionAttributes) -> None:
    """Adds the kind's finalizer to a new object."""
    if attributes.old is not None or attributes.subresource:
        return
    metadata = attributes.new["metadata"]
    finalizer = PROTECTED[attributes.served.name]
    finalizers = metadata.get("finalizers") or []
    if finalizer not in finalizers:
        metadata["finalizers"] = [*finalizers, finalizer]
