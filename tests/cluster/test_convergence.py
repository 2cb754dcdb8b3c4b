"""What holds for every controller of the control plane: crashes change nothing, rest is rest, chance is seeded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from tests.cluster.crashes import Restartable, played
from tests.cluster.workloads import budget, claim, daemon_set, job, service, stateful_set, template

from setpoint.meta import Object
from setpoint.models.apps_v1 import (
    ControllerRevision,
    DaemonSet,
    StatefulSet,
    StatefulSetPersistentVolumeClaimRetentionPolicy,
)
from setpoint.models.batch_v1 import CronJob, CronJobSpec, Job, JobTemplateSpec
from setpoint.models.core_v1 import Endpoints, PersistentVolumeClaim, Pod
from setpoint.models.discovery_v1 import EndpointSlice
from setpoint.models.policy_v1 import PodDisruptionBudget
from setpoint.testing import advance, run

Scenario = Callable[[Restartable], Awaitable[None]]


async def stateful_sets(plane: Restartable) -> None:
    """Rolled out, updated, scaled down, with claims that go."""
    policy = StatefulSetPersistentVolumeClaimRetentionPolicy(when_deleted="Delete", when_scaled="Delete")
    world = plane.world
    await world.create(
        stateful_set(2, volume_claim_templates=[claim()], persistent_volume_claim_retention_policy=policy)
    )
    await plane.settle()
    made = await world.get(StatefulSet, "web")
    made.spec.template = template("web:2")
    await world.update(made)
    await plane.settle()
    made = await world.get(StatefulSet, "web")
    made.spec.replicas = 1
    await world.update(made)


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
    made = await plane.world.create(CronJob.named("tick", "default", spec=spec))
    for _ in range(2):
        await advance(300)
        await plane.settle()
    made = await plane.world.get(CronJob, "tick")
    made.spec.suspend = True
    await plane.world.update(made)


async def daemon_sets(plane: Restartable) -> None:
    """Rolled out and updated."""
    await plane.world.create(daemon_set())
    await plane.settle()
    made = await plane.world.get(DaemonSet, "web")
    made.spec.template = template("web:2")
    await plane.world.update(made)


async def services(plane: Restartable) -> None:
    """With pods that come and go, and one that goes."""
    await plane.world.create(service())
    await plane.world.create(stateful_set(2))
    await plane.settle()
    made = await plane.world.get(StatefulSet, "web")
    made.spec.replicas = 1
    await plane.world.update(made)
    other = service()
    other.metadata.name = "other"
    made = await plane.world.create(other)
    await plane.settle()
    await plane.world.delete(made)


async def budgets(plane: Restartable) -> None:
    """Pods that become more and fewer."""
    await plane.world.create(budget(max_unavailable=1))
    await plane.world.create(stateful_set(2, pod_management_policy="Parallel"))
    await plane.settle()
    made = await plane.world.get(StatefulSet, "web")
    made.spec.replicas = 1
    await plane.world.update(made)


SCENARIOS: dict[str, tuple[Scenario, tuple[type[Object], ...]]] = {
    "budgets": (budgets, (PodDisruptionBudget, StatefulSet)),
    "cron jobs": (cron_jobs, (CronJob, Job, Pod)),
    "daemon sets": (daemon_sets, (DaemonSet, ControllerRevision, Pod)),
    "jobs": (jobs, (Job, Pod)),
    "services": (services, (Endpoints, EndpointSlice)),
    "stateful sets": (stateful_sets, (StatefulSet, ControllerRevision, PersistentVolumeClaim, Pod)),
}
SETTING_UP = 8
"""Writes before the scenario: what each of four namespaces has."""
NAMES = sorted(SCENARIOS)


@pytest.mark.parametrize("name", NAMES)
def test_a_crash_after_any_write_leads_to_the_same_end(name: str) -> None:
    scenario, kinds = SCENARIOS[name]
    expected, writes = run(played(scenario, kinds))
    assert len(writes) > 2
    for crash in range(SETTING_UP + 1, len(writes) + 1):
        found, _ = run(played(scenario, kinds, crash))
        assert found == expected, f"after write {crash}: {writes[crash - 1]}"


@pytest.mark.parametrize("name", NAMES)
def test_what_has_converged_is_not_written_to_also_by_a_control_plane_that_begins(name: str) -> None:
    async def rest(plane: Restartable) -> None:
        await SCENARIOS[name][0](plane)
        await plane.settle()
        before = len(plane.writes_of_all())
        await advance(3600)
        assert plane.writes_of_all()[before:] == []
        await plane.restart()
        await plane.settle()
        await advance(3600)
        assert plane.writes_of_all()[before:] == []

    run(played(rest, SCENARIOS[name][1]))


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_sequence_of_writes(name: str) -> None:
    first, second = (run(played(*SCENARIOS[name])) for _ in range(2))
    assert first == second
