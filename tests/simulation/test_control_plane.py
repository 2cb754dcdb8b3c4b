"""The embedded control plane's own controllers survive what users' controllers have to: each alone in the simulation,
with all the others as its world. The full search takes minutes (``make corpus``)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.webhook.test_certificate_authority import authority_with

import setpoint as sp
from setpoint.cluster.controller_registry import Parts, entry_of
from setpoint.cluster.served_resources import ServedResources
from setpoint.meta import LabelSelector, Object
from setpoint.models.apps_v1 import (
    DaemonSet,
    DaemonSetSpec,
    Deployment,
    DeploymentSpec,
    ReplicaSet,
    ReplicaSetSpec,
    StatefulSet,
    StatefulSetSpec,
)
from setpoint.models.batch_v1 import CronJob, CronJobSpec, Job, JobSpec, JobTemplateSpec
from setpoint.models.core_v1 import (
    ConfigMap,
    Container,
    EndpointAddress,
    EndpointPort,
    Endpoints,
    EndpointSubset,
    Namespace,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PodSpec,
    PodTemplateSpec,
    ReplicationController,
    ReplicationControllerSpec,
    Service,
    ServicePort,
    ServiceSpec,
    VolumeResourceRequirements,
)
from setpoint.models.policy_v1 import PodDisruptionBudget, PodDisruptionBudgetSpec
from setpoint.simulation import Budget, Fault, Plan, check
from setpoint.simulation.faults.plan import fault

Scenario = Callable[[sp.testing.Cluster], Coroutine[Any, Any, None]]
AUTHORITY = authority_with(Ed25519PrivateKey.from_private_bytes(bytes(32)), until=datetime(2050, 1, 1, tzinfo=UTC))
"""An authority whose signatures are not random."""
LABELS = {"app": "web"}
SELECTOR = LabelSelector(match_labels=LABELS)


def template(image: str, *, restarts: str = "Always") -> PodTemplateSpec:
    spec = PodSpec(containers=[Container(name="main", image=image)], restart_policy=restarts)
    return PodTemplateSpec(metadata=sp.ObjectMeta(labels=dict(LABELS)), spec=spec)


async def change(cluster: sp.testing.Cluster, *states: Object) -> None:
    for state in states:
        await cluster.apply(state)
        await cluster.settle()


async def deployments(cluster: sp.testing.Cluster) -> None:
    def web(image: str, replicas: int) -> Deployment:
        return Deployment.named(
            "web", "default", spec=DeploymentSpec(replicas=replicas, selector=SELECTOR, template=template(image))
        )

    await change(cluster, web("web:1", 2), web("web:2", 2), web("web:2", 1))


async def replicasets(cluster: sp.testing.Cluster) -> None:
    def web(replicas: int) -> ReplicaSet:
        spec = ReplicaSetSpec(replicas=replicas, selector=SELECTOR, template=template("web:1"))
        return ReplicaSet.named("web", "default", spec=spec)

    await change(cluster, web(2), web(3), web(1))


async def replicationcontrollers(cluster: sp.testing.Cluster) -> None:
    def web(replicas: int) -> ReplicationController:
        spec = ReplicationControllerSpec(replicas=replicas, selector=LABELS, template=template("web:1"))
        return ReplicationController.named("web", "default", spec=spec)

    await change(cluster, web(2), web(1))


async def statefulsets(cluster: sp.testing.Cluster) -> None:
    size = VolumeResourceRequirements(requests={"storage": "1Gi"})
    data = PersistentVolumeClaim.named(
        "data", spec=PersistentVolumeClaimSpec(access_modes=["ReadWriteOnce"], resources=size)
    )

    def db(image: str, replicas: int) -> StatefulSet:
        spec = StatefulSetSpec(
            replicas=replicas, service_name="db", selector=SELECTOR, template=template(image),
            volume_claim_templates=[data],
        )  # fmt: skip
        return StatefulSet.named("db", "default", spec=spec)

    await change(cluster, db("db:1", 2), db("db:2", 2), db("db:2", 1))


async def daemonsets(cluster: sp.testing.Cluster) -> None:
    def agent(image: str) -> DaemonSet:
        return DaemonSet.named("agent", "default", spec=DaemonSetSpec(selector=SELECTOR, template=template(image)))

    await change(cluster, agent("agent:1"), agent("agent:2"))


async def jobs(cluster: sp.testing.Cluster) -> None:
    spec = JobSpec(completions=2, parallelism=2, template=template("load", restarts="Never"))
    await change(cluster, Job.named("load", "default", spec=spec), Job.named("more", "default", spec=spec))


async def finished_jobs(cluster: sp.testing.Cluster) -> None:
    spec = JobSpec(ttl_seconds_after_finished=5, template=template("load", restarts="Never"))
    await change(cluster, Job.named("load", "default", spec=spec))


async def cronjobs(cluster: sp.testing.Cluster) -> None:
    def load(*, suspend: bool) -> CronJob:
        job = JobTemplateSpec(spec=JobSpec(template=template("load", restarts="Never")))
        spec = CronJobSpec(schedule="0 0 1 6 *", job_template=job, suspend=suspend, successful_jobs_history_limit=1)
        return CronJob.named("load", "default", spec=spec)

    async def has_run() -> bool:
        return any(job.status.succeeded for job in await cluster.list(Job))

    await cluster.apply(load(suspend=False))
    await cluster.until(has_run, within=400 * 86400.0)
    await change(cluster, load(suspend=True))


async def services(cluster: sp.testing.Cluster) -> None:
    def web(replicas: int) -> Deployment:
        spec = DeploymentSpec(replicas=replicas, selector=SELECTOR, template=template("web:1"))
        return Deployment.named("web", "default", spec=spec)

    ports = ServiceSpec(selector=LABELS, ports=[ServicePort(port=80)])
    await change(cluster, Service.named("web", "default", spec=ports), web(2), web(1))
    await cluster.delete(await cluster.get(Service, "web"))
    await cluster.settle()


async def endpoints(cluster: sp.testing.Cluster) -> None:
    def outside(*ips: str) -> Endpoints:
        addresses = [EndpointAddress(ip=ip) for ip in ips]
        subset = EndpointSubset(addresses=addresses, ports=[EndpointPort(port=80)])
        return Endpoints.named("outside", "default", subsets=[subset])

    service = Service.named("outside", "default", spec=ServiceSpec(ports=[ServicePort(port=80)]))
    await change(cluster, service, outside("10.1.2.3"), outside("10.1.2.3", "fd00::1"), outside("fd00::1"))
    await cluster.delete(await cluster.get(Endpoints, "outside"))
    await cluster.settle()


async def budgets(cluster: sp.testing.Cluster) -> None:
    spec = PodDisruptionBudgetSpec(min_available=1, selector=SELECTOR)
    await cluster.apply(PodDisruptionBudget.named("web", "default", spec=spec))
    await cluster.settle()
    for replicas in (2, 1):
        web = DeploymentSpec(replicas=replicas, selector=SELECTOR, template=template("web:1"))
        await change(cluster, Deployment.named("web", "default", spec=web))


async def namespaces(cluster: sp.testing.Cluster) -> None:
    await change(cluster, Namespace.named("one"))
    await cluster.delete(await cluster.get(Namespace, "one"))
    await cluster.settle()


SCENARIOS: dict[str, Scenario] = {
    "cronjob-controller": cronjobs,
    "daemonset-controller": daemonsets,
    "deployment-controller": deployments,
    "disruption-controller": budgets,
    "endpointslice-controller": services,
    "endpointslice-mirroring-controller": endpoints,
    "job-controller": jobs,
    "replicaset-controller": replicasets,
    "replicationcontroller-controller": replicationcontrollers,
    "root-ca-certificate-publisher-controller": namespaces,
    "serviceaccount-controller": namespaces,
    "statefulset-controller": statefulsets,
    "ttl-after-finished-controller": finished_jobs,
}


STREAMED = {"time-travel": "the embedded server streams lists: the control plane's caches never begin with old ones"}
OFF: dict[str, dict[str, str]] = {
    "job-controller": {"late": "a pod of a generated name that comes late may have ended before it is seen"},
}


def controllers(name: str) -> list[sp.Controller[Any]]:
    return entry_of(name).make(Parts(ServedResources(), signer=AUTHORITY))


def survives(name: str, runs: int, scenario: Scenario, *, off: Mapping[str, str] | None = None, **options: Any) -> None:
    """Raises `Counterexample` if the controllers of that name don't."""
    check(
        scenario,
        lambda: controllers(name),
        control_plane=("*", f"-{name}"),
        budget=Budget(runs=runs),
        off={**STREAMED, **(off or {})},
        **options,
    )


@pytest.mark.parametrize("name", ["replicaset-controller", "serviceaccount-controller"])
def test_controllers_of_the_control_plane_survive(name: str) -> None:
    survives(name, 25, SCENARIOS[name], nodes=2)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_controllers_of_the_control_plane_survive_every_single_fault(name: str) -> None:
    survives(name, 2500, SCENARIOS[name], nodes=2, off=OFF.get(name))


def test_an_object_that_goes_by_itself_later_is_no_loss_on_an_old_view() -> None:
    name = "ttl-after-finished-controller"
    old = (("behind", "MODIFIED jobs.batch default/load #3"),)
    travel = Plan((Fault("restart", "step 2", old),))
    check(finished_jobs, lambda: controllers(name), control_plane=("*", f"-{name}"), replay=travel.token(), workers=0)


def test_endpoints_stay_while_one_of_two_caches_has_not_seen_their_service_yet() -> None:
    name = "endpointslice-controller"
    late = Plan((fault("lag", "ADDED services default/web #1", until="step", relist=True),))
    check(services, lambda: controllers(name), nodes=2, control_plane=("*", f"-{name}"), replay=late.token(), workers=0)


@pytest.mark.long
def test_what_a_reconcile_makes_that_began_before_its_object_went_is_not_counted() -> None:
    name = "endpointslice-controller"
    slow = Plan((fault("slow-request", "apply endpointslices.discovery.k8s.io default/web-6ecb382b #2", until="step"),))
    check(services, lambda: controllers(name), nodes=2, control_plane=("*", f"-{name}"), replay=slow.token(), workers=0)


def test_pods_of_a_deployment_that_is_scaled_and_rolled_out_at_once_are_not_counted() -> None:
    """A Deployment that has both changes at once adds a pod to its old ReplicaSet, too."""

    async def reconcile(settings: ConfigMap, ctx: sp.Context) -> None:
        if settings.name != "web":
            return
        replicas = int(settings.data["replicas"])
        web = DeploymentSpec(replicas=replicas, selector=SELECTOR, template=template(settings.data["image"]))
        await ctx.apply(Deployment.named("web", "default", spec=web))

    async def users(cluster: sp.testing.Cluster) -> None:
        for image, replicas in (("web:1", "1"), ("web:1", "2"), ("web:2", "2"), ("web:1", "2"), ("web:1", "3")):
            await cluster.apply(ConfigMap.named("web", "default", data={"image": image, "replicas": replicas}))
            await cluster.settle()

    def controller() -> sp.Controller[ConfigMap]:
        return sp.Controller(ConfigMap, reconcile, name="web", owns_status=False).owns(Deployment)

    hidden = Plan((fault("lag", "MODIFIED configmaps default/web #3", until="step"),))
    check(users, controller, replay=hidden.token(), workers=0)
