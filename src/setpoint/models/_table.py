# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""Every built-in resource: data, no models. The group's package is where its definitions are."""

from __future__ import annotations

from typing import Any, Final

from setpoint.meta import GroupVersionKind, Resource

KUBERNETES: Final = "1.37"


def _resource(
    group: str,
    version: str,
    kind: str,
    plural: str,
    *,
    own: tuple[str, ...] = (),
    other: dict[str, GroupVersionKind] | None = None,
    **options: Any,
) -> Resource:
    """A resource with the names that follow from its kind. ``own`` are the subresources that exchange the kind itself,
    ``other`` those that exchange another one.
    """
    return Resource(
        group=group,
        version=version,
        kind=kind,
        plural=plural,
        singular=kind.lower(),
        list_kind=f"{kind}List" if "list" in options.get("verbs", ("list",)) else "",
        subresources=dict(sorted((dict.fromkeys(own, GroupVersionKind(group, version, kind)) | (other or {})).items())),
        **options,
    )


CORE_V1_BINDING: Final = _resource("", "v1", "Binding", "bindings", verbs=("create",))
CORE_V1_COMPONENT_STATUS: Final = _resource(
    "", "v1", "ComponentStatus", "componentstatuses", namespaced=False, short_names=("cs",), verbs=("get", "list")
)
CORE_V1_CONFIG_MAP: Final = _resource("", "v1", "ConfigMap", "configmaps", short_names=("cm",))
CORE_V1_ENDPOINTS: Final = _resource("", "v1", "Endpoints", "endpoints", short_names=("ep",))
CORE_V1_EVENT: Final = _resource("", "v1", "Event", "events", short_names=("ev",))
CORE_V1_LIMIT_RANGE: Final = _resource("", "v1", "LimitRange", "limitranges", short_names=("limits",))
CORE_V1_NAMESPACE: Final = _resource(
    "",
    "v1",
    "Namespace",
    "namespaces",
    namespaced=False,
    short_names=("ns",),
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
    own=("finalize", "status"),
)
CORE_V1_NODE: Final = _resource("", "v1", "Node", "nodes", namespaced=False, short_names=("no",), own=("status",))
CORE_V1_PERSISTENT_VOLUME_CLAIM: Final = _resource(
    "", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", short_names=("pvc",), own=("status",)
)
CORE_V1_PERSISTENT_VOLUME: Final = _resource(
    "", "v1", "PersistentVolume", "persistentvolumes", namespaced=False, short_names=("pv",), own=("status",)
)
CORE_V1_POD: Final = _resource(
    "",
    "v1",
    "Pod",
    "pods",
    short_names=("po",),
    categories=("all",),
    own=("ephemeralcontainers", "log", "resize", "status"),
    other={
        "attach": GroupVersionKind("", "v1", "PodAttachOptions"),
        "binding": GroupVersionKind("", "v1", "Binding"),
        "eviction": GroupVersionKind("policy", "v1", "Eviction"),
        "exec": GroupVersionKind("", "v1", "PodExecOptions"),
        "portforward": GroupVersionKind("", "v1", "PodPortForwardOptions"),
    },
)
CORE_V1_POD_TEMPLATE: Final = _resource("", "v1", "PodTemplate", "podtemplates")
CORE_V1_REPLICATION_CONTROLLER: Final = _resource(
    "",
    "v1",
    "ReplicationController",
    "replicationcontrollers",
    short_names=("rc",),
    categories=("all",),
    own=("status",),
    other={"scale": GroupVersionKind("autoscaling", "v1", "Scale")},
)
CORE_V1_RESOURCE_QUOTA: Final = _resource(
    "", "v1", "ResourceQuota", "resourcequotas", short_names=("quota",), own=("status",)
)
CORE_V1_SECRET: Final = _resource("", "v1", "Secret", "secrets")
CORE_V1_SERVICE_ACCOUNT: Final = _resource(
    "",
    "v1",
    "ServiceAccount",
    "serviceaccounts",
    short_names=("sa",),
    other={"token": GroupVersionKind("authentication.k8s.io", "v1", "TokenRequest")},
)
CORE_V1_SERVICE: Final = _resource(
    "", "v1", "Service", "services", short_names=("svc",), categories=("all",), own=("status",)
)
ADMISSIONREGISTRATION_V1_MUTATING_ADMISSION_POLICY: Final = _resource(
    "admissionregistration.k8s.io",
    "v1",
    "MutatingAdmissionPolicy",
    "mutatingadmissionpolicies",
    namespaced=False,
    categories=("api-extensions",),
)
ADMISSIONREGISTRATION_V1_MUTATING_ADMISSION_POLICY_BINDING: Final = _resource(
    "admissionregistration.k8s.io",
    "v1",
    "MutatingAdmissionPolicyBinding",
    "mutatingadmissionpolicybindings",
    namespaced=False,
    categories=("api-extensions",),
)
ADMISSIONREGISTRATION_V1_MUTATING_WEBHOOK_CONFIGURATION: Final = _resource(
    "admissionregistration.k8s.io",
    "v1",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    namespaced=False,
    categories=("api-extensions",),
)
ADMISSIONREGISTRATION_V1_VALIDATING_ADMISSION_POLICY: Final = _resource(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
    namespaced=False,
    categories=("api-extensions",),
    own=("status",),
)
ADMISSIONREGISTRATION_V1_VALIDATING_ADMISSION_POLICY_BINDING: Final = _resource(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    namespaced=False,
    categories=("api-extensions",),
)
ADMISSIONREGISTRATION_V1_VALIDATING_WEBHOOK_CONFIGURATION: Final = _resource(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    namespaced=False,
    categories=("api-extensions",),
)
ADMISSIONREGISTRATION_V1ALPHA1_MUTATING_ADMISSION_POLICY: Final = _resource(
    "admissionregistration.k8s.io",
    "v1alpha1",
    "MutatingAdmissionPolicy",
    "mutatingadmissionpolicies",
    namespaced=False,
    categories=("api-extensions",),
)
ADMISSIONREGISTRATION_V1ALPHA1_MUTATING_ADMISSION_POLICY_BINDING: Final = _resource(
    "admissionregistration.k8s.io",
    "v1alpha1",
    "MutatingAdmissionPolicyBinding",
    "mutatingadmissionpolicybindings",
    namespaced=False,
    categories=("api-extensions",),
)
ADMISSIONREGISTRATION_V1BETA1_MUTATING_ADMISSION_POLICY: Final = _resource(
    "admissionregistration.k8s.io",
    "v1beta1",
    "MutatingAdmissionPolicy",
    "mutatingadmissionpolicies",
    namespaced=False,
    categories=("api-extensions",),
)
ADMISSIONREGISTRATION_V1BETA1_MUTATING_ADMISSION_POLICY_BINDING: Final = _resource(
    "admissionregistration.k8s.io",
    "v1beta1",
    "MutatingAdmissionPolicyBinding",
    "mutatingadmissionpolicybindings",
    namespaced=False,
    categories=("api-extensions",),
)
APIEXTENSIONS_V1_CUSTOM_RESOURCE_DEFINITION: Final = _resource(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
    short_names=("crd", "crds"),
    categories=("api-extensions",),
    own=("status",),
)
APIREGISTRATION_V1_API_SERVICE: Final = _resource(
    "apiregistration.k8s.io",
    "v1",
    "APIService",
    "apiservices",
    namespaced=False,
    categories=("api-extensions",),
    own=("status",),
)
APPS_V1_CONTROLLER_REVISION: Final = _resource("apps", "v1", "ControllerRevision", "controllerrevisions")
APPS_V1_DAEMON_SET: Final = _resource(
    "apps", "v1", "DaemonSet", "daemonsets", short_names=("ds",), categories=("all",), own=("status",)
)
APPS_V1_DEPLOYMENT: Final = _resource(
    "apps",
    "v1",
    "Deployment",
    "deployments",
    short_names=("deploy",),
    categories=("all",),
    own=("status",),
    other={"scale": GroupVersionKind("autoscaling", "v1", "Scale")},
)
APPS_V1_REPLICA_SET: Final = _resource(
    "apps",
    "v1",
    "ReplicaSet",
    "replicasets",
    short_names=("rs",),
    categories=("all",),
    own=("status",),
    other={"scale": GroupVersionKind("autoscaling", "v1", "Scale")},
)
APPS_V1_STATEFUL_SET: Final = _resource(
    "apps",
    "v1",
    "StatefulSet",
    "statefulsets",
    short_names=("sts",),
    categories=("all",),
    own=("status",),
    other={"scale": GroupVersionKind("autoscaling", "v1", "Scale")},
)
AUTHENTICATION_V1_SELF_SUBJECT_REVIEW: Final = _resource(
    "authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", namespaced=False, verbs=("create",)
)
AUTHENTICATION_V1_TOKEN_REVIEW: Final = _resource(
    "authentication.k8s.io", "v1", "TokenReview", "tokenreviews", namespaced=False, verbs=("create",)
)
AUTHORIZATION_V1_LOCAL_SUBJECT_ACCESS_REVIEW: Final = _resource(
    "authorization.k8s.io", "v1", "LocalSubjectAccessReview", "localsubjectaccessreviews", verbs=("create",)
)
AUTHORIZATION_V1_SELF_SUBJECT_ACCESS_REVIEW: Final = _resource(
    "authorization.k8s.io",
    "v1",
    "SelfSubjectAccessReview",
    "selfsubjectaccessreviews",
    namespaced=False,
    verbs=("create",),
)
AUTHORIZATION_V1_SELF_SUBJECT_RULES_REVIEW: Final = _resource(
    "authorization.k8s.io",
    "v1",
    "SelfSubjectRulesReview",
    "selfsubjectrulesreviews",
    namespaced=False,
    verbs=("create",),
)
AUTHORIZATION_V1_SUBJECT_ACCESS_REVIEW: Final = _resource(
    "authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False, verbs=("create",)
)
AUTOSCALING_V1_HORIZONTAL_POD_AUTOSCALER: Final = _resource(
    "autoscaling",
    "v1",
    "HorizontalPodAutoscaler",
    "horizontalpodautoscalers",
    short_names=("hpa",),
    categories=("all",),
    own=("status",),
)
AUTOSCALING_V2_HORIZONTAL_POD_AUTOSCALER: Final = _resource(
    "autoscaling",
    "v2",
    "HorizontalPodAutoscaler",
    "horizontalpodautoscalers",
    short_names=("hpa",),
    categories=("all",),
    own=("status",),
)
BATCH_V1_CRON_JOB: Final = _resource(
    "batch", "v1", "CronJob", "cronjobs", short_names=("cj",), categories=("all",), own=("status",)
)
BATCH_V1_JOB: Final = _resource("batch", "v1", "Job", "jobs", categories=("all",), own=("status",))
CERTIFICATES_V1_CERTIFICATE_SIGNING_REQUEST: Final = _resource(
    "certificates.k8s.io",
    "v1",
    "CertificateSigningRequest",
    "certificatesigningrequests",
    namespaced=False,
    short_names=("csr",),
    own=("approval", "status"),
)
CERTIFICATES_V1_CLUSTER_TRUST_BUNDLE: Final = _resource(
    "certificates.k8s.io", "v1", "ClusterTrustBundle", "clustertrustbundles", namespaced=False
)
CERTIFICATES_V1_POD_CERTIFICATE_REQUEST: Final = _resource(
    "certificates.k8s.io", "v1", "PodCertificateRequest", "podcertificaterequests", own=("status",)
)
CERTIFICATES_V1BETA1_CLUSTER_TRUST_BUNDLE: Final = _resource(
    "certificates.k8s.io", "v1beta1", "ClusterTrustBundle", "clustertrustbundles", namespaced=False
)
CERTIFICATES_V1BETA1_POD_CERTIFICATE_REQUEST: Final = _resource(
    "certificates.k8s.io", "v1beta1", "PodCertificateRequest", "podcertificaterequests", own=("status",)
)
COORDINATION_V1_LEASE: Final = _resource("coordination.k8s.io", "v1", "Lease", "leases")
COORDINATION_V1ALPHA2_LEASE_CANDIDATE: Final = _resource(
    "coordination.k8s.io", "v1alpha2", "LeaseCandidate", "leasecandidates"
)
COORDINATION_V1BETA1_LEASE_CANDIDATE: Final = _resource(
    "coordination.k8s.io", "v1beta1", "LeaseCandidate", "leasecandidates"
)
DISCOVERY_V1_ENDPOINT_SLICE: Final = _resource("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
EVENTS_V1_EVENT: Final = _resource("events.k8s.io", "v1", "Event", "events", short_names=("ev",))
FLOWCONTROL_V1_FLOW_SCHEMA: Final = _resource(
    "flowcontrol.apiserver.k8s.io", "v1", "FlowSchema", "flowschemas", namespaced=False, own=("status",)
)
FLOWCONTROL_V1_PRIORITY_LEVEL_CONFIGURATION: Final = _resource(
    "flowcontrol.apiserver.k8s.io",
    "v1",
    "PriorityLevelConfiguration",
    "prioritylevelconfigurations",
    namespaced=False,
    own=("status",),
)
INTERNAL_V1ALPHA1_STORAGE_VERSION: Final = _resource(
    "internal.apiserver.k8s.io", "v1alpha1", "StorageVersion", "storageversions", namespaced=False, own=("status",)
)
LIFECYCLE_V1ALPHA1_EVICTION_REQUEST: Final = _resource(
    "lifecycle.k8s.io", "v1alpha1", "EvictionRequest", "evictionrequests", own=("status",)
)
LIFECYCLE_V1ALPHA1_EVICTION: Final = _resource("lifecycle.k8s.io", "v1alpha1", "Eviction", "evictions", own=("status",))
NETWORKING_V1_INGRESS_CLASS: Final = _resource(
    "networking.k8s.io", "v1", "IngressClass", "ingressclasses", namespaced=False
)
NETWORKING_V1_INGRESS: Final = _resource(
    "networking.k8s.io", "v1", "Ingress", "ingresses", short_names=("ing",), own=("status",)
)
NETWORKING_V1_IP_ADDRESS: Final = _resource(
    "networking.k8s.io", "v1", "IPAddress", "ipaddresses", namespaced=False, short_names=("ip",)
)
NETWORKING_V1_NETWORK_POLICY: Final = _resource(
    "networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", short_names=("netpol",)
)
NETWORKING_V1_SERVICE_CIDR: Final = _resource(
    "networking.k8s.io", "v1", "ServiceCIDR", "servicecidrs", namespaced=False, own=("status",)
)
NODE_V1_RUNTIME_CLASS: Final = _resource("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", namespaced=False)
POLICY_V1_POD_DISRUPTION_BUDGET: Final = _resource(
    "policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", short_names=("pdb",), own=("status",)
)
RBAC_V1_CLUSTER_ROLE_BINDING: Final = _resource(
    "rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
)
RBAC_V1_CLUSTER_ROLE: Final = _resource(
    "rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False
)
RBAC_V1_ROLE_BINDING: Final = _resource("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings")
RBAC_V1_ROLE: Final = _resource("rbac.authorization.k8s.io", "v1", "Role", "roles")
RESOURCE_V1_DEVICE_CLASS: Final = _resource("resource.k8s.io", "v1", "DeviceClass", "deviceclasses", namespaced=False)
RESOURCE_V1_DEVICE_TAINT_RULE: Final = _resource(
    "resource.k8s.io", "v1", "DeviceTaintRule", "devicetaintrules", namespaced=False, own=("status",)
)
RESOURCE_V1_RESOURCE_CLAIM: Final = _resource(
    "resource.k8s.io", "v1", "ResourceClaim", "resourceclaims", own=("status",)
)
RESOURCE_V1_RESOURCE_CLAIM_TEMPLATE: Final = _resource(
    "resource.k8s.io", "v1", "ResourceClaimTemplate", "resourceclaimtemplates"
)
RESOURCE_V1_RESOURCE_SLICE: Final = _resource(
    "resource.k8s.io", "v1", "ResourceSlice", "resourceslices", namespaced=False
)
RESOURCE_V1ALPHA3_DEVICE_TAINT_RULE: Final = _resource(
    "resource.k8s.io", "v1alpha3", "DeviceTaintRule", "devicetaintrules", namespaced=False, own=("status",)
)
RESOURCE_V1ALPHA3_RESOURCE_POOL_STATUS_REQUEST: Final = _resource(
    "resource.k8s.io",
    "v1alpha3",
    "ResourcePoolStatusRequest",
    "resourcepoolstatusrequests",
    namespaced=False,
    own=("status",),
)
RESOURCE_V1BETA1_DEVICE_CLASS: Final = _resource(
    "resource.k8s.io", "v1beta1", "DeviceClass", "deviceclasses", namespaced=False
)
RESOURCE_V1BETA1_RESOURCE_CLAIM: Final = _resource(
    "resource.k8s.io", "v1beta1", "ResourceClaim", "resourceclaims", own=("status",)
)
RESOURCE_V1BETA1_RESOURCE_CLAIM_TEMPLATE: Final = _resource(
    "resource.k8s.io", "v1beta1", "ResourceClaimTemplate", "resourceclaimtemplates"
)
RESOURCE_V1BETA1_RESOURCE_SLICE: Final = _resource(
    "resource.k8s.io", "v1beta1", "ResourceSlice", "resourceslices", namespaced=False
)
RESOURCE_V1BETA2_DEVICE_CLASS: Final = _resource(
    "resource.k8s.io", "v1beta2", "DeviceClass", "deviceclasses", namespaced=False
)
RESOURCE_V1BETA2_DEVICE_TAINT_RULE: Final = _resource(
    "resource.k8s.io", "v1beta2", "DeviceTaintRule", "devicetaintrules", namespaced=False, own=("status",)
)
RESOURCE_V1BETA2_RESOURCE_CLAIM: Final = _resource(
    "resource.k8s.io", "v1beta2", "ResourceClaim", "resourceclaims", own=("status",)
)
RESOURCE_V1BETA2_RESOURCE_CLAIM_TEMPLATE: Final = _resource(
    "resource.k8s.io", "v1beta2", "ResourceClaimTemplate", "resourceclaimtemplates"
)
RESOURCE_V1BETA2_RESOURCE_SLICE: Final = _resource(
    "resource.k8s.io", "v1beta2", "ResourceSlice", "resourceslices", namespaced=False
)
SCHEDULING_V1_PRIORITY_CLASS: Final = _resource(
    "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False, short_names=("pc",)
)
SCHEDULING_V1ALPHA3_COMPOSITE_POD_GROUP: Final = _resource(
    "scheduling.k8s.io", "v1alpha3", "CompositePodGroup", "compositepodgroups", own=("status",)
)
SCHEDULING_V1ALPHA3_POD_GROUP: Final = _resource(
    "scheduling.k8s.io", "v1alpha3", "PodGroup", "podgroups", own=("status",)
)
SCHEDULING_V1ALPHA3_WORKLOAD: Final = _resource("scheduling.k8s.io", "v1alpha3", "Workload", "workloads")
SCHEDULING_V1BETA1_POD_GROUP: Final = _resource(
    "scheduling.k8s.io", "v1beta1", "PodGroup", "podgroups", own=("status",)
)
SCHEDULING_V1BETA1_WORKLOAD: Final = _resource("scheduling.k8s.io", "v1beta1", "Workload", "workloads")
STORAGE_V1_CSI_DRIVER: Final = _resource("storage.k8s.io", "v1", "CSIDriver", "csidrivers", namespaced=False)
STORAGE_V1_CSI_NODE: Final = _resource("storage.k8s.io", "v1", "CSINode", "csinodes", namespaced=False, own=("status",))
STORAGE_V1_CSI_STORAGE_CAPACITY: Final = _resource("storage.k8s.io", "v1", "CSIStorageCapacity", "csistoragecapacities")
STORAGE_V1_STORAGE_CLASS: Final = _resource(
    "storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False, short_names=("sc",)
)
STORAGE_V1_VOLUME_ATTACHMENT: Final = _resource(
    "storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments", namespaced=False, own=("status",)
)
STORAGE_V1_VOLUME_ATTRIBUTES_CLASS: Final = _resource(
    "storage.k8s.io", "v1", "VolumeAttributesClass", "volumeattributesclasses", namespaced=False, short_names=("vac",)
)
STORAGEMIGRATION_V1_STORAGE_VERSION_MIGRATION: Final = _resource(
    "storagemigration.k8s.io",
    "v1",
    "StorageVersionMigration",
    "storageversionmigrations",
    namespaced=False,
    own=("status",),
)
STORAGEMIGRATION_V1BETA1_STORAGE_VERSION_MIGRATION: Final = _resource(
    "storagemigration.k8s.io",
    "v1beta1",
    "StorageVersionMigration",
    "storageversionmigrations",
    namespaced=False,
    own=("status",),
)

BUILTIN: Final = tuple(value for value in list(globals().values()) if isinstance(value, Resource))

# Kinds that only a subresource exchanges: they have no address and no verbs of their own.
AUTHENTICATION_V1_TOKEN_REQUEST: Final = _resource(
    "authentication.k8s.io", "v1", "TokenRequest", "tokenrequests", verbs=()
)
AUTOSCALING_V1_SCALE: Final = _resource("autoscaling", "v1", "Scale", "scales", verbs=())
POLICY_V1_EVICTION: Final = _resource("policy", "v1", "Eviction", "evictions", verbs=())

PACKAGES: Final[dict[str, str]] = {
    "": "io.k8s.api.core",
    "admissionregistration.k8s.io": "io.k8s.api.admissionregistration",
    "apiextensions.k8s.io": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
    "apiregistration.k8s.io": "io.k8s.kube-aggregator.pkg.apis.apiregistration",
    "apps": "io.k8s.api.apps",
    "authentication.k8s.io": "io.k8s.api.authentication",
    "authorization.k8s.io": "io.k8s.api.authorization",
    "autoscaling": "io.k8s.api.autoscaling",
    "batch": "io.k8s.api.batch",
    "certificates.k8s.io": "io.k8s.api.certificates",
    "coordination.k8s.io": "io.k8s.api.coordination",
    "discovery.k8s.io": "io.k8s.api.discovery",
    "events.k8s.io": "io.k8s.api.events",
    "flowcontrol.apiserver.k8s.io": "io.k8s.api.flowcontrol",
    "internal.apiserver.k8s.io": "io.k8s.api.apiserverinternal",
    "lifecycle.k8s.io": "io.k8s.api.lifecycle",
    "networking.k8s.io": "io.k8s.api.networking",
    "node.k8s.io": "io.k8s.api.node",
    "policy": "io.k8s.api.policy",
    "rbac.authorization.k8s.io": "io.k8s.api.rbac",
    "resource.k8s.io": "io.k8s.api.resource",
    "scheduling.k8s.io": "io.k8s.api.scheduling",
    "storage.k8s.io": "io.k8s.api.storage",
    "storagemigration.k8s.io": "io.k8s.api.storagemigration",
}

DEFINITIONS: Final[tuple[str, ...]] = (
    "io.k8s.api.admissionregistration.v1",
    "io.k8s.api.admissionregistration.v1alpha1",
    "io.k8s.api.admissionregistration.v1beta1",
    "io.k8s.api.apiserverinternal.v1alpha1",
    "io.k8s.api.apps.v1",
    "io.k8s.api.authentication.v1",
    "io.k8s.api.authorization.v1",
    "io.k8s.api.autoscaling.v1",
    "io.k8s.api.autoscaling.v2",
    "io.k8s.api.batch.v1",
    "io.k8s.api.certificates.v1",
    "io.k8s.api.certificates.v1beta1",
    "io.k8s.api.coordination.v1",
    "io.k8s.api.coordination.v1alpha2",
    "io.k8s.api.coordination.v1beta1",
    "io.k8s.api.core.v1",
    "io.k8s.api.discovery.v1",
    "io.k8s.api.events.v1",
    "io.k8s.api.flowcontrol.v1",
    "io.k8s.api.lifecycle.v1alpha1",
    "io.k8s.api.networking.v1",
    "io.k8s.api.node.v1",
    "io.k8s.api.policy.v1",
    "io.k8s.api.rbac.v1",
    "io.k8s.api.resource.v1",
    "io.k8s.api.resource.v1alpha3",
    "io.k8s.api.resource.v1beta1",
    "io.k8s.api.resource.v1beta2",
    "io.k8s.api.scheduling.v1",
    "io.k8s.api.scheduling.v1alpha3",
    "io.k8s.api.scheduling.v1beta1",
    "io.k8s.api.storage.v1",
    "io.k8s.api.storagemigration.v1",
    "io.k8s.api.storagemigration.v1beta1",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1",
    "io.k8s.apimachinery.pkg.api.resource",
    "io.k8s.apimachinery.pkg.apis.meta.v1",
    "io.k8s.apimachinery.pkg.runtime",
    "io.k8s.apimachinery.pkg.util.intstr",
    "io.k8s.apimachinery.pkg.version",
    "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1",
)
"""The packages of all definitions, of which each has a file in ``schemas``."""
