"""PodTopologyLabels: copies the zone and region labels of a node to its pods."""

from __future__ import annotations

from typing import Final

from setpoint.apiserver.requests.admission import AdmissionAttributes

_COPIED: Final = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


def copy_topology(attributes: AdmissionAttributes) -> None:
    """Copies the zone and region labels of a node to a new pod that names the node, or to the Binding of a pod. The
    copied labels replace labels with the same keys; a node that does not exist is ignored.
    """
    if attributes.old is not None:
        return
    if attributes.subresource == "binding":
        target = attributes.new.get("target") or {}
        name = target.get("name") if target.get("kind") == "Node" else None
    elif attributes.subresource:
        return
    else:
        name = attributes.spec.get("nodeName")
    node = attributes.get("nodes", name) if name else None
    labels = ((node or {}).get("metadata") or {}).get("labels") or {}
    copied = {key: labels[key] for key in _COPIED if key in labels}
    if copied:
        metadata = attributes.new.setdefault("metadata", {})
        metadata["labels"] = {**(metadata.get("labels") or {}), **copied}
