"""Printers for workloads (Deployments, ReplicaSets, Jobs and others), autoscalers and disruption budgets."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from setpoint.apiserver.responses.printers.cells import (
    Wire,
    age,
    containers,
    first,
    flag,
    format_labels,
    format_selector,
    get,
    has_condition,
    human_duration,
    name,
    number,
    since,
    text,
)
from setpoint.apiserver.responses.printers.printer import AGE, CONTAINERS, IMAGES, NAME, Column, Printer
from setpoint.meta import GroupKind, GroupVersion, parse_time


def _template(obj: Wire) -> tuple[str, str]:
    return containers(get(obj, "spec", "template", "spec"))


def _replicas(obj: Wire) -> int:
    return int(get(obj, "spec", "replicas", default=1))


def _deployment(obj: Wire, now: datetime) -> list[Any]:
    return [
        name(obj),
        f"{number(obj, 'status', 'readyReplicas')}/{_replicas(obj)}",
        number(obj, "status", "updatedReplicas"),
        number(obj, "status", "availableReplicas"),
        age(obj, now),
        *_template(obj),
        format_selector(get(obj, "spec", "selector"), none="", invalid="<invalid>"),
    ]


DEPLOYMENTS = Printer(
    (
        NAME,
        Column("Ready", about="Number of the pod with ready state"),
        Column("Up-to-date", "apps.v1.DeploymentStatus.updatedReplicas"),
        Column("Available", "apps.v1.DeploymentStatus.availableReplicas"),
        AGE,
        CONTAINERS,
        IMAGES,
        Column("Selector", "apps.v1.DeploymentSpec.selector", priority=1),
    ),
    _deployment,
)


def _replica_set(obj: Wire, now: datetime) -> list[Any]:
    return [*_replication(obj, now), format_selector(get(obj, "spec", "selector"))]


def _replication_controller(obj: Wire, now: datetime) -> list[Any]:
    return [*_replication(obj, now), format_labels(get(obj, "spec", "selector"))]


def _replication(obj: Wire, now: datetime) -> list[Any]:
    return [
        name(obj),
        _replicas(obj),
        number(obj, "status", "replicas"),
        number(obj, "status", "readyReplicas"),
        age(obj, now),
        *_template(obj),
    ]


def _replication_columns(kind: str) -> tuple[Column, ...]:
    return (
        NAME,
        Column("Desired", f"{kind}Spec.replicas", type="integer"),
        Column("Current", f"{kind}Status.replicas", type="integer"),
        Column("Ready", f"{kind}Status.readyReplicas", type="integer"),
        AGE,
        CONTAINERS,
        IMAGES,
        Column("Selector", f"{kind}Spec.selector", priority=1),
    )


REPLICA_SETS = Printer(_replication_columns("apps.v1.ReplicaSet"), _replica_set)
REPLICATION_CONTROLLERS = Printer(_replication_columns("core.v1.ReplicationController"), _replication_controller)


def _stateful_set(obj: Wire, now: datetime) -> list[Any]:
    ready = f"{number(obj, 'status', 'readyReplicas')}/{_replicas(obj)}"
    return [name(obj), ready, age(obj, now), *_template(obj)]


STATEFUL_SETS = Printer(
    (NAME, Column("Ready", about="Number of the pod with ready state"), AGE, CONTAINERS, IMAGES), _stateful_set
)


def _daemon_set(obj: Wire, now: datetime) -> list[Any]:
    counts = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    )
    return [
        name(obj),
        *(number(obj, "status", count) for count in counts),
        format_labels(get(obj, "spec", "template", "spec", "nodeSelector")),
        age(obj, now),
        *_template(obj),
        format_selector(get(obj, "spec", "selector")),
    ]


DAEMON_SETS = Printer(
    (
        NAME,
        Column("Desired", "apps.v1.DaemonSetStatus.desiredNumberScheduled", type="integer"),
        Column("Current", "apps.v1.DaemonSetStatus.currentNumberScheduled", type="integer"),
        Column("Ready", "apps.v1.DaemonSetStatus.numberReady", type="integer"),
        Column("Up-to-date", "apps.v1.DaemonSetStatus.updatedNumberScheduled", type="integer"),
        Column("Available", "apps.v1.DaemonSetStatus.numberAvailable", type="integer"),
        Column("Node Selector", "core.v1.PodSpec.nodeSelector"),
        AGE,
        CONTAINERS,
        IMAGES,
        Column("Selector", "apps.v1.DaemonSetSpec.selector", priority=1),
    ),
    _daemon_set,
)


def _job(obj: Wire, now: datetime) -> list[Any]:
    start, end = text(obj, "status", "startTime"), text(obj, "status", "completionTime")
    took = human_duration((parse_time(end) if end else now) - parse_time(start)) if start else ""
    return [
        name(obj),
        _job_status(obj),
        _completions(obj),
        took,
        age(obj, now),
        *_template(obj),
        format_selector(get(obj, "spec", "selector")),
    ]


def _job_status(obj: Wire) -> str:
    if has_condition(obj, "Complete"):
        return "Complete"
    if has_condition(obj, "Failed"):
        return "Failed"
    if get(obj, "metadata", "deletionTimestamp"):
        return "Terminating"
    if has_condition(obj, "Suspended"):
        return "Suspended"
    return "FailureTarget" if has_condition(obj, "FailureTarget") else "Running"


def _completions(obj: Wire) -> str:
    succeeded = number(obj, "status", "succeeded")
    wanted = get(obj, "spec", "completions")
    if wanted is not None:
        return f"{succeeded}/{wanted}"
    parallelism = number(obj, "spec", "parallelism")
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


JOBS = Printer(
    (
        NAME,
        Column("Status", about="Status of the job."),
        Column("Completions", "batch.v1.JobStatus.succeeded"),
        Column("Duration", about="Time required to complete the job."),
        AGE,
        CONTAINERS,
        IMAGES,
        Column("Selector", "batch.v1.JobSpec.selector", priority=1),
    ),
    _job,
)


def _cron_job(obj: Wire, now: datetime) -> list[Any]:
    last = text(obj, "status", "lastScheduleTime")
    template = get(obj, "spec", "jobTemplate", "spec", default={})
    return [
        name(obj),
        text(obj, "spec", "schedule"),
        text(obj, "spec", "timeZone", default="<none>"),
        flag(get(obj, "spec", "suspend")),
        len(get(obj, "status", "active", default=[])),
        since(last, now) if last else "<none>",
        age(obj, now),
        *containers(get(template, "template", "spec")),
        format_selector(get(template, "selector")),
    ]


CRON_JOBS = Printer(
    (
        NAME,
        Column("Schedule", "batch.v1.CronJobSpec.schedule"),
        Column("Timezone", "batch.v1.CronJobSpec.timeZone"),
        Column("Suspend", "batch.v1.CronJobSpec.suspend", type="boolean"),
        Column("Active", "batch.v1.CronJobStatus.active", type="integer"),
        Column("Last Schedule", "batch.v1.CronJobStatus.lastScheduleTime"),
        AGE,
        CONTAINERS,
        IMAGES,
        Column("Selector", "batch.v1.JobSpec.selector", priority=1),
    ),
    _cron_job,
)


def _controller_revision(obj: Wire, now: datetime) -> list[Any]:
    owners = get(obj, "metadata", "ownerReferences", default=[])
    owner = next((item for item in owners if item.get("controller")), None)
    controller = "<none>"
    if owner is not None:
        kind = GroupKind(GroupVersion.parse(owner.get("apiVersion", "")).group, owner.get("kind", ""))
        controller = f"{str(kind).lower()}/{owner.get('name', '')}"
    return [name(obj), controller, get(obj, "revision", default=0), age(obj, now)]


CONTROLLER_REVISIONS = Printer(
    (
        NAME,
        Column("Controller", about="Controller of the object"),
        Column("Revision", "apps.v1.ControllerRevision.revision"),
        AGE,
    ),
    _controller_revision,
)


def _disruption_budget(obj: Wire, now: datetime) -> list[Any]:
    least, most = get(obj, "spec", "minAvailable"), get(obj, "spec", "maxUnavailable")
    allowed = number(obj, "status", "disruptionsAllowed")
    return [
        name(obj),
        "N/A" if least is None else str(least),
        "N/A" if most is None else str(most),
        allowed,
        age(obj, now),
    ]


DISRUPTION_BUDGETS = Printer(
    (
        NAME,
        Column("Min Available", about="The minimum number of pods that must be available."),
        Column("Max Unavailable", about="The maximum number of pods that may be unavailable."),
        Column(
            "Allowed Disruptions", type="integer", about="Calculated number of pods that may be disrupted at this time."
        ),
        AGE,
    ),
    _disruption_budget,
)


def _autoscaler(obj: Wire, now: datetime) -> list[Any]:
    target = get(obj, "spec", "scaleTargetRef", default={})
    least = get(obj, "spec", "minReplicas")
    return [
        name(obj),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _metrics(obj),
        "<unset>" if least is None else str(least),
        number(obj, "spec", "maxReplicas"),
        number(obj, "status", "currentReplicas"),
        age(obj, now),
    ]


def _metrics(obj: Wire) -> str:
    percentage = get(obj, "spec", "targetCPUUtilizationPercentage")
    if percentage is not None:  # autoscaling/v1 knows only this one
        current = get(obj, "status", "currentCPUUtilizationPercentage")
        return f"cpu: {'<unknown>' if current is None else f'{current}%'}/{percentage}%"
    specs = get(obj, "spec", "metrics", default=[])
    statuses = get(obj, "status", "currentMetrics", default=[])
    metrics = (_metric(spec, statuses[place] if place < len(statuses) else {}) for place, spec in enumerate(specs))
    return first(metrics, 2, empty="<none>", separator=", ")


_SOURCES = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _metric(spec: Wire, status: Wire) -> str:
    type_ = spec.get("type", "")
    source = _SOURCES.get(type_)
    if source is None:
        return "<unknown type>"
    target = get(spec, source, "target", default={})
    current = get(status, source, "current", default={})
    average = target.get("averageValue")
    if source in ("resource", "containerResource"):
        resource = text(spec, source, "name")
        if average is not None:
            return f"{resource}: {text(current, 'averageValue', default='<unknown>')}/{average}"
        used, wanted = current.get("averageUtilization"), target.get("averageUtilization")
        return (
            f"{resource}: {'<unknown>' if used is None else f'{used}%'}/{'<auto>' if wanted is None else f'{wanted}%'}"
        )
    if source == "pods":
        return f"{text(current, 'averageValue', default='<unknown>')}/{average}"
    if average is not None:
        return f"{text(current, 'averageValue', default='<unknown>')}/{average} (avg)"
    return f"{text(current, 'value', default='<unknown>')}/{text(target, 'value')}"


_HPA = "autoscaling.v2.HorizontalPodAutoscaler"
AUTOSCALERS = Printer(
    (
        NAME,
        Column("Reference", _HPA + "Spec.scaleTargetRef"),
        Column("Targets", _HPA + "Spec.metrics"),
        Column("MinPods", _HPA + "Spec.minReplicas"),
        Column("MaxPods", _HPA + "Spec.maxReplicas"),
        Column("Replicas", _HPA + "Status.currentReplicas"),
        AGE,
    ),
    _autoscaler,
)
