"""Warnings about pods and templates of pods: fields that are deprecated, hidden by others or of no effect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from setpoint.apiserver.strategies.address_warnings import address_warnings
from setpoint.meta import Quantity
from setpoint.meta.names import label_value
from setpoint.meta.text_escaping import quote

JsonObject = dict[str, Any]
DEPRECATED_LABELS: Final = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_SYSCTLS: Final = 'non-functional in v1.11+; use the "sysctls" field instead'
_ANNOTATIONS: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": _SYSCTLS,
    "security.alpha.kubernetes.io/unsafe-sysctls": _SYSCTLS,
}
_VOLUMES: Final = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_SHOWN: Final = {"storageos": "storageOS"}
_SECCOMP: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_OF: Final = "container.seccomp.security.alpha.kubernetes.io/"
_APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_USE_SECCOMP: Final = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_USE_APP_ARMOR: Final = 'deprecated since v1.30; use the "appArmorProfile" field instead'
_NO_PODS: Final = "a null labelSelector results in matching no pod"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")
_BYTES: Final = ("memory", "ephemeral-storage")


def pod_warnings(pod: JsonObject, path: str = "") -> Iterator[str]:
    """The warnings about a pod, or about a template of pods, which is at ``path``."""
    prefix = f"{path}." if path else ""
    spec, annotations = pod.get("spec") or {}, (pod.get("metadata") or {}).get("annotations") or {}
    field_path = f"{prefix}spec"
    yield from _placing(spec, field_path)
    for name, text in _ANNOTATIONS.items():
        if name in annotations:
            yield f"{prefix}metadata.annotations[{name}]: {text}"
    for index, volume in enumerate(spec.get("volumes") or ()):
        yield from _volume(volume, f"{field_path}.volumes[{index}]")
    for volume in spec.get("volumes") or ():
        yield from _overlaps(volume)
    yield from _repeats(spec, field_path)
    for name in _BYTES:
        yield from fractional(spec.get("overhead"), name, f"{field_path}.overhead")
    security = spec.get("securityContext") or {}
    if security.get("seccompProfile") is None and _SECCOMP in annotations:
        yield f"{prefix}metadata.annotations[{_SECCOMP}]: {_USE_SECCOMP}"
    for container, place in _containers(spec, field_path):
        yield from _container(container, place, annotations, prefix)
    yield from _ports(spec, field_path)
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0:
        text = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{field_path}.terminationGracePeriodSeconds: {text}"
    yield from _affinity(spec.get("affinity") or {}, f"{field_path}.affinity")
    for index, server in enumerate((spec.get("dnsConfig") or {}).get("nameservers") or ()):
        yield from address_warnings(server, f"{field_path}.dnsConfig.nameservers[{index}]")
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        yield from address_warnings(alias.get("ip") or "", f"{field_path}.hostAliases[{index}].ip")


def fractional(amounts: JsonObject | None, name: str, path: str) -> Iterator[str]:
    """A warning if the amount ``name`` of bytes is not a whole number."""
    if name in (amounts or {}):
        amount = Quantity(amounts[name])  # type: ignore[index]
        if amount.value != int(amount.value):
            yield f"{path}[{name}]: fractional byte value {quote(str(amount))} is invalid, must be an integer"


def claim_warnings(spec: JsonObject, path: str) -> Iterator[str]:
    """The warnings about the spec of a claim, which is at ``path``."""
    resources = spec.get("resources") or {}
    for side in ("requests", "limits"):
        yield from fractional(resources.get(side), "storage", f"{path}.resources.{side}")


def node_term_warnings(term: JsonObject, path: str, *, values: bool = False) -> Iterator[str]:
    """The warnings about a term of a node selector: deprecated labels and, if ``values``, values that no label has."""
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        key = expression.get("key") or ""
        if key in DEPRECATED_LABELS:
            yield f"{path}.matchExpressions[{index}].key: {key} is {DEPRECATED_LABELS[key]}"
        for number, value in enumerate(expression.get("values") or () if values else ()):
            for text in label_value(value):
                yield f"{path}.matchExpressions[{index}].values[{number}]: {value} is invalid, {text}"


def selector_warnings(selector: JsonObject | None, path: str) -> Iterator[str]:
    """The warnings about deprecated labels of nodes in a label selector."""
    yield from node_term_warnings(selector or {}, path)
    for key in sorted((selector or {}).get("matchLabels") or ()):
        if key in DEPRECATED_LABELS:
            yield f"{path}.matchLabels.{key}: {DEPRECATED_LABELS[key]}"


def _placing(spec: JsonObject, path: str) -> Iterator[str]:
    for key in sorted(spec.get("nodeSelector") or ()):
        if key in DEPRECATED_LABELS:
            yield f"{path}.nodeSelector[{key}]: {DEPRECATED_LABELS[key]}"
    affinity, field_path = (spec.get("affinity") or {}).get("nodeAffinity") or {}, f"{path}.affinity.nodeAffinity"
    for index, term in enumerate((affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()):
        yield from node_term_warnings(term, f"{field_path}.{_REQUIRED}.nodeSelectorTerms[{index}]")
    for index, term in enumerate(affinity.get(_PREFERRED) or ()):
        yield from node_term_warnings(
            term.get("preference") or {}, f"{field_path}.{_PREFERRED}[{index}].preference", values=True
        )
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        field_path, key = f"{path}.topologySpreadConstraints[{index}]", constraint.get("topologyKey") or ""
        if key in DEPRECATED_LABELS:
            yield f"{field_path}.topologyKey: {key} is {DEPRECATED_LABELS[key]}"
        if constraint.get("labelSelector") is None:
            yield f"{field_path}.labelSelector: {_NO_PODS}"


def _affinity(affinity: JsonObject, path: str) -> Iterator[str]:
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        for index, term in enumerate(terms.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                yield f"{path}.{kind}.{_REQUIRED}[{index}].labelSelector: {_NO_PODS}"
        for index, weighted in enumerate(terms.get(_PREFERRED) or ()):
            if (weighted.get("podAffinityTerm") or {}).get("labelSelector") is None:
                yield f"{path}.{kind}.{_PREFERRED}[{index}].podAffinityTerm.labelSelector: {_NO_PODS}"


def _volume(volume: JsonObject, path: str) -> Iterator[str]:
    for name, text in _VOLUMES.items():
        if volume.get(name) is not None:
            yield f"{path}.{_SHOWN.get(name, name)}: {text}"
    template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if template is not None:
        yield from claim_warnings(template.get("spec") or {}, f"{path}.ephemeral.volumeClaimTemplate.spec")


def _overlaps(volume: JsonObject) -> Iterator[str]:
    """The warnings about files of one volume that have the same path, or of which one is in the folder of another."""
    name = quote(volume.get("name") or "")
    for kind, kind_name, key in (("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName")):
        source = volume.get(kind)
        if source is not None:
            of = f"{kind_name} {quote(source.get(key) or '')}"
            yield from _overlapping([(item.get("path") or "", "") for item in source.get("items") or ()], name, of)
    downward = volume.get("downwardAPI")
    if downward is not None:
        files = [(item.get("path") or "", "") for item in downward.get("items") or ()]
        yield from _overlapping(files, name, "DownwardAPI")
    projected = volume.get("projected")
    if projected is not None:
        sources = projected.get("sources") or ()
        for source in sources:
            if not source:
                yield f"volume {name} (Projected) has no sources provided"
        yield from _overlapping([file for source in sources for file in _files(source)], name, "Projected")


def _files(source: JsonObject) -> Iterator[tuple[str, str]]:
    """The files of a projected source, each as its path and the source in words."""
    for kind, kind_name in (("configMap", "ConfigMap"), ("secret", "Secret"), ("downwardAPI", "DownwardAPI")):
        part = source.get(kind) or {}
        of = kind_name if kind == "downwardAPI" else f"{kind_name} {quote(part.get('name') or '')}"
        for item in part.get("items") or ():
            yield item.get("path") or "", of
    if source.get("serviceAccountToken") is not None:
        yield source["serviceAccountToken"].get("path") or "", "ServiceAccountToken"
    bundle = source.get("clusterTrustBundle")
    if bundle is not None:
        yield (
            bundle.get("path") or "",
            f"ClusterTrustBundle {quote(bundle.get('name') or bundle.get('signerName') or '')}",
        )
    certificate = source.get("podCertificate") or {}
    for key, kind_name in (
        ("certificateChainPath", "chain"),
        ("keyPath", "key"),
        ("credentialBundlePath", "credential bundle"),
    ):
        if certificate.get(key):
            yield certificate[key], f"PodCertificate {kind_name}"


def _overlapping(files: list[tuple[str, str]], volume: str, kind: str) -> Iterator[str]:
    before: list[tuple[str, str]] = []
    for file, source in files:
        path = file.rstrip("/")
        for other, origin in before:
            if path and other and (f"{other}/".startswith(f"{path}/") or f"{path}/".startswith(f"{other}/")):
                this, that = (
                    f"{quote(text)} ({of})" if of else quote(text) for text, of in ((path, source), (other, origin))
                )
                yield f"volume {volume} ({kind}): overlapping paths: {this} with {that}"
        before.append((path, source))


def _repeats(spec: JsonObject, path: str) -> Iterator[str]:
    for field, key in (("hostAliases", "ip"), ("imagePullSecrets", "name")):
        previous: set[str] = set()
        for index, item in enumerate(spec.get(field) or ()):
            value = item.get(key) or ""
            if value in previous:
                yield f"{path}.{field}[{index}].{key}: duplicate {key} {quote(value)}"
            previous.add(value)
    for index, item in enumerate(spec.get("imagePullSecrets") or ()):
        if not item.get("name"):
            yield f'{path}.imagePullSecrets[{index}].name: invalid empty name ""'


def _containers(spec: JsonObject, path: str) -> Iterator[tuple[JsonObject, str]]:
    for kind in _CONTAINERS:
        for index, container in enumerate(spec.get(kind) or ()):
            yield container, f"{path}.{kind}[{index}]"


def _container(container: JsonObject, path: str, annotations: JsonObject, prefix: str) -> Iterator[str]:
    name, security = container.get("name") or "", container.get("securityContext") or {}
    if security.get("seccompProfile") is None and _SECCOMP_OF + name in annotations:
        yield f"{prefix}metadata.annotations[{_SECCOMP_OF}{name}]: {_USE_SECCOMP}"
    if prefix and security.get("appArmorProfile") is None and _APP_ARMOR + name in annotations:
        yield f"{prefix}metadata.annotations[{_APP_ARMOR}{name}]: {_USE_APP_ARMOR}"
    resources = container.get("resources") or {}
    for amount in _BYTES:
        for side in ("limits", "requests"):
            yield from fractional(resources.get(side), amount, f"{path}.resources.{side}")
    previous: set[str] = set()
    for index, variable in enumerate(container.get("env") or ()):
        key, value = variable.get("name") or "", variable.get("value") or ""
        reference = f"$({key})"
        replaces = variable.get("valueFrom") is not None or value == reference or reference not in value
        if key in previous and replaces:
            hidden = f"hides previous definition of {quote(key)}, which may be dropped when using apply"
            yield f"{path}.env[{index}]: {hidden}"
        previous.add(key)


def _ports(spec: JsonObject, path: str) -> Iterator[str]:
    ports = [
        (port, f"{place}.ports[{index}]")
        for container, place in _containers(spec, path)
        for index, port in enumerate(container.get("ports") or ())
    ]
    same: dict[tuple[int, str], list[tuple[JsonObject, str]]] = {}
    for port, field_path in ports:
        address, number = port.get("hostIP") or "", port.get("hostPort") or 0
        if address and not number:
            inner = port.get("containerPort") or 0
            port_text = f"Name:{port.get('name') or ''} HostPort:0 ContainerPort:{inner}"
            port_text += f" Protocol:{port.get('protocol') or ''} HostIP:{address}"
            yield f"{field_path}: hostIP set without hostPort: {{{port_text}}}"
        others = same.setdefault((port.get("containerPort") or 0, port.get("protocol") or ""), [])
        for other, other_place in others:
            address_there, number_there = other.get("hostIP") or "", other.get("hostPort") or 0
            if (address, number) == (address_there, number_there):
                yield f"{field_path}: duplicate port definition with {other_place}"
            elif not number or not number_there:
                yield f"{field_path}: overlapping port definition with {other_place}"
            elif number == number_there and bool(address) != bool(address_there):
                yield f"{field_path}: dangerously ambiguous port definition with {other_place}"
        others.append((port, field_path))
    names: dict[str, str] = {}
    for port, field_path in ports:
        name = port.get("name") or ""
        if name in names:
            first = names[name]
            users = f"services and probes that select ports by name will use {first}"
            yield f"{field_path}: duplicate port name {quote(name)} with {first}, {users}"
        elif name:
            names[name] = field_path
