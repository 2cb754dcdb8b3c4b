"""Promises of every controller of the control plane: crashes change nothing, rest is rest, chance is seeded."""

from __future__ import annotations

import pytest
from tests.cluster.crashes import Play, Restartable, any_write, played, played_with_every_crash
from tests.cluster.scheduling.pods import pod as requesting
from tests.cluster.scheduling.test_volume_binding import DELAYED, NOWHERE, local
from tests.cluster.test_autoscalers import autoscaler, use, utilization
from tests.cluster.test_autoscalers import deployment as measured
from tests.cluster.test_deployments import deployment
from tests.cluster.test_endpoint_mirroring import endpoints, subset
from tests.cluster.test_endpoint_mirroring import service as bare_service
from tests.cluster.test_pods_of_lost_nodes import pod as finalized
from tests.cluster.test_pods_of_lost_nodes import role
from tests.cluster.test_policy_type_checking import policy
from tests.cluster.test_resource_quotas import pod as quota_pod
from tests.cluster.test_resource_quotas import quota
from tests.cluster.test_storage_version_migrations import migration
from tests.cluster.test_volumes import claim as volume_claim
from tests.cluster.test_volumes import mounting, storage_class, volume, with_scratch
from tests.cluster.workloads import budget, claim, daemon_set, job, service, stateful_set, template

from setpoint.cluster.controller_registry import ENTRIES, entry_of
from setpoint.meta import LabelSelector
from setpoint.models.admissionregistration_v1 import ValidatingAdmissionPolicy, Validation
from setpoint.models.apps_v1 import (
    ControllerRevision,
    DaemonSet,
    Deployment,
    ReplicaSet,
    StatefulSet,
    StatefulSetPersistentVolumeClaimRetentionPolicy,
)
from setpoint.models.autoscaling_v2 import HorizontalPodAutoscaler
from setpoint.models.batch_v1 import CronJob, CronJobSpec, Job, JobTemplateSpec
from setpoint.models.coordination_v1 import Lease
from setpoint.models.core_v1 import (
    ConfigMap,
    Container,
    Endpoints,
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    ReplicationController,
    ReplicationControllerSpec,
    ResourceQuota,
    ServiceAccount,
)
from setpoint.models.discovery_v1 import EndpointSlice
from setpoint.models.policy_v1 import PodDisruptionBudget
from setpoint.models.rbac_v1 import AggregationRule, ClusterRole
from setpoint.models.scheduling_v1 import PriorityClass
from setpoint.models.storage_v1 import StorageClass, VolumeAttributesClass
from setpoint.models.storagemigration_v1 import StorageVersionMigration
from setpoint.testing import advance, run


async def stateful_sets(plane: Restartable) -> None:
    """Rolled out, updated, scaled down, with claims that go."""
    policy = StatefulSetPersistentVolumeClaimRetentionPolicy(when_deleted="Delete", when_scaled="Delete")
    world = plane.world
    await world.create(
        stateful_set(2, volume_claim_templates=[claim()], persistent_volume_claim_retention_policy=policy)
    )
    await plane.settle()
    result = await world.get(StatefulSet, "web")
    result.spec.template = template("web:2")
    await world.update(result)
    await plane.settle()
    result = await world.get(StatefulSet, "web")
    result.spec.replicas = 1
    await world.update(result)


async def jobs(plane: Restartable) -> None:
    """By number and by index, with failures, and one that is deleted."""
    fails = {"hollow.setpoint.io/exit-code": "1"}
    await plane.world.create(job("good", completions=2, parallelism=1))
    await plane.world.create(job("bad", backoff_limit=1, annotations=fails))
    await plane.world.create(job("many", completions=2, parallelism=2, completion_mode="Indexed"))
    await plane.settle()
    await plane.world.delete(await plane.world.get(Job, "good"), propagation="Background")


async def cron_jobs(plane: Restartable) -> None:
    """Two times, of which one is kept."""
    spec = CronJobSpec(
        schedule="*/5 * * * *",
        successful_jobs_history_limit=1,
        job_template=JobTemplateSpec(spec=job().spec),
    )
    cron_job = await plane.world.create(CronJob.named("tick", "default", spec=spec))
    for _ in range(2):
        await advance(300)
        await plane.settle()
    cron_job = await plane.world.get(CronJob, "tick")
    cron_job.spec.suspend = True
    await plane.world.update(cron_job)


async def daemon_sets(plane: Restartable) -> None:
    """Rolled out and updated."""
    await plane.world.create(daemon_set())
    await plane.settle()
    result = await plane.world.get(DaemonSet, "web")
    result.spec.template = template("web:2")
    await plane.world.update(result)


async def services(plane: Restartable) -> None:
    """With pods that come and go, and one that goes."""
    await plane.world.create(service())
    await plane.world.create(stateful_set(2))
    await plane.settle()
    result = await plane.world.get(StatefulSet, "web")
    result.spec.replicas = 1
    await plane.world.update(result)
    other = service()
    other.metadata.name = "other"
    result = await plane.world.create(other)
    await plane.settle()
    await plane.world.delete(result)


async def mirrored_endpoints(plane: Restartable) -> None:
    """With addresses that come and go, and ports that change."""
    await plane.world.create(bare_service())
    result = await plane.world.create(endpoints(subset(["10.0.0.1", "10.0.0.2"], 80), subset(["10.0.0.3"], 90)))
    await plane.settle()
    result.subsets = [subset(["10.0.0.1"], 80), subset(["10.0.0.3"], 91)]
    await plane.world.update(result)
    await plane.settle()


async def budgets(plane: Restartable) -> None:
    """Pods that become more and fewer."""
    await plane.world.create(budget(max_unavailable=1))
    await plane.world.create(stateful_set(2, pod_management_policy="Parallel"))
    await plane.settle()
    result = await plane.world.get(StatefulSet, "web")
    result.spec.replicas = 1
    await plane.world.update(result)


async def volumes(plane: Restartable) -> None:
    """One that is there, one that is made, one that grows; claims and a class that go."""
    world = plane.world
    await world.create(volume("disk", storage_class_name="manual"))
    await world.create(volume_claim("static", storage_class_name="manual"))
    new_volume_claim = await world.create(volume_claim("made"))
    await world.create(volume_claim("larger", volume_attributes_class_name="gold"))
    await world.create(VolumeAttributesClass.named("gold", driver_name="x", parameters={"iops": "9"}))
    await plane.settle()
    larger = {"spec": {"resources": {"requests": {"storage": "3Gi"}}}}
    await world.client.patch(PersistentVolumeClaim, "larger", larger)
    await world.delete(new_volume_claim)
    await world.delete(await world.get(PersistentVolumeClaim, "static"))
    await world.delete(await world.get(VolumeAttributesClass, "gold"))


async def deployments(plane: Restartable) -> None:
    """Rolled out, updated, and scaled in the middle of that."""
    world = plane.world
    await world.create(deployment(2))
    await plane.settle()
    new_deployment = await world.get(Deployment, "web")
    new_deployment.spec.template = template("web:2")
    await world.update(new_deployment)
    await world.client.patch(Deployment, "web", {"spec": {"replicas": 3}})


async def quotas(plane: Restartable) -> None:
    """Of pods and of configuration, some of which goes."""
    world = plane.world
    await world.create(quota(pods="5", requests_cpu="5", count__configmaps="9"))
    await world.create(ConfigMap.named("a", "default"))
    await plane.settle()
    for name in ("a", "b", "c"):
        await world.create(quota_pod(name, "1"))
    await plane.settle()
    await world.delete(await world.get(Pod, "b"))
    await world.delete(await world.get(ConfigMap, "a"))


async def nodes(plane: Restartable) -> None:
    """A pod that others are ended for, one that waits, and a node that dies and comes back."""
    world = plane.world
    await world.create(PriorityClass.named("high", value=100))
    await world.create(requesting("low", requests={"cpu": "20"}))
    await plane.settle()
    await world.create(requesting("important", requests={"cpu": "20"}, priority_class_name="high"))
    await world.create(requesting("huge", requests={"cpu": "100"}))
    await plane.settle()
    for value in ("dead", None):
        node = await world.get(Node, "hollow-0")
        node.metadata.annotations = {} if value is None else {"hollow.setpoint.io/node": value}
        await world.update(node)
        await advance(60)
        await plane.settle()


async def autoscalers(plane: Restartable) -> None:
    """More replicas, and fewer, for two pods that a Deployment without its controller has."""
    world = plane.world
    result = await world.create(measured(2, cpu="900m"))
    assert result.spec.template.spec is not None
    for name in ("a", "b"):
        metadata = result.spec.template.metadata
        await world.create(
            Pod.named(name, "default", metadata.labels, metadata.annotations, spec=result.spec.template.spec)
        )
    at_once = {"scaleDown": {"stabilizationWindowSeconds": 0}}
    await world.create(autoscaler(utilization(50), most=4, behavior=at_once))
    await advance(20)
    await plane.settle()
    await use(world, "cpu", "100m")
    for _ in range(3):
        await advance(20)
        await plane.settle()


async def garbage(plane: Restartable) -> None:
    """Pods of a node that goes."""
    world = plane.world
    node = await world.create(Node.named("gone"))
    for name in ("a", "b"):
        await world.create(finalized(name, nodeName="gone"))
    await plane.settle()
    await world.delete(node)
    for _ in range(2):
        await advance(60)
        await plane.settle()


async def roles(plane: Restartable) -> None:
    """Two that are made of others, one of them of the other; parts that come and go."""
    world = plane.world
    for name, part in (("inner", "leaf"), ("outer", "inner")):
        cluster_role = ClusterRole.named(name, labels={"part": name})
        cluster_role.aggregation_rule = AggregationRule(
            cluster_role_selectors=[LabelSelector(match_labels={"part": part})]
        )
        await world.create(cluster_role)
    gone = await world.create(role("a", {"part": "leaf"}, "get"))
    await world.create(role("b", {"part": "leaf"}, "list"))
    await plane.settle()
    await world.delete(gone)


async def ephemeral(plane: Restartable) -> None:
    """The claims of two pods, one of which goes."""
    for name in ("a", "b"):
        await plane.world.create(with_scratch(name))
    await plane.settle()
    await plane.world.delete(await plane.world.get(Pod, "a"))


async def namespaces(plane: Restartable) -> None:
    """One that is emptied, and one that is held."""
    world = plane.world
    for name in ("free", "held"):
        namespace = await world.create(Namespace.named(name))
        pod = requesting("web", requests={})
        pod.metadata.namespace = name
        await world.create(pod)
        config = ConfigMap.named("settings", name)
        config.metadata.finalizers = ["example.com/hold"] if name == "held" else []
        await world.create(config)
        await plane.settle()
        await world.delete(namespace)
        await advance(5)
        await plane.settle()


async def replication_controllers(plane: Restartable) -> None:
    """Two replicas, then one."""
    world = plane.world
    spec = ReplicationControllerSpec(replicas=2, selector={"app": "web"}, template=template())
    await world.create(ReplicationController.named("web", "default", spec=spec))
    await plane.settle()
    await world.client.patch(ReplicationController, "web", {"spec": {"replicas": 1}})


async def refused(plane: Restartable) -> None:
    """A Deployment of which a quota lets some pods through, then all."""
    world = plane.world
    await world.create(quota(pods="1"))
    await world.create(deployment(2))
    await advance(60)
    await plane.settle()
    await world.client.patch(ResourceQuota, "most", {"spec": {"hard": {"pods": "9"}}})
    await advance(1000)


async def finished(plane: Restartable) -> None:
    """A Job that goes when its time has come, and one that stays."""
    for name, seconds in (("later", 50), ("never", None)):
        await plane.world.create(job(name, ttl_seconds_after_finished=seconds))
    await plane.settle()
    await advance(60)


async def dependents(plane: Restartable) -> None:
    """Dependents whose owners go, in the foreground, in the background, without them; and one whose owner never was."""
    world = plane.world
    for propagation in ("Foreground", "Background", "Orphan"):
        owner = await world.create(ConfigMap.named(f"owner-{propagation.lower()}", "default"))
        for number in range(2):
            dependent = ConfigMap.named(f"{propagation.lower()}-{number}", "default")
            dependent.metadata.owner_references = [owner.owner_reference()]
            await world.create(dependent)
        await plane.settle()
        await world.delete(owner, propagation=propagation)
    lost = ConfigMap.named("lost", "default")
    lost.metadata.owner_references = [owner.owner_reference()]
    lost.metadata.owner_references[0].uid = "never-was"
    await world.create(lost)


async def pods(plane: Restartable) -> None:
    """Whole lives: started slowly, after others, again after failures, ended in time or too late, never at all."""
    world = plane.world
    behaviours = {
        "slow": {"pull-seconds": "3", "ready-seconds": "5"},
        "again": {"exit-code": "1,0", "run-seconds": "2"},
        "ends": {"exit-code": "0", "run-seconds": "2"},
        "stuck": {"pull-seconds": "never"},
        "stops": {"stop-seconds": "3"},
    }
    for name, behaviour in behaviours.items():
        result = requesting(name, requests={"cpu": "1"}, restart_policy="OnFailure")
        result.spec.termination_grace_period_seconds = 30
        result.metadata.annotations = {f"hollow.setpoint.io/{key}": value for key, value in behaviour.items()}
        if name == "slow":
            result.spec.init_containers = [Container(name="first", image="first:1")]
        await world.create(result)
    await world.create(requesting("huge", requests={"cpu": "100"}))
    await advance(60)
    await plane.settle()
    await world.delete(await world.get(Pod, "stops"))
    await world.delete(await world.get(Pod, "stuck"))
    await advance(60)


async def placed(plane: Restartable) -> None:
    """Pods for which volumes are chosen: one that is there, on one node, and one that is made."""
    world = plane.world
    await world.create(storage_class("local", provisioner=NOWHERE, volume_binding_mode=DELAYED))
    await world.create(storage_class("made", volume_binding_mode=DELAYED))
    await world.create(local("disk", "hollow-0"))
    for name in ("local", "made"):
        await world.create(volume_claim(name, storage_class_name=name))
        await world.create(mounting(name, name))
        await plane.settle()


async def migrations(plane: Restartable) -> None:
    """One of a resource that is served, and one of another."""
    for name in ("a", "b"):
        await plane.world.create(ConfigMap.named(name, "default"))
    for resource in ("configmaps", "nothings"):
        await plane.world.create(migration(resource))
        await plane.settle()


async def policies(plane: Restartable) -> None:
    """One whose types fit, and one whose types don't."""
    for name, text in (("fits", "object.spec.replicas > 1"), ("confused", "object.spec.replicas > '1'")):
        await plane.world.create(policy(name, Validation(expression=text)))
        await plane.settle()


SCENARIOS: dict[str, Play] = {
    "autoscalers": Play(
        autoscalers,
        ("horizontal-pod-autoscaler",),
        (HorizontalPodAutoscaler, Deployment),
    ),
    "budgets": Play(budgets, ("disruption", "statefulset"), (PodDisruptionBudget, StatefulSet)),
    "cron jobs": Play(cron_jobs, ("cronjob", "job", "garbage-collector"), (CronJob, Job, Pod)),
    "daemon sets": Play(daemon_sets, ("daemonset",), (DaemonSet, ControllerRevision, Pod)),
    "deployments": Play(deployments, ("deployment", "replicaset"), (Deployment, ReplicaSet, Pod)),
    "ephemeral volumes": Play(
        ephemeral,
        ("ephemeral-volume", "persistentvolume-binder", "pvc-protection", "pv-protection", "garbage-collector"),
        (PersistentVolume, PersistentVolumeClaim, Pod),
    ),
    "dependents": Play(dependents, ("garbage-collector",), (ConfigMap,)),
    "finished jobs": Play(finished, ("job", "ttl-after-finished", "garbage-collector"), (Job, Pod)),
    "garbage": Play(garbage, ("podgc",), (Pod,)),
    "jobs": Play(jobs, ("job", "garbage-collector"), (Job, Pod)),
    "quotas": Play(quotas, ("resourcequota",), (ResourceQuota,)),
    "migrations": Play(migrations, ("storage-version-migrator",), (StorageVersionMigration, ConfigMap)),
    "mirrored endpoints": Play(
        mirrored_endpoints, ("endpointslice-mirroring", "garbage-collector"), (Endpoints, EndpointSlice)
    ),
    "namespaces": Play(
        namespaces,
        ("namespace", "serviceaccount", "root-ca-certificate-publisher"),
        (Namespace, ConfigMap, Pod, ServiceAccount),
    ),
    "nodes": Play(nodes, ("node-lifecycle", "taint-eviction"), (Node, Pod)),
    "placed pods": Play(
        placed, ("persistentvolume-binder",), (PersistentVolume, PersistentVolumeClaim, Pod), any_write
    ),
    "policies": Play(policies, ("validatingadmissionpolicy-status",), (ValidatingAdmissionPolicy,)),
    "pods": Play(pods, (), (Pod, Node, Lease), any_write),
    "refused pods": Play(refused, ("deployment", "replicaset", "resourcequota"), (Deployment, ReplicaSet, Pod)),
    "replication controllers": Play(
        replication_controllers,
        ("replicationcontroller",),
        (ReplicationController, Pod),
    ),
    "roles": Play(roles, ("clusterrole-aggregation",), (ClusterRole,)),
    "services": Play(services, ("endpointslice", "statefulset", "garbage-collector"), (Endpoints, EndpointSlice)),
    "stateful sets": Play(
        stateful_sets,
        ("statefulset", "garbage-collector", "pvc-protection"),
        (StatefulSet, ControllerRevision, PersistentVolumeClaim, Pod),
    ),
    "volumes": Play(
        volumes,
        ("persistentvolume-binder", "pvc-protection", "pv-protection", "volumeattributesclass-protection"),
        (PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttributesClass),
    ),
}
NAMES = sorted(SCENARIOS)


def test_each_controller_has_a_scenario() -> None:
    elsewhere = ("csrapproving", "csrcleaner", "csrsigning", "service-lb")  # test_signing_requests, test_load_balancers
    played = {name for play in SCENARIOS.values() for name in play.controllers}
    assert {entry_of(name).name for name in (*played, *elsewhere)} == {entry.name for entry in ENTRIES}


@pytest.mark.parametrize("name", NAMES)
def test_a_crash_after_any_write_leads_to_the_same_end(name: str) -> None:
    expected, writes, ends = played_with_every_crash(SCENARIOS[name])
    assert len(writes) == len(ends) > 1
    for number, (write, end) in enumerate(zip(writes, ends, strict=True), 1):
        assert end == expected, f"after write {number}: {write}"


@pytest.mark.parametrize("name", NAMES)
def test_what_has_converged_is_not_written_to_also_by_a_control_plane_that_begins(name: str) -> None:
    async def rest(plane: Restartable) -> None:
        await SCENARIOS[name].scenario(plane)
        await plane.settle()
        before = len(plane.writes_of_all())
        await advance(3600)
        assert plane.writes_of_all()[before:] == []
        await plane.restart()
        await plane.settle()
        await advance(3600)
        assert plane.writes_of_all()[before:] == []

    run(played(SCENARIOS[name]._replace(scenario=rest)))


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_sequence_of_writes(name: str) -> None:
    first, second = (run(played(SCENARIOS[name])) for _ in range(2))
    assert first == second
