"""NodeDeclaredFeatureValidator, PodResizeValidator: a pod can be resized only if its node supports the resize."""

from __future__ import annotations

from math import ceil
from typing import Any, Final

from setpoint.apiserver.objects.pod_resources import Side, amounts_of, pod_amounts
from setpoint.apiserver.requests.admission import AdmissionAttributes
from setpoint.meta import Quantity

JsonObject = dict[str, Any]

_OF_PODS: Final = "InPlacePodLevelResourcesVerticalScaling"
_OF_INIT_CONTAINERS: Final = "InPlacePodVerticalScalingInitContainers"
_OS: Final = "kubernetes.io/os"
_NONE: Final = Quantity("0")
_SIDES: Final[tuple[Side, Side]] = ("requests", "limits")


def check_declared_features(attributes: AdmissionAttributes) -> None:
    """Refuses a resize of a pod's own resources, or of an init container that is not a sidecar, on a node that does
    not declare the feature.

    Raises ApiStatusError (403).
    """
    if not _resizes(attributes):
        return
    assert attributes.old is not None
    old, new = attributes.old["spec"], attributes.spec
    needed = [_OF_PODS] if _differ(old, new) else []
    before = {item["name"]: item for item in old.get("initContainers") or ()}
    if any(
        item.get("restartPolicy") != "Always" and _differ(before.get(item["name"], {}), item)
        for item in new.get("initContainers") or ()
    ):
        needed.append(_OF_INIT_CONTAINERS)
    if not needed:
        return
    node = _node(attributes)
    declared = (node.get("status") or {}).get("declaredFeatures") or ()
    missing = [name for name in needed if name not in declared]
    if missing:
        raise attributes.forbidden(
            f"pod update requires features {', '.join(missing)} which are not available on node "
            f'"{node["metadata"]["name"]}"'
        )


def check_allocatable(attributes: AdmissionAttributes) -> None:
    """Refuses a resize if the pod's node does not exist or is not a Linux node, or if the new requests exceed the
    node's allocatable resources.

    Raises ApiStatusError (403).
    """
    if not _resizes(attributes):
        return
    node = _node(attributes)
    system = (node["metadata"].get("labels") or {}).get(_OS, "linux")
    if system != "linux":
        reason = f'pod resize is only supported on linux nodes, node "{node["metadata"]["name"]}" is "{system}"'
        raise attributes.forbidden(reason, ({"reason": "UnsupportedPlatform"},))
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    requests = pod_amounts(attributes.spec, "requests")
    lacking: list[str] = []
    for name, scale in (("cpu", 1000), ("memory", 1)):
        wanted, amount = requests.get(name, _NONE), Quantity(allocatable.get(name, "0"))
        if amount < wanted:
            lacking.append(
                f"{name}, requested: {ceil(wanted.value * scale)}, allocatable: {ceil(amount.value * scale)}"
            )
    if lacking:
        reason = f"node didn't have enough allocatable resources: {'; '.join(lacking)}"
        raise attributes.forbidden(reason, ({"reason": "NodeCapacity"},))


def _resizes(attributes: AdmissionAttributes) -> bool:
    """Whether the request is a resize that changes a pod which is on a node."""
    if attributes.subresource != "resize" or attributes.old is None or not attributes.spec.get("nodeName"):
        return False
    before, after = (obj["metadata"].get("generation") for obj in (attributes.old, attributes.new))
    return bool(before != after)


def _node(attributes: AdmissionAttributes) -> JsonObject:
    name = attributes.spec["nodeName"]
    node = attributes.get("nodes", name)
    if node is None:
        raise attributes.forbidden(f'node "{name}" not found')
    return node


def _differ(left: JsonObject, right: JsonObject) -> bool:
    return any(amounts_of(left, side) != amounts_of(right, side) for side in _SIDES)
