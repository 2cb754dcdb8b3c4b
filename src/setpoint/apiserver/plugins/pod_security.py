"""PodSecurity: the labels of a namespace determine which Pod Security Standards are enforced for its pods and which
only lead to warnings or audit annotations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from setpoint.apiserver.errors import invalid as refused
from setpoint.apiserver.objects.codec import decode
from setpoint.apiserver.plugins.pod_standards import LEVELS, NEWEST, violations
from setpoint.apiserver.requests.admission import AdmissionAttributes
from setpoint.meta import GroupKind
from setpoint.schema import FieldError
from setpoint.schema.errors import invalid

JsonObject = dict[str, Any]

_PREFIX: Final = "pod-security.kubernetes.io/"
_MARK: Final = _PREFIX.encode()
_VERSION: Final = re.compile(r"v1\.([0-9]|[1-9][0-9]*)")
_IMAGES: Final = ("containers", "initContainers")
_MOST_PODS: Final = 3000
TEMPLATES: Final[dict[str, tuple[str, ...]]] = {
    "podtemplates": ("template",),
    "replicationcontrollers": ("spec", "template"),
    "replicasets.apps": ("spec", "template"),
    "deployments.apps": ("spec", "template"),
    "statefulsets.apps": ("spec", "template"),
    "daemonsets.apps": ("spec", "template"),
    "jobs.batch": ("spec", "template"),
    "cronjobs.batch": ("spec", "jobTemplate", "spec", "template"),
}
"""The path of the pod template in each kind that has one."""


class _Standard(msgspec.Struct, frozen=True):
    """A level with its version, such as ``restricted:latest``."""

    level: str = "privileged"
    version: str = "latest"

    def __str__(self) -> str:
        return f"{self.level}:{self.version}"

    def broken_by(self, metadata: JsonObject, spec: JsonObject) -> list[tuple[str, str]]:
        """The reasons why a pod violates the standard, with details."""
        minor = NEWEST if self.version == "latest" else int(self.version.partition(".")[2])
        return violations(self.level, minor, metadata, spec)


class _Policy(msgspec.Struct, frozen=True):
    """The labels of a namespace, parsed; ``errors`` are the errors in the labels."""

    enforce: _Standard
    audit: _Standard
    warn: _Standard
    errors: tuple[FieldError, ...]


def _policy(labels: dict[str, str]) -> _Policy:
    errors: list[FieldError] = []
    standards = {mode: _standard(labels, mode, errors) for mode in ("enforce", "audit", "warn")}
    enforce, warn = standards["enforce"], standards["warn"]
    enforced = labels.get(f"{_PREFIX}enforce") in LEVELS
    if enforced and f"{_PREFIX}warn" not in labels and enforce.level != "privileged":
        version = warn.version if f"{_PREFIX}warn-version" in labels else enforce.version
        warn = _Standard(enforce.level, version)
    return _Policy(enforce, standards["audit"], warn, tuple(errors))


def _standard(labels: dict[str, str], mode: str, errors: list[FieldError]) -> _Standard:
    level, version = labels.get(f"{_PREFIX}{mode}"), labels.get(f"{_PREFIX}{mode}-version")
    if level is not None and level not in LEVELS:
        text = f"must be one of {', '.join(LEVELS)}"
        errors.append(invalid(f"metadata.labels[{_PREFIX}{mode}]", level, text))
        level = "restricted" if mode == "enforce" else "privileged"
    if version is not None and version != "latest" and not _VERSION.fullmatch(version):
        text = 'must be "latest" or "v1.x"'
        errors.append(invalid(f"metadata.labels[{_PREFIX}{mode}-version]", version, text))
        version = "latest"
    return _Standard(level or "privileged", version or "latest")


def _policy_of(attributes: AdmissionAttributes) -> _Policy | None:
    """The policy of the object's namespace; None if the namespace sets no policy or does not exist."""
    record = attributes.call.storage.get("namespaces", "", attributes.namespace)
    if record is None or _MARK not in record.value:
        return None
    return _policy(decode(record.value)["metadata"].get("labels") or {})


def _details(violations: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{reason} ({detail})" if detail else reason for reason, detail in violations)


def check_namespace(attributes: AdmissionAttributes) -> None:
    """Checks the labels of a namespace; existing pods that violate a stricter level are named in warnings.

    Raises ApiStatusError (422): a label is not valid.
    """
    if attributes.subresource:
        return
    new = _policy(attributes.new["metadata"].get("labels") or {})
    before = None if attributes.old is None else _policy(attributes.old["metadata"].get("labels") or {})
    if new.errors and (before is None or new.errors != before.errors):
        raise refused(GroupKind("", "Namespace"), attributes.new["metadata"].get("name", ""), new.errors)
    if before is None or new.enforce == before.enforce or new.enforce.level == "privileged":
        return
    milder = LEVELS.index(new.enforce.level) <= LEVELS.index(before.enforce.level)
    if new.enforce.version != before.enforce.version or not milder:
        for text in _warnings(attributes, new.enforce):
            attributes.call.warn(text)


def _warnings(attributes: AdmissionAttributes, standard: _Standard) -> list[str]:
    """The warnings for existing pods, with equal reasons combined."""
    namespace = attributes.new["metadata"]["name"]
    pods = [*attributes.stored("pods", namespace)]
    pods_by_reason: dict[str, list[str]] = {}
    for pod in pods[:_MOST_PODS]:
        broken = standard.broken_by(pod["metadata"], pod.get("spec") or {})
        if broken:
            pods_by_reason.setdefault(", ".join(reason for reason, _ in broken), []).append(pod["metadata"]["name"])
    warnings = []
    if len(pods) > _MOST_PODS:
        text = f"new PodSecurity enforce level only checked against the first {_MOST_PODS} of {len(pods)} existing pods"
        warnings.append(text)
    if pods_by_reason:
        text = f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce level "{standard}"'
        warnings.append(text)
    lines = []
    for reasons, names in pods_by_reason.items():
        others = len(names) - 1
        more = f" (and {others} other pod{'s' if others > 1 else ''})" if others else ""
        lines.append(f"{min(names)}{more}: {reasons}")
    return warnings + sorted(lines)


def check_pod(attributes: AdmissionAttributes) -> None:
    """Refuses a pod that violates the level that its namespace enforces; violations of the other two levels lead to
    warnings and audit annotations. Raises ApiStatusError (403).
    """
    if attributes.subresource not in ("", "ephemeralcontainers", "resize"):
        return
    policy = _policy_of(attributes)
    if policy is None or (attributes.old is not None and not _other_images(attributes.spec, attributes.old["spec"])):
        return
    _evaluate(attributes, policy, attributes.new["metadata"], attributes.spec, enforce=True)


def _other_images(new: JsonObject, old: JsonObject) -> bool:
    """Whether an update of a pod changes images or adds containers; other updates are not checked."""
    for kind in _IMAGES:
        images, old_images = ([item.get("image") for item in spec.get(kind) or ()] for spec in (new, old))
        if images != old_images:
            return True
    before = {item.get("name"): item.get("image") for item in old.get("ephemeralContainers") or ()}
    return any(before.get(item.get("name"), item) != item.get("image") for item in new.get("ephemeralContainers") or ())


def check_template(attributes: AdmissionAttributes) -> None:
    """Adds warnings and audit annotations if pods of a template would violate a level of their namespace; refuses
    nothing.
    """
    policy = None if attributes.subresource else _policy_of(attributes)
    if policy is None:
        return
    template = attributes.new
    for step in TEMPLATES[attributes.served.name]:
        template = template.get(step) or {}
    _evaluate(attributes, policy, template.get("metadata") or {}, template.get("spec") or {}, enforce=False)


def _evaluate(
    attributes: AdmissionAttributes, policy: _Policy, metadata: JsonObject, spec: JsonObject, *, enforce: bool
) -> None:
    call = attributes.call
    if policy.errors:
        errors = "; ".join(str(error) for error in policy.errors)
        call.annotate(f"{_PREFIX}error", f"Failed to parse policy: {errors}")
    results: dict[_Standard, list[tuple[str, str]]] = {}

    def broken(standard: _Standard) -> list[tuple[str, str]]:
        if standard not in results:
            results[standard] = standard.broken_by(metadata, spec)
        return results[standard]

    if enforce:
        call.annotate(f"{_PREFIX}enforce-policy", str(policy.enforce))
    if found_by_audit := broken(policy.audit):
        text = f'would violate PodSecurity "{policy.audit}": {_details(found_by_audit)}'
        call.annotate(f"{_PREFIX}audit-violations", text)
    if enforce and (found_by_level := broken(policy.enforce)):
        raise attributes.forbidden(f'violates PodSecurity "{policy.enforce}": {_details(found_by_level)}')
    if violations := broken(policy.warn):
        call.warn(f'would violate PodSecurity "{policy.warn}": {_details(violations)}')
