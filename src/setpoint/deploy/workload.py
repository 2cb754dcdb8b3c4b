"""The workload: the Deployment that runs the operator, and its PodDisruptionBudget."""

from __future__ import annotations

from hashlib import sha256
from math import ceil
from typing import Any, Final

from setpoint.deploy.installation import HEALTH_PORT, METRICS_PORT, WEBHOOK_PORT, Installation
from setpoint.manager.options import SHUTDOWN_TIMEOUT
from setpoint.manager.pause_switch import PAUSE_SWITCH
from setpoint.manager.runnable_group import CANCEL_WITHIN
from setpoint.webhook.registration import address_of

Document = dict[str, Any]
USER: Final = 65532
"""The id of the unprivileged user in images that follow the ``nonroot`` convention, and in ours."""
CERTIFICATE_FOLDER: Final = "/var/run/webhook-certificates"
CALLERS_FOLDER: Final = "/var/run/webhook-callers"
CALLERS_FILE: Final = "ca.crt"
CALLERS_SUM: Final = "checksum/webhook-callers"
_OLM_FOLDER: Final = "/tmp/k8s-webhook-server/serving-certs"  # noqa: S108 - OLM mounts it there
_MARGIN: Final = 5
"""Seconds for the process to react to the signal, and to exit after the manager has stopped."""


def grace_seconds() -> int:
    """The number of seconds that the kubelet waits before it kills the program: the longest time that the manager takes
    to stop, including the time in which cancelled work cleans up, plus a margin.
    """
    return ceil(SHUTDOWN_TIMEOUT + CANCEL_WITHIN) + _MARGIN


def namespace(operator: Installation) -> Document:
    """The operator's namespace, which accepts only pods that meet the ``restricted`` Pod Security Standard."""
    labels = operator.labels("namespace") | {
        "pod-security.kubernetes.io/enforce": "restricted",
        "pod-security.kubernetes.io/enforce-version": "latest",
    }
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": operator.namespace, "labels": labels}}


def arguments(operator: Installation) -> list[str]:
    """The arguments of the container, after the entry point of its image."""
    flags = [
        "run",
        *_replication(operator),
        f"--metrics-bind-address=:{METRICS_PORT}",
        f"--health-probe-bind-address=:{HEALTH_PORT}",
        "--log-format=json",
        *([f"--pause-switch={PAUSE_SWITCH}"] if operator.controllers else []),
    ]
    if operator.name_given:
        flags.append(f"--name={operator.name_given}")
    if operator.watch_namespace is not None:
        flags.append(f"--namespace={operator.watch_namespace}")
    if operator.served:
        if operator.certificates == "own":
            flags.append(f"--webhook-service={operator.target.name}")
        else:
            flags.append(f"--webhook-cert-dir={_folder(operator)}")
        callers = operator.callers
        if callers.client_ca:
            flags.append(f"--webhook-client-ca={CALLERS_FOLDER}/{CALLERS_FILE}")
        flags += [f"--webhook-client-name={name}" for name in callers.client_names]
        if callers.tokens != "ignore":
            flags.append(f"--webhook-tokens={callers.tokens}")
            if operator.certificates != "own":
                flags.append(f"--webhook-address={address_of(operator.target)}")
    return flags + [f"--{name}={_text(value)}" for name, value in operator.options.items()]


def _text(value: str | bool | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _replication(operator: Installation) -> list[str]:
    if operator.elects:
        return ["--leader-elect"]
    if not operator.controllers:
        return []
    return ["--shards", *(["--shards-by=namespace"] if operator.shards_by == "namespace" else [])]


def deployment(operator: Installation) -> Document:
    """The Deployment, with the requested number of replicas."""
    ports = [
        {"name": "metrics", "containerPort": METRICS_PORT, "protocol": "TCP"},
        {"name": "health", "containerPort": HEALTH_PORT, "protocol": "TCP"},
    ]
    mounts: list[Document] = [{"name": "tmp", "mountPath": "/tmp"}]  # noqa: S108 - the only folder that can be written
    volumes: list[Document] = [{"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}}]
    if operator.served:
        ports.append({"name": "webhooks", "containerPort": WEBHOOK_PORT, "protocol": "TCP"})
        if operator.certificates == "cert-manager":
            mounts.append({"name": "certificates", "mountPath": _folder(operator), "readOnly": True})
            volumes.append({"name": "certificates", "secret": {"secretName": operator.secret}})
        if operator.callers.client_ca:
            mounts.append({"name": "callers", "mountPath": CALLERS_FOLDER, "readOnly": True})
            volumes.append({"name": "callers", "configMap": {"name": callers_map(operator)["metadata"]["name"]}})
    container: Document = {
        "name": "manager",
        "image": operator.image,
        "imagePullPolicy": "IfNotPresent",
        "args": arguments(operator),
        "ports": ports,
        "resources": operator.resources.document(),
        "livenessProbe": _probe("/healthz", 10, 20),
        "readinessProbe": _probe("/readyz", 2, 10),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": mounts,
    }
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": operator.selector},
    }
    pod: Document = {
        "serviceAccountName": operator.name,
        "automountServiceAccountToken": True,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "terminationGracePeriodSeconds": grace_seconds(),
        "topologySpreadConstraints": [spread],
        "containers": [container],
        "volumes": volumes,
    }
    template = {"metadata": {"labels": operator.labels("manager")}, "spec": pod}
    template["metadata"]["annotations"] = {"kubectl.kubernetes.io/default-container": "manager"}
    if operator.served and operator.callers.client_ca:  # they are read at the start, so other ones need other pods
        template["metadata"]["annotations"][CALLERS_SUM] = sha256(operator.callers.client_ca.encode()).hexdigest()
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": operator.metadata("", "manager"),
        "spec": {"replicas": operator.replicas, "selector": {"matchLabels": operator.selector}, "template": template},
    }


def callers_map(operator: Installation) -> Document:
    """The ConfigMap with the authorities of the clients that may call the webhooks."""
    metadata = operator.metadata("webhook-callers", "webhooks")
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {CALLERS_FILE: operator.callers.client_ca},
    }


def disruption_budget(operator: Installation) -> Document:
    """The PodDisruptionBudget: a drain evicts one replica at a time, and never waits for a replica that
    is not ready.
    """
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": operator.metadata("", "manager"),
        "spec": {
            "maxUnavailable": 1,
            "selector": {"matchLabels": operator.selector},
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    }


def _folder(operator: Installation) -> str:
    return _OLM_FOLDER if operator.certificates == "olm" else CERTIFICATE_FOLDER


def _probe(path: str, delay: int, period: int) -> Document:
    return {
        "httpGet": {"path": path, "port": "health"},
        "initialDelaySeconds": delay,
        "periodSeconds": period,
        "timeoutSeconds": 5,
    }
