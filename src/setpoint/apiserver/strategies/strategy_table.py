"""The table of built-in resources and their strategies."""

from __future__ import annotations

from typing import Final

from setpoint.apiserver.resources.strategy import METADATA, Strategy
from setpoint.apiserver.strategies import apps, core_kinds, device_kinds, small_kinds
from setpoint.apiserver.strategies.autoscaling import Autoscalers
from setpoint.apiserver.strategies.batch import CronJobs, Jobs
from setpoint.apiserver.strategies.certificates import SigningRequests
from setpoint.apiserver.strategies.definitions import Definitions
from setpoint.apiserver.strategies.disruption_budgets import DisruptionBudgets
from setpoint.apiserver.strategies.flow_schemas import FlowSchemas, PriorityLevels
from setpoint.apiserver.strategies.namespaces import Namespaces
from setpoint.apiserver.strategies.pods import Pods
from setpoint.apiserver.strategies.policies import AdmissionPolicies, PolicyBindings
from setpoint.apiserver.strategies.roles import Bindings, Roles
from setpoint.apiserver.strategies.services import Services
from setpoint.apiserver.strategies.trust_bundles import TrustBundles
from setpoint.apiserver.strategies.webhooks import WebhookConfigurations

VERSIONED: Final = frozenset(
    {
        "mutatingadmissionpolicies.admissionregistration.k8s.io",
        "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "customresourcedefinitions.apiextensions.k8s.io",
        "apiservices.apiregistration.k8s.io",
        "clustertrustbundles.certificates.k8s.io",
        "podcertificaterequests.certificates.k8s.io",
        "leases.coordination.k8s.io",
        "devicetaintrules.resource.k8s.io",
        "leasecandidates.coordination.k8s.io",
        "storageversions.internal.apiserver.k8s.io",
        "evictionrequests.lifecycle.k8s.io",
        "evictions.lifecycle.k8s.io",
        "runtimeclasses.node.k8s.io",
        "poddisruptionbudgets.policy",
        "resourcepoolstatusrequests.resource.k8s.io",
        "compositepodgroups.scheduling.k8s.io",
        "podgroups.scheduling.k8s.io",
        "workloads.scheduling.k8s.io",
        "csidrivers.storage.k8s.io",
        "csinodes.storage.k8s.io",
        "csistoragecapacities.storage.k8s.io",
        "volumeattachments.storage.k8s.io",
        "storageversionmigrations.storagemigration.k8s.io",
    }
)
"""The resources whose updates must have a resourceVersion (upstream's AllowUnconditionalUpdate)."""


def _with(
    *,
    generation: bool = False,
    returns_deleted: bool = False,
    status_keeps: tuple[str, ...] = (),
) -> Strategy:
    strategy = Strategy()
    strategy.returns_deleted = returns_deleted
    strategy.generation = generation
    strategy.status_keeps = status_keeps
    return strategy


STRATEGIES: Final[dict[str, Strategy]] = {
    "configmaps": core_kinds.ConfigMaps(),
    "events": core_kinds.Events(),
    "namespaces": Namespaces(),
    "nodes": core_kinds.Nodes(),
    "pods": Pods(),
    "secrets": core_kinds.Secrets(),
    "customresourcedefinitions.apiextensions.k8s.io": Definitions(),
    "certificatesigningrequests.certificates.k8s.io": SigningRequests(),
    "clustertrustbundles.certificates.k8s.io": TrustBundles(),
    "horizontalpodautoscalers.autoscaling": Autoscalers(),
    "daemonsets.apps": apps.DaemonSets(),
    "deployments.apps": apps.Deployments(),
    "replicasets.apps": apps.ReplicaSets(),
    "statefulsets.apps": apps.StatefulSets(),
    "leases.coordination.k8s.io": core_kinds.Leases(),
    "events.events.k8s.io": core_kinds.NewEvents(),
    "endpoints": core_kinds.Endpoints(),
    "persistentvolumeclaims": core_kinds.Claims(),
    "persistentvolumes": core_kinds.Volumes(),
    "serviceaccounts": core_kinds.Accounts(),
    "podtemplates": core_kinds.PodTemplates(),
    "replicationcontrollers": apps.ReplicationControllers(),
    "cronjobs.batch": CronJobs(),
    "jobs.batch": Jobs(),
    "limitranges": small_kinds.LimitRanges(),
    "services": Services(),
    "poddisruptionbudgets.policy": DisruptionBudgets(),
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": WebhookConfigurations(mutating=True),
    "validatingwebhookconfigurations.admissionregistration.k8s.io": WebhookConfigurations(mutating=False),
    "mutatingadmissionpolicies.admissionregistration.k8s.io": AdmissionPolicies(mutating=True),
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": PolicyBindings(mutating=True),
    "validatingadmissionpolicies.admissionregistration.k8s.io": AdmissionPolicies(mutating=False),
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": PolicyBindings(mutating=False),
    "clusterroles.rbac.authorization.k8s.io": Roles(namespaced=False),
    "clusterrolebindings.rbac.authorization.k8s.io": Bindings(namespaced=False),
    "roles.rbac.authorization.k8s.io": Roles(namespaced=True),
    "rolebindings.rbac.authorization.k8s.io": Bindings(namespaced=True),
    "ipaddresses.networking.k8s.io": small_kinds.Addresses(),
    "resourceclaims.resource.k8s.io": device_kinds.ResourceClaims(),
    "resourceclaimtemplates.resource.k8s.io": device_kinds.ClaimTemplates(),
    "resourceslices.resource.k8s.io": device_kinds.ResourceSlices(),
    "devicetaintrules.resource.k8s.io": device_kinds.TaintRules(),
    "ingressclasses.networking.k8s.io": small_kinds.IngressClasses(),
    "networkpolicies.networking.k8s.io": small_kinds.NetworkPolicies(),
    "apiservices.apiregistration.k8s.io": small_kinds.ApiServices(),
    "csidrivers.storage.k8s.io": small_kinds.Drivers(),
    "storageclasses.storage.k8s.io": small_kinds.StorageClasses(),
    "podcertificaterequests.certificates.k8s.io": small_kinds.PodCertificates(),
    "priorityclasses.scheduling.k8s.io": small_kinds.PriorityClasses(),
    "endpointslices.discovery.k8s.io": small_kinds.EndpointSlices(),
    "flowschemas.flowcontrol.apiserver.k8s.io": FlowSchemas(),
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": PriorityLevels(),
    "deviceclasses.resource.k8s.io": device_kinds.DeviceClasses(),
    **{
        name: _with(returns_deleted=True)
        for name in (
            "resourcequotas",
            "volumeattributesclasses.storage.k8s.io",
        )
    },
    **{
        name: _with(returns_deleted=True, status_keeps=METADATA)
        for name in (
            "csinodes.storage.k8s.io",
            "volumeattachments.storage.k8s.io",
        )
    },
    **{
        name: _with(status_keeps=METADATA)
        for name in (
            "servicecidrs.networking.k8s.io",
            "storageversionmigrations.storagemigration.k8s.io",
        )
    },
    **{name: _with(generation=True) for name in ("ingresses.networking.k8s.io",)},
}
