"""Short forms for the objects in tests of workloads."""

from __future__ import annotations

from typing import Any

from setpoint.meta import LabelSelector, ObjectMeta
from setpoint.models.apps_v1 import DaemonSet, DaemonSetSpec, StatefulSet, StatefulSetSpec
from setpoint.models.batch_v1 import Job, JobSpec
from setpoint.models.core_v1 import (
    Container,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PodSpec,
    PodTemplateSpec,
    Service,
    ServicePort,
    ServiceSpec,
    VolumeResourceRequirements,
)
from setpoint.models.policy_v1 import PodDisruptionBudget, PodDisruptionBudgetSpec


def template(image: str = "web:1", *, app: str = "web", annotations: dict[str, str] | None = None, **spec: Any) -> Any:
    return PodTemplateSpec(
        metadata=ObjectMeta(labels={"app": app}, annotations=annotations or {}),
        spec=PodSpec(containers=[Container(name="web", image=image)], **spec),
    )


def selector(app: str = "web") -> LabelSelector:
    return LabelSelector(match_labels={"app": app})


def claim(name: str = "data") -> PersistentVolumeClaim:
    return PersistentVolumeClaim.named(
        name,
        spec=PersistentVolumeClaimSpec(
            access_modes=["ReadWriteOnce"], resources=VolumeResourceRequirements(requests={"storage": "1Gi"})
        ),
    )


def stateful_set(replicas: int = 3, image: str = "web:1", **spec: Any) -> StatefulSet:
    return StatefulSet.named(
        "web",
        "default",
        spec=StatefulSetSpec(
            replicas=replicas, selector=selector(), service_name="web", template=template(image), **spec
        ),
    )


def job(name: str = "work", *, annotations: dict[str, str] | None = None, policy: str = "Never", **spec: Any) -> Job:
    new_template = template("work:1", annotations=annotations, restart_policy=policy)
    new_template.metadata.labels = {}
    return Job.named(name, "default", spec=JobSpec(template=new_template, **spec))


def daemon_set(image: str = "web:1", **spec: Any) -> DaemonSet:
    return DaemonSet.named("web", "default", spec=DaemonSetSpec(selector=selector(), template=template(image), **spec))


def service(**spec: Any) -> Service:
    ports = spec.pop("ports", [ServicePort(port=80, target_port=8080)])
    return Service.named("web", "default", spec=ServiceSpec(selector={"app": "web"}, ports=ports, **spec))


def budget(**spec: Any) -> PodDisruptionBudget:
    return PodDisruptionBudget.named("web", "default", spec=PodDisruptionBudgetSpec(selector=selector(), **spec))
