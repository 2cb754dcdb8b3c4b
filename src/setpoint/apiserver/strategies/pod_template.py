"""Defaults of a pod's spec, for pods and all kinds that have a pod template."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from setpoint.apiserver.resources.strategy import JsonObject

_MODE: Final = 420  # 0644


def default_template(template: Any) -> None:
    """Sets the defaults of a PodTemplateSpec, in place; does nothing if ``template`` is not a JSON object."""
    if not isinstance(template, dict):
        return
    template.setdefault("metadata", {})
    if isinstance(template.get("spec"), dict):
        default_pod_spec(template["spec"])


def default_pod_spec(spec: JsonObject, *, pod: bool = False) -> None:
    """Sets the defaults of a pod's spec, in place. ``pod``: whether the spec is that of a pod, which has more defaults
    than a template.
    """
    spec.setdefault("restartPolicy", "Always")
    if spec.get("terminationGracePeriodSeconds") is None:
        spec["terminationGracePeriodSeconds"] = 30
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("securityContext", {})
    if "serviceAccountName" in spec:
        spec["serviceAccount"] = spec["serviceAccountName"]
    elif spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"]
    if pod:
        spec.setdefault("enableServiceLinks", True)
    for container in _containers(spec):
        _default_container(container, pod=pod)
        if pod and spec.get("hostNetwork"):
            for port in container.get("ports") or ():
                port.setdefault("hostPort", port.get("containerPort", 0))
    for volume in spec.get("volumes") or ():
        if isinstance(volume, dict):
            _default_volume(volume)


def _containers(spec: JsonObject) -> Iterator[JsonObject]:
    for key in ("containers", "initContainers", "ephemeralContainers"):
        for container in spec.get(key) or ():
            if isinstance(container, dict):
                yield container


def _default_container(container: JsonObject, *, pod: bool) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = _pull_policy(container.get("image", ""))
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    resources = container.setdefault("resources", {})
    if pod and isinstance(resources, dict):
        limits = resources.get("limits")
        if limits:
            requests = resources.setdefault("requests", {})
            for name, value in limits.items():
                requests.setdefault(name, value)
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or ():
        source = variable.get("valueFrom") or {}
        if source.get("fieldRef") is not None:
            source["fieldRef"].setdefault("apiVersion", "v1")
        if source.get("fileKeyRef") is not None:
            source["fileKeyRef"].setdefault("optional", False)
    for key in ("livenessProbe", "readinessProbe", "startupProbe"):
        if isinstance(container.get(key), dict):
            _default_probe(container[key])
    for hook in (container.get("lifecycle") or {}).values():
        if isinstance(hook, dict):
            _default_action(hook)


def _default_probe(probe: JsonObject) -> None:
    for name, value in (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)):
        if not probe.get(name):
            probe[name] = value
    _default_action(probe)
    if probe.get("grpc") is not None:
        probe["grpc"].setdefault("service", "")


def _default_action(action: JsonObject) -> None:
    http = action.get("httpGet")
    if http is not None:
        http.setdefault("path", "/")
        http.setdefault("scheme", "HTTP")


def _pull_policy(image: str) -> str:
    return "Always" if _tag(image) == "latest" else "IfNotPresent"


_SOURCES: Final[dict[str, dict[str, Any]]] = {
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}


def default_volume_source(holder: JsonObject) -> None:
    """Sets (in place) the defaults that pod volumes and persistent volumes share."""
    for kind, values in _SOURCES.items():
        source = holder.get(kind)
        if isinstance(source, dict):
            for name, value in values.items():
                source.setdefault(name, value)


def _default_volume(volume: JsonObject) -> None:
    if not any(key != "name" and value is not None for key, value in volume.items()):
        volume["emptyDir"] = {}
    for key in ("secret", "configMap", "projected", "downwardAPI"):
        if isinstance(volume.get(key), dict):
            volume[key].setdefault("defaultMode", _MODE)
    default_volume_source(volume)
    claim = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if claim is not None:
        claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
    if isinstance(volume.get("image"), dict):
        volume["image"].setdefault("pullPolicy", _pull_policy(volume["image"].get("reference", "")))
    sources = (volume.get("projected") or {}).get("sources") or ()
    for part in (volume.get("downwardAPI"), *(source.get("downwardAPI") for source in sources)):
        for item in (part or {}).get("items") or ():
            if item.get("fieldRef") is not None:
                item["fieldRef"].setdefault("apiVersion", "v1")
    for source in sources:
        if source.get("serviceAccountToken") is not None:
            source["serviceAccountToken"].setdefault("expirationSeconds", 3600)


_PART: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST: Final = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_LONGEST_IMAGE: Final = 4096
"""The maximum length of an image's name: the repository may have 255 characters and the tag 128, which leaves enough
room for a host and a digest.
"""
_LONGEST_REPOSITORY: Final = 255
"""The maximum length of an image's repository, without its host."""
_HUB: Final = "docker.io"
"""The default host of images."""
_IMAGE: Final = re.compile(
    rf"(?:(?:{_HOST}(?:\.{_HOST})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?/)?(?P<repository>{_PART}(?:/{_PART})*)"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?"
    r"(?P<digest>@(?:sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128}))?",
    re.ASCII,
)
_IDENTIFIER: Final = re.compile(r"[0-9a-f]{64}")


def _tag(image: str) -> str:
    """The tag of an image; ``latest`` if the image has neither tag nor digest, empty if it has only a digest or if its
    name is invalid.
    """
    if len(image) > _LONGEST_IMAGE or _IDENTIFIER.fullmatch(image):
        return ""
    match = _IMAGE.fullmatch(_with_host(image))
    if match is None or len(match["repository"]) > _LONGEST_REPOSITORY:
        return ""
    return match["tag"] or ("" if match["digest"] else "latest")


def _with_host(image: str) -> str:
    """The full name of an image, which begins with its host. An image on Docker Hub whose name has no folder is in the
    folder ``library``.
    """
    first, slash, rest = image.partition("/")
    if slash and first == "index.docker.io":
        first = _HUB
    elif not slash or not (first == "localhost" or "." in first or ":" in first or first != first.lower()):
        first, rest = _HUB, image
    return f"{first}/{rest}" if first != _HUB or "/" in rest else f"{_HUB}/library/{rest}"
