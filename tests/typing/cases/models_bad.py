"""Mistakes that a type checker must find. ``# E:`` marks the lines; a name behind it, the only checker that sees it."""

from __future__ import annotations

from setpoint.models.apps_v1 import Deployment, DeploymentSpec
from setpoint.models.coordination_v1 import LeaseSpec
from setpoint.models.core_v1 import Container, Pod, PodSpec

main = Container(name="main")
pod = Pod(spec=PodSpec(containers=[main]))

Pod(spec=PodSpec(container=[main]))  # E:
Pod(spec=PodSpec())  # E:
Pod(spce=pod.spec)  # E:
Pod(pod.metadata)  # E:
PodSpec(containers=[main], node_name=1)  # E:
PodSpec(containers=main)  # E:
PodSpec(containers=["main"])  # E:
Container(name=None)  # E:
Container(image="busybox")  # E:
DeploymentSpec(replicas="3")  # E:
LeaseSpec(renew_time="2026-01-31T12:00:00Z")  # E:

Pod.named("x", spce=pod.spec)  # E: basedpyright
Pod.named("x", spec=main)  # E: basedpyright
Pod.named(1, spec=pod.spec)  # E:

_ = pod.spec.node_nam  # E:
_ = pod.spec.nodeName  # E:
pod.status.pod_ip.strip()  # E:
_ = pod.is_available  # E:
pod.spec.containers[0].image = 3  # E:
pod.spec.container = []  # E:
pod.metadata = None  # E:
pod.status.conditions.append("Ready")  # E:
phase: int = pod.status.phase  # E:
deployment: Deployment = Deployment().spec.template  # E:
