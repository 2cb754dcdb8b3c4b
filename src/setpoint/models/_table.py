# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""Every built-in resource: data, no models. The group's package is where its definitions are."""

from __future__ import annotations

from typing import Final

from setpoint.meta import GroupVersionKind, Resource

KUBERNETES: Final = "1.37"

CORE_V1_BINDING: Final = Resource(
    group="",
    version="v1",
    kind="Binding",
    plural="bindings",
    singular="binding",
    verbs=("create",),
)
CORE_V1_COMPONENT_STATUS: Final = Resource(
    group="",
    version="v1",
    kind="ComponentStatus",
    plural="componentstatuses",
    namespaced=False,
    singular="componentstatus",
    list_kind="ComponentStatusList",
    short_names=("cs",),
    verbs=("get", "list"),
)
CORE_V1_CONFIG_MAP: Final = Resource(
    group="",
    version="v1",
    kind="ConfigMap",
    plural="configmaps",
    singular="configmap",
    list_kind="ConfigMapList",
    short_names=("cm",),
)
CORE_V1_ENDPOINTS: Final = Resource(
    group="",
    version="v1",
    kind="Endpoints",
    plural="endpoints",
    singular="endpoints",
    list_kind="EndpointsList",
    short_names=("ep",),
)
CORE_V1_EVENT: Final = Resource(
    group="",
    version="v1",
    kind="Event",
    plural="events",
    singular="event",
    list_kind="EventList",
    short_names=("ev",),
)
CORE_V1_LIMIT_RANGE: Final = Resource(
    group="",
    version="v1",
    kind="LimitRange",
    plural="limitranges",
    singular="limitrange",
    list_kind="LimitRangeList",
    short_names=("limits",),
)
CORE_V1_NAMESPACE: Final = Resource(
    group="",
    version="v1",
    kind="Namespace",
    plural="namespaces",
    namespaced=False,
    singular="namespace",
    list_kind="NamespaceList",
    short_names=("ns",),
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
    subresources={
        "finalize": GroupVersionKind("", "v1", "Namespace"),
        "status": GroupVersionKind("", "v1", "Namespace"),
    },
)
CORE_V1_NODE: Final = Resource(
    group="",
    version="v1",
    kind="Node",
    plural="nodes",
    namespaced=False,
    singular="node",
    list_kind="NodeList",
    short_names=("no",),
    subresources={
        "status": GroupVersionKind("", "v1", "Node"),
    },
)
CORE_V1_PERSISTENT_VOLUME_CLAIM: Final = Resource(
    group="",
    version="v1",
    kind="PersistentVolumeClaim",
    plural="persistentvolumeclaims",
    singular="persistentvolumeclaim",
    list_kind="PersistentVolumeClaimList",
    short_names=("pvc",),
    subresources={
        "status": GroupVersionKind("", "v1", "PersistentVolumeClaim"),
    },
)
CORE_V1_PERSISTENT_VOLUME: Final = Resource(
    group="",
    version="v1",
    kind="PersistentVolume",
    plural="persistentvolumes",
    namespaced=False,
    singular="persistentvolume",
    list_kind="PersistentVolumeList",
    short_names=("pv",),
    subresources={
        "status": GroupVersionKind("", "v1", "PersistentVolume"),
    },
)
CORE_V1_POD: Final = Resource(
    group="",
    version="v1",
    kind="Pod",
    plural="pods",
    singular="pod",
    list_kind="PodList",
    short_names=("po",),
    categories=("all",),
    subresources={
        "attach": GroupVersionKind("", "v1", "PodAttachOptions"),
        "binding": GroupVersionKind("", "v1", "Binding"),
        "ephemeralcontainers": GroupVersionKind("", "v1", "Pod"),
        "eviction": GroupVersionKind("policy", "v1", "Eviction"),
        "exec": GroupVersionKind("", "v1", "PodExecOptions"),
        "log": GroupVersionKind("", "v1", "Pod"),
        "portforward": GroupVersionKind("", "v1", "PodPortForwardOptions"),
        "resize": GroupVersionKind("", "v1", "Pod"),
        "status": GroupVersionKind("", "v1", "Pod"),
    },
)
CORE_V1_POD_TEMPLATE: Final = Resource(
    group="",
    version="v1",
    kind="PodTemplate",
    plural="podtemplates",
    singular="podtemplate",
    list_kind="PodTemplateList",
)
CORE_V1_REPLICATION_CONTROLLER: Final = Resource(
    group="",
    version="v1",
    kind="ReplicationController",
    plural="replicationcontrollers",
    singular="replicationcontroller",
    list_kind="ReplicationControllerList",
    short_names=("rc",),
    categories=("all",),
    subresources={
        "scale": GroupVersionKind("autoscaling", "v1", "Scale"),
        "status": GroupVersionKind("", "v1", "ReplicationController"),
    },
)
CORE_V1_RESOURCE_QUOTA: Final = Resource(
    group="",
    version="v1",
    kind="ResourceQuota",
    plural="resourcequotas",
    singular="resourcequota",
    list_kind="ResourceQuotaList",
    short_names=("quota",),
    subresources={
        "status": GroupVersionKind("", "v1", "ResourceQuota"),
    },
)
CORE_V1_SECRET: Final = Resource(
    group="",
    version="v1",
    kind="Secret",
    plural="secrets",
    singular="secret",
    list_kind="SecretList",
)
CORE_V1_SERVICE_ACCOUNT: Final = Resource(
    group="",
    version="v1",
    kind="ServiceAccount",
    plural="serviceaccounts",
    singular="serviceaccount",
    list_kind="ServiceAccountList",
    short_names=("sa",),
    subresources={
        "token": GroupVersionKind("authentication.k8s.io", "v1", "TokenRequest"),
    },
)
CORE_V1_SERVICE: Final = Resource(
    group="",
    version="v1",
    kind="Service",
    plural="services",
    singular="service",
    list_kind="ServiceList",
    short_names=("svc",),
    categories=("all",),
    subresources={
        "status": GroupVersionKind("", "v1", "Service"),
    },
)
ADMISSIONREGISTRATION_V1_MUTATING_ADMISSION_POLICY: Final = Resource(
    group="admissionregistration.k8s.io",
    version="v1",
    kind="MutatingAdmissionPolicy",
    plural="mutatingadmissionpolicies",
    namespaced=False,
    singular="mutatingadmissionpolicy",
    list_kind="MutatingAdmissionPolicyList",
    categories=("api-extensions",),
)
ADMISSIONREGISTRATION_V1_MUTATING_ADMISSION_POLICY_BINDING: Final = Resource(
    group="admissionregistration.k8s.io",
    version="v1",
    kind="MutatingAdmissionPolicyBinding",
    plural="mutatingadmissionpolicybindings",
    namespaced=False,
    singular="mutatingadmissionpolicybinding",
    list_kind="MutatingAdmissionPolicyBindingList",
    categories=("api-extensions",),
)
ADMISSIONREGISTRATION_V1_MUTATING_WEBHOOK_CONFIGURATION: Final = Resource(
    group="admissionregistration.k8s.io",
    version="v1",
    kind="MutatingWebhookConfiguration",
    plural="mutatingwebhookconfigurations",
    namespaced=False,
    singular="mutatingwebhookconfiguration",
    list_kind="MutatingWebhookConfigurationList",
    categories=("api-extensions",),
)
ADMISSIONREGISTRATION_V1_VALIDATING_ADMISSION_POLICY: Final = Resource(
    group="admissionregistration.k8s.io",
    version="v1",
    kind="ValidatingAdmissionPolicy",
    plural="validatingadmissionpolicies",
    namespaced=False,
    singular="validatingadmissionpolicy",
    list_kind="ValidatingAdmissionPolicyList",
    categories=("api-extensions",),
    subresources={
        "status": GroupVersionKind("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy"),
    },
)
ADMISSIONREGISTRATION_V1_VALIDATING_ADMISSION_POLICY_BINDING: Final = Resource(
    group="admissionregistration.k8s.io",
    version="v1",
    kind="ValidatingAdmissionPolicyBinding",
    plural="validatingadmissionpolicybindings",
    namespaced=False,
    singular="validatingadmissionpolicybinding",
    list_kind="ValidatingAdmissionPolicyBindingList",
    categories=("api-extensions",),
)
ADMISSIONREGISTRATION_V1_VALIDATING_WEBHOOK_CONFIGURATION: Final = Resource(
    group="admissionregistration.k8s.io",
    version="v1",
    kind="ValidatingWebhookConfiguration",
    plural="validatingwebhookconfigurations",
    namespaced=False,
    singular="validatingwebhookconfiguration",
    list_kind="ValidatingWebhookConfigurationList",
    categories=("api-extensions",),
)
ADMISSIONREGISTRATION_V1ALPHA1_MUTATING_ADMISSION_POLICY: Final = Resource(
    group="admissionregistration.k8s.io",
    version="v1alpha1",
    kind="MutatingAdmissionPolicy",
    plural="mutatingadmissionpolicies",
    namespaced=False,
    singular="mutatingadmissionpolicy",
    list_kind="MutatingAdmissionPolicyList",
    categories=("api-extensions",),
)
ADMISSIONREGISTRATION_V1ALPHA1_MUTATING_ADMISSION_POLICY_BINDING: Final = Resource(
    group="admissionregistration.k8s.io",
    version="v1alpha1",
    kind="MutatingAdmissionPolicyBinding",
    plural="mutatingadmissionpolicybindings",
    namespaced=False,
    singular="mutatingadmissionpolicybinding",
    list_kind="MutatingAdmissionPolicyBindingList",
    categories=("api-extensions",),
)
ADMISSIONREGISTRATION_V1BETA1_MUTATING_ADMISSION_POLICY: Final = Resource(
    group="admissionregistration.k8s.io",
    version="v1beta1",
    kind="MutatingAdmissionPolicy",
    plural="mutatingadmissionpolicies",
    namespaced=False,
    singular="mutatingadmissionpolicy",
    list_kind="MutatingAdmissionPolicyList",
    categories=("api-extensions",),
)
ADMISSIONREGISTRATION_V1BETA1_MUTATING_ADMISSION_POLICY_BINDING: Final = Resource(
    group="admissionregistration.k8s.io",
    version="v1beta1",
    kind="MutatingAdmissionPolicyBinding",
    plural="mutatingadmissionpolicybindings",
    namespaced=False,
    singular="mutatingadmissionpolicybinding",
    list_kind="MutatingAdmissionPolicyBindingList",
    categories=("api-extensions",),
)
APIEXTENSIONS_V1_CUSTOM_RESOURCE_DEFINITION: Final = Resource(
    group="apiextensions.k8s.io",
    version="v1",
    kind="CustomResourceDefinition",
    plural="customresourcedefinitions",
    namespaced=False,
    singular="customresourcedefinition",
    list_kind="CustomResourceDefinitionList",
    short_names=("crd", "crds"),
    categories=("api-extensions",),
    subresources={
        "status": GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
    },
)
APIREGISTRATION_V1_API_SERVICE: Final = Resource(
    group="apiregistration.k8s.io",
    version="v1",
    kind="APIService",
    plural="apiservices",
    namespaced=False,
    singular="apiservice",
    list_kind="APIServiceList",
    categories=("api-extensions",),
    subresources={
        "status": GroupVersionKind("apiregistration.k8s.io", "v1", "APIService"),
    },
)
APPS_V1_CONTROLLER_REVISION: Final = Resource(
    group="apps",
    version="v1",
    kind="ControllerRevision",
    plural="controllerrevisions",
    singular="controllerrevision",
    list_kind="ControllerRevisionList",
)
APPS_V1_DAEMON_SET: Final = Resource(
    group="apps",
    version="v1",
    kind="DaemonSet",
    plural="daemonsets",
    singular="daemonset",
    list_kind="DaemonSetList",
    short_names=("ds",),
    categories=("all",),
    subresources={
        "status": GroupVersionKind("apps", "v1", "DaemonSet"),
    },
)
APPS_V1_DEPLOYMENT: Final = Resource(
    group="apps",
    version="v1",
    kind="Deployment",
    plural="deployments",
    singular="deployment",
    list_kind="DeploymentList",
    short_names=("deploy",),
    categories=("all",),
    subresources={
        "scale": GroupVersionKind("autoscaling", "v1", "Scale"),
        "status": GroupVersionKind("apps", "v1", "Deployment"),
    },
)
APPS_V1_REPLICA_SET: Final = Resource(
    group="apps",
    version="v1",
    kind="ReplicaSet",
    plural="replicasets",
    singular="replicaset",
    list_kind="ReplicaSetList",
    short_names=("rs",),
    categories=("all",),
    subresources={
        "scale": GroupVersionKind("autoscaling", "v1", "Scale"),
        "status": GroupVersionKind("apps", "v1", "ReplicaSet"),
    },
)
APPS_V1_STATEFUL_SET: Final = Resource(
    group="apps",
    version="v1",
    kind="StatefulSet",
    plural="statefulsets",
    singular="statefulset",
    list_kind="StatefulSetList",
    short_names=("sts",),
    categories=("all",),
    subresources={
        "scale": GroupVersionKind("autoscaling", "v1", "Scale"),
        "status": GroupVersionKind("apps", "v1", "StatefulSet"),
    },
)
AUTHENTICATION_V1_SELF_SUBJECT_REVIEW: Final = Resource(
    group="authentication.k8s.io",
    version="v1",
    kind="SelfSubjectReview",
    plural="selfsubjectreviews",
    namespaced=False,
    singular="selfsubjectreview",
    verbs=("create",),
)
AUTHENTICATION_V1_TOKEN_REVIEW: Final = Resource(
    group="authentication.k8s.io",
    version="v1",
    kind="TokenReview",
    plural="tokenreviews",
    namespaced=False,
    singular="tokenreview",
    verbs=("create",),
)
AUTHORIZATION_V1_LOCAL_SUBJECT_ACCESS_REVIEW: Final = Resource(
    group="authorization.k8s.io",
    version="v1",
    kind="LocalSubjectAccessReview",
    plural="localsubjectaccessreviews",
    singular="localsubjectaccessreview",
    verbs=("create",),
)
AUTHORIZATION_V1_SELF_SUBJECT_ACCESS_REVIEW: Final = Resource(
    group="authorization.k8s.io",
    version="v1",
    kind="SelfSubjectAccessReview",
    plural="selfsubjectaccessreviews",
    namespaced=False,
    singular="selfsubjectaccessreview",
    verbs=("create",),
)
AUTHORIZATION_V1_SELF_SUBJECT_RULES_REVIEW: Final = Resource(
    group="authorization.k8s.io",
    version="v1",
    kind="SelfSubjectRulesReview",
    plural="selfsubjectrulesreviews",
    namespaced=False,
    singular="selfsubjectrulesreview",
    verbs=("create",),
)
AUTHORIZATION_V1_SUBJECT_ACCESS_REVIEW: Final = Resource(
    group="authorization.k8s.io",
    version="v1",
    kind="SubjectAccessReview",
    plural="subjectaccessreviews",
    namespaced=False,
    singular="subjectaccessreview",
    verbs=("create",),
)
AUTOSCALING_V1_HORIZONTAL_POD_AUTOSCALER: Final = Resource(
    group="autoscaling",
    version="v1",
    kind="HorizontalPodAutoscaler",
    plural="horizontalpodautoscalers",
    singular="horizontalpodautoscaler",
    list_kind="HorizontalPodAutoscalerList",
    short_names=("hpa",),
    categories=("all",),
    subresources={
        "status": GroupVersionKind("autoscaling", "v1", "HorizontalPodAutoscaler"),
    },
)
AUTOSCALING_V2_HORIZONTAL_POD_AUTOSCALER: Final = Resource(
    group="autoscaling",
    version="v2",
    kind="HorizontalPodAutoscaler",
    plural="horizontalpodautoscalers",
    singular="horizontalpodautoscaler",
    list_kind="HorizontalPodAutoscalerList",
    short_names=("hpa",),
    categories=("all",),
    subresources={
        "status": GroupVersionKind("autoscaling", "v2", "HorizontalPodAutoscaler"),
    },
)
BATCH_V1_CRON_JOB: Final = Resource(
    group="batch",
    version="v1",
    kind="CronJob",
    plural="cronjobs",
    singular="cronjob",
    list_kind="CronJobList",
    short_names=("cj",),
    categories=("all",),
    subresources={
        "status": GroupVersionKind("batch", "v1", "CronJob"),
    },
)
BATCH_V1_JOB: Final = Resource(
    group="batch",
    version="v1",
    kind="Job",
    plural="jobs",
    singular="job",
    list_kind="JobList",
    categories=("all",),
    subresources={
        "status": GroupVersionKind("batch", "v1", "Job"),
    },
)
CERTIFICATES_V1_CERTIFICATE_SIGNING_REQUEST: Final = Resource(
    group="certificates.k8s.io",
    version="v1",
    kind="CertificateSigningRequest",
    plural="certificatesigningrequests",
    namespaced=False,
    singular="certificatesigningrequest",
    list_kind="CertificateSigningRequestList",
    short_names=("csr",),
    subresources={
        "approval": GroupVersionKind("certificates.k8s.io", "v1", "CertificateSigningRequest"),
        "status": GroupVersionKind("certificates.k8s.io", "v1", "CertificateSigningRequest"),
    },
)
CERTIFICATES_V1_CLUSTER_TRUST_BUNDLE: Final = Resource(
    group="certificates.k8s.io",
    version="v1",
    kind="ClusterTrustBundle",
    plural="clustertrustbundles",
    namespaced=False,
    singular="clustertrustbundle",
    list_kind="ClusterTrustBundleList",
)
CERTIFICATES_V1_POD_CERTIFICATE_REQUEST: Final = Resource(
    group="certificates.k8s.io",
    version="v1",
    kind="PodCertificateRequest",
    plural="podcertificaterequests",
    singular="podcertificaterequest",
    list_kind="PodCertificateRequestList",
    subresources={
        "status": GroupVersionKind("certificates.k8s.io", "v1", "PodCertificateRequest"),
    },
)
CERTIFICATES_V1BETA1_CLUSTER_TRUST_BUNDLE: Final = Resource(
    group="certificates.k8s.io",
    version="v1beta1",
    kind="ClusterTrustBundle",
    plural="clustertrustbundles",
    namespaced=False,
    singular="clustertrustbundle",
    list_kind="ClusterTrustBundleList",
)
CERTIFICATES_V1BETA1_POD_CERTIFICATE_REQUEST: Final = Resource(
    group="certificates.k8s.io",
    version="v1beta1",
    kind="PodCertificateRequest",
    plural="podcertificaterequests",
    singular="podcertificaterequest",
    list_kind="PodCertificateRequestList",
    subresources={
        "status": GroupVersionKind("certificates.k8s.io", "v1beta1", "PodCertificateRequest"),
    },
)
COORDINATION_V1_LEASE: Final = Resource(
    group="coordination.k8s.io",
    version="v1",
    kind="Lease",
    plural="leases",
    singular="lease",
    list_kind="LeaseList",
)
COORDINATION_V1ALPHA2_LEASE_CANDIDATE: Final = Resource(
    group="coordination.k8s.io",
    version="v1alpha2",
    kind="LeaseCandidate",
    plural="leasecandidates",
    singular="leasecandidate",
    list_kind="LeaseCandidateList",
)
COORDINATION_V1BETA1_LEASE_CANDIDATE: Final = Resource(
    group="coordination.k8s.io",
    version="v1beta1",
    kind="LeaseCandidate",
    plural="leasecandidates",
    singular="leasecandidate",
    list_kind="LeaseCandidateList",
)
DISCOVERY_V1_ENDPOINT_SLICE: Final = Resource(
    group="discovery.k8s.io",
    version="v1",
    kind="EndpointSlice",
    plural="endpointslices",
    singular="endpointslice",
    list_kind="EndpointSliceList",
)
EVENTS_V1_EVENT: Final = Resource(
    group="events.k8s.io",
    version="v1",
    kind="Event",
    plural="events",
    singular="event",
    list_kind="EventList",
    short_names=("ev",),
)
FLOWCONTROL_V1_FLOW_SCHEMA: Final = Resource(
    group="flowcontrol.apiserver.k8s.io",
    version="v1",
    kind="FlowSchema",
    plural="flowschemas",
    namespaced=False,
    singular="flowschema",
    list_kind="FlowSchemaList",
    subresources={
        "status": GroupVersionKind("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema"),
    },
)
FLOWCONTROL_V1_PRIORITY_LEVEL_CONFIGURATION: Final = Resource(
    group="flowcontrol.apiserver.k8s.io",
    version="v1",
    kind="PriorityLevelConfiguration",
    plural="prioritylevelconfigurations",
    namespaced=False,
    singular="prioritylevelconfiguration",
    list_kind="PriorityLevelConfigurationList",
    subresources={
        "status": GroupVersionKind("flowcontrol.apiserver.k8s.io", "v1", "PriorityLevelConfiguration"),
    },
)
INTERNAL_V1ALPHA1_STORAGE_VERSION: Final = Resource(
    group="internal.apiserver.k8s.io",
    version="v1alpha1",
    kind="StorageVersion",
    plural="storageversions",
    namespaced=False,
    singular="storageversion",
    list_kind="StorageVersionList",
    subresources={
        "status": GroupVersionKind("internal.apiserver.k8s.io", "v1alpha1", "StorageVersion"),
    },
)
LIFECYCLE_V1ALPHA1_EVICTION_REQUEST: Final = Resource(
    group="lifecycle.k8s.io",
    version="v1alpha1",
    kind="EvictionRequest",
    plural="evictionrequests",
    singular="evictionrequest",
    list_kind="EvictionRequestList",
    subresources={
        "status": GroupVersionKind("lifecycle.k8s.io", "v1alpha1", "EvictionRequest"),
    },
)
LIFECYCLE_V1ALPHA1_EVICTION: Final = Resource(
    group="lifecycle.k8s.io",
    version="v1alpha1",
    kind="Eviction",
    plural="evictions",
    singular="eviction",
    list_kind="EvictionList",
    subresources={
        "status": GroupVersionKind("lifecycle.k8s.io", "v1alpha1", "Eviction"),
    },
)
NETWORKING_V1_INGRESS_CLASS: Final = Resource(
    group="networking.k8s.io",
    version="v1",
    kind="IngressClass",
    plural="ingressclasses",
    namespaced=False,
    singular="ingressclass",
    list_kind="IngressClassList",
)
NETWORKING_V1_INGRESS: Final = Resource(
    group="networking.k8s.io",
    version="v1",
    kind="Ingress",
    plural="ingresses",
    singular="ingress",
    list_kind="IngressList",
    short_names=("ing",),
    subresources={
        "status": GroupVersionKind("networking.k8s.io", "v1", "Ingress"),
    },
)
NETWORKING_V1_IP_ADDRESS: Final = Resource(
    group="networking.k8s.io",
    version="v1",
    kind="IPAddress",
    plural="ipaddresses",
    namespaced=False,
    singular="ipaddress",
    list_kind="IPAddressList",
    short_names=("ip",),
)
NETWORKING_V1_NETWORK_POLICY: Final = Resource(
    group="networking.k8s.io",
    version="v1",
    kind="NetworkPolicy",
    plural="networkpolicies",
    singular="networkpolicy",
    list_kind="NetworkPolicyList",
    short_names=("netpol",),
)
NETWORKING_V1_SERVICE_CIDR: Final = Resource(
    group="networking.k8s.io",
    version="v1",
    kind="ServiceCIDR",
    plural="servicecidrs",
    namespaced=False,
    singular="servicecidr",
    list_kind="ServiceCIDRList",
    subresources={
        "status": GroupVersionKind("networking.k8s.io", "v1", "ServiceCIDR"),
    },
)
NODE_V1_RUNTIME_CLASS: Final = Resource(
    group="node.k8s.io",
    version="v1",
    kind="RuntimeClass",
    plural="runtimeclasses",
    namespaced=False,
    singular="runtimeclass",
    list_kind="RuntimeClassList",
)
POLICY_V1_POD_DISRUPTION_BUDGET: Final = Resource(
    group="policy",
    version="v1",
    kind="PodDisruptionBudget",
    plural="poddisruptionbudgets",
    singular="poddisruptionbudget",
    list_kind="PodDisruptionBudgetList",
    short_names=("pdb",),
    subresources={
        "status": GroupVersionKind("policy", "v1", "PodDisruptionBudget"),
    },
)
RBAC_V1_CLUSTER_ROLE_BINDING: Final = Resource(
    group="rbac.authorization.k8s.io",
    version="v1",
    kind="ClusterRoleBinding",
    plural="clusterrolebindings",
    namespaced=False,
    singular="clusterrolebinding",
    list_kind="ClusterRoleBindingList",
)
RBAC_V1_CLUSTER_ROLE: Final = Resource(
    group="rbac.authorization.k8s.io",
    version="v1",
    kind="ClusterRole",
    plural="clusterroles",
    namespaced=False,
    singular="clusterrole",
    list_kind="ClusterRoleList",
)
RBAC_V1_ROLE_BINDING: Final = Resource(
    group="rbac.authorization.k8s.io",
    version="v1",
    kind="RoleBinding",
    plural="rolebindings",
    singular="rolebinding",
    list_kind="RoleBindingList",
)
RBAC_V1_ROLE: Final = Resource(
    group="rbac.authorization.k8s.io",
    version="v1",
    kind="Role",
    plural="roles",
    singular="role",
    list_kind="RoleList",
)
RESOURCE_V1_DEVICE_CLASS: Final = Resource(
    group="resource.k8s.io",
    version="v1",
    kind="DeviceClass",
    plural="deviceclasses",
    namespaced=False,
    singular="deviceclass",
    list_kind="DeviceClassList",
)
RESOURCE_V1_DEVICE_TAINT_RULE: Final = Resource(
    group="resource.k8s.io",
    version="v1",
    kind="DeviceTaintRule",
    plural="devicetaintrules",
    namespaced=False,
    singular="devicetaintrule",
    list_kind="DeviceTaintRuleList",
    subresources={
        "status": GroupVersionKind("resource.k8s.io", "v1", "DeviceTaintRule"),
    },
)
RESOURCE_V1_RESOURCE_CLAIM: Final = Resource(
    group="resource.k8s.io",
    version="v1",
    kind="ResourceClaim",
    plural="resourceclaims",
    singular="resourceclaim",
    list_kind="ResourceClaimList",
    subresources={
        "status": GroupVersionKind("resource.k8s.io", "v1", "ResourceClaim"),
    },
)
RESOURCE_V1_RESOURCE_CLAIM_TEMPLATE: Final = Resource(
    group="resource.k8s.io",
    version="v1",
    kind="ResourceClaimTemplate",
    plural="resourceclaimtemplates",
    singular="resourceclaimtemplate",
    list_kind="ResourceClaimTemplateList",
)
RESOURCE_V1_RESOURCE_SLICE: Final = Resource(
    group="resource.k8s.io",
    version="v1",
    kind="ResourceSlice",
    plural="resourceslices",
    namespaced=False,
    singular="resourceslice",
    list_kind="ResourceSliceList",
)
RESOURCE_V1ALPHA3_DEVICE_TAINT_RULE: Final = Resource(
    group="resource.k8s.io",
    version="v1alpha3",
    kind="DeviceTaintRule",
    plural="devicetaintrules",
    namespaced=False,
    singular="devicetaintrule",
    list_kind="DeviceTaintRuleList",
    subresources={
        "status": GroupVersionKind("resource.k8s.io", "v1alpha3", "DeviceTaintRule"),
    },
)
RESOURCE_V1ALPHA3_RESOURCE_POOL_STATUS_REQUEST: Final = Resource(
    group="resource.k8s.io",
    version="v1alpha3",
    kind="ResourcePoolStatusRequest",
    plural="resourcepoolstatusrequests",
    namespaced=False,
    singular="resourcepoolstatusrequest",
    list_kind="ResourcePoolStatusRequestList",
    subresources={
        "status": GroupVersionKind("resource.k8s.io", "v1alpha3", "ResourcePoolStatusRequest"),
    },
)
RESOURCE_V1BETA1_DEVICE_CLASS: Final = Resource(
    group="resource.k8s.io",
    version="v1beta1",
    kind="DeviceClass",
    plural="deviceclasses",
    namespaced=False,
    singular="deviceclass",
    list_kind="DeviceClassList",
)
RESOURCE_V1BETA1_RESOURCE_CLAIM: Final = Resource(
    group="resource.k8s.io",
    version="v1beta1",
    kind="ResourceClaim",
    plural="resourceclaims",
    singular="resourceclaim",
    list_kind="ResourceClaimList",
    subresources={
        "status": GroupVersionKind("resource.k8s.io", "v1beta1", "ResourceClaim"),
    },
)
RESOURCE_V1BETA1_RESOURCE_CLAIM_TEMPLATE: Final = Resource(
    group="resource.k8s.io",
    version="v1beta1",
    kind="ResourceClaimTemplate",
    plural="resourceclaimtemplates",
    singular="resourceclaimtemplate",
    list_kind="ResourceClaimTemplateList",
)
RESOURCE_V1BETA1_RESOURCE_SLICE: Final = Resource(
    group="resource.k8s.io",
    version="v1beta1",
    kind="ResourceSlice",
    plural="resourceslices",
    namespaced=False,
    singular="resourceslice",
    list_kind="ResourceSliceList",
)
RESOURCE_V1BETA2_DEVICE_CLASS: Final = Resource(
    group="resource.k8s.io",
    version="v1beta2",
    kind="DeviceClass",
    plural="deviceclasses",
    namespaced=False,
    singular="deviceclass",
    list_kind="DeviceClassList",
)
RESOURCE_V1BETA2_DEVICE_TAINT_RULE: Final = Resource(
    group="resource.k8s.io",
    version="v1beta2",
    kind="DeviceTaintRule",
    plural="devicetaintrules",
    namespaced=False,
    singular="devicetaintrule",
    list_kind="DeviceTaintRuleList",
    subresources={
        "status": GroupVersionKind("resource.k8s.io", "v1beta2", "DeviceTaintRule"),
    },
)
RESOURCE_V1BETA2_RESOURCE_CLAIM: Final = Resource(
    group="resource.k8s.io",
    version="v1beta2",
    kind="ResourceClaim",
    plural="resourceclaims",
    singular="resourceclaim",
    list_kind="ResourceClaimList",
    subresources={
        "status": GroupVersionKind("resource.k8s.io", "v1beta2", "ResourceClaim"),
    },
)
RESOURCE_V1BETA2_RESOURCE_CLAIM_TEMPLATE: Final = Resource(
    group="resource.k8s.io",
    version="v1beta2",
    kind="ResourceClaimTemplate",
    plural="resourceclaimtemplates",
    singular="resourceclaimtemplate",
    list_kind="ResourceClaimTemplateList",
)
RESOURCE_V1BETA2_RESOURCE_SLICE: Final = Resource(
    group="resource.k8s.io",
    version="v1beta2",
    kind="ResourceSlice",
    plural="resourceslices",
    namespaced=False,
    singular="resourceslice",
    list_kind="ResourceSliceList",
)
SCHEDULING_V1_PRIORITY_CLASS: Final = Resource(
    group="scheduling.k8s.io",
    version="v1",
    kind="PriorityClass",
    plural="priorityclasses",
    namespaced=False,
    singular="priorityclass",
    list_kind="PriorityClassList",
    short_names=("pc",),
)
SCHEDULING_V1ALPHA3_COMPOSITE_POD_GROUP: Final = Resource(
    group="scheduling.k8s.io",
    version="v1alpha3",
    kind="CompositePodGroup",
    plural="compositepodgroups",
    singular="compositepodgroup",
    list_kind="CompositePodGroupList",
    subresources={
        "status": GroupVersionKind("scheduling.k8s.io", "v1alpha3", "CompositePodGroup"),
    },
)
SCHEDULING_V1ALPHA3_POD_GROUP: Final = Resource(
    group="scheduling.k8s.io",
    version="v1alpha3",
    kind="PodGroup",
    plural="podgroups",
    singular="podgroup",
    list_kind="PodGroupList",
    subresources={
        "status": GroupVersionKind("scheduling.k8s.io", "v1alpha3", "PodGroup"),
    },
)
SCHEDULING_V1ALPHA3_WORKLOAD: Final = Resource(
    group="scheduling.k8s.io",
    version="v1alpha3",
    kind="Workload",
    plural="workloads",
    singular="workload",
    list_kind="WorkloadList",
)
SCHEDULING_V1BETA1_POD_GROUP: Final = Resource(
    group="scheduling.k8s.io",
    version="v1beta1",
    kind="PodGroup",
    plural="podgroups",
    singular="podgroup",
    list_kind="PodGroupList",
    subresources={
        "status": GroupVersionKind("scheduling.k8s.io", "v1beta1", "PodGroup"),
    },
)
SCHEDULING_V1BETA1_WORKLOAD: Final = Resource(
    group="scheduling.k8s.io",
    version="v1beta1",
    kind="Workload",
    plural="workloads",
    singular="workload",
    list_kind="WorkloadList",
)
STORAGE_V1_CSI_DRIVER: Final = Resource(
    group="storage.k8s.io",
    version="v1",
    kind="CSIDriver",
    plural="csidrivers",
    namespaced=False,
    singular="csidriver",
    list_kind="CSIDriverList",
)
STORAGE_V1_CSI_NODE: Final = Resource(
    group="storage.k8s.io",
    version="v1",
    kind="CSINode",
    plural="csinodes",
    namespaced=False,
    singular="csinode",
    list_kind="CSINodeList",
    subresources={
        "status": GroupVersionKind("storage.k8s.io", "v1", "CSINode"),
    },
)
STORAGE_V1_CSI_STORAGE_CAPACITY: Final = Resource(
    group="storage.k8s.io",
    version="v1",
    kind="CSIStorageCapacity",
    plural="csistoragecapacities",
    singular="csistoragecapacity",
    list_kind="CSIStorageCapacityList",
)
STORAGE_V1_STORAGE_CLASS: Final = Resource(
    group="storage.k8s.io",
    version="v1",
    kind="StorageClass",
    plural="storageclasses",
    namespaced=False,
    singular="storageclass",
    list_kind="StorageClassList",
    short_names=("sc",),
)
STORAGE_V1_VOLUME_ATTACHMENT: Final = Resource(
    group="storage.k8s.io",
    version="v1",
    kind="VolumeAttachment",
    plural="volumeattachments",
    namespaced=False,
    singular="volumeattachment",
    list_kind="VolumeAttachmentList",
    subresources={
        "status": GroupVersionKind("storage.k8s.io", "v1", "VolumeAttachment"),
    },
)
STORAGE_V1_VOLUME_ATTRIBUTES_CLASS: Final = Resource(
    group="storage.k8s.io",
    version="v1",
    kind="VolumeAttributesClass",
    plural="volumeattributesclasses",
    namespaced=False,
    singular="volumeattributesclass",
    list_kind="VolumeAttributesClassList",
    short_names=("vac",),
)
STORAGEMIGRATION_V1_STORAGE_VERSION_MIGRATION: Final = Resource(
    group="storagemigration.k8s.io",
    version="v1",
    kind="StorageVersionMigration",
    plural="storageversionmigrations",
    namespaced=False,
    singular="storageversionmigration",
    list_kind="StorageVersionMigrationList",
    subresources={
        "status": GroupVersionKind("storagemigration.k8s.io", "v1", "StorageVersionMigration"),
    },
)
STORAGEMIGRATION_V1BETA1_STORAGE_VERSION_MIGRATION: Final = Resource(
    group="storagemigration.k8s.io",
    version="v1beta1",
    kind="StorageVersionMigration",
    plural="storageversionmigrations",
    namespaced=False,
    singular="storageversionmigration",
    list_kind="StorageVersionMigrationList",
    subresources={
        "status": GroupVersionKind("storagemigration.k8s.io", "v1beta1", "StorageVersionMigration"),
    },
)

BUILTIN: Final[tuple[Resource, ...]] = (
    CORE_V1_BINDING,
    CORE_V1_COMPONENT_STATUS,
    CORE_V1_CONFIG_MAP,
    CORE_V1_ENDPOINTS,
    CORE_V1_EVENT,
    CORE_V1_LIMIT_RANGE,
    CORE_V1_NAMESPACE,
    CORE_V1_NODE,
    CORE_V1_PERSISTENT_VOLUME_CLAIM,
    CORE_V1_PERSISTENT_VOLUME,
    CORE_V1_POD,
    CORE_V1_POD_TEMPLATE,
    CORE_V1_REPLICATION_CONTROLLER,
    CORE_V1_RESOURCE_QUOTA,
    CORE_V1_SECRET,
    CORE_V1_SERVICE_ACCOUNT,
    CORE_V1_SERVICE,
    ADMISSIONREGISTRATION_V1_MUTATING_ADMISSION_POLICY,
    ADMISSIONREGISTRATION_V1_MUTATING_ADMISSION_POLICY_BINDING,
    ADMISSIONREGISTRATION_V1_MUTATING_WEBHOOK_CONFIGURATION,
    ADMISSIONREGISTRATION_V1_VALIDATING_ADMISSION_POLICY,
    ADMISSIONREGISTRATION_V1_VALIDATING_ADMISSION_POLICY_BINDING,
    ADMISSIONREGISTRATION_V1_VALIDATING_WEBHOOK_CONFIGURATION,
    ADMISSIONREGISTRATION_V1ALPHA1_MUTATING_ADMISSION_POLICY,
    ADMISSIONREGISTRATION_V1ALPHA1_MUTATING_ADMISSION_POLICY_BINDING,
    ADMISSIONREGISTRATION_V1BETA1_MUTATING_ADMISSION_POLICY,
    ADMISSIONREGISTRATION_V1BETA1_MUTATING_ADMISSION_POLICY_BINDING,
    APIEXTENSIONS_V1_CUSTOM_RESOURCE_DEFINITION,
    APIREGISTRATION_V1_API_SERVICE,
    APPS_V1_CONTROLLER_REVISION,
    APPS_V1_DAEMON_SET,
    APPS_V1_DEPLOYMENT,
    APPS_V1_REPLICA_SET,
    APPS_V1_STATEFUL_SET,
    AUTHENTICATION_V1_SELF_SUBJECT_REVIEW,
    AUTHENTICATION_V1_TOKEN_REVIEW,
    AUTHORIZATION_V1_LOCAL_SUBJECT_ACCESS_REVIEW,
    AUTHORIZATION_V1_SELF_SUBJECT_ACCESS_REVIEW,
    AUTHORIZATION_V1_SELF_SUBJECT_RULES_REVIEW,
    AUTHORIZATION_V1_SUBJECT_ACCESS_REVIEW,
    AUTOSCALING_V1_HORIZONTAL_POD_AUTOSCALER,
    AUTOSCALING_V2_HORIZONTAL_POD_AUTOSCALER,
    BATCH_V1_CRON_JOB,
    BATCH_V1_JOB,
    CERTIFICATES_V1_CERTIFICATE_SIGNING_REQUEST,
    CERTIFICATES_V1_CLUSTER_TRUST_BUNDLE,
    CERTIFICATES_V1_POD_CERTIFICATE_REQUEST,
    CERTIFICATES_V1BETA1_CLUSTER_TRUST_BUNDLE,
    CERTIFICATES_V1BETA1_POD_CERTIFICATE_REQUEST,
    COORDINATION_V1_LEASE,
    COORDINATION_V1ALPHA2_LEASE_CANDIDATE,
    COORDINATION_V1BETA1_LEASE_CANDIDATE,
    DISCOVERY_V1_ENDPOINT_SLICE,
    EVENTS_V1_EVENT,
    FLOWCONTROL_V1_FLOW_SCHEMA,
    FLOWCONTROL_V1_PRIORITY_LEVEL_CONFIGURATION,
    INTERNAL_V1ALPHA1_STORAGE_VERSION,
    LIFECYCLE_V1ALPHA1_EVICTION_REQUEST,
    LIFECYCLE_V1ALPHA1_EVICTION,
    NETWORKING_V1_INGRESS_CLASS,
    NETWORKING_V1_INGRESS,
    NETWORKING_V1_IP_ADDRESS,
    NETWORKING_V1_NETWORK_POLICY,
    NETWORKING_V1_SERVICE_CIDR,
    NODE_V1_RUNTIME_CLASS,
    POLICY_V1_POD_DISRUPTION_BUDGET,
    RBAC_V1_CLUSTER_ROLE_BINDING,
    RBAC_V1_CLUSTER_ROLE,
    RBAC_V1_ROLE_BINDING,
    RBAC_V1_ROLE,
    RESOURCE_V1_DEVICE_CLASS,
    RESOURCE_V1_DEVICE_TAINT_RULE,
    RESOURCE_V1_RESOURCE_CLAIM,
    RESOURCE_V1_RESOURCE_CLAIM_TEMPLATE,
    RESOURCE_V1_RESOURCE_SLICE,
    RESOURCE_V1ALPHA3_DEVICE_TAINT_RULE,
    RESOURCE_V1ALPHA3_RESOURCE_POOL_STATUS_REQUEST,
    RESOURCE_V1BETA1_DEVICE_CLASS,
    RESOURCE_V1BETA1_RESOURCE_CLAIM,
    RESOURCE_V1BETA1_RESOURCE_CLAIM_TEMPLATE,
    RESOURCE_V1BETA1_RESOURCE_SLICE,
    RESOURCE_V1BETA2_DEVICE_CLASS,
    RESOURCE_V1BETA2_DEVICE_TAINT_RULE,
    RESOURCE_V1BETA2_RESOURCE_CLAIM,
    RESOURCE_V1BETA2_RESOURCE_CLAIM_TEMPLATE,
    RESOURCE_V1BETA2_RESOURCE_SLICE,
    SCHEDULING_V1_PRIORITY_CLASS,
    SCHEDULING_V1ALPHA3_COMPOSITE_POD_GROUP,
    SCHEDULING_V1ALPHA3_POD_GROUP,
    SCHEDULING_V1ALPHA3_WORKLOAD,
    SCHEDULING_V1BETA1_POD_GROUP,
    SCHEDULING_V1BETA1_WORKLOAD,
    STORAGE_V1_CSI_DRIVER,
    STORAGE_V1_CSI_NODE,
    STORAGE_V1_CSI_STORAGE_CAPACITY,
    STORAGE_V1_STORAGE_CLASS,
    STORAGE_V1_VOLUME_ATTACHMENT,
    STORAGE_V1_VOLUME_ATTRIBUTES_CLASS,
    STORAGEMIGRATION_V1_STORAGE_VERSION_MIGRATION,
    STORAGEMIGRATION_V1BETA1_STORAGE_VERSION_MIGRATION,
)

# Kinds that only a subresource exchanges: they have no address and no verbs of their own.
AUTHENTICATION_V1_TOKEN_REQUEST: Final = Resource(
    group="authentication.k8s.io",
    version="v1",
    kind="TokenRequest",
    plural="tokenrequests",
    singular="tokenrequest",
    verbs=(),
)
AUTOSCALING_V1_SCALE: Final = Resource(
    group="autoscaling",
    version="v1",
    kind="Scale",
    plural="scales",
    singular="scale",
    verbs=(),
)
POLICY_V1_EVICTION: Final = Resource(
    group="policy",
    version="v1",
    kind="Eviction",
    plural="evictions",
    singular="eviction",
    verbs=(),
)

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
