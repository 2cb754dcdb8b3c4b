"""Fields of features that are off by default: their values are dropped, as in a kube-apiserver."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from setpoint.apiserver.resources.strategy import JsonObject

_CONTAINERS: Final = ("containers[]", "initContainers[]", "ephemeralContainers[]")
_KINDS_OF_CONTAINERS: Final = ("container", "initContainer", "ephemeralContainer")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS: Final = ("lifecycle.postStart", "lifecycle.preStop")
_POD: Final = (
    "schedulingGroup",
    "evictionResponders",
    *(f"{container}.lifecycle.stopSignal" for container in _CONTAINERS),
    *(f"{container}.volumeMounts[].bindMountOptions" for container in _CONTAINERS),
    *(f"{container}.{probe}.grpc.mode" for container in _CONTAINERS for probe in _PROBES),
    *(f"{container}.{part}.httpGet.protocol" for container in _CONTAINERS for part in (*_PROBES, *_HOOKS)),
    "volumes[].emptyDir.mode",
    *(f"volumes[].{kind}.defaultUser" for kind in ("secret", "configMap", "downwardAPI", "projected")),
    *(f"volumes[].{kind}.items[].user" for kind in ("secret", "configMap", "downwardAPI")),
    *(f"volumes[].projected.sources[].{kind}.items[].user" for kind in ("secret", "configMap", "downwardAPI")),
    *(
        f"volumes[].projected.sources[].{kind}.user"
        for kind in ("serviceAccountToken", "clusterTrustBundle", "podCertificate")
    ),
)
_PODS: Final = {
    "pods": "spec",
    "podtemplates": "template.spec",
    "replicationcontrollers": "spec.template.spec",
    "daemonsets.apps": "spec.template.spec",
    "deployments.apps": "spec.template.spec",
    "replicasets.apps": "spec.template.spec",
    "statefulsets.apps": "spec.template.spec",
    "jobs.batch": "spec.template.spec",
    "cronjobs.batch": "spec.jobTemplate.spec.template.spec",
}
_OTHERS: Final[dict[str, tuple[str, ...]]] = {
    "cronjobs.batch": ("spec.jobTemplate.spec.scheduling",),
    "csinodes.storage.k8s.io": ("status.storageHealth",),
    "endpointslices.discovery.k8s.io": ("endpoints[].deprecatedTopology",),
    "jobs.batch": ("spec.scheduling",),
    "leases.coordination.k8s.io": ("spec.strategy", "spec.preferredHolder"),
    "nodes": ("spec.configSource", "spec.podPreemptionPolicy", "status.config"),
    "persistentvolumeclaims": ("status.healthStatus",),
    "pods": (
        "status.nodeAllocatableResourceClaimStatuses",
        "status.volumeHealth",
        *(f"status.{kind}Statuses[].volumeMounts[].volumeStatus" for kind in _KINDS_OF_CONTAINERS),
    ),
    "resourceclaims.resource.k8s.io": (
        "spec.devices.requests[].exactly.derivedAttributes",
        "spec.devices.requests[].firstAvailable[].derivedAttributes",
        "status.allocation.devices.results[].skipNodeOperations",
    ),
    "resourceclaimtemplates.resource.k8s.io": (
        "spec.spec.devices.requests[].exactly.derivedAttributes",
        "spec.spec.devices.requests[].firstAvailable[].derivedAttributes",
    ),
    "resourceslices.resource.k8s.io": (
        *(f"spec.devices[].attributes[].{name}" for name in ("ints", "bools", "strings", "versions")),
        "spec.devices[].nodeAllocatableResources",
        "spec.partitionTypeAttribute",
        "spec.skipNodeOperations",
    ),
}

Tree = dict[str, Any]


@cache
def _tree(resource: str) -> Tree:
    """The fields to drop from ``resource``, as a tree of field names; a field to drop has the value None."""
    tree: Tree = {}
    for path in _paths(resource):
        *steps, last = path.replace("[]", "").split(".")
        part = tree
        for step in steps:
            part = part.setdefault(step, {})
        part[last] = None
    return tree


def _paths(resource: str) -> Iterator[str]:
    if resource in _PODS:
        yield from (f"{_PODS[resource]}.{path}" for path in _POD)
    yield from _OTHERS.get(resource, ())


def disabled_fields() -> list[tuple[str, list[str]]]:
    """The resources, each with the sorted paths of the fields to drop. The fields in the spec of a pod are also dropped
    from all pod templates, which are not listed.
    """
    return [(name, sorted(_paths(name) if name == "pods" else paths)) for name, paths in sorted(_OTHERS.items())]


def drop_disabled(resource: str, obj: JsonObject) -> None:
    """Drops (in place) the fields that a kube-apiserver with the default configuration does not keep."""
    tree = _tree(resource)
    if tree:
        _drop(tree, obj)


def _drop(tree: Tree, holder: JsonObject) -> None:
    for name, inner in tree.items():
        value = holder.get(name)
        if value is None:
            continue
        if inner is None:
            del holder[name]
            continue
        if type(value) is list:
            for item in value:
                if type(item) is dict:
                    _drop(inner, item)
        elif name == "attributes":  # a map
            for item in value.values():
                _drop(inner, item)
        elif type(value) is dict:
            before = len(value)
            _drop(inner, value)
            if not value and before and name == "lifecycle":
                del holder[name]
