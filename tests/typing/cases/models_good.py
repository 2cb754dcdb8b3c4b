"""Code that must be without errors."""

from __future__ import annotations

from datetime import datetime

from setpoint.meta import ObjectKey, Resource
from setpoint.models.apps_v1 import Deployment, DeploymentSpec
from setpoint.models.core_v1 import (
    Container,
    EnvVar,
    Pod,
    PodList,
    PodSpec,
    PodTemplateSpec,
    ResourceRequirements,
    Service,
    ServiceSpec,
)
from setpoint.models.meta_v1 import LabelSelector, ObjectMeta

container = Container(
    name="main",
    image="busybox",
    env=[EnvVar(name="A", value="b")],
    resources=ResourceRequirements(limits={"cpu": "100m"}),
)
pod = Pod(metadata=ObjectMeta(name="web"), spec=PodSpec(containers=[container]))
named: Pod = Pod.named("web", "default", {"app": "web"}, spec=PodSpec(containers=[container]))
noted: Pod = Pod.named("web", annotations={"note": "seen"}, spec=PodSpec(containers=[container]))
deployment = Deployment.named(
    "web",
    spec=DeploymentSpec(
        replicas=3,
        selector=LabelSelector(match_labels={"app": "web"}),
        template=PodTemplateSpec(metadata=ObjectMeta(labels={"app": "web"}), spec=PodSpec(containers=[container])),
    ),
)
service = Service(spec=ServiceSpec(cluster_ips=["10.0.0.1"]))

node_name: str | None = pod.spec.node_name
first: Container = pod.spec.containers[0]
started: datetime | None = pod.status.start_time
phase: str | None = pod.status.phase
ready: bool = pod.is_ready
available: bool = deployment.is_available
key: ObjectKey = pod.key
resource: Resource = Pod.resource
labels: dict[str, str] = deployment.spec.template.metadata.labels


def names(page: PodList) -> list[str]:
    return [pod.name for pod in page.items]
