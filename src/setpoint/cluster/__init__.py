"""The embedded control plane (garbage collector, namespaces, workloads, hollow nodes), written with `controller`."""

from setpoint.cluster.autoscaling import Autoscalers
from setpoint.cluster.catalog import UnknownControllerError
from setpoint.cluster.control_plane import ControlPlane
from setpoint.cluster.cronjobs import CronJobs
from setpoint.cluster.daemonsets import DaemonSets
from setpoint.cluster.deployments import Deployments
from setpoint.cluster.disruption_budgets import DisruptionBudgets
from setpoint.cluster.endpoints import ServiceEndpoints, StaleEndpoints
from setpoint.cluster.ephemeral_volumes import EphemeralVolumes
from setpoint.cluster.finished_jobs import FinishedJobs
from setpoint.cluster.garbage_collector import GarbageCollector
from setpoint.cluster.job_pods import JobOrphans
from setpoint.cluster.jobs import Jobs
from setpoint.cluster.kubelet_requests import KubeletRequests
from setpoint.cluster.load_balancers import LoadBalancers
from setpoint.cluster.local_webhooks import LocalWebhooks
from setpoint.cluster.namespaces import DefaultServiceAccounts, NamespaceLifecycle, RootCertificates
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
from setpoint.cluster.persistent_volumes import PersistentVolumes
from setpoint.cluster.pod_garbage import PodGarbage
from setpoint.cluster.policy_types import PolicyTypes
from setpoint.cluster.replicasets import ReplicaSets, ReplicationControllers
from setpoint.cluster.resource_quotas import ResourceQuotas
from setpoint.cluster.resources import ServedResources
from setpoint.cluster.role_aggregation import AggregatedRoles
from setpoint.cluster.scheduling import Scheduler
from setpoint.cluster.signing_requests import OldSigningRequests, SigningRequests
from setpoint.cluster.statefulsets import StatefulSets
from setpoint.cluster.storage_migrations import StorageMigrations
from setpoint.cluster.volume_claims import VolumeClaims
from setpoint.cluster.volume_protection import AttributesProtection, ClaimProtection, VolumeProtection

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
