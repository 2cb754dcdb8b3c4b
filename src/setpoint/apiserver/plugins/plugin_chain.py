"""The chain of plugins: which plugins see which resources, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from setpoint.apiserver.plugins.default_classes import default_ingress_class, default_storage_class, resize_claim
from setpoint.apiserver.plugins.default_tolerations import tolerate
from setpoint.apiserver.plugins.limit_ranger import check_limits, default_limits
from setpoint.apiserver.plugins.owner_references import OWNER_REFERENCES, check_owner_references
from setpoint.apiserver.plugins.pod_resize import check_allocatable, check_declared_features
from setpoint.apiserver.plugins.pod_security import TEMPLATES, check_namespace, check_pod, check_template
from setpoint.apiserver.plugins.priority import prioritize, validate_priority_class
from setpoint.apiserver.plugins.resource_quota import check_quotas
from setpoint.apiserver.plugins.runtime_class import apply_runtime_class, validate_overhead
from setpoint.apiserver.plugins.service_account import mount_token, name_account
from setpoint.apiserver.plugins.signers import check_approval, check_attestation, check_signing, check_subject
from setpoint.apiserver.plugins.storage_protection import PROTECTED, protect
from setpoint.apiserver.plugins.taint_nodes import taint
from setpoint.apiserver.plugins.topology_labels import copy_topology
from setpoint.apiserver.requests.admission import AdmissionAttributes, Asked
from setpoint.apiserver.resources.registry import ServedResource

Plugin = Callable[[AdmissionAttributes], None]

# Upstream's order: kubeapiserver/options/plugins.go
MUTATING: Final[Mapping[str, tuple[Plugin, ...]]] = {
    "pods": (default_limits, name_account, mount_token, prioritize, tolerate, apply_runtime_class, copy_topology),
    "nodes": (taint,),
    "persistentvolumeclaims": (default_storage_class, protect),
    **{collection: (protect,) for collection in PROTECTED if collection != "persistentvolumeclaims"},
    "ingresses.networking.k8s.io": (default_ingress_class,),
}
VALIDATING: Final[Mapping[str, tuple[Plugin, ...]]] = {
    "pods": (check_limits, check_pod, validate_overhead, check_declared_features, check_allocatable),
    "namespaces": (check_namespace,),
    **dict.fromkeys(TEMPLATES, (check_template,)),
    "persistentvolumeclaims": (check_limits, resize_claim),
    "priorityclasses.scheduling.k8s.io": (validate_priority_class,),
    "certificatesigningrequests.certificates.k8s.io": (check_approval, check_signing, check_subject),
    "clustertrustbundles.certificates.k8s.io": (check_attestation,),
}


QUOTAS: Final = "ResourceQuota"
_NAMES: Final[Mapping[Plugin, str]] = {
    default_limits: "LimitRanger",
    check_limits: "LimitRanger",
    name_account: "ServiceAccount",
    mount_token: "ServiceAccount",
    taint: "TaintNodesByCondition",
    prioritize: "Priority",
    validate_priority_class: "Priority",
    tolerate: "DefaultTolerationSeconds",
    apply_runtime_class: "RuntimeClass",
    validate_overhead: "RuntimeClass",
    default_storage_class: "DefaultStorageClass",
    resize_claim: "PersistentVolumeClaimResize",
    protect: "StorageObjectInUseProtection",
    default_ingress_class: "DefaultIngressClass",
    check_pod: "PodSecurity",
    check_namespace: "PodSecurity",
    check_template: "PodSecurity",
    check_approval: "CertificateApproval",
    check_signing: "CertificateSigning",
    check_subject: "CertificateSubjectRestriction",
    check_attestation: "ClusterTrustBundleAttest",
    copy_topology: "PodTopologyLabels",
    check_declared_features: "NodeDeclaredFeatureValidator",
    check_allocatable: "PodResizeValidator",
}
"""The names of the plugins in upstream, by which they can be turned off."""


def mutates(call: Asked, served: ServedResource) -> bool:
    """Whether any plugin may change an object of the resource."""
    chain = MUTATING.get(served.name)
    return chain is not None and any(_NAMES[plugin] not in call.plugins_off for plugin in chain)


def mutate(attributes: AdmissionAttributes) -> None:
    """Runs the mutating plugins, before the mutating webhooks. Raises ApiStatusError."""
    _run(MUTATING, attributes, attributes.call.plugins_off)


def validate(attributes: AdmissionAttributes) -> None:
    """Runs the validating plugins, after all mutation and before validating policies and webhooks. Raises
    ApiStatusError.
    """
    off = attributes.call.plugins_off
    _run(VALIDATING, attributes, off)
    if OWNER_REFERENCES not in off:
        check_owner_references(attributes)


def charge_quotas(attributes: AdmissionAttributes) -> None:
    """Checks the object against quotas, after everything else that may refuse it, because quotas count objects. Raises
    ApiStatusError.
    """
    if QUOTAS not in attributes.call.plugins_off:
        check_quotas(attributes)


def _run(plugins: Mapping[str, tuple[Plugin, ...]], attributes: AdmissionAttributes, off: Collection[str]) -> None:
    for plugin in plugins.get(attributes.served.name, ()):
        if _NAMES[plugin] not in off:
            plugin(attributes)
