"""The catalog of the control plane: its controllers by the names that kube-controller-manager gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, Final

import msgspec

from setpoint.cluster.autoscaling import Autoscalers
from setpoint.cluster.certificates.csr_approval import KubeletRequests
from setpoint.cluster.certificates.csr_signing import OldSigningRequests, SigningRequests
from setpoint.cluster.clusterrole_aggregation import AggregatedRoles
from setpoint.cluster.garbage_collection.pod_garbage_collector import PodGarbage
from setpoint.cluster.namespaces import DefaultServiceAccounts, NamespaceLifecycle, RootCertificates
from setpoint.cluster.networking.endpoint_mirroring import EndpointMirroring
from setpoint.cluster.networking.endpoints import ServiceEndpoints, StaleEndpoints
from setpoint.cluster.networking.load_balancers import LoadBalancers
from setpoint.cluster.nodes import NodeLifecycle, TaintEvictions
from setpoint.cluster.pod_disruption_budgets import DisruptionBudgets
from setpoint.cluster.policy_type_checking import PolicyTypes
from setpoint.cluster.resource_quotas import ResourceQuotas
from setpoint.cluster.served_resources import ServedResources
from setpoint.cluster.storage.claim_notifications import ClaimNotifications
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
from setpoint.controller import Controller
from setpoint.meta import Object
from setpoint.models.admissionregistration_v1 import ValidatingAdmissionPolicy
from setpoint.models.apps_v1 import DaemonSet, Deployment, ReplicaSet, StatefulSet
from setpoint.models.autoscaling_v2 import HorizontalPodAutoscaler
from setpoint.models.batch_v1 import CronJob, Job
from setpoint.models.certificates_v1 import CertificateSigningRequest
from setpoint.models.core_v1 import (
    Endpoints,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    ReplicationController,
    ResourceQuota,
    Service,
)
from setpoint.models.policy_v1 import PodDisruptionBudget
from setpoint.models.rbac_v1 import ClusterRole
from setpoint.models.storage_v1 import VolumeAttributesClass
from setpoint.models.storagemigration_v1 import StorageVersionMigration
from setpoint.webhook.certificate_authority import Pair

EVERYTHING: Final = ("*",)
GARBAGE_COLLECTOR: Final = "garbage-collector-controller"
BINDER: Final = "persistentvolume-binder-controller"
_SUFFIX: Final = "-controller"


class UnknownControllerError(ValueError):
    """The given name does not belong to any controller of the control plane."""


class Parts(msgspec.Struct, frozen=True):
    """The parts from which controllers are made: the resources of the server, and the certificate (PEM) of the
    certificate authority.
    """

    resources: ServedResources
    ca: str = ""
    signer: Pair | None = None
    """The authority whose certificates the server accepts from clients."""
    claims: ClaimNotifications | None = None
    """The queue through which the volume binder tells the scheduler about claims; None unless both run."""


class Entry(msgspec.Struct, frozen=True):
    """One entry of the catalog: ``make`` returns all controllers that share the entry's name.

    They start when the first object of a kind in ``wakes`` appears, or immediately if ``wakes`` is empty.
    """

    name: str
    make: Callable[[Parts], list[Controller[Any]]]
    wakes: tuple[type[Object], ...] = ()
    aliases: tuple[str, ...] = ()
    is_default: bool = True
    """Whether ``*`` selects the entry. Other entries run only if they are named."""

    def answers_to(self, name: str) -> bool:
        """Whether ``name`` refers to this entry: it is the entry's own name, with or without ``-controller``, or an
        alias.
        """
        return name in (self.name, self.name.removesuffix(_SUFFIX), *self.aliases)


ENTRIES: Final = (
    Entry(
        "certificatesigningrequest-approving-controller",
        lambda _: [KubeletRequests().controller],
        (CertificateSigningRequest,),
        ("csrapproving",),
    ),
    Entry(
        "certificatesigningrequest-cleaner-controller",
        lambda _: [OldSigningRequests().controller],
        (CertificateSigningRequest,),
        ("csrcleaner",),
    ),
    Entry(
        "certificatesigningrequest-signing-controller",
        lambda parts: [SigningRequests(parts.signer).controller],
        (CertificateSigningRequest,),
        ("csrsigning",),
    ),
    Entry("clusterrole-aggregation-controller", lambda _: [AggregatedRoles().controller], (ClusterRole,)),
    Entry("cronjob-controller", lambda _: [CronJobs().controller], (CronJob,)),
    Entry("daemonset-controller", lambda _: [DaemonSets().controller], (DaemonSet,)),
    Entry("deployment-controller", lambda _: [Deployments().controller], (Deployment,)),
    Entry(
        "disruption-controller",
        lambda parts: [DisruptionBudgets(parts.resources).controller],
        (PodDisruptionBudget,),
    ),
    Entry(
        "endpointslice-controller",
        lambda _: [ServiceEndpoints().controller, StaleEndpoints().controller],
        (Service,),
        ("endpoints-controller", "endpoints", "endpoint"),  # one controller writes both
    ),
    Entry("endpointslice-mirroring-controller", lambda _: [EndpointMirroring().controller], (Endpoints,)),
    Entry("ephemeral-volume-controller", lambda _: [EphemeralVolumes().controller], (Pod,)),
    Entry(GARBAGE_COLLECTOR, lambda _: [], aliases=("garbagecollector",)),  # is not a reconcile loop of one kind
    Entry(
        "horizontal-pod-autoscaler-controller",
        lambda parts: [Autoscalers(parts.resources).controller],
        (HorizontalPodAutoscaler,),
        ("horizontalpodautoscaling",),
    ),
    Entry("job-controller", lambda _: [Jobs().controller, JobOrphans().controller], (Job,)),
    Entry("namespace-controller", lambda parts: [NamespaceLifecycle(parts.resources).controller]),
    Entry("node-lifecycle-controller", lambda _: [NodeLifecycle().controller], (Node,), ("nodelifecycle",)),
    Entry(
        BINDER,
        lambda parts: [VolumeClaims(parts.claims).controller, PersistentVolumes().controller],
        (PersistentVolumeClaim, PersistentVolume),
    ),
    Entry(
        "persistentvolume-protection-controller",
        lambda _: [VolumeProtection().controller],
        (PersistentVolume,),
        ("pv-protection",),
    ),
    Entry(
        "persistentvolumeclaim-protection-controller",
        lambda _: [ClaimProtection().controller],
        (PersistentVolumeClaim,),
        ("pvc-protection",),
    ),
    Entry("pod-garbage-collector-controller", lambda _: [PodGarbage().controller], (Pod,), ("podgc",)),
    Entry("replicaset-controller", lambda _: [ReplicaSets().controller], (ReplicaSet,)),
    Entry(
        "replicationcontroller-controller", lambda _: [ReplicationControllers().controller], (ReplicationController,)
    ),
    Entry(
        "resourcequota-controller",
        lambda parts: [ResourceQuotas(parts.resources).controller],
        (ResourceQuota,),
    ),
    Entry(
        "root-ca-certificate-publisher-controller",
        lambda parts: [RootCertificates(ca=parts.ca).controller],
        aliases=("root-ca-cert-publisher",),
    ),
    Entry("service-lb-controller", lambda _: [LoadBalancers().controller], (Service,), ("service",), is_default=False),
    Entry("serviceaccount-controller", lambda _: [DefaultServiceAccounts().controller]),
    Entry("statefulset-controller", lambda _: [StatefulSets().controller], (StatefulSet,)),
    Entry(
        "storage-version-migrator-controller",
        lambda parts: [StorageMigrations(parts.resources).controller],
        (StorageVersionMigration,),
        ("svm",),
    ),
    Entry("taint-eviction-controller", lambda _: [TaintEvictions().controller], (Node,)),
    Entry("ttl-after-finished-controller", lambda _: [FinishedJobs().controller], (Job,)),
    Entry(
        "validatingadmissionpolicy-status-controller",
        lambda _: [PolicyTypes().controller],
        (ValidatingAdmissionPolicy,),
    ),
    Entry(
        "volumeattributesclass-protection-controller",
        lambda _: [AttributesProtection().controller],
        (VolumeAttributesClass,),
    ),
)


def chosen(names: Iterable[str]) -> list[Entry]:
    """The entries that ``names`` select, by the rules of kube-controller-manager's ``--controllers``.

    ``*`` selects all entries that run by default, except those that a ``-NAME`` excludes; the order of the names does
    not matter.

    Raises:
        UnknownControllerError: one of the names does not belong to any controller.
    """
    wanted, unwanted = set[str](), set[str]()
    everything = False
    for name in names:
        if name == "*":
            everything = True
        elif name.startswith("-"):
            unwanted.add(entry_of(name[1:]).name)
        else:
            wanted.add(entry_of(name).name)
    return [
        entry
        for entry in ENTRIES
        if entry.name in wanted or (everything and entry.is_default and entry.name not in unwanted)
    ]  # fmt: skip


def names_of(control_plane: bool | Iterable[str]) -> tuple[str, ...] | None:
    """The names of the controllers that ``control_plane`` selects; None if it selects no control plane.

    Raises:
        UnknownControllerError: one of the names does not belong to any controller.
    """
    if isinstance(control_plane, bool):
        return EVERYTHING if control_plane else None
    names = (control_plane,) if isinstance(control_plane, str) else tuple(control_plane)
    chosen(names)
    return names


def entry_of(name: str) -> Entry:
    """The entry that answers to ``name``.

    Raises:
        UnknownControllerError: no entry answers to ``name``.
    """
    for entry in ENTRIES:
        if entry.answers_to(name):
            return entry
    names = [entry.name.removesuffix(_SUFFIX) for entry in ENTRIES]
    matches = get_close_matches(name.removesuffix(_SUFFIX), names, 1)
    hint = f"did you mean {matches[0]!r}? " if matches else ""
    raise UnknownControllerError(f"no controller is named {name!r}; {hint}there are {', '.join(names)}")
