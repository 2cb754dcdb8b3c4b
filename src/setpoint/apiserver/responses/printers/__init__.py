"""The printers that show built-in resources as tables. Each resource has one printer, for all versions of its group.

The columns, their order and the contents of their cells are upstream's, because people read them daily and scripts
parse them (``pkg/printers/internalversion`` in kubernetes/kubernetes).
"""

from __future__ import annotations

from setpoint.apiserver.responses.printers import (
    core,
    definitions,
    events,
    network,
    pods,
    policy,
    storage,
    usage,
    workloads,
)
from setpoint.apiserver.responses.printers.printer import DEFAULT, NAME_AND_AGE, Column, Printer
from setpoint.meta import GroupResource

_PRINTERS: dict[str, Printer] = {
    "componentstatuses": core.COMPONENT_STATUSES,
    "configmaps": core.CONFIG_MAPS,
    "endpoints": network.ENDPOINTS,
    "events": events.EVENTS,
    "namespaces": core.NAMESPACES,
    "nodes": core.NODES,
    "persistentvolumeclaims": storage.CLAIMS,
    "persistentvolumes": storage.VOLUMES,
    "pods": pods.PODS,
    "podtemplates": pods.POD_TEMPLATES,
    "replicationcontrollers": workloads.REPLICATION_CONTROLLERS,
    "resourcequotas": core.RESOURCE_QUOTAS,
    "secrets": core.SECRETS,
    "serviceaccounts": core.SERVICE_ACCOUNTS,
    "services": network.SERVICES,
    "mutatingadmissionpolicies.admissionregistration.k8s.io": policy.MUTATING_POLICIES,
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": policy.POLICY_BINDINGS,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": core.MUTATING_WEBHOOKS,
    "validatingadmissionpolicies.admissionregistration.k8s.io": policy.VALIDATING_POLICIES,
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": policy.POLICY_BINDINGS,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": core.VALIDATING_WEBHOOKS,
    "customresourcedefinitions.apiextensions.k8s.io": definitions.DEFINITIONS,
    "apiservices.apiregistration.k8s.io": core.API_SERVICES,
    "controllerrevisions.apps": workloads.CONTROLLER_REVISIONS,
    "daemonsets.apps": workloads.DAEMON_SETS,
    "deployments.apps": workloads.DEPLOYMENTS,
    "replicasets.apps": workloads.REPLICA_SETS,
    "statefulsets.apps": workloads.STATEFUL_SETS,
    "horizontalpodautoscalers.autoscaling": workloads.AUTOSCALERS,
    "cronjobs.batch": workloads.CRON_JOBS,
    "jobs.batch": workloads.JOBS,
    "certificatesigningrequests.certificates.k8s.io": policy.SIGNING_REQUESTS,
    "clustertrustbundles.certificates.k8s.io": policy.TRUST_BUNDLES,
    "leasecandidates.coordination.k8s.io": core.LEASE_CANDIDATES,
    "leases.coordination.k8s.io": core.LEASES,
    "endpointslices.discovery.k8s.io": network.ENDPOINT_SLICES,
    "events.events.k8s.io": events.EVENTS,
    "flowschemas.flowcontrol.apiserver.k8s.io": policy.FLOW_SCHEMAS,
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": policy.PRIORITY_LEVELS,
    "storageversions.internal.apiserver.k8s.io": policy.STORAGE_VERSIONS,
    "nodes.metrics.k8s.io": usage.NODE_METRICS,
    "pods.metrics.k8s.io": usage.POD_METRICS,
    "ingressclasses.networking.k8s.io": network.INGRESS_CLASSES,
    "ingresses.networking.k8s.io": network.INGRESSES,
    "ipaddresses.networking.k8s.io": network.IP_ADDRESSES,
    "networkpolicies.networking.k8s.io": network.NETWORK_POLICIES,
    "servicecidrs.networking.k8s.io": network.SERVICE_CIDRS,
    "runtimeclasses.node.k8s.io": core.RUNTIME_CLASSES,
    "poddisruptionbudgets.policy": workloads.DISRUPTION_BUDGETS,
    "clusterrolebindings.rbac.authorization.k8s.io": policy.CLUSTER_ROLE_BINDINGS,
    "rolebindings.rbac.authorization.k8s.io": policy.ROLE_BINDINGS,
    "deviceclasses.resource.k8s.io": NAME_AND_AGE,
    "resourceclaims.resource.k8s.io": policy.RESOURCE_CLAIMS,
    "resourceclaimtemplates.resource.k8s.io": NAME_AND_AGE,
    "resourceslices.resource.k8s.io": policy.RESOURCE_SLICES,
    "priorityclasses.scheduling.k8s.io": core.PRIORITY_CLASSES,
    "csidrivers.storage.k8s.io": storage.CSI_DRIVERS,
    "csinodes.storage.k8s.io": storage.CSI_NODES,
    "storageclasses.storage.k8s.io": storage.STORAGE_CLASSES,
    "volumeattachments.storage.k8s.io": storage.ATTACHMENTS,
    "volumeattributesclasses.storage.k8s.io": storage.ATTRIBUTES_CLASSES,
    "devicetaintrules.resource.k8s.io": policy.DEVICE_TAINT_RULES,
    "storageversionmigrations.storagemigration.k8s.io": policy.STORAGE_VERSION_MIGRATIONS,
}


def printer_of(resource: GroupResource) -> Printer:
    """The printer for a built-in resource. A resource without a printer of its own is shown with its name and creation
    time.
    """
    return _PRINTERS.get(str(resource), DEFAULT)


__all__ = ["DEFAULT", "Column", "Printer", "printer_of"]
