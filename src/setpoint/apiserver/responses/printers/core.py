"""Printers for namespaces, nodes, configuration, accounts, quotas and leases."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec.structs import replace

from setpoint.apiserver.responses.printers.cells import Wire, age, condition, get, name, text
from setpoint.apiserver.responses.printers.printer import AGE, NAME, NAME_AND_AGE, Column, Printer, counting

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE = "kubernetes.io/role"


def _namespace(obj: Wire, now: datetime) -> list[Any]:
    return [name(obj), text(obj, "status", "phase"), age(obj, now)]


NAMESPACES = Printer((NAME, Column("Status", about="The status of the namespace"), AGE), _namespace)


def _node(obj: Wire, now: datetime) -> list[Any]:
    info = get(obj, "status", "nodeInfo", default={})
    return [
        name(obj),
        _node_status(obj),
        ",".join(_roles(obj)) or "<none>",
        age(obj, now),
        text(info, "kubeletVersion"),
        _address(obj, "InternalIP"),
        _address(obj, "ExternalIP"),
        text(info, "osImage", default="<unknown>"),
        text(info, "kernelVersion", default="<unknown>"),
        text(info, "containerRuntimeVersion", default="<unknown>"),
    ]


def _node_status(obj: Wire) -> str:
    ready = condition(obj, "Ready")
    status = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    return status + ",SchedulingDisabled" if get(obj, "spec", "unschedulable") else status


def _roles(obj: Wire) -> list[str]:
    labels = get(obj, "metadata", "labels", default={})
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    return sorted((roles | {labels.get(_ROLE, "")}) - {""})


def _address(obj: Wire, type_: str) -> str:
    addresses = get(obj, "status", "addresses", default=[])
    return next((text(item, "address") for item in addresses if item.get("type") == type_), "<none>")


NODES = Printer(
    (
        NAME,
        Column("Status", about="The status of the node"),
        Column("Roles", about="The roles of the node"),
        AGE,
        Column("Version", "core.v1.NodeSystemInfo.kubeletVersion"),
        Column("Internal-IP", "core.v1.NodeStatus.addresses", priority=1),
        Column("External-IP", "core.v1.NodeStatus.addresses", priority=1),
        Column("OS-Image", "core.v1.NodeSystemInfo.osImage", priority=1),
        Column("Kernel-Version", "core.v1.NodeSystemInfo.kernelVersion", priority=1),
        Column("Container-Runtime", "core.v1.NodeSystemInfo.containerRuntimeVersion", priority=1),
    ),
    _node,
)


def _config_map(obj: Wire, now: datetime) -> list[Any]:
    return [name(obj), len(get(obj, "data", default={})) + len(get(obj, "binaryData", default={})), age(obj, now)]


CONFIG_MAPS = Printer((NAME, Column("Data", "core.v1.ConfigMap.data"), AGE), _config_map)


def _secret(obj: Wire, now: datetime) -> list[Any]:
    return [name(obj), text(obj, "type"), len(get(obj, "data", default={})), age(obj, now)]


SECRETS = Printer((NAME, Column("Type", "core.v1.Secret.type"), Column("Data", "core.v1.Secret.data"), AGE), _secret)


SERVICE_ACCOUNTS = NAME_AND_AGE


def _resource_quota(obj: Wire, now: datetime) -> list[Any]:
    used = get(obj, "status", "used", default={})
    requests: list[str] = []
    limits: list[str] = []
    for resource, hard in sorted(get(obj, "status", "hard", default={}).items()):
        column = limits if resource.startswith("limits.") else requests
        column.append(f"{resource}: {used.get(resource, '0')}/{hard}")
    return [name(obj), ", ".join(requests), ", ".join(limits), age(obj, now)]


RESOURCE_QUOTAS = Printer(
    (
        NAME,
        Column("Request", about="Request represents a minimum amount of cpu/memory that a container may consume."),
        Column(
            "Limit",
            about="Limits control the maximum amount of cpu/memory that a container may use independent of contention "
            "on the node.",
        ),
        AGE,
    ),
    _resource_quota,
)


def _component_status(obj: Wire, now: datetime) -> list[Any]:
    healthy = next((item for item in get(obj, "conditions", default=[]) if item.get("type") == "Healthy"), None)
    if healthy is None:
        return [name(obj), "Unknown", "", ""]
    status = "Healthy" if healthy.get("status") == "True" else "Unhealthy"
    return [name(obj), status, text(healthy, "message"), text(healthy, "error")]


COMPONENT_STATUSES = Printer(
    (
        NAME,
        Column("Status", about="Status of the component conditions"),
        Column("Message", about="Message of the component conditions"),
        Column("Error", about="Error of the component conditions"),
    ),
    _component_status,
)


def _lease(obj: Wire, now: datetime) -> list[Any]:
    return [name(obj), text(obj, "spec", "holderIdentity"), age(obj, now)]


LEASES = Printer((NAME, Column("Holder", "coordination.v1.LeaseSpec.holderIdentity"), AGE), _lease)


def _lease_candidate(obj: Wire, now: datetime) -> list[Any]:
    fields = ("leaseName", "binaryVersion", "emulationVersion")
    return [name(obj), *(text(obj, "spec", field) for field in fields), age(obj, now)]


_CANDIDATE = "coordination.v1beta1.LeaseCandidateSpec."
LEASE_CANDIDATES = Printer(
    (
        NAME,
        Column("LeaseName", _CANDIDATE + "leaseName"),
        Column("BinaryVersion", _CANDIDATE + "binaryVersion"),
        Column("EmulationVersion", _CANDIDATE + "emulationVersion"),
        AGE,
    ),
    _lease_candidate,
)


def _priority_class(obj: Wire, now: datetime) -> list[Any]:
    policy = text(obj, "preemptionPolicy")
    return [name(obj), get(obj, "value", default=0), get(obj, "globalDefault", default=False), age(obj, now), policy]


PRIORITY_CLASSES = Printer(
    (
        NAME,
        Column("Value", "scheduling.v1.PriorityClass.value", type="integer"),
        Column("Global-Default", "scheduling.v1.PriorityClass.globalDefault", type="boolean"),
        AGE,
        Column("PreemptionPolicy", "scheduling.v1.PriorityClass.preemptionPolicy"),
    ),
    _priority_class,
)


def _runtime_class(obj: Wire, now: datetime) -> list[Any]:
    return [name(obj), text(obj, "handler"), age(obj, now)]


RUNTIME_CLASSES = Printer((NAME, Column("Handler"), AGE), _runtime_class)


def _scale(obj: Wire, now: datetime) -> list[Any]:
    return [
        name(obj),
        get(obj, "spec", "replicas", default=0),
        get(obj, "status", "replicas", default=0),
        age(obj, now),
    ]


SCALE = Printer(
    (
        Column("Name", "meta.v1.ObjectMeta.name"),
        Column("Desired", "autoscaling.v1.ScaleSpec.replicas", type="integer"),
        Column("Available", "autoscaling.v1.ScaleStatus.replicas", type="integer"),
        AGE,
    ),
    _scale,
)
"""The printer for the scale subresource of built-in kinds."""
SCALE_OF_CUSTOM = Printer(
    (
        NAME,
        Column("Desired", about="Number of desired replicas", type="integer"),
        Column("Available", about="Number of actual replicas", type="integer"),
        replace(AGE, type="date"),
    ),
    _scale,
)


def _api_service(obj: Wire, now: datetime) -> list[Any]:
    service = get(obj, "spec", "service")
    location = "Local" if service is None else f"{text(service, 'namespace')}/{text(service, 'name')}"
    available = condition(obj, "Available")
    status = "Unknown" if available is None else text(available, "status")
    if status not in ("True", "Unknown") and available is not None:
        status = f"{status} ({text(available, 'reason')})"
    return [name(obj), location, status, age(obj, now)]


API_SERVICES = Printer(
    (
        NAME,
        Column("Service", about="The reference to the service that hosts this API endpoint."),
        Column("Available", about="Whether this service is available."),
        AGE,
    ),
    _api_service,
)

MUTATING_WEBHOOKS = VALIDATING_WEBHOOKS = counting(
    "Webhooks",
    lambda obj: len(get(obj, "webhooks", default=[])),
    "Webhooks indicates the number of webhooks registered in this configuration",
)
