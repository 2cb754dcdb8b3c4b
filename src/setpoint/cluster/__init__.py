"""The embedded control plane (garbage collector, namespaces, workloads, hollow nodes), written with `controller`."""

from setpoint.cluster.autoscaling import Autoscalers
from setpoint.cluster.certificates.csr_approval import KubeletRequests
from setpoint.cluster.certificates.csr_signing import OldSigningRequests, SigningRequests
from setpoint.cluster.clusterrole_aggregation import AggregatedRoles
from setpoint.cluster.control_plane import ControlPlane, HollowPods
from setpoint.cluster.controller_registry import UnknownControllerError
from setpoint.cluster.garbage_collection.garbage_collector import GarbageCollector
from setpoint.cluster.garbage_collection.pod_garbage_collector import PodGarbage
from setpoint.cluster.in_process_webhooks import LocalWebhooks
from setpoint.cluster.namespaces import DefaultServiceAccounts, NamespaceLifecycle, RootCertificates
from setpoint.cluster.networking.endpoints import ServiceEndpoints, StaleEndpoints
from setpoint.cluster.networking.load_balancers import LoadBalancers
from setpoint.cluster.nodes import (
    NEVER,
    Command,
    Connection,
    ContainerBehaviour,
    HollowKubelet,
    HollowNode,
    HollowNodes,
    NodeLifecycle,
    PodBehaviour,
    TaintEvictions,
)
from setpoint.cluster.pod_disruption_budgets import DisruptionBudgets
from setpoint.cluster.policy_type_checking import PolicyTypes
from setpoint.cluster.resource_quotas import ResourceQuotas
from setpoint.cluster.scheduling import Scheduler
from setpoint.cluster.served_resources import ServedResources
from setpoint.cluster.storage.ephemeral_volumes import EphemeralVolumes
from setpoint.cluster.storage.persistent_volumes import PersistentVolumes
from setpoint.cluster.storage.volume_binder import VolumeClaims
from setpoint.cluster.storage.volume_protection import AttributesProtection, ClaimProtection, VolumeProtection
from setpoint.cluster.storage_version_migrations import StorageMigrations
from setpoint.cluster.workloads.cronjobs import CronJobs
from setpoint.cluster.workloads.daemonsets import DaemonSets
from setpoint.cluster.workloads.deployments import Deployments
from setpoint.cluster.workloads.job_pod_tracking import JobOrphans
from setpoint.cluster.workloads.jobs import Jobs
from setpoint.cluster.workloads.replicasets import ReplicaSets, ReplicationControllers
from setpoint.cluster.workloads.statefulsets import StatefulSets
from setpoint.cluster.workloads.ttl_after_finished import FinishedJobs

__all__ = [
    "NEVER",
    "AggregatedRoles",
    "AttributesProtection",
    "Autoscalers",
    "ClaimProtection",
    "Command",
    "Connection",
    "ContainerBehaviour",
    "ControlPlane",
    "CronJobs",
    "DaemonSets",
    "DefaultServiceAccounts",
    "Deployments",
    "DisruptionBudgets",
    "EphemeralVolumes",
    "FinishedJobs",
    "GarbageCollector",
    "HollowKubelet",
    "HollowNode",
    "HollowNodes",
    "HollowPods",
    "JobOrphans",
    "Jobs",
    "KubeletRequests",
    "LoadBalancers",
    "LocalWebhooks",
    "NamespaceLifecycle",
    "NodeLifecycle",
    "OldSigningRequests",
    "PersistentVolumes",
    "PodBehaviour",
    "PodGarbage",
    "PolicyTypes",
    "ReplicaSets",
    "ReplicationControllers",
    "ResourceQuotas",
    "RootCertificates",
    "Scheduler",
    "ServedResources",
    "ServiceEndpoints",
    "SigningRequests",
    "StaleEndpoints",
    "StatefulSets",
    "StorageMigrations",
    "TaintEvictions",
    "UnknownControllerError",
    "VolumeClaims",
    "VolumeProtection",
]
