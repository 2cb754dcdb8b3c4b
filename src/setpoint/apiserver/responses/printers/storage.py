"""Printers for volumes, claims, classes and CSI objects."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from setpoint.apiserver.responses.printers.cells import Wire, age, get, name, text
from setpoint.apiserver.responses.printers.printer import AGE, NAME, Column, Printer, counting

_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def _modes(modes: list[str]) -> str:
    return ",".join(short for mode, short in _MODES.items() if mode in modes)


def _phase(obj: Wire) -> str:
    return "Terminating" if get(obj, "metadata", "deletionTimestamp") else text(obj, "status", "phase")


def _class(obj: Wire) -> str:
    annotations = get(obj, "metadata", "annotations", default={})
    return str(annotations[_OLD_CLASS]) if _OLD_CLASS in annotations else text(obj, "spec", "storageClassName")


def _volume(obj: Wire, now: datetime) -> list[Any]:
    claim = get(obj, "spec", "claimRef")
    return [
        name(obj),
        text(obj, "spec", "capacity", "storage", default="0"),
        _modes(get(obj, "spec", "accessModes", default=[])),
        text(obj, "spec", "persistentVolumeReclaimPolicy"),
        _phase(obj),
        "" if claim is None else f"{text(claim, 'namespace')}/{text(claim, 'name')}",
        _class(obj),
        text(obj, "spec", "volumeAttributesClassName", default="<unset>"),
        text(obj, "status", "reason"),
        age(obj, now),
        text(obj, "spec", "volumeMode", default="<unset>"),
    ]


_PV = "core.v1.PersistentVolume"
VOLUMES = Printer(
    (
        NAME,
        Column("Capacity", _PV + "Spec.capacity"),
        Column("Access Modes", _PV + "Spec.accessModes"),
        Column("Reclaim Policy", _PV + "Spec.persistentVolumeReclaimPolicy"),
        Column("Status", _PV + "Status.phase"),
        Column("Claim", _PV + "Spec.claimRef"),
        Column("StorageClass", about="StorageClass of the pv"),
        Column("VolumeAttributesClass", about="VolumeAttributesClass of the pv"),
        Column("Reason", _PV + "Status.reason"),
        AGE,
        Column("VolumeMode", _PV + "Spec.volumeMode", priority=1),
    ),
    _volume,
)


def _claim(obj: Wire, now: datetime) -> list[Any]:
    volume = text(obj, "spec", "volumeName")
    return [
        name(obj),
        _phase(obj),
        volume,
        text(obj, "status", "capacity", "storage", default="0") if volume else "",
        _modes(get(obj, "status", "accessModes", default=[])) if volume else "",
        _class(obj),
        text(obj, "spec", "volumeAttributesClassName", default="<unset>"),
        age(obj, now),
        text(obj, "spec", "volumeMode", default="<unset>"),
    ]


CLAIMS = Printer(
    (
        NAME,
        Column("Status", _PV + "ClaimStatus.phase"),
        Column("Volume", _PV + "ClaimSpec.volumeName"),
        Column("Capacity", _PV + "ClaimStatus.capacity"),
        Column("Access Modes", _PV + "ClaimStatus.accessModes"),
        Column("StorageClass", about="StorageClass of the pvc"),
        Column("VolumeAttributesClass", about="VolumeAttributesClass of the pvc"),
        AGE,
        Column("VolumeMode", _PV + "ClaimSpec.volumeMode", priority=1),
    ),
    _claim,
)


def _newest_default(classes: list[Wire]) -> str:
    """The name of the default class that was created last; of several, the first by name."""
    defaults = [
        item
        for item in classes
        if any(get(item, "metadata", "annotations", default={}).get(key) == "true" for key in _DEFAULT_CLASS)
    ]
    latest = max((text(item, "metadata", "creationTimestamp") for item in defaults), default="")
    return min((name(item) for item in defaults if text(item, "metadata", "creationTimestamp") == latest), default="")


def _storage_class(obj: Wire, now: datetime) -> list[Any]:
    return [
        name(obj),
        text(obj, "provisioner"),
        text(obj, "reclaimPolicy", default="Delete"),
        text(obj, "volumeBindingMode", default="Immediate"),
        get(obj, "allowVolumeExpansion", default=False),
        age(obj, now),
    ]


_CLASS = "storage.v1.StorageClass."
STORAGE_CLASSES = Printer(
    (
        NAME,
        Column("Provisioner", _CLASS + "provisioner"),
        Column("ReclaimPolicy", _CLASS + "reclaimPolicy"),
        Column("VolumeBindingMode", _CLASS + "volumeBindingMode"),
        Column("AllowVolumeExpansion", _CLASS + "allowVolumeExpansion"),
        AGE,
    ),
    _storage_class,
    marked=_newest_default,
)


def _attributes_class(obj: Wire, now: datetime) -> list[Any]:
    return [name(obj), text(obj, "driverName"), age(obj, now)]


ATTRIBUTES_CLASSES = Printer(
    (NAME, Column("DriverName", "storage.v1.VolumeAttributesClass.driverName"), AGE), _attributes_class
)


def _attachment(obj: Wire, now: datetime) -> list[Any]:
    return [
        name(obj),
        text(obj, "spec", "attacher"),
        text(obj, "spec", "source", "persistentVolumeName"),
        text(obj, "spec", "nodeName"),
        get(obj, "status", "attached", default=False),
        age(obj, now),
    ]


_ATTACHMENT = "storage.v1.VolumeAttachment"
ATTACHMENTS = Printer(
    (
        NAME,
        Column("Attacher", _ATTACHMENT + "Spec.attacher", format="name"),
        Column("PV", _ATTACHMENT + "Source.persistentVolumeName"),
        Column("Node", _ATTACHMENT + "Spec.nodeName"),
        Column("Attached", _ATTACHMENT + "Status.attached", type="boolean"),
        AGE,
    ),
    _attachment,
)

CSI_NODES = counting(
    "Drivers",
    lambda obj: len(get(obj, "spec", "drivers", default=[])),
    "Drivers indicates the number of CSI drivers registered on the node",
)


def _csi_driver(obj: Wire, now: datetime) -> list[Any]:
    spec = get(obj, "spec", default={})
    tokens = spec.get("tokenRequests")
    return [
        name(obj),
        get(spec, "attachRequired", default=True),
        get(spec, "podInfoOnMount", default=False),
        get(spec, "storageCapacity", default=False),
        "<unset>" if tokens is None else ",".join(text(token, "audience") for token in tokens),
        get(spec, "requiresRepublish", default=False),
        ",".join(get(spec, "volumeLifecycleModes", default=[])) or "<none>",
        age(obj, now),
    ]


_DRIVER = "storage.v1.CSIDriverSpec."
CSI_DRIVERS = Printer(
    (
        NAME,
        Column("AttachRequired", _DRIVER + "attachRequired", type="boolean"),
        Column("PodInfoOnMount", _DRIVER + "podInfoOnMount", type="boolean"),
        Column("StorageCapacity", _DRIVER + "storageCapacity", type="boolean"),
        Column("TokenRequests", _DRIVER + "tokenRequests"),
        Column("RequiresRepublish", _DRIVER + "requiresRepublish", type="boolean"),
        Column("Modes", _DRIVER + "volumeLifecycleModes"),
        AGE,
    ),
    _csi_driver,
)
